/* Ring Self-Attention: keys go once around the ring to fill this rank's rows of scores, then values go around to make
 * the output. A row of scores is whole before its softmax, so nothing is merged and no log-sum-exp is kept.
 *
 * Scores are [B, H, n, S] floats of the step arena, n the rows of a rank and S = r n all keys: they grow with S^2 / r,
 * while a ring that merges (ring.c) holds the result of one block. Sends per call: 2 (r-1) messages of B n Hk D floats,
 * the bytes of ring.c in twice the messages. It serves one layer without a mask whose tokens divide over the ring;
 * base/layer.h refuses others.
 * Source: Li et al., Sequence Parallelism: Long Sequence Training from System Perspective (arXiv:2105.13120), 3.2.
 */
#include "engine/attention/attention_impl.h"

#include <math.h>
#include <string.h>

typedef struct {
    float *block[2]; /* [B, n, kv_heads D] of k or v: here, and arriving  */
    float *scores;   /* [B, H, n, S]                                      */
} rsa;

/* One head of a batch entry, and the block of k or v that is here. */
typedef struct {
    const dit_attention *attention;
    const dit_attention_shape *shape;
    const float *q;     /* [n, D], rows ldq apart                                 */
    const float *block; /* [n, D], rows ldb apart                                 */
    float *scores;      /* [n, keys], all keys of this rank's rows                */
    float *out;         /* [n, D], rows ldo apart                                 */
    int64_t ldq, ldb, ldo, keys;
    int64_t first; /* key of the block's first row                           */
} head_block;

static int64_t ring_size(const dit_attention *attention)
{
    return dit_comm_size(attention->rt->comm[DIT_AXIS_RING]);
}

static int64_t block_floats(const dit_attention_shape *shape)
{
    return shape->B * shape->tokens * attention_kv_heads(shape) * shape->D;
}

static dit_status rsa_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_runtime *rt = attention->rt;
    void *memory;
    DIT_TRY(attention_cores_alone(attention));
    DIT_TRY(attention_take(attention, sizeof(rsa), &memory));
    rsa *state = attention->state = memory;
    for (int i = 0; i < 2; i++) DIT_TRY(dit_arena_activations(&rt->comm_arena, block_floats(shape), &state->block[i]));
    return dit_arena_activations(&rt->step, shape->B * shape->H * shape->tokens * ring_size(attention) * shape->tokens,
                                 &state->scores);
}

/* ---- rows of one head -------------------------------------------------------------------------------------------- */

/* scores[row, keys of the block] = scale q k^T. */
static void score_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const head_block *head = context;
    const int64_t D = head->shape->D;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *q = head->q + row * head->ldq;
        float *scores = head->scores + row * head->keys + head->first;
        for (int64_t key = 0; key < head->shape->tokens; key++) {
            const float *k = head->block + key * head->ldb;
            double sum = 0;
            for (int64_t d = 0; d < D; d++) sum += (double)q[d] * k[d];
            scores[key] = (float)(sum * head->attention->scale);
        }
    }
}

/* Softmax over whole rows of scores; out starts from zero. */
static void normalise_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const head_block *head = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        float *scores = head->scores + row * head->keys, max = -INFINITY;
        double sum = 0;
        for (int64_t key = 0; key < head->keys; key++) max = fmaxf(max, scores[key]);
        for (int64_t key = 0; key < head->keys; key++) sum += scores[key] = expf(scores[key] - max);
        for (int64_t key = 0; key < head->keys; key++) scores[key] = (float)(scores[key] / sum);
        memset(head->out + row * head->ldo, 0, (size_t)head->shape->D * sizeof *head->out);
    }
}

/* out[row] += scores[row, keys of the block] v. */
static void weigh_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const head_block *head = context;
    const int64_t D = head->shape->D;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *scores = head->scores + row * head->keys + head->first;
        float *out = head->out + row * head->ldo;
        for (int64_t key = 0; key < head->shape->tokens; key++) {
            const float *v = head->block + key * head->ldb, weight = scores[key];
            for (int64_t d = 0; d < D; d++) out[d] += weight * v[d];
        }
    }
}

/* ---- all heads --------------------------------------------------------------------------------------------------- */

static head_block head_of(const dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                          int64_t b, int64_t h)
{
    int64_t n = shape->tokens, keys = ring_size(attention) * n, D = shape->D;
    const rsa *state = attention->state;
    return (head_block){.attention = attention,
                        .shape = shape,
                        .q = io->q + b * io->batch + h * D,
                        .scores = state->scores + (b * shape->H + h) * n * keys,
                        .out = io->out + b * io->batch_o + h * D,
                        .ldq = io->ld,
                        .ldo = io->ldo,
                        .keys = keys};
}

/* Runs `rows` over every head with the block of ring rank `source` (NULL: with none). Lets the messages of `exchange`
 * move in between. */
static void for_heads(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                      dit_pool_task rows, const float *block, int64_t source, dit_comm_exchange *exchange)
{
    dit_runtime *rt = attention->rt;
    int64_t n = shape->tokens, width = attention_kv_heads(shape) * shape->D, began = dit_trace_begin(rt->trace);
    for (int64_t b = 0; b < shape->B; b++)
        for (int64_t h = 0; h < shape->H; h++) {
            head_block head = head_of(attention, shape, io, b, h);
            if (block) {
                head.block = block + b * n * width + (attention->kv_first + h) / attention->kv_group * shape->D;
                head.ldb = width, head.first = source * n;
            }
            dit_pool_run(rt->pool, n, 1, rows, &head);
            if (exchange) dit_comm_exchange_poll(rt->comm[DIT_AXIS_RING], exchange);
        }
    dit_trace_end(rt->trace, DIT_TRACE_COMPUTE, "attention", began);
}

static void pack(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                 const float *operand, float *block)
{
    int64_t n = shape->tokens, width = attention_kv_heads(shape) * shape->D, ld = attention_ldk(io);
    ops_copy(attention->rt, &(dit_copy_args){.n0 = shape->B,
                                             .n1 = n,
                                             .n2 = 1,
                                             .inner = width,
                                             .src = operand,
                                             .src_stride = {attention_batch_k(io), ld, width},
                                             .dst = block,
                                             .dst_stride = {n * width, width, width}});
}

/* Accounts for one of the two products with one block, which is what a hop computes. */
static void account(dit_attention *attention, const dit_attention_shape *shape, int hop, int64_t compute_ns,
                    int64_t waiting_ns)
{
    dit_attention_hop *spent = &attention->hops[hop];
    const dit_attention_args both = {
        .B = shape->B, .H = shape->H, .Sq = shape->tokens, .Sk = shape->tokens, .D = shape->D};
    double flops = dit_attention_work(&both).flops / 2;
    attention->rt->flops.attention += flops;
    spent->flops += flops;
    spent->compute_ns += compute_ns;
    spent->waiting_ns += waiting_ns;
}

/* Sends `operand`, k or v, around the ring, so that every block of it meets the rows of this rank. */
static dit_status circulate(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                            const float *operand, dit_pool_task rows)
{
    dit_comm *ring = attention->rt->comm[DIT_AXIS_RING];
    int size = dit_comm_size(ring), rank = dit_comm_rank(ring);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int64_t bytes = block_floats(shape) * (int64_t)sizeof(float);
    float *const *block = ((const rsa *)attention->state)->block;
    pack(attention, shape, io, operand, block[0]);
    for (int hop = 0; hop < size; hop++) {
        dit_comm_exchange exchange;
        bool more = hop + 1 < size;
        float *here = block[hop % 2], *arriving = block[(hop + 1) % 2];
        if (more) DIT_TRY(dit_comm_exchange_begin(ring, here, next, arriving, previous, bytes, &exchange));
        int64_t began = dit_clock_ns();
        for_heads(attention, shape, io, rows, here, (rank + size - hop) % size, more ? &exchange : NULL);
        int64_t computed = dit_clock_ns();
        if (more) DIT_TRY(dit_comm_exchange_wait(ring, &exchange));
        account(attention, shape, hop, computed - began, dit_clock_ns() - computed);
    }
    return DIT_OK;
}

static dit_status rsa_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    memset(attention->hops, 0, (size_t)ring_size(attention) * sizeof *attention->hops);
    DIT_TRY(circulate(attention, shape, io, io->k, score_rows));
    for_heads(attention, shape, io, normalise_rows, NULL, 0, NULL);
    return circulate(attention, shape, io, io->v, weigh_rows);
}

const dit_attention_policy dit_attention_rsa = {
    .name = "ring-self-attention",
    .ring = true,
    .layer_alone = true,
    .prepare = rsa_prepare,
    .forward = rsa_forward,
};
