/* fp8 of the emulation: e4m3 and e5m2, to nearest even, saturating or not. */
#ifndef DIT_CUDA_EMULATE_FP8_H
#define DIT_CUDA_EMULATE_FP8_H

#include "intrinsics.h"

typedef unsigned char __nv_fp8_storage_t;
typedef enum { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

static inline float emulated_fp8_to_float(__nv_fp8_storage_t bits, __nv_fp8_interpretation_t kind)
{
    int mantissa_bits = kind == __NV_E4M3 ? 3 : 2, bias = kind == __NV_E4M3 ? 7 : 15;
    int mantissa = bits & ((1 << mantissa_bits) - 1), exponent = (bits & 0x7F) >> mantissa_bits;
    float sign = bits & 0x80 ? -1.0f : 1.0f;
    if (kind == __NV_E4M3 ? (bits & 0x7F) == 0x7F : exponent == 31 && mantissa) return NAN;
    if (kind == __NV_E5M2 && exponent == 31) return sign * INFINITY;
    if (!exponent) return sign * ldexpf((float)mantissa, 1 - bias - mantissa_bits);
    return sign * ldexpf((float)(mantissa | 1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/* Rounds to the nearer of two neighbouring codes; in the middle to the one with an even mantissa. */
static inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t kind)
{
    const int largest = kind == __NV_E4M3 ? 0x7E : 0x7B, beyond = kind == __NV_E4M3 ? 0x7F : 0x7C;
    int sign = signbit(x) ? 0x80 : 0, low = 0, high = largest;
    float magnitude = fabsf(x), half_step;
    if (isnan(x)) return (__nv_fp8_storage_t)(kind == __NV_E4M3 ? 0x7F : 0x7E);
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (emulated_fp8_to_float((__nv_fp8_storage_t)middle, kind) <= magnitude)
            low = middle;
        else
            high = middle - 1;
    }
    float below = emulated_fp8_to_float((__nv_fp8_storage_t)low, kind);
    half_step = (below - emulated_fp8_to_float((__nv_fp8_storage_t)(low ? low - 1 : 0), kind)) / 2;
    if (low == largest) {
        if (saturate == __NV_NOSAT && (isinf(x) || magnitude > below + half_step)) low = beyond;
    } else {
        half_step = (emulated_fp8_to_float((__nv_fp8_storage_t)(low + 1), kind) - below) / 2;
        if (magnitude - below > half_step || (magnitude - below == half_step && low % 2)) low++;
    }
    return (__nv_fp8_storage_t)(sign | low);
}

struct __nv_fp8_e4m3 {
    __nv_fp8_storage_t __x;
    __nv_fp8_e4m3() = default;
    explicit __nv_fp8_e4m3(float f) : __x(__nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3)) {}
    explicit operator float() const { return emulated_fp8_to_float(__x, __NV_E4M3); }
};
struct __nv_fp8_e5m2 {
    __nv_fp8_storage_t __x;
    __nv_fp8_e5m2() = default;
    explicit __nv_fp8_e5m2(float f) : __x(__nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2)) {}
    explicit operator float() const { return emulated_fp8_to_float(__x, __NV_E5M2); }
};

#endif
