/* LightSeq: causal attention over consecutive runs of tokens, in which ranks that a ring would leave idle compute for
 * others.
 *
 * Block (i, j) is the queries of rank i on the keys of rank j <= i. In step 0 every rank computes its own; in step t up
 * to r/2 rank i computes block (i, i - t), whose K and V it fetches from their owner. A rank i < t has none: it gets the
 * queries of the late rank i + r - t instead, computes their block on its own keys, and returns the result, which the
 * owner merges by log-sum-exp a step later. With an even r the last step's blocks have owners that are not late, and
 * r/2 ranks are idle in it. What a step needs arrives while the step before it computes. Source: Li et al., LightSeq
 * (arXiv:2310.03294), sections 3.1 and 3.2.
 *
 * Sends per call, from rank i: K and V, 2 B n Hk D floats, to min(r/2, r-1-i) ranks; queries, B n H D floats, in each
 * step t >= r-i with helpers, t <= (r-1)/2; results, B n H (D + 1) floats, in each such step t > i. base/layer.h has
 * the rules.
 */
#include "engine/attention/attention_impl.h"

typedef struct {
    float *kv, *q;                                   /* the rank's own: [2][B][n][kv_heads D], [B, n, H D]     */
    float *arriving[2];                              /* K and V or queries of another, by the step's parity    */
    float *results[2];                               /* [B, n, H D], then log-sum-exp [B, H, n]: for or by another */
    float *block_out;                                /* [B, n, H, D] of one block                              */
    float *block_lse;                                /* [B, H, n]                                              */
    float *lse;                                      /* [B, H, n] of the result so far                         */
    dit_comm_exchange leaving, coming, under_way[2]; /* operands of the next step; results, by the step's parity */
} lightseq;

/* What a rank does in a step. */
typedef struct {
    int to, from; /* who gets operands of this rank, and whose arrive; DIT_COMM_NOBODY                   */
    bool is_late; /* the operands that leave are queries, whose result `to` returns; else they are K, V  */
    bool helps;   /* the operands that arrive are queries, whose result `from` gets; else they are K, V  */
} step_plan;

static step_plan plan_of(int rank, int size, int step)
{
    bool has_helpers = step <= (size - 1) / 2;
    step_plan plan = {DIT_COMM_NOBODY, DIT_COMM_NOBODY, rank + step >= size, rank < step};
    if (!plan.is_late || has_helpers) plan.to = (rank + step) % size;
    if (!plan.helps || has_helpers) plan.from = (rank + size - step) % size;
    return plan;
}

/* One call. */
typedef struct {
    dit_attention *attention;
    lightseq *state;
    const dit_attention_shape *shape;
    const dit_attention_io *io;
    dit_comm *ring;
    int rank, size;
} call_view;

static dit_status lightseq_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    int64_t q = attention_query_floats(shape), kv = attention_kv_floats(shape),
            lse = shape->B * shape->tokens * shape->H;
    dit_arena *messages = &attention->rt->comm_arena, *step = &attention->rt->step;
    void *memory;
    DIT_TRY(attention_cores_alone(attention));
    DIT_TRY(attention_take(attention, sizeof(lightseq), &memory));
    lightseq *state = attention->state = memory;
    DIT_TRY(dit_arena_activations(messages, kv, &state->kv));
    DIT_TRY(dit_arena_activations(messages, q, &state->q));
    for (int i = 0; i < 2; i++) {
        DIT_TRY(dit_arena_activations(messages, q > kv ? q : kv, &state->arriving[i]));
        DIT_TRY(dit_arena_fp32(messages, attention_result_floats(shape), &state->results[i]));
    }
    DIT_TRY(dit_arena_fp32(step, q, &state->block_out));
    DIT_TRY(dit_arena_fp32(step, lse, &state->block_lse));
    return dit_arena_fp32(step, lse, &state->lse);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Begins to send this rank's operands of `step`, and to receive another's. They differ in length. */
static dit_status begin_operands(const call_view *call, int step)
{
    step_plan plan = plan_of(call->rank, call->size, step);
    lightseq *state = call->state;
    int64_t q = attention_query_floats(call->shape) * (int64_t)sizeof(float),
            kv = attention_kv_floats(call->shape) * (int64_t)sizeof(float);
    if (plan.to != DIT_COMM_NOBODY)
        DIT_TRY(dit_comm_exchange_begin(call->ring, plan.is_late ? state->q : state->kv, plan.to, NULL, DIT_COMM_NOBODY,
                                        plan.is_late ? q : kv, &state->leaving));
    if (plan.from == DIT_COMM_NOBODY) return DIT_OK;
    return dit_comm_exchange_begin(call->ring, NULL, DIT_COMM_NOBODY, state->arriving[step & 1], plan.from,
                                   plan.helps ? q : kv, &state->coming);
}

static dit_status wait_for_operands(const call_view *call, int step)
{
    step_plan plan = plan_of(call->rank, call->size, step);
    if (plan.to != DIT_COMM_NOBODY) DIT_TRY(dit_comm_exchange_wait(call->ring, &call->state->leaving));
    return plan.from != DIT_COMM_NOBODY ? dit_comm_exchange_wait(call->ring, &call->state->coming) : DIT_OK;
}

/* Begins to return what was computed for a late rank, or to receive what was computed for this one. */
static dit_status begin_result(const call_view *call, int step)
{
    step_plan plan = plan_of(call->rank, call->size, step);
    float *result = call->state->results[step & 1];
    int64_t bytes = attention_result_floats(call->shape) * (int64_t)sizeof(float);
    if (plan.helps && plan.from != DIT_COMM_NOBODY)
        return dit_comm_exchange_begin(call->ring, result, plan.from, NULL, DIT_COMM_NOBODY, bytes,
                                       &call->state->under_way[step & 1]);
    if (plan.is_late && plan.to != DIT_COMM_NOBODY)
        return dit_comm_exchange_begin(call->ring, NULL, DIT_COMM_NOBODY, result, plan.to, bytes,
                                       &call->state->under_way[step & 1]);
    return DIT_OK;
}

/* Waits for the result of `step`, and merges one that arrived. */
static dit_status end_result(const call_view *call, int step)
{
    step_plan plan = plan_of(call->rank, call->size, step);
    float *result = call->state->results[step & 1];
    bool arrived = plan.is_late && plan.to != DIT_COMM_NOBODY, left = plan.helps && plan.from != DIT_COMM_NOBODY;
    if (arrived || left) DIT_TRY(dit_comm_exchange_wait(call->ring, &call->state->under_way[step & 1]));
    if (arrived)
        attention_merge_block(call->attention, call->shape, call->io, call->state->lse, result,
                              result + attention_query_floats(call->shape));
    return DIT_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The queries of ring rank `of`, in [B, n, H D], on this rank's own keys. */
static dit_attention_args block_args(const call_view *call, int of, const float *q)
{
    const dit_attention_shape *shape = call->shape;
    int64_t n = shape->tokens, width = shape->H * shape->D, kv_width = attention_kv_heads(shape) * shape->D;
    return (dit_attention_args){.B = shape->B,
                                .H = shape->H,
                                .Sq = shape->order[of].rows,
                                .Sk = shape->order[call->rank].rows,
                                .D = shape->D,
                                .q = q,
                                .k = call->state->kv,
                                .v = call->state->kv + shape->B * n * kv_width,
                                .ldq = width,
                                .ldk = kv_width,
                                .ldv = kv_width,
                                .batch_q = n * width,
                                .batch_k = n * kv_width,
                                .batch_v = n * kv_width,
                                .kv_group = call->attention->kv_group,
                                .kv_first = call->attention->kv_first,
                                .scale = call->attention->scale,
                                .ldo = width,
                                .batch_o = shape->order[of].rows * width};
}

/* The rank's own block, the only one with a mask, straight into the result. */
static void compute_own(const call_view *call, dit_comm_exchange *next)
{
    const dit_attention_order *own = &call->shape->order[call->rank];
    dit_attention_args args = block_args(call, call->rank, call->state->q);
    args.q_position = args.k_position = own->position;
    args.out = call->io->out, args.ldo = call->io->ldo, args.batch_o = call->io->batch_o;
    args.lse = call->state->lse;
    if (own->rows) attention_in_pieces(call->attention, &args, next);
}

/* The block of the queries of the late rank `of` on this rank's keys. */
static void compute_for(const call_view *call, int of, int step, dit_comm_exchange *next)
{
    dit_attention_args args = block_args(call, of, call->state->arriving[step & 1]);
    args.out = call->state->results[step & 1];
    args.lse = args.out + attention_query_floats(call->shape);
    if (args.Sq) attention_in_pieces(call->attention, &args, next);
}

/* The block of this rank's queries on the keys of `source`, merged into the result. */
static void compute_fetched(const call_view *call, int source, int step, dit_comm_exchange *next)
{
    lightseq *state = call->state;
    dit_attention_args args = block_args(call, call->rank, state->q);
    args.Sk = call->shape->order[source].rows;
    args.k = state->arriving[step & 1];
    args.v = args.k + attention_kv_floats(call->shape) / 2;
    args.out = state->block_out, args.lse = state->block_lse;
    if (!args.Sq) return;
    attention_in_pieces(call->attention, &args, next);
    attention_merge_block(call->attention, call->shape, call->io, state->lse, state->block_out, state->block_lse);
}

static void compute_step(const call_view *call, int step, dit_comm_exchange *next)
{
    step_plan plan = plan_of(call->rank, call->size, step);
    if (step == 0)
        compute_own(call, next);
    else if (plan.from != DIT_COMM_NOBODY && plan.helps)
        compute_for(call, plan.from, step, next);
    else if (plan.from != DIT_COMM_NOBODY)
        compute_fetched(call, plan.from, step, next);
}

static dit_status run_step(const call_view *call, int step)
{
    const dit_runtime *rt = call->attention->rt;
    bool more = step < call->size / 2;
    bool comes = more && plan_of(call->rank, call->size, step + 1).from != DIT_COMM_NOBODY;
    double flops = rt->flops.attention;
    if (more) DIT_TRY(begin_operands(call, step + 1));
    int64_t began = dit_timing_now(rt->timing);
    compute_step(call, step, comes ? &call->state->coming : NULL);
    int64_t computed = dit_timing_now(rt->timing);
    if (step > 1) DIT_TRY(end_result(call, step - 1));
    if (step > 0) DIT_TRY(begin_result(call, step));
    if (more) DIT_TRY(wait_for_operands(call, step + 1));
    if (step > 0 && !more) DIT_TRY(end_result(call, step));
    attention_hop_end(call->attention, step, flops, began, computed);
    return DIT_OK;
}

static dit_status lightseq_forward(dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io)
{
    lightseq *state = attention->state;
    dit_comm *ring = attention->rt->comm[DIT_AXIS_RING];
    call_view call = {attention, state, shape, io, ring, dit_comm_rank(ring), dit_comm_size(ring)};
    attention_keys keys;
    DIT_TRY(attention_take_keys(attention, shape, io, &keys));
    attention_pack_kv(attention, shape, &keys, state->kv);
    attention_pack_queries(attention, shape, io, state->q);
    for (int step = 0; step <= call.size / 2; step++) DIT_TRY(run_step(&call, step));
    return DIT_OK;
}

const dit_attention_policy dit_attention_lightseq = {
    .name = "lightseq",
    .ring = true,
    .layer_alone = true,
    .prepare = lightseq_prepare,
    .forward = lightseq_forward,
};
