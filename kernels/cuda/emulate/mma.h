/* The operations of kernels/cuda/mma.h on the host, in the layouts that are documented there. A warp's fragments are
 * put together to matrices and taken apart again, so a fragment in the wrong lane gives a wrong result.
 *
 * Copies into shared memory are done as late as is allowed, when the thread waits for them; until then their target is
 * NaN. So a thread that reads without waiting, or writes where another still reads, gets wrong results.
 */
#ifndef DIT_CUDA_EMULATE_MMA_H
#define DIT_CUDA_EMULATE_MMA_H

#include "kernels/cuda/launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

template <dit_dtype DTYPE> static inline float emulated_half(uint32_t pair, int high)
{
    uint16_t bits = (uint16_t)(pair >> 16 * high);
    return DTYPE == DIT_DTYPE_BF16 ? dit_bf16_to_float(bits) : dit_fp16_to_float(bits);
}

struct emulated_mma {
    float *d;
    const uint32_t *a, *b;
};

/* Register i of A holds rows g + 8 (i % 2) and columns c + 8 (i / 2); register i of B holds rows c + 8 i and column
 * g. */
template <dit_dtype DTYPE> static void emulated_mma_lanes(void *const lanes[EMULATED_WARP])
{
    float a[16][16], b[16][8];
    for (int lane = 0; lane < EMULATED_WARP; lane++) {
        const emulated_mma *mine = (const emulated_mma *)lanes[lane];
        int g = lane / 4, c = 2 * (lane % 4);
        for (int i = 0; i < 8; i++)
            a[g + 8 * (i / 2 % 2)][c + i % 2 + 8 * (i / 4)] = emulated_half<DTYPE>(mine->a[i / 2], i % 2);
        for (int i = 0; i < 4; i++) b[c + i % 2 + 8 * (i / 2)][g] = emulated_half<DTYPE>(mine->b[i / 2], i % 2);
    }
    for (int lane = 0; lane < EMULATED_WARP; lane++) {
        float *d = ((const emulated_mma *)lanes[lane])->d;
        for (int i = 0; i < 4; i++) {
            int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
            for (int k = 0; k < 16; k++) d[i] += a[row][k] * b[k][column];
        }
    }
}

template <dit_dtype DTYPE> static inline void mma_m16n8k16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    emulated_mma mine = {d, a, b};
    emulated_lanes((unsigned)WHOLE_WARP, emulated_mma_lanes<DTYPE>, &mine);
}

struct emulated_ldmatrix {
    uint32_t *out;
    const uint16_t *row;
};

template <bool TRANSPOSED> static void emulated_ldmatrix_lanes(void *const lanes[EMULATED_WARP])
{
    for (int lane = 0; lane < EMULATED_WARP; lane++) {
        int g = lane / 4, c = 2 * (lane % 4);
        for (int i = 0; i < 4; i++) {
            const emulated_ldmatrix *first = (const emulated_ldmatrix *)lanes[8 * i + (TRANSPOSED ? c : g)];
            const emulated_ldmatrix *second = (const emulated_ldmatrix *)lanes[8 * i + (TRANSPOSED ? c + 1 : g)];
            uint32_t low = first->row[TRANSPOSED ? g : c], high = second->row[TRANSPOSED ? g : c + 1];
            ((emulated_ldmatrix *)lanes[lane])->out[i] = low | high << 16;
        }
    }
}

static inline void emulated_require(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "emulated kernel, thread %u of block (%u, %u, %u): %s\n", threadIdx.x, blockIdx.x, blockIdx.y,
            blockIdx.z, what);
    abort();
}

static inline void ldmatrix_x4(uint32_t out[4], const void *row)
{
    emulated_require((uintptr_t)row % 16 == 0, "ldmatrix reads a row that is not 16-byte aligned");
    emulated_ldmatrix mine = {out, (const uint16_t *)row};
    emulated_lanes((unsigned)WHOLE_WARP, emulated_ldmatrix_lanes<false>, &mine);
}

static inline void ldmatrix_x4_trans(uint32_t out[4], const void *row)
{
    emulated_require((uintptr_t)row % 16 == 0, "ldmatrix reads a row that is not 16-byte aligned");
    emulated_ldmatrix mine = {out, (const uint16_t *)row};
    emulated_lanes((unsigned)WHOLE_WARP, emulated_ldmatrix_lanes<true>, &mine);
}

/* The copies that a thread has under way, oldest first; `group` counts its commits. */
enum { EMULATED_COPIES = 128, EMULATED_COPY_BYTES = 16 };
struct emulated_copies {
    struct {
        void *shared;
        const void *source; /* NULL: zeros */
        int group;
    } copies[EMULATED_COPIES];
    int count, group;
};

static inline emulated_copies *emulated_copies_mine(void)
{
    static emulated_copies threads[1024];
    return &threads[threadIdx.x];
}

static inline void cp_async_16(void *shared, const void *source, bool there)
{
    emulated_copies *mine = emulated_copies_mine();
    emulated_require((uintptr_t)shared % 16 == 0, "cp.async writes to an address that is not 16-byte aligned");
    emulated_require(!there || (uintptr_t)source % 16 == 0,
                     "cp.async reads from an address that is not 16-byte aligned");
    emulated_require(mine->count < EMULATED_COPIES, "more copies are under way than the emulation can keep");
    memset(shared, 0xFF, EMULATED_COPY_BYTES);
    mine->copies[mine->count++] = {shared, there ? source : NULL, mine->group};
}

static inline void cp_async_commit(void)
{
    emulated_copies_mine()->group++;
}

template <int PENDING> static inline void cp_async_wait(void)
{
    emulated_copies *mine = emulated_copies_mine();
    int kept = 0;
    for (int i = 0; i < mine->count; i++) {
        void *shared = mine->copies[i].shared;
        if (mine->copies[i].group >= mine->group - PENDING)
            mine->copies[kept++] = mine->copies[i];
        else if (mine->copies[i].source)
            memcpy(shared, mine->copies[i].source, EMULATED_COPY_BYTES);
        else
            memset(shared, 0, EMULATED_COPY_BYTES);
    }
    mine->count = kept;
}

template <dit_dtype DTYPE> static inline uint32_t pack_pair(float low, float high)
{
    if (DTYPE == DIT_DTYPE_BF16) return dit_bf16_from_float(low) | (uint32_t)dit_bf16_from_float(high) << 16;
    return dit_fp16_from_float(low) | (uint32_t)dit_fp16_from_float(high) << 16;
}

static inline float exp2_fast(float x)
{
    return exp2f(x);
}

#endif
