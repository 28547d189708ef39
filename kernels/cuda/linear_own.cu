/* Our own kernels for linear layers: any mix of dtypes, any strides, fp32 sums. They run where the library declines,
 * and the library is checked against them.
 *
 *   few rows   a warp for each output column, which reads its row of W once: memory bandwidth limits it, as in layers
 *              of modulation
 *   tiles      tile.h, for everything else
 */
#include "kernels/cuda/pieces.h"
#include "kernels/cuda/tile.h"

enum { FEW_ROWS = 8, FEW_WARPS = 4 };

typedef struct {
    matrix_source x, w;
    finish f;
} product;

/* Adds eight products to the sum of each row. */
template <int rows>
static __device__ inline void few_rows_add(matrix_source &x, int64_t k, const float weights[VIEW_WIDTH],
                                           float sums[rows])
{
    float values[VIEW_WIDTH];
#pragma unroll
    for (int r = 0; r < rows; r++) {
        x.seek(r, k);
        x.take(values);
#pragma unroll
        for (int j = 0; j < VIEW_WIDTH; j++) sums[r] = fmaf(weights[j], values[j], sums[r]);
    }
}

/* Multiplies where both sources can be read eight at a time, the depth is a multiple of eight, and W has that dtype. */
template <int rows, int DTYPE>
static __device__ inline void few_rows_ahead(matrix_source x, const matrix_source &w, int64_t column, float sums[rows])
{
    const int ahead = rows > 2 ? 2 : 4; /* pieces of W that are under way */
    const int64_t step = WARP * VIEW_WIDTH, begin = column * w.ld;
    for (int64_t k = (int)threadIdx.x % WARP * VIEW_WIDTH; k < w.depth; k += ahead * step) {
        piece<DTYPE, VIEW_WIDTH> raw[ahead];
#pragma unroll
        for (int a = 0; a < ahead; a++) {
            raw[a].clear();
            if (k + a * step < w.depth) raw[a].read(w.data, begin + k + a * step);
        }
#pragma unroll
        for (int a = 0; a < ahead; a++) {
            float weights[VIEW_WIDTH];
            if (k + a * step >= w.depth) break;
            raw[a].floats(w.data, weights);
            few_rows_add<rows>(x, k + a * step, weights, sums);
        }
    }
}

/* Multiplies where W has fp32 or e4m3. */
template <int rows>
static __device__ inline void few_rows_wide(matrix_source x, matrix_source w, int64_t column, float sums[rows])
{
    for (int64_t k = (int)threadIdx.x % WARP * VIEW_WIDTH; k < w.depth; k += WARP * VIEW_WIDTH) {
        float weights[VIEW_WIDTH];
        w.seek(column, k);
        w.take(weights);
        few_rows_add<rows>(x, k, weights, sums);
    }
}

template <int rows>
static __device__ inline void few_rows_narrow(const matrix_source &x, const matrix_source &w, int64_t column,
                                              float sums[rows])
{
    for (int64_t k = (int)threadIdx.x % WARP; k < w.depth; k += WARP) {
        float weight = w.at(column * w.ld + k);
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (r < x.rows) sums[r] = fmaf(weight, x.at(r * x.ld + k), sums[r]);
    }
}

/* Computes one output column per warp. DTYPE: of W where it is read ahead, bf16 or fp16; ANY_DTYPE: any. */
template <int rows, int DTYPE>
static __global__ void __launch_bounds__(FEW_WARPS *WARP, rows == 1   ? 6
                                                          : rows == 2 ? 5
                                                          : rows == 4 ? 4
                                                                      : 3) matmul_few_rows(product p, bool wide)
{
    const int lane = (int)threadIdx.x % WARP;
    const int64_t column = (int64_t)blockIdx.x * FEW_WARPS + (int)threadIdx.x / WARP;
    float sums[rows] = {}, mine = 0.0f;
    if (column >= p.w.rows) return; /* the whole warp */
    if (DTYPE != ANY_DTYPE)
        few_rows_ahead<rows, DTYPE>(p.x, p.w, column, sums);
    else if (wide)
        few_rows_wide<rows>(p.x, p.w, column, sums);
    else
        few_rows_narrow<rows>(p.x, p.w, column, sums);
#pragma unroll
    for (int r = 0; r < rows; r++) {
        float sum = warp_sum(sums[r]);
        if (lane == r) mine = sum;
    }
    if (lane < p.x.rows) finish_store(p.f, lane, column, finish_scale(p.f) * mine);
}

template <int rows> static void launch_few_rows(dit_cuda *cuda, const product &p)
{
    const bool wide = p.x.wide && p.w.wide && p.w.depth % VIEW_WIDTH == 0;
    const unsigned blocks = grid_x(divide_up(p.w.rows, FEW_WARPS));
    const int dtype = wide && !p.w.codes ? (int)p.w.data.dtype : (int)ANY_DTYPE;
    if (dtype == DIT_DTYPE_BF16)
        LAUNCH(cuda, (matmul_few_rows<rows, DIT_DTYPE_BF16>), blocks, FEW_WARPS * WARP, 0, p, wide);
    else if (dtype == DIT_DTYPE_FP16)
        LAUNCH(cuda, (matmul_few_rows<rows, DIT_DTYPE_FP16>), blocks, FEW_WARPS * WARP, 0, p, wide);
    else
        LAUNCH(cuda, (matmul_few_rows<rows, ANY_DTYPE>), blocks, FEW_WARPS * WARP, 0, p, wide);
}

static __global__ void __launch_bounds__(TILE_THREADS, 2) matmul_tile(product p)
{
    SHARED(float, shared);
    tile_multiply(p.x, p.w, p.f, shared);
}

static product product_of(const cuda_matmul_args *a)
{
    const bool codes = a->x_scale != NULL;
    const cuda_weights *w = a->weights;
    product p = {};
    p.x = matrix_source_of(a->x, a->rows, a->k, a->ldx, codes);
    p.w = matrix_source_of(codes ? w->fp8 : w->weight, a->n, a->k, a->k, codes);
    p.f.bias = w->bias;
    p.f.gate = a->gate;
    p.f.residual = a->residual;
    p.f.y = a->y;
    p.f.ldy = a->ldy;
    p.f.activation = a->activation;
    p.f.scale_x = a->x_scale;
    p.f.scale_w = codes ? w->fp8_scale : NULL;
    return p;
}

void cuda_matmul_own(dit_cuda *cuda, const cuda_matmul_args *args)
{
    product p = product_of(args);
    if (args->rows <= 0 || args->n <= 0) return;
    if (args->rows == 1)
        launch_few_rows<1>(cuda, p);
    else if (args->rows == 2)
        launch_few_rows<2>(cuda, p);
    else if (args->rows <= 4)
        launch_few_rows<4>(cuda, p);
    else if (args->rows <= FEW_ROWS)
        launch_few_rows<FEW_ROWS>(cuda, p);
    else
        LAUNCH(cuda, matmul_tile, grid_x(tile_count(args->rows, args->n)), TILE_THREADS, TILE_SHARED_BYTES, p);
}
