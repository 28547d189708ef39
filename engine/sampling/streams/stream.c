/* Stream: lets blocks of a clip's frames go through the stages one after the other, each at a step of its own.
 * base/stream.h says what a stage computes when and what it hands on; every block is a part of the sampler, with its
 * latents and its solver.
 *
 * All stages know the order of the forwards of all others, so that messages need no headers. A stage posts a receive ahead
 * of the forward that needs it:
 *   stream    dualparal: the rows of a forward, to the next stage. Two buffers on either side are used in turn.
 *   latents   of a block that has taken a step: dualparal from the last stage to the first one, tpp to the next stage. They
 *             leave from where they lie, and change only when the receiver has had them; they arrive in a buffer, and are
 *             taken from it when a forward needs them, because one before it may need those they replace.
 * The last stage notes when each block is clean.
 */
#include "base/stream.h"
#include "engine/sampling/executor.h"

enum { TURNS = 2 };

/* Messages about the stream: of forward i in buffer i mod 2. */
typedef struct {
    float *buffer[TURNS]; /* NULL: there is no such neighbour */
    dit_comm_exchange under_way[TURNS];
    bool busy[TURNS];
} turns;

/* Latents that come from `peer`, in its order. */
typedef struct {
    int peer;
    dit_stream from;      /* the peer's                            */
    dit_stream_task next; /* what the message under way is about   */
    bool more;            /* there is one                          */
    float *buffer;        /* NULL: none come                       */
    dit_comm_exchange under_way;
} arrivals;

typedef struct {
    dit_sampler *sampler;
    dit_comm *comm;
    dit_stream stream;
    int stage, stages;
    bool embeds, heads; /* a forward begins here, ends here */
    turns in, out;
    arrivals latents;
    int to;                   /* where latents go; DIT_COMM_NOBODY: nowhere             */
    dit_comm_exchange *leave; /* [blocks] of them                                       */
    bool *leaves;             /* [blocks]                                               */
    int64_t *taken;           /* [blocks] how many steps the latents here are ahead     */
} streamer;

static bool is_queue(const streamer *p)
{
    return p->stream.method == DIT_STAGE_DUALPARAL;
}

static bool is_last(const streamer *p)
{
    return p->stage == p->stages - 1;
}

static int64_t stream_bytes(const streamer *p, int64_t block)
{
    const dit_sampler *s = p->sampler;
    return s->partition.batch * dit_stream_window(&p->stream, block).count * s->model->width * (int64_t)sizeof(float);
}

static int64_t latent_bytes(const streamer *p)
{
    const dit_sampler *s = p->sampler;
    return s->partition.images * p->stream.block_rows * s->channels * (int64_t)sizeof(float);
}

/* ---- making ready ------------------------------------------------------------------------------------------------ */

static dit_status take_turns(streamer *p, turns *t)
{
    int64_t floats = stream_bytes(p, p->stream.blocks - 1) / (int64_t)sizeof(float);
    for (int i = 0; i < TURNS; i++) DIT_TRY(dit_arena_activations(&p->sampler->rt->comm_arena, floats, &t->buffer[i]));
    return DIT_OK;
}

static dit_status take_arrays(streamer *p)
{
    dit_arena *arena = &p->sampler->rt->comm_arena;
    int64_t blocks = p->stream.blocks;
    void *memory;
    DIT_TRY(dit_arena_alloc(arena, blocks * (int64_t)sizeof *p->leave, &memory));
    p->leave = memory;
    DIT_TRY(dit_arena_alloc(arena, blocks * (int64_t)sizeof *p->leaves, &memory));
    p->leaves = memory;
    DIT_TRY(dit_arena_alloc(arena, blocks * (int64_t)sizeof *p->taken, &memory));
    p->taken = memory;
    DIT_TRY(dit_arena_alloc(arena, blocks * (int64_t)sizeof *p->sampler->block_ns, &memory));
    p->sampler->block_ns = memory, p->sampler->block_count = is_last(p) ? blocks : 0;
    return DIT_OK;
}

/* Says from whom and to whom latents go. */
static dit_status join_latents(streamer *p)
{
    dit_sampler *s = p->sampler;
    int before = p->stage > 0 ? p->stage - 1 : DIT_COMM_NOBODY, behind = is_last(p) ? DIT_COMM_NOBODY : p->stage + 1;
    p->to = !is_queue(p) ? behind : is_last(p) ? 0 : DIT_COMM_NOBODY;
    p->latents.peer = !is_queue(p) ? before : p->stage == 0 ? p->stages - 1 : DIT_COMM_NOBODY;
    if (p->latents.peer == DIT_COMM_NOBODY) return DIT_OK;
    p->latents.from = dit_stream_of(&s->rt->parallel, &s->rt->facts, p->latents.peer);
    return dit_arena_fp32(&s->rt->comm_arena, latent_bytes(p) / (int64_t)sizeof(float), &p->latents.buffer);
}

static dit_status open_links(const streamer *p)
{
    int to[2], from[2], leaving = 0, arriving = 0;
    if (p->out.buffer[0]) to[leaving++] = p->stage + 1;
    if (p->to != DIT_COMM_NOBODY) to[leaving++] = p->to;
    if (p->in.buffer[0]) from[arriving++] = p->stage - 1;
    if (p->latents.buffer) from[arriving++] = p->latents.peer;
    return dit_comm_open_links(p->comm, to, leaving, from, arriving);
}

/* The state of a multistep solver would have to go with a block from stage to stage. */
static dit_status check_solver(const streamer *p)
{
    const dit_scheduler *scheduler = p->sampler->scheduler;
    if (is_queue(p) || !scheduler->ops->remembers) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                                   "%s hands blocks on between steps, and %s remembers steps",
                                   dit_stage_method_name(p->stream.method), scheduler->ops->class_name),
                          "take a scheduler that goes by the step alone: FlowMatchEulerDiscreteScheduler, "
                          "EulerDiscreteScheduler, DDIMScheduler");
}

static dit_status stream_create(dit_sampler *s)
{
    dit_runtime *rt = s->rt;
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(streamer), &memory));
    streamer *p = s->executor_state = memory;
    *p = (streamer){.sampler = s, .comm = rt->comm[DIT_AXIS_PIPEFUSION]};
    p->stage = dit_comm_rank(p->comm), p->stages = dit_comm_size(p->comm);
    p->stream = dit_stream_of(&rt->parallel, &rt->facts, p->stage);
    p->embeds = !is_queue(p) || p->stage == 0, p->heads = !is_queue(p) || is_last(p);
    DIT_TRY(check_solver(p));
    DIT_TRY(take_arrays(p));
    if (!p->embeds) DIT_TRY(take_turns(p, &p->in));
    if (!p->heads) DIT_TRY(take_turns(p, &p->out));
    DIT_TRY(join_latents(p));
    return open_links(p);
}

/* ---- latents ----------------------------------------------------------------------------------------------------- */

static dit_status post_latents(streamer *p)
{
    arrivals *a = &p->latents;
    if (!a->more) return DIT_OK;
    return dit_comm_exchange_begin(p->comm, a->buffer, DIT_COMM_NOBODY, a->buffer, a->peer, latent_bytes(p),
                                   &a->under_way);
}

/* Goes on to the next forward of the peer behind which latents come; `first`: this one may be it. */
static void find_latents(arrivals *a, bool first)
{
    if (!first) a->more = dit_stream_next(&a->from, &a->next);
    while (a->more && !dit_stream_hands_on(&a->from, a->next, false)) a->more = dit_stream_next(&a->from, &a->next);
}

static dit_status begin_latents(streamer *p)
{
    arrivals *a = &p->latents;
    for (int64_t i = 0; i < p->stream.blocks; i++) p->taken[i] = 0;
    if (!a->buffer) return DIT_OK;
    a->next = dit_stream_first(&a->from), a->more = true;
    find_latents(a, true);
    return post_latents(p);
}

static void copy(const streamer *p, const float *from, int64_t bytes, float *to)
{
    ops_copy(
        p->sampler->rt,
        &(dit_copy_args){.n0 = 1, .n1 = 1, .n2 = 1, .inner = bytes / (int64_t)sizeof *from, .src = from, .dst = to});
}

/* Takes latents as they come until those of `block` have taken `steps` steps. */
static dit_status need_latents(streamer *p, int64_t block, int64_t steps)
{
    arrivals *a = &p->latents;
    while (a->buffer && p->taken[block] < steps) {
        if (!a->more)
            return DIT_FAIL(DIT_ERR_INTERNAL, "no latents of block %lld come behind step %lld", (long long)block,
                            (long long)p->taken[block]);
        DIT_TRY(dit_comm_exchange_wait(p->comm, &a->under_way));
        copy(p, a->buffer, latent_bytes(p), p->sampler->parts[a->next.block].latents);
        p->taken[a->next.block] = a->next.step + 1;
        find_latents(a, false);
        DIT_TRY(post_latents(p));
    }
    return DIT_OK;
}

/* What a forward that begins here reads: its block's, and those of the frames before that are computed again. */
static dit_status need_input(streamer *p, dit_stream_task t)
{
    bool again = dit_stream_window(&p->stream, t.block).count > p->stream.block_rows;
    DIT_TRY(need_latents(p, t.block, is_queue(p) ? t.step : p->stream.steps.first));
    return again ? need_latents(p, t.block - 1, t.step + 1) : DIT_OK;
}

static dit_status wait_for_leave(streamer *p, int64_t block)
{
    if (!p->leaves[block]) return DIT_OK;
    p->leaves[block] = false;
    return dit_comm_exchange_wait(p->comm, &p->leave[block]);
}

static dit_status send_latents(streamer *p, dit_stream_task t)
{
    float *latents = p->sampler->parts[t.block].latents;
    if (p->to == DIT_COMM_NOBODY || !dit_stream_hands_on(&p->stream, t, !is_queue(p) && is_last(p))) return DIT_OK;
    p->leaves[t.block] = true;
    return dit_comm_exchange_begin(p->comm, latents, p->to, latents, DIT_COMM_NOBODY, latent_bytes(p),
                                   &p->leave[t.block]);
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

static dit_status finish(streamer *p, turns *t, int turn)
{
    if (!t->busy[turn]) return DIT_OK;
    t->busy[turn] = false;
    return dit_comm_exchange_wait(p->comm, &t->under_way[turn]);
}

/* Posts the receive of forward `index`. */
static dit_status post(streamer *p, int64_t index, dit_stream_task t)
{
    int turn = (int)(index % TURNS);
    float *to = p->in.buffer[turn];
    if (!to) return DIT_OK;
    p->in.busy[turn] = true;
    return dit_comm_exchange_begin(p->comm, to, DIT_COMM_NOBODY, to, p->stage - 1, stream_bytes(p, t.block),
                                   &p->in.under_way[turn]);
}

static dit_status receive(streamer *p, int64_t index, dit_stream_task t)
{
    int turn = (int)(index % TURNS);
    if (!p->in.buffer[turn]) return DIT_OK;
    DIT_TRY(finish(p, &p->in, turn));
    copy(p, p->in.buffer[turn], stream_bytes(p, t.block), p->sampler->model->stream);
    return DIT_OK;
}

static dit_status send(streamer *p, int64_t index, dit_stream_task t)
{
    int turn = (int)(index % TURNS);
    float *from = p->out.buffer[turn];
    if (!from) return DIT_OK;
    DIT_TRY(finish(p, &p->out, turn));
    copy(p, p->sampler->model->stream, stream_bytes(p, t.block), from);
    p->out.busy[turn] = true;
    return dit_comm_exchange_begin(p->comm, from, p->stage + 1, from, DIT_COMM_NOBODY, stream_bytes(p, t.block),
                                   &p->out.under_way[turn]);
}

/* Polls between layers, because MPI moves data only inside its calls. */
static void poll(void *context)
{
    streamer *p = context;
    for (int i = 0; i < TURNS; i++) {
        if (p->in.busy[i]) dit_comm_exchange_poll(p->comm, &p->in.under_way[i]);
        if (p->out.busy[i]) dit_comm_exchange_poll(p->comm, &p->out.under_way[i]);
    }
    if (p->latents.buffer && p->latents.more) dit_comm_exchange_poll(p->comm, &p->latents.under_way);
    for (int64_t i = 0; i < p->stream.blocks; i++)
        if (p->leaves[i]) dit_comm_exchange_poll(p->comm, &p->leave[i]);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static dit_window window_of(const streamer *p, dit_stream_task t)
{
    dit_range rows = dit_stream_window(&p->stream, t.block);
    return (dit_window){
        .first = rows.first, .count = rows.count, .text = true, .band = (int)t.block, .step = (int)t.step};
}

static dit_status work(streamer *p, const dit_window *window, const dit_condition *condition)
{
    dit_sampler *s = p->sampler;
    int step = window->step;
    if (p->embeds) DIT_TRY(dit_sampler_fill_input(s, window, step, condition));
    if (!p->embeds) DIT_TRY(dit_sampler_fill_timestep(s, step));
    DIT_TRY(dit_model_begin(s->model, s->timestep));
    if (p->embeds) DIT_TRY(dit_model_embed(s->model, s->input));
    DIT_TRY(dit_model_blocks(s->model, poll, p));
    if (!p->heads) return DIT_OK;
    DIT_TRY(dit_model_head(s->model, s->output));
    DIT_TIMED(s->rt, DIT_TIME_STAGES, DIT_TRY(wait_for_leave(p, window->band)));
    return dit_sampler_advance(s, window, step);
}

/* Runs forward `index`; `next`: NULL, or the one after, whose rows are received meanwhile. */
static dit_status run_one(streamer *p, int64_t index, dit_stream_task t, const dit_stream_task *next,
                          const dit_condition *condition)
{
    dit_sampler *s = p->sampler;
    const dit_window window = window_of(p, t);
    int64_t began;
    dit_sampler_enter_step(s, (int)t.step, &began);
    dit_model_set_window(s->model, &window);
    DIT_TIMED(s->rt, DIT_TIME_STAGES, {
        if (p->embeds) DIT_TRY(need_input(p, t));
        DIT_TRY(receive(p, index, t));
        if (next) DIT_TRY(post(p, index + 1, *next));
    });
    DIT_TRY(work(p, &window, condition));
    DIT_TIMED(s->rt, DIT_TIME_STAGES, {
        DIT_TRY(send(p, index, t));
        DIT_TRY(send_latents(p, t));
    });
    return dit_sampler_end_step(s, (int)t.step, began, false);
}

/* Notes that a block is clean, `began` the run's begin. */
static void note_clean(const streamer *p, dit_stream_task t, int64_t began)
{
    dit_timing *timing = p->sampler->rt->timing;
    if (!is_last(p) || t.step + 1 < p->stream.all_steps) return;
    p->sampler->block_ns[t.block] = 0;
    dit_timing_add(timing, began, dit_timing_now(timing), &p->sampler->block_ns[t.block]);
}

static dit_status wait_for_all(streamer *p)
{
    for (int i = 0; i < TURNS; i++) DIT_TRY(finish(p, &p->out, i));
    for (int64_t i = 0; i < p->stream.blocks; i++) DIT_TRY(wait_for_leave(p, i));
    /* the rest of what comes, which no forward here needs */
    for (arrivals *a = &p->latents; a->buffer && a->more;) DIT_TRY(need_latents(p, a->next.block, a->next.step + 1));
    return DIT_OK;
}

static dit_status stream_run(dit_sampler *s, const dit_condition *condition)
{
    streamer *p = s->executor_state;
    dit_stream_task now = dit_stream_first(&p->stream), next = now;
    int64_t began = dit_timing_now(s->rt->timing);
    DIT_TIMED(s->rt, DIT_TIME_STAGES, {
        DIT_TRY(begin_latents(p));
        DIT_TRY(post(p, 0, now));
    });
    for (int64_t i = 0, more = true; more; i++, now = next) {
        more = dit_stream_next(&p->stream, &next);
        DIT_TRY(run_one(p, i, now, more ? &next : NULL, condition));
        note_clean(p, now, began);
    }
    DIT_TIMED(s->rt, DIT_TIME_STAGES, DIT_TRY(wait_for_all(p)));
    return DIT_OK;
}

static bool stream_serves(const dit_runtime *rt, const dit_parallel *emulates)
{
    (void)emulates;
    return dit_comm_size(rt->comm[DIT_AXIS_PIPEFUSION]) > 1 && dit_parallel_streams(&rt->parallel);
}

const dit_executor dit_executor_stream = {.name = "stream",
                                          .serves = stream_serves,
                                          .create = stream_create,
                                          .run = stream_run,
                                          .share = dit_executor_share_last};
