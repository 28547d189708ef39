/* y += gate * (x + bias), row by row. */
#ifndef DIT_KERNELS_CPU_GATED_ADD_H
#define DIT_KERNELS_CPU_GATED_ADD_H

#include "kernels/cpu/grain.h"
#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

/* Adds columns from c on; `left` columns are left. */
DIT_INLINE void gated_add_columns(const dit_gated_add_args *a, const float *x, float *y, int64_t c, int64_t left)
{
    vf value = vf_load_next(x + c, left);
    if (a->bias) value = value + vf_load_next(a->bias + c, left);
    if (a->gate) value = vf_load_next(a->gate + c, left) * value;
    vf_store_next(y + c, vf_load_next(y + c, left) + value, left);
}

static void gated_add_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_gated_add_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->ldx;
        float *y = a->y + row * a->ldy;
        int64_t c = 0;
        for (; c + VF_LANES <= a->cols; c += VF_LANES) gated_add_columns(a, x, y, c, VF_LANES);
        if (c < a->cols) gated_add_columns(a, x, y, c, a->cols - c);
    }
}

static void cpu_gated_add(dit_pool *pool, const dit_gated_add_args *args)
{
    dit_pool_run(pool, args->rows, grain_of_rows(args->cols), gated_add_rows, (void *)args);
}

#endif
