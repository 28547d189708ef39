/* Training: what one element of a transformer costs in a training step under a strategy: seconds of a microbatch and of
 * a step, and bytes. Everything comes from the accelerator, the software profile and the links of a platform.
 *
 * Where each figure comes from:
 *   products      dit_cost_op_time of the forward operators. Backward: of a linear layer its two products; of attention
 *                 2.5 times the forward's (five products in place of two: FlashAttention-2, arXiv:2307.08691), at the
 *                 forward's rate, which is assumed; parts that move memory twice.
 *   host          the host issues twice as many kernels backward, which is assumed; the slower of host and device
 *                 counts
 *   states        element + element + 12 bytes a parameter: weights, gradients, and fp32 weights with two moments of
 *                 Adam (ZeRO, arXiv:1910.02054), which an update reads and writes once
 *   activations   elements a token of a layer: 4 C + 12 C / tensor (Korthikanti et al., arXiv:2205.05198, without
 *                 dropout's masks, and without scores, which FlashAttention computes again); recomputed: C
 *   sequence      ranks that share tokens hold whole weights and their share of the activations. Ulysses
 *                 (arXiv:2309.14509): q, k, v and the output in two all-to-alls each way, which wait. A ring
 *                 (arXiv:2310.01889): keys and values go around once forward, with their gradients twice backward, beside
 *                 the attention, and wait where that is shorter
 *   collectives   suite_wires_seconds. Sums of tensor ranks wait; gathers of sharded weights and sums of gradients run
 *                 beside the computation, which has fewer processors meanwhile (dit_cost_device_beside)
 * Not counted: workspaces and fragments of an allocator, dropout, bias gradients, what a framework adds.
 */
#ifndef DIT_SUITE_LAYERS_TRAINING_H
#define DIT_SUITE_LAYERS_TRAINING_H

#include "kernels/cost/operator.h"
#include "suite/layers/strategy.h"
#include "suite/layers/wires.h"

/* Parts of a chain. An element is a set of them, bits 1 << part. */
typedef enum {
    SUITE_PART_EMBEDDING,
    SUITE_PART_ATTENTION, /* norm, q k v, attention */
    SUITE_PART_PROJECTION,
    SUITE_PART_EXPANSION, /* norm, C to 4 C, GELU   */
    SUITE_PART_CONTRACTION,
    SUITE_PART_HEAD, /* norm, C to the vocabulary, loss */
    SUITE_PART_COUNT
} suite_part;
enum {
    SUITE_PARTS_OF_A_LAYER =
        1 << SUITE_PART_ATTENTION | 1 << SUITE_PART_PROJECTION | 1 << SUITE_PART_EXPANSION | 1 << SUITE_PART_CONTRACTION
};

/* What the costs depend on beside element and strategy. Pointers stay the caller's. */
typedef struct {
    const suite_layer_question *question;
    const dit_cost_device *device;
    const dit_cost_profile *profile;
    suite_wires wires;
    int64_t micro_batch; /* sequences of all devices of a stage together */
    int sequence;        /* devices that share the tokens of each sequence, beside the strategy; 0: 1 */
    bool ring;           /* they pass keys and values around a ring; else they exchange heads (Ulysses) */
} suite_training;

typedef struct {
    double micro_s;          /* of one microbatch, forward and backward; INFINITY: not possible            */
    double step_s;           /* once a step: gradients that are not hidden, the update                     */
    double state_bytes;      /* weights, gradients, moments                                                */
    double activation_bytes; /* of one microbatch, from its forward to its backward                        */
    double working_bytes;    /* gathered weights, their gradients, activations that are computed again     */
    double weight_bytes;     /* of the states                                                              */
    double forward_flops;    /* of all devices, one microbatch                                             */
} suite_element_cost;

suite_element_cost suite_training_cost(const suite_training *training, unsigned parts, const suite_strategy *strategy);
/* Returns the seconds of one microbatch that a change of strategy between neighbours adds: where fewer ranks had all
 * rows of the activations before than behind, they are gathered, forward or backward. */
double suite_training_conversion(const suite_training *training, const suite_strategy *from, const suite_strategy *to);
/* Returns the seconds of one microbatch for handing activations to the next stage and gradients back; each rank sends
 * its share. `devices`: of a stage. */
double suite_training_handover(const suite_training *training, int devices);
/* Returns the parameters of an element. */
double suite_training_parameters(const suite_layer_question *question, unsigned parts);

#endif
