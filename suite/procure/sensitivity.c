#include "suite/procure/sensitivity.h"

#include "suite/procure/contest.h"

#include <math.h>
#include <stdlib.h>

static const double twice = 2;

/* What the score is multiplied by when a request takes `factor` times as long. */
static dit_status score_factor(const suite_procure_request *request, suite_procured *out, const suite_split *split,
                               double factor, double *grown)
{
    double growth;
    DIT_TRY(suite_contest_growth(request, &out->loads, split, log(factor), &growth));
    *grown = exp(growth);
    return DIT_OK;
}

/* What becomes of the lower bound where a part of the machine is twice as fast. */
static dit_status find_parts(const suite_procure_request *request, const suite_split *split, double factors[])
{
    suite_search_request asked = request->search;
    suite_search found = {.count = 0};
    asked.platform = request->machines[split->machine].priced.machine.name;
    asked.goal = SUITE_GOAL_LATENCY;
    asked.devices = split->chosen->ranks;
    asked.mesh = &split->chosen->parallel;
    asked.what_if = twice;
    dit_status st = suite_search_run(&asked, &found);
    for (int i = 0; st == DIT_OK && i < SUITE_CHANGE_COUNT; i++) {
        const suite_search_change *change = &found.changes[i];
        double before = found.winner >= 0 ? found.candidates[found.winner].bounds.seconds : 0;
        factors[i] = change->first >= 0 && before > 0 ? change->bound_s / before : 1;
    }
    suite_search_release(&found);
    return st;
}

static void add(suite_procured *out, const char *what, double factor)
{
    if (fabs(factor - 1) < 0.005) return;
    out->sensitivities[out->sensitivity_count++] = (suite_sensitivity){.what = what, .factor = factor};
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(log(((const suite_sensitivity *)a)->factor)), y = fabs(log(((const suite_sensitivity *)b)->factor));
    return (x < y) - (x > y);
}

/* Halves of what is paid. */
static void add_money(const suite_procure_request *request, const suite_split *split, suite_procured *out)
{
    const suite_own_cost *cost = &split->owned.busy;
    if (request->goal != SUITE_PROCURE_COST) return;
    if (!request->site) {
        add(out, "half the rent", 0.5);
        return;
    }
    add(out, "half the purchase price", 1 - cost->capital / cost->total / 2);
    add(out, "half the price of energy", 1 - cost->energy / cost->total / 2);
}

dit_status suite_sensitivities_find(const suite_procure_request *request, suite_procured *out)
{
    static const char *const parts[SUITE_CHANGE_COUNT] = {
        [SUITE_CHANGE_HOST] = "a host twice as fast",
        [SUITE_CHANGE_LINKS] = "links twice as fast",
        [SUITE_CHANGE_DEVICE] = "devices twice as fast",
    };
    double factors[SUITE_CHANGE_COUNT], grown;
    const suite_split *first = out->count ? &out->splits[0] : NULL;
    if (!first || !first->ranked) return DIT_OK;
    DIT_TRY(find_parts(request, first, factors));
    for (int i = 0; i < SUITE_CHANGE_COUNT; i++) {
        DIT_TRY(score_factor(request, out, first, factors[i], &grown));
        add(out, parts[i], grown);
    }
    add_money(request, first, out);
    qsort(out->sensitivities, (size_t)out->sensitivity_count, sizeof *out->sensitivities, by_size);
    return DIT_OK;
}
