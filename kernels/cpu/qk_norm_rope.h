/* RMS norm per head and rotary embedding on interleaved pairs, in place. */
#ifndef DIT_KERNELS_CPU_QK_NORM_ROPE_H
#define DIT_KERNELS_CPU_QK_NORM_ROPE_H

#include "kernels/cpu/grain.h"
#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

#include <math.h>

DIT_INLINE vf rope_load(const float *p, int64_t left)
{
    return left >= VF_LANES ? vf_load(p) : vf_load_n(p, left);
}

static float rms_reciprocal(const float *x, int64_t D, float eps)
{
    vf squares = vf_zero();
    for (int64_t d = 0; d < D; d += VF_LANES) {
        vf value = rope_load(x + d, D - d);
        squares = vf_fma(value, value, squares);
    }
    return 1.0f / sqrtf(vf_sum(squares) / (float)D + eps);
}

/* cos and sin are the row's, or NULL. */
static void norm_rope_head(const dit_qk_norm_rope_args *a, float *x, const float *cos, const float *sin)
{
    vf reciprocal = vf_set1(a->weight ? rms_reciprocal(x, a->D, a->eps) : 1.0f);
    for (int64_t d = 0; d < a->D; d += VF_LANES) {
        int64_t left = a->D - d;
        vf value = rope_load(x + d, left);
        if (a->weight) value = value * reciprocal * rope_load(a->weight + d, left);
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
