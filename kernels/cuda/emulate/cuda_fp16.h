/* fp16 of the emulation: base/dtype.c rounds as accelerators do. */
#ifndef DIT_CUDA_EMULATE_FP16_H
#define DIT_CUDA_EMULATE_FP16_H

#include "base/dtype.h"
#include "intrinsics.h"
#include "vector.h"

struct __half {
    unsigned short x;
    __half() = default;
    __half(float f) : x(dit_fp16_from_float(f)) {}
    operator float() const { return dit_fp16_to_float(x); }
};
struct alignas(4) __half2 {
    __half x, y;
};
typedef __half half;
typedef __half2 half2;

static inline __half __float2half(float f)
{
    return __half(f);
}
static inline __half __float2half_rn(float f)
{
    return __half(f);
}
static inline float __half2float(__half h)
{
    return h;
}
static inline unsigned short __half_as_ushort(__half h)
{
    return h.x;
}
static inline __half __ushort_as_half(unsigned short bits)
{
    __half h;
    h.x = bits;
    return h;
}
static inline __half2 __halves2half2(__half a, __half b)
{
    return {a, b};
}
static inline __half2 __floats2half2_rn(float a, float b)
{
    return {a, b};
}
static inline __half2 __float22half2_rn(float2 f)
{
    return {f.x, f.y};
}
static inline __half2 __float2half2_rn(float f)
{
    return {f, f};
}
static inline float2 __half22float2(__half2 h)
{
    return {h.x, h.y};
}
static inline float __low2float(__half2 h)
{
    return h.x;
}
static inline float __high2float(__half2 h)
{
    return h.y;
}

#endif
