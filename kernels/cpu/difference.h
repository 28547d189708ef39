/* sums = sum of |a - b|, sum of |b|, in double: rows by the pool, then their sums in order. */
#ifndef DIT_KERNELS_CPU_DIFFERENCE_H
#define DIT_KERNELS_CPU_DIFFERENCE_H

#include "kernels/cpu/exact_sum.h"
#include "kernels/cpu/grain.h"
#include "kernels/kernels.h"

#include <math.h>

static void difference_row(const float *a, const float *b, int64_t cols, double out[2])
{
    double difference[EXACT_SUMS] = {0}, size[EXACT_SUMS] = {0};
    int64_t c = 0;
    for (; c + EXACT_SUMS <= cols; c += EXACT_SUMS)
        for (int j = 0; j < EXACT_SUMS; j++) {
            difference[j] += fabs((double)a[c + j] - (double)b[c + j]);
            size[j] += fabs((double)b[c + j]);
        }
    for (int j = 0; c + j < cols; j++) {
        difference[j] += fabs((double)a[c + j] - (double)b[c + j]);
        size[j] += fabs((double)b[c + j]);
    }
    out[0] = exact_sum_of(difference);
    out[1] = exact_sum_of(size);
}

static void difference_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_difference_args *args = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++)
        difference_row(args->a + row * args->cols, args->b + row * args->cols, args->cols, args->of_rows + 2 * row);
}

static void cpu_difference(dit_pool *pool, const dit_difference_args *args)
{
    dit_pool_run(pool, args->rows, grain_of_rows(args->cols), difference_rows, (void *)args);
    args->sums[0] = args->sums[1] = 0;
    for (int64_t row = 0; row < args->rows; row++) {
        args->sums[0] += args->of_rows[2 * row];
        args->sums[1] += args->of_rows[2 * row + 1];
    }
}

#endif
