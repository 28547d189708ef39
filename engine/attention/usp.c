/* USP: Ulysses over the fast links, a ring over the slow ones. Ulysses all-to-all, ring over r ranks with H/u heads,
 * reverse all-to-all. Source: Fang and Zhao, USP (arXiv:2405.07719). */
#include "engine/attention/attention_impl.h"

static dit_status usp_prepare(dit_attention *attention)
{
    dit_attention_shape exchanged = attention_ulysses_exchanged(attention, &attention->shape);
    DIT_TRY(attention_ulysses_prepare(attention));
    return attention_ring_prepare(attention, &exchanged);
}

static dit_status usp_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    return attention_ulysses_around(attention, shape, io, attention_ring_forward);
}

const dit_attention_policy dit_attention_usp = {
    .name = "usp",
    .ulysses = true,
    .ring = true,
    .prepare = usp_prepare,
    .forward = usp_forward,
};
