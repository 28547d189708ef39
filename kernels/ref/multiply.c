/* y = activation(x) * factor. */
#include "kernels/ref/ref.h"

void dit_ref_multiply(dit_pool *pool, const dit_multiply_args *args)
{
    (void)pool;
    for (int64_t row = 0; row < args->rows; row++) {
        const float *x = args->x + row * args->ldx, *factor = args->factor + row * args->ld_factor;
        float *y = args->y + row * args->ldy;
        for (int64_t c = 0; c < args->cols; c++) y[c] = (float)(dit_ref_activation(x[c], args->activation) * factor[c]);
    }
}

/* Counts the activation as activate does, and the product. */
dit_work dit_multiply_work(const dit_multiply_args *args)
{
    return dit_elementwise_work(args->rows * args->cols, 2, 1, 9);
}
