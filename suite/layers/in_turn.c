#include "suite/layers/in_turn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Strategies that do not recompute stay. */
static void forbid_recomputing(const suite_stage_costs *costs, const suite_layers *chain, suite_layer_cost *own)
{
    for (int i = 0; i < chain->layers * chain->strategies; i++) {
        own[i] = chain->costs[i];
        if (costs->strategy[i % chain->strategies].recompute) own[i].seconds = INFINITY;
    }
}

static bool shares_alike(const suite_strategy *a, const suite_strategy *b)
{
    return a->tensor == b->tensor && a->data == b->data && a->shard == b->shard && a->split == b->split;
}

/* Of each layer those stay that share it as `shared` says. */
static void fix_sharing(const suite_stage_costs *costs, const suite_layers *chain, const int *shared,
                        suite_layer_cost *own)
{
    for (int i = 0; i < chain->layers * chain->strategies; i++) {
        const suite_strategy *chosen = &costs->strategy[shared[i / chain->strategies]];
        own[i] = chain->costs[i];
        if (!shares_alike(&costs->strategy[i % chain->strategies], chosen)) own[i].seconds = INFINITY;
    }
}

static dit_status solve_once(const suite_stage_costs *costs, const suite_layers *chain, double times,
                             suite_layer_cost *own, suite_layers_plan *out, int *choice)
{
    suite_layers less = *chain;
    less.costs = own;
    less.budget_bytes *= times;
    less.enough_s = 0;
    forbid_recomputing(costs, chain, own);
    DIT_TRY(suite_layers_solve(&less, out, choice));
    if (!out->fits) return DIT_OK;
    int shared[SUITE_PLAN_ELEMENTS];
    memcpy(shared, choice, sizeof *shared * (size_t)chain->layers);
    less.budget_bytes = chain->budget_bytes;
    fix_sharing(costs, chain, shared, own);
    return suite_layers_solve(&less, out, choice);
}

dit_status suite_layers_solve_in_turn(const suite_stage_costs *costs, const suite_layers *chain, suite_layers_plan *out,
                                      int *choice)
{
    static const double times[] = {1, 1.5, 2, 3, 4};
    size_t size = (size_t)chain->layers * (size_t)chain->strategies;
    suite_layer_cost *own = malloc(size * sizeof *own);
    int tried[SUITE_PLAN_ELEMENTS];
    dit_status st = own ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d layers", chain->layers);
    *out = (suite_layers_plan){.seconds = INFINITY, .least_bytes = INFINITY};
    for (size_t i = 0; st == DIT_OK && i < sizeof times / sizeof *times; i++) {
        suite_layers_plan one = {0};
        double least = out->least_bytes;
        st = solve_once(costs, chain, times[i], own, &one, tried);
        least = fmin(least, one.least_bytes);
        if (one.fits && one.seconds < out->seconds) {
            *out = one;
            memcpy(choice, tried, sizeof *choice * (size_t)chain->layers);
        }
        out->least_bytes = least;
    }
    free(own);
    out->bound_s = 0;
    return st;
}
