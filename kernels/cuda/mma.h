/* Matrix products on a warp's tensor cores, and copies into shared memory that overlap with computing: PTX of sm_80 and
 * later. Each operation has a second form in plain C++ for the host (emulate/), which tries the layouts without a GPU.
 * Whole warps call these operations; blocks are one-dimensional.
 *
 * D = A B + D, with A [16, 16] and B [16, 8] in bf16 or fp16, D [16, 8] in fp32. For lane L, g = L / 4, c = 2 (L % 4).
 * A register of A or B holds two neighbours along k, the earlier one in its low half:
 *     a[0] = A[g, c..c+1]    a[1] = A[g+8, c..c+1]    a[2] = A[g, c+8..c+9]    a[3] = A[g+8, c+8..c+9]
 *     b[0] = B[c..c+1, g]    b[1] = B[c+8..c+9, g]
 *     d[0] = D[g, c]         d[1] = D[g, c+1]         d[2] = D[g+8, c]         d[3] = D[g+8, c+1]
 * So D of two neighbouring products, once rounded, is A of the next product: the softmax never leaves the registers.
 * Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".
 *
 * ldmatrix_x4 loads four matrices [8, 8] of two-byte elements. Lanes 8 i to 8 i + 7 give the addresses of the rows of
 * matrix i, 16 bytes each, 16-byte aligned; lane L gets in register i
 *     plain      M_i[g, c..c+1]          which is A, and B of a matrix stored [n, k] (keys for q k^T)
 *     _trans     M_i[c, g], M_i[c+1, g]  which is B of a matrix stored [k, n]        (values for p v)
 * Source: PTX ISA, "Warp-level matrix load instruction: ldmatrix".
 */
#ifndef DIT_KERNELS_CUDA_MMA_H
#define DIT_KERNELS_CUDA_MMA_H

#include "kernels/cuda/launch.h"
#include <string.h>

#ifndef DIT_CUDA_EMULATED

static __device__ __forceinline__ uint32_t shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

template <dit_dtype DTYPE>
static __device__ __forceinline__ void mma_m16n8k16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    static_assert(DTYPE == DIT_DTYPE_BF16 || DTYPE == DIT_DTYPE_FP16, "two-byte elements");
    if (DTYPE == DIT_DTYPE_BF16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void ldmatrix_x4(uint32_t out[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
}

static __device__ __forceinline__ void ldmatrix_x4_trans(uint32_t out[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* Copies 16 bytes past L1; both addresses are 16-byte aligned. Unless `there`, it writes zeros and never reads
 * `source`. */
static __device__ __forceinline__ void cp_async_16(void *shared, const void *source, bool there)
{
    int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(source), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most PENDING of this thread's latest groups are under way. Copies of other threads need __syncthreads,
 * too. */
template <int PENDING> static __device__ __forceinline__ void cp_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* Packs two values rounded to DTYPE, `low` in the low half. */
template <dit_dtype DTYPE> static __device__ __forceinline__ uint32_t pack_pair(float low, float high)
{
    uint32_t pair;
    if (DTYPE == DIT_DTYPE_BF16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* Returns 2^x to a relative 2^-22; 2^-inf is 0, NaN stays NaN. */
static __device__ __forceinline__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#else
#include "kernels/cuda/emulate/mma.h"
#endif

#endif
