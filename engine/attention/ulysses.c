/* Ulysses: all-to-all exchanges tokens for heads, so that each rank attends over the whole sequence with 1/u of them.
 *
 * Per batch entry, Q, K, V and the result each travel in one all-to-all of blocks [n, H/u, D]; what arrives lies in
 * token order and needs no unpacking on the way in. Replicated joint text does not travel: every rank has all of it and
 * takes its own head slice; only the text rows of the result, which exist nowhere in full, are gathered. (xDiT lets Q
 * text rows travel with the image rows and computes them u times over; the result is the same, the bytes are fewer.)
 * Where heads do not divide, or query heads of several ranks share a head of k and v, every rank gets as much room as
 * the one that needs most: room that nobody fills travels empty, shared heads travel to each reader. Packed, the three
 * operands of a batch entry travel as rows of one message.
 * Source: Jacobs et al., DeepSpeed Ulysses (arXiv:2309.14509).
 */
#include "base/layer.h"
#include "engine/attention/attention_impl.h"

/* Widths of what travels, in heads; dit_head_cut_of of the call's heads. */
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

dit_status attention_ulysses_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    const dit_comm *comm = attention->rt->comm[DIT_AXIS_ULYSSES];
    dit_head_cut cut = head_cut(attention, shape);
    int64_t rows = shape->B * attention_ulysses_exchanged(attention, shape).tokens;
    int64_t q = rows * cut.heads * shape->D, kv = rows * cut.kv_heads * shape->D,
            own = shape->tokens * shape->H * shape->D;
    /* `back` holds the result of all heads: u gathered slices of the text, or of one batch entry's own rows. */
    int64_t back = own > q ? own : q, pack = shape->packed ? q + 2 * kv : q > kv ? q : kv;
    struct {
        float **buffer;
        int64_t floats;
    } buffers[] = {{&attention->ulysses.pack, pack},
                   {&attention->ulysses.q, shape->packed ? pack : q},
                   {&attention->ulysses.k, shape->packed ? 0 : kv},
                   {&attention->ulysses.v, shape->packed ? 0 : kv},
                   {&attention->ulysses.out, q},
                   {&attention->ulysses.back, back}};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        DIT_TRY(dit_arena_activations(&attention->rt->comm_arena, buffers[i].floats, buffers[i].buffer));
    attention->kv_first = dit_head_first(shape->H, dit_comm_size(comm), dit_comm_rank(comm)) % attention->kv_group;
    return DIT_OK;
}

/* Heads of one operand, as they are cut: `room` heads a rank, of which rank j fills those from first_head(j) on. */
typedef struct {
    int64_t heads, room, group; /* group: query heads that share one of them; 1 for q and the result */
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

/* Rows cut by heads: rank j's part of row i goes to dst + j * block + i * ld. */
static void cut_heads(dit_attention *attention, const operand *o, const float *src, int64_t ld_src, int64_t rows,
                      float *dst, int64_t block, int64_t ld)
{
    int64_t D = attention->shape.D, slice = o->room * D;
    dit_copy_args args = {.n0 = o->u,
                          .n1 = rows,
                          .n2 = 1,
                          .inner = slice,
                          .src = src,
                          .src_stride = {slice, ld_src, slice},
                          .dst = dst,
                          .dst_stride = {block, ld, slice}};
    if (is_even(o)) {
        ops_copy(attention->rt, &args);
        return;
    }
    for (int64_t rank = 0; rank < o->u; rank++) {
        args.n0 = 1;
        args.inner = filled(o, rank) * D;
        args.src = src + first_head(o, rank) * D;
        args.dst = dst + rank * block;
        if (args.inner) ops_copy(attention->rt, &args);
    }
}

/* One operand of one batch entry: own rows cut by heads, sent; own slice of the replicated text laid in front. */
static dit_status exchange_in(dit_attention *attention, const dit_attention_shape *shape, const operand *o,
                              const float *src, int64_t ld, float *dst)
{
    dit_comm *comm = attention->rt->comm[DIT_AXIS_ULYSSES];
    int64_t replicated = attention_replicated(shape);
    int64_t n = shape->tokens - replicated, slice = o->room * shape->D;
    float *pack = attention->ulysses.pack;
    cut_heads(attention, o, src + replicated * ld, ld, n, pack, n * slice, slice);
    if (replicated)
        ops_copy(attention->rt, &(dit_copy_args){.n0 = 1,
                                                 .n1 = replicated,
                                                 .n2 = 1,
                                                 .inner = slice,
                                                 .src = src + dit_comm_rank(comm) * slice,
                                                 .src_stride = {0, ld, slice},
                                                 .dst = dst,
                                                 .dst_stride = {0, slice, slice}});
    return dit_comm_all_to_all(comm, pack, dst + replicated * slice, n * slice * (int64_t)sizeof *dst);
}

/* `gathered` holds u blocks of `rows` rows; each is what rank j filled of its room. */
static void unpack_heads(dit_attention *attention, const operand *o, int64_t rows, const float *gathered, float *out,
                         int64_t ldo)
{
    int64_t D = attention->shape.D, slice = o->room * D;
    dit_copy_args args = {.n0 = o->u,
                          .n1 = rows,
                          .n2 = 1,
                          .inner = slice,
                          .src = gathered,
                          .src_stride = {rows * slice, slice, slice},
                          .dst = out,
                          .dst_stride = {slice, ldo, slice}};
    if (is_even(o)) {
        ops_copy(attention->rt, &args);
        return;
    }
    for (int64_t rank = 0; rank < o->u; rank++) {
        args.n0 = 1;
        args.inner = filled(o, rank) * D;
        args.src = gathered + rank * rows * slice;
        args.dst = out + first_head(o, rank) * D;
        if (args.inner) ops_copy(attention->rt, &args);
    }
}

/* The result of one batch entry: rows return to their owners, replicated text rows are gathered. */
static dit_status exchange_out(dit_attention *attention, const dit_attention_shape *shape, const operand *o,
                               const float *src, float *out, int64_t ldo)
{
    dit_comm *comm = attention->rt->comm[DIT_AXIS_ULYSSES];
    int64_t replicated = attention_replicated(shape);
    int64_t n = shape->tokens - replicated, slice = o->room * shape->D;
    float *back = attention->ulysses.back;
    DIT_TRY(dit_comm_all_to_all(comm, src + replicated * slice, back, n * slice * (int64_t)sizeof *back));
    unpack_heads(attention, o, n, back, out + replicated * ldo, ldo);
    if (!replicated) return DIT_OK;
    DIT_TRY(dit_comm_all_gather(comm, src, back, replicated * slice * (int64_t)sizeof *back));
    unpack_heads(attention, o, replicated, back, out, ldo);
    return DIT_OK;
}

/* q, k and v of one batch entry side by side in every row. */
static dit_status exchange_in_packed(dit_attention *attention, const dit_attention_shape *shape, const operand *q,
                                     const operand *kv, const dit_attention_io *io, int64_t b, float *dst)
{
    int64_t D = shape->D, n = shape->tokens, width = (q->room + 2 * kv->room) * D, ldk = attention_ldk(io);
    int64_t batch_k = attention_batch_k(io);
    float *pack = attention->ulysses.pack;
    cut_heads(attention, q, io->q + b * io->batch, io->ld, n, pack, n * width, width);
    cut_heads(attention, kv, io->k + b * batch_k, ldk, n, pack + q->room * D, n * width, width);
    cut_heads(attention, kv, io->v + b * batch_k, ldk, n, pack + (q->room + kv->room) * D, n * width, width);
    return dit_comm_all_to_all(attention->rt->comm[DIT_AXIS_ULYSSES], pack, dst, n * width * (int64_t)sizeof *dst);
}

/* All rows of the group in this rank's heads. */
static dit_status gather_rows(dit_attention *attention, const dit_attention_shape *shape, const operand *q,
                              const operand *kv, const dit_attention_io *io, dit_attention_io *whole)
{
    int64_t tokens = attention_ulysses_exchanged(attention, shape).tokens, D = shape->D;
    int64_t ld = q->room * D, ldk = kv->room * D, ldp = ld + 2 * ldk;
    float *const to_q = attention->ulysses.q, *const to_k = attention->ulysses.k, *const to_v = attention->ulysses.v;
    *whole = (dit_attention_io){.q = to_q, .k = to_k, .v = to_v, .ld = ld, .batch = tokens * ld};
    whole->ldk = ldk, whole->batch_k = tokens * ldk;
    whole->out = attention->ulysses.out, whole->ldo = ld, whole->batch_o = tokens * ld;
    if (shape->packed) {
        whole->k = to_q + ld, whole->v = to_q + ld + ldk;
        whole->ld = whole->ldk = ldp, whole->batch = whole->batch_k = tokens * ldp;
    }
    const dit_guest *guest = attention->rt->guest;
    for (int64_t b = 0; b < shape->B; b++) {
        dit_guest_begin_entry(guest, b, shape->B);
        const float *k = io->k + b * attention_batch_k(io), *v = io->v + b * attention_batch_k(io);
        if (shape->packed) {
            DIT_TRY(exchange_in_packed(attention, shape, q, kv, io, b, to_q + b * tokens * ldp));
            continue;
        }
        DIT_TRY(exchange_in(attention, shape, q, io->q + b * io->batch, io->ld, to_q + b * tokens * ld));
        DIT_TRY(exchange_in(attention, shape, kv, k, attention_ldk(io), to_k + b * tokens * ldk));
        DIT_TRY(exchange_in(attention, shape, kv, v, attention_ldk(io), to_v + b * tokens * ldk));
    }
    dit_guest_begin_entry(guest, 0, 1);
    return DIT_OK;
}

dit_status attention_ulysses_around(dit_attention *attention, const dit_attention_shape *shape,
                                    const dit_attention_io *io, attention_inner inner)
{
    dit_attention_shape exchanged = attention_ulysses_exchanged(attention, shape);
    const dit_guest *guest = attention->rt->guest;
    int64_t u = dit_comm_size(attention->rt->comm[DIT_AXIS_ULYSSES]);
    dit_head_cut cut = head_cut(attention, shape);
    operand q = {.heads = shape->H, .room = cut.heads, .group = 1, .query_heads = shape->H, .u = u}, kv = q;
    dit_attention_io whole;
    kv.heads = attention_kv_heads(shape), kv.room = cut.kv_heads, kv.group = attention->kv_group;
    DIT_TRY(gather_rows(attention, shape, &q, &kv, io, &whole));
    DIT_TRY(inner(attention, &exchanged, &whole));
    for (int64_t b = 0; b < shape->B; b++) {
        dit_guest_begin_entry(guest, b, shape->B);
        DIT_TRY(exchange_out(attention, shape, &q, whole.out + b * whole.batch_o, io->out + b * io->batch_o, io->ldo));
    }
    dit_guest_begin_entry(guest, 0, 1);
    return DIT_OK;
}

static dit_status ulysses_forward(dit_attention *attention, const dit_attention_shape *shape,
                                  const dit_attention_io *io)
{
    return attention_ulysses_around(attention, shape, io, attention_local_forward);
}

const dit_attention_policy dit_attention_ulysses = {
    .name = "ulysses",
    .ulysses = true,
    .prepare = attention_ulysses_prepare,
    .forward = ulysses_forward,
};
