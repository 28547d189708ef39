#include "engine/schedulers/scheduler.h"

#include <string.h>

extern const dit_scheduler_ops dit_scheduler_dpm_solver, dit_scheduler_flow_match_euler;

/* Every scheduler. */
static const dit_scheduler_ops *const schedulers[] = {
    &dit_scheduler_dpm_solver,
    &dit_scheduler_flow_match_euler,
};

dit_status dit_scheduler_create(const dit_scheduler_params *params, dit_scheduler **out)
{
    const char *class_name;
    void *memory;
    *out = NULL;
    DIT_TRY(dit_json_require_string(params->doc, params->config, params->pointer, "_class_name", &class_name));
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        if (strcmp(schedulers[i]->class_name, class_name) != 0) continue;
        DIT_TRY(dit_arena_alloc(&params->rt->image, sizeof(dit_scheduler), &memory));
        *out = memory;
        **out = (dit_scheduler){.ops = schedulers[i],
                                .rt = params->rt,
                                .steps = params->steps,
                                .elements = params->elements,
                                .init_noise_sigma = 1.0f,
                                .noise = params->noise,
                                .noise_context = params->noise_context};
        return schedulers[i]->create(params, *out);
    }
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "scheduler class \"%s\" is not built", class_name),
                          "DPMSolverMultistepScheduler and FlowMatchEulerDiscreteScheduler are");
}

void dit_scheduler_scale_input(dit_scheduler *scheduler, int step, const float *sample, float *out)
{
    if (scheduler->ops->scale_input)
        scheduler->ops->scale_input(scheduler, step, sample, out);
    else
        memcpy(out, sample, (size_t)scheduler->elements * sizeof *out);
}

void dit_scheduler_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    scheduler->ops->step(scheduler, step, model_output, sample);
}

dit_status scheduler_alloc(dit_scheduler *scheduler, const dit_scheduler_params *params, int64_t state_bytes)
{
    DIT_TRY(dit_arena_floats(&params->rt->image, params->steps, &scheduler->timesteps));
    DIT_TRY(dit_arena_floats(&params->rt->image, params->steps + 1, &scheduler->sigmas));
    return dit_arena_alloc(&params->rt->image, state_bytes, &scheduler->state);
}

dit_status scheduler_read_prediction(const dit_scheduler_params *params, dit_prediction *out)
{
    static const char *const names[DIT_PREDICTION_COUNT] = {"epsilon", "v_prediction", "sample", "flow_prediction"};
    const char *name = names[*out];
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "prediction_type", &name));
    for (int i = 0; i < DIT_PREDICTION_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (dit_prediction)i;
            return DIT_OK;
        }
    }
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "prediction_type \"%s\" is not built", name);
}

dit_status scheduler_refuse_options(const dit_scheduler_params *params, const char *const *names)
{
    for (; *names; names++) {
        bool set = false;
        DIT_TRY(dit_json_optional_bool(params->doc, params->config, params->pointer, *names, &set));
        if (set) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "scheduler option %s is not built", *names);
    }
    return DIT_OK;
}
