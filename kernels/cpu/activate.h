/* y = activation(x) */
#ifndef DIT_KERNELS_CPU_ACTIVATE_H
#define DIT_KERNELS_CPU_ACTIVATE_H

#include "kernels/cpu/grain.h"
#include "kernels/cpu/math.h"

DIT_INLINE void activate_as(const dit_activate_args *a, int64_t begin, int64_t end, dit_activation activation)
{
    int64_t i = begin;
    for (; i + VF_LANES <= end; i += VF_LANES) vf_store(a->y + i, vf_activation(vf_load(a->x + i), activation));
    if (i < end) vf_store_n(a->y + i, vf_activation(vf_load_n(a->x + i, end - i), activation), end - i);
}

static void activate_range(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_activate_args *a = context;
    (void)worker;
    switch (a->activation) {
    case DIT_ACT_GELU_TANH: activate_as(a, begin, end, DIT_ACT_GELU_TANH); break;
    case DIT_ACT_GELU_ERF: activate_as(a, begin, end, DIT_ACT_GELU_ERF); break;
    case DIT_ACT_SILU: activate_as(a, begin, end, DIT_ACT_SILU); break;
    case DIT_ACT_RELU: activate_as(a, begin, end, DIT_ACT_RELU); break;
    case DIT_ACT_TANH: activate_as(a, begin, end, DIT_ACT_TANH); break;
    default: activate_as(a, begin, end, DIT_ACT_NONE); break;
    }
}

static void cpu_activate(dit_pool *pool, const dit_activate_args *args)
{
    dit_pool_run(pool, args->elements, GRAIN_ELEMENTS, activate_range, (void *)args);
}

#endif
