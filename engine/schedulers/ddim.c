/* DDIM. Source: Song et al., Denoising Diffusion Implicit Models (arXiv:2010.02502), equations 12 and 16; timesteps and
 * options of diffusers 0.33.1 DDIMScheduler.
 *
 * With a the product at the step's timestep and a' where it ends, x0 the clean sample and e the noise the model means:
 *   s   = eta sqrt((1 - a') / (1 - a)) sqrt(1 - a / a')
 *   x' = sqrt(a') x0 + sqrt(1 - a' - s^2) e + s noise
 */
#include "engine/schedulers/betas.h"

#include <math.h>

typedef struct {
    scheduler_ladder ladder;
    double eta;
    float clip;
    float *x0;
} ddim_state;

static dit_status ddim_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    static const char *const refused[] = {"thresholding", NULL};
    static const scheduler_beta_rules rules = {.schedule = "linear", .start = 0.0001, .end = 0.02};
    DIT_TRY(scheduler_refuse_options(params, refused));
    DIT_TRY(scheduler_alloc(scheduler, params, sizeof(ddim_state)));
    ddim_state *s = scheduler->state;
    s->eta = params->eta;
    DIT_TRY(scheduler_read_clip(params, &s->clip));
    DIT_TRY(scheduler_ladder_read(params, &rules, scheduler, &s->ladder));
    if (s->eta > 0) DIT_TRY(scheduler_alloc_noise(scheduler, params));
    return dit_arena_fp32(&params->rt->image, params->elements, &s->x0);
}

/* e = a[0] sample + a[1] model_output */
static void noise_terms(dit_prediction prediction, double product, double a[2])
{
    double signal = sqrt(product), noise = sqrt(1.0 - product);
    switch (prediction) {
    case DIT_PREDICTION_V: a[0] = noise, a[1] = signal; break;
    case DIT_PREDICTION_SAMPLE: a[0] = 1.0 / noise, a[1] = -signal / noise; break;
    default: a[0] = 0.0, a[1] = 1.0; break;
    }
}

static dit_status ddim_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const ddim_state *s = scheduler->state;
    double a = s->ladder.product[step], next = s->ladder.next[step], e[2];
    double fresh = s->eta * sqrt((1.0 - next) / (1.0 - a) * (1.0 - a / next));
    double direction = sqrt(fmax(1.0 - next - fresh * fresh, 0.0));
    scheduler_clean_sample(scheduler, s->ladder.prediction, sqrt(a), sqrt(1.0 - a), model_output, sample, s->x0);
    DIT_TRY(scheduler_clip(scheduler, s->clip, s->x0));
    noise_terms(s->ladder.prediction, a, e);
    dit_combine_args args = {.elements = scheduler->elements,
                             .count = 3,
                             .x = {s->x0, sample, model_output},
                             .a = {(float)sqrt(next), (float)(direction * e[0]), (float)(direction * e[1])},
                             .y = sample};
    if (s->eta > 0) {
        args.count = 4;
        DIT_TRY(scheduler_draw_noise(scheduler, step, &args.x[3]));
        args.a[3] = (float)fresh;
    }
    ops_combine(scheduler->rt, &args);
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_ddim = {
    .class_name = "DDIMScheduler",
    .takes_eta = true,
    .create = ddim_create,
    .step = ddim_step,
};
