/* Linear attention with ReLU (Sana): what a query needs of all keys are two sums, relu(K)^T V and relu(K) of each head. A rank
 * makes them of its own rows, the sequence ranks add them up, and each then has the result of its rows.
 *
 * Sends per call, with N sequence ranks along one axis: an all-reduce of B H D (D + 1) floats, 2 (N-1) messages of a
 * 1/N of them; rows are not in it. Ulysses and a ring are the same here. The sums have the same bits on every rank.
 * Source: Xie et al., SANA (arXiv:2410.10629), section 2.2; arithmetic of diffusers 0.42.1 SanaLinearAttnProcessor2_0.
 */
#include "engine/attention/attention_impl.h"
#include "engine/runtime/tensor_parallel.h"

#include <string.h>

static const float EPS = 1e-15f;

typedef struct {
    dit_comm *comm;     /* of the sequence ranks; NULL: there is one */
    float *state, *sum; /* [B, H, D (D + 1)], padded so that the ranks divide it; sum is state on one rank */
} linear;

static int64_t padded(const linear *l, const dit_attention_shape *shape)
{
    int64_t ranks = l->comm ? dit_comm_size(l->comm) : 1, floats = shape->B * shape->H * shape->D * (shape->D + 1);
    return (floats + ranks - 1) / ranks * ranks;
}

/* What fills up is never written, and added all the same. */
static dit_status take_sums(dit_runtime *rt, linear *l, int64_t floats)
{
    dit_arena *arena = l->comm ? &rt->comm_arena : &rt->step;
    DIT_TRY(dit_arena_fp32(arena, floats, &l->state));
    l->sum = l->state;
    if (!l->comm) return DIT_OK;
    DIT_TRY(dit_arena_fp32(arena, floats, &l->sum));
    if (rt->ledger.counting_only) return DIT_OK;
    memset(l->state, 0, (size_t)floats * sizeof *l->state);
    return dit_runtime_upload(rt, l->state, floats);
}

static dit_status linear_prepare(dit_attention *attention)
{
    static const dit_axis axes[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING};
    dit_runtime *rt = attention->rt;
    DIT_TRY(attention_take(attention, sizeof(linear), &attention->state));
    linear *l = attention->state;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (dit_comm_size(rt->comm[axes[i]]) > 1) l->comm = rt->comm[axes[i]];
    return take_sums(rt, l, padded(l, &attention->shape));
}

static dit_status linear_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    dit_runtime *rt = attention->rt;
    const linear *l = attention->state;
    dit_linear_attention_args args = {.B = shape->B,
                                      .H = shape->H,
                                      .S = shape->tokens,
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
                                      .state = l->state,
                                      .eps = EPS,
                                      .out = io->out,
                                      .ldo = io->ldo,
                                      .batch_o = io->batch_o};
    int64_t began = dit_timing_now(rt->timing);
    double flops = rt->flops.attention;
    ops_linear_state(rt, &args);
    if (l->comm) DIT_TRY(dit_comm_sum(l->comm, l->state, padded(l, shape), l->sum, dit_tp_add_blocks, rt));
    args.state = l->sum;
    ops_linear_attention(rt, &args);
    attention_hop_end(attention, 0, flops, began, dit_timing_now(rt->timing));
    return DIT_OK;
}

const dit_attention_policy dit_attention_linear = {
    .name = "linear",
    .linear = true,
    .prepare = linear_prepare,
    .forward = linear_forward,
};
