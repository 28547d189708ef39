#include "suite/layers/planner.h"

#include "suite/layers/cuts.h"
#include "suite/layers/in_turn.h"
#include "suite/layers/polish.h"
#include "suite/layers/stage_costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is found ----------------------------------------------------------------------------------------------- */

double suite_plan_fullest_bytes(const suite_plan *plan)
{
    double most = 0;
    for (int i = 0; i < plan->stages; i++) most = fmax(most, plan->stage[i].total_bytes);
    return most;
}

double suite_plan_time_imbalance(const suite_plan *plan)
{
    double most = 0, sum = 0;
    for (int i = 0; i < plan->stages; i++) {
        most = fmax(most, plan->stage[i].micro_s);
        sum += plan->stage[i].micro_s;
    }
    return sum > 0 ? most * plan->stages / sum : 1;
}

double suite_plan_memory_imbalance(const suite_plan *plan)
{
    double sum = 0;
    for (int i = 0; i < plan->stages; i++) sum += plan->stage[i].total_bytes;
    return sum > 0 ? suite_plan_fullest_bytes(plan) * plan->stages / sum : 1;
}

/* ---- where stages end -------------------------------------------------------------------------------------------- */

/* Equally many layers, the first stages one more; the embedding belongs to the first, the head to the last. */
static void cut_by_number(const suite_stage_costs *costs, int *ends)
{
    int around = costs->question->vocabulary ? 1 : 0, layers = costs->elements - 2 * around, end = around;
    for (int i = 0; i < costs->stages; i++) {
        end += layers / costs->stages + (i < layers % costs->stages);
        ends[i] = end;
    }
    ends[costs->stages - 1] += around;
}

/* Times of all runs of elements in a stage, of microbatch and step; `bounded`: within the memory. */
static dit_status fill_times(const suite_stage_costs *costs, int stage, int from, bool bounded, suite_cut_table *micro,
                             suite_cut_table *step)
{
    int count = costs->elements - from, choice[SUITE_PLAN_ELEMENTS];
    suite_layers chain = suite_stage_chain(costs, SUITE_STAGE_EQUAL, stage, from, count);
    size_t all = (size_t)count * (size_t)chain.strategies;
    suite_layer_cost *free_costs = malloc(all * sizeof *free_costs);
    double *seconds = malloc((size_t)count * sizeof *seconds);
    uint8_t *choices = malloc((size_t)count * (size_t)count);
    dit_status st = free_costs && seconds && choices ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for stages");
    for (size_t i = 0; st == DIT_OK && i < all; i++)
        free_costs[i] = (suite_layer_cost){.seconds = chain.costs[i].seconds};
    if (!bounded) chain.costs = free_costs;
    if (!bounded) chain.cells = 1;
    if (st == DIT_OK) st = suite_layers_prefixes(&chain, seconds, choices);
    for (int i = 0; st == DIT_OK && i < count; i++) {
        if (!isfinite(seconds[i])) continue;
        for (int k = 0; k <= i; k++) choice[k] = choices[(size_t)i * (size_t)count + (size_t)k];
        suite_stage_plan plan = suite_stage_weigh(costs, stage, from, i + 1, choice);
        *suite_cut_at(micro, stage, from, from + i + 1) = plan.micro_s;
        *suite_cut_at(step, stage, from, from + i + 1) = plan.step_s;
    }
    free(free_costs);
    free(seconds);
    free(choices);
    return st;
}

static dit_status cut_by_time(const suite_stage_costs *costs, bool bounded, int *ends, bool *found)
{
    suite_cut_table micro = {0}, step = {0};
    dit_status st = suite_cut_table_open(costs->stages, costs->elements, &micro);
    if (st == DIT_OK) st = suite_cut_table_open(costs->stages, costs->elements, &step);
    for (int stage = 0; stage < costs->stages; stage++)
        for (int from = stage; st == DIT_OK && from < costs->elements && (stage || !from); from++)
            st = fill_times(costs, stage, from, bounded, &micro, &step);
    if (st == DIT_OK && !bounded) *found = suite_cut_evenly(&micro, ends);
    if (st == DIT_OK && bounded) st = suite_cut_fastest(&micro, &step, costs->micro_batches, costs->watch, ends, found);
    suite_cut_table_release(&micro);
    suite_cut_table_release(&step);
    return st;
}

static dit_status cut_by_memory(const suite_stage_costs *costs, int *ends, bool *found)
{
    suite_cut_table least = {0};
    dit_status st = suite_cut_table_open(costs->stages, costs->elements, &least);
    for (int stage = 0; stage < costs->stages; stage++)
        for (int from = stage; from < costs->elements; from++)
            for (int to = from + 1; st == DIT_OK && to <= costs->elements; to++) {
                *suite_cut_at(&least, stage, from, to) = suite_stage_least_bytes(costs, stage, from, to - from);
                st = suite_layers_ask(costs->watch);
            }
    if (st == DIT_OK) *found = suite_cut_evenly(&least, ends);
    suite_cut_table_release(&least);
    return st;
}

static dit_status cut(const suite_stage_costs *costs, suite_balance balance, int *ends, bool *found)
{
    *found = true;
    if (costs->stages == 1) return ends[0] = costs->elements, DIT_OK;
    switch (balance) {
    case SUITE_BALANCE_TIME: return cut_by_time(costs, false, ends, found);
    case SUITE_BALANCE_MEMORY: return cut_by_memory(costs, ends, found);
    case SUITE_BALANCE_BOTH: return cut_by_time(costs, true, ends, found);
    default: return cut_by_number(costs, ends), DIT_OK;
    }
}

/* ---- stages that are cut ----------------------------------------------------------------------------------------- */

/* Choices of one stage's strategies, each the best by its weight. */
typedef struct {
    int count;
    suite_stage_plan plan[SUITE_STAGE_WEIGHTS];
    int *choice; /* [SUITE_STAGE_WEIGHTS][elements of the chain] */
} stage_options;

/* The option that takes a microbatch least time within both limits; -1: none. */
static int pick(const stage_options *options, double slowest, double end)
{
    int best = -1;
    for (int i = 0; i < options->count; i++) {
        const suite_stage_plan *plan = &options->plan[i];
        if (plan->micro_s > slowest || plan->step_s > end) continue;
        if (best < 0 || plan->micro_s < options->plan[best].micro_s) best = i;
    }
    return best;
}

/* The time of a step within both limits, with the option of each stage; INFINITY: some stage has none. */
static double try_limits(const stage_options *options, int stages, int micro_batches, double slowest, double end,
                         int *picked)
{
    double sum = 0, most = 0, last = 0;
    for (int stage = 0; stage < stages; stage++) {
        picked[stage] = pick(&options[stage], slowest, end);
        if (picked[stage] < 0) return INFINITY;
        const suite_stage_plan *plan = &options[stage].plan[picked[stage]];
        sum += plan->micro_s;
        most = fmax(most, plan->micro_s);
        last = fmax(last, plan->step_s);
    }
    return sum + (micro_batches - 1) * most + last;
}

/* Every option's times are tried as limits of the slowest stage and of the longest end. */
static double combine(const stage_options *options, int stages, int micro_batches, int *best)
{
    int picked[SUITE_PLAN_STAGES], all = stages * SUITE_STAGE_WEIGHTS;
    double least = INFINITY;
    for (int a = 0; a < all; a++)
        for (int b = 0; b < all; b++) {
            const stage_options *slowest = &options[a / SUITE_STAGE_WEIGHTS], *end = &options[b / SUITE_STAGE_WEIGHTS];
            if (a % SUITE_STAGE_WEIGHTS >= slowest->count || b % SUITE_STAGE_WEIGHTS >= end->count) continue;
            double seconds = try_limits(options, stages, micro_batches, slowest->plan[a % SUITE_STAGE_WEIGHTS].micro_s,
                                        end->plan[b % SUITE_STAGE_WEIGHTS].step_s, picked);
            if (!(seconds < least)) continue;
            least = seconds;
            memcpy(best, picked, sizeof *best * (size_t)stages);
        }
    return least;
}

/* ---- one pair of stages and microbatches ------------------------------------------------------------------------- */

/* What is known of all plans so far. */
typedef struct {
    suite_plan *best, *one;
    double bound_s, exhaustive_s, least_bytes;
    bool has_bound, all_small;
} plan_search;

static double forward_flops(const suite_stage_costs *costs)
{
    double sum = 0;
    for (int i = 0; i < costs->elements; i++)
        for (int s = 0; s < costs->strategies; s++)
            if (isfinite(costs->cost[i * costs->strategies + s].micro_s)) {
                sum += costs->cost[i * costs->strategies + s].forward_flops;
                break;
            }
    return sum;
}

static dit_status try_all(const suite_layers *chain, plan_search *search)
{
    int choice[SUITE_PLAN_ELEMENTS];
    suite_layers_plan best;
    search->all_small = search->all_small && suite_layers_is_small(chain);
    if (!search->all_small) return DIT_OK;
    DIT_TRY(suite_layers_try_all(chain, &best, choice));
    search->exhaustive_s = fmin(search->exhaustive_s, best.seconds);
    return DIT_OK;
}

/* Fills the options of one stage. What is known of all plans follows from the first weight. */
static dit_status solve_stage(const suite_stage_costs *costs, int stage, int first, int count, plan_search *search,
                              stage_options *out, double *least)
{
    bool in_turn = costs->question->order == SUITE_SEARCH_IN_TURN, alone = costs->stages == 1 && !in_turn;
    for (int weight = 0; weight < costs->weights; weight++) {
        suite_layers chain = suite_stage_chain(costs, weight, stage, first, count);
        suite_layers_plan found;
        if (costs->stages == 1 && search->best->found) chain.enough_s = search->best->seconds;
        int *choice = out->choice + out->count * costs->elements;
        DIT_TRY(in_turn ? suite_layers_solve_in_turn(costs, &chain, &found, choice)
                        : suite_layers_solve(&chain, &found, choice));
        *least = fmax(*least, found.least_bytes);
        if (alone) search->bound_s = fmin(search->bound_s, found.bound_s);
        if (alone) DIT_TRY(try_all(&chain, search));
        if (found.fits) out->plan[out->count++] = suite_stage_weigh(costs, stage, first, count, choice);
    }
    return DIT_OK;
}

static dit_status take_options(const suite_stage_costs *costs, const stage_options *options, const int *picked,
                               plan_search *search)
{
    suite_plan *one = search->one;
    int choice[SUITE_PLAN_ELEMENTS];
    for (int stage = 0; stage < costs->stages; stage++) {
        one->stage[stage] = options[stage].plan[picked[stage]];
        const int *own = options[stage].choice + picked[stage] * costs->elements;
        memcpy(choice + one->stage[stage].first, own, sizeof *own * (size_t)one->stage[stage].count);
    }
    if (costs->stages > 1 && costs->question->order == SUITE_SEARCH_JOINT)
        DIT_TRY(suite_plan_polish(costs, one->stage, choice));
    for (int i = 0; i < costs->elements; i++) {
        one->chosen[i] = costs->strategy[choice[i]];
        one->parts[i] = costs->parts[i];
    }
    one->found = true;
    one->stages = costs->stages;
    one->micro_batches = costs->micro_batches;
    one->elements = costs->elements;
    one->seconds = suite_stages_seconds(one->stage, one->stages, one->micro_batches);
    one->flops = 3 * costs->micro_batches * forward_flops(costs);
    if (!search->best->found || one->seconds < search->best->seconds) *search->best = *one;
    return DIT_OK;
}

static dit_status solve_stages(const suite_stage_costs *costs, const int *ends, plan_search *search)
{
    stage_options options[SUITE_PLAN_STAGES] = {{0}};
    int picked[SUITE_PLAN_STAGES];
    double least = 0;
    size_t width = (size_t)SUITE_STAGE_WEIGHTS * (size_t)costs->elements;
    int *choices = calloc(width * (size_t)costs->stages, sizeof *choices);
    dit_status st = choices ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d stages", costs->stages);
    for (int stage = 0, first = 0; st == DIT_OK && stage < costs->stages; first = ends[stage++]) {
        options[stage].choice = choices + (size_t)stage * width;
        st = solve_stage(costs, stage, first, ends[stage] - first, search, &options[stage], &least);
    }
    if (st == DIT_OK) search->least_bytes = fmin(search->least_bytes, least);
    if (st == DIT_OK && isfinite(combine(options, costs->stages, costs->micro_batches, picked)))
        st = take_options(costs, options, picked, search);
    free(choices);
    return st;
}

/* To balance both is to take the best of all cuts, and no cut by itself is left out. */
static dit_status try_costs(const suite_stage_costs *costs, plan_search *search)
{
    suite_balance balance = costs->question->balance;
    int ends[SUITE_PLAN_STAGES];
    bool found = false;
    for (int one = SUITE_BALANCE_NONE; one <= (int)balance; one++) {
        if (one != (int)balance && balance != SUITE_BALANCE_BOTH) continue;
        DIT_TRY(cut(costs, (suite_balance)one, ends, &found));
        if (found) DIT_TRY(solve_stages(costs, ends, search));
    }
    return DIT_OK;
}

/* No plan of these stages and microbatches is faster: every element at its fastest, the slowest stage no faster than
 * the mean. */
static double fastest_seconds(const suite_stage_costs *costs)
{
    double sum = 0;
    for (int i = 0; i < costs->elements; i++) {
        double least = INFINITY;
        for (int s = 0; s < costs->strategies; s++) least = fmin(least, costs->cost[i * costs->strategies + s].micro_s);
        sum += least;
    }
    return sum * (1 + (costs->micro_batches - 1.0) / costs->stages);
}

static dit_status try_pair(const suite_layer_question *question, const suite_plan_machine *machine, int stages,
                           int micro_batches, plan_search *search)
{
    suite_stage_costs *costs = calloc(1, sizeof *costs);
    if (!costs) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a plan");
    dit_status st = suite_stage_costs_open(question, machine, stages, micro_batches, costs);
    if (st == DIT_OK && costs->stages > 1) search->has_bound = false;
    bool hopeless = st == DIT_OK && search->best->found && fastest_seconds(costs) >= search->best->seconds;
    if (st == DIT_OK && !hopeless) st = try_costs(costs, search);
    suite_stage_costs_release(costs);
    free(costs);
    return st;
}

/* ---- all pairs --------------------------------------------------------------------------------------------------- */

static int most_stages(const suite_layer_question *q)
{
    bool cuts = q->ways & 1u << SUITE_WAY_PIPELINE && q->unit == SUITE_UNIT_LAYER;
    int64_t most = cuts ? q->devices : 1;
    if (most > q->layers) most = q->layers;
    return (int)(most < SUITE_PLAN_STAGES ? most : SUITE_PLAN_STAGES);
}

static dit_status try_stages(const suite_layer_question *q, const suite_plan_machine *machine, int stages,
                             plan_search *search, int *tried)
{
    suite_strategy list[SUITE_LAYERS_STRATEGIES];
    if (!suite_strategies_list(q, q->devices / stages, list)) return DIT_OK;
    if (q->micro_batches) return ++*tried, try_pair(q, machine, stages, q->micro_batches, search);
    for (int m = 1; m <= q->batch && q->batch % m == 0; m *= 2) {
        ++*tried;
        DIT_TRY(try_pair(q, machine, stages, m, search));
    }
    return DIT_OK;
}

static dit_status search_pairs(const suite_layer_question *q, const suite_plan_machine *machine, plan_search *search)
{
    int tried = 0;
    if (q->stages) DIT_TRY(try_stages(q, machine, q->stages, search, &tried));
    for (int stages = 1; !q->stages && stages <= most_stages(q); stages *= 2)
        if (q->devices % stages == 0) DIT_TRY(try_stages(q, machine, stages, search, &tried));
    if (tried) return DIT_OK;
    char ways[96];
    suite_ways_text(q->ways, ways, sizeof ways);
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s shares no layer over %d devices", ways, q->devices),
                          "tensor ranks divide the heads; stages are at most as many as layers");
}

dit_status suite_plan_make(const suite_layer_question *question, const suite_plan_machine *machine, suite_plan *out)
{
    plan_search search = {.best = out,
                          .one = calloc(1, sizeof *out),
                          .bound_s = INFINITY,
                          .exhaustive_s = INFINITY,
                          .least_bytes = INFINITY,
                          .has_bound = question->order == SUITE_SEARCH_JOINT,
                          .all_small = true};
    *out = (suite_plan){.seconds = INFINITY};
    if (!search.one) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a plan");
    dit_status st = search_pairs(question, machine, &search);
    free(search.one);
    out->bound_s = search.has_bound ? fmin(search.bound_s, out->seconds) : NAN;
    out->exhaustive_s = search.has_bound && search.all_small ? search.exhaustive_s : NAN;
    out->least_bytes = search.least_bytes;
    return st;
}
