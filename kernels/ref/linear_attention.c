/* state = [sum of relu(k) v^T | sum of relu(k)]; out = relu(q) M / (relu(q) z + eps). */
#include "kernels/ref/ref.h"

/* A NaN stays one. */
static double relu(float x)
{
    return x < 0 ? 0 : (double)x;
}

/* Element (j, i) of M, or with i = D element j of z. */
static double state_of(const dit_linear_attention_args *a, int64_t b, int64_t h, int64_t j, int64_t i)
{
    const float *k = a->k + b * a->batch_k + h * a->D + j, *v = a->v + b * a->batch_v + h * a->D + i;
    double sum = 0;
    for (int64_t s = 0; s < a->S; s++) sum += relu(k[s * a->ldk]) * (i < a->D ? (double)v[s * a->ldv] : 1.0);
    return sum;
}

void dit_ref_linear_state(dit_pool *pool, const dit_linear_attention_args *args)
{
    int64_t D = args->D;
    (void)pool;
    for (int64_t b = 0; b < args->B; b++)
        for (int64_t h = 0; h < args->H; h++) {
            float *state = args->state + (b * args->H + h) * D * (D + 1);
            for (int64_t j = 0; j < D; j++) {
                for (int64_t i = 0; i < D; i++) state[j * D + i] = (float)state_of(args, b, h, j, i);
                state[D * D + j] = (float)state_of(args, b, h, j, D);
            }
        }
}

void dit_ref_linear_attention(dit_pool *pool, const dit_linear_attention_args *args)
{
    int64_t D = args->D;
    (void)pool;
    for (int64_t b = 0; b < args->B; b++)
        for (int64_t s = 0; s < args->S; s++)
            for (int64_t h = 0; h < args->H; h++) {
                const float *state = args->state + (b * args->H + h) * D * (D + 1);
                const float *q = args->q + b * args->batch_q + s * args->ldq + h * D;
                float *out = args->out + b * args->batch_o + s * args->ldo + h * D;
                double all = (double)args->eps;
                for (int64_t j = 0; j < D; j++) all += relu(q[j]) * (double)state[D * D + j];
                for (int64_t i = 0; i < D; i++) {
                    double sum = 0;
                    for (int64_t j = 0; j < D; j++) sum += relu(q[j]) * (double)state[j * D + i];
                    out[i] = (float)(sum / all);
                }
            }
}

/* A product of [D, S] and [S, D + 1] for each head; it reads k and v and writes the state. */
dit_work dit_linear_state_work(const dit_linear_attention_args *args)
{
    double heads = (double)(args->B * args->H), state = (double)(args->D * (args->D + 1));
    double rows = (double)(args->S * args->D);
    return (dit_work){.flops = 2 * heads * (double)args->S * state, .bytes = 4 * heads * (2 * rows + state)};
}

/* A product of [S, D] and [D, D + 1] for each head; it reads q and the state and writes out. */
dit_work dit_linear_attention_work(const dit_linear_attention_args *args)
{
    return dit_linear_state_work(args);
}
