/* CogVideoX's stochastic DPM-Solver++ (2M SDE). Source: Lu et al., DPM-Solver++ (arXiv:2211.01095), SDE form; options
 * and order rules of diffusers 0.33.1 CogVideoXDPMScheduler as CogVideoXPipeline calls it (the step before is the one
 * that was sampled, no eta).
 *
 * With lambda = log sqrt(a / (1 - a)), h = lambda' - lambda, r = (lambda - lambda_before) / h:
 *   x' = sqrt((1 - a') / (1 - a)) e^-h x + sqrt(a') (1 - e^-2h) d + sqrt((1 - a') (1 - e^-2h)) noise
 *   d  = x0 on the first step and on one that ends below timestep 0, else (1 + 1/2r) x0 - 1/2r x0_before
 */
#include "engine/schedulers/betas.h"

#include <math.h>

typedef struct {
    scheduler_ladder ladder;
    float *x0[2]; /* newest at [step & 1] */
} cogvideox_state;

static dit_status cogvideox_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    static const scheduler_beta_rules rules = {
        .schedule = "scaled_linear", .start = 0.00085, .end = 0.012, .video = true};
    DIT_TRY(scheduler_alloc(scheduler, params, sizeof(cogvideox_state)));
    cogvideox_state *s = scheduler->state;
    DIT_TRY(scheduler_ladder_read(params, &rules, scheduler, &s->ladder));
    for (int i = 0; i < 2; i++) DIT_TRY(dit_arena_fp32(&params->rt->image, params->elements, &s->x0[i]));
    return scheduler_alloc_noise(scheduler, params);
}

/* Returns log(signal/noise): -inf without signal, +inf without noise. Both occur, and the formulas above then have
 * finite limits. */
static double lambda_of(double product)
{
    return 0.5 * log(product / (1.0 - product));
}

static dit_status cogvideox_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const cogvideox_state *s = scheduler->state;
    const scheduler_ladder *ladder = &s->ladder;
    double a = ladder->product[step], next = ladder->next[step];
    double h = lambda_of(next) - lambda_of(a), gain = -expm1(-2.0 * h), drive = sqrt(next) * gain, before = 0.0;
    bool ends_below = (int64_t)scheduler->timesteps[step] < ladder->span;
    const float *x0 = s->x0[step & 1], *x0_before = s->x0[(step + 1) & 1], *noise;
    DIT_TRY(scheduler_draw_noise(scheduler, step, &noise));
    if (step > 0 && !ends_below) before = 0.5 * h / (lambda_of(a) - lambda_of(ladder->product[step - 1]));
    scheduler_clean_sample(scheduler, ladder->prediction, sqrt(a), sqrt(1.0 - a), model_output, sample,
                           s->x0[step & 1]);
    ops_combine(scheduler->rt, &(dit_combine_args){.elements = scheduler->elements,
                                                   .count = before != 0.0 ? 4 : 3,
                                                   .x = {sample, x0, noise, x0_before},
                                                   .a = {(float)(sqrt((1.0 - next) / (1.0 - a)) * exp(-h)),
                                                         (float)(drive * (1.0 + before)),
                                                         (float)sqrt((1.0 - next) * gain), (float)(-drive * before)},
                                                   .y = sample});
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_cogvideox_dpm = {
    .class_name = "CogVideoXDPMScheduler",
    .remembers = true,
    .step_tensors = 2,
    .create = cogvideox_create,
    .step = cogvideox_step,
};
