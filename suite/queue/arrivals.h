/* Arrivals: when requests come, and of which class each is. Poisson, regular, gamma, or a trace.
 *
 * Request i comes a gap after request i - 1 that depends on seed and i alone, times the mean gap. So all rates see equal
 * gaps but for their scale (common random numbers), and a longer run repeats the shorter one.
 */
#ifndef DIT_SUITE_QUEUE_ARRIVALS_H
#define DIT_SUITE_QUEUE_ARRIVALS_H

#include "suite/queue/trace.h"

#include <stdint.h>

typedef enum {
    SUITE_ARRIVALS_POISSON, /* exponential gaps                                                */
    SUITE_ARRIVALS_REGULAR, /* equal gaps                                                      */
    SUITE_ARRIVALS_GAMMA,   /* gaps with a stated coefficient of variation: above 1 in bursts  */
    SUITE_ARRIVALS_TRACE    /* as they were written down                                       */
} suite_arrival_law;

typedef struct {
    suite_arrival_law law;
    double variation;         /* of gamma: standard deviation of a gap over its mean          */
    const suite_trace *trace; /* of a trace; must outlive the arrivals. Begins anew at its end */
    const double *weights;    /* [class_count] of classes, any scale; not of a trace           */
    int class_count;
    uint64_t seed;
} suite_arrivals;

/* Reads "poisson", "regular" or "gamma:CV" (0.05 <= CV <= 20); the rest of *out is left. Errors: DIT_ERR_USAGE. */
dit_status suite_arrivals_parse(const char *text, suite_arrivals *out);

/* The gap before request `index` (from 0), in mean gaps, so that its mean over all requests is 1. */
double suite_arrivals_gap(const suite_arrivals *arrivals, int64_t index);
/* The class of request `index`. */
int suite_arrivals_class(const suite_arrivals *arrivals, int64_t index);
/* The share of requests that are of the class. */
double suite_arrivals_share(const suite_arrivals *arrivals, int class_index);

/* Uniform in (0, 1) from seed, stream and index: 53 bits of a Philox block, never 0 nor 1. */
double suite_arrivals_uniform(uint64_t seed, uint64_t stream, uint64_t index);

#endif
