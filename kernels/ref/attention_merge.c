/* Merges one block of keys into the running attention result; formulas in kernels/operators.h. */
#include "kernels/ref/ref.h"

#include <math.h>

static void merge_row(const dit_merge_args *a, int64_t b, int64_t h, int64_t s)
{
    float *lse = a->lse + (b * a->H + h) * a->S + s;
    float *out = a->out + b * a->batch_o + s * a->ldo + h * a->D;
    const float *block_out = a->block_out + ((b * a->S + s) * a->H + h) * a->D;
    double old = *lse, new = a->block_lse[(b * a->H + h) * a->S + s];
    double max = old > new ? old : new;
    if (max == -INFINITY) return; /* neither side has seen a key */
    double w = exp(old - max), w_block = exp(new - max);
    for (int64_t d = 0; d < a->D; d++) { /* an output of weight 0 may hold anything, even NaN */
        double kept = w > 0 ? w * out[d] : 0;
        double added = w_block > 0 ? w_block * block_out[d] : 0;
        out[d] = (float)((kept + added) / (w + w_block));
    }
    *lse = (float)(max + log(w + w_block));
}

void dit_ref_attention_merge(dit_pool *pool, const dit_merge_args *args)
{
    (void)pool;
    for (int64_t b = 0; b < args->B; b++)
        for (int64_t h = 0; h < args->H; h++)
            for (int64_t s = 0; s < args->S; s++) merge_row(args, b, h, s);
}

/* Counts two products and a sum per element; the weights, computed once per row, are not counted. */
dit_work dit_attention_merge_work(const dit_merge_args *args)
{
    return dit_elementwise_work(args->B * args->S * args->H * args->D, 2, 1, 3);
}
