/* Ulysses: all-to-all exchanges tokens for heads, so that each rank attends over the whole sequence with 1/u of them.
 *
 * Per batch entry, Q, K, V and the result each travel in one all-to-all of blocks [n, H/u, D], n the rank's own rows.
 * What arrives lies in the order of tokens and is used where it lies. Replicated joint text does not travel on the way
 * in: every rank has all of it and takes its own heads. Only the text rows of the result, which no rank has in full,
 * are gathered. (xDiT sends the text rows of Q with the image rows and computes them u times; the result is equal, and
 * this engine sends fewer bytes.)
 *
 * Where the heads do not divide by u, or ranks share a head of K and V, every rank gets as much room as the rank that
 * needs most. Room that no head fills travels empty, and a shared head travels to each rank that reads it. A packed
 * call sends Q, K and V of a batch entry side by side in the rows of one message. Source: Jacobs et al., DeepSpeed
 * Ulysses (arXiv:2309.14509).
 */
#include "base/layer.h"
#include "engine/attention/attention_impl.h"

struct attention_ulysses {
    float *pack;      /* blocks on their way in                                                             */
    float *q, *k, *v; /* [B, tokens, heads D] of all tokens and this rank's heads; packed: all three in q   */
    float *out;       /* [B, tokens, heads D], the result of them                                           */
    float *back;      /* a result of all heads: of one batch entry's own rows, or of the replicated text    */
};

/* How many heads one row has for one rank. */
static dit_head_cut head_cut(const dit_attention *attention, const dit_attention_shape *shape)
{
    return dit_head_cut_of(shape->H, attention_kv_heads(shape), dit_comm_size(attention->rt->comm[DIT_AXIS_ULYSSES]));
}

dit_attention_shape attention_ulysses_exchanged(const dit_attention *attention, const dit_attention_shape *shape)
{
    const dit_comm *comm = attention->rt->comm[DIT_AXIS_ULYSSES];
    int64_t u = dit_comm_size(comm), rank = dit_comm_rank(comm);
    dit_attention_shape exchanged = *shape;
    exchanged.H = dit_head_first(shape->H, u, rank + 1) - dit_head_first(shape->H, u, rank);
    if (shape->kv_heads) exchanged.kv_heads = head_cut(attention, shape).kv_heads;
    int64_t replicated = attention_replicated(shape);
    exchanged.tokens = replicated + u * (shape->tokens - replicated);
    return exchanged;
}

/* `back` has room for u slices of the text's result, gathered, and for the result of one batch entry's own rows. */
static dit_status take_buffers(dit_attention *attention, attention_ulysses *ulysses)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_head_cut cut = head_cut(attention, shape);
    int64_t rows = shape->B * attention_ulysses_exchanged(attention, shape).tokens;
    int64_t q = rows * cut.heads * shape->D, kv = rows * cut.kv_heads * shape->D;
    int64_t own = shape->tokens * shape->H * shape->D, back = own > q ? own : q;
    int64_t pack = shape->packed ? q + 2 * kv : q > kv ? q : kv;
    struct {
        float **buffer;
        int64_t floats;
    } buffers[] = {{&ulysses->pack, pack},
                   {&ulysses->q, shape->packed ? pack : q},
                   {&ulysses->k, shape->packed ? 0 : kv},
                   {&ulysses->v, shape->packed ? 0 : kv},
                   {&ulysses->out, q},
                   {&ulysses->back, back}};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        DIT_TRY(dit_arena_activations(&attention->rt->comm_arena, buffers[i].floats, buffers[i].buffer));
    return DIT_OK;
}

dit_status attention_ulysses_create(dit_attention *attention, attention_ulysses **out)
{
    const dit_comm *comm = attention->rt->comm[DIT_AXIS_ULYSSES];
    int64_t first = dit_head_first(attention->shape.H, dit_comm_size(comm), dit_comm_rank(comm));
    void *memory;
    DIT_TRY(attention_take(attention, sizeof **out, &memory));
    *out = memory;
    attention->kv_first = first % attention->kv_group;
    return take_buffers(attention, *out);
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

/* How one operand's heads are cut over ranks: each rank has room for `room` of them, and rank j's first is
 * first_head(j).
 */
typedef struct {
    int64_t heads, room, group; /* group: query heads that share one of the heads; 1 for Q and the result */
    int64_t query_heads, u;
} operand;

static int64_t first_head(const operand *o, int64_t rank)
{
    return dit_head_first(o->query_heads, o->u, rank) / o->group;
}

static int64_t filled(const operand *o, int64_t rank)
{
    int64_t left = o->heads - first_head(o, rank);
    if (dit_head_first(o->query_heads, o->u, rank) == o->query_heads) return 0;
    return left < o->room ? left : o->room;
}

static bool is_even(const operand *o)
{
    return o->room * o->u == o->heads;
}

/* One call, as its exchanges see it. */
typedef struct {
    dit_attention *attention;
    dit_runtime *rt;
    dit_comm *comm;
    const attention_ulysses *buffers;
    const dit_attention_shape *shape;
    const dit_attention_io *io;
    operand q, kv;
    int64_t replicated, n; /* rows: replicated text, and the own ones that travel */
} exchange;

static exchange exchange_of(dit_attention *attention, const attention_ulysses *buffers,
                            const dit_attention_shape *shape, const dit_attention_io *io)
{
    dit_comm *comm = attention->rt->comm[DIT_AXIS_ULYSSES];
    int64_t u = dit_comm_size(comm), replicated = attention_replicated(shape);
    dit_head_cut cut = head_cut(attention, shape);
    operand q = {.heads = shape->H, .room = cut.heads, .group = 1, .query_heads = shape->H, .u = u}, kv = q;
    kv.heads = attention_kv_heads(shape), kv.room = cut.kv_heads, kv.group = attention->kv_group;
    return (exchange){.attention = attention,
                      .rt = attention->rt,
                      .comm = comm,
                      .buffers = buffers,
                      .shape = shape,
                      .io = io,
                      .q = q,
                      .kv = kv,
                      .replicated = replicated,
                      .n = shape->tokens - replicated};
}

/* Cuts the travelling rows of `src` by heads: rank j's part of row i goes to dst + j * block + i * ld. */
static void cut_heads(const exchange *x, const operand *o, const float *src, int64_t ld_src, float *dst, int64_t block,
                      int64_t ld)
{
    int64_t D = x->shape->D, slice = o->room * D;
    dit_copy_args args = {.n0 = o->u,
                          .n1 = x->n,
                          .n2 = 1,
                          .inner = slice,
                          .src = src,
                          .src_stride = {slice, ld_src, slice},
                          .dst = dst,
                          .dst_stride = {block, ld, slice}};
    if (is_even(o)) {
        ops_copy(x->rt, &args);
        return;
    }
    for (int64_t rank = 0; rank < o->u; rank++) {
        args.n0 = 1;
        args.inner = filled(o, rank) * D;
        args.src = src + first_head(o, rank) * D;
        args.dst = dst + rank * block;
        if (args.inner) ops_copy(x->rt, &args);
    }
}

/* Lays `rows` rows out with all their heads. `gathered` has u blocks of so many rows; block j is rank j's room. */
static void join_heads(const exchange *x, int64_t rows, const float *gathered, float *out)
{
    const operand *o = &x->q;
    int64_t D = x->shape->D, slice = o->room * D, ldo = x->io->ldo;
    dit_copy_args args = {.n0 = o->u,
                          .n1 = rows,
                          .n2 = 1,
                          .inner = slice,
                          .src = gathered,
                          .src_stride = {rows * slice, slice, slice},
                          .dst = out,
                          .dst_stride = {slice, ldo, slice}};
    if (is_even(o)) {
        ops_copy(x->rt, &args);
        return;
    }
    for (int64_t rank = 0; rank < o->u; rank++) {
        args.n0 = 1;
        args.inner = filled(o, rank) * D;
        args.src = gathered + rank * rows * slice;
        args.dst = out + first_head(o, rank) * D;
        if (args.inner) ops_copy(x->rt, &args);
    }
}

/* ---- exchanges of one batch entry -------------------------------------------------------------------------------- */

/* Sends one operand's rows, and lays this rank's heads of the replicated text in front of what arrives. */
static dit_status exchange_in(const exchange *x, const operand *o, const float *src, int64_t ld, float *dst)
{
    int64_t slice = o->room * x->shape->D;
    float *pack = x->buffers->pack;
    cut_heads(x, o, src + x->replicated * ld, ld, pack, x->n * slice, slice);
    if (x->replicated)
        ops_copy(x->rt, &(dit_copy_args){.n0 = 1,
                                         .n1 = x->replicated,
                                         .n2 = 1,
                                         .inner = slice,
                                         .src = src + dit_comm_rank(x->comm) * slice,
                                         .src_stride = {0, ld, slice},
                                         .dst = dst,
                                         .dst_stride = {0, slice, slice}});
    return dit_comm_all_to_all(x->comm, pack, dst + x->replicated * slice, x->n * slice * (int64_t)sizeof *dst);
}

/* Sends q, k and v of one batch entry, side by side in every row. */
static dit_status exchange_in_packed(const exchange *x, const float *q, const float *k, const float *v, float *dst)
{
    int64_t D = x->shape->D, width = (x->q.room + 2 * x->kv.room) * D, ldk = attention_ldk(x->io);
    float *pack = x->buffers->pack;
    cut_heads(x, &x->q, q, x->io->ld, pack, x->n * width, width);
    cut_heads(x, &x->kv, k, ldk, pack + x->q.room * D, x->n * width, width);
    cut_heads(x, &x->kv, v, ldk, pack + (x->q.room + x->kv.room) * D, x->n * width, width);
    return dit_comm_all_to_all(x->comm, pack, dst, x->n * width * (int64_t)sizeof *dst);
}

/* Returns the result's rows to their owners and gathers those of the replicated text. */
static dit_status exchange_out(const exchange *x, const float *src, float *out)
{
    int64_t slice = x->q.room * x->shape->D;
    float *back = x->buffers->back;
    DIT_TRY(dit_comm_all_to_all(x->comm, src + x->replicated * slice, back, x->n * slice * (int64_t)sizeof *back));
    join_heads(x, x->n, back, out + x->replicated * x->io->ldo);
    if (!x->replicated) return DIT_OK;
    DIT_TRY(dit_comm_all_gather(x->comm, src, back, x->replicated * slice * (int64_t)sizeof *back));
    join_heads(x, x->replicated, back, out);
    return DIT_OK;
}

/* ---- whole calls ------------------------------------------------------------------------------------------------- */

/* Where all rows of the group lie, in this rank's heads, once they are exchanged. */
static dit_attention_io exchanged_io(const exchange *x)
{
    const attention_ulysses *buffers = x->buffers;
    int64_t tokens = attention_ulysses_exchanged(x->attention, x->shape).tokens, D = x->shape->D;
    int64_t ld = x->q.room * D, ldk = x->kv.room * D, ldp = ld + 2 * ldk;
    dit_attention_io io = {.q = buffers->q, .k = buffers->k, .v = buffers->v, .ld = ld, .batch = tokens * ld};
    io.ldk = ldk, io.batch_k = tokens * ldk;
    io.out = buffers->out, io.ldo = ld, io.batch_o = tokens * ld;
    if (!x->shape->packed) return io;
    io.k = buffers->q + ld, io.v = buffers->q + ld + ldk;
    io.ld = io.ldk = ldp, io.batch = io.batch_k = tokens * ldp;
    return io;
}

static dit_status exchange_all_in(const exchange *x, const dit_attention_io *to)
{
    const dit_attention_io *io = x->io;
    int64_t ldk = attention_ldk(io), batch_k = attention_batch_k(io), B = x->shape->B;
    for (int64_t b = 0; b < B; b++) {
        const float *q = io->q + b * io->batch, *k = io->k + b * batch_k, *v = io->v + b * batch_k;
        dit_guest_begin_entry(x->rt->guest, b, B);
        if (x->shape->packed) {
            DIT_TRY(exchange_in_packed(x, q, k, v, x->buffers->q + b * to->batch));
            continue;
        }
        DIT_TRY(exchange_in(x, &x->q, q, io->ld, x->buffers->q + b * to->batch));
        DIT_TRY(exchange_in(x, &x->kv, k, ldk, x->buffers->k + b * to->batch_k));
        DIT_TRY(exchange_in(x, &x->kv, v, ldk, x->buffers->v + b * to->batch_k));
    }
    dit_guest_begin_entry(x->rt->guest, 0, 1);
    return DIT_OK;
}

static dit_status exchange_all_out(const exchange *x, const dit_attention_io *from)
{
    int64_t B = x->shape->B;
    for (int64_t b = 0; b < B; b++) {
        dit_guest_begin_entry(x->rt->guest, b, B);
        DIT_TRY(exchange_out(x, from->out + b * from->batch_o, x->io->out + b * x->io->batch_o));
    }
    dit_guest_begin_entry(x->rt->guest, 0, 1);
    return DIT_OK;
}

dit_status attention_ulysses_around(dit_attention *attention, const attention_ulysses *ulysses,
                                    const dit_attention_shape *shape, const dit_attention_io *io, attention_inner inner)
{
    dit_attention_shape exchanged = attention_ulysses_exchanged(attention, shape);
    exchange x = exchange_of(attention, ulysses, shape, io);
    dit_attention_io whole = exchanged_io(&x);
    DIT_TRY(exchange_all_in(&x, &whole));
    DIT_TRY(inner(attention, &exchanged, &whole));
    return exchange_all_out(&x, &whole);
}

static dit_status ulysses_prepare(dit_attention *attention)
{
    attention_ulysses *ulysses;
    DIT_TRY(attention_ulysses_create(attention, &ulysses));
    attention->state = ulysses;
    return DIT_OK;
}

static dit_status ulysses_forward(dit_attention *attention, const dit_attention_shape *shape,
                                  const dit_attention_io *io)
{
    return attention_ulysses_around(attention, attention->state, shape, io, attention_local_forward);
}

const dit_attention_policy dit_attention_ulysses = {
    .name = "ulysses",
    .ulysses = true,
    .prepare = ulysses_prepare,
    .forward = ulysses_forward,
};
