/* Device functions of one thread: a part of the emulation's <cuda_runtime.h>. Fast variants are exact here; how
 * accurate they are on a GPU can only be tested on a GPU. */
#ifndef DIT_CUDA_EMULATE_INTRINSICS_H
#define DIT_CUDA_EMULATE_INTRINSICS_H

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- bits -------------------------------------------------------------------------------------------------------- */

template <typename To, typename From> static inline To emulated_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bits of the same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

static inline unsigned __float_as_uint(float x)
{
    return emulated_bits<unsigned>(x);
}
static inline int __float_as_int(float x)
{
    return emulated_bits<int>(x);
}
static inline float __uint_as_float(unsigned x)
{
    return emulated_bits<float>(x);
}
static inline float __int_as_float(int x)
{
    return emulated_bits<float>(x);
}
static inline long long __double_as_longlong(double x)
{
    return emulated_bits<long long>(x);
}
static inline double __longlong_as_double(long long x)
{
    return emulated_bits<double>(x);
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* Macros: the C library declares functions of these names. */
#define __expf    expf
#define __exp10f  exp10f
#define __logf    logf
#define __log2f   log2f
#define __log10f  log10f
#define __sinf    sinf
#define __cosf    cosf
#define __sincosf sincosf
#define __powf    powf
#define __tanhf   tanhf
static inline float __fdividef(float x, float y)
{
    return x / y;
}
static inline float __fdiv_rn(float x, float y)
{
    return x / y;
}
static inline float __frcp_rn(float x)
{
    return 1 / x;
}
static inline float __fsqrt_rn(float x)
{
    return sqrtf(x);
}
static inline float __frsqrt_rn(float x)
{
    return (float)(1 / sqrt((double)x));
}
static inline float __fadd_rn(float x, float y)
{
    return x + y;
}
static inline float __fsub_rn(float x, float y)
{
    return x - y;
}
static inline float __fmul_rn(float x, float y)
{
    return x * y;
}
static inline float __fmaf_rn(float x, float y, float z)
{
    return fmaf(x, y, z);
}
static inline double __dadd_rn(double x, double y)
{
    return x + y;
}
static inline double __dmul_rn(double x, double y)
{
    return x * y;
}
static inline float __saturatef(float x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}
static inline float rsqrtf(float x)
{
    return (float)(1 / sqrt((double)x));
}
static inline double rsqrt(double x)
{
    return 1 / sqrt(x);
}
static inline int __float2int_rn(float x)
{
    return (int)rintf(x);
}
static inline int __float2int_rz(float x)
{
    return (int)x;
}
static inline int __float2int_rd(float x)
{
    return (int)floorf(x);
}
static inline float __int2float_rn(int x)
{
    return (float)x;
}
static inline double __int2double_rn(int x)
{
    return x;
}
static inline float __double2float_rn(double x)
{
    return (float)x;
}
static inline int __mul24(int x, int y)
{
    return x * y;
}
static inline unsigned __umulhi(unsigned x, unsigned y)
{
    return (unsigned)((uint64_t)x * y >> 32);
}
static inline int __mulhi(int x, int y)
{
    return (int)((int64_t)x * y >> 32);
}

#define EMULATED_MIN_MAX(type)                                                                                         \
    static inline type min(type x, type y)                                                                             \
    {                                                                                                                  \
        return y < x ? y : x;                                                                                          \
    }                                                                                                                  \
    static inline type max(type x, type y)                                                                             \
    {                                                                                                                  \
        return x < y ? y : x;                                                                                          \
    }
EMULATED_MIN_MAX(int)
EMULATED_MIN_MAX(unsigned)
EMULATED_MIN_MAX(long)
EMULATED_MIN_MAX(unsigned long)
EMULATED_MIN_MAX(long long)
EMULATED_MIN_MAX(unsigned long long)
static inline float min(float x, float y)
{
    return fminf(x, y);
}
static inline float max(float x, float y)
{
    return fmaxf(x, y);
}
static inline double min(double x, double y)
{
    return fmin(x, y);
}
static inline double max(double x, double y)
{
    return fmax(x, y);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldca(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldcg(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldcs(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldlu(const T *p)
{
    return *p;
}
template <typename T> static inline void __stcg(T *p, T x)
{
    *p = x;
}
template <typename T> static inline void __stcs(T *p, T x)
{
    *p = x;
}
template <typename T> static inline void __stwb(T *p, T x)
{
    *p = x;
}
static inline size_t __cvta_generic_to_shared(const void *p)
{
    return (size_t)p;
}
static inline void __threadfence(void) {}
static inline void __threadfence_block(void) {}
static inline void __threadfence_system(void) {}
static inline void __nanosleep(unsigned) {}
static inline void __trap(void)
{
    __builtin_trap();
}

/* Swaps atomically: fibers do not switch inside. */
template <typename T> static inline T emulated_swap(T *p, T x)
{
    T old = *p;
    *p = x;
    return old;
}
#define EMULATED_ATOMICS(type)                                                                                         \
    static inline type atomicAdd(type *p, type x)                                                                      \
    {                                                                                                                  \
        return emulated_swap(p, (type)(*p + x));                                                                       \
    }                                                                                                                  \
    static inline type atomicExch(type *p, type x)                                                                     \
    {                                                                                                                  \
        return emulated_swap(p, x);                                                                                    \
    }
#define EMULATED_INTEGER_ATOMICS(type)                                                                                 \
    EMULATED_ATOMICS(type)                                                                                             \
    static inline type atomicSub(type *p, type x)                                                                      \
    {                                                                                                                  \
        return emulated_swap(p, (type)(*p - x));                                                                       \
    }                                                                                                                  \
    static inline type atomicMin(type *p, type x)                                                                      \
    {                                                                                                                  \
        return emulated_swap(p, *p < x ? *p : x);                                                                      \
    }                                                                                                                  \
    static inline type atomicMax(type *p, type x)                                                                      \
    {                                                                                                                  \
        return emulated_swap(p, *p > x ? *p : x);                                                                      \
    }                                                                                                                  \
    static inline type atomicAnd(type *p, type x)                                                                      \
    {                                                                                                                  \
        return emulated_swap(p, (type)(*p & x));                                                                       \
    }                                                                                                                  \
    static inline type atomicOr(type *p, type x)                                                                       \
    {                                                                                                                  \
        return emulated_swap(p, (type)(*p | x));                                                                       \
    }                                                                                                                  \
    static inline type atomicCAS(type *p, type is, type x)                                                             \
    {                                                                                                                  \
        return emulated_swap(p, *p == is ? x : *p);                                                                    \
    }
EMULATED_ATOMICS(float)
EMULATED_ATOMICS(double)
EMULATED_INTEGER_ATOMICS(int)
EMULATED_INTEGER_ATOMICS(unsigned)
EMULATED_INTEGER_ATOMICS(unsigned long long)

#endif
