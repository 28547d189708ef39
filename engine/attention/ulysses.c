/* Ulysses: all-to-all exchanges tokens for heads, so that each rank attends over the whole sequence with 1/u of them.
 *
 * Per batch entry, Q, K, V and the result each travel in one all-to-all of blocks [n, H/u, D]; what arrives lies in
 * token order and needs no unpacking on the way in. Replicated joint text does not travel: every rank has all of it and
 * takes its own head slice; only the text rows of the result, which exist nowhere in full, are gathered. (xDiT lets Q
 * text rows travel with the image rows and computes them u times over; the result is the same, the bytes are fewer.)
 * Source: Jacobs et al., DeepSpeed Ulysses (arXiv:2309.14509); joint text: PARALLEL.md 3.2.
 */
#include "engine/attention/policy.h"

dit_attention_shape attention_ulysses_exchanged(const dit_attention *attention, const dit_attention_shape *shape)
{
    int64_t u = dit_comm_size(attention->rt->comm[DIT_AXIS_ULYSSES]);
    dit_attention_shape exchanged = *shape;
    exchanged.H = shape->H / u;
    int64_t replicated = attention_replicated(shape);
    exchanged.tokens = replicated + u * (shape->tokens - replicated);
    return exchanged;
}

dit_status attention_ulysses_prepare(dit_attention *attention)
{
    dit_attention_shape exchanged = attention_ulysses_exchanged(attention, &attention->shape);
    int64_t elements = exchanged.B * exchanged.tokens * exchanged.H * exchanged.D;
    float **const buffers[] = {&attention->ulysses.pack, &attention->ulysses.q,   &attention->ulysses.k,
                               &attention->ulysses.v,    &attention->ulysses.out, &attention->ulysses.back};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        /* `back` holds the result of all heads: u gathered slices of the text, or of one batch entry's own rows. */
        int64_t all_heads = attention->shape.tokens * attention->shape.H * attention->shape.D;
        int64_t count = buffers[i] == &attention->ulysses.back && all_heads > elements ? all_heads : elements;
        DIT_TRY(dit_arena_floats(&attention->rt->comm_arena, count, buffers[i]));
    }
    return DIT_OK;
}

/* One operand of one batch entry: own rows cut by heads, sent; own slice of the replicated text laid in front. */
static dit_status exchange_in(dit_attention *attention, const dit_attention_shape *shape, const float *src, int64_t ld,
                              float *dst)
{
    dit_comm *comm = attention->rt->comm[DIT_AXIS_ULYSSES];
    int64_t replicated = attention_replicated(shape);
    int64_t u = dit_comm_size(comm), n = shape->tokens - replicated, slice = shape->H / u * shape->D;
    float *pack = attention->ulysses.pack;
    ops_copy(attention->rt, &(dit_copy_args){.n0 = u,
                                             .n1 = n,
                                             .n2 = 1,
                                             .inner = slice,
                                             .src = src + replicated * ld,
                                             .src_stride = {slice, ld, slice},
                                             .dst = pack,
                                             .dst_stride = {n * slice, slice, slice}});
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

/* `gathered` holds u blocks [rows, slice]; each is the head slice of rank j. */
static void unpack_heads(dit_attention *attention, int64_t u, int64_t rows, int64_t slice, const float *gathered,
                         float *out, int64_t ldo)
{
    ops_copy(attention->rt, &(dit_copy_args){.n0 = u,
                                             .n1 = rows,
                                             .n2 = 1,
                                             .inner = slice,
                                             .src = gathered,
                                             .src_stride = {rows * slice, slice, slice},
                                             .dst = out,
                                             .dst_stride = {slice, ldo, slice}});
}

/* The result of one batch entry: rows return to their owners, replicated text rows are gathered. */
static dit_status exchange_out(dit_attention *attention, const dit_attention_shape *shape, const float *src, float *out,
                               int64_t ldo)
{
    dit_comm *comm = attention->rt->comm[DIT_AXIS_ULYSSES];
    int64_t replicated = attention_replicated(shape);
    int64_t u = dit_comm_size(comm), n = shape->tokens - replicated, slice = shape->H / u * shape->D;
    float *back = attention->ulysses.back;
    DIT_TRY(dit_comm_all_to_all(comm, src + replicated * slice, back, n * slice * (int64_t)sizeof *back));
    unpack_heads(attention, u, n, slice, back, out + replicated * ldo, ldo);
    if (!replicated) return DIT_OK;
    DIT_TRY(dit_comm_all_gather(comm, src, back, replicated * slice * (int64_t)sizeof *back));
    unpack_heads(attention, u, replicated, slice, back, out, ldo);
    return DIT_OK;
}

dit_status attention_ulysses_around(dit_attention *attention, const dit_attention_shape *shape,
                                    const dit_attention_io *io, attention_inner inner)
{
    dit_attention_shape exchanged = attention_ulysses_exchanged(attention, shape);
    int64_t width = exchanged.H * exchanged.D, entry = exchanged.tokens * width;
    float *const q = attention->ulysses.q, *const k = attention->ulysses.k, *const v = attention->ulysses.v;
    for (int64_t b = 0; b < shape->B; b++) {
        DIT_TRY(exchange_in(attention, shape, io->q + b * io->batch, io->ld, q + b * entry));
        DIT_TRY(exchange_in(attention, shape, io->k + b * io->batch, io->ld, k + b * entry));
        DIT_TRY(exchange_in(attention, shape, io->v + b * io->batch, io->ld, v + b * entry));
    }
    dit_attention_io whole = {.q = q,
                              .k = k,
                              .v = v,
                              .ld = width,
                              .batch = entry,
                              .out = attention->ulysses.out,
                              .ldo = width,
                              .batch_o = entry};
    DIT_TRY(inner(attention, &exchanged, &whole));
    for (int64_t b = 0; b < shape->B; b++)
        DIT_TRY(exchange_out(attention, shape, whole.out + b * entry, io->out + b * io->batch_o, io->ldo));
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
