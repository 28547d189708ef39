/* RMS norm or LayerNorm per head and rotary embedding on interleaved pairs, in place. */
#ifndef DIT_KERNELS_CPU_QK_NORM_ROPE_H
#define DIT_KERNELS_CPU_QK_NORM_ROPE_H

#include "kernels/cpu/norm.h"

DIT_INLINE vf rope_load(const float *p, int64_t left)
{
    return left >= VF_LANES ? vf_load(p) : vf_load_n(p, left);
}

/* What to subtract and what to multiply with: RMS norm has a mean of zero. */
typedef struct {
    float mean, reciprocal;
} head_scale;

static float rms_reciprocal(const float *x, int64_t D, float eps)
{
    vf squares = vf_zero();
    for (int64_t d = 0; d < D; d += VF_LANES) {
        vf value = rope_load(x + d, D - d);
        squares = vf_fma(value, value, squares);
    }
    return 1.0f / sqrtf(vf_sum(squares) / (float)D + eps);
}

static head_scale head_scale_of(const dit_qk_norm_rope_args *a, const float *x)
{
    head_scale scale = {.reciprocal = 1.0f};
    if (!a->weight) return scale;
    if (a->kind == DIT_NORM_RMS) {
        scale.reciprocal = rms_reciprocal(x, a->D, a->eps);
        return scale;
    }
    scale.mean = norm_mean(x, a->D);
    scale.reciprocal = 1.0f / sqrtf(norm_variance(x, a->D, scale.mean) + a->eps);
    return scale;
}

/* cos and sin are the row's, or NULL. */
static void norm_rope_head(const dit_qk_norm_rope_args *a, float *x, const float *cos, const float *sin)
{
    head_scale scale = head_scale_of(a, x);
    vf mean = vf_set1(scale.mean), reciprocal = vf_set1(scale.reciprocal);
    for (int64_t d = 0; d < a->D; d += VF_LANES) {
        int64_t left = a->D - d;
        vf value = rope_load(x + d, left);
        if (a->weight) value = (value - mean) * reciprocal * rope_load(a->weight + d, left);
        if (a->bias) value = value + rope_load(a->bias + d, left);
        if (cos) value = vf_rotate_pairs(value, rope_load(cos + d, left), rope_load(sin + d, left));
        if (left >= VF_LANES)
            vf_store(x + d, value);
        else
            vf_store_n(x + d, value, left);
    }
}

static void norm_rope_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_qk_norm_rope_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *cos = a->cos ? a->cos + row * a->D : NULL, *sin = a->cos ? a->sin + row * a->D : NULL;
        for (int64_t h = 0; h < a->H; h++) norm_rope_head(a, a->x + row * a->ldx + h * a->D, cos, sin);
    }
}

static void cpu_qk_norm_rope(dit_pool *pool, const dit_qk_norm_rope_args *args)
{
    dit_pool_run(pool, args->rows, grain_of_rows(args->H * args->D), norm_rope_rows, (void *)args);
}

#endif
