/* Operators: one full table per backend, listed in kernels/registry.c; `ref` is the oracle of the others.
 *
 * Dimension letters, everywhere: B batch, S tokens, H heads, D head size, C = H*D, L layers; N, K of a linear layer.
 * All data fp32, row-major, host memory, owned by the caller. Operators allocate nothing except through `pack`, use at
 * most the pool's threads and return when the work is done. Row strides (`ld*`, in floats) allow operands to lie inside
 * wider buffers, e.g. q, k, v inside one fused [rows, 3C] projection.
 * Operators trust their callers: shapes are checked once, when a model is built; asserts guard our own bugs.
 */
#ifndef DIT_KERNELS_KERNELS_H
#define DIT_KERNELS_KERNELS_H

#include "base/arena.h"
#include "base/status.h"
#include "kernels/pool.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DIT_ACT_NONE, DIT_ACT_GELU_TANH, DIT_ACT_GELU_ERF, DIT_ACT_SILU, DIT_ACT_COUNT } dit_activation;

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
    const float *gate;         /* NULL (all ones), or [n] broadcast over rows; only with residual */
} dit_linear_args;

typedef struct {
    int64_t B, H, Sq, Sk, D;
    const float *q, *k, *v;            /* q [B,Sq,H,D], k and v [B,Sk,H,D]: D contiguous, heads D apart, */
    int64_t ldq, ldk, ldv;             /* tokens ld apart, */
    int64_t batch_q, batch_k, batch_v; /* batches batch_* apart */
    const float *bias;                 /* NULL, or [B,Sk] added to the logits of every head and row (text masks); a key
                                          of -INFINITY does not exist: with none left, out is 0 and lse -INFINITY */
    int64_t kv_group, kv_first;        /* query head h reads head (kv_first + h) / kv_group of k and v; 0: group 1 */
    const int32_t *q_position;         /* both NULL, or [Sq] and [Sk], neither ever descending: a query sees the keys */
    const int32_t *k_position;         /* at its own position and before; one that sees none has out 0, lse -INFINITY */
    float scale;                       /* on q.k, normally 1/sqrt(D) */
    float *out;                        /* [B,Sq,H,D], stride ldo, batch_o */
    int64_t ldo, batch_o;
    float *lse; /* NULL, or [B,H,Sq] natural-log sum of exponentials of the scaled, biased logits */
} dit_attention_args;

/* out and lse of one more block of keys are merged into the running ones:
 *   m = max(lse, block_lse); w = exp(lse-m), w_b = exp(block_lse-m); out = (w out + w_b block_out)/(w + w_b);
 *   lse = m + log(w + w_b).   Exact for lse = -inf (nothing yet). Source: Liu et al., Ring Attention (arXiv:2310.01889). */
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
    const float *scale, *shift; /* [C] or NULL: modulation, broadcast over rows */
} dit_norm_args;

/* In place on heads: x = norm(x) * weight + bias (over D, when weight), then rotary on interleaved pairs (when cos):
 * (x0, x1) -> (x0 c - x1 s, x1 c + x0 s). */
typedef struct {
    dit_norm_kind kind;
    int64_t rows, H, D;
    float *x; /* [rows, H, D], rows ldx apart */
    int64_t ldx;
    const float *weight; /* [D] or NULL: no norm */
    const float *bias;   /* [D] or NULL; only with weight */
    float eps;
    const float *cos, *sin; /* [rows, D] (each value twice) or NULL: no rotary */
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

/* Sinusoid of diffusers' Timesteps(dim, flip_sin_to_cos=True, downscale_freq_shift=0): y [count, dim] = [cos | sin] of
 * (t unit) f_i, f_i = exp(-log(10000) i / (dim / 2)). In float32 and in the library's order, because t f is rounded
 * before cos and sin (engine/tests/golden/NOTES.md). */
typedef struct {
    int64_t count, dim;
    const float *t; /* [count] */
    float unit;     /* what t is multiplied by first; 1: nothing */
    float *y;
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

/* The two halves of an RMS norm over rows that lie over several ranks: squares[b, r] = sum over this rank's cols of
 * x^2; then in place x = x / sqrt(sum of squares of all ranks / total_cols + eps) * weight. */
typedef struct {
    int64_t batch, rows, cols; /* x [batch, rows, cols], rows ld and entries `stride` apart */
    float *x;
    int64_t ld, stride;
    double *squares; /* of row_squares: out [batch, rows]; of row_scale: in [ranks, batch, rows], added in order */
    int64_t ranks, total_cols; /* of row_scale */
    float eps;
    const float *weight; /* [cols] */
} dit_row_norm_args;

/* Convolution over time, height and width on channels-last data, each extent with its own kernel, stride and padding:
 *
 *   y[t, y, x, :] = residual + act(bias + sum over taps (dt, dy, dx) of
 *                                         W[:, dt, dy, dx, :] u[t st - pt + dt, y sy - py + dy, x sx - px + dx, :])
 *
 * u is x with each pixel repeated `up` x `up` times (nearest), and zero outside of the image. Frames before the first
 * come from `front`; where x is a band of a larger image, the rows next to it come from `above` and `below`. 2-D
 * convolutions have kernel[0] = 1 and treat the frames as a batch. */
typedef struct {
    const dit_linear *weights;                /* linear_pack of [n, kernel t, y, x, channels]: channels fastest */
    int64_t frames, height, width, channels;  /* x [frames, height, width, channels] dense */
    int64_t kernel[3], stride[3], padding[3]; /* t, y, x; padding before the first; what is read beyond the last is 0 */
    int64_t up;                               /* 1 or 2 */
    int64_t out[3];                           /* extents of y; at will */
    const float *x;
    const float *front;    /* NULL (zeros), or padding[0] frames, */
    int64_t front_frame;   /* floats apart; 0 repeats one frame */
    const float *above;    /* NULL (zeros), or the row before the first of every frame, those of `front` first: */
    const float *below;    /* [padding[0] + frames, width, channels]; the same after the last                   */
    float *y;              /* [out t, out y, out x, n] dense; may be the same memory as residual, not as x or front */
    const float *residual; /* NULL, or as y */
    dit_activation activation;
} dit_conv_args;

/* y = act(((x - mean) / sqrt(variance + eps)) * weight + bias) per batch entry and group of C / groups channels; with
 * `scale` and `shift` (batch 1) that is first multiplied and added to, by the field's nearest position:
 * frame t of x is frame t field_frames / frames, or with first_apart frame 0 is 0 and the others divide the rest.
 * Where x is a part of what is normalised together, its moments are taken first, by group_moments, and those of the
 * whole are given. */
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
    double *moments; /* [batch, groups, 2] mean and variance: where group_moments writes those of x (it needs no y),
                        and group_norm finds those it takes; NULL: those of x */
    void *workspace; /* dit_group_norm_workspace_bytes, 8-byte aligned; contents of no meaning */
} dit_group_norm_args;

/* One backend's operators. Every entry is required; a backend without one of its own names ref's in its table. */
typedef struct {
    const char *name; /* "ref", "cpu" */
    /* Packs W [n, k] row-major (+ bias [n] or NULL, copied) into `arena`. Collects `pieces` matrices stacked along n:
     * w[i] is [rows[i], k]; bias[i] may be NULL only if all are. The sources may be freed afterwards. */
    dit_status (*linear_pack)(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                              const float *const *bias, const int64_t *rows, dit_linear *out);
    void (*linear)(dit_pool *pool, const dit_linear_args *args);
    void (*attention)(dit_pool *pool, const dit_attention_args *args);
    void (*attention_merge)(dit_pool *pool, const dit_merge_args *args);
    void (*norm)(dit_pool *pool, const dit_norm_args *args);
    void (*qk_norm_rope)(dit_pool *pool, const dit_qk_norm_rope_args *args);
    void (*copy)(dit_pool *pool, const dit_copy_args *args);
    void (*combine)(dit_pool *pool, const dit_combine_args *args);
    void (*activate)(dit_pool *pool, const dit_activate_args *args);
    void (*conv)(dit_pool *pool, const dit_conv_args *args);
    void (*group_norm)(dit_pool *pool, const dit_group_norm_args *args);
    void (*group_moments)(dit_pool *pool, const dit_group_norm_args *args);
    void (*timestep)(dit_pool *pool, const dit_timestep_args *args);
    void (*gated_add)(dit_pool *pool, const dit_gated_add_args *args);
    void (*row_squares)(dit_pool *pool, const dit_row_norm_args *args);
    void (*row_scale)(dit_pool *pool, const dit_row_norm_args *args);
} dit_kernels;

/* The backend of that name, for the instruction set of this machine.
 * DITBENCH_ISA=avx512|avx2|plain lowers it (never raises), for tests.
 * Errors: DIT_ERR_NOT_FOUND with the valid names. */
dit_status dit_kernels_get(const char *name, const dit_kernels **out);
/* Operators that do nothing, for counting flops and bytes over memory that is only address space. Not in the list of
 * names: no case may run on it and call its times measured. */
const dit_kernels *dit_kernels_counting(void);
/* The same, each call told to the hook of kernels/cost/operator.h: for simulation. Not in the list of names either. */
const dit_kernels *dit_kernels_cost(void);
/* NULL-terminated list of backend names. */
const char *const *dit_kernels_names(void);
/* Instruction set in use: "avx512", "avx2" or "plain". */
const char *dit_kernels_isa(void);
/* Those that the cpu backend is compiled for, best first: the name at an index from 0 on, NULL after the last. */
const char *dit_kernels_isa_at(int index);
/* Whether this machine has that one, and DITBENCH_ISA does not forbid it. */
bool dit_kernels_has_isa(const char *name);

/* Flops and bytes (read + written once) of one call: the one place where check, timing, roofline and cost model
 * look. */
typedef struct {
    double flops, bytes;
} dit_work;
dit_work dit_linear_work(int64_t rows, int64_t n, int64_t k);
dit_work dit_attention_work(int64_t B, int64_t H, int64_t Sq, int64_t Sk, int64_t D);
/* Of one call: with positions only the pairs of query and key that see each other count. */
dit_work dit_attention_args_work(const dit_attention_args *args);
/* How many keys, from the first, that query sees: all without positions. */
int64_t dit_attention_seen(const dit_attention_args *args, int64_t query);
dit_work dit_conv_work(const dit_conv_args *args);
dit_work dit_elementwise_work(int64_t elements, int reads, int writes, double flops_per_element);

/* What group_norm needs beside its operands: partial sums of row blocks, so that the result does not depend on the
 * number of threads. */
int64_t dit_group_norm_workspace_bytes(int64_t batch, int64_t rows, int64_t C, int64_t groups);

/* Peak fp32 flop/s of `pool`'s threads, measured now by independent multiply-adds in registers (about 0.2 s). */
double dit_kernels_measure_peak_flops(dit_pool *pool);
/* Copy bandwidth in bytes/s (read + written) over buffers far beyond the caches, measured now. */
double dit_kernels_measure_bandwidth(dit_pool *pool);

/* Runs the one case list (kernels/cases.c) on `backend`: each operator against ref over all ISA-relevant and awkward
 * shapes; with `time` also timed, only after it has passed. Adds to `report`: "cases": [{op, shape, max_error,
 * tolerance, lse_error?, verdict, time_ns?, rounds?, spread_ns?: {min, q1, median, q3, max}, gflop_per_s?, of_peak?,
 * gb_per_s?, copies?}], "peak_gflop_per_s", "isa", "threads", "backend", "element", and with `time` "copy_gb_per_s" and "summary": [{op, of_peak_median,
 * of_peak_min}]. On a device (kernels/device.h) operands are elements on it, the peak is that of its largest product of
 * matrices, "gemm_size" its extents, and "device" is what describes it.
 * `progress` (may be NULL) is called with each finished case's line. Errors: DIT_ERR_MISMATCH when any case failed,
 * DIT_ERR_ENVIRONMENT when there is no such device. */
typedef struct {
    const char *backend;
    dit_element element; /* of a device */
    int threads;
    bool time;
    const char *filter; /* NULL, or a substring of op or shape */
    void (*progress)(void *context, const char *line);
    void *context;
} dit_kernel_bench;
struct cJSON;
dit_status dit_kernels_bench(const dit_kernel_bench *bench, struct cJSON *report);

#ifdef __cplusplus
}
#endif
#endif
