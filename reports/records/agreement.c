#include "reports/records/agreement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGREEMENT_TAG = 160 };

const char *report_part_name(dit_agreement_part part)
{
    static const char *const names[] = {"all", "in fit", "not in fit"};
    return names[part];
}

/* ---- twins of published points ----------------------------------------------------------------------------------- */

/* Methods are compared where these are equal. */
static const char *const panel_tags[] = {"model",      "resolution", "num_frames", "steps", "num_inference_steps",
                                         "world_size", "platform",   "profile",    NULL};

static bool is_candidate(const report_case *kase)
{
    return report_case_is_simulated(kase) && !report_case_is_oracle(kase);
}

static const report_case *find_by_id(const report_table *table, const char *case_id)
{
    for (int i = 0; i < table->case_count; i++) {
        if (strcmp(table->cases[i].case_id, case_id) == 0) return &table->cases[i];
    }
    return NULL;
}

/* Equal in the tags of a panel that both have; model and ranks both must have. */
static bool in_panel_of(const report_published *point, const report_case *kase)
{
    char a[AGREEMENT_TAG], b[AGREEMENT_TAG];
    for (const char *const *tag = panel_tags; *tag; tag++) {
        bool has_a = report_case_tag(&point->kase, *tag, a, sizeof a), has_b = report_case_tag(kase, *tag, b, sizeof b);
        bool needed = strcmp(*tag, "model") == 0 || strcmp(*tag, "world_size") == 0;
        if (needed && !(has_a && has_b)) return false;
        if (has_a && has_b && strcmp(a, b) != 0) return false;
    }
    return true;
}

/* The fastest simulated case of the panel: what a search over meshes would have chosen. */
static const report_case *find_fastest(const report_table *table, const report_published *point)
{
    const report_case *best = NULL;
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        if (!is_candidate(kase) || !report_case_is_searched(kase) || !in_panel_of(point, kase)) continue;
        if (kase->metric[REPORT_LATENCY].n == 0) continue;
        if (!best || kase->metric[REPORT_LATENCY].median < best->metric[REPORT_LATENCY].median) best = kase;
    }
    return best;
}

static void find_twin(const report_table *table, report_published *point)
{
    if (point->not_compared[0]) return;
    const report_case *twin = point->twin_id[0] ? find_by_id(table, point->twin_id) : NULL;
    if (!twin && report_published_is_search(point)) twin = find_fastest(table, point);
    if (twin && is_candidate(twin)) point->twin = twin;
}

static dit_status name_panel(report_published *point)
{
    dit_buffer text = {0};
    char value[AGREEMENT_TAG];
    dit_buffer_text(&text, "");
    for (const char *const *tag = panel_tags; *tag; tag++) {
        report_case_tag(&point->kase, *tag, value, sizeof value);
        dit_buffer_printf(&text, "%s\x1f", value);
    }
    point->panel = text.data;
    return text.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a panel") : DIT_OK;
}

double report_published_predicted(const report_published *point)
{
    if (!point->twin || point->twin->metric[point->metric].n == 0) return NAN;
    return point->twin->metric[point->metric].median;
}

double report_published_error(const report_published *point)
{
    return report_published_has_value(point) ? report_published_predicted(point) / point->value - 1 : NAN;
}

/* Whoever collected it does not believe it: it is shown, and judges nothing. */
static bool is_doubtful(const report_published *point)
{
    return strcmp(point->status, "doubtful") == 0;
}

bool report_published_is_compared(const report_published *point)
{
    if (!point->twin || is_doubtful(point)) return false;
    return !report_published_has_value(point) || isfinite(report_published_error(point));
}

/* ---- speedups of published points -------------------------------------------------------------------------------- */

/* The one-device point of the same source that makes the same images. */
static bool is_published_baseline(const report_published *base, const report_published *point)
{
    char a[AGREEMENT_TAG], b[AGREEMENT_TAG];
    if (base->metric != REPORT_LATENCY || base->kase.world_size != 1 || !report_published_has_value(base)) return false;
    if (strcmp(base->source, point->source) != 0) return false;
    for (const char *const *tag = panel_tags; *tag; tag++) {
        if (strcmp(*tag, "world_size") == 0) continue;
        report_case_tag(&base->kase, *tag, a, sizeof a);
        report_case_tag(&point->kase, *tag, b, sizeof b);
        if (strcmp(a, b) != 0) return false;
    }
    return true;
}

static void give_speedup(const report_table *table, report_published *point)
{
    dit_summary *speedup = &point->kase.metric[REPORT_SPEEDUP];
    if (point->metric != REPORT_LATENCY || !report_published_has_value(point)) return;
    for (int i = 0; i < table->published_count && speedup->n == 0; i++) {
        const report_published *base = &table->published[i];
        if (!is_published_baseline(base, point)) continue;
        *speedup = dit_stats_summarise(&(double){base->value / point->value}, 1);
        speedup->low_n = false;
        if (base->rounding >= base->value || point->rounding >= point->value) continue;
        speedup->low = (base->value - base->rounding) / (point->value + point->rounding);
        speedup->high = (base->value + base->rounding) / (point->value - point->rounding);
    }
}

/* ---- measured twins ---------------------------------------------------------------------------------------------- */

typedef struct {
    char *key;
    const report_case *kase;
} keyed_case;

/* All tags but those that may differ, as text; from malloc, NULL without memory. */
static char *key_of(const report_case *kase, const char *differ)
{
    static const char *const never[] = {"profile", "element"};
    char tag[64], *key = NULL;
    cJSON *tags = cJSON_Duplicate(kase->tags, 1);
    for (size_t i = 0; tags && i < sizeof never / sizeof *never; i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(tags, never[i]);
    }
    while (tags && *differ) {
        size_t skip = strspn(differ, ", "), length = strcspn(differ + skip, ", ");
        snprintf(tag, sizeof tag, "%.*s", (int)length, differ + skip);
        cJSON_DeleteItemFromObjectCaseSensitive(tags, tag);
        differ += skip + length;
    }
    if (tags && dit_json_canonical(tags, &key) != DIT_OK) key = NULL;
    cJSON_Delete(tags);
    return key;
}

static int compare_keys(const void *a, const void *b)
{
    const keyed_case *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : (x->kase > y->kase) - (x->kase < y->kase); /* the table's order */
}

/* The measured cases with their keys, sorted; *count of them. */
static dit_status list_measured(const report_table *table, const char *differ, keyed_case *out, int *count)
{
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        if (report_case_is_simulated(kase) || report_case_is_oracle(kase)) continue;
        out[*count] = (keyed_case){key_of(kase, differ), kase};
        if (!out[*count].key) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for twins");
        ++*count;
    }
    if (*count) qsort(out, (size_t)*count, sizeof *out, compare_keys);
    return DIT_OK;
}

static const report_case *find_measured(const keyed_case *measured, int count, const char *key)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(measured[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(measured[low].key, key) == 0 ? measured[low].kase : NULL;
}

static dit_status find_twins(const report_table *table, const char *differ, keyed_case *measured,
                             const report_case **out)
{
    int count = 0;
    dit_status st = list_measured(table, differ, measured, &count);
    for (int i = 0; i < table->case_count && st == DIT_OK && count; i++) {
        if (!is_candidate(&table->cases[i])) continue;
        char *key = key_of(&table->cases[i], differ);
        if (!key) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for twins");
        if (key) out[i] = find_measured(measured, count, key);
        free(key);
    }
    for (int i = 0; i < count; i++) free(measured[i].key);
    return st;
}

dit_status report_agreement_twins(const report_table *table, const char *differ, const report_case ***out)
{
    keyed_case *measured = calloc((size_t)table->case_count + 1, sizeof *measured);
    *out = calloc((size_t)table->case_count + 1, sizeof **out);
    dit_status st =
        measured && *out ? find_twins(table, differ, measured, *out) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for twins");
    free(measured);
    if (st != DIT_OK) free(*out), *out = NULL;
    return st;
}

/* ---- errors of simulated cases ----------------------------------------------------------------------------------- */

static dit_status give_error_to_published(const report_table *table, report_case *kase)
{
    double *errors = malloc(((size_t)table->published_count + 1) * sizeof *errors);
    int count = 0;
    if (!errors) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for errors");
    for (int i = 0; i < table->published_count; i++) {
        const report_published *point = &table->published[i];
        if (point->twin != kase || point->metric != REPORT_LATENCY || is_doubtful(point)) continue;
        double error = report_published_error(point);
        if (isfinite(error)) errors[count++] = fabs(error);
        kase->unanswered = kase->unanswered || (report_published_has_value(point) && !isfinite(error));
    }
    double median = dit_stats_median(errors, count);
    if (count) kase->metric[REPORT_ERROR_TO_PUBLISHED] = dit_stats_summarise(&median, 1);
    free(errors);
    return DIT_OK;
}

/* The interval is that of the measured twin: the error may be zero inside it. */
static void give_error_to_measured(report_case *kase, const report_case *twin)
{
    const dit_summary *predicted = &kase->metric[REPORT_LATENCY], *measured = &twin->metric[REPORT_LATENCY];
    kase->unanswered = kase->unanswered || (predicted->n == 0 && measured->n > 0);
    if (predicted->n == 0 || measured->n == 0 || measured->low <= 0) return;
    double least = fabs(predicted->median / measured->high - 1), most = fabs(predicted->median / measured->low - 1);
    bool inside = predicted->median >= measured->low && predicted->median <= measured->high;
    dit_summary *error = &kase->metric[REPORT_ERROR_TO_MEASURED];
    *error = dit_stats_summarise(&(double){fabs(predicted->median / measured->median - 1)}, 1);
    error->n = measured->n;
    error->low_n = measured->low_n;
    error->level = measured->level;
    error->low = error->min = inside ? 0 : fmin(least, most);
    error->high = error->max = fmax(least, most);
}

static int compare_published(const void *a, const void *b)
{
    const report_published *x = a, *y = b;
    int order = strcmp(x->file, y->file);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

dit_status report_agreement_close(report_table *table)
{
    const report_case **twins = NULL;
    size_t count = (size_t)table->published_count;
    if (count) qsort(table->published, count, sizeof *table->published, compare_published);
    for (int i = 0; i < table->published_count; i++) {
        find_twin(table, &table->published[i]);
        give_speedup(table, &table->published[i]);
        DIT_TRY(name_panel(&table->published[i]));
    }
    DIT_TRY(report_agreement_twins(table, "platform", &twins));
    dit_status st = DIT_OK;
    for (int i = 0; i < table->case_count && st == DIT_OK; i++) {
        if (twins[i]) give_error_to_measured(&table->cases[i], twins[i]);
        if (table->published_count && is_candidate(&table->cases[i])) {
            st = give_error_to_published(table, &table->cases[i]);
        }
    }
    free(twins);
    return st;
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* Counts out-of-memory verdicts, and whether both have a number. */
static bool is_compared(const report_published *point, dit_agreement_part part, report_agreement *out)
{
    bool in_part = part == DIT_AGREEMENT_ALL || point->in_fit == (part == DIT_AGREEMENT_IN_FIT);
    if (!point->twin || is_doubtful(point)) return false;
    bool twin_oom = point->twin->status == DIT_OUTCOME_OOM;
    if (point->kase.status == DIT_OUTCOME_OOM) {
        out->oom += in_part && (twin_oom || point->twin->ok_count > 0);
        out->oom_agreed += in_part && twin_oom;
        return false;
    }
    out->oom_wrong += in_part && twin_oom;
    return isfinite(report_published_error(point));
}

/* A search is one method whatever mesh won; any other point stands for the case that it names. */
static const char *method_of(const report_published *point)
{
    return report_published_is_search(point) ? "hybrid" : point->twin->case_id;
}

dit_status report_agreement_of(const report_published *const *points, int count, report_metric metric,
                               dit_agreement_part part, report_agreement *out)
{
    dit_agreement_point *list = malloc(((size_t)count + 1) * sizeof *list);
    int listed = 0;
    *out = (report_agreement){0};
    if (!list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d points", count);
    for (int i = 0; i < count; i++) {
        const report_published *point = points[i];
        if (point->metric != metric || !is_compared(point, part, out)) continue;
        list[listed++] = (dit_agreement_point){.printed = point->value,
                                               .predicted = report_published_predicted(point),
                                               .rounding = point->rounding,
                                               .panel = point->panel,
                                               .method = method_of(point),
                                               .in_fit = point->in_fit};
    }
    dit_status st = dit_agreement_judge(list, listed, part, &out->numbers);
    free(list);
    return st;
}
