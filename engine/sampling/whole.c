/* Whole: makes every step one forward of all rows of this rank. Sequence, tensor, cfg and data parallelism happen below
 * it; displaced patches (attention/displaced.c) only need the fill. A cache makes the forward in parts (engine/cache/). */
#include "engine/runtime/fault.h"
#include "engine/sampling/executor.h"

static dit_status forward(dit_sampler *s, int step, const dit_condition *condition)
{
    dit_window all = dit_sampler_window(s, DIT_WINDOW_ALL, step);
    DIT_TRY(dit_sampler_fill_input(s, &all, step == DIT_STEP_FILL ? 0 : step, condition));
    const dit_forward_args args = {.latents = s->input, .timestep = s->timestep, .output = s->output, .step = step};
    bool cached = s->cache && step != DIT_STEP_FILL;
    return cached ? dit_cache_forward(s->cache, &args) : dit_model_forward(s->model, &args);
}

/* *step becomes the one after. */
static dit_status run_step(dit_sampler *s, int *step, const dit_condition *condition)
{
    int64_t began;
    int now = dit_sampler_begin_step(s, *step, &began);
    dit_window all = dit_sampler_window(s, DIT_WINDOW_ALL, now);
    *step = now + 1;
    if (!dit_fault_skips(now)) DIT_TRY(forward(s, now, condition));
    DIT_TRY(dit_sampler_advance(s, &all, now));
    return dit_sampler_end_step(s, now, began, true);
}

static dit_status whole_run(dit_sampler *s, const dit_condition *condition)
{
    if (s->cache) dit_cache_reset(s->cache);
    if (dit_parallel_has_fill(&s->rt->parallel, &s->rt->facts)) DIT_TRY(forward(s, DIT_STEP_FILL, condition));
    for (int step = 0; step < s->scheduler->steps;) DIT_TRY(run_step(s, &step, condition));
    return DIT_OK;
}

const dit_executor dit_executor_whole = {.name = "whole", .run = whole_run};
