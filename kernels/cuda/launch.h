/* Launches kernels, and has the sums that a warp or a block forms together. One source serves GPUs and the host
 * (emulate/).
 */
#ifndef DIT_KERNELS_CUDA_LAUNCH_H
#define DIT_KERNELS_CUDA_LAUNCH_H

#include "kernels/cuda/cuda.h"

/* LAUNCH(cuda, kernel, grid, block, shared_bytes, arguments...) launches a kernel, asynchronous on the device's stream,
 * and remembers a failed launch. It also launches kernels with __syncthreads, shuffles or shared memory: on the host
 * every thread of a block gets a fiber. A kernel's dynamic shared memory is SHARED(type, name). */
#ifdef DIT_CUDA_EMULATED
#define LAUNCH(cuda, kernel, grid, block, shared_bytes, ...)                                                           \
    do {                                                                                                               \
        emulated_launch(#kernel, (cuda)->stream, grid, block, shared_bytes, kernel, ##__VA_ARGS__);                    \
        cuda_check(cuda, cudaGetLastError(), #kernel);                                                                 \
    } while (0)
#define SHARED(type, name) type *name = (type *)emulated_shared()
#else
#define LAUNCH(cuda, kernel, grid, block, shared_bytes, ...)                                                           \
    do {                                                                                                               \
        kernel<<<grid, block, shared_bytes, (cuda)->stream>>>(__VA_ARGS__);                                            \
        cuda_check(cuda, cudaGetLastError(), #kernel);                                                                 \
    } while (0)
#define SHARED(type, name)                                                                                             \
    extern __shared__ __align__(128) unsigned char shared_memory_[];                                                   \
    type *name = (type *)shared_memory_
#endif

enum { WARP = 32, WHOLE_WARP = -1 };

static __device__ inline float warp_sum(float x)
{
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) x += __shfl_xor_sync((unsigned)WHOLE_WARP, x, step);
    return x;
}

static __device__ inline float warp_max(float x)
{
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync((unsigned)WHOLE_WARP, x, step));
    return x;
}

/* Returns the sum over the block, on every thread. `scratch` is shared, a float per warp. Threads are a multiple of 32.
 */
static __device__ inline float block_sum(float x, float *scratch)
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP, warps = (int)blockDim.x / WARP;
    x = warp_sum(x);
    if (warps == 1) return x;
    __syncthreads(); /* scratch may still be read from the last sum */
    if (lane == 0) scratch[warp] = x;
    __syncthreads();
    return warp_sum(lane < warps ? scratch[lane] : 0.0f);
}

/* Returns the sum over the block in double, on every thread. `scratch` is shared, a double per warp. */
static __device__ inline double block_sum_exact(double x, double *scratch)
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP, warps = (int)blockDim.x / WARP;
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) x += __shfl_xor_sync((unsigned)WHOLE_WARP, x, step);
    __syncthreads(); /* scratch may still be read from the last sum */
    if (lane == 0) scratch[warp] = x;
    __syncthreads();
    x = 0;
    for (int w = 0; w < warps; w++) x += scratch[w];
    return x;
}

#endif
