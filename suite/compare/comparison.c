#include "suite/compare/comparison.h"

#include "base/stats.h"
#include "base/words.h"
#include "reports/records/ranks.h"
#include "suite/compare/looks.h"
#include "suite/machine/contention.h"
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
    free(c->skipped);
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

/* How the metric is judged: as the new side's workload says, or the old one's where the new one says nothing. */
static report_gate_rule rule_of(const suite_comparison *c, report_metric metric)
{
    return report_gate_rule_of(c->now->gate.count ? &c->now->gate : &c->old->gate, metric);
}

/* Of numbers that repeat. A change of at most the share `slack` is none. */
static suite_verdict judge_exact(report_better better, double slack, double before, double after)
{
    if (before == after || fabs(after - before) <= slack * fabs(before)) return SUITE_VERDICT_SAME;
    switch (better) {
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

/* Whether others used so much of the cores that the process does not count. Who does not know counts it. */
static bool is_busy(const suite_side_case *kase, int process, double limit)
{
    return kase->other_shares && kase->other_shares[process] > limit;
}

static int take_values(const suite_side_case *kase, report_metric metric, double limit, double *out)
{
    int count = 0;
    for (int i = 0; i < kase->process_count; i++)
        if (kase->values[metric][i] > 0 && !is_busy(kase, i, limit)) out[count++] = kase->values[metric][i];
    return count;
}

static int take_pairs(const suite_side_case *old, const suite_side_case *now, report_metric metric, double limit,
                      samples *out)
{
    int pairs = 0;
    for (int i = 0, j = 0; i < old->process_count && j < now->process_count;) {
        if (old->processes[i] != now->processes[j]) {
            old->processes[i] < now->processes[j] ? i++ : j++;
            continue;
        }
        bool busy = is_busy(old, i, limit) || is_busy(now, j, limit);
        out->old[pairs] = old->values[metric][i++];
        out->now[pairs] = now->values[metric][j++];
        if (out->old[pairs] > 0 && out->now[pairs] > 0 && !busy) pairs++;
    }
    return pairs;
}

/* The samples beside which others used at most the share `limit`; returns how many there are on the side with fewer. */
static int take_samples(const suite_comparison *c, const suite_timing *t, double limit, samples *out)
{
    if (c->paired) {
        out->old_count = out->now_count = take_pairs(t->old, t->now, t->metric, limit, out);
    } else {
        out->old_count = take_values(t->old, t->metric, limit, out->old);
        out->now_count = take_values(t->now, t->metric, limit, out->now);
    }
    return out->old_count < out->now_count ? out->old_count : out->now_count;
}

/* Too few that count for a verdict are no verdict; the ratio of all is shown then, as it is better than none. */
static void judge_counted(const suite_comparison *c, const suite_comparison_params *params, suite_timing *t, samples *s)
{
    int all = take_samples(c, t, INFINITY, s), old_all = s->old_count, now_all = s->now_count;
    int counted = take_samples(c, t, params->busy_limit, s);
    t->not_counted = old_all - s->old_count + (c->paired ? 0 : now_all - s->now_count);
    if (counted < SUITE_RATIO_LEAST && counted < all) take_samples(c, t, INFINITY, s);
    t->ratio = c->paired ? suite_ratio_of_pairs(s->old, s->now, s->old_count, params->level)
                         : suite_ratio_of_samples(s->old, s->old_count, s->now, s->now_count, params->level);
    t->ratio.n = counted;
    if (s->old_count) t->before = dit_stats_median(s->old, s->old_count);
    if (s->now_count) t->after = dit_stats_median(s->now, s->now_count);
}

static dit_status judge_samples(const suite_comparison *c, const suite_comparison_params *params, suite_timing *t)
{
    samples s = {0};
    s.old = malloc(((size_t)t->old->process_count + 1) * sizeof *s.old);
    s.now = malloc(((size_t)t->now->process_count + 1) * sizeof *s.now);
    bool allocated = s.old && s.now;
    if (allocated) judge_counted(c, params, t, &s);
    free(s.old);
    free(s.now);
    return allocated ? DIT_OK : no_memory();
}

/* The margin of a measured time: what the command line says, what the workload says, what is usual. */
static double margin_of(const suite_comparison *c, const suite_comparison_params *params, const report_gate_rule *rule)
{
    if (params->margin > 0) return params->margin;
    if (isfinite(rule->margin)) return rule->margin;
    return c->paired ? margin_of_pairs : margin_of_sessions;
}

static dit_status add_timing(suite_comparison *c, const suite_comparison_params *params, const suite_side_case *old,
                             const suite_side_case *now, report_metric metric)
{
    suite_timing *t = &c->timings[c->timing_count];
    const report_gate_rule rule = rule_of(c, metric);
    if (!old->values[metric] || !now->values[metric]) return DIT_OK;
    double noise = fmax(old->noise, now->noise);
    *t = (suite_timing){.old = old, .now = now, .metric = metric, .better = rule.better};
    t->margin = fmax(margin_of(c, params, &rule), 2 * noise);
    t->before = suite_side_median(old, metric);
    t->after = suite_side_median(now, metric);
    t->exact = !is_clocked(old, now, metric);
    c->timing_count++;
    if (t->exact) {
        t->ratio = (suite_ratio){.n = 1, .ratio = t->after / t->before};
        t->ratio.low = t->ratio.high = t->ratio.ratio;
        t->margin = isfinite(rule.margin) ? rule.margin : 0;
        t->verdict = judge_exact(rule.better, t->margin, t->before, t->after);
        c->exact_count++;
        return DIT_OK;
    }
    DIT_TRY(judge_samples(c, params, t));
    t->evidence = suite_ratio_evidence(&t->ratio, t->margin);
    return DIT_OK;
}

/* ---- numbers that repeat ----------------------------------------------------------------------------------------- */

static dit_status add_difference(suite_comparison *c, const suite_difference *difference)
{
    if (c->difference_count == c->difference_capacity) {
        int capacity = 2 * c->difference_capacity + 64;
        suite_difference *grown = realloc(c->differences, (size_t)capacity * sizeof *grown);
        if (!grown) return no_memory();
        c->differences = grown;
        c->difference_capacity = capacity;
    }
    c->differences[c->difference_count++] = *difference;
    return DIT_OK;
}

/* Judges one number of the metric, or of a kind that the metric adds up, and keeps it where it changed. */
static dit_status compare_number(suite_comparison *c, suite_difference *d, const report_gate_rule *rule)
{
    bool nearly = report_metric_get(d->metric)->repeats == REPORT_REPEATS_NEARLY;
    double slack = isfinite(rule->margin) ? rule->margin : nearly ? memory_slack : 0;
    c->exact_count++;
    d->better = rule->better;
    d->verdict = judge_exact(d->better, slack, d->before, d->after);
    return d->verdict == SUITE_VERDICT_SAME ? DIT_OK : add_difference(c, d);
}

/* Whether a metric is compared as it is: it repeats, or the workload asks for one that repeats loosely. */
static bool is_compared(const suite_comparison *c, report_metric metric)
{
    report_repeats repeats = report_metric_get(metric)->repeats;
    if (!report_metric_is_of_one_case(metric) || repeats == REPORT_REPEATS_CLOCK) return false;
    return repeats != REPORT_REPEATS_LOOSELY || rule_of(c, metric).named;
}

/* Numbers that repeat: all of them, whether somebody asked for them or not. */
static dit_status compare_numbers(suite_comparison *c, const suite_side_case *old, const suite_side_case *now)
{
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        const report_metric metric = (report_metric)m;
        const report_gate_rule rule = rule_of(c, metric);
        if (!is_compared(c, metric) || !old->values[m] || !now->values[m]) continue;
        suite_difference d = {.old = old, .now = now, .name = report_metric_get(metric)->name, .metric = metric};
        d.before = suite_side_median(old, metric);
        d.after = suite_side_median(now, metric);
        DIT_TRY(compare_number(c, &d, &rule));
    }
    return DIT_OK;
}

/* The metric that a kind is a part of, which is the beginning of its name. */
static bool metric_of_kind(const char *kind, report_metric *out)
{
    char name[TAG_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(kind, "/"), kind);
    return report_metric_from_name(name, out);
}

/* Compares the kinds that `all` names; a kind that a side lacks was not done there. Kinds that `others` has, too, are
 * left out. */
static dit_status compare_kinds(suite_comparison *c, const suite_difference *sides, const cJSON *all,
                                const cJSON *others)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, all)
    {
        suite_difference d = *sides;
        if (!cJSON_IsNumber(item) || !metric_of_kind(item->string, &d.metric)) continue;
        if (dit_json_member(others, item->string)) continue;
        const report_gate_rule rule = rule_of(c, d.metric);
        d.name = item->string;
        d.before = dit_json_number_or(d.old->counts, d.name, 0);
        d.after = dit_json_number_or(d.now->counts, d.name, 0);
        DIT_TRY(compare_number(c, &d, &rule));
    }
    return DIT_OK;
}

/* A changed plan says nothing new where numbers of the case say already what changed. */
static dit_status compare_plans(suite_comparison *c, const suite_difference *sides, int differences_before)
{
    suite_difference d = *sides;
    d.name = REPORT_COUNTS_PLAN;
    d.metric = REPORT_COMMUNICATION_MESSAGES;
    d.better = REPORT_BETTER_NEITHER;
    d.before = d.after = NAN;
    d.old_text = dit_json_text_or(d.old->counts, REPORT_COUNTS_PLAN, NULL);
    d.new_text = dit_json_text_or(d.now->counts, REPORT_COUNTS_PLAN, NULL);
    d.verdict = SUITE_VERDICT_WORSE;
    if (!d.old_text || !d.new_text) return DIT_OK;
    c->exact_count++;
    bool known = c->difference_count > differences_before || strcmp(d.old_text, d.new_text) == 0;
    return known ? DIT_OK : add_difference(c, &d);
}

static dit_status compare_counts(suite_comparison *c, const suite_side_case *old, const suite_side_case *now,
                                 int differences_before)
{
    const suite_difference sides = {.old = old, .now = now};
    if (!old->counts || !now->counts || c->across) return DIT_OK;
    DIT_TRY(compare_kinds(c, &sides, now->counts, NULL));
    DIT_TRY(compare_kinds(c, &sides, old->counts, now->counts));
    return compare_plans(c, &sides, differences_before);
}

/* A case that a side skipped is no case that failed there: what it needs was not there. */
static dit_status compare_case(suite_comparison *c, const suite_comparison_params *params, const suite_side_case *old,
                               const suite_side_case *now)
{
    const int before = c->difference_count;
    const bool skipped = old->status == DIT_OUTCOME_SKIPPED || now->status == DIT_OUTCOME_SKIPPED;
    c->matched_count++;
    if (skipped) {
        c->skipped[c->skipped_count][0] = old;
        c->skipped[c->skipped_count++][1] = now;
        return DIT_OK;
    }
    if (old->status != now->status) {
        c->turned[c->turned_count][0] = old;
        c->turned[c->turned_count++][1] = now;
    }
    for (int i = 0; i < params->metric_count; i++) DIT_TRY(add_timing(c, params, old, now, params->metrics[i]));
    DIT_TRY(compare_numbers(c, old, now));
    return compare_counts(c, old, now, before);
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
    c->turned = calloc(most, sizeof *c->turned);
    c->skipped = calloc(most, sizeof *c->skipped);
    c->gone = calloc((size_t)old_count + 1, sizeof *c->gone);
    c->added = calloc((size_t)now_count + 1, sizeof *c->added);
    return c->timings && c->turned && c->skipped && c->gone && c->added ? DIT_OK : no_memory();
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
        t->verdict = suite_verdict_of(&t->evidence, level, t->better != REPORT_BETTER_HIGHER);
        if (t->better == REPORT_BETTER_NEITHER && t->verdict == SUITE_VERDICT_BETTER) t->verdict = SUITE_VERDICT_WORSE;
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

/* What is judged where nobody names metrics: the latency, and the times that the workload names. */
static int usual_metrics(const suite_comparison *c, report_metric out[REPORT_METRIC_COUNT])
{
    int count = 0;
    out[count++] = REPORT_LATENCY;
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        bool time = report_metric_get((report_metric)m)->repeats == REPORT_REPEATS_CLOCK;
        if (m != REPORT_LATENCY && time && rule_of(c, (report_metric)m).named) out[count++] = (report_metric)m;
    }
    return count;
}

dit_status suite_comparison_make(const suite_side *old, const suite_side *now, const suite_comparison_params *asked,
                                 suite_comparison *out)
{
    report_metric usual[REPORT_METRIC_COUNT];
    suite_comparison_params params = *asked;
    keyed_list before = {0}, after = {0};
    *out = (suite_comparison){.old = old, .now = now, .same_hardware = same_hardware(old, now)};
    if (!params.metric_count) {
        params.metric_count = usual_metrics(out, usual);
        params.metrics = usual;
    }
    out->paired = old->pairing[0] && strcmp(old->pairing, now->pairing) == 0;
    if (!(params.level > 0)) params.level = suite_looks_level(usual_level, out->paired ? old->looks : 1);
    if (!(params.busy_limit > 0) && out->paired) params.busy_limit = old->busy_limit;
    if (!(params.busy_limit > 0)) params.busy_limit = SUITE_CONTENTION_LIMIT;
    out->busy_limit = params.busy_limit;
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

bool suite_timing_is_precise(const suite_timing *t)
{
    return !t->exact && t->ratio.n >= SUITE_RATIO_LEAST && 4 * suite_ratio_reach(&t->ratio) < log1p(t->margin);
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

const suite_side_case *suite_comparison_who_skipped(const suite_comparison *c, int index)
{
    return c->skipped[index][c->skipped[index][1]->status == DIT_OUTCOME_SKIPPED];
}

bool suite_comparison_measured(const suite_comparison *c)
{
    bool found = false;
    for (int i = 0; i < c->timing_count; i++) found |= !c->timings[i].exact;
    return found;
}
