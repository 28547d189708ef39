/* Local: one rank holds the whole sequence. No communication. The oracle of all other policies. */
#include "engine/attention/policy.h"

dit_status attention_local_forward(dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io)
{
    ops_attention(attention->rt, &(dit_attention_args){
                                     .B = shape->B,
                                     .H = shape->H,
                                     .Sq = shape->tokens,
                                     .Sk = shape->tokens,
                                     .D = shape->D,
                                     .q = io->q,
                                     .k = io->k,
                                     .v = io->v,
                                     .ldq = io->ld,
                                     .ldk = io->ld,
                                     .ldv = io->ld,
                                     .batch_q = io->batch,
                                     .batch_k = io->batch,
                                     .batch_v = io->batch,
                                     .bias = attention_bias(attention, attention->rt->coordinates[DIT_AXIS_RING]),
                                     .scale = attention->scale,
                                     .out = io->out,
                                     .ldo = io->ldo,
                                     .batch_o = io->batch_o,
                                 });
    return DIT_OK;
}

const dit_attention_policy dit_attention_local = {.name = "local", .forward = attention_local_forward};
