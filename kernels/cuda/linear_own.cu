/* Own kernels of linear layers: any mix of elements, any strides, fp32 sums. Reference of the library and what is used
 * where it declines.
 *
 *   few rows   a warp for each output column, which reads its row of W once: bound by the memory's bandwidth, as layers
 *              of modulation are
 *   tiles      tile.h
 */
#include "kernels/cuda/tile.h"

enum { FEW_ROWS = 8, FEW_WARPS = 4 };

typedef struct {
    matrix_source x, w;
    finish f;
} product;

/* `wide`: both sources can be read eight at a time and the depth is a multiple of eight. */
template <int rows>
static __device__ inline void few_rows_wide(matrix_source x, matrix_source w, int64_t column, float sums[rows])
{
    const int lane = (int)threadIdx.x % WARP;
#pragma unroll 2
    for (int64_t k = lane * VIEW_WIDTH; k < w.depth; k += WARP * VIEW_WIDTH) {
        float weights[VIEW_WIDTH], values[VIEW_WIDTH];
        w.seek(column, k);
        w.take(weights);
#pragma unroll
        for (int r = 0; r < rows; r++) {
            x.seek(r, k);
            x.take(values);
#pragma unroll
            for (int j = 0; j < VIEW_WIDTH; j++) sums[r] = fmaf(weights[j], values[j], sums[r]);
        }
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

template <int rows> static __global__ void __launch_bounds__(FEW_WARPS *WARP, 4) matmul_few_rows(product p, bool wide)
{
    const int lane = (int)threadIdx.x % WARP;
    const int64_t column = (int64_t)blockIdx.x * FEW_WARPS + (int)threadIdx.x / WARP;
    float sums[rows] = {}, mine = 0.0f;
    if (column >= p.w.rows) return; /* the whole warp */
    if (wide)
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
    const bool wide = p.x.wide && p.w.wide && args->k % VIEW_WIDTH == 0;
    const unsigned few_blocks = (unsigned)((args->n + FEW_WARPS - 1) / FEW_WARPS);
    if (args->rows <= 0 || args->n <= 0) return;
    if (args->rows == 1)
        LAUNCH(cuda, matmul_few_rows<1>, few_blocks, FEW_WARPS * WARP, 0, p, wide);
    else if (args->rows == 2)
        LAUNCH(cuda, matmul_few_rows<2>, few_blocks, FEW_WARPS * WARP, 0, p, wide);
    else if (args->rows <= 4)
        LAUNCH(cuda, matmul_few_rows<4>, few_blocks, FEW_WARPS * WARP, 0, p, wide);
    else if (args->rows <= FEW_ROWS)
        LAUNCH(cuda, matmul_few_rows<FEW_ROWS>, few_blocks, FEW_WARPS * WARP, 0, p, wide);
    else
        LAUNCH(cuda, matmul_tile, (unsigned)tile_count(args->rows, args->n), TILE_THREADS, TILE_SHARED_BYTES, p);
}
