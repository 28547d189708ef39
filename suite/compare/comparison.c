#include "suite/compare/comparison.h"

#include "base/words.h"
#include "suite/compare/looks.h"
#include "suite/workload/tags.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double margin_of_pairs = 0.02, margin_of_sessions = 0.05, memory_slack = 0.01, usual_level = 0.95;
enum { TAG_NAME = 64, NAMES_BYTES = 512 };

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a comparison");
}

void suite_comparison_release(suite_comparison *c)
{
    free(c->timings);
    free(c->differences);
    free(c->gone);
    free(c->added);
    free(c->turned);
    *c = (suite_comparison){0};
}

/* ---- which cases belong together --------------------------------------------------------------------------------- */

/* A case with what it is matched by: its id, or all its tags but those in which the sides differ. */
typedef struct {
    const suite_side_case *kase;
    char *key;
    const suite_side_case *twin; /* on the other side; NULL: none yet */
} keyed;

typedef struct {
    keyed *items;
    int count;
} keyed_list;

static void release_keys(keyed_list *list)
{
    for (int i = 0; i < list->count; i++) free(list->items[i].key);
    free(list->items);
}

static dit_status make_key(const suite_side_case *kase, const char *across, char **out)
{
    char name[TAG_NAME];
    if (!across) return *out = strdup(kase->case_id), *out ? DIT_OK : no_memory();
    cJSON *tags = cJSON_Duplicate(kase->tags, true);
    if (!tags) return no_memory();
    while (dit_words_next(&across, name, sizeof name)) cJSON_DeleteItemFromObjectCaseSensitive(tags, name);
    dit_status st = dit_json_canonical(tags, out);
    cJSON_Delete(tags);
    return st;
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(((const keyed *)left)->key, ((const keyed *)right)->key);
}

/* The cases that the filter keeps, by key. */
static dit_status make_keys(const suite_side *side, const suite_comparison_params *params, keyed_list *out)
{
    out->items = calloc((size_t)side->case_count + 1, sizeof *out->items);
    if (!out->items) return no_memory();
    for (int i = 0; i < side->case_count; i++) {
        bool kept = true;
        if (params->filter) DIT_TRY(suite_tags_filter(side->cases[i].tags, params->filter, &kept));
        if (!kept) continue;
        keyed *item = &out->items[out->count];
        DIT_TRY(make_key(&side->cases[i], params->across, &item->key));
        item->kase = &side->cases[i];
        out->count++;
    }
    return DIT_OK;
}

/* Two cases of one side that are one case but for the tags of `across`: which of them is meant? */
static dit_status fail_twice(const suite_side *side, const suite_side_case *one, const suite_side_case *other)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s has two cases that differ only in the tags of --across: %s; %s",
                                   side->name, one->label, other->label),
                          "name fewer tags, or pick one of them with --filter");
}

static dit_status sort_by_key(keyed_list *list, const suite_side *side)
{
    if (list->count) qsort(list->items, (size_t)list->count, sizeof *list->items, compare_keys);
    for (int i = 1; i < list->count; i++)
        if (strcmp(list->items[i - 1].key, list->items[i].key) == 0)
            return fail_twice(side, list->items[i - 1].kase, list->items[i].kase);
    return DIT_OK;
}

static dit_status check_tag_names(const char *across)
{
    char name[TAG_NAME];
    while (across && dit_words_next(&across, name, sizeof name))
        if (dit_words_find(suite_tag_names(), name) < 0)
            return dit_fail_word(DIT_ERR_NOT_FOUND, "tag", name, suite_tag_names());
    return DIT_OK;
}

static keyed *find_key(const keyed_list *list, const char *key)
{
    keyed wanted = {.key = (char *)(uintptr_t)key};
    return list->count ? bsearch(&wanted, list->items, (size_t)list->count, sizeof *list->items, compare_keys) : NULL;
}

/* ---- one pair of cases ------------------------------------------------------------------------------------------- */

static bool is_clocked(const suite_side_case *old, const suite_side_case *now, report_metric metric)
{
    return report_metric_get(metric)->repeats == REPORT_REPEATS_CLOCK && !(old->simulated && now->simulated);
}

/* Whether less of the metric is better; more of it where nobody says. */
static suite_verdict judge_exact(report_metric metric, double before, double after)
{
    if (before == after) return SUITE_VERDICT_SAME;
    switch (report_metric_get(metric)->better) {
    case REPORT_BETTER_LOWER: return after < before ? SUITE_VERDICT_BETTER : SUITE_VERDICT_WORSE;
    case REPORT_BETTER_HIGHER: return after > before ? SUITE_VERDICT_BETTER : SUITE_VERDICT_WORSE;
    case REPORT_BETTER_NEITHER: break;
    }
    return SUITE_VERDICT_WORSE;
}

/* Values of both sides, process by process where they ran in pairs. */
typedef struct {
    double *old, *now;
    int old_count, now_count;
} samples;

static int take_values(const suite_side_case *kase, report_metric metric, double *out)
{
    int count = 0;
    for (int i = 0; i < kase->process_count; i++)
        if (kase->values[metric][i] > 0) out[count++] = kase->values[metric][i];
    return count;
}

static int take_pairs(const suite_side_case *old, const suite_side_case *now, report_metric metric, samples *out)
{
    int pairs = 0;
    for (int i = 0, j = 0; i < old->process_count && j < now->process_count;) {
        if (old->processes[i] != now->processes[j]) {
            old->processes[i] < now->processes[j] ? i++ : j++;
            continue;
        }
        out->old[pairs] = old->values[metric][i++];
        out->now[pairs] = now->values[metric][j++];
        if (out->old[pairs] > 0 && out->now[pairs] > 0) pairs++;
    }
    return pairs;
}

static dit_status judge_samples(const suite_comparison *c, double level, suite_timing *t)
{
    samples s = {0};
    s.old = malloc(((size_t)t->old->process_count + 1) * sizeof *s.old);
    s.now = malloc(((size_t)t->now->process_count + 1) * sizeof *s.now);
    if (s.old && s.now && c->paired) {
        t->ratio = suite_ratio_of_pairs(s.old, s.now, take_pairs(t->old, t->now, t->metric, &s), level);
    } else if (s.old && s.now) {
        s.old_count = take_values(t->old, t->metric, s.old);
        s.now_count = take_values(t->now, t->metric, s.now);
        t->ratio = suite_ratio_of_samples(s.old, s.old_count, s.now, s.now_count, level);
    }
    bool allocated = s.old && s.now;
    free(s.old);
    free(s.now);
    return allocated ? DIT_OK : no_memory();
}

static dit_status add_timing(suite_comparison *c, const suite_comparison_params *params, const suite_side_case *old,
                             const suite_side_case *now, report_metric metric)
{
    suite_timing *t = &c->timings[c->timing_count];
    if (!old->values[metric] || !now->values[metric]) return DIT_OK;
    double least = params->margin > 0 ? params->margin : c->paired ? margin_of_pairs : margin_of_sessions;
    double noise = fmax(old->noise, now->noise);
    *t = (suite_timing){.old = old, .now = now, .metric = metric, .margin = fmax(least, 2 * noise)};
    t->before = suite_side_median(old, metric);
    t->after = suite_side_median(now, metric);
    t->exact = !is_clocked(old, now, metric);
    c->timing_count++;
    if (t->exact) {
        t->ratio = (suite_ratio){.n = 1, .ratio = t->after / t->before};
        t->ratio.low = t->ratio.high = t->ratio.ratio;
        t->verdict = judge_exact(metric, t->before, t->after);
        c->exact_count++;
        return DIT_OK;
    }
    DIT_TRY(judge_samples(c, params->level, t));
    t->evidence = suite_ratio_evidence(&t->ratio, t->margin);
    return DIT_OK;
}

/* Numbers that repeat: all of them, whether somebody asked for them or not. */
static void add_differences(suite_comparison *c, const suite_side_case *old, const suite_side_case *now)
{
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        const report_metric_info *info = report_metric_get((report_metric)m);
        bool exactly = info->repeats == REPORT_REPEATS_EXACTLY, nearly = info->repeats == REPORT_REPEATS_NEARLY;
        if (info->comparison || !(exactly || nearly) || !old->values[m] || !now->values[m]) continue;
        double before = suite_side_median(old, (report_metric)m), after = suite_side_median(now, (report_metric)m);
        c->exact_count++;
        if (before == after || (nearly && fabs(after - before) <= memory_slack * before)) continue;
        c->differences[c->difference_count++] =
            (suite_difference){.old = old,
                               .now = now,
                               .metric = (report_metric)m,
                               .before = before,
                               .after = after,
                               .verdict = judge_exact((report_metric)m, before, after)};
    }
}

static dit_status compare_case(suite_comparison *c, const suite_comparison_params *params, const suite_side_case *old,
                               const suite_side_case *now)
{
    c->matched_count++;
    if (old->status != now->status) {
        c->turned[c->turned_count][0] = old;
        c->turned[c->turned_count++][1] = now;
    }
    for (int i = 0; i < params->metric_count; i++) DIT_TRY(add_timing(c, params, old, now, params->metrics[i]));
    add_differences(c, old, now);
    return DIT_OK;
}

/* ---- all cases --------------------------------------------------------------------------------------------------- */

/* Tags in which the sides' first cases differ, for the hint of a comparison that matches nothing. */
static void differing_tags(const suite_side_case *old, const suite_side_case *now, char *out, size_t size)
{
    size_t used = 0;
    const cJSON *tag;
    out[0] = '\0';
    cJSON_ArrayForEach(tag, old->tags)
    {
        if (cJSON_Compare(tag, dit_json_member(now->tags, tag->string), true) || used >= size) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "", tag->string);
    }
}

static dit_status fail_unmatched(const keyed_list *old, const keyed_list *now, const suite_comparison *c)
{
    char names[NAMES_BYTES];
    if (!old->count || !now->count)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_NO_MATCH, "no case of %s is left to compare", old->count ? c->now->name : c->old->name),
            "`ditbench show` lists the cases of a session");
    differing_tags(old->items[0].kase, now->items[0].kase, names, sizeof names);
    return dit_error_hint(DIT_FAIL(DIT_ERR_NO_MATCH, "no case of %s stands in %s, too", c->old->name, c->now->name),
                          "to compare cases that differ on purpose, name the tags: --across %s",
                          names[0] ? names : "platform");
}

static dit_status make_room(suite_comparison *c, const suite_comparison_params *params, int old_count, int now_count)
{
    size_t most = (size_t)(old_count < now_count ? old_count : now_count) + 1;
    c->timings = calloc(most * (size_t)params->metric_count, sizeof *c->timings);
    c->differences = calloc(most * REPORT_METRIC_COUNT, sizeof *c->differences);
    c->turned = calloc(most, sizeof *c->turned);
    c->gone = calloc((size_t)old_count + 1, sizeof *c->gone);
    c->added = calloc((size_t)now_count + 1, sizeof *c->added);
    return c->timings && c->differences && c->turned && c->gone && c->added ? DIT_OK : no_memory();
}

/* Rows stand in the order of the new side. `old` is sorted. */
static dit_status compare_lists(suite_comparison *c, const suite_comparison_params *params, const keyed_list *old,
                                const keyed_list *now)
{
    DIT_TRY(make_room(c, params, old->count, now->count));
    for (int i = 0; i < now->count; i++) {
        keyed *other = find_key(old, now->items[i].key);
        if (other && other->twin) return fail_twice(c->now, other->twin, now->items[i].kase);
        if (other) {
            other->twin = now->items[i].kase;
            DIT_TRY(compare_case(c, params, other->kase, other->twin));
        } else
            c->added[c->added_count++] = now->items[i].kase;
    }
    for (int i = 0; i < old->count; i++)
        if (!old->items[i].twin) c->gone[c->gone_count++] = old->items[i].kase;
    return c->matched_count ? DIT_OK : fail_unmatched(old, now, c);
}

/* Many cases give many chances of a false alarm, so the probabilities of all are adjusted together. */
static dit_status judge_all(suite_comparison *c, double level)
{
    double *greater = malloc(((size_t)c->timing_count + 1) * sizeof *greater);
    double *smaller = malloc(((size_t)c->timing_count + 1) * sizeof *smaller);
    int count = 0;
    dit_status st = greater && smaller ? DIT_OK : no_memory();
    for (int i = 0; st == DIT_OK && i < c->timing_count; i++) {
        if (c->timings[i].exact) continue;
        greater[count] = c->timings[i].evidence.greater;
        smaller[count++] = c->timings[i].evidence.smaller;
    }
    if (st == DIT_OK) st = suite_holm_adjust(greater, count);
    if (st == DIT_OK) st = suite_holm_adjust(smaller, count);
    for (int i = 0, k = 0; st == DIT_OK && i < c->timing_count; i++) {
        suite_timing *t = &c->timings[i];
        if (t->exact) continue;
        t->evidence.greater = greater[k];
        t->evidence.smaller = smaller[k++];
        t->verdict =
            suite_verdict_of(&t->evidence, level, report_metric_get(t->metric)->better != REPORT_BETTER_HIGHER);
    }
    free(greater);
    free(smaller);
    return st;
}

static bool same_hardware(const suite_side *old, const suite_side *now)
{
    const char *a = dit_json_text_or(dit_json_member(old->session, "hardware"), "hardware_id", "");
    const char *b = dit_json_text_or(dit_json_member(now->session, "hardware"), "hardware_id", "?");
    return strcmp(a, b) == 0;
}

dit_status suite_comparison_make(const suite_side *old, const suite_side *now, const suite_comparison_params *asked,
                                 suite_comparison *out)
{
    static const report_metric usual[] = {REPORT_LATENCY};
    suite_comparison_params params = *asked;
    keyed_list before = {0}, after = {0};
    if (!params.metric_count) params.metrics = usual, params.metric_count = 1;
    *out = (suite_comparison){.old = old, .now = now, .same_hardware = same_hardware(old, now)};
    out->paired = old->pairing[0] && strcmp(old->pairing, now->pairing) == 0;
    if (!(params.level > 0)) params.level = suite_looks_level(usual_level, out->paired ? old->looks : 1);
    if (out->paired && !params.across && old->across[0]) params.across = old->across;
    out->across = params.across != NULL;
    dit_status st = check_tag_names(params.across);
    if (st == DIT_OK) st = make_keys(old, &params, &before);
    if (st == DIT_OK) st = make_keys(now, &params, &after);
    if (st == DIT_OK) st = sort_by_key(&before, old);
    if (st == DIT_OK) st = compare_lists(out, &params, &before, &after);
    if (st == DIT_OK) st = judge_all(out, params.level);
    release_keys(&before);
    release_keys(&after);
    if (st != DIT_OK) suite_comparison_release(out);
    return st;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

int suite_comparison_count(const suite_comparison *c, suite_verdict verdict)
{
    int count = 0;
    for (int i = 0; i < c->timing_count; i++) count += c->timings[i].verdict == verdict;
    return count;
}

suite_verdict suite_comparison_verdict(const suite_comparison *c)
{
    int counts[SUITE_VERDICT_COUNT] = {0};
    for (int v = 0; v < SUITE_VERDICT_COUNT; v++) counts[v] = suite_comparison_count(c, (suite_verdict)v);
    for (int i = 0; i < c->difference_count && !c->across; i++) counts[c->differences[i].verdict]++;
    for (int i = 0; i < c->turned_count; i++)
        counts[c->turned[i][1]->status == DIT_OUTCOME_OK ? SUITE_VERDICT_BETTER : SUITE_VERDICT_WORSE]++;
    static const suite_verdict order[] = {SUITE_VERDICT_WORSE, SUITE_VERDICT_UNDECIDED, SUITE_VERDICT_BETTER};
    for (int i = 0; i < 3; i++)
        if (counts[order[i]]) return order[i];
    return SUITE_VERDICT_SAME;
}

bool suite_comparison_measured(const suite_comparison *c)
{
    bool found = false;
    for (int i = 0; i < c->timing_count; i++) found |= !c->timings[i].exact;
    return found;
}
