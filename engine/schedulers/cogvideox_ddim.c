/* DDIM as CogVideoX trains and samples it: SNR shift, zero terminal SNR, v-prediction. Source: Yang et al., CogVideoX
 * (arXiv:2408.06072); options of diffusers 0.33.1 CogVideoXDDIMScheduler, whose step neither clips nor adds noise.
 *
 *   x' = r x + (sqrt(a') - sqrt(a) r) x0, r = sqrt((1 - a') / (1 - a))
 */
#include "engine/schedulers/betas.h"

#include <math.h>

typedef struct {
    scheduler_ladder ladder;
    float *x0;
} cogvideox_state;

static dit_status cogvideox_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    static const scheduler_beta_rules rules = {
        .schedule = "scaled_linear", .start = 0.00085, .end = 0.012, .video = true};
    DIT_TRY(scheduler_alloc(scheduler, params, sizeof(cogvideox_state)));
    cogvideox_state *s = scheduler->state;
    DIT_TRY(scheduler_ladder_read(params, &rules, scheduler, &s->ladder));
    return dit_arena_fp32(&params->rt->image, params->elements, &s->x0);
}

static dit_status cogvideox_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const cogvideox_state *s = scheduler->state;
    double a = s->ladder.product[step], next = s->ladder.next[step], r = sqrt((1.0 - next) / (1.0 - a));
    scheduler_clean_sample(scheduler, s->ladder.prediction, sqrt(a), sqrt(1.0 - a), model_output, sample, s->x0);
    ops_combine(scheduler->rt, &(dit_combine_args){.elements = scheduler->elements,
                                                   .count = 2,
                                                   .x = {sample, s->x0},
                                                   .a = {(float)r, (float)(sqrt(next) - sqrt(a) * r)},
                                                   .y = sample});
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_cogvideox_ddim = {
    .class_name = "CogVideoXDDIMScheduler",
    .create = cogvideox_create,
    .step = cogvideox_step,
};
