#include "suite/compare/series.h"

#include "base/rng.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 199, SEGMENT_LEAST = SUITE_SERIES_LEAST };

double suite_series_score(const double *before, int n, double value)
{
    if (n < SUITE_SERIES_LEAST) return 0;
    dit_summary s = dit_stats_summarise(before, n);
    double distance = value - s.median;
    if (s.mad > 0) return distance / (1.4826 * s.mad);
    return distance == 0 ? 0 : copysign(INFINITY, distance);
}

int suite_series_sticks_out(const double *before, int n, double value, double least)
{
    double score = suite_series_score(before, n, value);
    if (fabs(score) <= SUITE_SERIES_LIMIT) return 0;
    double median = dit_stats_median(before, n);
    if (fabs(value - median) <= least * fabs(median)) return 0;
    return score > 0 ? 1 : -1;
}

double suite_series_lag_1(const double *values, int n)
{
    double mean = 0, products = 0, squares = 0;
    if (n < 3) return 0;
    for (int i = 0; i < n; i++) mean += values[i] / n;
    const double rounding = DBL_EPSILON * n * fabs(mean); /* what equal values are away from their mean */
    for (int i = 0; i < n; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
        if (i + 1 < n) products += (values[i] - mean) * (values[i + 1] - mean);
    }
    return squares > n * rounding * rounding ? products / squares : 0;
}

bool suite_series_is_steady(const double *values, int n, double least)
{
    if (n < 2) return false;
    double first = dit_stats_median(values, n / 2), second = dit_stats_median(values + n / 2, n - n / 2);
    return fabs(first - second) <= least * fmin(fabs(first), fabs(second));
}

/* ---- change points ----------------------------------------------------------------------------------------------- */

/* The best split of a segment: the energy statistic of its sides, times the harmonic weight of their sizes. */
typedef struct {
    int place;
    double energy;
} split;

/* Sums of distances as the border moves right: inside the left side, inside the right one, between both. */
static split best_split(const double *v, int n)
{
    double left = 0, right = 0, between = 0;
    split best = {0, -1};
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) right += fabs(v[i] - v[j]);
    for (int at = 1; at < n; at++) {
        double to_left = 0, to_right = 0;
        for (int i = 0; i < at - 1; i++) to_left += fabs(v[at - 1] - v[i]);
        for (int i = at; i < n; i++) to_right += fabs(v[at - 1] - v[i]);
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        int a = at, b = n - at;
        if (a < SEGMENT_LEAST || b < SEGMENT_LEAST) continue;
        double energy = 2 * between / a / b - 2 * left / a / a - 2 * right / b / b;
        energy *= (double)a * b / (a + b);
        if (energy > best.energy) best = (split){at, energy};
    }
    return best;
}

/* A random order: Fisher and Yates. */
static void shuffle(double *v, int n, uint64_t seed, uint64_t order)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)dit_rng_below(seed, order, (uint64_t)i, (uint64_t)i + 1);
        double kept = v[i];
        v[i] = v[j];
        v[j] = kept;
    }
}

/* The share of random orders whose best split is as good as that of the order that happened, which counts as one. Once
 * it is above `most` no further order can bring it back, and what is returned is only known to be above. */
static double chance_of(const double *values, int n, double energy, double most, uint64_t seed, double *scratch)
{
    int as_good = 1;
    for (int order = 0; order < ORDERS && as_good <= most * (ORDERS + 1); order++) {
        memcpy(scratch, values, (size_t)n * sizeof *scratch);
        shuffle(scratch, n, seed, (uint64_t)order);
        if (best_split(scratch, n).energy >= energy) as_good++;
    }
    return (double)as_good / (ORDERS + 1);
}

typedef struct {
    const double *values;
    double *scratch, least, chance;
    uint64_t seed;
    suite_change *found;
    int count;
} search;

/* Splits values[from, to) as long as chance does not explain the split; the left side first, so that places ascend. */
static void split_segment(search *s, int from, int to)
{
    int n = to - from;
    if (n < 2 * SEGMENT_LEAST) return;
    split best = best_split(s->values + from, n);
    double chance = chance_of(s->values + from, n, best.energy, s->chance, s->seed + (uint64_t)from, s->scratch);
    if (chance > s->chance) return;
    int place = from + best.place;
    split_segment(s, from, place);
    s->found[s->count++] = (suite_change){.place = place, .chance = chance};
    split_segment(s, place, to);
}

/* Gives each change the medians of the levels around it. */
static void fill_levels(search *s, int n)
{
    for (int i = 0; i < s->count; i++) {
        int from = i ? s->found[i - 1].place : 0, place = s->found[i].place;
        int to = i + 1 < s->count ? s->found[i + 1].place : n;
        s->found[i].before = dit_stats_median(s->values + from, place - from);
        s->found[i].after = dit_stats_median(s->values + place, to - place);
    }
}

/* Removes the smallest change that nobody cares for, until none is left: its neighbours' levels grow. */
static void drop_small(search *s, int n)
{
    for (;;) {
        int smallest = -1;
        double least = s->least;
        fill_levels(s, n);
        for (int i = 0; i < s->count; i++) {
            double change = fabs(s->found[i].after - s->found[i].before) / fabs(s->found[i].before);
            if (change < least) smallest = i, least = change;
        }
        if (smallest < 0) return;
        s->count--;
        memmove(s->found + smallest, s->found + smallest + 1, (size_t)(s->count - smallest) * sizeof *s->found);
    }
}

dit_status suite_series_changes(const double *values, int n, double least, double chance, uint64_t seed,
                                suite_change **out, int *count)
{
    *out = NULL;
    *count = 0;
    if (n < 2 * SEGMENT_LEAST) return DIT_OK;
    search s = {.values = values, .least = least, .chance = chance, .seed = seed};
    s.scratch = malloc((size_t)n * sizeof *s.scratch);
    s.found = malloc((size_t)n * sizeof *s.found);
    dit_status st = s.scratch && s.found ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a series of %d values", n);
    if (st == DIT_OK) {
        split_segment(&s, 0, n);
        drop_small(&s, n);
    }
    free(s.scratch);
    if (st == DIT_OK && s.count) {
        *out = s.found;
        *count = s.count;
    } else
        free(s.found);
    return st;
}
