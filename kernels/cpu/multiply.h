/* y = activation(x) * factor, row by row */
#ifndef DIT_KERNELS_CPU_MULTIPLY_H
#define DIT_KERNELS_CPU_MULTIPLY_H

#include "kernels/cpu/grain.h"
#include "kernels/cpu/math.h"

DIT_INLINE void multiply_row(const float *x, const float *factor, float *y, int64_t cols, dit_activation activation)
{
    int64_t i = 0;
    for (; i + VF_LANES <= cols; i += VF_LANES)
        vf_store(y + i, vf_activation(vf_load(x + i), activation) * vf_load(factor + i));
    if (i < cols)
        vf_store_n(y + i, vf_activation(vf_load_n(x + i, cols - i), activation) * vf_load_n(factor + i, cols - i),
                   cols - i);
}

DIT_INLINE void multiply_as(const dit_multiply_args *a, int64_t begin, int64_t end, dit_activation activation)
{
    for (int64_t row = begin; row < end; row++)
        multiply_row(a->x + row * a->ldx, a->factor + row * a->ld_factor, a->y + row * a->ldy, a->cols, activation);
}

static void multiply_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_multiply_args *a = context;
    (void)worker;
    switch (a->activation) {
    case DIT_ACT_GELU_TANH: multiply_as(a, begin, end, DIT_ACT_GELU_TANH); break;
    case DIT_ACT_GELU_ERF: multiply_as(a, begin, end, DIT_ACT_GELU_ERF); break;
    case DIT_ACT_SILU: multiply_as(a, begin, end, DIT_ACT_SILU); break;
    case DIT_ACT_RELU: multiply_as(a, begin, end, DIT_ACT_RELU); break;
    case DIT_ACT_TANH: multiply_as(a, begin, end, DIT_ACT_TANH); break;
    default: multiply_as(a, begin, end, DIT_ACT_NONE); break;
    }
}

static void cpu_multiply(dit_pool *pool, const dit_multiply_args *args)
{
    dit_pool_run(pool, args->rows, grain_of_rows(args->cols), multiply_rows, (void *)args);
}

#endif
