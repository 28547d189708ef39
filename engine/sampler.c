#include "engine/sampler.h"

#include "base/rng.h"
#include "engine/fault.h"

#include <math.h>
#include <string.h>

void dit_sampler_draw(const dit_sampler *s, const char *stream, int64_t draw, float deviation, float *out)
{
    const dit_partition *part = &s->partition;
    int64_t run = part->segment_count * s->channels;
    int64_t whole = s->rt->facts.num_images * part->image_tokens * s->channels;
    for (int64_t i = 0; i < part->images * part->segments; i++) {
        int64_t token = (part->image_first * part->segments + i) * part->segment_tokens + part->segment_begin;
        dit_rng_normal(s->seed, dit_rng_stream(stream), (uint64_t)(draw * whole + token * s->channels), run, 0.0f,
                       deviation, out + i * run);
    }
}

static void draw_step_noise(void *context, int step, float *out)
{
    dit_sampler_draw(context, "step-noise", step, 1.0f, out);
}

dit_status dit_sampler_init(dit_sampler *s, const dit_scheduler_params *scheduler)
{
    dit_runtime *rt = s->rt;
    const dit_partition *part = &s->partition;
    dit_scheduler_params params = *scheduler;
    int64_t rows = part->batch * part->image_count;
    int64_t all = rt->facts.num_images * rt->facts.image_tokens;
    s->channels = rt->facts.token_channels;
    s->elements = part->images * part->image_count * s->channels;
    s->beside = s->model->needs[DIT_CONDITION_LATENT].elements / part->image_tokens;
    if (s->model->input_channels != s->channels + s->beside || s->model->output_channels < s->channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "latent tokens have %lld channels, the model takes %lld and gives %lld",
                        (long long)s->channels, (long long)s->model->input_channels,
                        (long long)s->model->output_channels);
    struct {
        dit_arena *arena;
        float **at;
        int64_t count;
    } buffers[] = {
        {&rt->image, &s->latents, s->elements},
        {&rt->image, &s->noise_pred, s->elements},
        {&rt->step, &s->scaled, s->elements},
        {&rt->step, &s->input, rows * s->model->input_channels},
        {&rt->step, &s->output, rows * s->model->output_channels},
        {&rt->step, &s->prediction, rows * s->channels},
        {&rt->step, &s->timestep, part->batch},
        {&rt->comm_arena, &s->gathered, 2 * s->elements},
        {&rt->comm_arena, &s->full, all * s->channels},
        {&rt->comm_arena, &s->scratch, all * s->channels},
    };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        DIT_TRY(dit_arena_floats(buffers[i].arena, buffers[i].count, buffers[i].at));
    params.rt = rt;
    params.elements = s->elements;
    params.image_tokens = rt->facts.image_tokens;
    params.linspace_sigmas = s->model->linspace_sigmas;
    params.noise = draw_step_noise;
    params.noise_context = s;
    return dit_scheduler_create(&params, &s->scheduler);
}

/* Columns [first, first + cols) of the model's input rows. */
static void place_columns(dit_sampler *s, const float *src, int64_t rows, int64_t cols, float *input, int64_t first)
{
    ops_copy(s->rt, &(dit_copy_args){.n0 = 1,
                                     .n1 = rows,
                                     .n2 = 1,
                                     .inner = cols,
                                     .src = src,
                                     .src_stride = {0, cols, cols},
                                     .dst = input + first,
                                     .dst_stride = {0, s->model->input_channels, cols}});
}

/* The same latents for every guidance branch of this rank, each token followed by what is set beside it. */
static void fill_input(dit_sampler *s, int step, const dit_condition *condition)
{
    int64_t rows = s->partition.images * s->partition.image_count;
    dit_scheduler_scale_input(s->scheduler, step, s->latents, s->scaled);
    for (int64_t branch = 0; branch < s->partition.branches; branch++)
        place_columns(s, s->scaled, rows, s->channels, s->input + branch * rows * s->model->input_channels, 0);
    if (s->beside)
        place_columns(s, condition->at[DIT_CONDITION_LATENT], s->partition.branches * rows, s->beside, s->input,
                      s->channels);
    for (int64_t b = 0; b < s->partition.batch; b++)
        s->timestep[b] = s->scheduler->timesteps[step] / s->model->timestep_divisor;
}

/* noise_pred = negative + g (positive - negative); learned variance (channels beyond the latent's) is dropped. */
static dit_status guide(dit_sampler *s)
{
    int64_t rows = s->partition.batch * s->partition.image_count, channels = s->channels;
    bool guided = s->rt->facts.guidance_branches == 2;
    float *prediction = guided ? s->prediction : s->noise_pred;
    const float *negative = prediction, *positive = prediction + s->elements;
    ops_copy(s->rt, &(dit_copy_args){.n0 = 1,
                                     .n1 = rows,
                                     .n2 = 1,
                                     .inner = channels,
                                     .src = s->output,
                                     .src_stride = {0, s->model->output_channels, channels},
                                     .dst = prediction,
                                     .dst_stride = {0, channels, channels}});
    if (!guided) return DIT_OK;
    if (s->partition.branches == 1) {
        DIT_TRY(dit_comm_all_gather(s->rt->comm[DIT_AXIS_CFG], s->prediction, s->gathered,
                                    s->elements * (int64_t)sizeof *s->gathered));
        negative = s->gathered;
        positive = s->gathered + s->elements;
    }
    ops_combine(s->rt, &(dit_combine_args){.elements = s->elements,
                                           .count = 2,
                                           .x = {negative, positive},
                                           .a = {1.0f - s->guidance_scale, s->guidance_scale},
                                           .y = s->noise_pred});
    return DIT_OK;
}

static dit_status run_step(dit_sampler *s, int step, const dit_condition *condition)
{
    dit_fault_at_step(step, s->latents);
    fill_input(s, step, condition);
    DIT_TRY(dit_model_forward(s->model,
                              &(dit_forward_args){.latents = s->input, .timestep = s->timestep, .output = s->output, .step = step}));
    DIT_TIMED(s->rt, DIT_TIME_SCHEDULER, {
        DIT_TRY(guide(s));
        dit_scheduler_step(s->scheduler, step, s->noise_pred, s->latents);
    });
    return DIT_OK;
}

dit_status dit_sampler_run(dit_sampler *s, const dit_condition *condition)
{
    dit_runtime_set_phase(s->rt, DIT_PHASE_STEP);
    DIT_TIMED(s->rt, DIT_TIME_PREPARE, DIT_TRY(dit_model_prepare(s->model, condition)));
    for (int step = 0; step < s->scheduler->steps; step++) {
        int64_t began = dit_clock_ns();
        if (s->rt->trace) s->rt->trace->step = step;
        DIT_TRY(run_step(s, step, condition));
        if (s->step_ns) s->step_ns[step] = dit_clock_ns() - began;
        if (s->on_step) DIT_TRY(s->on_step(s, step, s->context));
    }
    if (s->rt->trace) s->rt->trace->step = -1;
    return DIT_OK;
}

dit_status dit_sampler_gather(dit_sampler *s)
{
    dit_runtime_set_phase(s->rt, DIT_PHASE_GATHER);
    DIT_TIMED(
        s->rt, DIT_TIME_GATHER,
        DIT_TRY(dit_partition_gather_latents(s->rt, &s->partition, s->latents, s->channels, s->scratch, s->full)));
    int64_t all = s->rt->facts.num_images * s->rt->facts.image_tokens * s->channels;
    for (int64_t i = 0; i < all; i++)
        if (!isfinite(s->full[i]))
            return DIT_FAIL(DIT_ERR_NONFINITE, "latents_final[%lld] is not finite after %d steps", (long long)i,
                            s->scheduler->steps);
    return DIT_OK;
}
