/* Merges a block of keys into the running attention result. */
#ifndef DIT_KERNELS_CPU_ATTENTION_MERGE_H
#define DIT_KERNELS_CPU_ATTENTION_MERGE_H

#include "kernels/cpu/grain.h"
#include "kernels/cpu/math.h"

#include <math.h>

/* out = w out + w_block block. A side of weight 0 is not read: it may hold anything, even NaN. */
DIT_INLINE void merge_vectors(float *out, const float *block, int64_t D, float w, float w_block)
{
    vf a = vf_set1(w), b = vf_set1(w_block);
    for (int64_t d = 0; d < D; d += VF_LANES) {
        vf kept = w > 0 ? vf_load_n(out + d, D - d) : vf_zero();
        vf added = w_block > 0 ? vf_load_n(block + d, D - d) : vf_zero();
        vf_store_n(out + d, vf_fma(a, kept, b * added), D - d);
    }
}

static void merge_head(const dit_merge_args *a, int64_t b, int64_t s, int64_t h)
{
    float *lse = a->lse + (b * a->H + h) * a->S + s;
    float block_lse = a->block_lse[(b * a->H + h) * a->S + s];
    float max = *lse > block_lse ? *lse : block_lse;
    if (max == -INFINITY) return; /* neither side has seen a key */
    float w = expf(*lse - max), w_block = expf(block_lse - max), total = w + w_block;
    merge_vectors(a->out + b * a->batch_o + s * a->ldo + h * a->D, a->block_out + ((b * a->S + s) * a->H + h) * a->D,
                  a->D, w / total, w_block / total);
    *lse = max + logf(total);
}

static void merge_tokens(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_merge_args *a = context;
    (void)worker;
    for (int64_t token = begin; token < end; token++)
        for (int64_t h = 0; h < a->H; h++) merge_head(a, token / a->S, token % a->S, h);
}

static void cpu_attention_merge(dit_pool *pool, const dit_merge_args *args)
{
    dit_pool_run(pool, args->B * args->S, grain_of_rows(args->H * args->D), merge_tokens, (void *)args);
}

#endif
