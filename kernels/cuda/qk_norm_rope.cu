/* Norm per head and rotary embedding on interleaved pairs, in place.
 *
 *   norm_rope_wide  keeps heads in registers: D / 8 lanes hold a head, a warp holds as many heads as fit, a block has a
 *                   row. A thread has one place in all of its heads, so weights and angles are read once per row.
 *   norm_rope_any   takes any D, alignment and stride: a warp per head, two or three passes.
 *
 * Bytes: rows x H x D read and written once, and two tables of rows x D. */
#include "kernels/cuda/pieces.h"

enum { ROPE_HEADS = 4, ROPE_WARPS = 8 };

typedef struct {
    view x, weight, bias, cosines, sines;
    int64_t rows, H, D, ldx;
    float eps, reciprocal_D;
    bool centred;             /* true: LayerNorm; false: RMS norm, about zero */
    int lanes, heads, halves; /* lanes of a head; heads of a warp; the largest power of two below `lanes` */
} rope_operands;

/* ---- heads in registers ------------------------------------------------------------------------------------------ */

/* Replaces each x[k] by its sum over the lanes of a head. `place` is the lane's place in its head. Any number of lanes
 * works: lanes beyond the head add nothing, and only the first lane's sum is used. */
template <int HEADS> static __device__ inline void sum_heads(const rope_operands &o, int place, float x[HEADS])
{
    for (int step = o.halves; step > 0; step /= 2)
#pragma unroll
        for (int k = 0; k < HEADS; k++) {
            float other = __shfl_down_sync((unsigned)WHOLE_WARP, x[k], (unsigned)step);
            if (place + step < o.lanes) x[k] += other;
        }
    int first = (int)threadIdx.x % WARP - place;
#pragma unroll
    for (int k = 0; k < HEADS; k++) x[k] = __shfl_sync((unsigned)WHOLE_WARP, x[k], first);
}

/* Subtracts the mean of each head and multiplies by 1 / sqrt(variance + eps). */
template <int HEADS>
static __device__ inline void norm_heads(const rope_operands &o, int place, float v[HEADS][VIEW_WIDTH])
{
    float sum[HEADS];
    if (o.centred) {
#pragma unroll
        for (int k = 0; k < HEADS; k++) {
            sum[k] = 0.0f;
#pragma unroll
            for (int i = 0; i < VIEW_WIDTH; i++) sum[k] += v[k][i];
        }
        sum_heads<HEADS>(o, place, sum);
#pragma unroll
        for (int k = 0; k < HEADS; k++)
#pragma unroll
            for (int i = 0; i < VIEW_WIDTH; i++) v[k][i] = fmaf(-sum[k], o.reciprocal_D, v[k][i]);
    }
#pragma unroll
    for (int k = 0; k < HEADS; k++) {
        sum[k] = 0.0f;
#pragma unroll
        for (int i = 0; i < VIEW_WIDTH; i++) sum[k] = fmaf(v[k][i], v[k][i], sum[k]);
    }
    sum_heads<HEADS>(o, place, sum);
#pragma unroll
    for (int k = 0; k < HEADS; k++) {
        float reciprocal = rsqrtf(fmaf(sum[k], o.reciprocal_D, o.eps));
#pragma unroll
        for (int i = 0; i < VIEW_WIDTH; i++) v[k][i] *= reciprocal;
    }
}

template <int DTYPE, int HEADS>
static __device__ inline void weigh_heads(const rope_operands &o, int d, float v[HEADS][VIEW_WIDTH])
{
    float operand[VIEW_WIDTH];
    piece_load<DTYPE, VIEW_WIDTH>(o.weight, d, operand);
#pragma unroll
    for (int k = 0; k < HEADS; k++)
#pragma unroll
        for (int i = 0; i < VIEW_WIDTH; i++) v[k][i] *= operand[i];
    if (!o.bias.data) return;
    piece_load<DTYPE, VIEW_WIDTH>(o.bias, d, operand);
#pragma unroll
    for (int k = 0; k < HEADS; k++)
#pragma unroll
        for (int i = 0; i < VIEW_WIDTH; i++) v[k][i] += operand[i];
}

/* Rotates the heads. cosines and sines belong to the thread's place in the row. */
template <int HEADS>
static __device__ inline void rotate_heads(const float *cosines, const float *sines, float v[HEADS][VIEW_WIDTH])
{
#pragma unroll
    for (int k = 0; k < HEADS; k++)
#pragma unroll
        for (int i = 0; i < VIEW_WIDTH; i += 2) {
            float x0 = v[k][i], x1 = v[k][i + 1];
            v[k][i] = fmaf(x0, cosines[i], -x1 * sines[i]);
            v[k][i + 1] = fmaf(x1, cosines[i + 1], x0 * sines[i + 1]);
        }
}

/* blockIdx.x: row, blockIdx.y: heads. TABLES: dtype of the angles, or ANY_DTYPE. Three full blocks run at once with 80
 * registers per thread, so a multiprocessor holds 48 KiB of heads at a time; with a dtype that is known only at run
 * time registers would spill. */
template <int DTYPE, int TABLES, int HEADS>
static __global__ void __launch_bounds__(ROPE_WARPS *WARP, DTYPE == ANY_DTYPE ? 2 : 3)
    norm_rope_wide(rope_operands o)
{
    int lane = (int)threadIdx.x % WARP, slot = lane / o.lanes, place = lane % o.lanes, d = place * VIEW_WIDTH;
    int heads_at_once = (int)blockDim.x / WARP * o.heads, first = (int)threadIdx.x / WARP * o.heads + slot;
    int64_t row = blockIdx.x, step = heads_at_once * o.D, head = (int64_t)blockIdx.y * heads_at_once * HEADS + first;
    int64_t begin = row * o.ldx + head * o.D + d, left = slot < o.heads ? o.H - head : 0;
    piece<DTYPE, VIEW_WIDTH> raw[HEADS];
    piece<TABLES, VIEW_WIDTH> cosines, sines;
    float v[HEADS][VIEW_WIDTH];
#pragma unroll
    for (int k = 0; k < HEADS; k++) /* instead of a missing head the first is read again, which needs no branch */
        raw[k].read(o.x, k * heads_at_once < left ? begin + k * step : row * o.ldx + d);
    cosines.clear(), sines.clear();
    if (o.cosines.data) cosines.read_only(o.cosines, row * o.D + d), sines.read_only(o.sines, row * o.D + d);
#pragma unroll
    for (int k = 0; k < HEADS; k++) raw[k].floats(o.x, v[k]);
    if (o.weight.data) {
        norm_heads<HEADS>(o, place, v);
        weigh_heads<DTYPE, HEADS>(o, d, v);
    }
    if (o.cosines.data) {
        float c[VIEW_WIDTH], s[VIEW_WIDTH];
        cosines.floats(o.cosines, c), sines.floats(o.sines, s);
        rotate_heads<HEADS>(c, s, v);
    }
#pragma unroll
    for (int k = 0; k < HEADS; k++)
        if (k * heads_at_once < left) piece_store<DTYPE, VIEW_WIDTH>(o.x, begin + k * step, v[k]);
}

template <int DTYPE, int TABLES> static void launch_wide(dit_cuda *cuda, const rope_operands *o)
{
    int64_t warps = divide_up(o->H, o->heads * ROPE_HEADS);
    if (warps > ROPE_WARPS) warps = ROPE_WARPS;
    int64_t heads = divide_up(o->H, warps * o->heads);
    dim3 grid((unsigned)o->rows, (unsigned)divide_up(heads, ROPE_HEADS));
    unsigned block = (unsigned)(warps * WARP);
    switch (heads) {
    case 1: LAUNCH(cuda, (norm_rope_wide<DTYPE, TABLES, 1>), grid, block, 0, *o); break;
    case 2: LAUNCH(cuda, (norm_rope_wide<DTYPE, TABLES, 2>), grid, block, 0, *o); break;
    case 3: LAUNCH(cuda, (norm_rope_wide<DTYPE, TABLES, 3>), grid, block, 0, *o); break;
    default: LAUNCH(cuda, (norm_rope_wide<DTYPE, TABLES, ROPE_HEADS>), grid, block, 0, *o);
    }
}

/* ---- any heads --------------------------------------------------------------------------------------------------- */

/* Returns element d of the head at `x`, after norm and weights. */
static __device__ inline float normed(const rope_operands &o, view x, int64_t d, float mean, float reciprocal)
{
    float value = view_load(x, d);
    if (!o.weight.data) return value;
    return fmaf((value - mean) * reciprocal, view_load(o.weight, d), o.bias.data ? view_load(o.bias, d) : 0.0f);
}

/* Computes *mean and *reciprocal of the head at `x`, by a whole warp. */
static __device__ inline void head_moments(const rope_operands &o, view x, float *mean, float *reciprocal)
{
    int lane = (int)threadIdx.x % WARP;
    float sum = 0.0f, squares = 0.0f;
    if (o.centred) {
        for (int64_t d = lane; d < o.D; d += WARP) sum += view_load(x, d);
        *mean = warp_sum(sum) * o.reciprocal_D;
    }
    for (int64_t d = lane; d < o.D; d += WARP) {
        float difference = view_load(x, d) - *mean;
        squares = fmaf(difference, difference, squares);
    }
    *reciprocal = rsqrtf(fmaf(warp_sum(squares), o.reciprocal_D, o.eps));
}

static __global__ void __launch_bounds__(BLOCK_THREADS) norm_rope_any(rope_operands o)
{
    int64_t warps = BLOCK_THREADS / WARP, pairs = (o.D + 1) / 2;
    for (int64_t i = blockIdx.x * warps + threadIdx.x / WARP; i < o.rows * o.H; i += gridDim.x * warps) {
        int64_t row = divide(i, o.H), head = i - row * o.H;
        view x = view_at(o.x, row * o.ldx + head * o.D);
        float mean = 0.0f, reciprocal = 1.0f;
        if (o.weight.data) head_moments(o, x, &mean, &reciprocal);
        for (int64_t pair = (int)threadIdx.x % WARP; pair < pairs; pair += WARP) {
            int64_t d = 2 * pair, at = row * o.D + d;
            float x0 = normed(o, x, d, mean, reciprocal);
            if (d + 1 == o.D) { /* with an odd D the last element is not rotated */
                view_store(x, d, x0);
                continue;
            }
            float x1 = normed(o, x, d + 1, mean, reciprocal), y0 = x0, y1 = x1;
            if (o.cosines.data) {
                y0 = fmaf(x0, view_load(o.cosines, at), -x1 * view_load(o.sines, at));
                y1 = fmaf(x1, view_load(o.cosines, at + 1), x0 * view_load(o.sines, at + 1));
            }
            view_store(x, d, y0);
            view_store(x, d + 1, y1);
        }
    }
}

/* ---- the operator ------------------------------------------------------------------------------------------------ */

static rope_operands rope_operands_of(dit_cuda *cuda, const dit_qk_norm_rope_args *args)
{
    rope_operands o = {};
    o.x = view_of(cuda, args->x);
    o.weight = view_of(cuda, args->weight);
    if (args->weight) o.bias = view_of(cuda, args->bias);
    o.cosines = view_of(cuda, args->cos);
    if (args->cos) o.sines = view_of(cuda, args->sin);
    o.rows = args->rows, o.H = args->H, o.D = args->D, o.ldx = args->ldx;
    o.eps = args->eps, o.reciprocal_D = 1.0f / (float)args->D;
    o.centred = args->kind == DIT_NORM_LAYER;
    return o;
}

static void launch_lanes(dit_cuda *cuda, rope_operands *o, int dtype, bool exact_tables)
{
    o->lanes = (int)(o->D / VIEW_WIDTH);
    o->heads = WARP / o->lanes;
    o->halves = o->lanes > 1 ? 1 : 0;
    while (o->halves && 2 * o->halves < o->lanes) o->halves *= 2;
    if (dtype == DIT_DTYPE_BF16 && exact_tables)
        launch_wide<DIT_DTYPE_BF16, DIT_DTYPE_FP32>(cuda, o);
    else if (dtype == DIT_DTYPE_FP16 && exact_tables)
        launch_wide<DIT_DTYPE_FP16, DIT_DTYPE_FP32>(cuda, o);
    else if (dtype == DIT_DTYPE_FP32 && exact_tables)
        launch_wide<DIT_DTYPE_FP32, DIT_DTYPE_FP32>(cuda, o);
    else
        launch_wide<ANY_DTYPE, ANY_DTYPE>(cuda, o);
}

void cuda_qk_norm_rope(dit_pool *pool, const dit_qk_norm_rope_args *args)
{
    if (args->rows <= 0 || args->H <= 0 || args->D <= 0 || (!args->weight && !args->cos)) return;
    dit_cuda *cuda = cuda_of(pool);
    rope_operands o = rope_operands_of(cuda, args);
    if (!o.x.data || (args->weight && !o.weight.data) || (args->cos && (!o.cosines.data || !o.sines.data))) return;
    piece_variant own = piece_variant_of(o.D, {{o.x, o.ldx}, {o.weight, 0}, {o.bias, 0}});
    piece_variant tables = piece_variant_of(o.D, {{o.cosines, o.D}, {o.sines, o.D}});
    if (own.wide && tables.wide && o.D <= WARP * VIEW_WIDTH && o.rows <= INT32_MAX && o.H <= UINT16_MAX)
        launch_lanes(cuda, &o, own.dtype, !args->cos || tables.dtype == DIT_DTYPE_FP32);
    else
        LAUNCH(cuda, norm_rope_any, grid_x(divide_up(o.rows * o.H, BLOCK_THREADS / WARP)), BLOCK_THREADS, 0, o);
}
