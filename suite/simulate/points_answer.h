/* Points' answer: says how near predictions come to published points, part by part and in whole.
 */
#ifndef DIT_SUITE_SIMULATE_POINTS_ANSWER_H
#define DIT_SUITE_SIMULATE_POINTS_ANSWER_H

#include "base/agreement.h"
#include "suite/simulate/published_points.h"

/* predicted / published - 1. */
double suite_point_error(const suite_point_result *result);
/* True if there are a number and a prediction of it. */
bool suite_point_is_simulated(const suite_point_result *result);
/* True if the simulator is judged by it: it is simulated, not doubtful, and counted for the first time. Memory is judged
 * in a part of its own. */
bool suite_point_is_judged(const suite_point_result *result);
/* The point as the arithmetic of base/agreement.h takes it; strings are the result's. */
dit_agreement_point suite_point_agreement(const suite_point_result *result);

typedef enum {
    SUITE_POINTS_ALL,
    SUITE_POINTS_IN_FIT,
    SUITE_POINTS_NOT_IN_FIT,
    /* Of those that are not in the fit: */
    SUITE_POINTS_LATENCIES,
    SUITE_POINTS_RATES, /* of layers */
    /* Those that are in no other part: */
    SUITE_POINTS_MEMORY, /* peak memory */
    SUITE_POINTS_DOUBTFUL,
    SUITE_POINTS_PART_COUNT
} suite_points_part;
/* "all", "in_fit", "not_in_fit", "latencies", "rates", "memory", "doubtful"; and for people. */
const char *suite_points_part_title(suite_points_part part);

/* How near the simulated points of a part come (base/agreement.h). In the parts of latencies and rates a pair is judged
 * when both of its points are of that part but for the fit, and not both are in the fit. Errors: DIT_ERR_MEMORY. */
dit_status suite_points_judge(const suite_point_result *results, int count, suite_points_part part, dit_agreement *out);

/* {"points": [{"index", "status": "simulated" | "skipped", "reason"?, "detail"?, "published"?, "predicted"?, "error"?,
 * "in_fit", "doubtful"?, "repeated"?, "label", "mesh"?, "left_out"?}], "summary": {"points", "simulated", "skipped",
 * "repeated", "reasons": {code: count}, "all", "in_fit", "not_in_fit", "latencies", "rates", "memory", "doubtful": {"points", "median_error"?, "p90_error"?,
 * "worst_error"?, "pairs", "ordered", "ordered_share"?,
 * "pairs_apart", "ordered_apart"}}}; what does not exist is left out. *out belongs to the caller. Errors:
 * DIT_ERR_MEMORY, DIT_ERR_NONFINITE. */
dit_status suite_points_json(const suite_point_result *results, int count, cJSON **out);

#endif
