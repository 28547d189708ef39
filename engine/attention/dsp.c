/* DSP, dynamic sequence parallelism: the stream changes hands, and attention needs no other rank.
 *
 * For models whose blocks attend within frames and over time in turn. A rank has its piece of every frame, which is
 * all that attention over time needs. Around a block that attends within frames, an all-to-all over the ring ranks
 * gives each of them 1/r of the frames, whole, and another one gives the pieces back. Ulysses ranks share what is
 * left: the pieces that r ring ranks with equal Ulysses ranks have of a frame, so that the block's attention is
 * Ulysses' own. Softmax does not depend on the order of keys.
 *
 * Sends per block within frames: 2 B (r-1) messages of n C / r floats, n the rank's rows of a batch entry: half of the
 * bytes of Ulysses, which exchanges q, k, v and the result.
 * Source: Zhao et al., DSP (arXiv:2403.10266).
 */
#include "engine/attention/attention_impl.h"

#include <string.h>

typedef struct {
    attention_ulysses *ulysses; /* NULL with one Ulysses rank                                                */
    float *pieces;              /* [r][frames / r][tokens of a piece][C]: of one batch entry, by ring rank   */
} dsp;

static dit_status dsp_prepare(dit_attention *attention)
{
    dit_runtime *rt = attention->rt;
    void *memory;
    DIT_TRY(attention_take(attention, sizeof(dsp), &memory));
    dsp *d = attention->state = memory;
    if (dit_comm_size(rt->comm[DIT_AXIS_ULYSSES]) > 1) DIT_TRY(attention_ulysses_create(attention, &d->ulysses));
    return DIT_OK;
}

/* A call is of whole frames, while the window counts rows of pieces. */
static dit_status dsp_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    const dsp *d = attention->state;
    dit_attention_shape whole = *shape;
    whole.tokens = attention->shape.tokens;
    if (!d->ulysses) return attention_local_forward(attention, &whole, io);
    return attention_ulysses_around(attention, d->ulysses, &whole, io, attention_local_forward);
}

/* Between pieces in the order of ring ranks and pieces in the order of frames. */
static void order_pieces(dit_runtime *rt, int64_t ranks, int64_t frames, int64_t piece, bool to_frames,
                         const float *src, float *dst)
{
    dit_copy_args args = {.n0 = ranks, .n1 = frames, .n2 = 1, .inner = piece, .src = src, .dst = dst};
    int64_t by_rank[] = {frames * piece, piece, piece}, by_frame[] = {piece, ranks * piece, piece};
    memcpy(args.src_stride, to_frames ? by_rank : by_frame, sizeof by_rank);
    memcpy(args.dst_stride, to_frames ? by_frame : by_rank, sizeof by_rank);
    ops_copy(rt, &args);
}

static bool is_dsp(const dit_attention *attention)
{
    return attention->policy == &dit_attention_dsp;
}

int64_t dit_attention_count_frames(const dit_runtime *rt, int64_t frames)
{
    bool whole = rt->parallel.ring_method == DIT_RING_SWITCH;
    return whole ? frames / dit_comm_size(rt->comm[DIT_AXIS_RING]) : frames;
}

dit_status dit_attention_reserve_frames(dit_attention *attention, int64_t floats)
{
    dsp *d = attention->state;
    return is_dsp(attention) ? dit_arena_activations(&attention->rt->comm_arena, floats, &d->pieces) : DIT_OK;
}

dit_status dit_attention_exchange_frames(dit_attention *attention, float *x, int64_t batch, int64_t frames,
                                         int64_t piece, bool whole)
{
    dit_runtime *rt = attention->rt;
    dit_comm *ring = rt->comm[DIT_AXIS_RING];
    const dsp *d = attention->state;
    int64_t ranks = dit_comm_size(ring), block = frames / ranks * piece * (int64_t)sizeof *x;
    if (!is_dsp(attention)) return DIT_OK;
    for (int64_t b = 0; b < batch; b++, x += frames * piece) {
        dit_guest_begin_entry(rt->guest, b, batch);
        if (!whole) order_pieces(rt, ranks, frames / ranks, piece, false, x, d->pieces);
        DIT_TRY(dit_comm_all_to_all(ring, whole ? x : d->pieces, whole ? d->pieces : x, block));
        if (whole) order_pieces(rt, ranks, frames / ranks, piece, true, d->pieces, x);
    }
    dit_guest_begin_entry(rt->guest, 0, 1);
    return DIT_OK;
}

const dit_attention_policy dit_attention_dsp = {
    .name = "dsp",
    .ulysses = true,
    .ring = true,
    .without_ulysses = true,
    .prepare = dsp_prepare,
    .forward = dsp_forward,
};
