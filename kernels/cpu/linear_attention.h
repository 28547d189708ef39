/* Linear attention with ReLU. A state is made head by head, GROUP rows of it at a time in registers, and added up over blocks
 * of keys, so that a sum over many keys keeps its bits. A row of the result is made of its queries and the state alone. */
#ifndef DIT_KERNELS_CPU_LINEAR_ATTENTION_H
#define DIT_KERNELS_CPU_LINEAR_ATTENTION_H

#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

enum { LINEAR_GROUP = 8, LINEAR_KEYS = 256 };

/* A NaN stays one. */
DIT_INLINE float linear_relu(float x)
{
    return x < 0 ? 0 : x;
}

/* Adds relu(k[s, 0..count)) v[s, 0..left) of a block of keys to rows of M, which lie D apart. */
DIT_INLINE void linear_state_tile(const float *k, int64_t ldk, const float *v, int64_t ldv, int64_t keys, int count,
                                  int64_t left, float *M, int64_t D)
{
    vf sum[LINEAR_GROUP];
    for (int j = 0; j < count; j++) sum[j] = vf_zero();
    for (int64_t s = 0; s < keys; s++) {
        vf value = vf_load_next(v + s * ldv, left);
        for (int j = 0; j < count; j++) sum[j] = vf_fma(vf_set1(linear_relu(k[s * ldk + j])), value, sum[j]);
    }
    for (int j = 0; j < count; j++) vf_store_next(M + j * D, vf_load_next(M + j * D, left) + sum[j], left);
}

static void linear_state_rows(const float *k, int64_t ldk, const float *v, int64_t ldv, int64_t keys, int64_t first,
                              int64_t D, float *M)
{
    int64_t i = 0, count = D - first;
    for (; i + VF_LANES <= D && count >= LINEAR_GROUP; i += VF_LANES)
        linear_state_tile(k, ldk, v + i, ldv, keys, LINEAR_GROUP, VF_LANES, M + i, D);
    for (; i < D; i += VF_LANES)
        linear_state_tile(k, ldk, v + i, ldv, keys, (int)(count < LINEAR_GROUP ? count : LINEAR_GROUP), D - i, M + i,
                          D);
}

/* Adds relu(k) of a block of keys to z. */
static void linear_state_sums(const float *k, int64_t ldk, int64_t keys, int64_t D, float *z)
{
    for (int64_t j = 0; j < D; j += VF_LANES) {
        vf sum = vf_zero();
        for (int64_t s = 0; s < keys; s++) sum = sum + vf_max(vf_zero(), vf_load_next(k + s * ldk + j, D - j));
        vf_store_next(z + j, vf_load_next(z + j, D - j) + sum, D - j);
    }
}

static void linear_state_heads(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_linear_attention_args *a = context;
    int64_t D = a->D;
    (void)worker;
    for (int64_t head = begin; head < end; head++) {
        const float *k = a->k + head / a->H * a->batch_k + head % a->H * D;
        const float *v = a->v + head / a->H * a->batch_v + head % a->H * D;
        float *state = a->state + head * D * (D + 1);
        memset(state, 0, (size_t)(D * (D + 1)) * sizeof *state);
        for (int64_t s = 0; s < a->S; s += LINEAR_KEYS) {
            int64_t keys = a->S - s < LINEAR_KEYS ? a->S - s : LINEAR_KEYS;
            for (int64_t j = 0; j < D; j += LINEAR_GROUP)
                linear_state_rows(k + s * a->ldk + j, a->ldk, v + s * a->ldv, a->ldv, keys, j, D, state + j * D);
            linear_state_sums(k + s * a->ldk, a->ldk, keys, D, state + D * D);
        }
    }
}

static void cpu_linear_state(dit_pool *pool, const dit_linear_attention_args *args)
{
    dit_pool_run(pool, args->B * args->H, 1, linear_state_heads, (void *)args);
}

/* One row of one head; `left` columns of it from `i` on. */
DIT_INLINE void linear_attention_columns(const float *q, const float *state, int64_t D, float factor, int64_t i,
                                         int64_t left, float *out)
{
    vf sum = vf_zero();
    for (int64_t j = 0; j < D; j++)
        sum = vf_fma(vf_set1(linear_relu(q[j])), vf_load_next(state + j * D + i, left), sum);
    vf_store_next(out + i, sum * vf_set1(factor), left);
}

static void linear_attention_row(const dit_linear_attention_args *a, const float *q, const float *state, float *out)
{
    int64_t D = a->D, i = 0;
    vf all = vf_zero();
    for (int64_t j = 0; j < D; j += VF_LANES)
        all = vf_fma(vf_max(vf_zero(), vf_load_next(q + j, D - j)), vf_load_next(state + D * D + j, D - j), all);
    float factor = 1.0f / (vf_sum(all) + a->eps);
    for (; i + VF_LANES <= D; i += VF_LANES) linear_attention_columns(q, state, D, factor, i, VF_LANES, out);
    if (i < D) linear_attention_columns(q, state, D, factor, i, D - i, out);
}

static void linear_attention_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_linear_attention_args *a = context;
    int64_t D = a->D, blocks = (a->S + LINEAR_KEYS - 1) / LINEAR_KEYS;
    (void)worker;
    for (int64_t index = begin; index < end; index++) {
        int64_t head = index / blocks, first = index % blocks * LINEAR_KEYS, b = head / a->H, h = head % a->H;
        int64_t last = first + LINEAR_KEYS < a->S ? first + LINEAR_KEYS : a->S;
        for (int64_t s = first; s < last; s++)
            linear_attention_row(a, a->q + b * a->batch_q + s * a->ldq + h * D, a->state + head * D * (D + 1),
                                 a->out + b * a->batch_o + s * a->ldo + h * D);
    }
}

static void cpu_linear_attention(dit_pool *pool, const dit_linear_attention_args *args)
{
    int64_t blocks = (args->S + LINEAR_KEYS - 1) / LINEAR_KEYS;
    dit_pool_run(pool, args->B * args->H * blocks, 1, linear_attention_rows, (void *)args);
}

#endif
