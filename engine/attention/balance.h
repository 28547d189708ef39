/* Balance: how evenly the work of a layer is spread over ranks and hops, and how long ranks wait for each other. */
#ifndef DIT_ENGINE_ATTENTION_BALANCE_H
#define DIT_ENGINE_ATTENTION_BALANCE_H

#include "engine/attention/layer.h"

#include <cjson/cJSON.h>

/* What one rank tells the others. */
typedef struct {
    double flops;                   /* of one forward                                 */
    int64_t exposed_ns, latency_ns; /* over all timed forwards */
    dit_layer_check_sums check;
} dit_layer_share;

/* Adds to `more` (results/schema/record.md): "layer", what the case asks for and what padding and replication made of
 * it; "balance"; "operator_check", which passes at `tolerance` or below. *rel_l2: the distance to the reference
 * operator over all ranks, negative where it was not computed. Collective. Errors: DIT_ERR_MEMORY, DIT_ERR_MPI. */
dit_status dit_layer_report(const dit_layer_run *run, const dit_layer_share *own, double tolerance, cJSON *more,
                            double *rel_l2);

#endif
