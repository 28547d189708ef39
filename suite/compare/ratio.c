#include "suite/compare/ratio.h"

#include "base/stats.h"
#include "suite/compare/distribution.h"

#include <math.h>
#include <stdlib.h>

const char *suite_verdict_name(suite_verdict verdict, bool timing)
{
    static const char *const names[SUITE_VERDICT_COUNT][2] = {
        {"same", "same"}, {"better", "faster"}, {"worse", "slower"}, {"undecided", "undecided"}};
    return names[verdict][timing];
}

static double mean_of_logs(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += log(values[i]);
    return sum / n;
}

/* The variance of the mean of n logarithms. */
static double variance_of_mean(const double *values, int n, double mean)
{
    double squares = 0;
    for (int i = 0; i < n; i++) squares += (log(values[i]) - mean) * (log(values[i]) - mean);
    return squares / (n - 1) / n;
}

static void fill_interval(suite_ratio *r, double mean)
{
    double reach = r->error > 0 ? r->error * suite_student_quantile(0.5 + r->level / 2, r->freedom) : 0;
    r->ratio = exp(mean);
    r->low = exp(mean - reach);
    r->high = exp(mean + reach);
}

suite_ratio suite_ratio_of_pairs(const double *old, const double *new_, int pairs, double level)
{
    suite_ratio r = {.n = pairs, .paired = true, .ratio = NAN, .low = NAN, .high = NAN, .level = level};
    double sum = 0, squares = 0;
    for (int i = 0; i < pairs; i++) sum += log(new_[i] / old[i]);
    double mean = sum / pairs;
    if (pairs < 2) {
        if (pairs == 1) r.ratio = exp(mean);
        return r;
    }
    for (int i = 0; i < pairs; i++) squares += (log(new_[i] / old[i]) - mean) * (log(new_[i] / old[i]) - mean);
    r.error = sqrt(squares / (pairs - 1) / pairs);
    r.freedom = pairs - 1;
    fill_interval(&r, mean);
    return r;
}

suite_ratio suite_ratio_of_samples(const double *old, int old_count, const double *new_, int new_count, double level)
{
    suite_ratio r = {.n = old_count < new_count ? old_count : new_count, .level = level};
    r.ratio = r.low = r.high = NAN;
    if (r.n < 1) return r;
    double before = mean_of_logs(old, old_count), after = mean_of_logs(new_, new_count);
    r.ratio = exp(after - before);
    if (r.n < 2) return r;
    double a = variance_of_mean(old, old_count, before), b = variance_of_mean(new_, new_count, after);
    r.error = sqrt(a + b);
    r.freedom = a + b > 0 ? (a + b) * (a + b) / (a * a / (old_count - 1) + b * b / (new_count - 1)) : r.n - 1;
    fill_interval(&r, after - before);
    return r;
}

/* The probability of a mean of at least `seen` where the true one is `limit`. */
static double chance(const suite_ratio *r, double seen, double limit)
{
    if (r->error > 0) return suite_student_below((limit - seen) / r->error, r->freedom);
    return seen > limit ? 0 : 1;
}

double suite_ratio_reach(const suite_ratio *r)
{
    return isfinite(r->high) ? log(r->high / r->ratio) : INFINITY;
}

suite_evidence suite_ratio_evidence(const suite_ratio *r, double margin)
{
    double seen = log(r->ratio), limit = log1p(margin);
    if (r->n < SUITE_RATIO_LEAST || !isfinite(seen)) return (suite_evidence){1, 1, 1};
    double not_greater = chance(r, -seen, -limit), not_smaller = chance(r, seen, -limit);
    double least = fmax(limit, suite_ratio_reach(r) / 2); /* what the interval must clear */
    return (suite_evidence){
        .greater = chance(r, seen, least),
        .smaller = chance(r, -seen, least),
        .same = not_greater > not_smaller ? not_greater : not_smaller,
    };
}

dit_status suite_holm_adjust(double *probabilities, int count)
{
    dit_placed *order = count ? malloc((size_t)count * sizeof *order) : NULL;
    if (!order) return count ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d probabilities", count) : DIT_OK;
    for (int i = 0; i < count; i++) order[i] = (dit_placed){probabilities[i], i};
    dit_stats_sort_placed(order, count);
    double least = 0; /* what the one before became: the order stays */
    for (int i = 0; i < count; i++) {
        least = fmax(least, fmin(1, order[i].value * (count - i)));
        probabilities[order[i].place] = least;
    }
    free(order);
    return DIT_OK;
}

suite_verdict suite_verdict_of(const suite_evidence *evidence, double level, bool lower_is_better)
{
    double limit = (1 - level) / 2;
    if (evidence->greater <= limit) return lower_is_better ? SUITE_VERDICT_WORSE : SUITE_VERDICT_BETTER;
    if (evidence->smaller <= limit) return lower_is_better ? SUITE_VERDICT_BETTER : SUITE_VERDICT_WORSE;
    return evidence->same <= limit ? SUITE_VERDICT_SAME : SUITE_VERDICT_UNDECIDED;
}
