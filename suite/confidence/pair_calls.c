#include "suite/confidence/pair_calls.h"

#include "suite/compare/ratio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 4000 };
static const uint64_t seed = 20261123;

/* Two held-out errors of one family, on two machines. */
typedef struct {
    const suite_held_error *a, *b;
} rivals;

/* A verdict on a pair, for the count by clusters: `first` < `second` are the groups. */
typedef struct {
    int first, second;
    bool right;
} verdict;

static const suite_held_error *errors_of(const suite_held_out *held, bool fitted, int *count)
{
    *count = fitted ? held->outside_count : held->left_out_count;
    return fitted ? held->outside : held->left_out;
}

static double predicted(const suite_held_out *held, const suite_held_error *one)
{
    return held->points[one->point].seconds * exp(-one->error);
}

/* ---- one pair ------------------------------------------------------------------------------------------------------ */

/* What is known without the two groups of a pair. It is of the first one's class; both have one mesh and one software,
 * and only their reach may differ, where a node of one machine has fewer devices than one of the other. */
typedef struct {
    suite_error_class of; /* with the groups: what it is knowledge for */
    int groups[2];        /* ascending                                 */
    bool there;
    suite_error_sample sample; /* empty where no class has points enough */
    double widest_gap;
    double *errors[SUITE_DRAW_RULES];
} knowledge;

static void forget(knowledge *known)
{
    suite_error_sample_release(&known->sample);
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++) free(known->errors[rule]);
    *known = (knowledge){.there = false};
}

static dit_status draw(knowledge *known)
{
    const suite_error_sample *samples[] = {&known->sample, &known->sample};
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++) {
        known->errors[rule] = calloc(2 * DRAWS, sizeof *known->errors[rule]);
        if (!known->errors[rule]) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for draws");
        DIT_TRY(suite_draw_errors(samples, 2, DRAWS, seed, (suite_draw_rule)rule, known->errors[rule]));
    }
    return DIT_OK;
}

static bool is_known(const knowledge *known, const knowledge *wanted)
{
    return known->there && memcmp(known->groups, wanted->groups, sizeof known->groups) == 0 &&
           known->of.reach == wanted->of.reach && known->of.kind == wanted->of.kind &&
           known->of.software == wanted->of.software && known->of.fitted == wanted->of.fitted;
}

/* Pairs of one family are often of the same groups and class as the pair before: then *known stays. */
static dit_status learn(const suite_held_out *held, bool fitted, const rivals *pair, knowledge *known)
{
    int x = suite_held_out_group(held, fitted, pair->a->point), y = suite_held_out_group(held, fitted, pair->b->point);
    knowledge wanted = {.of = held->points[pair->a->point].kind_of, .groups = {x < y ? x : y, x < y ? y : x}};
    const suite_left_aside aside = {wanted.groups, 2};
    suite_ladder ladder;
    wanted.of.fitted = fitted;
    if (is_known(known, &wanted)) return DIT_OK;
    forget(known);
    *known = wanted;
    DIT_TRY(suite_ladder_climb(held, &known->of, SUITE_COVERAGE_LEVEL, &aside, &ladder, &known->sample));
    known->widest_gap = suite_error_widest_gap(&known->sample);
    if (known->sample.count) DIT_TRY(draw(known));
    known->there = true;
    return DIT_OK;
}

static dit_status judge(const suite_held_out *held, const knowledge *known, bool fitted, const rivals *pair,
                        suite_pair *out)
{
    const double a = predicted(held, pair->a), b = predicted(held, pair->b);
    const suite_contender two[] = {{a, a, a, !fitted}, {b, b, b, !fitted}};
    const suite_contest contest = {.contenders = two,
                                   .count = 2,
                                   .draws = DRAWS,
                                   .errors = {known->errors[0], known->errors[1]},
                                   .widest_gap = known->widest_gap};
    return suite_rank_pairs(&contest, out);
}

/* ---- one table ----------------------------------------------------------------------------------------------------- */

/* Pairs of one family, of which Holm's rule makes one decision. */
typedef struct {
    rivals *pairs;
    suite_pair *judged;
    double *doubts;
    int count;
} table;

/* Holm's rule over the table: what each pair said alone was as if it were the only one shown. */
static dit_status correct(table *shown)
{
    for (int i = 0; i < shown->count; i++) shown->doubts[i] = shown->judged[i].adjusted;
    DIT_TRY(suite_holm_adjust(shown->doubts, shown->count));
    for (int i = 0; i < shown->count; i++) {
        shown->judged[i].adjusted = shown->doubts[i];
        if (shown->doubts[i] > 1 - SUITE_RANK_LEVEL) shown->judged[i].verdict = SUITE_PAIR_TIED;
    }
    return DIT_OK;
}

static void count_pair(const suite_held_out *held, bool fitted, const rivals *pair, const suite_pair *judged,
                       suite_pair_calls *out, verdict *verdicts)
{
    bool faster = held->points[pair->a->point].seconds < held->points[pair->b->point].seconds;
    bool said = predicted(held, pair->a) < predicted(held, pair->b);
    out->pairs++;
    out->ordered += faster == said;
    if (judged->verdict == SUITE_PAIR_TIED) {
        out->kept_back += judged->within_gap && judged->adjusted <= 1 - SUITE_RANK_LEVEL;
        return;
    }
    bool right = (judged->verdict == SUITE_PAIR_FIRST) == faster;
    int x = suite_held_out_group(held, fitted, pair->a->point), y = suite_held_out_group(held, fitted, pair->b->point);
    verdicts[out->called++] = (verdict){x < y ? x : y, x < y ? y : x, right};
    out->right += right;
}

static dit_status judge_table(const suite_held_out *held, bool fitted, table *shown, knowledge *known,
                              suite_pair_calls *out, verdict *verdicts)
{
    for (int i = 0; i < shown->count; i++) {
        shown->judged[i] = (suite_pair){.adjusted = 1};
        DIT_TRY(learn(held, fitted, &shown->pairs[i], known));
        if (known->sample.count) DIT_TRY(judge(held, known, fitted, &shown->pairs[i], &shown->judged[i]));
    }
    DIT_TRY(correct(shown));
    for (int i = 0; i < shown->count; i++) count_pair(held, fitted, &shown->pairs[i], &shown->judged[i], out, verdicts);
    return DIT_OK;
}

/* Pairs of errors of the family that are of two machines; their times must differ to have an order. */
static void gather(const suite_held_out *held, bool fitted, int family, table *out)
{
    int count;
    const suite_held_error *errors = errors_of(held, fitted, &count);
    out->count = 0;
    for (int i = 0; i < count; i++) {
        const suite_held_point *a = &held->points[errors[i].point];
        if (a->family != family || a->kind_of.kind == SUITE_KIND_LAYER) continue;
        for (int j = i + 1; j < count; j++) {
            const suite_held_point *b = &held->points[errors[j].point];
            if (b->family == family && b->machine != a->machine && b->seconds != a->seconds)
                out->pairs[out->count++] = (rivals){&errors[i], &errors[j]};
        }
    }
}

/* ---- all tables ---------------------------------------------------------------------------------------------------- */

static int by_groups(const void *a, const void *b)
{
    const verdict *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

static void count_clusters(verdict *verdicts, suite_pair_calls *out)
{
    qsort(verdicts, (size_t)out->called, sizeof *verdicts, by_groups);
    for (int i = 0; i < out->called;) {
        int first = i;
        bool right = true;
        for (; i < out->called && by_groups(&verdicts[i], &verdicts[first]) == 0; i++)
            right = right && verdicts[i].right;
        out->clusters++;
        out->right_clusters += right;
    }
    out->bound = suite_share_bound(out->right_clusters, out->clusters);
    out->bound_by_pair = suite_share_bound(out->right, out->called);
}

static int count_pairs(const suite_held_out *held, bool fitted)
{
    int count, pairs = 0;
    const suite_held_error *errors = errors_of(held, fitted, &count);
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            pairs += held->points[errors[i].point].family == held->points[errors[j].point].family;
    return pairs;
}

dit_status suite_pair_calls_of(const suite_held_out *held, bool fitted, suite_pair_calls *out)
{
    size_t room = (size_t)count_pairs(held, fitted) + 1;
    table shown = {calloc(room, sizeof *shown.pairs), calloc(room, sizeof *shown.judged),
                   calloc(room, sizeof *shown.doubts), 0};
    verdict *verdicts = calloc(room, sizeof *verdicts);
    bool there = shown.pairs && shown.judged && shown.doubts && verdicts;
    knowledge known = {.there = false};
    dit_status st = there ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for pairs of machines");
    *out = (suite_pair_calls){0};
    for (int family = 0; family < held->point_count && st == DIT_OK; family++) {
        if (held->points[family].family != family) continue;
        gather(held, fitted, family, &shown);
        st = judge_table(held, fitted, &shown, &known, out, verdicts);
    }
    if (st == DIT_OK) count_clusters(verdicts, out);
    forget(&known);
    free(shown.pairs);
    free(shown.judged);
    free(shown.doubts);
    free(verdicts);
    return st;
}

/* ---- the licence --------------------------------------------------------------------------------------------------- */

/* P(X >= right) of `count` trials of which each succeeds with probability p. */
static double tail(int right, int count, double p)
{
    double sum = 0;
    if (p <= 0) return right <= 0;
    for (int k = right; k <= count; k++)
        sum +=
            exp(lgamma(count + 1.0) - lgamma(k + 1.0) - lgamma(count - k + 1.0) + k * log(p) + (count - k) * log1p(-p));
    return sum;
}

double suite_share_bound(int right, int count)
{
    enum { HALVINGS = 60 };
    double low = 0, high = 1;
    if (right <= 0 || count <= 0) return 0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (tail(right, count, middle) > 0.05)
            high = middle;
        else
            low = middle;
    }
    return low;
}

static void decide(const suite_coverage *coverage, const suite_pair_calls *calls, bool *allowed, char why[256])
{
    why[0] = '\0';
    if (!coverage->points)
        snprintf(why, 256, "no prediction was held against the truth");
    else if (!suite_coverage_holds(coverage, SUITE_COVERAGE_LEVEL))
        snprintf(why, 256, "intervals that promise %.0f %% cover %.1f %% of what was left out (%d points, %d groups)",
                 100 * coverage->mean_level, 100 * coverage->by_group, coverage->points, coverage->groups);
    else if (calls->bound_by_pair < SUITE_PAIR_CALLS_LEAST)
        snprintf(
            why, 256,
            "%d of %d verdicts on pairs of machines were right; of so few, %.0f %% cannot be claimed (bound %.1f %%)",
            calls->right, calls->called, 100 * SUITE_PAIR_CALLS_LEAST, 100 * calls->bound_by_pair);
    *allowed = !why[0];
}

dit_status suite_verdict_licence_of(const suite_held_out *held, suite_verdict_licence *out)
{
    *out = (suite_verdict_licence){0};
    for (int fitted = 0; fitted < 2; fitted++) {
        DIT_TRY(suite_coverage_of(held, fitted, SUITE_COVERAGE_LEVEL, &out->coverage[fitted]));
        DIT_TRY(suite_pair_calls_of(held, fitted, &out->calls[fitted]));
        decide(&out->coverage[fitted], &out->calls[fitted], &out->allowed[fitted], out->why[fitted]);
    }
    return DIT_OK;
}
