/* squares = sums of squares of rows; x = x / sqrt(sum of all ranks' squares / total_cols + eps) * weight, or as long as
 * `like` says. */
#include "kernels/ref/ref.h"

#include <math.h>

enum { GRAIN_ROWS = 16 };

float *dit_row_norm_row(const dit_row_norm_args *a, int64_t row)
{
    return a->x + row / a->rows * a->stride + row % a->rows * a->ld;
}

static void square_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_row_norm_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *x = dit_row_norm_row(a, row);
        double sum = 0;
        for (int64_t c = 0; c < a->cols; c++) sum += (double)x[c] * (double)x[c];
        a->squares[row] = sum;
    }
}

float dit_row_norm_factor(const dit_row_norm_args *a, int64_t row)
{
    double sum = a->squares[row];
    for (int64_t rank = 1; rank < a->ranks; rank++) sum += a->squares[rank * a->batch * a->rows + row];
    if (a->like) return sum > 0 ? (float)sqrt(a->like[row] / sum) : 0.0f;
    return (float)(1.0 / sqrt(sum / (double)a->total_cols + (double)a->eps));
}

static void scale_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_row_norm_args *a = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        float *x = dit_row_norm_row(a, row);
        float scale = dit_row_norm_factor(a, row);
        for (int64_t c = 0; c < a->cols; c++) x[c] = x[c] * scale * (a->weight ? a->weight[c] : 1.0f);
    }
}

void dit_ref_row_squares(dit_pool *pool, const dit_row_norm_args *args)
{
    dit_pool_run(pool, args->batch * args->rows, GRAIN_ROWS, square_rows, (void *)args);
}

void dit_ref_row_scale(dit_pool *pool, const dit_row_norm_args *args)
{
    dit_pool_run(pool, args->batch * args->rows, GRAIN_ROWS, scale_rows, (void *)args);
}

dit_work dit_row_squares_work(const dit_row_norm_args *args)
{
    return dit_elementwise_work(args->batch * args->rows * args->cols, 1, 0, 2);
}

dit_work dit_row_scale_work(const dit_row_norm_args *args)
{
    return dit_elementwise_work(args->batch * args->rows * args->cols, 1, 1, 2);
}
