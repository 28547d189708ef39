/* Predicts what one call of an operator costs: the device kernels that a software stack makes of it, and host time.
 *
 * A call consists of at most one matrix product, attention or convolution, and of element-wise parts around it. An
 * epilogue that one stack fuses is two kernels of another stack. So a profile says for every part how many kernels it
 * is and how often its data crosses memory, and one model of the accelerator serves all stacks.
 */
#ifndef DIT_KERNELS_COST_OPERATOR_H
#define DIT_KERNELS_COST_OPERATOR_H

#include "base/habits.h"
#include "kernels/cost/model.h"
#include "kernels/cost/rule.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call is: an operator of the list, or the copies that a stack makes around an all-to-all beside the engine's
 * own copy. */
typedef enum {
#define DIT_COST_OP_ENUM(ID, ...) DIT_COST_OP_##ID = DIT_OPERATOR_##ID,
    DIT_OPERATOR_LIST(DIT_COST_OP_ENUM)
#undef DIT_COST_OP_ENUM
        DIT_COST_OP_EXCHANGE
} dit_cost_op_kind;

/* One call. Members that its kind does not use are 0. */
typedef struct {
    dit_cost_op_kind kind;
    double flops, bytes;    /* as dit_*_work says: fp32, each operand once                                       */
    int64_t rows, n, k;     /* linear and conv: the matrix product                                               */
    int pieces;             /* linear: matrices that were packed together; cost takes each to have n / pieces rows   */
    int64_t input_elements; /* conv: of x                                                                        */
    int axes;               /* conv: that its kernel moves along: 3 if it is longer than one frame, or 2         */
    dit_cost_attention attention;
    int64_t elements; /* of y; the element-wise parts run over them                                        */
    int operands;     /* combine: count                                                                    */
    bool activation, residual, gate, modulation, normed, rotary;
    dit_norm_kind norm;
} dit_cost_op;

/* Element-wise parts, in the order of the profile files: key, and what the part does. */
#define DIT_COST_PART_LIST(X)                                                                                          \
    X(ACTIVATION, "activation", "after a matrix product, a convolution or a group norm; or by itself")                 \
    X(GATE, "gate", "times a gate [n], before the residual is added")                                                  \
    X(RESIDUAL, "residual", "adds the result to a residual")                                                           \
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
/* Returns the part's key in profile files. Never NULL. */
const char *dit_cost_part_name(dit_cost_part part);

typedef struct {
    double kernels; /* how many kernels the part is; 0: it is fused into its neighbour */
    double passes;  /* how often the part's elements, in the device's type, are read or written; fp32 counts two in
                       fp16 */
} dit_cost_part_work;

enum { DIT_COST_KERNELS = 4, DIT_COST_PATH = 1024 };
/* A software stack. */
typedef struct {
    char name[DIT_COST_NAME];
    double dispatch_s;               /* host time of one kernel                                                     */
    double collective_dispatch_s;    /* host time of one collective                                                 */
    double synchronise_s;            /* from the device's end until the host goes on                                */
    double conv_efficiency;          /* rate of convolutions as a fraction of that of matrix products, in (0, 1]    */
    double conv3d_efficiency;        /* the same of convolutions over time, height and width                        */
    double communication_processors; /* how many processors a collective's kernel holds                          */
    double kernels_before_messages;  /* how often, of 1, a kernel that follows an exchange with neighbours gets the
                                         processors before the exchange, which waits for an event of another stream */
    dit_habits habits;               /* where it runs a method differently from this engine                         */
    bool packed_linear;              /* matrices that the engine packs together are one product                     */
    char census[DIT_COST_PATH];      /* folder of kernels/cost/census.h; "": the parts below say all              */
    char wrapper[DIT_COST_PATH];     /* file of kernels/cost/wrapper.h; "": the parts say what is around attention  */
    dit_rule rule;                   /* what becomes of the census's operators                                     */
    double graph_launch_s, graph_kernel_s; /* host time of one graph, and of each kernel in it                      */
    double view_dispatch_s;            /* host time of a view, which is no kernel                                    */
    double norm_row_s;                 /* time of a processor for one row of a norm, however short                   */
    double indexed_elements_per_clock; /* of a processor, in kernels that compute an index for each; 0: no limit     */
    double picture_element_s;    /* host time of an element of a picture, from decoded to 8 bits; 0: not counted */
    bool tables_on_device_alone; /* the model's own pipeline, which one rank runs, makes its tables on the device */
    double pageable_copy_bytes_per_s; /* from host memory that is not locked, while the host waits; 0: no limit     */
    char attention_kernels[DIT_COST_KERNELS][DIT_COST_NAME]; /* whose tables are read, best first; "" ends the list */
    dit_cost_part_work parts[DIT_COST_PART_COUNT];
} dit_cost_profile;

typedef struct {
    double device_s, host_s, kernels;
    double last_s; /* the last part of device_s, in which another kernel gets processors: all but for attention */
} dit_cost_time;
/* Returns the time of a call: its product, then its parts, each kernel with its launch; host_s = kernels * dispatch. A
 * call that has elements costs at least one kernel. */
dit_cost_time dit_cost_op_time(const dit_cost_device *device, const dit_cost_profile *profile, const dit_cost_op *op);

/* Returns the rate of convolutions whose kernel moves along so many axes, as a fraction of that of matrix products:
 * conv3d_efficiency for 3, conv_efficiency for 1 and 2; 1 where the profile has none. */
double dit_cost_conv_efficiency(const dit_cost_profile *profile, int axes);

/* Returns the seconds of an element-wise kernel that computes an index for each of `elements` that it writes:
 * dit_cost_elementwise_seconds(), and no less than what the processors' arithmetic takes. elements 0: no index. */
double dit_cost_indexed_seconds(const dit_cost_device *device, const dit_cost_profile *profile, double bytes,
                                double elements);

/* Host time of a kernel that no census counted, and of a collective: as the profile says, or, in a graph of the whole
 * forward, a graph's kernel's. */
double dit_cost_dispatch_seconds(const dit_cost_profile *profile);
double dit_cost_collective_dispatch_seconds(const dit_cost_profile *profile);

/* Sets the function that dit_kernels_cost() reports each call to: one for the process, NULL for none. `op` lives as
 * long as the call. */
void dit_cost_set_hook(void (*hook)(void *context, const dit_cost_op *op), void *context);

#ifdef __cplusplus
}
#endif
#endif
