/* LayerNorm or RMS norm of rows, with affine weights and modulation.
 *
 *   norm_rows_wide  keeps a row in registers, so memory is read once. One warp or one block per row. Each warp forms
 *                   its mean and squared deviations, which are then merged (Chan, Golub and LeVeque, 1979): no
 *                   cancellation, and one barrier instead of the four that two sums over the block take.
 *   norm_rows_any   takes any width, alignment and stride, in three passes over a row that then lies in a cache.
 *
 * Bytes: rows x C read and written once. */
#include "kernels/cuda/pieces.h"

/* Which operands a kernel has, as far as it is compiled in: an operand that is known only at run time costs
 * instructions even when it is absent. */
enum { NORM_PLAIN, NORM_MODULATED, NORM_ANY };
enum { NORM_PIECES = 4, NORM_THREADS = 256, MOST_WARPS = NORM_THREADS / WARP };
enum { NORM_ROWS_PER_BLOCK = 8 }; /* each row has a warp */

typedef struct {
    view x, y, weight, bias, scale, shift;
    int64_t rows, C, ldx, ldy;
    float eps, reciprocal_C;
    bool centred; /* true: LayerNorm; false: RMS norm, about zero */
} norm_operands;

/* y = norm * weight + bias, then * (1 + scale) + shift, at columns from c on. */
template <int DTYPE, int WIDTH, int OPERANDS>
static __device__ inline void norm_modulate(const norm_operands &o, int64_t c, float *v)
{
    const bool modulated = OPERANDS == NORM_MODULATED, any = OPERANDS == NORM_ANY;
    float operand[WIDTH];
    if (any && o.weight.data) {
        piece_load<DTYPE, WIDTH>(o.weight, c, operand);
#pragma unroll
        for (int i = 0; i < WIDTH; i++) v[i] *= operand[i];
    }
    if (any && o.bias.data) {
        piece_load<DTYPE, WIDTH>(o.bias, c, operand);
#pragma unroll
        for (int i = 0; i < WIDTH; i++) v[i] += operand[i];
    }
    if (modulated || (any && o.scale.data)) {
        piece_load<DTYPE, WIDTH>(o.scale, c, operand);
#pragma unroll
        for (int i = 0; i < WIDTH; i++) v[i] = fmaf(v[i], operand[i], v[i]);
    }
    if (modulated || (any && o.shift.data)) {
        piece_load<DTYPE, WIDTH>(o.shift, c, operand);
#pragma unroll
        for (int i = 0; i < WIDTH; i++) v[i] += operand[i];
    }
}

/* ---- rows in registers ------------------------------------------------------------------------------------------- */

static __device__ inline float sum_eight(float x)
{
#pragma unroll
    for (int step = MOST_WARPS / 2; step > 0; step /= 2) x += __shfl_xor_sync((unsigned)WHOLE_WARP, x, step);
    return x;
}

/* Returns how many elements a warp holds: only a thread's last piece may lie beyond the row. */
template <int PIECES> static __device__ inline float elements_of_warp(int pieces, int threads, int warp)
{
    int last = pieces - (PIECES - 1) * threads - warp * WARP;
    last = last < 0 ? 0 : last > WARP ? WARP : last;
    return (float)(VIEW_WIDTH * (WARP * (PIECES - 1) + last));
}

/* Merges the warps' means and squared deviations into those of the row; each eighth lane takes one warp's. */
template <int PIECES>
static __device__ inline float2 merge_warps(const float2 *moments, int warps, int pieces, float reciprocal_C)
{
    int w = (int)threadIdx.x % MOST_WARPS;
    float elements = w < warps ? elements_of_warp<PIECES>(pieces, warps * WARP, w) : 0.0f;
    float2 own = w < warps ? moments[w] : make_float2(0.0f, 0.0f);
    float mean = sum_eight(elements * reciprocal_C * own.x), difference = own.x - mean;
    return make_float2(mean, sum_eight(fmaf(elements * difference, difference, own.y)));
}

/* Returns the warp's mean and subtracts it from v; *squares are its squared deviations. */
template <int PIECES>
static __device__ inline float centre_warp(const norm_operands &o, bool whole, float elements,
                                           float v[PIECES][VIEW_WIDTH], float *squares)
{
    float sum = 0.0f, mean = 0.0f;
    if (o.centred) {
#pragma unroll
        for (int j = 0; j < PIECES; j++)
#pragma unroll
            for (int i = 0; i < VIEW_WIDTH; i++) sum += v[j][i];
        mean = elements > 0.0f ? __fdividef(warp_sum(sum), elements) : 0.0f; /* the error is corrected later */
    }
    *squares = 0.0f;
#pragma unroll
    for (int j = 0; j < PIECES; j++)
#pragma unroll
        for (int i = 0; i < VIEW_WIDTH; i++) {
            v[j][i] -= mean;
            if (j < PIECES - 1 || whole) *squares = fmaf(v[j][i], v[j][i], *squares);
        }
    *squares = warp_sum(*squares);
    return mean;
}

/* Returns what a rounded mean left in v; it is large where the mean is large beside the deviations. */
template <int PIECES>
static __device__ inline float left_in_warp(bool whole, float elements, const float v[PIECES][VIEW_WIDTH])
{
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < PIECES; j++)
#pragma unroll
        for (int i = 0; i < VIEW_WIDTH; i++)
            if (j < PIECES - 1 || whole) sum += v[j][i];
    return __fdividef(warp_sum(sum), elements);
}

template <int DTYPE, int PIECES, int OPERANDS>
static __global__ void __launch_bounds__(NORM_THREADS) norm_rows_wide(norm_operands o)
{
    SHARED(float2, shared); /* [2][warps]: rows use the two halves in turn */
    int threads = (int)blockDim.x, warps = threads / WARP, warp = (int)threadIdx.x / WARP;
    int pieces = (int)(o.C / VIEW_WIDTH), first = (int)threadIdx.x, turn = 0;
    bool whole = (PIECES - 1) * threads + first < pieces;
    int64_t step = (int64_t)gridDim.x * blockDim.y;
    float elements = elements_of_warp<PIECES>(pieces, threads, warp);
    for (int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y; row < o.rows; row += step, turn ^= 1) {
        piece<DTYPE, VIEW_WIDTH> raw[PIECES];
        float v[PIECES][VIEW_WIDTH];
#pragma unroll
        for (int j = 0; j < PIECES; j++) {
            raw[j].clear();
            if (j < PIECES - 1 || whole) raw[j].read(o.x, row * o.ldx + (j * threads + first) * VIEW_WIDTH);
        }
#pragma unroll
        for (int j = 0; j < PIECES; j++) raw[j].floats(o.x, v[j]);
        float2 of_row = make_float2(0.0f, 0.0f);
        float mean = centre_warp<PIECES>(o, whole, elements, v, &of_row.y);
        of_row.x = mean;
        if (warps > 1) {
            if (threadIdx.x % WARP == 0) shared[turn * warps + warp] = of_row;
            __syncthreads();
            of_row = merge_warps<PIECES>(shared + turn * warps, warps, pieces, o.reciprocal_C);
        }
        float reciprocal = rsqrtf(fmaf(of_row.y, o.reciprocal_C, o.eps)), offset = (mean - of_row.x) * reciprocal;
        if (warps == 1 && o.centred) offset = -left_in_warp<PIECES>(whole, elements, v) * reciprocal;
#pragma unroll
        for (int j = 0; j < PIECES; j++) {
            int c = (j * threads + first) * VIEW_WIDTH;
            if (j == PIECES - 1 && !whole) continue;
#pragma unroll
            for (int i = 0; i < VIEW_WIDTH; i++) v[j][i] = fmaf(v[j][i], reciprocal, offset);
            norm_modulate<DTYPE, VIEW_WIDTH, OPERANDS>(o, c, v[j]);
            piece_store<DTYPE, VIEW_WIDTH>(o.y, row * o.ldy + c, v[j]);
        }
    }
}

template <int DTYPE, int PIECES, int OPERANDS>
static void launch_operands(dit_cuda *cuda, const norm_operands *o, int threads)
{
    int rows = threads == WARP ? NORM_ROWS_PER_BLOCK : 1;
    dim3 block((unsigned)threads, (unsigned)rows);
    size_t shared = 2 * (size_t)(threads / WARP) * sizeof(float2);
    LAUNCH(cuda, (norm_rows_wide<DTYPE, PIECES, OPERANDS>), grid_x(divide_up(o->rows, rows)), block, shared, *o);
}

template <int DTYPE, int PIECES> static void launch_pieces(dit_cuda *cuda, const norm_operands *o, int threads)
{
    const bool known = DTYPE == DIT_DTYPE_BF16 || DTYPE == DIT_DTYPE_FP16;
    bool affine = o->weight.data || o->bias.data, modulated = o->scale.data && o->shift.data;
    if (known && !affine && modulated)
        launch_operands<DTYPE, PIECES, known ? NORM_MODULATED : NORM_ANY>(cuda, o, threads);
    else if (known && !affine && !o->scale.data && !o->shift.data)
        launch_operands<DTYPE, PIECES, known ? NORM_PLAIN : NORM_ANY>(cuda, o, threads);
    else
        launch_operands<DTYPE, PIECES, NORM_ANY>(cuda, o, threads);
}

template <int DTYPE> static void launch_wide(dit_cuda *cuda, const norm_operands *o)
{
    int pieces = (int)(o->C / VIEW_WIDTH);
    int threads = (int)divide_up(divide_up(pieces, NORM_PIECES), WARP) * WARP;
    switch (divide_up(pieces, threads)) {
    case 1: launch_pieces<DTYPE, 1>(cuda, o, threads); break;
    case 2: launch_pieces<DTYPE, 2>(cuda, o, threads); break;
    case 3: launch_pieces<DTYPE, 3>(cuda, o, threads); break;
    default: launch_pieces<DTYPE, NORM_PIECES>(cuda, o, threads);
    }
}

/* ---- any rows ---------------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(NORM_THREADS) norm_rows_any(norm_operands o)
{
    SHARED(float, scratch);
    for (int64_t row = blockIdx.x; row < o.rows; row += gridDim.x) {
        float sum = 0.0f, squares = 0.0f, mean = 0.0f;
        if (o.centred) {
            for (int64_t c = threadIdx.x; c < o.C; c += blockDim.x) sum += view_load(o.x, row * o.ldx + c);
            mean = block_sum(sum, scratch) * o.reciprocal_C;
        }
        for (int64_t c = threadIdx.x; c < o.C; c += blockDim.x) {
            float difference = view_load(o.x, row * o.ldx + c) - mean;
            squares = fmaf(difference, difference, squares);
        }
        float reciprocal = rsqrtf(fmaf(block_sum(squares, scratch), o.reciprocal_C, o.eps));
        for (int64_t c = threadIdx.x; c < o.C; c += blockDim.x) {
            float value = (view_load(o.x, row * o.ldx + c) - mean) * reciprocal;
            norm_modulate<ANY_DTYPE, 1, NORM_ANY>(o, c, &value);
            view_store(o.y, row * o.ldy + c, value);
        }
    }
}

static void launch_any(dit_cuda *cuda, const norm_operands *o)
{
    int64_t threads = divide_up(o->C, WARP) * WARP;
    if (threads > NORM_THREADS) threads = NORM_THREADS;
    LAUNCH(cuda, norm_rows_any, grid_x(o->rows), (unsigned)threads, WARP * sizeof(float), *o);
}

/* ---- the operator ------------------------------------------------------------------------------------------------ */

static norm_operands norm_operands_of(dit_cuda *cuda, const dit_norm_args *args)
{
    norm_operands o = {};
    o.x = view_of(cuda, args->x);
    o.y = view_of(cuda, args->y);
    o.weight = view_of(cuda, args->weight);
    o.bias = view_of(cuda, args->bias);
    o.scale = view_of(cuda, args->scale);
    o.shift = view_of(cuda, args->shift);
    o.rows = args->rows, o.C = args->C, o.ldx = args->ldx, o.ldy = args->ldy;
    o.eps = args->eps;
    o.reciprocal_C = 1.0f / (float)args->C;
    o.centred = args->kind == DIT_NORM_LAYER;
    return o;
}

void cuda_norm(dit_pool *pool, const dit_norm_args *args)
{
    if (args->rows <= 0 || args->C <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    norm_operands o = norm_operands_of(cuda, args);
    if (!o.x.data || !o.y.data) return;
    piece_variant variant =
        piece_variant_of(o.C, {{o.x, o.ldx}, {o.y, o.ldy}, {o.weight, 0}, {o.bias, 0}, {o.scale, 0}, {o.shift, 0}});
    if (!variant.wide || o.C > NORM_THREADS * NORM_PIECES * VIEW_WIDTH)
        launch_any(cuda, &o);
    else if (variant.dtype == DIT_DTYPE_BF16)
        launch_wide<DIT_DTYPE_BF16>(cuda, &o);
    else if (variant.dtype == DIT_DTYPE_FP16)
        launch_wide<DIT_DTYPE_FP16>(cuda, &o);
    else if (variant.dtype == DIT_DTYPE_FP32)
        launch_wide<DIT_DTYPE_FP32>(cuda, &o);
    else
        launch_wide<ANY_DTYPE>(cuda, &o);
}
