/* Oracle: computes on one rank what an approximate method must give, by nothing but forwards of all rows: it has no
 * bands, stages or messages. A synchronous step is one forward. A stale step is one forward for each group of rows (the
 * bands of a pipeline, or patches), in order; each forward's rows of its own group are kept and the rest is dropped.
 * The attention policy decides which K and V a forward sees (attention/oracle.h). A stale step costs as many forwards
 * as there are groups. Groups that see K and V of this step of each other (Video-Infinity) are computed again and again:
 * a sweep over all groups makes the K and V of one more layer right, and the last sweep counts. With a cache, a group's forward reuses what that group's forward added (cache_oracle.h); the
 * synchronous steps are those of all groups. */
#include "engine/attention/oracle.h"
#include "engine/sampling/cache_oracle.h"
#include "engine/sampling/executor.h"

typedef struct {
    dit_oracle oracle;
    dit_cache_oracle *cache; /* NULL: there is none                                  */
    float *output;           /* [batch, image_count, output_channels] of one forward */
} oracle_state;

static dit_status tell_policies(const dit_model *model, const dit_oracle *oracle)
{
    for (int i = 0; i < DIT_MODEL_POLICIES; i++)
        if (model->attention[i]) DIT_TRY(dit_attention_set_oracle(model->attention[i], oracle));
    return DIT_OK;
}

static dit_status oracle_create(dit_sampler *s)
{
    const dit_partition *part = &s->partition;
    void *memory;
    DIT_TRY(dit_arena_alloc(&s->rt->image, sizeof(oracle_state), &memory));
    oracle_state *state = s->executor_state = memory;
    dit_oracle_init(&state->oracle, s->emulates, &s->rt->facts);
    DIT_TRY(tell_policies(s->first, &state->oracle));
    if (s->second) DIT_TRY(tell_policies(s->second, &state->oracle)); /* every step is synchronous then: legality.c */
    state->cache = NULL;
    if (s->emulates_cache) DIT_TRY(dit_cache_oracle_create(s, &state->oracle, &state->cache));
    return dit_arena_fp32(&s->rt->step, part->batch * part->image_count * s->model->output_channels, &state->output);
}

static dit_status forward(dit_sampler *s, int group, int step, float *output)
{
    oracle_state *state = s->executor_state;
    const dit_forward_args args = {.latents = s->input, .timestep = s->timestep, .output = output, .step = step};
    state->oracle.group = group;
    bool cached = state->cache && step != DIT_STEP_FILL;
    return cached ? dit_cache_oracle_forward(state->cache, &args) : dit_model_forward(s->model, &args);
}

/* Copies the group's rows of a forward's output into the output of the step; nobody reads those of a reference. */
static void take_group(dit_sampler *s, int group)
{
    const oracle_state *state = s->executor_state;
    bool whole = dit_oracle_is_of_frames(&state->oracle); /* a group's rows lie together */
    int64_t pieces = s->partition.batch * (whole ? 1 : s->partition.segments), channels = s->model->output_channels;
    int64_t rows = whole ? s->partition.image_tokens : s->partition.segment_tokens;
    dit_range own = dit_oracle_rows(&state->oracle, group, whole ? rows : s->latents_of.segment_tokens);
    ops_copy(s->rt, &(dit_copy_args){.n0 = pieces,
                                     .n1 = own.count,
                                     .n2 = 1,
                                     .inner = channels,
                                     .src = state->output + own.first * channels,
                                     .src_stride = {rows * channels, channels, channels},
                                     .dst = s->output + own.first * channels,
                                     .dst_stride = {rows * channels, channels, channels}});
}

static dit_status run_stale(dit_sampler *s, int step)
{
    oracle_state *state = s->executor_state;
    int64_t sweeps = dit_oracle_sweeps(&state->oracle, &s->rt->facts);
    for (int64_t i = 0; i < sweeps * state->oracle.groups; i++) {
        int group = (int)(i % state->oracle.groups);
        DIT_TRY(forward(s, group, step, state->output));
        take_group(s, group);
    }
    return DIT_OK;
}

static dit_status forward_step(dit_sampler *s, int step)
{
    oracle_state *state = s->executor_state;
    DIT_TRY(step < s->emulates->warmup_steps ? forward(s, DIT_ORACLE_ALL, step, s->output) : run_stale(s, step));
    dit_oracle_end_step(&state->oracle, !state->cache || dit_cache_oracle_computed(state->cache, step));
    return DIT_OK;
}

/* Fills K and V: without synchronous steps, the first step's inputs give the K and V of the step before it. */
static dit_status fill(dit_sampler *s, const dit_condition *condition)
{
    dit_window all = dit_sampler_window(s, DIT_WINDOW_ALL, DIT_STEP_FILL);
    DIT_TRY(dit_sampler_fill_input(s, &all, 0, condition));
    DIT_TRY(forward(s, DIT_ORACLE_ALL, DIT_STEP_FILL, s->output));
    dit_oracle_end_step(&((oracle_state *)s->executor_state)->oracle, true);
    return DIT_OK;
}

static dit_status oracle_run(dit_sampler *s, const dit_condition *condition)
{
    const oracle_state *state = s->executor_state;
    if (state->cache) dit_cache_oracle_begin(state->cache);
    if (dit_parallel_has_fill(s->emulates, &s->rt->facts)) DIT_TRY(fill(s, condition));
    return dit_sampler_each_step(s, condition, forward_step);
}

static const dit_cache_log *oracle_cache_log(const dit_sampler *s, int group)
{
    const oracle_state *state = s->executor_state;
    return dit_cache_oracle_log(state->cache, group);
}

static bool oracle_serves(const dit_runtime *rt, const dit_parallel *emulates)
{
    (void)rt;
    return emulates != NULL;
}

const dit_executor dit_executor_oracle = {.name = "oracle",
                                          .serves = oracle_serves,
                                          .create = oracle_create,
                                          .run = oracle_run,
                                          .cache_log = oracle_cache_log};
