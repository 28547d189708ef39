/* Quantises a whole tensor to e4m3 with one scale: first finds the largest magnitude, in parts, then writes the codes.
 * A maximum does not depend on the order, so neither do the codes. */
#include "kernels/cuda/tile.h"

enum { QUANTISE_THREADS = 256 };

/* Returns the maximum over the block, on every thread. `scratch` is shared, a float per warp. */
static __device__ inline float block_max(float x, float *scratch)
{
    const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    x = warp_max(x);
    if (lane == 0) scratch[warp] = x;
    __syncthreads();
    return warp_max(lane < QUANTISE_THREADS / WARP ? scratch[lane] : 0.0f);
}

static __global__ void __launch_bounds__(QUANTISE_THREADS) largest_magnitudes(matrix_source x, float *partial)
{
    __shared__ float scratch[QUANTISE_THREADS / WARP];
    float largest = 0.0f;
    for (int64_t row = blockIdx.x; row < x.rows; row += gridDim.x)
        for (int64_t k = (int)threadIdx.x * VIEW_WIDTH; k < x.depth; k += QUANTISE_THREADS * VIEW_WIDTH) {
            float values[VIEW_WIDTH];
            x.seek(row, k);
            x.take(values);
#pragma unroll
            for (int j = 0; j < VIEW_WIDTH; j++) largest = fmaxf(largest, fabsf(values[j]));
        }
    largest = block_max(largest, scratch);
    if (threadIdx.x == 0) partial[blockIdx.x] = largest;
}

static __global__ void __launch_bounds__(QUANTISE_THREADS)
    quantise(matrix_source x, const float *partial, int parts, uint8_t *codes, float *scale)
{
    __shared__ float scratch[QUANTISE_THREADS / WARP];
    float largest = block_max((int)threadIdx.x < parts ? partial[threadIdx.x] : 0.0f, scratch);
    const float unit = largest > 0.0f ? largest / E4M3_LARGEST : 1.0f;
    if (blockIdx.x == 0 && threadIdx.x == 0) *scale = unit;
    for (int64_t row = blockIdx.x; row < x.rows; row += gridDim.x)
        for (int64_t k = (int)threadIdx.x * VIEW_WIDTH; k < x.depth; k += QUANTISE_THREADS * VIEW_WIDTH) {
            float values[VIEW_WIDTH];
            uint32_t words[2] = {0, 0};
            x.seek(row, k);
            x.take(values);
#pragma unroll
            for (int j = 0; j < VIEW_WIDTH; j++)
                words[j / 4] |= (uint32_t)e4m3_from_float(values[j] / unit) << 8 * (j % 4);
            *(uint2 *)(codes + row * x.depth + k) = make_uint2(words[0], words[1]);
        }
}
static_assert((int)CUDA_QUANTISE_PARTIAL <= (int)QUANTISE_THREADS, "a thread reads one part");

void cuda_quantise(dit_cuda *cuda, view x, int64_t rows, int64_t k, int64_t ldx, uint8_t *codes, float *scale,
                   float *partial)
{
    matrix_source source = matrix_source_of(x, rows, k, ldx, false);
    const int parts = (int)(rows < CUDA_QUANTISE_PARTIAL ? rows : (int64_t)CUDA_QUANTISE_PARTIAL);
    const unsigned blocks = (unsigned)(rows < 2048 ? rows : 2048);
    if (rows <= 0) return;
    LAUNCH(cuda, largest_magnitudes, (unsigned)parts, QUANTISE_THREADS, 0, source, partial);
    LAUNCH(cuda, quantise, blocks, QUANTISE_THREADS, 0, source, partial, parts, codes, scale);
}
