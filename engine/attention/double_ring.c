/* Double ring: LoongTrain's 2D attention. Ulysses over the head-parallel ranks, where there are any, and around the
 * context-parallel ones a ring of rings: blocks of K and V go around an inner ring of near ranks, while the block that
 * began the turn goes on to the next inner ring. So every rank of an inner ring has a message under way to another one,
 * and no hop of the inner ring waits for the slow links.
 *
 * Sends per call the r-1 messages of a ring, r/w - 1 of them from one inner ring of w ranks to the next. The rank order
 * decides which ranks are near: placement of the mesh (base/mesh.h).
 * Source: Gu et al., LoongTrain (arXiv:2406.18485), sections 4.1 to 4.3.
 */
#include "engine/attention/attention_impl.h"

typedef struct {
    attention_ulysses *ulysses; /* NULL with one head-parallel rank */
    attention_ring *ring;
} double_ring;

static dit_status double_ring_prepare(dit_attention *attention)
{
    dit_attention_shape shape = attention->shape;
    void *memory;
    DIT_TRY(attention_take(attention, sizeof(double_ring), &memory));
    double_ring *d = attention->state = memory;
    if (dit_comm_size(attention->rt->comm[DIT_AXIS_ULYSSES]) > 1) {
        DIT_TRY(attention_ulysses_create(attention, &d->ulysses));
        shape = attention_ulysses_exchanged(attention, &attention->shape);
    }
    return attention_ring_create(attention, &shape, shape.inner_ring, &d->ring);
}

static dit_status around_ring(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    const double_ring *d = attention->state;
    return attention_ring_run(attention, d->ring, shape, io);
}

static dit_status double_ring_forward(dit_attention *attention, const dit_attention_shape *shape,
                                      const dit_attention_io *io)
{
    const double_ring *d = attention->state;
    if (!d->ulysses) return around_ring(attention, shape, io);
    return attention_ulysses_around(attention, d->ulysses, shape, io, around_ring);
}

const dit_attention_policy dit_attention_double_ring = {
    .name = "double-ring",
    .ulysses = true,
    .ring = true,
    .without_ulysses = true,
    .prepare = double_ring_prepare,
    .forward = double_ring_forward,
};
