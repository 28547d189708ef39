/* Normalises heads (RMS norm or LayerNorm) and applies rotary embedding to interleaved pairs, in place. */
#ifndef DIT_KERNELS_CPU_QK_NORM_ROPE_H
#define DIT_KERNELS_CPU_QK_NORM_ROPE_H

#include "kernels/cpu/norm.h"

static float rms_reciprocal(const float *x, int64_t D, float eps)
{
    vf squares = vf_zero();
    for (int64_t d = 0; d < D; d += VF_LANES) {
        vf value = vf_load_next(x + d, D - d);
        squares = vf_fma(value, value, squares);
    }
    return 1.0f / sqrtf(vf_sum(squares) / (float)D + eps);
}

static norm_terms head_terms_of(const dit_qk_norm_rope_args *a, const float *x)
{
    if (!a->weight) return (norm_terms){0};
    if (a->kind == DIT_NORM_LAYER) return norm_terms_of(a->kind, x, a->D, a->eps);
    return (norm_terms){.reciprocal = rms_reciprocal(x, a->D, a->eps)};
}

/* Computes elements from d on; `left` elements are left. */
DIT_INLINE void norm_rope_elements(const dit_qk_norm_rope_args *a, const norm_terms *terms, float *x, const float *cos,
                                   const float *sin, int64_t d, int64_t left)
{
    vf value = vf_load_next(x + d, left);
    if (a->weight) {
        value = vf_fma(value - vf_set1(terms->mean), vf_set1(terms->reciprocal), vf_set1(terms->offset));
        value = value * vf_load_next(a->weight + d, left);
    }
    if (a->bias) value = value + vf_load_next(a->bias + d, left);
    if (cos) value = vf_rotate_pairs(value, vf_load_next(cos + d, left), vf_load_next(sin + d, left));
    vf_store_next(x + d, value, left);
}

/* cos and sin are the row's, or NULL. */
static void norm_rope_head(const dit_qk_norm_rope_args *a, float *x, const float *cos, const float *sin)
{
    norm_terms terms = head_terms_of(a, x);
    int64_t d = 0;
    for (; d + VF_LANES <= a->D; d += VF_LANES) norm_rope_elements(a, &terms, x, cos, sin, d, VF_LANES);
    if (d < a->D) norm_rope_elements(a, &terms, x, cos, sin, d, a->D - d);
}

static void norm_rope_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_qk_norm_rope_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        dit_row at = dit_row_of(&a->entries, row, a->ldx, 0);
        int64_t angle = at.vector + at.row * a->D;
        const float *cos = a->cos ? a->cos + angle : NULL, *sin = a->cos ? a->sin + angle : NULL;
        for (int64_t h = 0; h < a->H; h++) norm_rope_head(a, a->x + at.x + h * a->D, cos, sin);
    }
}

static void cpu_qk_norm_rope(dit_pool *pool, const dit_qk_norm_rope_args *args)
{
    dit_pool_run(pool, args->rows, grain_of_rows(args->H * args->D), norm_rope_rows, (void *)args);
}

#endif
