/* sums = sum of |a - b|, sum of |b|. */
#include "kernels/ref/ref.h"

#include <math.h>

enum { GRAIN_ROWS = 16 };

static void sum_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_difference_args *args = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *a = args->a + row * args->cols, *b = args->b + row * args->cols;
        double difference = 0, size = 0;
        for (int64_t c = 0; c < args->cols; c++) {
            difference += fabs((double)a[c] - (double)b[c]);
            size += fabs((double)b[c]);
        }
        args->of_rows[2 * row] = difference;
        args->of_rows[2 * row + 1] = size;
    }
}

void dit_ref_difference(dit_pool *pool, const dit_difference_args *args)
{
    dit_pool_run(pool, args->rows, GRAIN_ROWS, sum_rows, (void *)args);
    args->sums[0] = args->sums[1] = 0;
    for (int64_t row = 0; row < args->rows; row++) {
        args->sums[0] += args->of_rows[2 * row];
        args->sums[1] += args->of_rows[2 * row + 1];
    }
}

dit_work dit_difference_work(const dit_difference_args *args)
{
    return dit_elementwise_work(args->rows * args->cols, 2, 0, 3);
}
