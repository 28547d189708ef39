/* LayerNorm or RMS norm with optional affine weights and optional modulation. Ba et al., arXiv:1607.06450; Zhang and
 * Sennrich, arXiv:1910.07467; modulation: Peebles and Xie, arXiv:2212.09748, section 3.2 (adaLN). */
#include "kernels/ref/ref.h"

#include <math.h>

static void norm_row(const dit_norm_args *a, const float *x, float *y)
{
    double mean = 0, variance = 0; /* RMS norm: the mean stays 0 */
    for (int64_t c = 0; c < a->C && a->kind == DIT_NORM_LAYER; c++) mean += x[c] / (double)a->C;
    for (int64_t c = 0; c < a->C; c++) variance += (x[c] - mean) * (x[c] - mean);
    variance /= (double)a->C;
    double reciprocal = 1 / sqrt(variance + a->eps);
    for (int64_t c = 0; c < a->C; c++) {
        double value = (x[c] - mean) * reciprocal;
        if (a->weight) value *= a->weight[c];
        if (a->bias) value += a->bias[c];
        if (a->scale) value *= 1.0 + a->scale[c];
        if (a->shift) value += a->shift[c];
        y[c] = (float)value;
    }
}

void dit_ref_norm(dit_pool *pool, const dit_norm_args *args)
{
    (void)pool;
    for (int64_t row = 0; row < args->rows; row++) norm_row(args, args->x + row * args->ldx, args->y + row * args->ldy);
}

/* Counts mean, difference, square, sum and scale, and three more where there is a weight, bias or modulation. */
dit_work dit_norm_work(const dit_norm_args *args)
{
    return dit_elementwise_work(args->rows * args->C, 1, 1, 8);
}
