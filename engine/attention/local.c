/* Local: one rank holds the whole sequence. No communication. The oracle of all other policies. */
#include "engine/attention/policy.h"

dit_status attention_local_forward(dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io)
{
    dit_runtime *rt = attention->rt;
    int ring_rank = rt->coordinates[DIT_AXIS_RING];
    dit_attention_order order = attention_order(shape, ring_rank, shape->tokens);
    dit_attention_args args = {
        .B = shape->B,
        .H = shape->H,
        .Sq = order.rows,
        .Sk = order.rows,
        .D = shape->D,
        .q = io->q,
        .k = io->k,
        .v = io->v,
        .ldq = io->ld,
        .ldk = attention_ldk(io),
        .ldv = attention_ldk(io),
        .batch_q = io->batch,
        .batch_k = attention_batch_k(io),
        .batch_v = attention_batch_k(io),
        .bias = attention_bias(attention, ring_rank),
        .kv_group = attention->kv_group,
        .kv_first = attention->kv_first,
        .q_position = order.position,
        .k_position = order.position,
        .scale = attention->scale,
        .out = io->out,
        .ldo = io->ldo,
        .batch_o = io->batch_o,
    };
    int64_t began = dit_clock_ns();
    double flops = rt->flops.attention;
    if (shape->H && order.rows) ops_attention(rt, &args);
    attention->hops[0] =
        (dit_attention_hop){.flops = rt->flops.attention - flops, .compute_ns = dit_clock_ns() - began};
    return DIT_OK;
}

const dit_attention_policy dit_attention_local = {.name = "local", .forward = attention_local_forward};
