/* Sequence cost: what one sequence costs in a training step on a group of devices that share its tokens, by the figures of
 * suite/layers/training.h: the faster of exchanged heads (Ulysses), where their number divides, and a ring.
 *
 * Weights and gradients lie on every device, moments and fp32 weights are shared by all (ZeRO-1, arXiv:1910.02054), so a
 * device may be in another group for the next batch and nothing moves.
 */
#ifndef DIT_SUITE_SEQUENCES_SEQUENCE_COST_H
#define DIT_SUITE_SEQUENCES_SEQUENCE_COST_H

#include "suite/layers/stage_costs.h"
#include "suite/sequences/sequence_question.h"

typedef struct {
    double seconds;          /* forward and backward; INFINITY: not possible */
    double activation_bytes; /* of a device                                  */
    double forward_flops;    /* of all devices of the group                  */
} suite_sequence_cost;

/* What a sequence of so many tokens costs on `devices` devices, while the rest of the cluster holds equal groups. */
suite_sequence_cost suite_sequence_cost_of(const suite_sequence_question *question, const suite_plan_machine *machine,
                                           int64_t tokens, int devices);
/* Bytes of weights, gradients and a device's share of the moments. */
double suite_sequence_state_bytes(const suite_sequence_question *question, const suite_plan_machine *machine);
/* Seconds at the end of every batch, whatever the groups: gradients are summed over all devices, and each updates its
 * share of the weights and gathers the rest. */
double suite_sequence_end_seconds(const suite_sequence_question *question, const suite_plan_machine *machine);

#endif
