/* y += gate * (x + bias), row by row. In float, as the cpu backend does. */
#include "kernels/ref/ref.h"

enum { GRAIN_ROWS = 16 };

static void add_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_gated_add_args *a = context;
    const float *bias = a->bias, *gate = a->gate;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->ldx;
        float *y = a->y + row * a->ldy;
        for (int64_t c = 0; c < a->cols; c++) {
            float value = bias ? x[c] + bias[c] : x[c];
            y[c] += gate ? gate[c] * value : value;
        }
    }
}

void dit_ref_gated_add(dit_pool *pool, const dit_gated_add_args *args)
{
    dit_pool_run(pool, args->rows, GRAIN_ROWS, add_rows, (void *)args);
}

/* Counts the sum, and bias and gate where they are given. */
dit_work dit_gated_add_work(const dit_gated_add_args *args)
{
    return dit_elementwise_work(args->rows * args->cols, 2, 1, 1 + !!args->bias + !!args->gate);
}
