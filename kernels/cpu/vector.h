/* One vector of fp32 lanes in the instruction set that the including file is compiled for. The cpu operators are
 * written once over these few operations; cpu/isa_*.c compile them three times.
 *
 * `vf` has the arithmetic operators of the compilers' vector types; VF_LANES lanes. Multiply-adds are written out
 * (vf_fma), because contraction is off for the whole project. vf_max(a, b) and vf_min(a, b) give b when either is NaN,
 * so clamping as vf_max(limit, x) lets a NaN through.
 */
#ifndef DIT_KERNELS_CPU_VECTOR_H
#define DIT_KERNELS_CPU_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DIT_INLINE       static inline __attribute__((always_inline))
#define DIT_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* without optimisation the hints below are not followed; so be it */
#define DIT_UNROLL   DIT_PRAGMA(clang loop unroll(full))
#define DIT_UNROLL_4 DIT_PRAGMA(clang loop unroll_count(4))
#else
#define DIT_UNROLL   DIT_PRAGMA(GCC unroll 32)
#define DIT_UNROLL_4 DIT_PRAGMA(GCC unroll 4)
#endif

#if defined(__AVX512F__)

#include <immintrin.h>
enum { VF_LANES = 16 };
typedef __m512 vf;
DIT_INLINE vf vf_set1(float a)
{
    return _mm512_set1_ps(a);
}
DIT_INLINE vf vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
DIT_INLINE void vf_store(float *p, vf a)
{
    _mm512_storeu_ps(p, a);
}
DIT_INLINE __mmask16 vf_first(int64_t n)
{
    return (__mmask16)(n >= VF_LANES ? 0xffff : (1u << n) - 1);
}
DIT_INLINE vf vf_load_n(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(vf_first(n), p);
}
DIT_INLINE void vf_store_n(float *p, vf a, int64_t n)
{
    _mm512_mask_storeu_ps(p, vf_first(n), a);
}
DIT_INLINE vf vf_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
DIT_INLINE vf vf_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}
DIT_INLINE vf vf_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
DIT_INLINE bool vf_equal(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ) == 0;
}
DIT_INLINE float vf_sum(vf a)
{
    return _mm512_reduce_add_ps(a);
}
/* a * 2^n for the integer n in the low bits of `n_bits`, by adding to the exponent field. */
DIT_INLINE vf vf_scale(vf a, vf n_bits)
{
    __m512i shifted = _mm512_slli_epi32(_mm512_castps_si512(n_bits), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), shifted));
}
/* (x0 c0 - x1 s0, x1 c1 + x0 s1), pair by pair. */
DIT_INLINE vf vf_rotate_pairs(vf x, vf c, vf s)
{
    return _mm512_fmaddsub_ps(x, c, _mm512_permute_ps(x, 0xb1) * s);
}

#elif defined(__AVX2__)

#include <immintrin.h>
enum { VF_LANES = 8 };
typedef __m256 vf;
DIT_INLINE vf vf_set1(float a)
{
    return _mm256_set1_ps(a);
}
DIT_INLINE vf vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
DIT_INLINE void vf_store(float *p, vf a)
{
    _mm256_storeu_ps(p, a);
}
DIT_INLINE __m256i vf_first(int64_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n > VF_LANES ? VF_LANES : n)), lane);
}
DIT_INLINE vf vf_load_n(const float *p, int64_t n)
{
    return _mm256_maskload_ps(p, vf_first(n));
}
DIT_INLINE void vf_store_n(float *p, vf a, int64_t n)
{
    _mm256_maskstore_ps(p, vf_first(n), a);
}
DIT_INLINE vf vf_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}
DIT_INLINE vf vf_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}
DIT_INLINE vf vf_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}
DIT_INLINE bool vf_equal(vf a, vf b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ)) == 0;
}
DIT_INLINE float vf_sum(vf a)
{
    __m128 half = _mm256_castps256_ps128(a) + _mm256_extractf128_ps(a, 1);
    half = half + _mm_movehl_ps(half, half);
    return _mm_cvtss_f32(half + _mm_movehdup_ps(half));
}
DIT_INLINE vf vf_scale(vf a, vf n_bits)
{
    __m256i shifted = _mm256_slli_epi32(_mm256_castps_si256(n_bits), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), shifted));
}
DIT_INLINE vf vf_rotate_pairs(vf x, vf c, vf s)
{
    return _mm256_fmaddsub_ps(x, c, _mm256_permute_ps(x, 0xb1) * s);
}

#else /* any machine: four lanes of the compilers' own vectors, SSE2 on x86-64, NEON on ARM */

enum { VF_LANES = 4 };
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vf_bits __attribute__((vector_size(16)));
typedef uint32_t vf_unsigned __attribute__((vector_size(16)));
DIT_INLINE vf vf_set1(float a)
{
    return (vf){a, a, a, a};
}
DIT_INLINE vf vf_load(const float *p)
{
    vf a;
    memcpy(&a, p, sizeof a);
    return a;
}
DIT_INLINE void vf_store(float *p, vf a)
{
    memcpy(p, &a, sizeof a);
}
DIT_INLINE vf vf_load_n(const float *p, int64_t n)
{
    float lanes[VF_LANES] = {0};
    for (int64_t i = 0; i < n && i < VF_LANES; i++) lanes[i] = p[i];
    return vf_load(lanes);
}
DIT_INLINE void vf_store_n(float *p, vf a, int64_t n)
{
    for (int i = 0; i < VF_LANES; i++)
        if (i < n) p[i] = a[i];
}
DIT_INLINE vf vf_fma(vf a, vf b, vf c)
{
    return a * b + c;
}
DIT_INLINE vf vf_choose(vf_bits mask, vf a, vf b)
{
    return (vf)((mask & (vf_bits)a) | (~mask & (vf_bits)b));
}
DIT_INLINE vf vf_max(vf a, vf b)
{
    return vf_choose(a > b, a, b);
}
DIT_INLINE vf vf_min(vf a, vf b)
{
    return vf_choose(a < b, a, b);
}
DIT_INLINE bool vf_equal(vf a, vf b)
{
    vf_bits same = a == b;
    return same[0] && same[1] && same[2] && same[3];
}
DIT_INLINE float vf_sum(vf a)
{
    return (a[0] + a[1]) + (a[2] + a[3]);
}
DIT_INLINE vf vf_scale(vf a, vf n_bits)
{
    return (vf)((vf_unsigned)a + ((vf_unsigned)n_bits << 23));
}
DIT_INLINE vf vf_rotate_pairs(vf x, vf c, vf s)
{
    vf swapped = {x[1], x[0], x[3], x[2]};
    const vf sign = {-1, 1, -1, 1};
    return vf_fma(x, c, swapped * s * sign);
}

#endif

DIT_INLINE vf vf_zero(void)
{
    return vf_set1(0);
}
/* Loads the next vector of an array that has `left` >= 1 floats left. Where the compiler knows that `left` is enough,
 * nothing is tested. */
DIT_INLINE vf vf_load_next(const float *p, int64_t left)
{
    return left >= VF_LANES ? vf_load(p) : vf_load_n(p, left);
}
DIT_INLINE void vf_store_next(float *p, vf a, int64_t left)
{
    if (left >= VF_LANES)
        vf_store(p, a);
    else
        vf_store_n(p, a, left);
}

#endif
