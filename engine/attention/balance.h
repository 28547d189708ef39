/* Balance: how evenly the work of a layer is spread over ranks and hops, and what waiting that costs. */
#ifndef DIT_ENGINE_ATTENTION_BALANCE_H
#define DIT_ENGINE_ATTENTION_BALANCE_H

#include "engine/attention/layer.h"

#include <cjson/cJSON.h>

/* What a rank knows and the others do not. */
typedef struct {
    double flops;                   /* of one forward                                 */
    int64_t exposed_ns, latency_ns; /* over all timed forwards */
    dit_layer_check_sums check;
} dit_layer_share;

/* Adds to `more`: "layer" (what the case asks for, and what padding and replication made of it), "balance" and
 * "operator_check" (results/schema/README.md). *rel_l2: distance to the plain operator over all ranks, below 0 where it
 * was not computed. Collective. */
dit_status dit_layer_report(const dit_layer_run *run, const dit_layer_share *own, double tolerance, cJSON *more,
                            double *rel_l2);

#endif
