/* PipeFusion: divides the blocks into stages, and lets bands of rows follow each other through them.
 *
 * A task is one forward of a stage: all rows in the synchronous steps (and the fill), then one band after the other.
 * All stages have one order of tasks, so a task's messages follow from its number and need no headers or handshakes.
 * While a stage works on a task, the receives of the next task are posted. A leaving message is copied to its band's
 * buffer. The stage waits for it only when the band comes by again, a step later; by then the receiver has taken it,
 * because this stage's work depends on that. A step that a cache reuses passes the stream on with what the stage's blocks
 * added before: its messages are those of others. A pair of stages exchanges its messages in this order:
 *   stream    to the next stage: the rows of the task, joint text with band 0
 *   skips     outputs of early blocks to the stages of the late blocks that take them (HunyuanDiT), one message per
 *   pair latents   from the last stage, which has guidance and solver, to the first one; not after the last step
 * Source: Fang et al., PipeFusion (arXiv:2405.14430), sections 4.1 and 4.2. What it calls a patch is a band here.
 */
#include "engine/sampling/executor.h"

typedef enum { STREAM, SKIPS, LATENTS } message_kind;

/* One kind of message from or to another stage. */
typedef struct {
    message_kind kind;
    int peer;
    dit_range slots; /* of skips, in a message of skips                                                     */
    float *buffer;   /* leaving: the bands one after the other; arriving: two of `room` floats, used in turn */
    int64_t room;
    dit_comm_exchange *under_way; /* leaving: one per band, and one for all rows; arriving: two                      */
    bool *busy;
} channel;

typedef struct {
    int step, band;
} task;

typedef struct {
    int stage, stages, warmup_steps, steps, last_left;
    int left_out; /* steps that a guest has left out */
    bool fill, waits;
    int64_t tasks;
    channel arriving[DIT_MAX_STAGES + 2], leaving[DIT_MAX_STAGES + 2];
    int arriving_count, leaving_count;
    dit_sampler *sampler;
    dit_comm *comm;
} pipeline;

/* ---- the order of things ----------------------------------------------------------------------------------------- */

static task task_at(const pipeline *p, int64_t index)
{
    int64_t bands = p->sampler->part_count;
    if (p->fill && index-- == 0) return (task){DIT_STEP_FILL, DIT_WINDOW_ALL};
    if (index < p->warmup_steps) return (task){(int)index, DIT_WINDOW_ALL};
    index -= p->warmup_steps;
    return (task){p->warmup_steps + p->left_out + (int)(index / bands), (int)(index % bands)};
}

/* Gives the band whose latents the task waits for; false: none. Latents of a synchronous step come all at once. */
static bool takes_latents(const pipeline *p, task t, int *band)
{
    bool after_whole = t.step - 1 < p->warmup_steps;
    *band = after_whole ? DIT_WINDOW_ALL : t.band;
    return t.step >= 1 && (!after_whole || t.band <= 0);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Returns the floats of a message about `rows` rows of each segment, with the text or without; of latents about rows
 * that are denoised. */
static int64_t floats_of(const pipeline *p, const channel *l, int64_t rows, bool text)
{
    const dit_sampler *s = p->sampler;
    const dit_partition *part = &s->partition;
    int64_t text_rows = text && s->rt->facts.joint ? part->text_count : 0;
    if (l->kind == LATENTS) return part->images * part->segments * rows * s->channels;
    if (l->kind == SKIPS) return l->slots.count * part->batch * part->segments * rows * s->model->width;
    return part->batch * (text_rows + part->segments * rows) * s->model->width;
}

static int64_t message_floats(const pipeline *p, const channel *l, int band)
{
    dit_window window = dit_sampler_window(p->sampler, band, 0);
    int64_t rows = l->kind == LATENTS ? dit_sampler_denoised(p->sampler, &window).count : window.count;
    return floats_of(p, l, rows, window.text);
}

/* Returns where a band's message lies in the buffer of leaving messages. */
static float *leaving_at(const pipeline *p, const channel *l, int band)
{
    int64_t texts = p->sampler->rt->parallel.habits.text_with_every_band ? band : 1;
    const dit_sampler_part *part = &p->sampler->parts[band > 0 ? band : 0];
    int64_t text = floats_of(p, l, 0, true), rows = l->kind == LATENTS ? part->rows.first : part->band.first;
    return band <= 0 ? l->buffer : l->buffer + texts * text + floats_of(p, l, rows, false);
}

/* Returns the slots of outputs of blocks `from` that blocks `to` take. */
static dit_range slots_between(const dit_facts *facts, dit_range from, dit_range to)
{
    int64_t first = facts->layers - to.first - to.count, last = facts->layers - to.first;
    if (first < from.first) first = from.first;
    if (last > from.first + from.count) last = from.first + from.count;
    if (last > facts->skips) last = facts->skips;
    return (dit_range){first, last > first ? last - first : 0};
}

/* ---- making ready ------------------------------------------------------------------------------------------------ */

static dit_status take_exchanges(dit_runtime *rt, int64_t count, channel *l)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->comm_arena, count * (int64_t)sizeof *l->under_way, &memory));
    l->under_way = memory;
    DIT_TRY(dit_arena_alloc(&rt->comm_arena, count * (int64_t)sizeof *l->busy, &memory));
    l->busy = memory;
    return DIT_OK;
}

static dit_status add_arriving(pipeline *p, channel l)
{
    dit_runtime *rt = p->sampler->rt;
    l.room = message_floats(p, &l, DIT_WINDOW_ALL);
    DIT_TRY(take_exchanges(rt, 2, &l));
    DIT_TRY(l.kind == LATENTS ? dit_arena_fp32(&rt->comm_arena, 2 * l.room, &l.buffer)
                              : dit_arena_activations(&rt->comm_arena, 2 * l.room, &l.buffer));
    p->arriving[p->arriving_count++] = l;
    return DIT_OK;
}

/* Adds a leaving channel. Latents leave from where they lie: they change only a step later. */
static dit_status add_leaving(pipeline *p, channel l)
{
    dit_runtime *rt = p->sampler->rt;
    DIT_TRY(take_exchanges(rt, p->sampler->part_count + 1, &l));
    l.buffer = p->sampler->latents;
    int64_t texts = rt->parallel.habits.text_with_every_band ? p->sampler->part_count - 1 : 0;
    int64_t floats = message_floats(p, &l, DIT_WINDOW_ALL) + texts * floats_of(p, &l, 0, true);
    if (l.kind != LATENTS) DIT_TRY(dit_arena_activations(&rt->comm_arena, floats, &l.buffer));
    p->leaving[p->leaving_count++] = l;
    return DIT_OK;
}

static dit_status add_skips(pipeline *p)
{
    const dit_runtime *rt = p->sampler->rt;
    dit_range own = dit_parallel_stage(&rt->parallel, &rt->facts, p->stage);
    for (int peer = 0; peer < p->stages; peer++) {
        dit_range other = dit_parallel_stage(&rt->parallel, &rt->facts, peer);
        channel to = {.kind = SKIPS, .peer = peer, .slots = slots_between(&rt->facts, own, other)};
        channel from = {.kind = SKIPS, .peer = peer, .slots = slots_between(&rt->facts, other, own)};
        if (peer == p->stage) continue;
        if (to.slots.count) DIT_TRY(add_leaving(p, to));
        if (from.slots.count) DIT_TRY(add_arriving(p, from));
    }
    return DIT_OK;
}

/* Opens a link for every direction between two stages. */
static dit_status open_links(const pipeline *p)
{
    int to[DIT_MAX_STAGES + 2], from[DIT_MAX_STAGES + 2];
    for (int i = 0; i < p->leaving_count; i++) to[i] = p->leaving[i].peer;
    for (int i = 0; i < p->arriving_count; i++) from[i] = p->arriving[i].peer;
    return dit_comm_open_links(p->comm, to, p->leaving_count, from, p->arriving_count);
}

static dit_status pipefusion_create(dit_sampler *s)
{
    dit_runtime *rt = s->rt;
    int stale = dit_parallel_stale_steps(&rt->parallel, &rt->facts);
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(pipeline), &memory));
    pipeline *p = s->executor_state = memory;
    p->sampler = s;
    p->comm = rt->comm[DIT_AXIS_PIPEFUSION];
    p->stage = dit_comm_rank(p->comm), p->stages = dit_comm_size(p->comm);
    p->steps = s->scheduler->steps, p->warmup_steps = p->steps - stale;
    p->waits = rt->parallel.habits.stages_wait;
    p->fill = dit_parallel_has_fill(&rt->parallel, &rt->facts);
    p->tasks = p->fill + p->warmup_steps + (int64_t)stale * s->part_count;
    if (p->stage > 0) DIT_TRY(add_arriving(p, (channel){.kind = STREAM, .peer = p->stage - 1}));
    if (p->stage < p->stages - 1) DIT_TRY(add_leaving(p, (channel){.kind = STREAM, .peer = p->stage + 1}));
    DIT_TRY(add_skips(p));
    if (p->stage == 0) DIT_TRY(add_arriving(p, (channel){.kind = LATENTS, .peer = p->stages - 1}));
    if (p->stage == p->stages - 1) DIT_TRY(add_leaving(p, (channel){.kind = LATENTS, .peer = 0}));
    return open_links(p);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Posts the receives of task `index`. */
static dit_status post(pipeline *p, int64_t index)
{
    task t = task_at(p, index);
    for (int i = 0; i < p->arriving_count; i++) {
        channel *l = &p->arriving[i];
        int band = t.band;
        if (l->kind == LATENTS && !takes_latents(p, t, &band)) continue;
        float *to = l->buffer + (index & 1) * l->room;
        DIT_TRY(dit_comm_exchange_begin(p->comm, to, DIT_COMM_NOBODY, to, l->peer,
                                        message_floats(p, l, band) * (int64_t)sizeof *to, &l->under_way[index & 1]));
        l->busy[index & 1] = true;
    }
    return DIT_OK;
}

static void copy(const pipeline *p, const float *from, int64_t floats, float *to)
{
    ops_copy(p->sampler->rt, &(dit_copy_args){.n0 = 1, .n1 = 1, .n2 = 1, .inner = floats, .src = from, .dst = to});
}

/* Copies an arrived message to where it belongs. */
static void take(pipeline *p, const channel *l, task t, const float *arrived)
{
    dit_sampler *s = p->sampler;
    int band = t.band;
    float *to = s->model->stream;
    if (l->kind == LATENTS) takes_latents(p, t, &band);
    if (l->kind == LATENTS) to = band <= 0 ? s->latents : s->parts[band].latents;
    if (l->kind == SKIPS) to = s->model->skips + l->slots.first * dit_model_skip_elements(s->model);
    copy(p, arrived, message_floats(p, l, band), to);
}

static bool receives(const pipeline *p, int64_t index)
{
    int band;
    return p->stage > 0 || takes_latents(p, task_at(p, index), &band);
}

/* Waits for the messages of task `index`. The model's window is already that of the task. */
static dit_status receive(pipeline *p, int64_t index)
{
    for (int i = 0; i < p->arriving_count; i++) {
        channel *l = &p->arriving[i];
        if (!l->busy[index & 1]) continue;
        DIT_TRY(dit_comm_exchange_wait(p->comm, &l->under_way[index & 1]));
        l->busy[index & 1] = false;
        take(p, l, task_at(p, index), l->buffer + (index & 1) * l->room);
    }
    return DIT_OK;
}

static dit_status finish(pipeline *p, channel *l, int64_t slot)
{
    if (!l->busy[slot]) return DIT_OK;
    l->busy[slot] = false;
    return dit_comm_exchange_wait(p->comm, &l->under_way[slot]);
}

/* Waits for the leaving messages of a band, or of all, whose buffers are about to be written again. */
static dit_status wait_for_leaving(pipeline *p, int band)
{
    int64_t bands = p->sampler->part_count;
    for (int i = 0; i < p->leaving_count; i++)
        for (int64_t slot = 0; slot <= bands; slot++)
            if (band == DIT_WINDOW_ALL || slot == band || slot == bands) DIT_TRY(finish(p, &p->leaving[i], slot));
    return DIT_OK;
}

/* Another software's host waits for its device before it sends or receives: for what was computed, and for what was
 * sent. Latents are so small that they leave before they are received. */
static dit_status wait_for_all(pipeline *p)
{
    for (int i = 0; i < p->leaving_count; i++)
        for (int64_t slot = 0; slot <= p->sampler->part_count && p->leaving[i].kind != LATENTS; slot++)
            DIT_TRY(finish(p, &p->leaving[i], slot));
    dit_guest_wait_for_device(p->sampler->rt->guest);
    return DIT_OK;
}

static dit_status send(pipeline *p, channel *l, int band)
{
    dit_sampler *s = p->sampler;
    int slot = band == DIT_WINDOW_ALL ? (int)s->part_count : band;
    int64_t floats = message_floats(p, l, band);
    float *from = leaving_at(p, l, band);
    if (l->kind == STREAM) copy(p, s->model->stream, floats, from);
    if (l->kind == SKIPS) copy(p, s->model->skips + l->slots.first * dit_model_skip_elements(s->model), floats, from);
    DIT_TRY(dit_comm_exchange_begin(p->comm, from, l->peer, from, DIT_COMM_NOBODY, floats * (int64_t)sizeof *from,
                                    &l->under_way[slot]));
    l->busy[slot] = true;
    p->last_left = slot;
    return DIT_OK;
}

static dit_status send_all(pipeline *p, task t)
{
    if (p->waits) DIT_TRY(wait_for_all(p));
    for (int i = 0; i < p->leaving_count; i++) {
        channel *l = &p->leaving[i];
        if (l->kind == LATENTS && (t.step == DIT_STEP_FILL || t.step == p->steps - 1)) continue;
        DIT_TRY(send(p, l, t.band));
    }
    return DIT_OK;
}

/* Polls between blocks, because MPI moves data only inside its calls. */
static void poll(void *context)
{
    pipeline *p = context;
    for (int i = 0; i < p->arriving_count; i++)
        for (int turn = 0; turn < 2; turn++)
            if (p->arriving[i].busy[turn]) dit_comm_exchange_poll(p->comm, &p->arriving[i].under_way[turn]);
    for (int i = 0; i < p->leaving_count; i++)
        if (p->leaving[i].busy[p->last_left]) dit_comm_exchange_poll(p->comm, &p->leaving[i].under_way[p->last_left]);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Posts the receives of task `index` as a software does whose stages wait. */
static dit_status post_late(pipeline *p, int64_t index)
{
    if (receives(p, index)) DIT_TRY(wait_for_all(p));
    return post(p, index);
}

/* Runs one forward of this stage, whose messages have been received. */
static dit_status work(pipeline *p, task t, const dit_condition *condition)
{
    dit_sampler *s = p->sampler;
    int step = t.step == DIT_STEP_FILL ? 0 : t.step;
    dit_window window = dit_sampler_window(s, t.band, t.step);
    if (t.band <= 0) {
        DIT_TRY(dit_sampler_fill_timestep(s, step));
        DIT_TRY(dit_model_begin(s->model, s->timestep));
    }
    if (p->stage == 0) {
        DIT_TRY(dit_sampler_fill_input(s, &window, step, condition));
        DIT_TRY(dit_model_embed(s->model, s->input));
    }
    bool cached = s->cache && t.step != DIT_STEP_FILL;
    DIT_TRY(cached ? dit_cache_blocks(s->cache, poll, p) : dit_model_blocks(s->model, poll, p));
    DIT_TIMED(s->rt, DIT_TIME_STAGES, DIT_TRY(wait_for_leaving(p, t.band)));
    if (p->stage == p->stages - 1 && t.step != DIT_STEP_FILL) {
        DIT_TRY(dit_model_head(s->model, s->output));
        DIT_TRY(dit_sampler_advance(s, &window, step));
    }
    DIT_TIMED(s->rt, DIT_TIME_STAGES, DIT_TRY(send_all(p, t)));
    return DIT_OK;
}

/* Begins the step of task `index`. Receives that were posted for it already have the right sizes. */
static void begin_step(pipeline *p, int64_t index, int64_t *began)
{
    int step = task_at(p, index).step, left_out = dit_sampler_begin_step(p->sampler, step, began) - step;
    p->left_out += left_out;
    p->tasks -= left_out * p->sampler->part_count;
}

static dit_status pipefusion_run(dit_sampler *s, const dit_condition *condition)
{
    pipeline *p = s->executor_state;
    int64_t began = 0;
    if (s->cache) dit_cache_reset(s->cache);
    DIT_TIMED(s->rt, DIT_TIME_STAGES, DIT_TRY(post(p, 0)));
    for (int64_t i = 0; i < p->tasks; i++) {
        task t = task_at(p, i);
        if (t.band <= 0 && t.step != DIT_STEP_FILL) begin_step(p, i, &began);
        t = task_at(p, i);
        dit_window window = dit_sampler_window(s, t.band, t.step);
        dit_model_set_window(s->model, &window);
        DIT_TIMED(s->rt, DIT_TIME_STAGES, {
            DIT_TRY(receive(p, i));
            if (i + 1 < p->tasks && !p->waits) DIT_TRY(post(p, i + 1));
        });
        DIT_TRY(work(p, t, condition));
        if (i + 1 < p->tasks && p->waits) DIT_TIMED(s->rt, DIT_TIME_STAGES, DIT_TRY(post_late(p, i + 1)));
        if (t.step != DIT_STEP_FILL && (t.band == DIT_WINDOW_ALL || t.band == s->part_count - 1))
            DIT_TRY(dit_sampler_end_step(s, t.step, began, false));
    }
    DIT_TIMED(s->rt, DIT_TIME_STAGES, DIT_TRY(wait_for_leaving(p, DIT_WINDOW_ALL)));
    return DIT_OK;
}

static bool pipefusion_serves(const dit_runtime *rt, const dit_parallel *emulates)
{
    (void)emulates;
    return dit_comm_size(rt->comm[DIT_AXIS_PIPEFUSION]) > 1;
}

const dit_executor dit_executor_pipefusion = {
    .name = "pipefusion",
    .serves = pipefusion_serves,
    .create = pipefusion_create,
    .run = pipefusion_run,
    .share = dit_executor_share_last,
};
