/* Stream oracle: computes on one rank what the stages of a stream must give, by forwards of all rows. It knows neither
 * stages, queues nor messages: in every step it makes a forward about each block, in the order of the clip, and lets the
 * block alone take the step. The attention policy decides which K and V a forward sees (attention/oracle.h). It costs as
 * many forwards of the whole clip as there are blocks and steps. */
#include "engine/attention/oracle.h"
#include "engine/sampling/executor.h"

typedef struct {
    dit_oracle oracle;
    float *output; /* [batch, image_count, output_channels] of one forward */
} oracle_state;

static dit_status stream_oracle_create(dit_sampler *s)
{
    const dit_partition *part = &s->partition;
    void *memory;
    DIT_TRY(dit_arena_alloc(&s->rt->image, sizeof(oracle_state), &memory));
    oracle_state *state = s->executor_state = memory;
    dit_oracle_init(&state->oracle, s->emulates, &s->rt->facts);
    for (int i = 0; i < DIT_MODEL_POLICIES; i++)
        if (s->first->attention[i]) DIT_TRY(dit_attention_set_oracle(s->first->attention[i], &state->oracle));
    return dit_arena_fp32(&s->rt->step, part->batch * part->image_count * s->model->output_channels, &state->output);
}

/* Copies the block's rows of a forward's output to the front of the sampler's. */
static void take_block(dit_sampler *s, const dit_window *block)
{
    const oracle_state *state = s->executor_state;
    int64_t channels = s->model->output_channels, all = s->partition.image_count;
    ops_copy(s->rt, &(dit_copy_args){.n0 = s->partition.batch,
                                     .n1 = block->count,
                                     .n2 = 1,
                                     .inner = channels,
                                     .src = state->output + block->first * channels,
                                     .src_stride = {all * channels, channels, channels},
                                     .dst = s->output,
                                     .dst_stride = {block->count * channels, channels, channels}});
}

static dit_status run_block(dit_sampler *s, int step, int block, const dit_condition *condition)
{
    oracle_state *state = s->executor_state;
    dit_window all = dit_sampler_window(s, DIT_WINDOW_ALL, step), own = dit_sampler_window(s, block, step);
    const dit_forward_args args = {.latents = s->input, .timestep = s->timestep, .output = state->output, .step = step};
    DIT_TRY(dit_sampler_fill_input(s, &all, step, condition));
    state->oracle.group = block;
    DIT_TRY(dit_model_forward(s->model, &args));
    take_block(s, &own);
    return dit_sampler_advance(s, &own, step);
}

static dit_status stream_oracle_run(dit_sampler *s, const dit_condition *condition)
{
    oracle_state *state = s->executor_state;
    for (int step = 0; step < s->scheduler->steps; step++) {
        int64_t began;
        dit_sampler_enter_step(s, step, &began);
        for (int block = 0; block < s->part_count; block++) DIT_TRY(run_block(s, step, block, condition));
        dit_oracle_end_step(&state->oracle, true);
        DIT_TRY(dit_sampler_end_step(s, step, began, true));
    }
    return DIT_OK;
}

static bool stream_oracle_serves(const dit_runtime *rt, const dit_parallel *emulates)
{
    (void)rt;
    return emulates && dit_parallel_streams(emulates);
}

const dit_executor dit_executor_stream_oracle = {
    .name = "stream-oracle", .serves = stream_oracle_serves, .create = stream_oracle_create, .run = stream_oracle_run};
