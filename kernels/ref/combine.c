/* y = sum of a[i] x[i] */
#include "kernels/ref/ref.h"

void dit_ref_combine(dit_pool *pool, const dit_combine_args *args)
{
    (void)pool;
    for (int64_t i = 0; i < args->elements; i++) {
        double sum = 0;
        for (int j = 0; j < args->count; j++) sum += (double)args->a[j] * args->x[j][i];
        args->y[i] = (float)sum;
    }
}

/* Counts one product per input, and one sum fewer. */
dit_work dit_combine_work(const dit_combine_args *args)
{
    return dit_elementwise_work(args->elements, args->count, 1, 2.0 * args->count - 1);
}
