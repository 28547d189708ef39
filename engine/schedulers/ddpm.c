/* DDPM: ancestral sampling. Source: Ho et al., Denoising Diffusion Probabilistic Models (arXiv:2006.11239), equations 7
 * and 15; timesteps, variance types and rounding of diffusers 0.33.1 DDPMScheduler.
 *
 * With a the product at the step's timestep, a' at the next one (1 after the last), b = 1 - a / a':
 *   x' = sqrt(a') b / (1 - a) x0 + sqrt(a / a') (1 - a') / (1 - a) x + s noise
 *   s^2 = b (1 - a') / (1 - a) (fixed_small) or b (fixed_large); no noise at timestep 0
 */
#include "engine/schedulers/betas.h"

#include <math.h>
#include <string.h>

static const float LEAST_VARIANCE = 1e-20f; /* the library keeps logarithms finite with it */

typedef struct {
    scheduler_ladder ladder;
    bool large;
    float clip;
    float *x0;
} ddpm_state;

static dit_status read_variance(const dit_scheduler_params *params, bool *large)
{
    const char *type = "fixed_small";
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "variance_type", &type));
    *large = strcmp(type, "fixed_large") == 0;
    /* fixed_small_log computes the deviation of fixed_small by its logarithm */
    if (*large || strcmp(type, "fixed_small") == 0 || strcmp(type, "fixed_small_log") == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "variance_type \"%s\" is not implemented", type),
                          "fixed_small, fixed_small_log and fixed_large are; the sampler drops a learned variance, and "
                          "fixed_large_log has no real deviation in diffusers 0.33.1");
}

static dit_status ddpm_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    static const char *const refused[] = {"thresholding", NULL};
    static const scheduler_beta_rules rules = {.schedule = "linear", .start = 0.0001, .end = 0.02};
    DIT_TRY(scheduler_refuse_options(params, refused));
    DIT_TRY(scheduler_alloc(scheduler, params, sizeof(ddpm_state)));
    ddpm_state *s = scheduler->state;
    DIT_TRY(read_variance(params, &s->large));
    DIT_TRY(scheduler_read_clip(params, &s->clip));
    DIT_TRY(scheduler_ladder_read(params, &rules, scheduler, &s->ladder));
    for (int i = 0; i < params->steps; i++) s->ladder.next[i] = i + 1 < params->steps ? s->ladder.product[i + 1] : 1.0;
    scheduler->sigmas[params->steps] = 0.0f;
    DIT_TRY(scheduler_alloc_noise(scheduler, params));
    return dit_arena_fp32(&params->rt->image, params->elements, &s->x0);
}

static dit_status ddpm_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const ddpm_state *s = scheduler->state;
    float a = (float)s->ladder.product[step], next = (float)s->ladder.next[step];
    float ratio = a / next, b = 1.0f - ratio;
    float variance = s->large ? b : fmaxf((1.0f - next) / (1.0f - a) * b, LEAST_VARIANCE);
    scheduler_clean_sample(scheduler, s->ladder.prediction, sqrtf(a), sqrtf(1.0f - a), model_output, sample, s->x0);
    DIT_TRY(scheduler_clip(scheduler, s->clip, s->x0));
    dit_combine_args args = {.elements = scheduler->elements,
                             .count = 2,
                             .x = {s->x0, sample},
                             .a = {sqrtf(next) * b / (1.0f - a), sqrtf(ratio) * (1.0f - next) / (1.0f - a)},
                             .y = sample};
    if (scheduler->timesteps[step] > 0) {
        args.count = 3;
        DIT_TRY(scheduler_draw_noise(scheduler, step, &args.x[2]));
        args.a[2] = sqrtf(variance);
    }
    ops_combine(scheduler->rt, &args);
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_ddpm = {
    .class_name = "DDPMScheduler",
    .create = ddpm_create,
    .step = ddpm_step,
};
