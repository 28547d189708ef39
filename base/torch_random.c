#include "base/torch_random.h"

#include <math.h>
#include <string.h>

enum { SHIFT = 397, BLOCK = 16, HALF = 8 };

/* Inlined into every caller, so that the caller's loop is compiled for its own instruction set. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* ---- mt19937 ----------------------------------------------------------------------------------------------------- */

void dit_torch_seed(dit_torch_generator *g, uint64_t seed)
{
    g->word[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < DIT_TORCH_WORDS; i++)
        g->word[i] = 1812433253u * (g->word[i - 1] ^ (g->word[i - 1] >> 30)) + i;
    g->next = DIT_TORCH_WORDS;
    g->has_kept = false;
}

static void renew(dit_torch_generator *g)
{
    uint32_t *w = g->word;
    for (int i = 0; i < DIT_TORCH_WORDS; i++) {
        uint32_t mixed = (w[i] & 0x80000000u) | (w[(i + 1) % DIT_TORCH_WORDS] & 0x7fffffffu);
        w[i] = w[(i + SHIFT) % DIT_TORCH_WORDS] ^ (mixed >> 1) ^ (mixed & 1 ? 0x9908b0dfu : 0u);
    }
    g->next = 0;
}

static uint32_t draw_32(dit_torch_generator *g)
{
    if (g->next == DIT_TORCH_WORDS) renew(g);
    uint32_t x = g->word[g->next++];
    x ^= x >> 11;
    x ^= x << 7 & 0x9d2c5680u;
    x ^= x << 15 & 0xefc60000u;
    return x ^ x >> 18;
}

static double uniform_double(dit_torch_generator *g)
{
    uint64_t high = draw_32(g), low = draw_32(g);
    return (double)((high << 32 | low) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

static float uniform_float(dit_torch_generator *g)
{
    return (float)(draw_32(g) & ((1u << 24) - 1)) * 0x1p-24f;
}

/* ---- one by one -------------------------------------------------------------------------------------------------- */

static double normal_double(dit_torch_generator *g)
{
    if (g->has_kept) {
        g->has_kept = false;
        return g->kept;
    }
    double u1 = uniform_double(g), u2 = uniform_double(g);
    double radius = sqrt(-2.0 * log1p(-u2)), angle = 2.0 * M_PI * u1;
    g->kept = radius * sin(angle);
    g->has_kept = true;
    return radius * cos(angle);
}

/* ---- blocks of 16 ------------------------------------------------------------------------------------------------ */

ALWAYS_INLINE uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ALWAYS_INLINE float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* y = p[0] x^(n-1) + ... + p[n-1], by Horner with fused steps. */
ALWAYS_INLINE float polynomial(const float *p, int count, float x)
{
    float y = p[0];
#pragma GCC unroll 8
    for (int i = 1; i < count; i++) y = __builtin_fmaf(y, x, p[i]);
    return y;
}

/* The natural logarithm of x in (0, 1]. */
ALWAYS_INLINE float cephes_log(float x)
{
    static const float p[9] = {7.0376836292E-2f,  -1.1514610310E-1f, 1.1676998740E-1f,
                               -1.2420140846E-1f, 1.4249322787E-1f,  -1.6668057665E-1f,
                               2.0000714765E-1f,  -2.4999993993E-1f, 3.3333331174E-1f};
    uint32_t bits = bits_of(x);
    float e = (float)((int32_t)(bits >> 23) - 127) + 1.0f;
    float half = float_of((bits & 0x807fffffu) | 0x3f000000u); /* the fraction, in [0.5, 1) */
    bool small = half < 0.707106781186547524f;
    float m = half - 1.0f;
    e = small ? e - 1.0f : e;
    m = small ? m + half : m;
    float square = m * m, tail = -2.12194440e-4f * e;
    float y = __builtin_fmaf(polynomial(p, 9, m) * m, square, tail) - square * 0.5f;
    return __builtin_fmaf(e, 0.693359375f, m + y);
}

/* Sine and cosine of x in [0, 2 pi). */
ALWAYS_INLINE void cephes_sincos(float x, float *sine, float *cosine)
{
    static const float c[3] = {2.443315711809948E-005f, -1.388731625493765E-003f, 4.166664568298827E-002f};
    static const float s[3] = {-1.9515295891E-4f, 8.3321608736E-3f, -1.6666654611E-1f};
    uint32_t octant = ((uint32_t)(int32_t)(x * 1.27323954473516f) + 1u) & ~1u;
    float y = (float)(int32_t)octant;
    x = __builtin_fmaf(y, -0.78515625f, x); /* minus pi / 4 in three parts */
    x = __builtin_fmaf(y, -2.4187564849853515625e-4f, x);
    x = __builtin_fmaf(y, -3.77489497744594108e-8f, x);
    float z = x * x;
    float even = __builtin_fmaf(polynomial(c, 3, z) * z, z, z * -0.5f) + 1.0f;
    float odd = __builtin_fmaf(polynomial(s, 3, z) * z, x, x);
    bool straight = (octant & 2u) == 0;
    float sin_size = straight ? odd : even, cos_size = straight ? even : odd;
    *sine = float_of(bits_of(sin_size) ^ (octant & 4u) << 29);
    *cosine = float_of(bits_of(cos_size) ^ (~(octant - 2u) & 4u) << 29);
}

/* Turns 16 uniforms into normals. Adding zero makes -0 what PyTorch's last step, times deviation plus mean, makes it. */
ALWAYS_INLINE void transform(float block[BLOCK])
{
    for (int i = 0; i < HALF; i++) {
        float sine, cosine, radius = sqrtf(-2.0f * cephes_log(1.0f - block[i]));
        cephes_sincos((float)(2.0 * M_PI) * block[i + HALF], &sine, &cosine);
        block[i] = radius * cosine + 0.0f;
        block[i + HALF] = radius * sine + 0.0f;
    }
}

static void transform_plain(float *values, int64_t blocks)
{
    for (int64_t i = 0; i < blocks; i++) transform(values + i * BLOCK);
}
#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void transform_fma(float *values, int64_t blocks)
{
    for (int64_t i = 0; i < blocks; i++) transform(values + i * BLOCK);
}
#endif

static void transform_blocks(float *values, int64_t blocks)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        transform_fma(values, blocks);
        return;
    }
#endif
    transform_plain(values, blocks);
}

void dit_torch_randn(dit_torch_generator *g, int64_t count, float *out)
{
    if (count < BLOCK) {
        for (int64_t i = 0; i < count; i++) out[i] = (float)normal_double(g);
        return;
    }
    for (int64_t i = 0; i < count; i++) out[i] = uniform_float(g);
    transform_blocks(out, count / BLOCK);
    if (count % BLOCK == 0) return;
    float *last = out + count - BLOCK;
    for (int i = 0; i < BLOCK; i++) last[i] = uniform_float(g);
    transform_blocks(last, 1);
}
