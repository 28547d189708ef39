/* LayerNorm or RMS norm with affine weights and modulation. A first pass takes the mean, a second the variance (no
 * cancellation), a third writes y; RMS norm takes its variance about zero and skips the first pass. The second pass
 * also sums the deviations, which corrects for a rounded mean (Chan, Golub and LeVeque, 1983: the corrected two-pass
 * algorithm): the error is large where the mean is large beside the deviations. The row stays in the L1 cache. */
#ifndef DIT_KERNELS_CPU_NORM_H
#define DIT_KERNELS_CPU_NORM_H

#include "kernels/cpu/grain.h"
#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

#include <math.h>

enum { NORM_CHAINS = 4 }; /* independent sums, to hide the latency of the addition */

static float norm_sum(const float *x, int64_t C)
{
    vf sum[NORM_CHAINS] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    int64_t c = 0;
    for (; c + NORM_CHAINS * VF_LANES <= C; c += NORM_CHAINS * VF_LANES)
        for (int j = 0; j < NORM_CHAINS; j++) sum[j] = sum[j] + vf_load(x + c + j * VF_LANES);
    for (; c < C; c += VF_LANES) sum[0] = sum[0] + vf_load_n(x + c, C - c);
    return vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Sums of the deviations from a mean, and of their squares. */
typedef struct {
    float sum, squares;
} norm_deviations;

static norm_deviations norm_deviations_from(const float *x, int64_t C, float mean)
{
    vf sum[NORM_CHAINS] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()}, m = vf_set1(mean);
    vf squares[NORM_CHAINS] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    float means[VF_LANES];
    int64_t c = 0;
    for (; c + NORM_CHAINS * VF_LANES <= C; c += NORM_CHAINS * VF_LANES)
        for (int j = 0; j < NORM_CHAINS; j++) {
            vf deviation = vf_load(x + c + j * VF_LANES) - m;
            sum[j] = sum[j] + deviation;
            squares[j] = vf_fma(deviation, deviation, squares[j]);
        }
    vf_store(means, m);
    for (; c < C; c += VF_LANES) { /* lanes beyond the row are zero on both sides */
        vf deviation = vf_load_next(x + c, C - c) - vf_load_next(means, C - c);
        sum[0] = sum[0] + deviation;
        squares[0] = vf_fma(deviation, deviation, squares[0]);
    }
    return (norm_deviations){.sum = vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3])),
                             .squares = vf_sum((squares[0] + squares[1]) + (squares[2] + squares[3]))};
}

/* norm = (x - mean) * reciprocal + offset. RMS norm has neither mean nor offset. */
typedef struct {
    float mean, reciprocal, offset;
} norm_terms;

static norm_terms norm_terms_of(dit_norm_kind kind, const float *x, int64_t C, float eps)
{
    bool centred = kind == DIT_NORM_LAYER;
    float share = 1.0f / (float)C;
    norm_terms terms = {.mean = centred ? norm_sum(x, C) * share : 0.0f};
    norm_deviations from = norm_deviations_from(x, C, terms.mean);
    float left = centred ? from.sum * share : 0.0f, variance = from.squares / (float)C - left * left;
    if (variance < 0) variance = 0; /* a row of one value; NaN stays */
    terms.reciprocal = 1.0f / sqrtf(variance + eps);
    terms.offset = -left * terms.reciprocal;
    return terms;
}

/* Writes columns from c on; `left` columns are left. The entry's scale and shift begin `vector` floats behind the first
 * entry's. */
DIT_INLINE void norm_columns(const dit_norm_args *a, const norm_terms *terms, const float *x, int64_t vector, int64_t c,
                             int64_t left, float *y)
{
    vf value = vf_load_next(x + c, left) - vf_set1(terms->mean);
    value = vf_fma(value, vf_set1(terms->reciprocal), vf_set1(terms->offset));
    if (a->weight) value = value * vf_load_next(a->weight + c, left);
    if (a->bias) value = value + vf_load_next(a->bias + c, left);
    if (a->scale) value = vf_fma(value, vf_load_next(a->scale + vector + c, left), value);
    if (a->shift) value = value + vf_load_next(a->shift + vector + c, left);
    vf_store_next(y + c, value, left);
}

static void norm_row(const dit_norm_args *a, const float *x, int64_t vector, float *y)
{
    norm_terms terms = norm_terms_of(a->kind, x, a->C, a->eps);
    int64_t c = 0;
    for (; c + VF_LANES <= a->C; c += VF_LANES) norm_columns(a, &terms, x, vector, c, VF_LANES, y);
    if (c < a->C) norm_columns(a, &terms, x, vector, c, a->C - c, y);
}

static void norm_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_norm_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        dit_row at = dit_row_of(&a->entries, row, a->ldx, a->ldy);
        norm_row(a, a->x + at.x, at.vector, a->y + at.y);
    }
}

static void cpu_norm(dit_pool *pool, const dit_norm_args *args)
{
    dit_pool_run(pool, args->rows, grain_of_rows(args->C), norm_rows, (void *)args);
}

#endif
