/* Copies rows between strides. The pool divides one range that combines the three outer indices. */
#ifndef DIT_KERNELS_CPU_COPY_H
#define DIT_KERNELS_CPU_COPY_H

#include "kernels/cpu/grain.h"
#include "kernels/kernels.h"

#include <string.h>

static void copy_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_copy_args *a = context;
    (void)worker;
    int64_t i0 = begin / (a->n1 * a->n2), i1 = begin / a->n2 % a->n1, i2 = begin % a->n2;
    for (int64_t i = begin; i < end; i++) {
        memcpy(a->dst + i0 * a->dst_stride[0] + i1 * a->dst_stride[1] + i2 * a->dst_stride[2],
               a->src + i0 * a->src_stride[0] + i1 * a->src_stride[1] + i2 * a->src_stride[2],
               (size_t)a->inner * sizeof(float));
        if (++i2 < a->n2) continue;
        i2 = 0;
        if (++i1 < a->n1) continue;
        i1 = 0;
        i0++;
    }
}

static void cpu_copy(dit_pool *pool, const dit_copy_args *args)
{
    dit_pool_run(pool, args->n0 * args->n1 * args->n2, grain_of_rows(args->inner), copy_rows, (void *)args);
}

#endif
