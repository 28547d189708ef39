/* All-gather: every ring rank gathers the K and V of all, then attends to them at once, as the context parallelism of
 * Llama 3 does. One softmax over all keys, so nothing is merged; nothing is hidden behind computation either.
 *
 * Sends per call: r-1 messages of 2 B n Hk D floats, n the travelling rows, padding included: the bytes and messages of
 * ring.c. It holds K and V of all S tokens twice: as they arrive, and in the order of tokens, which a causal mask
 * needs whatever the layout is. Replicated joint text, which stays at home, comes before them. Work is as even over ranks
 * as the layout makes it. With Ulysses ranks the heads are exchanged first, as in usp.c.
 * Source: Llama Team, The Llama 3 Herd of Models (arXiv:2407.21783), section 3.3.2.
 */
#include "engine/attention/attention_impl.h"

#include <string.h>

typedef struct {
    attention_ulysses *ulysses; /* NULL with one Ulysses rank                                               */
    float *arrived;             /* [r][2][B][n][kv_heads D]: K, then V, of each ring rank                   */
    float *kv;                  /* [2][B][S][kv_heads D]: all of them in order, without padding             */
    int32_t *position;          /* [S] of the keys, 0, 1, 2, ...; NULL without a mask                       */
    float *bias;                /* [B, S]: the key bias of this call; NULL without one                      */
} all_gather;

static int64_t ring_size(const dit_attention *attention)
{
    return dit_comm_size(attention->rt->comm[DIT_AXIS_RING]);
}

/* Counts all keys: replicated ones, and those of all ranks, of which `moving` rows of each travel. */
static int64_t count_keys(const dit_attention *attention, const dit_attention_shape *shape, int64_t replicated,
                          int64_t moving)
{
    int64_t keys = replicated;
    for (int rank = 0; rank < ring_size(attention); rank++) keys += attention_order(shape, rank, moving).rows;
    return keys;
}

static dit_status number_keys(dit_attention *attention, all_gather *a, int64_t keys)
{
    dit_runtime *rt = attention->rt;
    void *memory;
    if (!attention_order(&attention->shape, 0, 0).position) return DIT_OK;
    DIT_TRY(dit_arena_array(&rt->image, keys, DIT_DTYPE_INT32, &memory));
    a->position = memory;
    for (int64_t key = 0; key < keys; key++) a->position[key] = (int32_t)key;
    return dit_runtime_upload(rt, a->position, keys);
}

/* Keys whose bias no rank copies, those of other ranks beside replicated text, stay 0. */
static dit_status take_bias(dit_attention *attention, all_gather *a, int64_t keys)
{
    dit_runtime *rt = attention->rt;
    int64_t elements = attention->shape.B * keys;
    if (!attention->shape.text_biases) return DIT_OK;
    DIT_TRY(dit_arena_fp32(&rt->image, elements, &a->bias));
    if (rt->ledger.counting_only) return DIT_OK;
    memset(a->bias, 0, (size_t)elements * sizeof *a->bias);
    return dit_runtime_upload(rt, a->bias, elements);
}

static dit_status all_gather_prepare(dit_attention *attention)
{
    dit_attention_shape shape = attention->shape;
    dit_runtime *rt = attention->rt;
    void *memory;
    DIT_TRY(attention_take(attention, sizeof(all_gather), &memory));
    all_gather *a = attention->state = memory;
    if (dit_comm_size(rt->comm[DIT_AXIS_ULYSSES]) > 1) {
        DIT_TRY(attention_ulysses_create(attention, &a->ulysses));
        shape = attention_ulysses_exchanged(attention, &attention->shape);
    }
    int64_t replicated = attention_replicated(&shape), moving = shape.tokens - replicated;
    int64_t keys = count_keys(attention, &shape, replicated, moving);
    int64_t row = 2 * shape.B * attention_kv_heads(&shape) * shape.D;
    DIT_TRY(dit_arena_activations(&rt->comm_arena, ring_size(attention) * moving * row, &a->arrived));
    DIT_TRY(dit_arena_activations(&rt->step, keys * row, &a->kv));
    DIT_TRY(number_keys(attention, a, keys));
    return take_bias(attention, a, keys);
}

/* One call: rows of K and V that travel, and all keys. */
typedef struct {
    dit_attention *attention;
    const all_gather *a;
    const dit_attention_shape *shape;
    attention_keys own;
    int64_t moving, keys, width; /* width: floats of a row of K, as of V */
} gather_call;

/* Rows [from, from + rows) of a rank's keys or values go to the rows to, to + step, to + 2 step, ... of all. */
typedef struct {
    int64_t from, rows, to, step;
} row_run;

/* Copies a run of K and of V. `source`: the ring rank that it is of. */
static void place_run(const gather_call *call, int64_t source, const row_run *run)
{
    int64_t width = call->width, block = call->moving * width;
    ops_copy(call->attention->rt,
             &(dit_copy_args){.n0 = 2 * call->shape->B,
                              .n1 = run->rows,
                              .n2 = 1,
                              .inner = width,
                              .src = call->a->arrived + source * 2 * call->shape->B * block + run->from * width,
                              .src_stride = {block, width, 0},
                              .dst = call->a->kv + run->to * width,
                              .dst_stride = {call->keys * width, run->step * width, 0}});
}

/* The longest run of rows from `from` on whose tokens are equally far apart. */
static row_run run_at(const dit_attention_order *order, int64_t from)
{
    const int32_t *position = order->position;
    row_run run = {.from = from, .rows = 1, .to = position[from], .step = 1};
    if (from + 1 < order->rows) run.step = position[from + 1] - position[from];
    while (from + run.rows < order->rows && position[from + run.rows] == run.to + run.rows * run.step) run.rows++;
    return run;
}

/* Copies the replicated text of the rank's own K and V to the front. */
static void place_text(const gather_call *call)
{
    const attention_keys *own = &call->own;
    const float *sources[2] = {own->k, own->v};
    for (int i = 0; i < 2 && own->replicated; i++)
        ops_copy(call->attention->rt,
                 &(dit_copy_args){.n0 = call->shape->B,
                                  .n1 = own->replicated,
                                  .n2 = 1,
                                  .inner = call->width,
                                  .src = sources[i],
                                  .src_stride = {own->batch, own->ld, 0},
                                  .dst = call->a->kv + i * call->shape->B * call->keys * call->width,
                                  .dst_stride = {call->keys * call->width, call->width, 0}});
}

/* Lays the key bias of ring rank `source`, where it has one, beside its keys, which begin at key `to`; replicated text
 * and its bias are the rank's own. */
static void place_bias(const gather_call *call, int source, int64_t to)
{
    const dit_attention *attention = call->attention;
    const float *bias = attention_bias(attention, source);
    int64_t replicated = call->own.replicated, rows = replicated ? replicated : call->moving;
    if (!bias || !call->a->bias) return;
    ops_copy(attention->rt, &(dit_copy_args){.n0 = call->shape->B,
                                             .n1 = 1,
                                             .n2 = 1,
                                             .inner = rows,
                                             .src = bias,
                                             .src_stride = {attention->bias_keys, rows, 0},
                                             .dst = call->a->bias + (replicated ? 0 : to),
                                             .dst_stride = {call->keys, rows, 0}});
}

/* Lays what arrived out in the order of tokens or, without a mask, of ranks, behind the replicated text. */
static void place_keys(const gather_call *call)
{
    int64_t placed = call->own.replicated;
    place_text(call);
    for (int source = 0; source < ring_size(call->attention); source++) {
        dit_attention_order order = attention_order(call->shape, source, call->moving);
        for (int64_t from = 0; from < order.rows;) {
            row_run run = {.rows = order.rows, .to = placed, .step = 1};
            if (order.position) run = run_at(&order, from);
            place_run(call, source, &run);
            from += run.rows;
        }
        place_bias(call, source, placed);
        placed += order.rows;
    }
}

static void attend(const gather_call *call, const dit_attention_io *io)
{
    const dit_attention *attention = call->attention;
    const dit_attention_shape *shape = call->shape;
    int64_t width = call->width, keys = call->keys;
    dit_attention_order own = attention_order(shape, dit_comm_rank(attention->rt->comm[DIT_AXIS_RING]), shape->tokens);
    if (!own.rows || !shape->H) return;
    ops_attention(attention->rt, &(dit_attention_args){.B = shape->B,
                                                       .H = shape->H,
                                                       .Sq = own.rows,
                                                       .Sk = keys,
                                                       .D = shape->D,
                                                       .q = io->q,
                                                       .k = call->a->kv,
                                                       .v = call->a->kv + shape->B * keys * width,
                                                       .ldq = io->ld,
                                                       .ldk = width,
                                                       .ldv = width,
                                                       .batch_q = io->batch,
                                                       .batch_k = keys * width,
                                                       .batch_v = keys * width,
                                                       .bias = attention->bias ? call->a->bias : NULL,
                                                       .kv_group = attention->kv_group,
                                                       .kv_first = attention->kv_first,
                                                       .q_position = own.position,
                                                       .k_position = call->a->position,
                                                       .mask = shape->mask,
                                                       .scale = attention->scale,
                                                       .out = io->out,
                                                       .ldo = io->ldo,
                                                       .batch_o = io->batch_o});
}

static dit_status gather_and_attend(dit_attention *attention, const dit_attention_shape *shape,
                                    const dit_attention_io *io)
{
    dit_runtime *rt = attention->rt;
    dit_comm *ring = rt->comm[DIT_AXIS_RING];
    gather_call call = {
        .attention = attention, .a = attention->state, .shape = shape, .width = attention_kv_heads(shape) * shape->D};
    DIT_TRY(attention_take_keys(attention, shape, io, &call.own));
    call.moving = call.own.rows - call.own.replicated;
    call.keys = count_keys(attention, shape, call.own.replicated, call.moving);
    int64_t block = 2 * shape->B * call.moving * call.width;
    float *own = call.a->arrived + dit_comm_rank(ring) * block;
    double flops = rt->flops.attention;
    attention_pack_kv(attention, shape, &call.own, own);
    DIT_TRY(dit_comm_all_gather(ring, own, call.a->arrived, block * (int64_t)sizeof *own));
    int64_t began = dit_timing_now(rt->timing);
    place_keys(&call);
    attend(&call, io);
    attention_hop_end(attention, 0, flops, began, dit_timing_now(rt->timing));
    return DIT_OK;
}

static dit_status all_gather_forward(dit_attention *attention, const dit_attention_shape *shape,
                                     const dit_attention_io *io)
{
    const all_gather *a = attention->state;
    if (!a->ulysses) return gather_and_attend(attention, shape, io);
    return attention_ulysses_around(attention, a->ulysses, shape, io, gather_and_attend);
}

const dit_attention_policy dit_attention_all_gather = {
    .name = "all-gather",
    .ulysses = true,
    .ring = true,
    .without_ulysses = true,
    .prepare = all_gather_prepare,
    .forward = all_gather_forward,
};
