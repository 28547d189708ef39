/* Series: values of one case over commits or nights: does the newest one stick out, and where did the level change?
 *
 * A value sticks out when its robust z-score against the values before it is above SUITE_SERIES_LIMIT and it is further
 * from their median than `least`. One value that sticks out is no alarm: the case is run again, and the alarm needs
 * the second run to stick out on the same side. Values that stick out do not join the history that later ones are held
 * against, until someone accepts the new level.
 * Change points are found afterwards, in the whole series, by E-Divisive means (Matteson and James, A nonparametric
 * approach for multiple change point analysis of multivariate data, JASA 2014) with exponent 1: the split with the
 * greatest energy distance between its sides, kept when few random orders of the values have a greater one; then the
 * same inside both sides.
 */
#ifndef DIT_SUITE_COMPARE_SERIES_H
#define DIT_SUITE_COMPARE_SERIES_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SUITE_SERIES_LIMIT = 3, SUITE_SERIES_LOOK_BACK = 30, SUITE_SERIES_LEAST = 6 };

/* (value - median) / (1.4826 median absolute deviation) of the `n` values before it; 0 where fewer than
 * SUITE_SERIES_LEAST are known. A spread of 0 gives an infinite score to any other value. */
double suite_series_score(const double *before, int n, double value);
/* Returns 1 where `value` sticks out above, -1 below, else 0. `least`: a share of the median (0.02). */
int suite_series_sticks_out(const double *before, int n, double value, double least);

/* Where a level begins: `place` is the first index of it. */
typedef struct {
    int place;
    double before, after; /* medians of the levels on both sides                     */
    double chance;        /* share of random orders that split as well or better     */
} suite_change;

/* Finds the places where the level of `values` changes by at least the share `least`, in order. `chance` (0.05) is the
 * greatest share of random orders; `seed` makes them. At least SUITE_SERIES_LEAST values stand on both sides.
 * *out, from malloc, has *count entries; NULL for none. Errors: DIT_ERR_MEMORY. */
dit_status suite_series_changes(const double *values, int n, double least, double chance, uint64_t seed,
                                suite_change **out, int *count);

/* Correlation of each value with the next one, in [-1, 1]; 0 for fewer than three or equal values. */
double suite_series_lag_1(const double *values, int n);
/* Whether the medians of both halves agree within the share `least`: the warm-up is over. */
bool suite_series_is_steady(const double *values, int n, double least);

#endif
