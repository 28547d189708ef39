/* Ring attention: K and V travel around the ring while Q stays, and partial results merge by their log-sum-exp.
 *
 * Hop 0 attends to the rank's own K and V, replicated joint text included, so that it counts once. Hops 1 to r-1 attend
 * to what has arrived. While a hop computes, the next block is on the wire; the computation runs in pieces so that MPI
 * gets to move data. Sends per call: r-1 messages of 2 B n Hk D floats, n the travelling rows, Hk the heads of K and V.
 * In a pipeline all rows of the store travel in every call, whichever band it is about: M times the bytes in a step.
 * Where tokens have an order (causal masks), a hop computes only the pairs that a query sees.
 *
 * The ring may be a double one, of r / w inner rings of w ranks each: blocks go around the inner ring, and meanwhile the
 * block with which a rank began goes on to the same place of the next inner ring. A plain ring is one inner ring of
 * all ranks.
 * Source: Liu et al., Ring Attention with Blockwise Transformers (arXiv:2310.01889); the double ring: Gu et al.,
 * LoongTrain (arXiv:2406.18485), section 4.3.
 */
#include "engine/attention/attention_impl.h"

#include <math.h>

struct attention_ring {
    int inner;              /* ranks of an inner ring                                            */
    float *start[2];        /* [2][B][n][kv_heads D]: with which a turn around the inner ring begins, by the turn's
                               parity; start[1] is NULL of a plain ring                          */
    float *moving[2];       /* the blocks of later hops, by the hop's parity                       */
    float *block_out;       /* [B, n, H, D], the result of one hop                               */
    float *block_lse, *lse; /* [B, H, n]: log-sum-exp of that hop, and of the result so far      */
};

/* One hop of a rank. */
typedef struct {
    int hop, turn, at;              /* at: hops since the turn around the inner ring began                    */
    int source;                     /* whose block is here                                                    */
    int next, previous;             /* on the inner ring                                                      */
    int next_outer, previous_outer; /* in the same place of the inner rings beside it                         */
    bool turns_on;                  /* another hop of this turn follows                                       */
    bool goes_over;                 /* another turn follows: its first block is under way during all of this one */
} hop_plan;

static hop_plan plan_of(const attention_ring *ring, int size, int rank, int hop)
{
    int w = ring->inner, rings = size / w, place = rank % w, own = rank / w;
    hop_plan plan = {.hop = hop, .turn = hop / w, .at = hop % w};
    plan.source = (own + rings - plan.turn) % rings * w + (place + w - plan.at) % w;
    plan.next = own * w + (place + 1) % w, plan.previous = own * w + (place + w - 1) % w;
    plan.next_outer = (own + 1) % rings * w + place, plan.previous_outer = (own + rings - 1) % rings * w + place;
    plan.turns_on = plan.at + 1 < w, plan.goes_over = plan.turn + 1 < rings;
    return plan;
}

static float *current_block(const attention_ring *ring, const hop_plan *plan)
{
    return plan->at ? ring->moving[plan->at % 2] : ring->start[plan->turn % 2];
}

static int64_t moving_rows(const attention_keys *keys)
{
    return keys->rows - keys->replicated;
}

dit_status attention_ring_create(dit_attention *attention, const dit_attention_shape *shape, int inner,
                                 attention_ring **out)
{
    dit_runtime *rt = attention->rt;
    void *memory;
    DIT_TRY(attention_take(attention, sizeof(attention_ring), &memory));
    attention_ring *ring = *out = memory;
    int64_t rows = shape->tokens - attention_replicated(shape);
    int64_t kv = 2 * shape->B * rows * attention_kv_heads(shape) * shape->D;
    ring->inner = inner;
    if (inner < dit_comm_size(rt->comm[DIT_AXIS_RING]))
        DIT_TRY(dit_arena_activations(&rt->comm_arena, kv, &ring->start[1]));
    DIT_TRY(dit_arena_activations(&rt->comm_arena, kv, &ring->start[0]));
    for (int i = 0; i < 2; i++) DIT_TRY(dit_arena_activations(&rt->comm_arena, kv, &ring->moving[i]));
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
    if (args->mask) return dit_attention_pairs(args) > 0;
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
        .mask = shape->mask,
        .scale = attention->scale,
    };
}

/* Computes a hop: hop 0 straight into the result, a later one into block_out, which is then merged. A hop whose keys no
 * query sees is left out. */
static void compute_hop(dit_attention *attention, const attention_ring *ring, const dit_attention_shape *shape,
                        const dit_attention_io *io, const attention_keys *keys, const hop_plan *plan,
                        dit_comm_exchange *exchange)
{
    dit_attention_args args =
        hop_args(attention, shape, io, keys, plan->source, plan->hop ? current_block(ring, plan) : NULL);
    if (!sees_any(&args)) return;
    if (plan->hop == 0) {
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

/* Begins what the hop sends on: its block around the inner ring, and in the first hop of a turn to the next one. */
static dit_status begin_messages(dit_comm *comm, const attention_ring *ring, const hop_plan *plan, int64_t bytes,
                                 dit_comm_exchange *inner, dit_comm_exchange *outer)
{
    if (plan->turns_on)
        DIT_TRY(dit_comm_exchange_begin(comm, current_block(ring, plan), plan->next, ring->moving[(plan->at + 1) % 2],
                                        plan->previous, bytes, inner));
    if (!plan->goes_over || plan->at) return DIT_OK;
    return dit_comm_exchange_begin(comm, ring->start[plan->turn % 2], plan->next_outer,
                                   ring->start[(plan->turn + 1) % 2], plan->previous_outer, bytes, outer);
}

dit_status attention_ring_run(dit_attention *attention, const attention_ring *ring, const dit_attention_shape *shape,
                              const dit_attention_io *io)
{
    dit_runtime *rt = attention->rt;
    dit_comm *comm = rt->comm[DIT_AXIS_RING];
    int size = dit_comm_size(comm), rank = dit_comm_rank(comm);
    attention_keys keys;
    dit_comm_exchange inner, outer;
    DIT_TRY(attention_take_keys(attention, shape, io, &keys));
    int64_t bytes = 2 * shape->B * moving_rows(&keys) * attention_kv_heads(shape) * shape->D * (int64_t)sizeof(float);
    attention_pack_kv(attention, shape, &keys, ring->start[0]);
    for (int hop = 0; hop < size; hop++) {
        hop_plan plan = plan_of(ring, size, rank, hop);
        double flops = rt->flops.attention;
        DIT_TRY(begin_messages(comm, ring, &plan, bytes, &inner, &outer));
        int64_t began = dit_timing_now(rt->timing);
        compute_hop(attention, ring, shape, io, &keys, &plan, plan.turns_on ? &inner : plan.goes_over ? &outer : NULL);
        int64_t computed = dit_timing_now(rt->timing);
        if (plan.turns_on) DIT_TRY(dit_comm_exchange_wait(comm, &inner));
        if (!plan.turns_on && plan.goes_over) DIT_TRY(dit_comm_exchange_wait(comm, &outer));
        attention_hop_end(attention, hop, flops, began, computed);
    }
    return DIT_OK;
}

static dit_status ring_prepare(dit_attention *attention)
{
    attention_ring *ring;
    int ranks = dit_comm_size(attention->rt->comm[DIT_AXIS_RING]);
    DIT_TRY(attention_ring_create(attention, &attention->shape, ranks, &ring));
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
