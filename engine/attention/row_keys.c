#include "engine/attention/row_keys.h"

int attention_beside(const dit_comm *comm, int side)
{
    int rank = dit_comm_rank(comm) + (side == ATTENTION_PREVIOUS ? -1 : 1);
    return rank < dit_comm_size(comm) ? rank : DIT_COMM_NOBODY; /* -1 before the first */
}

int64_t attention_row_floats(const dit_attention_shape *shape)
{
    return 2 * shape->B * attention_kv_heads(shape) * shape->D;
}

/* Copies K and V of rows [first, first + count) of a call. */
static void pack_rows(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                      int64_t first, int64_t count, float *out)
{
    int64_t width = attention_kv_heads(shape) * shape->D, ld = attention_ldk(io);
    const float *sources[2] = {io->k, io->v};
    for (int i = 0; i < 2 && count; i++)
        ops_copy(attention->rt, &(dit_copy_args){.n0 = shape->B,
                                                 .n1 = count,
                                                 .n2 = 1,
                                                 .inner = width,
                                                 .src = sources[i] + first * ld,
                                                 .src_stride = {attention_batch_k(io), ld, width},
                                                 .dst = out + i * shape->B * width,
                                                 .dst_stride = {width, attention_row_floats(shape), width}});
}

float *attention_place_rows(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                            int64_t before, float *keys)
{
    int64_t text = attention_replicated(shape);
    float *own = keys + (text + before) * attention_row_floats(shape);
    pack_rows(attention, shape, io, 0, text, keys);
    pack_rows(attention, shape, io, text, shape->tokens - text, own);
    return own;
}

void attention_copy_rows(dit_attention *attention, const dit_attention_shape *shape, const float *rows, int64_t count,
                         float *out)
{
    int64_t floats = attention_row_floats(shape);
    ops_copy(attention->rt, &(dit_copy_args){.n0 = 1,
                                             .n1 = count,
                                             .n2 = 1,
                                             .inner = floats,
                                             .src = rows,
                                             .src_stride = {0, floats, floats},
                                             .dst = out,
                                             .dst_stride = {0, floats, floats}});
}

attention_keys attention_row_keys(const dit_attention_shape *shape, const float *keys, int64_t rows)
{
    int64_t width = attention_kv_heads(shape) * shape->D;
    return (attention_keys){.k = keys,
                            .v = keys + shape->B * width,
                            .ld = attention_row_floats(shape),
                            .batch = width,
                            .rows = rows,
                            .replicated = attention_replicated(shape)};
}

dit_attention_args attention_of_entries(const dit_attention *attention, const dit_attention_shape *shape,
                                        const dit_attention_io *io, const attention_keys *keys, dit_range entries)
{
    int64_t b = entries.first;
    const float *bias = attention_bias(attention, 0);
    return (dit_attention_args){.B = entries.count,
                                .H = shape->H,
                                .Sq = shape->tokens,
                                .Sk = keys->rows,
                                .D = shape->D,
                                .q = io->q + b * io->batch,
                                .k = keys->k + b * keys->batch,
                                .v = keys->v + b * keys->batch,
                                .ldq = io->ld,
                                .ldk = keys->ld,
                                .ldv = keys->ld,
                                .batch_q = io->batch,
                                .batch_k = keys->batch,
                                .batch_v = keys->batch,
                                .bias = bias ? bias + b * attention->bias_keys : NULL,
                                .kv_group = attention->kv_group,
                                .kv_first = attention->kv_first,
                                .scale = attention->scale,
                                .out = io->out + b * io->batch_o,
                                .ldo = io->ldo,
                                .batch_o = io->batch_o};
}
