/* Stream: blocks of a clip's frames come by one after the other, and attend to what this rank has kept of the blocks
 * beside them (base/stream.h says which). Sends nothing.
 *
 * K and V lie as [row][2][B][Hk D] (row_keys.h). In each call of a forward
 *   dualparal   are put together: the rows of the forward, and the first rows of the block behind, which the same call kept
 *               in the forward before. Then those of this block are kept in their place.
 *   tpp         lie in a ring of places, one for each block that is seen and one for the block itself, for each step that
 *               this rank makes. The newest block replaces the oldest; keys have no order, so all places are read at once.
 *
 * Sources: Wang et al., Minute-Long Videos with Dual Parallelisms (arXiv:2505.21070), whose software rotates by the place
 * in the block where this one does by the place in the clip; Live Avatar (arXiv:2512.04677): timestep-forcing pipeline
 * parallelism, without the frames there that every block sees (sinks).
 */
#include "engine/attention/row_keys.h"

#include "base/stream.h"

enum { NOTHING = -1 };

typedef struct {
    dit_stream stream;
    int64_t places;  /* of tpp                                                                                     */
    float *kept;     /* dualparal [calls][context rows], tpp [steps][calls][places][block rows], of [2][B][Hk D]    */
    float *keys;     /* dualparal: [rows of the longest forward + context rows][2][B][Hk D]                         */
    int64_t *newest; /* dualparal [calls], tpp [steps][calls]: whose rows were kept last, as step * blocks + block */
} stream_keys;

static int64_t stamp(const stream_keys *state, int64_t step, int64_t block)
{
    return step * state->stream.blocks + block;
}

static dit_status stream_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_runtime *rt = attention->rt;
    void *memory;
    if (shape->calls == 0 || shape->order || shape->packed || shape->over_time || shape->text)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention \"%s\" needs the frames of a clip", attention->policy->name);
    DIT_TRY(attention_take(attention, sizeof(stream_keys), &attention->state));
    stream_keys *state = attention->state;
    dit_stream *stream = &state->stream;
    *stream = dit_stream_of(&rt->parallel, &rt->facts, rt->coordinates[DIT_AXIS_PIPEFUSION]);
    state->places = stream->context_rows / stream->block_rows + 1;
    bool of_steps = stream->method == DIT_STAGE_TPP;
    int64_t floats = attention_row_floats(shape), slots = shape->calls * (of_steps ? stream->steps.count : 1);
    int64_t rows = of_steps ? state->places * stream->block_rows : stream->context_rows;
    DIT_TRY(dit_arena_activations(&rt->image, slots * rows * floats, &state->kept));
    DIT_TRY(dit_arena_alloc(&rt->image, slots * (int64_t)sizeof *state->newest, &memory));
    state->newest = memory;
    for (int64_t i = 0; i < slots; i++) state->newest[i] = NOTHING;
    if (of_steps || !stream->context_rows) return DIT_OK;
    return dit_arena_activations(&rt->step, (dit_stream_window_most(stream) + stream->context_rows) * floats,
                                 &state->keys);
}

static void attend(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                   const float *rows, int64_t count)
{
    const attention_keys keys = attention_row_keys(shape, rows, count);
    const dit_attention_args args = attention_of_entries(attention, shape, io, &keys, (dit_range){0, shape->B});
    int64_t began = dit_timing_now(attention->rt->timing);
    double flops = attention->rt->flops.attention;
    ops_attention(attention->rt, &args);
    attention_hop_end(attention, 0, flops, began, dit_timing_now(attention->rt->timing));
}

static dit_status check_newest(const stream_keys *state, int64_t slot, int64_t expected)
{
    int64_t found = state->newest[slot], blocks = state->stream.blocks;
    if (found == expected) return DIT_OK;
    return DIT_FAIL(DIT_ERR_INTERNAL, "slot %lld has K and V of step %lld, block %lld, not of step %lld, block %lld",
                    (long long)slot, (long long)(found / blocks), (long long)(found % blocks),
                    (long long)(expected / blocks), (long long)(expected % blocks));
}

static dit_status forward_in_queue(dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io, dit_stream_task task)
{
    stream_keys *state = attention->state;
    const int64_t floats = attention_row_floats(shape), call = attention->call, most = state->stream.context_rows;
    int64_t context = dit_stream_context(&state->stream, task), again = shape->tokens - state->stream.block_rows;
    if (!most) return attention_local_forward(attention, shape, io);
    float *own = attention_place_rows(attention, shape, io, 0, state->keys), *kept = state->kept + call * most * floats;
    if (context) {
        DIT_TRY(check_newest(state, call, stamp(state, task.step - 1, task.block + 1)));
        attention_copy_rows(attention, shape, kept, context, own + shape->tokens * floats);
    }
    attend(attention, shape, io, state->keys, shape->tokens + context);
    attention_copy_rows(attention, shape, own + again * floats, most, kept);
    state->newest[call] = stamp(state, task.step, task.block);
    return DIT_OK;
}

static dit_status forward_in_ring(dit_attention *attention, const dit_attention_shape *shape,
                                  const dit_attention_io *io, dit_stream_task task)
{
    stream_keys *state = attention->state;
    const dit_stream *stream = &state->stream;
    int64_t slot = (task.step - stream->steps.first) * attention->shape.calls + attention->call;
    float *ring = state->kept + slot * state->places * stream->block_rows * attention_row_floats(shape);
    int64_t seen = task.block + 1 < state->places ? task.block + 1 : state->places;
    if (task.block) DIT_TRY(check_newest(state, slot, stamp(state, task.step, task.block - 1)));
    attention_place_rows(attention, shape, io, task.block % state->places * stream->block_rows, ring);
    state->newest[slot] = stamp(state, task.step, task.block);
    attend(attention, shape, io, ring, seen * stream->block_rows);
    return DIT_OK;
}

static dit_status stream_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    const stream_keys *state = attention->state;
    const dit_window *window = &attention->window;
    dit_stream_task task = {.step = window->step, .block = window->band};
    if (window->band == DIT_WINDOW_ALL || attention->call >= attention->shape.calls)
        return DIT_FAIL(DIT_ERR_INTERNAL, "call %lld of %lld about block %d of a stream", (long long)attention->call,
                        (long long)attention->shape.calls, window->band);
    if (state->stream.method == DIT_STAGE_TPP) return forward_in_ring(attention, shape, io, task);
    return forward_in_queue(attention, shape, io, task);
}

const dit_attention_policy dit_attention_stream = {
    .name = "stream", .stream = true, .differs = true, .prepare = stream_prepare, .forward = stream_forward};
