/* All-gather: every ring rank gathers the K and V of all, then attends to them at once, as the context parallelism of
 * Llama 3 does. One softmax over all keys, so nothing is merged; nothing is hidden behind computation either.
 *
 * Sends per call: r-1 messages of 2 B n Hk D floats, n the rows of a rank, padding included: the bytes and messages of
 * ring.c. It holds K and V of all S tokens twice: as they arrive, and in the order of tokens, which a causal mask
 * needs whatever the layout is. Work is as even over ranks as the layout makes it. It serves one layer.
 * Source: Llama Team, The Llama 3 Herd of Models (arXiv:2407.21783), section 3.3.2.
 */
#include "engine/attention/attention_impl.h"

typedef struct {
    float *arrived;    /* [r][2][B][n][kv_heads D]: K, then V, of each ring rank                         */
    float *kv;         /* [2][B][S][kv_heads D]: all of them in order, without padding */
    int32_t *position; /* [S] of the keys, 0, 1, 2, ...; NULL without a mask                              */
    int64_t keys;      /* S                                                                              */
} all_gather;

static int64_t ring_size(const dit_attention *attention)
{
    return dit_comm_size(attention->rt->comm[DIT_AXIS_RING]);
}

static dit_status number_keys(dit_attention *attention, all_gather *a)
{
    dit_runtime *rt = attention->rt;
    void *memory;
    if (!attention->shape.order[0].position) return DIT_OK;
    DIT_TRY(dit_arena_array(&rt->image, a->keys, DIT_DTYPE_INT32, &memory));
    a->position = memory;
    for (int64_t key = 0; key < a->keys; key++) a->position[key] = (int32_t)key;
    return dit_runtime_upload(rt, a->position, a->keys);
}

static dit_status all_gather_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_runtime *rt = attention->rt;
    int64_t ranks = ring_size(attention);
    void *memory;
    DIT_TRY(attention_layer_alone(attention));
    DIT_TRY(attention_take(attention, sizeof(all_gather), &memory));
    all_gather *a = attention->state = memory;
    for (int64_t rank = 0; rank < ranks; rank++) a->keys += shape->order[rank].rows;
    DIT_TRY(dit_arena_activations(&rt->comm_arena, ranks * attention_kv_floats(shape), &a->arrived));
    DIT_TRY(dit_arena_activations(&rt->step, 2 * shape->B * a->keys * attention_kv_heads(shape) * shape->D, &a->kv));
    return number_keys(attention, a);
}

/* Rows [from, from + rows) of a rank's keys or values go to the rows to, to + step, to + 2 step, ... of all. */
typedef struct {
    int64_t from, rows, to, step;
} row_run;

/* Copies a run of K and of V. `source`: the ring rank that it is of. */
static void place_run(dit_attention *attention, const dit_attention_shape *shape, int64_t source, const row_run *run)
{
    const all_gather *a = attention->state;
    int64_t width = attention_kv_heads(shape) * shape->D, n = shape->tokens;
    ops_copy(attention->rt,
             &(dit_copy_args){.n0 = 2 * shape->B,
                              .n1 = run->rows,
                              .n2 = 1,
                              .inner = width,
                              .src = a->arrived + source * attention_kv_floats(shape) + run->from * width,
                              .src_stride = {n * width, width, 0},
                              .dst = a->kv + run->to * width,
                              .dst_stride = {a->keys * width, run->step * width, 0}});
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

/* Lays what arrived out in the order of tokens or, without a mask, of ranks. */
static void place_keys(dit_attention *attention, const dit_attention_shape *shape)
{
    int64_t placed = 0;
    for (int64_t source = 0; source < ring_size(attention); source++) {
        const dit_attention_order *order = &shape->order[source];
        for (int64_t from = 0; from < order->rows;) {
            row_run run = {.rows = order->rows, .to = placed, .step = 1};
            if (order->position) run = run_at(order, from);
            place_run(attention, shape, source, &run);
            from += run.rows;
        }
        placed += order->rows;
    }
}

static void attend(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    const all_gather *a = attention->state;
    int64_t width = attention_kv_heads(shape) * shape->D;
    const dit_attention_order *own = &shape->order[dit_comm_rank(attention->rt->comm[DIT_AXIS_RING])];
    if (!own->rows) return;
    ops_attention(attention->rt, &(dit_attention_args){.B = shape->B,
                                                       .H = shape->H,
                                                       .Sq = own->rows,
                                                       .Sk = a->keys,
                                                       .D = shape->D,
                                                       .q = io->q,
                                                       .k = a->kv,
                                                       .v = a->kv + shape->B * a->keys * width,
                                                       .ldq = io->ld,
                                                       .ldk = width,
                                                       .ldv = width,
                                                       .batch_q = io->batch,
                                                       .batch_k = a->keys * width,
                                                       .batch_v = a->keys * width,
                                                       .kv_group = attention->kv_group,
                                                       .kv_first = attention->kv_first,
                                                       .q_position = own->position,
                                                       .k_position = a->position,
                                                       .mask = shape->mask,
                                                       .scale = attention->scale,
                                                       .out = io->out,
                                                       .ldo = io->ldo,
                                                       .batch_o = io->batch_o});
}

static dit_status all_gather_forward(dit_attention *attention, const dit_attention_shape *shape,
                                     const dit_attention_io *io)
{
    const all_gather *a = attention->state;
    dit_runtime *rt = attention->rt;
    dit_comm *ring = rt->comm[DIT_AXIS_RING];
    attention_keys keys;
    DIT_TRY(attention_take_keys(attention, shape, io, &keys));
    float *own = a->arrived + dit_comm_rank(ring) * attention_kv_floats(shape);
    double flops = rt->flops.attention;
    attention_pack_kv(attention, shape, &keys, own);
    DIT_TRY(dit_comm_all_gather(ring, own, a->arrived, attention_kv_floats(shape) * (int64_t)sizeof *own));
    int64_t began = dit_timing_now(rt->timing);
    place_keys(attention, shape);
    attend(attention, shape, io);
    attention_hop_end(attention, 0, flops, began, dit_timing_now(rt->timing));
    return DIT_OK;
}

const dit_attention_policy dit_attention_all_gather = {
    .name = "all-gather",
    .ring = true,
    .prepare = all_gather_prepare,
    .forward = all_gather_forward,
};
