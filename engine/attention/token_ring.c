/* TokenRing: queries travel around the ring while K and V stay. What a rank computes for another's queries goes
 * straight back to their owner, which merges it by log-sum-exp. So both directions of a link are busy: queries one way,
 * results the other.
 *
 * In hop j a rank holds the queries of the rank j before it and sends its partial result for them back to that rank,
 * while the next queries are on their way. What rank + j computed for this rank's own queries arrives meanwhile and is
 * merged a hop later. Sends per call: r-1 messages of B n H D floats (queries) and r-1 messages of B n (H D + H) floats
 * (results with their log-sum-exp, fp32 on a device, too). With as many heads of K and V as of Q these are the bytes of
 * ring.c and the log-sum-exp; with shared heads they are more. It serves one layer without a mask whose tokens divide
 * over the ring; base/layer.h refuses others.
 * Source: Wang et al., TokenRing (arXiv:2412.20501), section 3.
 */
#include "engine/attention/attention_impl.h"

typedef struct {
    float *queries[2];               /* [B, n, H D]                                              */
    float *leaving[2], *arriving[2]; /* [B, n, H D], then log-sum-exp [B, H, n]                  */
    float *lse;                      /* [B, H, n] of the result so far                           */
    dit_comm_exchange under_way[2];  /* of results, by the hop's parity                          */
} token_ring;

static dit_status token_ring_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_runtime *rt = attention->rt;
    void *memory;
    DIT_TRY(attention_take(attention, sizeof(token_ring), &memory));
    token_ring *t = attention->state = memory;
    for (int i = 0; i < 2; i++) {
        DIT_TRY(dit_arena_activations(&rt->comm_arena, attention_query_floats(shape), &t->queries[i]));
        DIT_TRY(dit_arena_fp32(&rt->comm_arena, attention_result_floats(shape), &t->leaving[i]));
        DIT_TRY(dit_arena_fp32(&rt->comm_arena, attention_result_floats(shape), &t->arriving[i]));
    }
    return dit_arena_fp32(&rt->step, shape->B * shape->tokens * shape->H, &t->lse);
}

/* Attends with the queries that are here to this rank's keys: into the result (hop 0), or into a message for the
 * queries' owner. */
static void attend(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io, int hop,
                   dit_comm_exchange *exchange)
{
    const token_ring *t = attention->state;
    int64_t n = shape->tokens, width = shape->H * shape->D;
    float *message = t->leaving[hop & 1];
    attention_in_pieces(attention,
                        &(dit_attention_args){.B = shape->B,
                                              .H = shape->H,
                                              .Sq = n,
                                              .Sk = n,
                                              .D = shape->D,
                                              .q = t->queries[hop & 1],
                                              .k = io->k,
                                              .v = io->v,
                                              .ldq = width,
                                              .ldk = attention_ldk(io),
                                              .ldv = attention_ldk(io),
                                              .batch_q = n * width,
                                              .batch_k = attention_batch_k(io),
                                              .batch_v = attention_batch_k(io),
                                              .kv_group = attention->kv_group,
                                              .kv_first = attention->kv_first,
                                              .scale = attention->scale,
                                              .out = hop ? message : io->out,
                                              .ldo = hop ? width : io->ldo,
                                              .batch_o = hop ? n * width : io->batch_o,
                                              .lse = hop ? message + attention_query_floats(shape) : t->lse},
                        exchange);
}

/* Waits until the results of hop `hop` have left and arrived, and merges those that arrived. */
static dit_status merge(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io, int hop)
{
    token_ring *t = attention->state;
    float *message = t->arriving[hop & 1];
    DIT_TRY(dit_comm_exchange_wait(attention->rt->comm[DIT_AXIS_RING], &t->under_way[hop & 1]));
    attention_merge_block(attention, shape, io, t->lse, message, message + attention_query_floats(shape));
    return DIT_OK;
}

/* Begins to send the results of hop `hop` to the owner of its queries, and to receive those of the own queries from the
 * rank that holds them. */
static dit_status begin_results(dit_attention *attention, const dit_attention_shape *shape, int hop)
{
    dit_comm *ring = attention->rt->comm[DIT_AXIS_RING];
    token_ring *t = attention->state;
    int size = dit_comm_size(ring), rank = dit_comm_rank(ring);
    return dit_comm_exchange_begin(ring, t->leaving[hop & 1], (rank + size - hop) % size, t->arriving[hop & 1],
                                   (rank + hop) % size, attention_result_floats(shape) * (int64_t)sizeof(float),
                                   &t->under_way[hop & 1]);
}

static dit_status run_hop(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                          int hop)
{
    dit_comm *ring = attention->rt->comm[DIT_AXIS_RING];
    token_ring *t = attention->state;
    int size = dit_comm_size(ring), rank = dit_comm_rank(ring);
    bool more = hop + 1 < size;
    double flops = attention->rt->flops.attention;
    dit_comm_exchange queries;
    if (more)
        DIT_TRY(dit_comm_exchange_begin(ring, t->queries[hop & 1], (rank + 1) % size, t->queries[(hop + 1) & 1],
                                        (rank + size - 1) % size,
                                        attention_query_floats(shape) * (int64_t)sizeof(float), &queries));
    dit_timing *timing = attention->rt->timing;
    int64_t began = dit_timing_now(timing);
    attend(attention, shape, io, hop, more ? &queries : NULL);
    int64_t computed = dit_timing_now(timing);
    if (hop > 1) DIT_TRY(merge(attention, shape, io, hop - 1));
    if (hop > 0) DIT_TRY(begin_results(attention, shape, hop));
    if (more) DIT_TRY(dit_comm_exchange_wait(ring, &queries));
    if (hop > 0 && !more) DIT_TRY(merge(attention, shape, io, hop));
    attention_hop_end(attention, hop, flops, began, computed);
    return DIT_OK;
}

static dit_status token_ring_forward(dit_attention *attention, const dit_attention_shape *shape,
                                     const dit_attention_io *io)
{
    attention_pack_queries(attention, shape, io, ((token_ring *)attention->state)->queries[0]);
    for (int hop = 0; hop < dit_comm_size(attention->rt->comm[DIT_AXIS_RING]); hop++)
        DIT_TRY(run_hop(attention, shape, io, hop));
    return DIT_OK;
}

const dit_attention_policy dit_attention_token_ring = {
    .name = "token-ring",
    .ring = true,
    .layer_alone = true,
    .prepare = token_ring_prepare,
    .forward = token_ring_forward,
};
