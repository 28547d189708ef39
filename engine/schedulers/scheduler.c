#include "engine/schedulers/scheduler.h"

#include "base/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const dit_scheduler_ops dit_scheduler_cogvideox_ddim, dit_scheduler_cogvideox_dpm, dit_scheduler_ddim,
    dit_scheduler_ddpm, dit_scheduler_dpm_solver, dit_scheduler_euler, dit_scheduler_flow_match_euler,
    dit_scheduler_unipc;

/* All schedulers. */
static const dit_scheduler_ops *const schedulers[] = {
    &dit_scheduler_cogvideox_ddim,
    &dit_scheduler_cogvideox_dpm,
    &dit_scheduler_ddim,
    &dit_scheduler_ddpm,
    &dit_scheduler_dpm_solver,
    &dit_scheduler_euler,
    &dit_scheduler_flow_match_euler,
    &dit_scheduler_unipc,
};
enum { SCHEDULER_COUNT = sizeof schedulers / sizeof *schedulers, MAX_STEPS = 10000 };

static dit_status find_class(const char *name, const dit_scheduler_ops **out)
{
    const char *names[SCHEDULER_COUNT + 1] = {NULL};
    for (int i = 0; i < SCHEDULER_COUNT; i++) {
        *out = schedulers[i];
        names[i] = schedulers[i]->class_name;
        if (strcmp(names[i], name) == 0) return DIT_OK;
    }
    return dit_words_hint_all(DIT_FAIL(DIT_ERR_UNSUPPORTED, "scheduler class \"%.100s\" is not built", name), "built",
                              names);
}

static dit_status check_call(const dit_scheduler_params *params, const dit_scheduler_ops *ops)
{
    if (params->steps < 1 || params->steps > MAX_STEPS)
        return DIT_FAIL(DIT_ERR_JSON_VALUE, "num_inference_steps %d is outside 1..%d", params->steps, MAX_STEPS);
    if (!(params->eta >= 0 && params->eta <= 1))
        return DIT_FAIL(DIT_ERR_JSON_VALUE, "eta %g is outside 0..1", params->eta);
    if (params->first_step < 0 || params->first_step >= params->steps)
        return DIT_FAIL(DIT_ERR_JSON_VALUE, "of %d steps, %d would be left out", params->steps, params->first_step);
    if (params->first_step > 0 && !ops->begins_late)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s cannot begin in the middle of its steps", ops->class_name),
            "image-to-image needs a scheduler of flow matching (FLUX, SD3)");
    if (params->eta > 0 && !ops->takes_eta)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "eta %g: %s does not use eta", params->eta, ops->class_name);
    return DIT_OK;
}

dit_status dit_scheduler_create(const dit_scheduler_params *params, dit_scheduler **out)
{
    const dit_scheduler_ops *ops;
    const char *class_name;
    void *memory;
    *out = NULL;
    DIT_TRY(dit_json_require_string(params->doc, params->config, params->pointer, "_class_name", &class_name));
    DIT_TRY(find_class(class_name, &ops));
    DIT_TRY(check_call(params, ops));
    DIT_TRY(dit_arena_alloc(&params->rt->image, sizeof(dit_scheduler), &memory));
    *out = memory;
    **out = (dit_scheduler){.ops = ops,
                            .rt = params->rt,
                            .steps = params->steps - params->first_step,
                            .elements = params->elements,
                            .init_noise_sigma = 1.0f,
                            .noise = params->noise,
                            .noise_context = params->noise_context};
    return ops->create(params, *out);
}

void dit_scheduler_scale_input(dit_scheduler *scheduler, int step, const float *sample, float *out)
{
    if (scheduler->ops->scale_input)
        scheduler->ops->scale_input(scheduler, step, sample, out);
    else
        dit_runtime_copy(scheduler->rt, sample, scheduler->elements, out);
}

dit_status dit_scheduler_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    return scheduler->ops->step(scheduler, step, model_output, sample);
}

dit_status scheduler_alloc(dit_scheduler *scheduler, const dit_scheduler_params *params, int64_t state_bytes)
{
    DIT_TRY(dit_arena_host(&params->rt->image, scheduler->steps, &scheduler->timesteps));
    DIT_TRY(dit_arena_host(&params->rt->image, scheduler->steps + 1, &scheduler->sigmas));
    return dit_arena_alloc(&params->rt->image, state_bytes, &scheduler->state);
}

dit_status scheduler_alloc_noise(dit_scheduler *scheduler, const dit_scheduler_params *params)
{
    if (!params->noise)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "%s draws fresh noise at every step, but this caller has no source of noise",
                        scheduler->ops->class_name);
    return dit_arena_fp32(&params->rt->image, params->elements, &scheduler->fresh_noise);
}

dit_status scheduler_draw_noise(dit_scheduler *scheduler, int step, const float **out)
{
    scheduler->noise(scheduler->noise_context, step, scheduler->fresh_noise);
    *out = scheduler->fresh_noise;
    return dit_runtime_upload(scheduler->rt, scheduler->fresh_noise, scheduler->elements);
}

dit_status scheduler_read_prediction(const dit_scheduler_params *params, dit_prediction *out)
{
    static const char *const names[DIT_PREDICTION_COUNT + 1] = {"epsilon", "v_prediction", "sample", "flow_prediction"};
    const char *name = names[*out];
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "prediction_type", &name));
    int index = dit_words_find(names, name);
    if (index < 0) return dit_fail_word(DIT_ERR_UNSUPPORTED, "prediction_type", name, names);
    *out = (dit_prediction)index;
    return DIT_OK;
}

dit_status scheduler_refuse_options(const dit_scheduler_params *params, const char *const *names)
{
    for (; *names; names++) {
        bool set = false;
        DIT_TRY(dit_json_optional_bool(params->doc, params->config, params->pointer, *names, &set));
        if (set) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "scheduler option %s is not implemented", *names);
    }
    return DIT_OK;
}

dit_status scheduler_read_final_sigma(const dit_scheduler_params *params, bool *zero)
{
    static const char *const names[] = {"zero", "sigma_min", NULL};
    const char *name = names[0];
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "final_sigmas_type", &name));
    *zero = strcmp(name, names[0]) == 0;
    if (dit_words_find(names, name) >= 0) return DIT_OK;
    return dit_fail_word(DIT_ERR_UNSUPPORTED, "final_sigmas_type", name, names);
}

dit_status scheduler_read_clip(const dit_scheduler_params *params, float *range)
{
    bool clip = true;
    double limit = 1.0;
    DIT_TRY(dit_json_optional_bool(params->doc, params->config, params->pointer, "clip_sample", &clip));
    DIT_TRY(
        dit_json_optional_number(params->doc, params->config, params->pointer, "clip_sample_range", 0, 1e30, &limit));
    *range = clip ? (float)limit : INFINITY;
    return DIT_OK;
}

void scheduler_clean_sample(dit_scheduler *scheduler, dit_prediction prediction, double alpha, double sigma,
                            const float *model_output, const float *sample, float *x0)
{
    dit_combine_args args = {.elements = scheduler->elements, .count = 2, .x = {sample, model_output}, .y = x0};
    switch (prediction) {
    case DIT_PREDICTION_V: args.a[0] = (float)alpha, args.a[1] = (float)-sigma; break;
    case DIT_PREDICTION_SAMPLE: args.a[0] = 0.0f, args.a[1] = 1.0f; break;
    case DIT_PREDICTION_FLOW: args.a[0] = 1.0f, args.a[1] = (float)-sigma; break;
    default: args.a[0] = (float)(1.0 / alpha), args.a[1] = (float)(-sigma / alpha); break;
    }
    ops_combine(scheduler->rt, &args);
}

dit_status scheduler_clip(const dit_scheduler *scheduler, float range, float *x)
{
    if (isinf(range)) return DIT_OK;
    DIT_TRY(dit_runtime_download(scheduler->rt, x, scheduler->elements));
    for (int64_t i = 0; i < scheduler->elements; i++) x[i] = x[i] > range ? range : x[i] < -range ? -range : x[i];
    return dit_runtime_upload(scheduler->rt, x, scheduler->elements);
}
