/* Batch means: how sure an average or a quantile of a simulated series is, although its values depend on each other.
 *
 * The series is cut into 30 stretches; what is computed of each is nearly independent of the others when they are long.
 * Source: Law, Simulation Modeling and Analysis, 5th ed. (2015), section 9.5.3.
 */
#ifndef DIT_SUITE_QUEUE_BATCH_MEANS_H
#define DIT_SUITE_QUEUE_BATCH_MEANS_H

#include "base/status.h"

#include <stdint.h>

enum { SUITE_BATCHES = 30 };

typedef struct {
    double value;
    double half; /* half the width of the interval at 95 %; INFINITY for fewer than 30 values */
} suite_estimate;

/* Averages `count` values. */
suite_estimate suite_batch_mean(const double *values, int64_t count);
/* Finds the quantile (0 to 1, nearest rank) of `count` values, which stay in their order. Errors: DIT_ERR_MEMORY. */
dit_status suite_batch_quantile(const double *values, int64_t count, double share, suite_estimate *out);
/* Returns the same quantile of `count` values, which it reorders; 0 of none. Linear time on average. */
double suite_quantile_of(double *values, int64_t count, double share);

#endif
