/* RMS norm or LayerNorm per head, then rotary embedding on interleaved pairs, in place. Zhang and Sennrich,
 * arXiv:1910.07467; Su et al., arXiv:2104.09864, equation 34. */
#include "kernels/ref/ref.h"

#include <math.h>

static void normalise(const dit_qk_norm_rope_args *a, float *x)
{
    double mean = 0, squares = 0;
    for (int64_t d = 0; d < a->D && a->kind == DIT_NORM_LAYER; d++) mean += x[d] / (double)a->D;
    for (int64_t d = 0; d < a->D; d++) squares += (x[d] - mean) * (x[d] - mean);
    double reciprocal = 1 / sqrt(squares / (double)a->D + a->eps);
    for (int64_t d = 0; d < a->D; d++)
        x[d] = (float)((x[d] - mean) * reciprocal * a->weight[d] + (a->bias ? a->bias[d] : 0.0));
}

static void rotate(float *x, int64_t D, const float *cos, const float *sin)
{
    for (int64_t d = 0; d + 1 < D; d += 2) {
        double x0 = x[d], x1 = x[d + 1];
        x[d] = (float)(x0 * cos[d] - x1 * sin[d]);
        x[d + 1] = (float)(x1 * cos[d + 1] + x0 * sin[d + 1]);
    }
}

void dit_ref_qk_norm_rope(dit_pool *pool, const dit_qk_norm_rope_args *args)
{
    (void)pool;
    for (int64_t row = 0; row < args->rows; row++) {
        for (int64_t h = 0; h < args->H; h++) {
            float *x = args->x + row * args->ldx + h * args->D;
            if (args->weight) normalise(args, x);
            if (args->cos) rotate(x, args->D, args->cos + row * args->D, args->sin + row * args->D);
        }
    }
}

/* Counts square, sum, scale and weight; the rotation's two products and sum. */
dit_work dit_qk_norm_rope_work(const dit_qk_norm_rope_args *args)
{
    return dit_elementwise_work(args->rows * args->H * args->D, 1, 1, 7);
}
