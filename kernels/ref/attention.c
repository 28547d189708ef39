/* out = softmax(capped(scale q k^T) + bias + relative) v per head over the keys that a query sees, and the log-sum-exp of the logits.
 * Vaswani et al., arXiv:1706.03762, equation 1. Two passes over the keys; the logits are computed twice so that
 * nothing is stored. */
#include "kernels/ref/ref.h"

#include <math.h>

static int64_t key_head(const dit_attention_args *a, int64_t h)
{
    return (a->kv_first + h) / (a->kv_group ? a->kv_group : 1);
}

static double logit(const dit_attention_args *a, int64_t b, int64_t h, int64_t row, int64_t key)
{
    const float *q = a->q + b * a->batch_q + row * a->ldq + h * a->D;
    const float *k = a->k + b * a->batch_k + key * a->ldk + key_head(a, h) * a->D;
    double sum = 0;
    if (a->mask && !dit_mask_sees(a->mask, a->q_position[row], a->k_position[key])) return -INFINITY;
    for (int64_t d = 0; d < a->D; d++) sum += (double)q[d] * k[d];
    sum *= a->scale;
    if (a->cap > 0) sum = a->cap * tanh(sum / a->cap); /* Gemma 2, arXiv:2408.00118, section 2.1 */
    sum += a->bias ? a->bias[b * a->Sk + key] : 0.0;
    return sum + (a->relative ? a->relative[h * a->ld_relative + row - key + a->Sk - 1] : 0.0);
}

static double log_sum_exp(const dit_attention_args *a, int64_t b, int64_t h, int64_t row, int64_t keys)
{
    double max = -INFINITY, sum = 0;
    for (int64_t key = 0; key < keys; key++) { /* online: rescale when the maximum grows */
        double s = logit(a, b, h, row, key);
        if (s == -INFINITY) continue;
        if (s > max) {
            sum = sum * exp(max - s) + 1;
            max = s;
        } else {
            sum += exp(s - max);
        }
    }
    return max + log(sum);
}

static void attend_row(const dit_attention_args *a, int64_t b, int64_t h, int64_t row)
{
    enum { CHUNK = 64 };
    float *out = a->out + b * a->batch_o + row * a->ldo + h * a->D;
    int64_t keys = dit_attention_seen(a, row);
    double lse = log_sum_exp(a, b, h, row, keys);
    if (a->lse) a->lse[(b * a->H + h) * a->Sq + row] = (float)lse;
    for (int64_t d0 = 0; d0 < a->D; d0 += CHUNK) { /* in chunks of channels: the sums in double need no allocation */
        double sum[CHUNK] = {0};
        int64_t width = a->D - d0 < CHUNK ? a->D - d0 : CHUNK;
        for (int64_t key = 0; key < keys; key++) {
            const float *v = a->v + b * a->batch_v + key * a->ldv + key_head(a, h) * a->D + d0;
            double s = logit(a, b, h, row, key), p = s == -INFINITY ? 0 : exp(s - lse);
            for (int64_t d = 0; d < width; d++) sum[d] += p * v[d];
        }
        for (int64_t d = 0; d < width; d++) out[d0 + d] = (float)sum[d];
    }
}

static void attend_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_attention_args *a = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) attend_row(a, i / (a->H * a->Sq), i / a->Sq % a->H, i % a->Sq);
}

void dit_ref_attention(dit_pool *pool, const dit_attention_args *args)
{
    dit_pool_run(pool, args->B * args->H * args->Sq, 1, attend_rows, (void *)args);
}

int64_t dit_attention_keys_before(const dit_attention_args *args, int64_t position)
{
    int64_t low = 0, high = args->Sk;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (args->k_position[middle] < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t dit_attention_seen(const dit_attention_args *args, int64_t query)
{
    if (!args->q_position || args->mask) return args->Sk;
    return dit_attention_keys_before(args, (int64_t)args->q_position[query] + 1);
}

static double masked_pairs(const dit_attention_args *args)
{
    double pairs = 0;
    for (int i = 0; i < args->mask->count; i++)
        for (int64_t query = 0; query < args->Sq; query++) {
            int64_t first, end;
            dit_mask_slice_keys(&args->mask->slice[i], args->q_position[query], &first, &end);
            if (end > first)
                pairs += (double)(dit_attention_keys_before(args, end) - dit_attention_keys_before(args, first));
        }
    return pairs;
}

double dit_attention_pairs(const dit_attention_args *args)
{
    double pairs = 0;
    if (!args->q_position) return (double)args->Sq * (double)args->Sk;
    if (args->mask) return masked_pairs(args);
    for (int64_t query = 0, key = 0; query < args->Sq; query++) {
        while (key < args->Sk && args->k_position[key] <= args->q_position[query]) key++;
        pairs += (double)key;
    }
    return pairs;
}

/* Counts two products of 2 D flops for each pair of query and key, as the field does, and no softmax. Each operand
 * moves once. */
dit_work dit_attention_work(const dit_attention_args *args)
{
    double pairs = dit_attention_pairs(args), d = (double)args->D, batch = (double)args->B;
    int64_t group = args->kv_group ? args->kv_group : 1, first = args->kv_first / group;
    int64_t key_heads = args->H ? (args->kv_first + args->H - 1) / group - first + 1 : 0;
    return (dit_work){.flops = 4 * batch * (double)args->H * pairs * d,
                      .bytes = sizeof(float) * batch * d * 2 *
                               ((double)args->H * (double)args->Sq + (double)key_heads * (double)args->Sk)};
}
