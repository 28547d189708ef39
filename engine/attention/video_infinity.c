/* Video-Infinity: a rank has a run of a clip's frames and attends to them, to some frames of its two neighbours and to
 * some frames of the whole clip. All of these are of this step: nothing is kept for the next one.
 *
 * In a call each rank sends its first halo_frames frames to the rank before it and its last ones to the rank behind it,
 * and gives global_frames / N of its frames, evenly spaced from its first one, to all N ranks. A frame that comes to a
 * rank in several ways is there once. In the first warmup_steps steps K and V of all frames are gathered instead, and
 * attention is exact. Replicated joint text belongs to every rank and does not travel.
 *
 * A call with over_time attends place by place to the frames that are there; one within frames sends nothing.
 *
 * Sends per call, with m rows a frame and Hk heads of K and V: one message of 2 B halo_frames m Hk D floats to each
 * neighbour, and N-1 messages of 2 B global_frames / N m Hk D floats. None of them grows with the clip.
 *
 * K and V lie as [row][2][B][Hk D]: text, the neighbour's frames, own ones, the other neighbour's, and the global
 * frames that are none of these. Messages of neighbours leave from there and arrive there.
 *
 * Source: Tan et al., Video-Infinity (arXiv:2406.16260): clip parallelism and dual-scope attention. Their software
 * bounds what each query sees within the run, too, and counts a frame twice that is near and global. Their U-Net also
 * exchanges frames of its convolutions over time, and sums of its group norms; the transformers here have neither.
 */
#include "engine/attention/row_keys.h"

#include "base/patches.h"

typedef struct {
    float *keys;     /* [rows][2][B][Hk D]: what a call attends to                              */
    float *given;    /* [given rows][2][B][Hk D]: what this rank gives to all                   */
    float *gathered; /* [N][given rows][2][B][Hk D]: what all ranks give                        */
} clip_keys;

/* How the clip is cut, in frames, and where this rank is. */
typedef struct {
    int64_t frame_rows; /* rows of a frame                 */
    int64_t own;        /* frames of a rank                */
    int64_t halo, given;
    int rank, ranks;
} clip_cut;

static dit_comm *clip_comm(const dit_attention *attention)
{
    return attention->rt->comm[DIT_AXIS_PATCH];
}

static clip_keys *kept(const dit_attention *attention)
{
    return attention->state;
}

static clip_cut cut_of(const dit_attention *attention, const dit_attention_shape *shape)
{
    const dit_parallel *parallel = &attention->rt->parallel;
    clip_cut cut = {.rank = dit_comm_rank(clip_comm(attention)), .ranks = dit_comm_size(clip_comm(attention))};
    cut.own = dit_facts_frames(&attention->rt->facts) / cut.ranks;
    cut.frame_rows = (shape->tokens - attention_replicated(shape)) / cut.own;
    cut.halo = parallel->halo_frames, cut.given = parallel->global_frames / cut.ranks;
    return cut;
}

/* Whether there is a rank on that side. */
static bool has_neighbour(const clip_cut *cut, int side)
{
    return side == ATTENTION_PREVIOUS ? cut->rank > 0 : cut->rank + 1 < cut->ranks;
}

/* Frames of the neighbour on that side that this rank sees. */
static int64_t frames_beside(const clip_cut *cut, int side)
{
    return has_neighbour(cut, side) ? cut->halo : 0;
}

static int64_t near_frames(const clip_cut *cut)
{
    return cut->own + frames_beside(cut, ATTENTION_PREVIOUS) + frames_beside(cut, ATTENTION_NEXT);
}

/* Frame `index` from 0 of those that rank `rank` gives to all, in the clip. */
static int64_t global_frame(const clip_cut *cut, int rank, int64_t index)
{
    return rank * cut->own + index * cut->own / cut->given;
}

/* Whether a frame of the clip is one of this rank or lies in its neighbours' halo. */
static bool is_near(const clip_cut *cut, int64_t frame)
{
    int64_t first = cut->rank * cut->own - cut->halo;
    return frame >= first && frame < first + cut->own + 2 * cut->halo;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int64_t count_far_frames(const clip_cut *cut)
{
    int64_t count = 0;
    for (int rank = 0; rank < cut->ranks; rank++)
        for (int64_t i = 0; i < cut->given; i++) count += !is_near(cut, global_frame(cut, rank, i));
    return count;
}

static dit_status take_arrays(dit_attention *attention, const clip_cut *cut)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_runtime *rt = attention->rt;
    dit_arena *arena = &rt->comm_arena;
    bool synchronous = rt->parallel.warmup_steps > 0, all = dit_parallel_stale_steps(&rt->parallel, &rt->facts) == 0;
    int64_t floats = attention_row_floats(shape), frame = cut->frame_rows * floats;
    int64_t seen = near_frames(cut) + count_far_frames(cut), frames = synchronous ? cut->ranks * cut->own : seen;
    DIT_TRY(
        dit_arena_activations(arena, attention_replicated(shape) * floats + frames * frame, &kept(attention)->keys));
    if (all || !cut->given) return DIT_OK;
    DIT_TRY(dit_arena_activations(arena, cut->given * frame, &kept(attention)->given));
    return dit_arena_activations(arena, cut->ranks * cut->given * frame, &kept(attention)->gathered);
}

static dit_status video_infinity_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    if (shape->within_frames) return DIT_OK;
    if (shape->calls == 0 || shape->order || shape->packed)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention \"%s\" needs the frames of a clip", attention->policy->name),
            "one layer alone has none; use ulysses_degree and ring_degree");
    clip_cut cut = cut_of(attention, shape);
    DIT_TRY(attention_take(attention, sizeof(clip_keys), &attention->state));
    return take_arrays(attention, &cut);
}

/* ---- what travels ------------------------------------------------------------------------------------------------ */

/* Begins to send own frames to the neighbours, and to receive theirs around them. Returns how many transfers began. */
static dit_status begin_halos(dit_attention *attention, const clip_cut *cut, int64_t frame, float *own,
                              dit_comm_exchange transfers[ATTENTION_SIDES], int *begun)
{
    for (int side = 0; side < ATTENTION_SIDES; side++) {
        int64_t floats = frames_beside(cut, side) * frame;
        const float *leaving = side == ATTENTION_PREVIOUS ? own : own + cut->own * frame - floats;
        float *arriving = side == ATTENTION_PREVIOUS ? own - floats : own + cut->own * frame;
        int peer = attention_beside(clip_comm(attention), side);
        if (!floats) continue;
        DIT_TRY(dit_comm_exchange_begin(clip_comm(attention), leaving, peer, arriving, peer,
                                        floats * (int64_t)sizeof *own, &transfers[(*begun)++]));
    }
    return DIT_OK;
}

/* Gathers what each rank gives to all, and appends to `end` the frames that are not near. Returns how many in *far. */
static dit_status gather_global(dit_attention *attention, const dit_attention_shape *shape, const clip_cut *cut,
                                const float *own, float *end, int64_t *far)
{
    const int64_t rows = cut->frame_rows, frame = rows * attention_row_floats(shape);
    const clip_keys *state = kept(attention);
    *far = 0;
    if (!cut->given) return DIT_OK;
    for (int64_t i = 0; i < cut->given; i++)
        attention_copy_rows(attention, shape, own + (global_frame(cut, cut->rank, i) - cut->rank * cut->own) * frame,
                            rows, state->given + i * frame);
    DIT_TRY(dit_comm_all_gather(clip_comm(attention), state->given, state->gathered,
                                cut->given * frame * (int64_t)sizeof *own));
    for (int64_t i = 0; i < cut->ranks * cut->given; i++)
        if (!is_near(cut, global_frame(cut, (int)(i / cut->given), i % cut->given)))
            attention_copy_rows(attention, shape, state->gathered + i * frame, rows, end + (*far)++ * frame);
    return DIT_OK;
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Makes the arguments those of attention over time: places are the batch, and their rows lie a frame apart. */
static void turn_over_time(const clip_cut *cut, dit_attention_args *args)
{
    args->B = cut->frame_rows;
    args->Sq /= cut->frame_rows, args->Sk /= cut->frame_rows;
    args->batch_q = args->ldq, args->batch_k = args->ldk, args->batch_v = args->ldv, args->batch_o = args->ldo;
    args->ldq *= cut->frame_rows, args->ldk *= cut->frame_rows, args->ldv *= cut->frame_rows;
    args->ldo *= cut->frame_rows;
}

/* One batch entry after the other: a bias is that of all keys, and a call has fewer of them. */
static void attend(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                   const clip_cut *cut, int64_t frames)
{
    const attention_keys keys =
        attention_row_keys(shape, kept(attention)->keys, attention_replicated(shape) + frames * cut->frame_rows);
    int64_t began = dit_timing_now(attention->rt->timing);
    double flops = attention->rt->flops.attention;
    for (int64_t b = 0; b < shape->B; b++) {
        dit_attention_args args = attention_of_entries(attention, shape, io, &keys, (dit_range){b, 1});
        if (shape->over_time) turn_over_time(cut, &args);
        ops_attention(attention->rt, &args);
    }
    attention_hop_end(attention, 0, flops, began, dit_timing_now(attention->rt->timing));
}

static dit_status attend_synchronously(dit_attention *attention, const dit_attention_shape *shape,
                                       const dit_attention_io *io, const clip_cut *cut)
{
    const float *own =
        attention_place_rows(attention, shape, io, cut->rank * cut->own * cut->frame_rows, kept(attention)->keys);
    int64_t rows = cut->own * cut->frame_rows, floats = attention_row_floats(shape);
    DIT_TRY(dit_comm_all_gather(clip_comm(attention), own, kept(attention)->keys + attention_replicated(shape) * floats,
                                rows * floats * (int64_t)sizeof *own));
    attend(attention, shape, io, cut, cut->ranks * cut->own);
    return DIT_OK;
}

static dit_status video_infinity_forward(dit_attention *attention, const dit_attention_shape *shape,
                                         const dit_attention_io *io)
{
    dit_comm_exchange transfers[ATTENTION_SIDES];
    int begun = 0;
    int64_t far;
    if (shape->within_frames) return attention_local_forward(attention, shape, io);
    const clip_cut cut = cut_of(attention, shape);
    const int64_t frame = cut.frame_rows * attention_row_floats(shape);
    if (attention->window.step < attention->rt->parallel.warmup_steps)
        return attend_synchronously(attention, shape, io, &cut);
    int64_t before = frames_beside(&cut, ATTENTION_PREVIOUS), near = near_frames(&cut);
    float *own = attention_place_rows(attention, shape, io, before * cut.frame_rows, kept(attention)->keys);
    DIT_TRY(begin_halos(attention, &cut, frame, own, transfers, &begun));
    DIT_TRY(gather_global(attention, shape, &cut, own, own + (near - before) * frame, &far));
    for (int i = 0; i < begun; i++) DIT_TRY(dit_comm_exchange_wait(clip_comm(attention), &transfers[i]));
    attend(attention, shape, io, &cut, near + far);
    return DIT_OK;
}

const dit_attention_policy dit_attention_video_infinity = {
    .name = "video-infinity",
    .patch = true,
    .differs = true,
    .prepare = video_infinity_prepare,
    .forward = video_infinity_forward,
};
