#include "suite/layers/polish.h"

#include <math.h>

double suite_stages_seconds(const suite_stage_plan *stages, int count, int micro_batches)
{
    double sum = 0, slowest = 0, step = 0;
    for (int i = 0; i < count; i++) {
        sum += stages[i].micro_s;
        slowest = fmax(slowest, stages[i].micro_s);
        step = fmax(step, stages[i].step_s);
    }
    return sum + (micro_batches - 1) * slowest + step;
}

/* The best change so far. */
typedef struct {
    double seconds;
    int stage, element, strategy;
    suite_stage_plan plan;
} change;

/* Tries one strategy for one element, and leaves everything as it was. */
static void try_change(const suite_stage_costs *costs, suite_stage_plan *stages, int *choice, int stage, int element,
                       int strategy, change *best)
{
    const suite_stage_plan before = stages[stage];
    const double limit = suite_stage_chain(costs, 0, stage, before.first, before.count).budget_bytes;
    int old = choice[element];
    choice[element] = strategy;
    suite_stage_plan plan = suite_stage_weigh(costs, stage, before.first, before.count, choice + before.first);
    choice[element] = old;
    if (!isfinite(plan.micro_s) || plan.total_bytes > limit) return;
    stages[stage] = plan;
    double seconds = suite_stages_seconds(stages, costs->stages, costs->micro_batches);
    stages[stage] = before;
    if (seconds < best->seconds) *best = (change){seconds, stage, element, strategy, plan};
}

static bool improve(const suite_stage_costs *costs, suite_stage_plan *stages, int *choice)
{
    static const double least_gain = 1e-9; /* of a step: below it sums differ by rounding */
    double now = suite_stages_seconds(stages, costs->stages, costs->micro_batches);
    change best = {.seconds = now * (1 - least_gain), .stage = -1};
    for (int stage = 0; stage < costs->stages; stage++)
        for (int i = stages[stage].first; i < stages[stage].first + stages[stage].count; i++)
            for (int s = 0; s < costs->strategies; s++) try_change(costs, stages, choice, stage, i, s, &best);
    if (best.stage < 0) return false;
    choice[best.element] = best.strategy;
    stages[best.stage] = best.plan;
    return true;
}

dit_status suite_plan_polish(const suite_stage_costs *costs, suite_stage_plan *stages, int *choice)
{
    while (improve(costs, stages, choice)) DIT_TRY(suite_layers_ask(costs->watch));
    return DIT_OK;
}
