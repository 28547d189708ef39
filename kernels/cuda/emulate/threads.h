/* Runs blocks of threads on the host: a part of the emulation's <cuda_runtime.h>.
 *
 * The threads of a block are fibers that switch only where they wait for each other: at a barrier of the block or at a
 * collective of a warp. A thread gets a fiber when it is its turn. Threads that never wait share one fiber, so kernels
 * without synchronisation are plain loops. Blocks run one after the other, in order.
 *
 * What a GPU leaves undefined ends the process and names kernel, block and thread: a barrier that some thread never
 * reaches, a warp's mask that names a lane which never comes, and writes beyond the dynamic shared memory. That memory
 * is NaN when a block begins.
 */
#ifndef DIT_CUDA_EMULATE_THREADS_H
#define DIT_CUDA_EMULATE_THREADS_H

#include "vector.h"

#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __shared__      static /* one block at a time */
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

enum { EMULATED_WARP = 32 };

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
static const int warpSize = EMULATED_WARP;

/* Returns the block's dynamic shared memory, 128-byte aligned. */
void *emulated_shared(void);

void __syncthreads(void);
int __syncthreads_count(int predicate);
static inline int __syncthreads_or(int predicate)
{
    return __syncthreads_count(predicate) > 0;
}
static inline int __syncthreads_and(int predicate)
{
    return __syncthreads_count(!predicate) == 0;
}

/* Does something that the lanes of `mask` do together: when all of them have called this with equal mask and work, the
 * last one calls `work` once with the value of each lane (NULL for lanes outside of the mask). It also serves whole
 * tile operations. */
typedef void emulated_lanes_work(void *const lanes[EMULATED_WARP]);
void emulated_lanes(unsigned mask, emulated_lanes_work *work, void *mine);
int emulated_lane(void);

/* ---- shuffles and votes ------------------------------------------------------------------------------------------ */

struct emulated_exchange {
    uint64_t value, result;
    int source;
};
emulated_lanes_work emulated_exchange_lanes, emulated_vote_lanes, emulated_nothing;

template <typename T> static inline T emulated_from(unsigned mask, T value, int source)
{
    static_assert(sizeof(T) <= 8, "values of up to eight bytes are exchanged");
    emulated_exchange mine = {0, 0, source};
    memcpy(&mine.value, &value, sizeof value);
    emulated_lanes(mask, emulated_exchange_lanes, &mine);
    memcpy((void *)&value, &mine.result, sizeof value);
    return value;
}

/* Returns the first lane of this lane's part of the warp. */
static inline int emulated_part(int width)
{
    return emulated_lane() & ~(width - 1);
}

template <typename T> static inline T __shfl_sync(unsigned mask, T value, int source, int width = EMULATED_WARP)
{
    return emulated_from(mask, value, emulated_part(width) | (source & (width - 1)));
}

template <typename T> static inline T __shfl_xor_sync(unsigned mask, T value, int other, int width = EMULATED_WARP)
{
    int source = emulated_lane() ^ other;
    return emulated_from(mask, value, source < emulated_part(width) + width ? source : emulated_lane());
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = EMULATED_WARP)
{
    int source = emulated_lane() + (int)delta;
    return emulated_from(mask, value, source < emulated_part(width) + width ? source : emulated_lane());
}

template <typename T> static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = EMULATED_WARP)
{
    int source = emulated_lane() - (int)delta;
    return emulated_from(mask, value, source >= emulated_part(width) ? source : emulated_lane());
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    uint64_t mine = predicate != 0;
    emulated_lanes(mask, emulated_vote_lanes, &mine);
    return (unsigned)mine;
}

static inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}

static inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}

static inline void __syncwarp(unsigned mask = 0xFFFFFFFFu)
{
    uint64_t mine = 0;
    emulated_lanes(mask, emulated_nothing, &mine);
}

#endif
