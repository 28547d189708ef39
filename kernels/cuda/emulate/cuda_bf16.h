/* bf16 of the emulation: base/dtype.c rounds as accelerators do. */
#ifndef DIT_CUDA_EMULATE_BF16_H
#define DIT_CUDA_EMULATE_BF16_H

#include "base/dtype.h"
#include "intrinsics.h"
#include "vector.h"

struct __nv_bfloat16 {
    unsigned short x;
    __nv_bfloat16() = default;
    __nv_bfloat16(float f) : x(dit_bf16_from_float(f)) {}
    operator float() const { return __uint_as_float((unsigned)x << 16); }
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
struct __nv_bfloat16_raw {
    unsigned short x;
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

static inline __nv_bfloat16 __float2bfloat16(float f)
{
    return __nv_bfloat16(f);
}
static inline __nv_bfloat16 __float2bfloat16_rn(float f)
{
    return __nv_bfloat16(f);
}
static inline float __bfloat162float(__nv_bfloat16 b)
{
    return b;
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 b)
{
    return b.x;
}
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 b;
    b.x = bits;
    return b;
}
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return {a, b};
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b)
{
    return {a, b};
}
static inline __nv_bfloat162 __float22bfloat162_rn(float2 f)
{
    return {f.x, f.y};
}
static inline __nv_bfloat162 __float2bfloat162_rn(float f)
{
    return {f, f};
}
static inline float2 __bfloat1622float2(__nv_bfloat162 b)
{
    return {b.x, b.y};
}
static inline float __low2float(__nv_bfloat162 b)
{
    return b.x;
}
static inline float __high2float(__nv_bfloat162 b)
{
    return b.y;
}

#endif
