/* Ring attention: K and V travel around the ring while Q stays, and partial results merge by their log-sum-exp.
 *
 * Hop 0 attends to the rank's own K and V, replicated joint text included, so that it counts once. Hops 1 to r-1 attend
 * to what has arrived. While a hop computes, the next block is on the wire; the computation runs in pieces so that MPI
 * gets to move data. Sends per call: r-1 messages of 2 B n Hk D floats, n the travelling rows, Hk the heads of K and V.
 * In a pipeline all rows of the store travel in every call, whichever band it is about: M times the bytes in a step.
 * Where tokens have an order (causal masks), a hop computes only the pairs that a query sees.
 * Source: Liu et al., Ring Attention with Blockwise Transformers (arXiv:2310.01889).
 */
#include "engine/attention/attention_impl.h"

#include <math.h>

struct attention_ring {
    float *kv[3];           /* [2][B][n][kv_heads D]: leaving, here and arriving, in turn        */
    float *block_out;       /* [B, n, H, D], the result of one hop                               */
    float *block_lse, *lse; /* [B, H, n]: log-sum-exp of that hop, and of the result so far      */
};

static int64_t moving_rows(const attention_keys *keys)
{
    return keys->rows - keys->replicated;
}

dit_status attention_ring_create(dit_attention *attention, const dit_attention_shape *shape, attention_ring **out)
{
    dit_runtime *rt = attention->rt;
    void *memory;
    DIT_TRY(attention_take(attention, sizeof(attention_ring), &memory));
    attention_ring *ring = *out = memory;
    int64_t rows = shape->tokens - attention_replicated(shape);
    int64_t kv = 2 * shape->B * rows * attention_kv_heads(shape) * shape->D;
    for (int i = 0; i < 3; i++) DIT_TRY(dit_arena_activations(&rt->comm_arena, kv, &ring->kv[i]));
    DIT_TRY(dit_arena_fp32(&rt->step, shape->B * shape->tokens * shape->H * shape->D, &ring->block_out));
    DIT_TRY(dit_arena_fp32(&rt->step, shape->B * shape->tokens * shape->H, &ring->block_lse));
    return dit_arena_fp32(&rt->step, shape->B * shape->tokens * shape->H, &ring->lse);
}

void attention_pack_kv(dit_attention *attention, const dit_attention_shape *shape, const attention_keys *keys,
                       float *kv)
{
    int64_t n = moving_rows(keys), width = attention_kv_heads(shape) * shape->D;
    const float *sources[2] = {keys->k, keys->v};
    for (int i = 0; i < 2; i++)
        ops_copy(attention->rt, &(dit_copy_args){.n0 = shape->B,
                                                 .n1 = n,
                                                 .n2 = 1,
                                                 .inner = width,
                                                 .src = sources[i] + keys->replicated * keys->ld,
                                                 .src_stride = {keys->batch, keys->ld, width},
                                                 .dst = kv + i * shape->B * n * width,
                                                 .dst_stride = {n * width, width, width}});
}

void attention_pack_queries(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                            float *q)
{
    int64_t n = shape->tokens, width = shape->H * shape->D;
    ops_copy(attention->rt, &(dit_copy_args){.n0 = shape->B,
                                             .n1 = n,
                                             .n2 = 1,
                                             .inner = width,
                                             .src = io->q,
                                             .src_stride = {io->batch, io->ld, width},
                                             .dst = q,
                                             .dst_stride = {n * width, width, width}});
}

void attention_merge_block(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                           float *lse, const float *block_out, const float *block_lse)
{
    int64_t rows = attention_order(shape, attention->rt->coordinates[DIT_AXIS_RING], shape->tokens).rows;
    if (!rows) return;
    ops_attention_merge(attention->rt, &(dit_merge_args){.B = shape->B,
                                                         .H = shape->H,
                                                         .S = rows,
                                                         .D = shape->D,
                                                         .out = io->out,
                                                         .lse = lse,
                                                         .ldo = io->ldo,
                                                         .batch_o = io->batch_o,
                                                         .block_out = block_out,
                                                         .block_lse = block_lse});
}

void attention_in_pieces(dit_attention *attention, const dit_attention_args *whole, dit_comm_exchange *exchange)
{
    dit_comm *ring = attention->rt->comm[DIT_AXIS_RING];
    enum { PIECES = 4 };
    int64_t per_piece = (whole->H + PIECES - 1) / PIECES;
    if (dit_runtime_messages_move(attention->rt)) { /* one kernel */
        ops_attention(attention->rt, whole);
        return;
    }
    for (int64_t b = 0; b < whole->B; b++) {
        for (int64_t head = 0; head < whole->H; head += per_piece) {
            dit_attention_args piece = *whole;
            piece.B = 1;
            piece.H = whole->H - head < per_piece ? whole->H - head : per_piece;
            piece.q += b * whole->batch_q + head * whole->D;
            piece.k += b * whole->batch_k;
            piece.v += b * whole->batch_v;
            piece.kv_first += head;
            piece.out += b * whole->batch_o + head * whole->D;
            piece.lse += (b * whole->H + head) * whole->Sq;
            if (piece.bias) piece.bias += b * attention->bias_keys;
            ops_attention(attention->rt, &piece);
            if (exchange) dit_comm_exchange_poll(ring, exchange);
        }
    }
}

/* Whether any query sees any key. Positions ascend. */
static bool sees_any(const dit_attention_args *args)
{
    if (!args->Sq || !args->Sk || !args->H) return false;
    return !args->q_position || args->q_position[args->Sq - 1] >= args->k_position[0];
}

/* The operands of a hop: the queries, and the keys of ring rank `source`, which are the rank's own (arrived NULL) or
 * those that arrived. */
static dit_attention_args hop_args(const dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io, const attention_keys *keys, int source,
                                   const float *arrived)
{
    int64_t n = moving_rows(keys), width = attention_kv_heads(shape) * shape->D;
    dit_attention_order own = attention_order(shape, dit_comm_rank(attention->rt->comm[DIT_AXIS_RING]), shape->tokens);
    dit_attention_order theirs = attention_order(shape, source, arrived ? n : keys->rows);
    return (dit_attention_args){
        .B = shape->B,
        .H = shape->H,
        .Sq = own.rows,
        .Sk = theirs.rows,
        .D = shape->D,
        .q = io->q,
        .ldq = io->ld,
        .batch_q = io->batch,
        .k = arrived ? arrived : keys->k,
        .v = arrived ? arrived + shape->B * n * width : keys->v,
        .ldk = arrived ? width : keys->ld,
        .ldv = arrived ? width : keys->ld,
        .batch_k = arrived ? n * width : keys->batch,
        .batch_v = arrived ? n * width : keys->batch,
        .bias = attention_bias(attention, source),
        .kv_group = attention->kv_group,
        .kv_first = attention->kv_first,
        .q_position = own.position,
        .k_position = theirs.position,
        .scale = attention->scale,
    };
}

/* Computes a hop: hop 0 straight into the result, a later one into block_out, which is then merged. A hop whose keys no
 * query sees is left out. */
static void compute_hop(dit_attention *attention, const attention_ring *ring, const dit_attention_shape *shape,
                        const dit_attention_io *io, const attention_keys *keys, int hop, dit_comm_exchange *exchange)
{
    int size = dit_comm_size(attention->rt->comm[DIT_AXIS_RING]);
    int source = (dit_comm_rank(attention->rt->comm[DIT_AXIS_RING]) + size - hop) % size;
    dit_attention_args args = hop_args(attention, shape, io, keys, source, hop ? ring->kv[hop % 3] : NULL);
    if (!sees_any(&args)) return;
    if (hop == 0) {
        args.out = io->out, args.ldo = io->ldo, args.batch_o = io->batch_o;
        args.lse = ring->lse;
        attention_in_pieces(attention, &args, exchange);
        return;
    }
    args.out = ring->block_out;
    args.ldo = shape->H * shape->D, args.batch_o = args.Sq * args.ldo;
    args.lse = ring->block_lse;
    attention_in_pieces(attention, &args, exchange);
    attention_merge_block(attention, shape, io, ring->lse, ring->block_out, ring->block_lse);
}

dit_status attention_ring_run(dit_attention *attention, const attention_ring *ring, const dit_attention_shape *shape,
                              const dit_attention_io *io)
{
    dit_runtime *rt = attention->rt;
    dit_comm *comm = rt->comm[DIT_AXIS_RING];
    int size = dit_comm_size(comm), rank = dit_comm_rank(comm);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    attention_keys keys;
    DIT_TRY(attention_take_keys(attention, shape, io, &keys));
    int64_t bytes = 2 * shape->B * moving_rows(&keys) * attention_kv_heads(shape) * shape->D * (int64_t)sizeof(float);
    attention_pack_kv(attention, shape, &keys, ring->kv[0]);
    for (int hop = 0; hop < size; hop++) {
        const float *current = ring->kv[hop % 3];
        float *arriving = ring->kv[(hop + 1) % 3];
        dit_comm_exchange exchange;
        bool more = hop + 1 < size;
        double flops = rt->flops.attention;
        if (more) DIT_TRY(dit_comm_exchange_begin(comm, current, next, arriving, previous, bytes, &exchange));
        int64_t began = dit_timing_now(rt->timing);
        compute_hop(attention, ring, shape, io, &keys, hop, more ? &exchange : NULL);
        int64_t computed = dit_timing_now(rt->timing);
        if (more) DIT_TRY(dit_comm_exchange_wait(comm, &exchange));
        attention_hop_end(attention, hop, flops, began, computed);
    }
    return DIT_OK;
}

static dit_status ring_prepare(dit_attention *attention)
{
    attention_ring *ring;
    DIT_TRY(attention_ring_create(attention, &attention->shape, &ring));
    attention->state = ring;
    return DIT_OK;
}

static dit_status ring_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    return attention_ring_run(attention, attention->state, shape, io);
}

const dit_attention_policy dit_attention_ring = {
    .name = "ring",
    .ring = true,
    .wrapped = &dit_attention_usp,
    .prepare = ring_prepare,
    .forward = ring_forward,
};
