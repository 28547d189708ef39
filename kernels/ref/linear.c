/* y = residual + gate * activation(x W^T + b). Packed weights are W as given, pieces stacked along n. */
#include "kernels/ref/ref.h"

#include <string.h>

dit_status dit_ref_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                               const float *const *bias, const int64_t *rows, dit_linear *out)
{
    float *packed, *packed_bias = NULL;
    int64_t n = 0;
    bool has_bias = bias && bias[0];
    (void)pool;
    for (int i = 0; i < pieces; i++) n += rows[i];
    DIT_TRY(dit_arena_activations(arena, n * k, &packed));
    if (has_bias) DIT_TRY(dit_arena_activations(arena, n, &packed_bias));
    *out = (dit_linear){.n = n, .k = k, .packed = packed, .bias = packed_bias};
    for (int i = 0; i < pieces; i++) {
        memcpy(packed, w[i], (size_t)(rows[i] * k) * sizeof(float));
        packed += rows[i] * k;
        if (!has_bias) continue;
        memcpy(packed_bias, bias[i], (size_t)rows[i] * sizeof(float));
        packed_bias += rows[i];
    }
    return DIT_OK;
}

static double dot(const float *a, const float *b, int64_t k)
{
    double sum = 0;
    for (int64_t i = 0; i < k; i++) sum += (double)a[i] * b[i];
    return sum;
}

static void linear_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_linear_args *a = context;
    const dit_linear *w = a->weights;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        for (int64_t j = 0; j < w->n; j++) {
            double y = dot(a->x + row * a->ldx, w->packed + j * w->k, w->k) + (w->bias ? w->bias[j] : 0.0);
            y = dit_ref_activation(y, a->activation);
            if (a->residual) y = a->residual[row * a->ldy + j] + (a->gate ? a->gate[j] : 1.0) * y;
            a->y[row * a->ldy + j] = (float)y;
        }
    }
}

void dit_ref_linear(dit_pool *pool, const dit_linear_args *args)
{
    dit_pool_run(pool, args->rows, 1, linear_rows, (void *)args);
}

/* Counts x, W and b read once, y written once. */
dit_work dit_product_work(int64_t rows, int64_t n, int64_t k)
{
    double r = (double)rows, c = (double)n, d = (double)k;
    return (dit_work){.flops = 2 * r * c * d, .bytes = sizeof(float) * (r * d + c * d + c + r * c)};
}

dit_work dit_linear_work(const dit_linear_args *args)
{
    return dit_product_work(args->rows, args->weights->n, args->weights->k);
}
