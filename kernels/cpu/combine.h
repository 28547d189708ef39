/* y = sum of a[i] x[i]; y may equal any x, vector by vector. */
#ifndef DIT_KERNELS_CPU_COMBINE_H
#define DIT_KERNELS_CPU_COMBINE_H

#include "kernels/cpu/grain.h"
#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

DIT_INLINE vf combine_vector(const dit_combine_args *a, int64_t i, int64_t left)
{
    vf sum = vf_set1(a->a[0]) * vf_load_n(a->x[0] + i, left);
    for (int j = 1; j < a->count; j++) sum = vf_fma(vf_set1(a->a[j]), vf_load_n(a->x[j] + i, left), sum);
    return sum;
}

static void combine_range(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_combine_args *a = context;
    int64_t i = begin;
    (void)worker;
    for (; i + VF_LANES <= end; i += VF_LANES) vf_store(a->y + i, combine_vector(a, i, VF_LANES));
    if (i < end) vf_store_n(a->y + i, combine_vector(a, i, end - i), end - i);
}

static void cpu_combine(dit_pool *pool, const dit_combine_args *args)
{
    dit_pool_run(pool, args->elements, GRAIN_ELEMENTS, combine_range, (void *)args);
}

#endif
