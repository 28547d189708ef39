/* Euler over sigma. Source: Karras et al., Elucidating the Design Space (arXiv:2206.00364), algorithm 1 without its
 * second order; sigmas, input scale and initial noise of diffusers 0.33.1 EulerDiscreteScheduler.
 *
 * The sample is x0 + sigma noise; the model sees it divided by sqrt(sigma^2 + 1).
 *   x' = x + (sigma' - sigma) (x - x0) / sigma
 */
#include "engine/schedulers/betas.h"

#include <math.h>
#include <string.h>

typedef struct {
    dit_prediction prediction;
} euler_state;

static dit_status read_options(const dit_scheduler_params *params, dit_prediction *prediction)
{
    static const char *const refused[] = {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas", NULL};
    const char *interpolation = "linear", *timesteps = "discrete";
    DIT_TRY(scheduler_refuse_options(params, refused));
    DIT_TRY(scheduler_read_prediction(params, prediction));
    DIT_TRY(
        dit_json_optional_string(params->doc, params->config, params->pointer, "interpolation_type", &interpolation));
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "timestep_type", &timesteps));
    if (strcmp(interpolation, "linear") != 0 || strcmp(timesteps, "discrete") != 0 ||
        *prediction == DIT_PREDICTION_FLOW)
        return DIT_FAIL(
            DIT_ERR_UNSUPPORTED,
            "EulerDiscreteScheduler with interpolation_type \"%s\", timestep_type \"%s\"%s is not implemented",
            interpolation, timesteps, *prediction == DIT_PREDICTION_FLOW ? ", flow_prediction" : "");
    return DIT_OK;
}

/* Reads the deviation of the initial noise: spacings that start at the last training timestep start from pure noise,
 * the other one from noise added to a sample. */
static dit_status read_initial_noise(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    const char *spacing = "linspace";
    float sigma = scheduler->sigmas[0];
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "timestep_spacing", &spacing));
    scheduler->init_noise_sigma = strcmp(spacing, "leading") == 0 ? sqrtf(sigma * sigma + 1.0f) : sigma;
    return DIT_OK;
}

static dit_status place_sigmas(const dit_scheduler_params *params, const scheduler_betas *betas,
                               dit_scheduler *scheduler)
{
    bool zero;
    DIT_TRY(scheduler_read_final_sigma(params, &zero));
    DIT_TRY(scheduler_place_timesteps(
        params, &(scheduler_spacing){.spacing = "linspace", .train = betas->count, .fractional = true},
        scheduler->timesteps));
    for (int i = 0; i < params->steps; i++) scheduler->sigmas[i] = scheduler_sigma_at(betas, scheduler->timesteps[i]);
    scheduler->sigmas[params->steps] = zero ? 0.0f : scheduler_sigma_of(betas->product[0]);
    return read_initial_noise(params, scheduler);
}

static dit_status euler_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    static const scheduler_beta_rules rules = {
        .schedule = "linear", .start = 0.0001, .end = 0.02, .positive_signal = true};
    scheduler_betas betas;
    DIT_TRY(scheduler_alloc(scheduler, params, sizeof(euler_state)));
    euler_state *s = scheduler->state;
    DIT_TRY(read_options(params, &s->prediction));
    DIT_TRY(scheduler_betas_read(params, &rules, &betas));
    dit_status st = place_sigmas(params, &betas, scheduler);
    scheduler_betas_release(&betas);
    return st;
}

static void euler_scale_input(dit_scheduler *scheduler, int step, const float *sample, float *out)
{
    double sigma = scheduler->sigmas[step];
    ops_combine(scheduler->rt, &(dit_combine_args){.elements = scheduler->elements,
                                                   .count = 1,
                                                   .x = {sample},
                                                   .a = {(float)(1.0 / sqrt(sigma * sigma + 1.0))},
                                                   .y = out});
}

/* Steps by x0 and the slope, with each operation rounded as in the library. With a zero terminal SNR sigma begins at
 * 4096, and in the first of 6 steps all but 1/430 of the sample cancels (of 20 steps all but 1/100), so these roundings
 * show in the rest. No operator rounds so, hence a device's sample goes to the host and back. */
static dit_status step_by_slope(dit_scheduler *scheduler, int step, bool v, const float *model_output, float *sample)
{
    float sigma = scheduler->sigmas[step], delta = scheduler->sigmas[step + 1] - sigma;
    float scale2 = sigma * sigma + 1.0f, from_output = v ? -sigma / sqrtf(scale2) : 1.0f;
    DIT_TRY(dit_runtime_download(scheduler->rt, sample, scheduler->elements));
    DIT_TRY(dit_runtime_download(scheduler->rt, model_output, scheduler->elements));
    for (int64_t i = 0; i < scheduler->elements; i++) {
        float x0 = model_output[i] * from_output + (v ? sample[i] / scale2 : 0.0f);
        float slope = (sample[i] - x0) / sigma;
        sample[i] += slope * delta;
    }
    return dit_runtime_upload(scheduler->rt, sample, scheduler->elements);
}

static dit_status euler_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const euler_state *s = scheduler->state;
    float delta = scheduler->sigmas[step + 1] - scheduler->sigmas[step];
    if (s->prediction != DIT_PREDICTION_EPSILON)
        return step_by_slope(scheduler, step, s->prediction == DIT_PREDICTION_V, model_output, sample);
    ops_combine(
        scheduler->rt,
        &(dit_combine_args){
            .elements = scheduler->elements, .count = 2, .x = {sample, model_output}, .a = {1.0f, delta}, .y = sample});
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_euler = {
    .class_name = "EulerDiscreteScheduler",
    .create = euler_create,
    .scale_input = euler_scale_input,
    .step = euler_step,
};
