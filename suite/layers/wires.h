/* Wires: how long collectives take on a declared cluster when all groups of their kind exchange at once.
 *
 * The time of one group alone is NCCL's own expectation (kernels/cost/collective.h). Its bytes then travel slower by
 * what all groups together put on the busiest link of the cluster, more than one group's neighbours do alone.
 */
#ifndef DIT_SUITE_LAYERS_WIRES_H
#define DIT_SUITE_LAYERS_WIRES_H

#include "kernels/cost/collective.h"
#include "suite/platform/cluster.h"

/* The first `ranks` devices of a cluster, of accelerators of this architecture. */
typedef struct {
    const suite_cluster *cluster;
    const char *architecture;
    int ranks, ranks_per_node;
} suite_wires;

suite_wires suite_wires_of(const suite_cluster *cluster, const char *architecture, int ranks);
/* Groups of `size` ranks, each `stride` behind the one before; stride * size divides the number of ranks. */
typedef struct {
    int size, stride;
} suite_wire_groups;
/* Returns the seconds of a collective of `bytes` bytes, as dit_cost_exchange_of counts them, in all groups at once. 0
 * for groups of one rank. */
double suite_wires_seconds(const suite_wires *wires, suite_wire_groups groups, dit_cost_collective collective,
                           double bytes);
/* Returns how many times as long bytes take as with one pair of neighbours alone: at least 1. */
double suite_wires_crowding(const suite_wires *wires, suite_wire_groups groups);

#endif
