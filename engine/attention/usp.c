/* USP: Ulysses over the fast links, a ring over the slow ones. Ulysses' all-to-all, then a ring over r ranks with H/u
 * heads, then the reverse all-to-all. Source: Fang and Zhao, USP (arXiv:2405.07719). */
#include "engine/attention/attention_impl.h"

typedef struct {
    attention_ulysses *ulysses;
    attention_ring *ring;
} usp;

static dit_status usp_prepare(dit_attention *attention)
{
    dit_attention_shape exchanged = attention_ulysses_exchanged(attention, &attention->shape);
    void *memory;
    DIT_TRY(attention_take(attention, sizeof(usp), &memory));
    usp *u = attention->state = memory;
    DIT_TRY(attention_ulysses_create(attention, &u->ulysses));
    int ranks = dit_comm_size(attention->rt->comm[DIT_AXIS_RING]);
    return attention_ring_create(attention, &exchanged, ranks, &u->ring);
}

static dit_status around_ring(dit_attention *attention, const dit_attention_shape *exchanged,
                              const dit_attention_io *io)
{
    const usp *u = attention->state;
    return attention_ring_run(attention, u->ring, exchanged, io);
}

static dit_status usp_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    const usp *u = attention->state;
    return attention_ulysses_around(attention, u->ulysses, shape, io, around_ring);
}

const dit_attention_policy dit_attention_usp = {
    .name = "usp",
    .ulysses = true,
    .ring = true,
    .prepare = usp_prepare,
    .forward = usp_forward,
};
