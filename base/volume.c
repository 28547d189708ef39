/* Closed forms: what each rank sends with each method, per image. Every record's counted bytes must equal them.
 *
 * Notation. B: batch rows of this rank (images x guidance branches). n: its image rows. T: its rows of joint text (all
 * of the text where it is replicated). C: hidden size, C/t on one of t tensor ranks. e: bytes of an element (4 for
 * latents). N: degree of the axis in question. u: Ulysses degree.
 * F forwards see all rows: every step of an exact method, and the fill and warm-up steps of a stale one. Z steps are
 * stale. A pipeline makes a stale step in M bands of rows. "A pass" is one forward's bytes; the bytes of F + Z passes
 * go in F + Z M messages, because a stale step sends each band by itself.
 *
 * Attention, for each layer of the rank's own stage:
 *
 *   axis     what is sent                                    messages              bytes of each
 *   -------  ----------------------------------------------  --------------------  -----------------------------------
 *   ulysses  Q, K, V out and the result back, as image rows  4 B (N-1) a pass      n C/N e
 *            split text: travels as more rows                (in those messages)   T C/N e more
 *            replicated text: the result's head slices       B (N-1), F + Z times  T C/N e
 *   ring     K and V, N-1 hops; a stale step sends the       N-1, F + Z M times    2 B (u n) (C/u) e
 *            whole store again with every band
 *            all-gather: the same as a gather; double-ring:
 *            the same messages, r/w - 1 of them from an
 *            inner ring of w ranks to the next
 *            dsp: no K and V, but the stream, to whole       2 B (N-1) a pass      n C/N e
 *            frames and back (all-to-all); an exchange of
 *            Ulysses is of 1/N of the frames, N times as
 *            long: as many bytes in 1/N of the messages
 *   patch    K and V, gathered in every full forward         N-1, F times          2 B n C e
 *            distrifusion: also in stale steps but the last  N-1, Z - 1 times      2 B n C e
 *            pcpp: in those steps to each neighbour          1 each, Z - 1 times   2 B s C e
 *            naive-patch: nothing in stale steps             none
 *            video-infinity: in stale steps halo_frames h    1 each, Z times       2 B h m C e
 *            to each neighbour, and global_frames / N        N-1, Z times          2 B g m C e
 *            frames g to all, of m rows each: no n in it
 *
 *            linear attention: no K and V, but the sums of      2 (N-1) a pass        ceil(B C (d + 1)/N) 4
 *            relu(K) V and relu(K) of heads of d, whichever
 *            axis it is: an all-reduce; n is not in it
 *            a depthwise 3 x 3 convolution of c channels in     1 a pass to each      B w c/t e
 *            the MLP: a row of w pixels to each neighbour       neighbour
 *
 *   Split text counts among the ring's and the gathers' rows n; replicated text stays at home there. pcpp shares s of
 *   the n rows (dit_parallel_shared_rows). Rows of a reference picture are image rows everywhere but in latents, where n
 *   is without them; of these rows and of the latent's pcpp shares a part each. The last stale step sends nothing,
 *   because nobody would read it. Where attention is per frame, the batch rows are B x segments of n / segments tokens.
 *   Where a block attends a second time over image tokens alone, that call counts without the text.
 *
 * Everything else:
 *
 *   tensor   a sum of [B n, C]: a reduce-scatter and an      2 (N-1) a pass        B n C/N e
 *            all-gather; none after a cross-attention with
 *            cross_attention_whole (base/habits.h)
 *            a norm over all heads: a sum of squares a row   N-1 a pass            B n 8
 *            such a norm over keys of a text or image that   N-1, once             B rows 8
 *            blocks only read (cross-attention)
 *            sums of text alone: with the first band only    2 (N-1), F + Z times  B T C/N e
 *            (of a narrower text: its width instead of C)
 *   stages   each but the last to the next: the stream       1 a pass              B (T + n) C e
 *            to the stage where k of its skips end           1 a pass              k B n C e
 *            the last to the first: new latents, after all   1 a pass              images n token_channels e
 *            steps but the very last and not after the fill
 *            the last to all others, in the end: latents     N-1                   images n token_channels e
 *   dualparal  (base/stream.h) K blocks of b rows, T steps,
 *            c rows of context: the stream of a block and    K T                   B b C e, and of all but the first
 *            of the c rows before it, from stage to stage                          block B c C e more
 *            the last to the first: new latents of a block   K (T-1), with context images b token_channels e
 *                                                            K-1 more
 *   tpp      latents of a block, to the next stage           K                     images b token_channels e
 *            both: the last to all others, as above
 *   cfg      the last stage gathers the prediction (tpp:     N-1 a pass, no fill   images n token_channels e
 *            each stage, in its steps)
 *   norms    with cfg_normalization ulysses, then ring or    N-1 a guided step     images 2 g 8
 *            patch add up g norms of an image, twice
 *
 *   fsdp     a rank's piece of each block, of w bytes in     N-1 a pass, a band    w / N, to a multiple of 64
 *            memory, before the block runs; also where a     and a preparation
 *            preparation goes through the blocks (facts)
 *
 *   cache    two sums of each test, over ulysses, then ring, N-1 a test             16, times the degrees before
 *            then cfg: each gathers what the one before has easycache: four         32, times the degrees before
 *
 *   A step that reuses its middle blocks (base/cache.h) leaves out what these blocks would send; one that reuses
 *   modules of a kind, what those would send in all blocks: attention its exchanges, and every output its sum;
 *   a block that is reused by itself, what it would send. A step of one guidance branch has B of this branch. Where
 *   steps are stale, only these may reuse: the blocks of a stage, or of a patch, then have Z less so many stale steps,
 *   and what stages exchange stays.
 *
 *   In the end the latents are gathered over ulysses, then ring or patch, then data.
 *   The stream's text, too, travels with the first band only; with text_with_every_band (base/habits.h) all text goes
 *   in each of F + Z M micro-steps.
 *
 * Sources: Jacobs et al., DeepSpeed-Ulysses (arXiv:2309.14509); Liu et al., Ring Attention (arXiv:2310.01889); Fang and
 * Zhao, USP (arXiv:2405.07719); Fang et al., PipeFusion (arXiv:2405.14430); Li et al., DistriFusion (arXiv:2402.19481);
 * Shoeybi et al., Megatron-LM (arXiv:1909.08053); Rajbhandari et al., ZeRO (arXiv:1910.02054). Exact for joint text, which the papers leave out.
 */
#include "base/volume.h"

#include "base/footprint.h"
#include "base/patches.h"
#include "base/residency.h"
#include "base/share.h"

#include <string.h>

static const char *const collective_names[DIT_COLLECTIVE_COUNT] = {"all_to_all", "all_gather", "send_recv",
                                                                   "all_reduce"};
static const char *const phase_names[DIT_PHASE_COUNT] = {"step", "gather", "decode", "text"};
enum { LATENT_BYTES = 4 };

const char *dit_collective_name(dit_collective collective)
{
    return collective_names[collective];
}
const char *dit_phase_name(dit_phase phase)
{
    return phase_names[phase];
}

dit_volume_place dit_volume_place_of(int index)
{
    return (dit_volume_place){(dit_axis)(index / ((int)DIT_COLLECTIVE_COUNT * (int)DIT_PHASE_COUNT)),
                              (dit_collective)(index / (int)DIT_PHASE_COUNT % (int)DIT_COLLECTIVE_COUNT),
                              (dit_phase)(index % (int)DIT_PHASE_COUNT)};
}

bool dit_volume_place_from_names(const char *axis, const char *collective, const char *phase, dit_volume_place *out)
{
    for (int i = 0; axis && collective && phase && i < DIT_VOLUME_PLACES; i++) {
        *out = dit_volume_place_of(i);
        if (strcmp(axis, dit_axis_name(out->axis)) == 0 &&
            strcmp(collective, dit_collective_name(out->collective)) == 0 &&
            strcmp(phase, dit_phase_name(out->phase)) == 0)
            return true;
    }
    return false;
}

static int64_t count_forwards(const dit_passes *often)
{
    return often->whole + often->stale;
}

static int64_t count_micro_steps(const dit_passes *often)
{
    return often->whole + often->stale * often->bands;
}

static void add(dit_volume *volume, int64_t messages, int64_t bytes_each)
{
    volume->messages += messages;
    volume->bytes += messages * bytes_each;
}

/* Of all rows once a forward: a stale step sends the same bytes, every band its part. */
static void add_passes(dit_volume *volume, const dit_passes *often, int64_t messages, int64_t bytes_each)
{
    volume->messages += count_micro_steps(often) * messages;
    volume->bytes += count_forwards(often) * messages * bytes_each;
}

/* The same of image and text rows together. */
static void add_joint_passes(dit_volume *volume, const dit_passes *often, int64_t messages, int64_t image_bytes,
                             int64_t text_bytes)
{
    add_passes(volume, often, messages, image_bytes);
    volume->bytes += often->text * messages * text_bytes;
}

/* ---- within a stage ---------------------------------------------------------------------------------------------- */

/* `rows` travelling and `replicated` rows of each of `batch` attention calls */
static void predict_ulysses(const dit_share *s, int64_t layer_calls, int64_t batch, int64_t rows, int64_t replicated,
                            dit_volume_table *out)
{
    dit_volume(*at)[DIT_PHASE_COUNT] = out->at[DIT_AXIS_ULYSSES];
    int64_t slice = s->hidden / s->u * s->element, image = s->image_rows / s->segments;
    add_joint_passes(&at[DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP], &s->passes, layer_calls * 4 * batch * (s->u - 1),
                     image * slice, (rows - image) * slice);
    if (replicated)
        add(&at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], s->passes.text * layer_calls * batch * (s->u - 1),
            replicated * slice);
}

static void predict_ring(const dit_share *s, const dit_parallel *parallel, int64_t layer_calls, int64_t batch,
                         int64_t rows, dit_volume_table *out)
{
    int64_t kv_bytes = 2 * batch * s->u * rows * (s->hidden / s->u) * s->element;
    bool gathers = parallel->ring_method == DIT_RING_GATHER;
    add(&out->at[DIT_AXIS_RING][gathers ? DIT_COLLECTIVE_ALL_GATHER : DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP],
        count_micro_steps(&s->passes) * layer_calls * (s->r - 1), kv_bytes);
}

/* In the steps that are not synchronous; K and V of a frame are `frame_bytes`. */
static void predict_frames(const dit_share *s, const dit_parallel *parallel, int64_t layer_calls, int64_t frame_bytes,
                           dit_volume (*at)[DIT_PHASE_COUNT])
{
    int64_t calls = s->passes.stale * layer_calls, neighbours = (s->part > 0) + (s->part < s->patch - 1);
    if (parallel->halo_frames)
        add(&at[DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP], calls * neighbours, parallel->halo_frames * frame_bytes);
    if (parallel->global_frames)
        add(&at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], calls * (s->patch - 1),
            parallel->global_frames / s->patch * frame_bytes);
}

static void predict_patches(const dit_share *s, const dit_parallel *parallel, int64_t layer_calls, int64_t batch,
                            int64_t rows, dit_volume_table *out)
{
    dit_volume(*at)[DIT_PHASE_COUNT] = out->at[DIT_AXIS_PATCH];
    int64_t row_bytes = 2 * batch * s->hidden * s->element, neighbours = (s->part > 0) + (s->part < s->patch - 1);
    int64_t later = s->passes.stale > 0 ? s->passes.stale - 1 : 0, gathers = s->passes.whole;
    if (parallel->patch_method == DIT_PATCH_DISTRIFUSION) gathers += later;
    add(&at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], gathers * layer_calls * (s->patch - 1), rows * row_bytes);
    int64_t shared = dit_parallel_shared_beside(parallel, rows, s->reference_rows);
    if (s->frames) predict_frames(s, parallel, layer_calls, rows * row_bytes / s->frames, at);
    if (parallel->patch_method == DIT_PATCH_PCPP)
        add(&at[DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP], later * layer_calls * neighbours, shared * row_bytes);
}

/* The stream of a rank, all of its channels, goes to whole frames and back around each block within frames. */
static void predict_switch(const dit_share *s, int64_t layer_calls, dit_volume_table *out)
{
    dit_share whole = *s;
    int64_t stream = s->image_rows * s->hidden * s->t * s->element;
    add_passes(&out->at[DIT_AXIS_RING][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP], &s->passes,
               layer_calls * 2 * s->batch * (s->r - 1), stream / s->r);
    whole.segments /= s->r; /* each of r times as many rows */
    if (s->u > 1)
        predict_ulysses(&whole, layer_calls, s->batch * whole.segments, s->image_rows / whole.segments, 0, out);
}

/* Where attention is linear, one of the two axes is 1 (legality.c). */
static dit_axis linear_axis(const dit_share *s)
{
    return s->r > 1 ? DIT_AXIS_RING : DIT_AXIS_ULYSSES;
}

/* Sums over the keys of all ranks, padded so that each adds up as much. */
static void predict_states(const dit_share *s, int64_t calls, dit_volume_table *out)
{
    int64_t ranks = s->u * s->r, part = (s->batch * s->state + ranks - 1) / ranks;
    add_passes(&out->at[linear_axis(s)][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP], &s->passes, calls * 2 * (ranks - 1),
               part * (int64_t)sizeof(float));
}

static void predict_halos(const dit_share *s, dit_volume_table *out)
{
    if (s->u * s->r > 1)
        add_passes(&out->at[linear_axis(s)][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP], &s->passes,
                   s->blocks.halos * s->neighbours, s->batch * s->edge * s->element);
}

/* One kind of call of a forward: `rows` travel, `replicated` ones are everywhere. */
static void predict_calls(const dit_share *s, const dit_parallel *parallel, int64_t calls, int64_t rows,
                          int64_t replicated, dit_volume_table *out)
{
    if (parallel->ring_method == DIT_RING_SWITCH) {
        predict_switch(s, calls, out);
        return;
    }
    int64_t batch = s->batch * s->segments;
    if (s->state) {
        if (s->u * s->r > 1) predict_states(s, calls, out);
        return;
    }
    if (s->u > 1) predict_ulysses(s, calls, batch, rows / s->segments, replicated, out);
    if (s->r > 1) predict_ring(s, parallel, calls, batch, rows / s->segments, out);
    if (s->patch > 1) predict_patches(s, parallel, calls, batch, rows / s->segments, out);
}

static void predict_tensor(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts,
                           dit_volume_table *out)
{
    dit_volume *volume = &out->at[DIT_AXIS_TENSOR][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP];
    const dit_block_run *blocks = &s->blocks;
    int64_t part = s->batch * s->hidden * s->element, row = s->batch * (int64_t)sizeof(double);
    int64_t text_rows = s->moving_rows + s->replicated_rows - s->image_rows, others = s->t - 1;
    int64_t image_sums = blocks->sums.image - (parallel->habits.cross_attention_whole ? blocks->sums.cross : 0);
    add_passes(volume, &s->passes, image_sums * 2 * others, s->image_rows * part);
    add_joint_passes(volume, &s->passes, blocks->sums.both * 2 * others, s->image_rows * part, text_rows * part);
    add_passes(volume, &s->passes, blocks->sums.norms * others, s->image_rows * row);
    int64_t text_part = facts->text_width ? s->batch * facts->text_width / s->t * s->element : part;
    add(volume, s->passes.text * blocks->sums.text * 2 * others, text_rows * text_part);
    int64_t once = blocks->sums.memory * others * dit_facts_transformers(facts);
    add(volume, once, facts->text_tokens * row);
    if (facts->picture_tokens) add(volume, once, facts->picture_tokens * row);
}

/* ---- between stages, and at the end ------------------------------------------------------------------------------ */

/* Skips from a block of stage `from` to a block of stage `to`. */
static int64_t count_skips(const dit_parallel *parallel, const dit_facts *facts, int from, int to)
{
    dit_range source = dit_parallel_stage(parallel, facts, from), sink = dit_parallel_stage(parallel, facts, to);
    int64_t first = facts->layers - (sink.first + sink.count), end = facts->layers - sink.first;
    if (first < source.first) first = source.first;
    if (end > source.first + source.count) end = source.first + source.count;
    if (end > facts->skips) end = facts->skips;
    return end > first ? end - first : 0;
}

static int64_t latent_bytes(const dit_share *s, const dit_facts *facts)
{
    return s->images * (s->image_rows - s->reference_rows) * facts->token_channels * LATENT_BYTES;
}

/* A stage that is not the last one. */
static void predict_stream(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts, dit_volume *volume)
{
    int64_t row_bytes = s->batch * s->hidden * s->t * s->element;
    int64_t text_rows = s->moving_rows + s->replicated_rows - s->image_rows;
    add_joint_passes(volume, &s->passes, 1, s->image_rows * row_bytes, text_rows * row_bytes);
    for (int64_t to = s->stage + 1; to < s->stages; to++) {
        int64_t skips = count_skips(parallel, facts, (int)s->stage, (int)to);
        if (skips) add_passes(volume, &s->passes, 1, skips * s->image_rows * row_bytes);
    }
}

/* Every forward of every block but the last stage's sends the stream of its window; new latents go back to the first
 * stage block by block. */
static void predict_queue(const dit_share *s, const dit_facts *facts, dit_volume *step)
{
    const dit_stream *stream = &s->stream;
    int64_t row = s->batch * s->hidden * s->element, latents = latent_bytes(s, facts) / stream->blocks;
    int64_t again = (stream->blocks - 1) * stream->context_rows;
    if (s->stage < s->stages - 1) {
        step->messages += stream->blocks * stream->all_steps;
        step->bytes += stream->all_steps * (s->image_rows + again) * row;
        return;
    }
    add(step, stream->blocks * (stream->all_steps - 1) + (again ? stream->blocks - 1 : 0), latents);
}

/* Latents go to the stage with the next steps. */
static void predict_stream_stages(const dit_share *s, const dit_facts *facts, dit_volume_table *out)
{
    dit_volume *volume = out->at[DIT_AXIS_PIPEFUSION][DIT_COLLECTIVE_SEND_RECV];
    int64_t bytes = latent_bytes(s, facts);
    if (s->stream.method == DIT_STAGE_DUALPARAL)
        predict_queue(s, facts, &volume[DIT_PHASE_STEP]);
    else if (s->stage < s->stages - 1)
        add(&volume[DIT_PHASE_STEP], s->stream.blocks, bytes / s->stream.blocks);
    if (s->stage == s->stages - 1) add(&volume[DIT_PHASE_GATHER], s->stages - 1, bytes);
}

static void predict_stages(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts,
                           dit_volume_table *out)
{
    dit_volume *volume = out->at[DIT_AXIS_PIPEFUSION][DIT_COLLECTIVE_SEND_RECV];
    dit_passes back = {.whole = facts->steps - s->passes.stale, .stale = s->passes.stale, .bands = s->passes.bands};
    if (s->stage < s->stages - 1) {
        predict_stream(s, parallel, facts, &volume[DIT_PHASE_STEP]);
        return;
    }
    if (back.stale)
        back.stale--;
    else
        back.whole--;
    add_passes(&volume[DIT_PHASE_STEP], &back, 1, latent_bytes(s, facts));
    add(&volume[DIT_PHASE_GATHER], s->stages - 1, latent_bytes(s, facts));
}

static void predict_guidance(const dit_share *s, const dit_facts *facts, dit_volume_table *out)
{
    dit_passes steps = {.whole = facts->steps - s->passes.stale, .stale = s->passes.stale, .bands = s->passes.bands};
    bool of_steps = s->stream.method == DIT_STAGE_TPP; /* each stage then guides its own steps */
    if (of_steps) steps.whole = 0;
    if (s->stage < s->stages - 1 && !of_steps) return;
    add_passes(&out->at[DIT_AXIS_CFG][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], &steps, s->cfg - 1,
               latent_bytes(s, facts));
}

static void predict_norms(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts,
                          dit_volume_table *out)
{
    int64_t bytes = s->images * dit_facts_guidance_sums(facts) * (int64_t)sizeof(double);
    for (int axis = 0; axis < DIT_AXIS_COUNT && bytes; axis++) {
        if (!dit_axis_get((dit_axis)axis)->sequence) continue;
        add(&out->at[axis][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP],
            (facts->steps - facts->unguided_steps) * (dit_parallel_degree(parallel, (dit_axis)axis) - 1), bytes);
    }
}

/* Over the axes that share rows, from the fastest; then over the groups that make different images. */
static void predict_gather(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts,
                           dit_volume_table *out)
{
    int64_t bytes = latent_bytes(s, facts);
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        if (!dit_axis_get((dit_axis)axis)->sequence && axis != DIT_AXIS_DATA) continue;
        int64_t degree = dit_parallel_degree(parallel, (dit_axis)axis);
        add(&out->at[axis][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_GATHER], degree - 1, bytes);
        bytes *= degree;
    }
}

void dit_volume_predict(const dit_parallel *parallel, const dit_facts *facts, int rank, dit_volume_table *out)
{
    dit_share s = dit_share_of(parallel, facts, rank);
    memset(out, 0, sizeof *out);
    predict_calls(&s, parallel, s.blocks.count, s.moving_rows, s.replicated_rows, out);
    predict_calls(&s, parallel, s.blocks.image_layers, s.image_rows, 0, out);
    predict_halos(&s, out);
    if (s.t > 1) predict_tensor(&s, parallel, facts, out);
    if (s.stream.blocks)
        predict_stream_stages(&s, facts, out);
    else if (s.stages > 1)
        predict_stages(&s, parallel, facts, out);
    predict_guidance(&s, facts, out);
    predict_norms(&s, parallel, facts, out);
    predict_gather(&s, parallel, facts, out);
}

/* Adds `sign` times what `calls` of attention, and s->blocks, send in s->passes. */
static void add_blocks(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts, int64_t calls,
                       int64_t sign, dit_volume_table *out)
{
    dit_volume_table sent = {0};
    predict_calls(s, parallel, calls, s->moving_rows, s->replicated_rows, &sent);
    predict_calls(s, parallel, s->blocks.image_layers, s->image_rows, 0, &sent);
    predict_halos(s, &sent);
    if (s->t > 1) predict_tensor(s, parallel, facts, &sent);
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        DIT_VOLUME_AT(out, at)->bytes += sign * DIT_VOLUME_AT(&sent, at)->bytes;
        DIT_VOLUME_AT(out, at)->messages += sign * DIT_VOLUME_AT(&sent, at)->messages;
    }
}

/* Takes away what `calls` of attention, and s->blocks, send in all steps, and adds what they send without `steps` of
 * them: stale ones, where there are any. */
static void leave_out_steps(dit_share *s, const dit_parallel *parallel, const dit_facts *facts, int64_t calls,
                            int64_t steps, dit_volume_table *out)
{
    int64_t texts = parallel->habits.text_with_every_band ? s->passes.bands : 1;
    bool stale = s->passes.stale > 0;
    add_blocks(s, parallel, facts, calls, -1, out);
    *(stale ? &s->passes.stale : &s->passes.whole) -= steps;
    s->passes.text -= stale ? steps * texts : steps;
    add_blocks(s, parallel, facts, calls, 1, out);
}

/* Makes `blocks` those with nothing but their modules of one kind. */
static void only_module(dit_block_run *blocks, dit_module kind)
{
    const dit_module_parts *parts = &blocks->modules[kind];
    blocks->sums.image = parts->image;
    blocks->sums.text = parts->text;
    blocks->sums.both = parts->both;
    blocks->sums.norms = parts->norms;
    blocks->halos = parts->halos;
    if (kind != DIT_MODULE_CROSS) blocks->sums.cross = 0;
    if (kind != DIT_MODULE_ATTENTION) blocks->image_layers = 0;
}

/* Returns the sum of those blocks of [first, first + count) that the rank's stage has. */
static dit_block_run own_blocks(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts, int64_t first,
                                int64_t count)
{
    dit_range own = dit_parallel_stage(parallel, facts, (int)s->stage);
    int64_t end = first + count < own.first + own.count ? first + count : own.first + own.count;
    if (first < own.first) first = own.first;
    return dit_facts_blocks(facts, first, end > first ? end - first : 0);
}

/* Takes away what modules of each kind would have sent in the steps that reused them. */
static void leave_out_modules(const dit_share *whole, const dit_parallel *parallel, const dit_facts *facts,
                              const int64_t steps[DIT_MODULE_COUNT], dit_volume_table *out)
{
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        dit_share s = *whole;
        only_module(&s.blocks, (dit_module)kind);
        leave_out_steps(&s, parallel, facts, s.blocks.modules[kind].calls, steps[kind], out);
    }
}

/* Steps of the positive branch alone send what a batch of this branch does. */
static void add_lone_steps(const dit_share *whole, const dit_parallel *parallel, const dit_facts *facts,
                           const dit_cache_use *use, dit_volume_table *out)
{
    dit_share s = *whole;
    leave_out_steps(&s, parallel, facts, s.blocks.count, use->lone, out);
    s = *whole;
    s.batch = s.images;
    s.passes.whole = s.passes.text = use->lone;
    s.blocks.sums.memory = 0; /* of all branches, once */
    add_blocks(&s, parallel, facts, s.blocks.count, 1, out);
    leave_out_modules(&s, parallel, facts, use->lone_modules, out);
}

/* Takes away what the middle blocks, modules, or single blocks would have sent in the steps that reused them. */
static void leave_out(const dit_share *whole, const dit_parallel *parallel, const dit_facts *facts,
                      const dit_cache_use *use, dit_volume_table *out)
{
    if (use->of_modules) leave_out_modules(whole, parallel, facts, use->modules, out);
    if (use->lone) add_lone_steps(whole, parallel, facts, use, out);
    for (int64_t block = 0; block < facts->layers && use->of_blocks; block++) {
        dit_share s = *whole;
        if (!use->blocks[block]) continue;
        s.blocks = dit_facts_blocks(facts, block, 1);
        leave_out_steps(&s, parallel, facts, s.blocks.count, use->blocks[block], out);
    }
    if (use->of_modules || use->of_blocks) return;
    dit_share s = *whole;
    int64_t count = use->ends ? use->ends : facts->layers - use->first - use->last;
    int64_t late = use->ends ? use->late_hits : 0;
    s.blocks = own_blocks(whole, parallel, facts, use->ends ? facts->layers - count : use->first, count);
    leave_out_steps(&s, parallel, facts, s.blocks.count, use->hits - late, out);
    if (!late) return;
    s = *whole;
    s.blocks = own_blocks(whole, parallel, facts, 0, count);
    leave_out_steps(&s, parallel, facts, s.blocks.count, late, out);
}

void dit_volume_predict_cached(const dit_parallel *parallel, const dit_facts *facts, const dit_cache_use *use, int rank,
                               dit_volume_table *out)
{
    static const dit_axis agree[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_CFG};
    dit_share s = dit_share_of(parallel, facts, rank);
    int64_t bytes = (2 + use->more_sums) * (int64_t)sizeof(double);
    dit_volume_predict(parallel, facts, rank, out);
    leave_out(&s, parallel, facts, use, out);
    for (size_t i = 0; i < sizeof agree / sizeof *agree; i++) {
        int64_t degree = dit_parallel_degree(parallel, agree[i]);
        if (use->alike) break;
        if (use->separate && agree[i] == DIT_AXIS_CFG) continue;
        add(&out->at[agree[i]][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP], use->tests * (degree - 1), bytes);
        bytes *= degree;
    }
}

void dit_volume_predict_shards(const dit_parallel *parallel, const dit_facts *facts, int rank,
                               const int64_t *block_bytes, int64_t count, dit_volume_table *out)
{
    dit_share s = dit_share_of(parallel, facts, rank);
    dit_volume *volume = &out->at[DIT_AXIS_FSDP][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
    int64_t degree = dit_parallel_degree(parallel, DIT_AXIS_FSDP);
    int64_t uses = count_micro_steps(&s.passes) + facts->prepares;
    if (!block_bytes) count = s.blocks.count;
    for (int64_t i = 0; i < count && degree > 1; i++) {
        int64_t bytes = block_bytes ? block_bytes[i] : dit_memory_block_bytes(parallel, facts, rank, i);
        add(volume, uses * (degree - 1), dit_residency_piece(bytes, degree));
    }
}

int64_t dit_volume_total_bytes(const dit_volume_table *table)
{
    int64_t total = 0;
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        total += DIT_VOLUME_AT(table, at)->bytes;
    }
    return total;
}

void dit_volume_resize(dit_volume_table *table, int element_bytes)
{
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        dit_volume *volume = DIT_VOLUME_AT(table, at);
        volume->bytes = volume->bytes / (int64_t)sizeof(float) * element_bytes;
    }
}

void dit_volume_add(dit_volume_table *table, const dit_volume_table *more)
{
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        DIT_VOLUME_AT(table, at)->bytes += DIT_VOLUME_AT(more, at)->bytes;
        DIT_VOLUME_AT(table, at)->messages += DIT_VOLUME_AT(more, at)->messages;
    }
}
