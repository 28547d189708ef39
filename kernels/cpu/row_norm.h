/* The two halves of an RMS norm of rows that several ranks share: sums of squares in double, and the scaling. */
#ifndef DIT_KERNELS_CPU_ROW_NORM_H
#define DIT_KERNELS_CPU_ROW_NORM_H

#include "kernels/cpu/exact_sum.h"
#include "kernels/cpu/grain.h"
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"

static double row_norm_squares(const float *x, int64_t cols)
{
    double sum[EXACT_SUMS] = {0};
    int64_t c = 0;
    for (; c + EXACT_SUMS <= cols; c += EXACT_SUMS)
        for (int j = 0; j < EXACT_SUMS; j++) sum[j] += (double)x[c + j] * (double)x[c + j];
    for (int j = 0; c + j < cols; j++) sum[j] += (double)x[c + j] * (double)x[c + j];
    return exact_sum_of(sum);
}

static void row_norm_square_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_row_norm_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) a->squares[row] = row_norm_squares(dit_row_norm_row(a, row), a->cols);
}

/* Scales columns from c on; `left` columns are left. */
DIT_INLINE void row_norm_columns(const dit_row_norm_args *a, float *x, vf factor, int64_t c, int64_t left)
{
    vf value = vf_load_next(x + c, left) * factor;
    if (a->weight) value = value * vf_load_next(a->weight + c, left);
    vf_store_next(x + c, value, left);
}

static void row_norm_scale_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_row_norm_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        float *x = dit_row_norm_row(a, row);
        vf factor = vf_set1(dit_row_norm_factor(a, row));
        int64_t c = 0;
        for (; c + VF_LANES <= a->cols; c += VF_LANES) row_norm_columns(a, x, factor, c, VF_LANES);
        if (c < a->cols) row_norm_columns(a, x, factor, c, a->cols - c);
    }
}

static void cpu_row_squares(dit_pool *pool, const dit_row_norm_args *args)
{
    dit_pool_run(pool, args->batch * args->rows, grain_of_rows(args->cols), row_norm_square_rows, (void *)args);
}

static void cpu_row_scale(dit_pool *pool, const dit_row_norm_args *args)
{
    dit_pool_run(pool, args->batch * args->rows, grain_of_rows(args->cols), row_norm_scale_rows, (void *)args);
}

#endif
