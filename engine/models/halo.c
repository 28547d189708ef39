#include "engine/models/halo.h"

dit_status dit_halo_create(dit_runtime *rt, int64_t batch, int64_t row, dit_halo *out)
{
    static const dit_axis axes[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING};
    float **const edges[] = {&out->top, &out->bottom, &out->above, &out->below};
    *out = (dit_halo){.rt = rt, .row = row};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (dit_comm_size(rt->comm[axes[i]]) > 1) out->comm = rt->comm[axes[i]];
    for (size_t i = 0; i < sizeof edges / sizeof *edges && out->comm; i++)
        DIT_TRY(dit_arena_activations(&rt->comm_arena, batch * row, edges[i]));
    return DIT_OK;
}

/* Packs one row of every entry densely. */
static void pack_row(const dit_halo *h, const float *x, int64_t batch, int64_t height, int64_t row, float *to)
{
    ops_copy(h->rt, &(dit_copy_args){.n0 = 1,
                                     .n1 = 1,
                                     .n2 = batch,
                                     .inner = h->row,
                                     .src = x + row * h->row,
                                     .src_stride = {0, 0, height * h->row},
                                     .dst = to,
                                     .dst_stride = {0, 0, h->row}});
}

dit_status dit_halo_exchange(const dit_halo *h, const float *x, int64_t batch, int64_t height, const float **above,
                             const float **below)
{
    dit_comm_exchange up, down;
    int64_t bytes = batch * h->row * (int64_t)sizeof *x;
    *above = *below = NULL;
    if (!h->comm) return DIT_OK;
    int rank = dit_comm_rank(h->comm), previous = rank > 0 ? rank - 1 : DIT_COMM_NOBODY;
    int next = rank + 1 < dit_comm_size(h->comm) ? rank + 1 : DIT_COMM_NOBODY;
    if (previous != DIT_COMM_NOBODY) pack_row(h, x, batch, height, 0, h->top), *above = h->above;
    if (next != DIT_COMM_NOBODY) pack_row(h, x, batch, height, height - 1, h->bottom), *below = h->below;
    DIT_TRY(dit_comm_exchange_begin(h->comm, h->top, previous, h->below, next, bytes, &up));
    DIT_TRY(dit_comm_exchange_begin(h->comm, h->bottom, next, h->above, previous, bytes, &down));
    DIT_TRY(dit_comm_exchange_wait(h->comm, &up));
    return dit_comm_exchange_wait(h->comm, &down);
}
