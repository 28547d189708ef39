/* Bootstrap: intervals of a statistic by drawing whole groups with replacement.
 *
 * Values of one group belong together (pictures of one prompt, with several seeds), so a draw takes a group with all its
 * values, and as many groups as there are. The interval has the 2.5th and the 97.5th percentile of 2000 draws (Efron
 * and Tibshirani, An Introduction to the Bootstrap, chapter 13). Draws are counter-based (base/rng.h): they depend on
 * the number of groups alone, so two statistics of the same groups see the same draws, and each run gives the same bits.
 */
#ifndef DIT_BASE_BOOTSTRAP_H
#define DIT_BASE_BOOTSTRAP_H

#include "base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_BOOTSTRAP_DRAWS = 2000 };

typedef struct {
    double value;     /* of all groups once                                        */
    double low, high; /* 95 % interval; both are `value` where it is not bounded   */
    bool bounded;     /* false: there are fewer than two groups, hence no interval */
} dit_interval;

/* Values and the groups that they belong to. */
typedef struct {
    const double *values; /* [count]                                  */
    const int *group;     /* [count], 0 .. groups - 1; every group has a value */
    int count, groups;
} dit_grouped;

/* Returns the statistic of a draw: group i takes part times[i] times, i in [0, groups). NaN: the draw has none, and is
 * left out. */
typedef double (*dit_bootstrap_statistic)(const void *context, const int *times, int groups);

/* Computes a statistic and its interval. Errors: DIT_ERR_SHAPE without groups; DIT_ERR_NONFINITE when the statistic of
 * all groups is not finite, or that of more than one draw in ten; DIT_ERR_MEMORY. */
dit_status dit_bootstrap(int groups, dit_bootstrap_statistic statistic, const void *context, dit_interval *out);
/* Computes the mean of all values and its interval. Errors: DIT_ERR_SHAPE for no values, for a group outside the range
 * or without values; DIT_ERR_NONFINITE; DIT_ERR_MEMORY. */
dit_status dit_bootstrap_mean(const dit_grouped *sample, dit_interval *out);
/* Computes the least value that at least `share` of all values do not exceed, share in (0, 1], and its interval.
 * Errors: as dit_bootstrap_mean. */
dit_status dit_bootstrap_percentile(const dit_grouped *sample, double share, dit_interval *out);
/* Computes the mean of values[i] - others[i]: both were taken of the same thing. Errors: as dit_bootstrap_mean. */
dit_status dit_bootstrap_paired(const dit_grouped *sample, const double *others, dit_interval *out);

#ifdef __cplusplus
}
#endif
#endif
