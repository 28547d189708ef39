/* Local: one rank holds the whole sequence and sends nothing. Exact policies must give what this one gives. */
#include "engine/attention/attention_impl.h"

void attention_over_keys(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                         const attention_keys *keys, float *scores)
{
    dit_runtime *rt = attention->rt;
    int ring_rank = rt->coordinates[DIT_AXIS_RING];
    dit_attention_order own = attention_order(shape, ring_rank, shape->tokens);
    dit_attention_order theirs = attention_order(shape, ring_rank, keys->rows);
    dit_attention_args args = {
        .B = shape->B,
        .H = shape->H,
        .Sq = own.rows,
        .Sk = theirs.rows,
        .D = shape->D,
        .q = io->q,
        .k = keys->k,
        .v = keys->v,
        .ldq = io->ld,
        .ldk = keys->ld,
        .ldv = keys->ld,
        .batch_q = io->batch,
        .batch_k = keys->batch,
        .batch_v = keys->batch,
        .bias = attention_bias(attention, ring_rank),
        .kv_group = attention->kv_group,
        .kv_first = attention->kv_first,
        .q_position = own.position,
        .k_position = theirs.position,
        .mask = shape->mask,
        .scale = attention->scale,
        .out = io->out,
        .ldo = io->ldo,
        .batch_o = io->batch_o,
        .scores = scores,
    };
    int64_t began = dit_timing_now(rt->timing);
    double flops = rt->flops.attention;
    if (shape->H && own.rows) ops_attention(rt, &args);
    attention_hop_end(attention, 0, flops, began, dit_timing_now(rt->timing));
}

dit_status attention_local_forward_through(dit_attention *attention, const dit_attention_shape *shape,
                                           const dit_attention_io *io, float *scores)
{
    attention_keys keys;
    DIT_TRY(attention_take_keys(attention, shape, io, &keys));
    attention_over_keys(attention, shape, io, &keys, scores);
    return DIT_OK;
}

dit_status attention_local_forward(dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io)
{
    return attention_local_forward_through(attention, shape, io, NULL);
}

const dit_attention_policy dit_attention_local = {.name = "local", .forward = attention_local_forward};
