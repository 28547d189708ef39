#include "suite/trend/trend.h"

#include "base/stats.h"
#include "suite/compare/series.h"
#include "suite/workload/tags.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 1000, LOOK_AT = 256 /* newest values in which change points are sought */ };
static const double default_margin = 0.02, memory_margin = 0.01, chance_limit = 0.05;

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the history of cases");
}

static void release_point(report_trend_point *point)
{
    free(point->session);
    free(point->started);
    free(point->commit);
    free(point->note);
}

static void release_trend(report_trend *trend)
{
    for (int i = 0; i < trend->point_count; i++) release_point(&trend->points[i]);
    free(trend->points);
    free(trend->changes);
    free(trend->label);
    free(trend->release_name);
    cJSON_Delete(trend->tags);
}

void suite_trends_release(suite_trends *trends)
{
    for (int i = 0; i < trends->count; i++) release_trend(&trends->rows[i]);
    free(trends->rows);
    *trends = (suite_trends){0};
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

/* Whether a number repeats to the last digit, so that any difference is a change. */
static bool is_exact(const report_trend *trend)
{
    return trend->simulated || report_metric_get(trend->metric)->repeats == REPORT_REPEATS_EXACTLY;
}

static double margin_of(const report_trend *trend, const suite_trend_params *params)
{
    if (report_metric_get(trend->metric)->repeats == REPORT_REPEATS_NEARLY) return memory_margin;
    return params->margin > 0 ? params->margin : default_margin;
}

/* The first value that the newest one is held against: that of the newest accepted shift. */
static int baseline_start(const report_trend *trend)
{
    int start = 0;
    for (int i = 0; i < trend->point_count; i++)
        if (trend->points[i].accepted) start = i;
    return start;
}

static report_trend_verdict direction(const report_trend *trend, int side)
{
    report_better better = report_metric_get(trend->metric)->better;
    if (better == REPORT_BETTER_NEITHER) return REPORT_TREND_CHANGED;
    return (better == REPORT_BETTER_LOWER) == (side > 0) ? REPORT_TREND_WORSE : REPORT_TREND_BETTER;
}

/* Numbers of one baseline are equal; the newest one is, or something changed. */
static void judge_exact(report_trend *trend, int start)
{
    int last = trend->point_count - 1;
    trend->before = trend->points[start].value;
    for (int i = start + 1; i <= last; i++) {
        double value = trend->points[i].value;
        trend->points[i].sticks_out = (value > trend->before) - (value < trend->before);
    }
    int side = trend->points[last].sticks_out;
    trend->score = side == 0 ? 0 : copysign(INFINITY, side);
    trend->verdict = side == 0 ? REPORT_TREND_STEADY : direction(trend, side);
}

/* Whether the session before the newest one sticks out on this side, too: a second run of the commit, or the next
 * night. */
static bool is_confirmed(const report_trend *trend, int start, int side)
{
    int last = trend->point_count - 1;
    return last > start && trend->points[last - 1].sticks_out == side;
}

static dit_status judge_clock(report_trend *trend, int start, double margin)
{
    double *clean = malloc((size_t)trend->point_count * sizeof *clean);
    int count = 0;
    if (!clean) return no_memory();
    for (int i = start; i < trend->point_count; i++) {
        report_trend_point *point = &trend->points[i];
        int used = count < SUITE_SERIES_LOOK_BACK ? count : SUITE_SERIES_LOOK_BACK;
        const double *before = clean + count - used;
        point->sticks_out = suite_series_sticks_out(before, used, point->value, margin);
        if (i + 1 == trend->point_count && used >= SUITE_SERIES_LEAST) {
            trend->score = suite_series_score(before, used, point->value);
            trend->before = dit_stats_median(before, used);
        }
        if (!point->sticks_out) clean[count++] = point->value;
    }
    free(clean);
    int side = trend->points[trend->point_count - 1].sticks_out;
    if (side)
        trend->verdict = is_confirmed(trend, start, side) ? direction(trend, side) : REPORT_TREND_SUSPECT;
    else
        trend->verdict = isfinite(trend->before) ? REPORT_TREND_STEADY : REPORT_TREND_SHORT;
    return DIT_OK;
}

static dit_status find_exact_changes(report_trend *trend)
{
    trend->changes = malloc((size_t)trend->point_count * sizeof *trend->changes);
    if (!trend->changes) return no_memory();
    for (int i = 1; i < trend->point_count; i++) {
        double before = trend->points[i - 1].value, after = trend->points[i].value;
        if (before != after) trend->changes[trend->change_count++] = (report_trend_change){i, before, after};
    }
    return DIT_OK;
}

static dit_status find_changes(report_trend *trend, double margin)
{
    int first = trend->point_count > LOOK_AT ? trend->point_count - LOOK_AT : 0, n = trend->point_count - first;
    double values[LOOK_AT];
    suite_change *found = NULL;
    int count = 0;
    for (int i = 0; i < n; i++) values[i] = trend->points[first + i].value;
    DIT_TRY(suite_series_changes(values, n, margin, chance_limit, 1, &found, &count));
    trend->changes = malloc(((size_t)count + 1) * sizeof *trend->changes);
    if (trend->changes) {
        for (int i = 0; i < count; i++)
            trend->changes[i] = (report_trend_change){first + found[i].place, found[i].before, found[i].after};
        trend->change_count = count;
    }
    free(found);
    return trend->changes ? DIT_OK : no_memory();
}

dit_status suite_trend_judge(report_trend *trend, const suite_trend_params *params)
{
    int start = baseline_start(trend);
    double margin = margin_of(trend, params);
    free(trend->changes);
    trend->changes = NULL;
    trend->change_count = 0;
    trend->score = trend->before = NAN;
    if (is_exact(trend)) {
        judge_exact(trend, start);
        return params->without_changes ? DIT_OK : find_exact_changes(trend);
    }
    DIT_TRY(judge_clock(trend, start, margin));
    return params->without_changes ? DIT_OK : find_changes(trend, margin);
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

static dit_status add_note(report_trend_point *point, const suite_annotation *row)
{
    const char *old = point->note ? point->note : "";
    char *text = NULL;
    if (asprintf(&text, "%s%s%s: %s%s%s%s", old, *old ? "; " : "", suite_annotation_kind_name(row->kind), row->note,
                 row->author[0] ? " (" : "", row->author, row->author[0] ? ")" : "") < 0)
        return no_memory();
    free(point->note);
    point->note = text;
    return DIT_OK;
}

/* Marks the first point of the commit that a row names. */
static dit_status annotate(report_trend *trend, const suite_annotations *annotations)
{
    const char *metric = report_metric_get(trend->metric)->name;
    for (int r = 0; annotations && r < annotations->count; r++) {
        const suite_annotation *row = &annotations->rows[r];
        if (!suite_annotation_concerns(row, trend->case_id, metric)) continue;
        int place = 0;
        while (place < trend->point_count && !suite_annotation_same_commit(trend->points[place].commit, row->commit))
            place++;
        if (place == trend->point_count) continue;
        if (row->kind == SUITE_ANNOTATION_SHIFT) trend->points[place].accepted = true;
        DIT_TRY(add_note(&trend->points[place], row));
    }
    return DIT_OK;
}

/* The release that was asked for, else the newest one of the annotations. */
static const char *release_name(const report_trend *trend, const suite_trend_params *params)
{
    const char *name = params->release, *metric = report_metric_get(trend->metric)->name;
    for (int r = 0; !params->release && params->annotations && r < params->annotations->count; r++) {
        const suite_annotation *row = &params->annotations->rows[r];
        if (row->kind == SUITE_ANNOTATION_RELEASE && suite_annotation_concerns(row, trend->case_id, metric))
            name = row->commit;
    }
    return name;
}

static dit_status find_release(report_trend *trend, const suite_trend_params *params)
{
    double values[LOOK_AT];
    int count = 0;
    const char *name = release_name(trend, params);
    trend->release = NAN;
    if (!name) return DIT_OK;
    for (int i = 0; i < trend->point_count && count < LOOK_AT; i++)
        if (suite_annotation_same_commit(trend->points[i].commit, name)) values[count++] = trend->points[i].value;
    if (count) trend->release = dit_stats_median(values, count);
    trend->release_name = strdup(name);
    return trend->release_name ? DIT_OK : no_memory();
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const suite_trend_params *params;
    suite_trends *trends;
    double values[PROCESSES]; /* of the session that is being read */
    int value_count;
    char left_out[DIT_HASH_HEX]; /* a case that the filter does not keep */
} trend_reader;

static void end_point(trend_reader *reader)
{
    suite_trends *trends = reader->trends;
    if (!reader->value_count) return;
    report_trend *trend = &trends->rows[trends->count - 1];
    report_trend_point *point = &trend->points[trend->point_count - 1];
    dit_summary summary = dit_stats_summarise(reader->values, reader->value_count);
    point->value = summary.median;
    point->low = summary.low;
    point->high = summary.high;
    point->n = summary.n;
    reader->value_count = 0;
}

static dit_status add_trend(suite_trends *trends, report_metric metric, const suite_index_value *row, cJSON *tags)
{
    if (trends->count == trends->capacity) {
        int capacity = trends->capacity * 2 + 64;
        report_trend *grown = realloc(trends->rows, (size_t)capacity * sizeof *grown);
        if (!grown) return cJSON_Delete(tags), no_memory();
        trends->rows = grown;
        trends->capacity = capacity;
    }
    report_trend *trend = &trends->rows[trends->count++];
    *trend = (report_trend){.metric = metric, .simulated = row->simulated, .tags = tags};
    snprintf(trend->case_id, sizeof trend->case_id, "%s", row->case_id);
    snprintf(trend->context, sizeof trend->context, "%s", row->context);
    trend->label = strdup(row->label);
    return trend->label ? DIT_OK : no_memory();
}

static dit_status add_point(report_trend *trend, const suite_index_value *row)
{
    if (trend->point_count == trend->point_capacity) {
        int capacity = trend->point_capacity * 2 + 16;
        report_trend_point *grown = realloc(trend->points, (size_t)capacity * sizeof *grown);
        if (!grown) return no_memory();
        trend->points = grown;
        trend->point_capacity = capacity;
    }
    report_trend_point *point = &trend->points[trend->point_count++];
    *point = (report_trend_point){.session = strdup(row->session), .started = strdup(row->started)};
    point->commit = strdup(row->commit[0] ? row->commit : row->version);
    return point->session && point->started && point->commit ? DIT_OK : no_memory();
}

/* Whether the parameters keep the case of a row; its tags where they do. */
static dit_status keeps(const trend_reader *reader, const suite_index_value *row, cJSON **tags, bool *out)
{
    const suite_trend_params *params = reader->params;
    const char *name = params->name;
    *out = !name || strncmp(row->case_id, name, strlen(name)) == 0 || strcmp(row->label, name) == 0;
    *tags = *out ? cJSON_Parse(row->tags) : NULL;
    if (!*out) return DIT_OK;
    if (!*tags) return no_memory();
    dit_status st = params->filter ? suite_tags_filter(*tags, params->filter, out) : DIT_OK;
    if (st == DIT_OK && *out) return DIT_OK;
    cJSON_Delete(*tags);
    return st;
}

static dit_status begin_trend(trend_reader *reader, const suite_index_value *row)
{
    cJSON *tags;
    bool kept;
    DIT_TRY(keeps(reader, row, &tags, &kept));
    snprintf(reader->left_out, sizeof reader->left_out, "%s", kept ? "" : row->case_id);
    return kept ? add_trend(reader->trends, reader->params->metric, row, tags) : DIT_OK;
}

static bool is_newest(const suite_trends *trends, const suite_index_value *row)
{
    const report_trend *trend = trends->count ? &trends->rows[trends->count - 1] : NULL;
    return trend && strcmp(trend->case_id, row->case_id) == 0 && strcmp(trend->context, row->context) == 0;
}

static dit_status take_value(void *context, const suite_index_value *row)
{
    trend_reader *reader = context;
    if (strcmp(reader->left_out, row->case_id) == 0) return DIT_OK;
    if (!is_newest(reader->trends, row)) {
        end_point(reader);
        DIT_TRY(begin_trend(reader, row));
        if (reader->left_out[0]) return DIT_OK;
    }
    report_trend *trend = &reader->trends->rows[reader->trends->count - 1];
    if (!trend->point_count || strcmp(trend->points[trend->point_count - 1].session, row->session) != 0) {
        end_point(reader);
        DIT_TRY(add_point(trend, row));
    }
    if (reader->value_count < PROCESSES) reader->values[reader->value_count++] = row->value;
    return DIT_OK;
}

static int compare_trends(const void *left, const void *right)
{
    const report_trend *a = left, *b = right;
    int order = strcmp(a->label, b->label);
    if (!order) order = strcmp(a->case_id, b->case_id);
    return order ? order : strcmp(a->context, b->context);
}

static dit_status judge_all(const suite_trend_params *params, suite_trends *trends)
{
    for (int i = 0; i < trends->count; i++) {
        DIT_TRY(annotate(&trends->rows[i], params->annotations));
        DIT_TRY(find_release(&trends->rows[i], params));
        DIT_TRY(suite_trend_judge(&trends->rows[i], params));
    }
    return DIT_OK;
}

dit_status suite_trends_read(suite_index *index, const suite_trend_params *params, suite_trends *out)
{
    *out = (suite_trends){0};
    trend_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return no_memory();
    reader->params = params;
    reader->trends = out;
    dit_status st = suite_index_values(index, params->metric, params->since, take_value, reader);
    if (st == DIT_OK) end_point(reader);
    free(reader);
    if (st == DIT_OK && !out->count)
        st = dit_error_hint(DIT_FAIL(DIT_ERR_NO_MATCH, "no session here has %s of such a case",
                                     report_metric_get(params->metric)->name),
                            "`ditbench list` names the sessions, `ditbench list metrics` the metrics");
    if (st == DIT_OK) qsort(out->rows, (size_t)out->count, sizeof *out->rows, compare_trends);
    if (st == DIT_OK) st = judge_all(params, out);
    if (st != DIT_OK) suite_trends_release(out);
    return st;
}
