/* What one call of an operator costs: the device kernels that a software stack makes of it, and the host's time.
 *
 * An operator of the table is one matrix product, attention or convolution, or none, and some element-wise parts around
 * it: an epilogue that one stack fuses is two kernels of another. A profile says for every part how many kernels it is
 * and how often its data crosses memory; so one model of the accelerator serves all stacks.
 */
#ifndef DIT_KERNELS_COST_OPERATOR_H
#define DIT_KERNELS_COST_OPERATOR_H

#include "kernels/cost/model.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call is: an operator of the list, or what a stack copies around an all-to-all, beside the copy that the engine
 * makes. */
typedef enum {
#define DIT_COST_OP_ENUM(ID, ...) DIT_COST_OP_##ID = DIT_OPERATOR_##ID,
    DIT_OPERATOR_LIST(DIT_COST_OP_ENUM)
#undef DIT_COST_OP_ENUM
        DIT_COST_OP_EXCHANGE
} dit_cost_op_kind;

/* One call. What a kind does not have is 0. */
typedef struct {
    dit_cost_op_kind kind;
    double flops, bytes;    /* as dit_*_work says: fp32, each operand once                                       */
    int64_t rows, n, k;     /* linear and conv: the matrix product                                               */
    int pieces;             /* linear: matrices that were packed together, of one n / pieces each as far as cost goes */
    int64_t input_elements; /* conv: of x                                                                        */
    dit_cost_attention attention;
    int64_t elements; /* of y, which the element-wise parts run over                                       */
    int operands;     /* combine: count                                                                    */
    bool activation, residual, gate, modulation, normed, rotary;
    dit_norm_kind norm;
} dit_cost_op;

/* Element-wise parts, in the order of the profile files: key, what it is. */
#define DIT_COST_PART_LIST(X)                                                                                          \
    X(ACTIVATION, "activation", "after a matrix product, a convolution or a group norm; or by itself")                 \
    X(GATE, "gate", "times [n], before the residual is added")                                                         \
    X(RESIDUAL, "residual", "plus what the result is added to")                                                        \
    X(MERGE, "merge", "one more block of keys into running out and lse")                                               \
    X(NORM, "norm", "LayerNorm or RMS norm of rows")                                                                   \
    X(MODULATION, "modulation", "times 1 + scale, plus shift")                                                         \
    X(QK_LAYER_NORM, "qk_layer_norm", "LayerNorm of heads")                                                            \
    X(QK_RMS_NORM, "qk_rms_norm", "RMS norm of heads")                                                                 \
    X(ROTARY, "rotary", "rotary embedding of heads")                                                                   \
    X(COPY, "copy", "strided copy")                                                                                    \
    X(EXCHANGE, "exchange", "around an all-to-all, beside the engine's one copy")                                      \
    X(COMBINE, "combine", "a0 x0, and the sum's result")                                                               \
    X(COMBINE_OPERAND, "combine_operand", "plus a1 x1, for each operand after the first")                              \
    X(GROUP_MOMENTS, "group_moments", "mean and variance of groups")                                                   \
    X(GROUP_NORM, "group_norm", "normalisation by moments that are known")

typedef enum {
#define DIT_COST_PART_ENUM(name, key, text) DIT_COST_PART_##name,
    DIT_COST_PART_LIST(DIT_COST_PART_ENUM)
#undef DIT_COST_PART_ENUM
        DIT_COST_PART_COUNT
} dit_cost_part;
/* The key of profile files. Never NULL. */
const char *dit_cost_part_name(dit_cost_part part);

typedef struct {
    double kernels; /* that the part is; 0: fused into its neighbour */
    double passes;  /* over its elements, of the device's element type: read or written once is one; fp32 counts two in
                       fp16 */
} dit_cost_part_work;

enum { DIT_COST_KERNELS = 4 };
/* A software stack. */
typedef struct {
    char name[DIT_COST_NAME];
    double dispatch_s;            /* host time for one kernel                                                    */
    double collective_dispatch_s; /* host time for one collective                                                */
    double synchronise_s;         /* from the device's end until the host goes on                                */
    double conv_efficiency;       /* of the rate of matrix products that convolutions get, in (0, 1]                */
    double communication_processors; /* that a collective's kernel holds                                         */
    bool text_with_every_band;       /* joint text passes a pipeline with every band, not only the first   */
    bool kernels_before_messages;    /* a kernel issued after a neighbour's exchange has the processors first      */
    bool exchange_alone;             /* a ring without Ulysses makes its all-to-alls, too, each rank with itself    */
    bool stores_filled;              /* a pipeline without warm-up steps reads what the request before left */
    bool packed_linear;              /* matrices that the engine packs together are one product                     */
    char attention_kernels[DIT_COST_KERNELS][DIT_COST_NAME]; /* best first, "" ends: whose tables are read       */
    dit_cost_part_work parts[DIT_COST_PART_COUNT];
} dit_cost_profile;

typedef struct {
    double device_s, host_s, kernels;
    double last_s; /* of device_s, the end in which another kernel gets processors: all of it but for attention */
} dit_cost_time;
/* Time of a call: its product, then its parts, each kernel with its launch; host_s = kernels * dispatch. A call that
 * has elements costs at least one kernel. */
dit_cost_time dit_cost_op_time(const dit_cost_device *device, const dit_cost_profile *profile, const dit_cost_op *op);

/* Who hears of every call of dit_kernels_cost(): one for the process, NULL for nobody. `op` lives as long as the call.
 */
void dit_cost_set_hook(void (*hook)(void *context, const dit_cost_op *op), void *context);

#ifdef __cplusplus
}
#endif
#endif
