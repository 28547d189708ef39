/* Operators: the arguments of each, and the one list of all.
 *
 * Dimension letters, everywhere: B batch, S tokens, H heads, D head size, C = H*D, L layers; N, K of a linear layer.
 * All data fp32, row-major, host memory, owned by the caller. Row strides (`ld*`, in floats) allow operands to lie
 * inside wider buffers, e.g. q, k, v inside one fused [rows, 3C] projection.
 * Operators trust their callers: shapes are checked once, when a model is built; asserts guard our own bugs.
 */
#ifndef DIT_KERNELS_OPERATORS_H
#define DIT_KERNELS_OPERATORS_H

#include "base/mask.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_ACT_NONE,
    DIT_ACT_GELU_TANH,
    DIT_ACT_GELU_ERF,
    DIT_ACT_SILU,
    DIT_ACT_RELU,
    DIT_ACT_TANH,
    DIT_ACT_COUNT
} dit_activation;

/* Rows that come in batch entries. Each entry has `rows` rows, 0: all rows are one entry. What belongs to an entry lies so
 * many floats behind what belongs to the one before: its rows of x and y, and the vectors that differ by entry. Only
 * tables with `dit_kernels.entries` take several entries. */
typedef struct {
    int64_t rows, x, y, vector;
} dit_entries;

/* Where a row lies: its number in its entry, and the floats from the first row of x and y, and from the first entry's
 * vectors. */
typedef struct {
    int64_t row, x, y, vector;
} dit_row;
static inline dit_row dit_row_of(const dit_entries *entries, int64_t row, int64_t ldx, int64_t ldy)
{
    int64_t entry = entries->rows ? row / entries->rows : 0, own = row - entry * entries->rows;
    dit_row at = {own, entry * entries->x + own * ldx, entry * entries->y + own * ldy, entry * entries->vector};
    return at;
}

/* Weights of y = x W^T + b in the backend's own layout. W is [n, k] row-major when given to pack. */
typedef struct {
    int64_t n, k;
    const float *packed; /* backend layout, from the arena given to pack */
    const float *bias;   /* [n] fp32, or NULL */
    const void *plan;    /* backend private; may be NULL */
} dit_linear;

typedef struct {
    const dit_linear *weights;
    int64_t rows;   /* of x and y */
    const float *x; /* [rows, k], stride ldx */
    int64_t ldx;
    float *y; /* [rows, n], stride ldy; may be the same memory as residual, not as x */
    int64_t ldy;
    dit_activation activation; /* applied to (x W^T + b) */
    const float *residual;     /* NULL, or [rows, n] stride ldy: y = residual + gate * activation(x W^T + b) */
    const float *gate;         /* NULL (all ones), or [n] broadcast over an entry's rows; only with residual */
    dit_entries entries;       /* y: of residual, too; vector: of gate */
} dit_linear_args;

typedef struct {
    int64_t B, H, Sq, Sk, D;
    const float *q, *k, *v;            /* q [B,Sq,H,D], k and v [B,Sk,H,D]: D contiguous, heads D apart, */
    int64_t ldq, ldk, ldv;             /* tokens ld apart, */
    int64_t batch_q, batch_k, batch_v; /* batches batch_* apart */
    const float *bias;                 /* NULL, or [B,Sk] added to the logits of every head and row (text masks); a key
                                          of -INFINITY does not exist: with none left, out is 0 and lse -INFINITY */
    const float *relative;      /* NULL, or [H, Sq + Sk - 1]: relative[h, q - k + Sk - 1] is added to the logit of */
    int64_t ld_relative;        /* query q and key k in every batch entry (T5's position bias); heads ld apart */
    int64_t kv_group, kv_first; /* query head h reads head (kv_first + h) / kv_group of k and v; 0: group 1 */
    const int32_t *q_position;  /* both NULL, or [Sq] and [Sk], neither ever descending: a query sees the keys */
    const int32_t *k_position;  /* at its own position and before; one that sees none has out 0, lse -INFINITY */
    const dit_mask *mask;       /* NULL, or what queries see instead, by these positions; in host memory */
    float scale;                /* on q.k, normally 1/sqrt(D) */
    float cap;  /* 0, or a logit is cap tanh(scale q.k / cap) before anything is added to it (Gemma 2) */
    float *out; /* [B,Sq,H,D], stride ldo, batch_o */
    int64_t ldo, batch_o;
    float *scores; /* NULL, or room for those of one head, dit_attention_score_floats: the host's kernels then write all
                      of them there instead of a tile at a time; of calls without bias or relative */
    float *lse;    /* NULL, or [B,H,Sq] natural-log sum of exponentials of the scaled, biased logits */
} dit_attention_args;

enum { DIT_ATTENTION_SCORE_ROWS = 48 }; /* a multiple of the queries that a host's kernel lays side by side */
static inline int64_t dit_attention_score_floats(int64_t Sq, int64_t Sk)
{
    return (Sq + DIT_ATTENTION_SCORE_ROWS - 1) / DIT_ATTENTION_SCORE_ROWS * DIT_ATTENTION_SCORE_ROWS * Sk;
}

/* Merges out and lse of one more block of keys into the running ones:
 *   m = max(lse, block_lse); w = exp(lse-m), w_b = exp(block_lse-m); out = (w out + w_b block_out)/(w + w_b);
 *   lse = m + log(w + w_b)
 * This holds also where lse is -inf, as it is before the first block. Source: Liu et al., Ring Attention
 * (arXiv:2310.01889). */
typedef struct {
    int64_t B, H, S, D;
    float *out, *lse; /* inout [B,S,H,D] strides ldo, batch_o; lse [B,H,S] dense */
    int64_t ldo, batch_o;
    const float *block_out, *block_lse; /* in    dense [B,S,H,D]; [B,H,S] */
} dit_merge_args;

/* LayerNorm: (x - mean) / sqrt(variance + eps). RMS norm: x / sqrt(mean(x^2) + eps). */
typedef enum { DIT_NORM_LAYER, DIT_NORM_RMS, DIT_NORM_COUNT } dit_norm_kind;

/* y = norm(x) * weight + bias over C, then * (1 + scale) + shift. */
typedef struct {
    dit_norm_kind kind;
    int64_t rows, C;
    const float *x; /* [rows, C] stride ldx */
    int64_t ldx;
    float *y; /* [rows, C] stride ldy; may equal x, with the same stride */
    int64_t ldy;
    float eps;
    const float *weight, *bias; /* [C] or NULL */
    const float *scale, *shift; /* [C] or NULL: modulation, broadcast over an entry's rows */
    dit_entries entries;        /* vector: of scale and shift */
} dit_norm_args;

/* Normalises and rotates heads in place. With `weight`: x = norm(x) * weight + bias over D. Then, with `cos`, rotary
 * embedding of interleaved pairs: (x0, x1) -> (x0 c - x1 s, x1 c + x0 s). */
typedef struct {
    dit_norm_kind kind;
    int64_t rows, H, D;
    float *x; /* [rows, H, D], rows ldx apart */
    int64_t ldx;
    const float *weight; /* [D] or NULL: no norm */
    const float *bias;   /* [D] or NULL; only with weight */
    float eps;
    const float *cos, *sin; /* [rows of an entry, D] (each value twice) or NULL: no rotary */
    dit_entries entries;    /* vector: of cos and sin */
} dit_qk_norm_rope_args;

/* dst[i0,i1,i2,:] = src[i0,i1,i2,:], `inner` floats contiguous; strides in floats. Packing for exchanges. */
typedef struct {
    int64_t n0, n1, n2, inner;
    const float *src;
    int64_t src_stride[3];
    float *dst;
    int64_t dst_stride[3];
} dit_copy_args;

/* y = a0 x0 + a1 x1 + a2 x2 (+ ...), count in 1..4; y may equal any x. Schedulers, guidance. */
typedef struct {
    int64_t elements;
    int count;
    const float *x[4];
    float a[4];
    float *y;
} dit_combine_args;

/* y = activation(x), elementwise; y may equal x. */
typedef struct {
    int64_t elements;
    const float *x;
    float *y;
    dit_activation activation;
} dit_activate_args;

/* y = activation(x) * factor, elementwise: a gated linear unit. Source: Shazeer, arXiv:2002.05202. */
typedef struct {
    int64_t rows, cols;
    const float *x, *factor; /* [rows, cols] strides ldx and ld_factor */
    int64_t ldx, ld_factor;
    float *y; /* [rows, cols] stride ldy; may equal x or factor, with the same stride */
    int64_t ldy;
    dit_activation activation;
} dit_multiply_args;

/* Sinusoid of diffusers' Timesteps(dim, flip_sin_to_cos=True, downscale_freq_shift=0): y [count, dim] = [cos | sin] of
 * (t unit) f_i, f_i = exp(-log(10000) i / (dim / 2)). It computes in float32 and in the order of the library, because
 * the library rounds t f before it takes cos and sin (engine/tests/golden/NOTES.md). */
typedef struct {
    int64_t count, dim;
    const float *t; /* [count] */
    float unit;     /* t is multiplied by it first */
    float *y;
    float scale; /* what is multiplied last, angles (t unit) f_i, where a library does so; 0: by nothing */
} dit_timestep_args;

/* y += gate * (x + bias), row by row. */
typedef struct {
    int64_t rows, cols;
    const float *x; /* [rows, cols] stride ldx */
    int64_t ldx;
    const float *bias, *gate; /* [cols] or NULL */
    float *y;                 /* inout [rows, cols] stride ldy; not x */
    int64_t ldy;
} dit_gated_add_args;

/* The two halves of linear attention with ReLU, which has a sum over keys where softmax has scores of each query and key:
 *
 *   linear_state      state[b,h] = [M | z]: M[j,i] = sum over s of relu(k[s,j]) v[s,i], z[j] = sum over s of relu(k[s,j])
 *   linear_attention  out[s,i] = (sum over j of relu(q[s,j]) M[j,i]) / (sum over j of relu(q[s,j]) z[j] + eps)
 *
 * Ranks that share the tokens add up their states between the halves. Source: Katharopoulos et al. (arXiv:2006.16236);
 * Xie et al., SANA (arXiv:2410.10629), section 2.2. */
typedef struct {
    int64_t B, H, S, D;
    const float *q, *k, *v; /* [B,S,H,D]: D contiguous, heads D apart; q of the second half, k and v of the */
    int64_t ldq, ldk, ldv;  /* first; tokens ld apart, */
    int64_t batch_q, batch_k, batch_v; /* batches batch_* apart */
    float *state; /* [B,H,D (D + 1)] fp32: M row by row, then z; out of the first half, in of the second */
    float eps;
    float *out; /* [B,S,H,D], stride ldo, batch_o; of the second half */
    int64_t ldo, batch_o;
} dit_linear_attention_args;

/* Convolution of each channel by itself, zeros outside; with h half of a square kernel of odd width:
 *
 *   y[b, r, x, c] = bias[c] + sum over (dr, dx) of weight[c, dr, dx] u[b, r + dr - h, x + dx - h, c]
 *
 * Where x is a band of a larger image, the rows next to it come from `above` and `below`, with a kernel of 3. */
typedef struct {
    int64_t batch, height, width,
        C; /* x and y [batch, height, width, C], pixels ldx and ldy apart, nothing between rows */
    const float *x;
    int64_t ldx;
    const float *above,
        *below;          /* NULL (zeros), or the row before the first and after the last: [batch, width, C], pixels */
    int64_t ld_edge;     /* ld_edge apart */
    int64_t kernel;      /* 3, 5 or 7 */
    const float *weight; /* [C, kernel, kernel] fp32 */
    const float *bias;   /* [C] or NULL */
    float *y;            /* not x */
    int64_t ldy;
} dit_depthwise_args;

/* The two halves of an RMS norm of rows that several ranks share. row_squares: squares[b, r] = sum of x^2 over this
 * rank's cols. row_scale, in place: x = x / sqrt(sum of squares of all ranks / total_cols + eps) * weight; with `like`
 * x = x * sqrt(like / sum of squares of all ranks) * weight, so that rows become as long as others, and zeros stay. */
typedef struct {
    int64_t batch, rows, cols; /* x [batch, rows, cols], rows ld and entries `stride` apart */
    float *x;
    int64_t ld, stride;
    double *squares;           /* row_squares: out [batch, rows]; row_scale: in [ranks, batch, rows], added in order */
    int64_t ranks, total_cols; /* row_scale only */
    float eps;
    const float *weight; /* [cols], or NULL: 1 */
    const double *like;  /* row_scale: NULL, or the sums of squares that rows are to have [batch, rows] */
} dit_row_norm_args;

/* sums[0] = sum of |a - b| and sums[1] = sum of |b| over all elements, in double (CUDA adds eight elements in float
 * first): row by row, then over the rows in order, so that the bits do not depend on threads. Caches ask with it how much has changed (engine/cache/). */
typedef struct {
    int64_t rows, cols;
    const float *a, *b; /* [rows, cols] dense */
    double *of_rows;    /* [rows, 2], workspace: contents undefined before, the rows' sums after */
    double *sums;       /* out [2] */
} dit_difference_args;

/* Convolution over time, height and width on channels-last data, each extent with its own kernel, stride and padding:
 *
 *   y[t, y, x, :] = residual + act(bias + sum over taps (dt, dy, dx) of
 *                                         W[:, dt, dy, dx, :] u[t st - pt + dt, y sy - py + dy, x sx - px + dx, :])
 *
 * u is x with each pixel repeated `up` x `up` times (nearest), and outside of the image zero, or with `replicate` the
 * nearest pixel of the image's edge. Frames before the first come from `front`. Where x is a band of a larger image, the
 * rows next to it come from `above` and `below`. 2-D convolutions have kernel[0] = 1 and treat the frames as a batch. */
typedef struct {
    const dit_linear *weights;                /* linear_pack of [n, kernel t, y, x, channels]: channels fastest */
    int64_t frames, height, width, channels;  /* x [frames, height, width, channels] dense */
    int64_t kernel[3], stride[3], padding[3]; /* t, y, x; padding before the first; beyond the last, zeros are read */
    int64_t up;                               /* 1 or 2 */
    bool replicate;                           /* within frames; beyond the last frame zeros are read */
    int64_t out[3];                           /* extents of y; any */
    const float *x;
    const float *front;    /* NULL (zeros), or padding[0] frames, */
    int64_t front_frame;   /* floats apart; 0 repeats one frame */
    const float *above;    /* NULL (an edge), or the row before the first of every frame, those of `front` first: */
    const float *below;    /* [padding[0] + frames, width, channels]; the same after the last                   */
    float *y;              /* [out t, out y, out x, n] dense; may be the same memory as residual, not as x or front */
    const float *residual; /* NULL, or as y */
    dit_activation activation;
} dit_conv_args;

/* y = act(((x - mean) / sqrt(variance + eps)) * weight + bias) per batch entry and group of C / groups channels.
 * With `scale` and `shift` (batch 1), the normalised value is multiplied by the scale and added to the shift of the
 * nearest position of a field, before the activation. Frame t of x takes frame t field_frames / frames of the field;
 * with first_apart frame 0 takes frame 0, and the other frames share the rest.
 * Where ranks each hold a part of what is normalised together, group_moments first gives the moments of each part, and
 * the caller passes the moments of the whole to group_norm. */
typedef struct {
    int64_t batch, frames, height, width, C, groups; /* x [batch, frames, height, width, C] dense */
    const float *x;
    float *y; /* as x; may equal x */
    float eps;
    const float *weight, *bias;                           /* [C] or NULL */
    const float *scale, *shift;                           /* NULL, or [field_frames, field_height, field_width, C], */
    int64_t field_frames, field_height, field_width, ldf; /* positions ldf apart */
    bool first_apart;
    dit_activation activation;
    double *moments; /* [batch, groups, 2] mean and variance: group_moments writes those of x here (and needs no y);
                        group_norm reads them from here; NULL: it computes those of x */
    void *workspace; /* dit_group_norm_workspace_bytes, 8-byte aligned; contents undefined */
} dit_group_norm_args;

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* The columns of DIT_OPERATOR_LIST:
 *   ID        the enumerator is DIT_OPERATOR_ID
 *   name      the entry of every table, and in the names of functions: dit_ref_name, cpu_name, cuda_name, ops_name
 *   args      the struct of its arguments
 *   cpu       the prefix of the cpu backend's entry: cpu, or dit_ref where the reference's serves
 *   cases     the file in kernels/cases that checks and times it: its own, or that of the operator it is called with
 *   cost      how kernels/cost/kernels_cost.c describes a call: a rule of its own there; `pass`, one kernel that moves
 *             the bytes that the operator's work counts; `nothing`, the cost model never hears of it
 *   account   the member of the engine's dit_flops that its flops are added to
 *   trace     its name in a trace
 *   operands  the members of args that are addresses of operands; NULL is no operand
 */
// clang-format off
#define DIT_OPERATOR_LIST(X)                                                                                           \
    X(LINEAR,          linear,          dit_linear_args,       cpu,     linear,          linear,          linear,      \
      "linear",        DIT_OPERAND(x) DIT_OPERAND(y) DIT_OPERAND(residual) DIT_OPERAND(gate))                          \
    X(ATTENTION,       attention,       dit_attention_args,    cpu,     attention,       attention,       attention,   \
      "attention",     DIT_OPERAND(q) DIT_OPERAND(k) DIT_OPERAND(v) DIT_OPERAND(bias) DIT_OPERAND(relative)            \
                       DIT_OPERAND(q_position) DIT_OPERAND(k_position) DIT_OPERAND(out) DIT_OPERAND(lse))              \
    X(ATTENTION_MERGE, attention_merge, dit_merge_args,        cpu,     attention_merge, attention_merge, other,       \
      "merge",         DIT_OPERAND(out) DIT_OPERAND(lse) DIT_OPERAND(block_out) DIT_OPERAND(block_lse))                \
    X(NORM,            norm,            dit_norm_args,         cpu,     norm,            norm,            other,       \
      "norm",          DIT_OPERAND(x) DIT_OPERAND(y) DIT_OPERAND(weight) DIT_OPERAND(bias) DIT_OPERAND(scale)          \
                       DIT_OPERAND(shift))                                                                             \
    X(QK_NORM_ROPE,    qk_norm_rope,    dit_qk_norm_rope_args, cpu,     qk_norm_rope,    qk_norm_rope,    other,       \
      "qk_norm_rope",  DIT_OPERAND(x) DIT_OPERAND(weight) DIT_OPERAND(bias) DIT_OPERAND(cos) DIT_OPERAND(sin))         \
    X(COPY,            copy,            dit_copy_args,         cpu,     copy,            pass,            other,       \
      "copy",          DIT_OPERAND(src) DIT_OPERAND(dst))                                                              \
    X(COMBINE,         combine,         dit_combine_args,      cpu,     combine,         combine,         other,       \
      "combine",       DIT_OPERAND(x[0]) DIT_OPERAND(x[1]) DIT_OPERAND(x[2]) DIT_OPERAND(x[3]) DIT_OPERAND(y))         \
    X(ACTIVATE,        activate,        dit_activate_args,     cpu,     activate,        activate,        other,       \
      "activate",      DIT_OPERAND(x) DIT_OPERAND(y))                                                                  \
    X(MULTIPLY,        multiply,        dit_multiply_args,     cpu,     multiply,        pass,            other,       \
      "multiply",      DIT_OPERAND(x) DIT_OPERAND(factor) DIT_OPERAND(y))                                              \
    X(CONV,            conv,            dit_conv_args,         cpu,     conv,            conv,            convolution, \
      "conv",          DIT_OPERAND(x) DIT_OPERAND(front) DIT_OPERAND(above) DIT_OPERAND(below) DIT_OPERAND(y)          \
                       DIT_OPERAND(residual))                                                                          \
    X(GROUP_NORM,      group_norm,      dit_group_norm_args,   cpu,     group_norm,      group_norm,      other,       \
      "group_norm",    DIT_OPERAND(x) DIT_OPERAND(y) DIT_OPERAND(weight) DIT_OPERAND(bias) DIT_OPERAND(scale)          \
                       DIT_OPERAND(shift) DIT_OPERAND(moments) DIT_OPERAND(workspace))                                 \
    X(GROUP_MOMENTS,   group_moments,   dit_group_norm_args,   cpu,     group_norm,      group_moments,   other,       \
      "group_moments", DIT_OPERAND(x) DIT_OPERAND(moments) DIT_OPERAND(workspace))                                     \
    X(TIMESTEP,        timestep,        dit_timestep_args,     dit_ref, timestep,        nothing,         other,       \
      "timestep",      DIT_OPERAND(t) DIT_OPERAND(y))                                                                  \
    X(GATED_ADD,       gated_add,       dit_gated_add_args,    cpu,     gated_add,       nothing,         other,       \
      "add",           DIT_OPERAND(x) DIT_OPERAND(bias) DIT_OPERAND(gate) DIT_OPERAND(y))                              \
    X(ROW_SQUARES,     row_squares,     dit_row_norm_args,     cpu,     row_norm,        nothing,         other,       \
      "norm",          DIT_OPERAND(x) DIT_OPERAND(squares))                                                            \
    X(ROW_SCALE,       row_scale,       dit_row_norm_args,     cpu,     row_norm,        nothing,         other,       \
      "norm",          DIT_OPERAND(x) DIT_OPERAND(squares) DIT_OPERAND(weight) DIT_OPERAND(like))                      \
    X(DIFFERENCE,      difference,      dit_difference_args,   cpu,     difference,      pass,            other,       \
      "difference",    DIT_OPERAND(a) DIT_OPERAND(b) DIT_OPERAND(of_rows) DIT_OPERAND(sums))                           \
    X(LINEAR_STATE,    linear_state,    dit_linear_attention_args, cpu, linear_attention, pass,           attention,   \
      "linear_state",  DIT_OPERAND(k) DIT_OPERAND(v) DIT_OPERAND(state))                                               \
    X(LINEAR_ATTENTION, linear_attention, dit_linear_attention_args, cpu, linear_attention, pass,         attention,   \
      "attention",     DIT_OPERAND(q) DIT_OPERAND(state) DIT_OPERAND(out))                                             \
    X(DEPTHWISE,       depthwise,       dit_depthwise_args,    cpu,     depthwise,       pass,            convolution, \
      "depthwise",     DIT_OPERAND(x) DIT_OPERAND(above) DIT_OPERAND(below) DIT_OPERAND(weight) DIT_OPERAND(bias)      \
                       DIT_OPERAND(y))
// clang-format on

typedef enum {
#define DIT_OPERATOR_ENUM(ID, ...) DIT_OPERATOR_##ID,
    DIT_OPERATOR_LIST(DIT_OPERATOR_ENUM)
#undef DIT_OPERATOR_ENUM
        DIT_OPERATOR_COUNT
} dit_operator;
/* Returns the operator's name, "unknown" for a number outside of the list. */
const char *dit_operator_name(dit_operator op);

/* ---- work -------------------------------------------------------------------------------------------------------- */

/* dit_NAME_work(args) gives the flops of one call, and its bytes: each operand is read or written once, in fp32. It
 * stands beside the operator's equation in ref/; check, timing, account, roofline and cost model all ask it. It reads
 * shapes and which operands are NULL; of the memory behind them it reads only attention's positions.
 *
 * A multiply-add counts two, a function (exp, tanh, 1 / sqrt) counts one. Attention counts its two products, as the
 * field does: no softmax, and only the pairs of query and key that see each other. */
typedef struct {
    double flops, bytes;
} dit_work;
#define DIT_OPERATOR_WORK(ID, name, args_type, ...) dit_work dit_##name##_work(const args_type *args);
DIT_OPERATOR_LIST(DIT_OPERATOR_WORK)
#undef DIT_OPERATOR_WORK
/* The work of a linear layer whose arguments do not exist yet: [rows, k] times [k, n]. */
dit_work dit_product_work(int64_t rows, int64_t n, int64_t k);
/* The work of a pass that reads and writes so many arrays of so many elements. */
dit_work dit_elementwise_work(int64_t elements, int reads, int writes, double flops_per_element);

/* Returns how many keys, from the first on, that query sees by its position; without positions, or with a mask, all. */
int64_t dit_attention_seen(const dit_attention_args *args, int64_t query);
/* Returns the number of keys at positions before `position`. */
int64_t dit_attention_keys_before(const dit_attention_args *args, int64_t position);
/* Counts the pairs of query and key that see each other, of one head. */
double dit_attention_pairs(const dit_attention_args *args);
/* Returns the bytes of group_norm's workspace: partial sums of blocks of rows, so that the result does not depend on
 * the number of threads. */
int64_t dit_group_norm_workspace_bytes(int64_t batch, int64_t rows, int64_t C, int64_t groups);

#ifdef __cplusplus
}
#endif
#endif
