/* Converts to and from e4m3, on host and device: one bit of sign, four of exponent (bias 7), three of mantissa. There
 * is no infinity, 0x7F is NaN, the largest value is 448. Source: FP8 Formats for Deep Learning (Micikevicius et al.),
 * arXiv:2209.05433, table 1.
 */
#ifndef DIT_KERNELS_CUDA_E4M3_H
#define DIT_KERNELS_CUDA_E4M3_H

#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define E4M3_LARGEST 448.0f
enum { E4M3_NAN = 0x7F, E4M3_LARGEST_CODE = 0x7E };

/* Rounds to nearest even; values beyond the largest become the largest. */
static __host__ __device__ inline uint8_t e4m3_from_float(float x)
{
    const float least_normal = 0.015625f, least = 0.001953125f; /* 2^-6, 2^-9 */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint8_t sign = (uint8_t)(bits >> 24 & 0x80u);
    float magnitude = fabsf(x);
    if (x != x) return (uint8_t)(sign | E4M3_NAN);
    if (magnitude >= E4M3_LARGEST) return (uint8_t)(sign | E4M3_LARGEST_CODE);
    if (magnitude < least_normal) return (uint8_t)(sign | (uint8_t)rintf(magnitude / least));
    uint32_t rounded = (bits & 0x7FFFFFFFu) + 0x7FFFFu + (bits >> 20 & 1u);
    return (uint8_t)(sign | ((rounded >> 20) - ((127 - 7) << 3)));
}

static __host__ __device__ inline float e4m3_to_float(uint8_t code)
{
    uint32_t magnitude = code & 0x7Fu, bits = (magnitude + ((127 - 7) << 3)) << 20;
    float x;
    if (magnitude == E4M3_NAN) bits = 0x7FC00000u;
    memcpy(&x, &bits, sizeof x);
    if (magnitude < 8) x = (float)magnitude * 0.001953125f;
    return code & 0x80 ? -x : x;
}

#endif
