/* LayerNorm or RMS norm with affine weights and modulation: two passes for mean and variance (no cancellation), of
 * which RMS norm needs only the second, about zero; one for y. The row stays in the L1 cache. */
#ifndef DIT_KERNELS_CPU_NORM_H
#define DIT_KERNELS_CPU_NORM_H

#include "kernels/cpu/grain.h"
#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

#include <math.h>

enum { NORM_CHAINS = 4 }; /* independent sums, to hide the latency of the addition */

static float norm_mean(const float *x, int64_t C)
{
    vf sum[NORM_CHAINS] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    int64_t c = 0;
    for (; c + NORM_CHAINS * VF_LANES <= C; c += NORM_CHAINS * VF_LANES)
        for (int j = 0; j < NORM_CHAINS; j++) sum[j] = sum[j] + vf_load(x + c + j * VF_LANES);
    for (; c < C; c += VF_LANES) sum[0] = sum[0] + vf_load_n(x + c, C - c);
    return vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) / (float)C;
}

static float norm_variance(const float *x, int64_t C, float mean)
{
    vf sum[NORM_CHAINS] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()}, m = vf_set1(mean);
    int64_t c = 0;
    for (; c + NORM_CHAINS * VF_LANES <= C; c += NORM_CHAINS * VF_LANES)
        for (int j = 0; j < NORM_CHAINS; j++) {
            vf difference = vf_load(x + c + j * VF_LANES) - m;
            sum[j] = vf_fma(difference, difference, sum[j]);
        }
    float tail = 0;
    for (; c + VF_LANES <= C; c += VF_LANES) {
        vf difference = vf_load(x + c) - m;
        sum[0] = vf_fma(difference, difference, sum[0]);
    }
    for (; c < C; c++) tail += (x[c] - mean) * (x[c] - mean);
    return (vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) + tail) / (float)C;
}

DIT_INLINE vf norm_load(const float *p, int64_t c, int64_t left)
{
    return left >= VF_LANES ? vf_load(p + c) : vf_load_n(p + c, left);
}

static void norm_row(const dit_norm_args *a, const float *x, float *y)
{
    float mean = a->kind == DIT_NORM_LAYER ? norm_mean(x, a->C) : 0.0f;
    vf m = vf_set1(mean), reciprocal = vf_set1(1.0f / sqrtf(norm_variance(x, a->C, mean) + a->eps));
    for (int64_t c = 0; c < a->C; c += VF_LANES) {
        int64_t left = a->C - c;
        vf value = (norm_load(x, c, left) - m) * reciprocal;
        if (a->weight) value = value * norm_load(a->weight, c, left);
        if (a->bias) value = value + norm_load(a->bias, c, left);
        if (a->scale) value = vf_fma(value, norm_load(a->scale, c, left), value);
        if (a->shift) value = value + norm_load(a->shift, c, left);
        if (left >= VF_LANES)
            vf_store(y + c, value);
        else
            vf_store_n(y + c, value, left);
    }
}

static void norm_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_norm_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) norm_row(a, a->x + row * a->ldx, a->y + row * a->ldy);
}

static void cpu_norm(dit_pool *pool, const dit_norm_args *args)
{
    dit_pool_run(pool, args->rows, grain_of_rows(args->C), norm_rows, (void *)args);
}

#endif
