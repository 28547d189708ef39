#include "suite/layers/stage_costs.h"

#include <math.h>
#include <stdlib.h>

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static void list_elements(suite_stage_costs *costs)
{
    const suite_layer_question *q = costs->question;
    costs->elements = 0;
    if (q->vocabulary) costs->parts[costs->elements++] = 1u << SUITE_PART_EMBEDDING;
    for (int64_t layer = 0; layer < q->layers; layer++) {
        if (q->unit == SUITE_UNIT_LAYER) costs->parts[costs->elements++] = SUITE_PARTS_OF_A_LAYER;
        for (int part = SUITE_PART_ATTENTION; part <= SUITE_PART_CONTRACTION && q->unit == SUITE_UNIT_OPERATOR; part++)
            costs->parts[costs->elements++] = 1u << part;
    }
    if (q->vocabulary) costs->parts[costs->elements++] = 1u << SUITE_PART_HEAD;
}

/* Equal elements cost the same. */
static void fill_costs(suite_stage_costs *costs)
{
    for (int i = 0; i < costs->elements; i++) {
        int same = 0;
        while (costs->parts[same] != costs->parts[i]) same++;
        for (int s = 0; s < costs->strategies; s++)
            costs->cost[i * costs->strategies + s] =
                same < i ? costs->cost[same * costs->strategies + s]
                         : suite_training_cost(&costs->training, costs->parts[i], &costs->strategy[s]);
    }
}

static int in_flight(const suite_stage_costs *costs, int stage)
{
    int most = costs->stages - stage;
    return most < costs->micro_batches ? most : costs->micro_batches;
}

static double weight_at(const suite_stage_costs *costs, int index)
{
    double equal = costs->micro_batches + costs->stages - 1;
    const double weights[SUITE_STAGE_WEIGHTS] = {1, equal / 2, equal, 4 * equal};
    return costs->weights == 1 ? equal : weights[index];
}

static void fill_chains(suite_stage_costs *costs)
{
    int all = costs->elements * costs->strategies, rows = costs->weights * costs->stages;
    for (int row = 0; row < rows; row++) {
        double weight = weight_at(costs, row / costs->stages);
        int held = in_flight(costs, row % costs->stages);
        for (int i = 0; i < all; i++) {
            const suite_element_cost *cost = &costs->cost[i];
            costs->chain[row * all + i] =
                (suite_layer_cost){.seconds = weight * cost->micro_s + cost->step_s,
                                   .held_bytes = cost->state_bytes + held * cost->activation_bytes,
                                   .working_bytes = cost->working_bytes};
        }
    }
}

static void fill_conversions(suite_stage_costs *costs)
{
    int pairs = costs->strategies * costs->strategies;
    for (int i = 0; i < pairs; i++)
        costs->conversion_s[i] = suite_training_conversion(&costs->training, &costs->strategy[i / costs->strategies],
                                                           &costs->strategy[i % costs->strategies]);
    for (int i = 0; i < costs->weights * pairs; i++)
        costs->weighed_s[i] = weight_at(costs, i / pairs) * costs->conversion_s[i % pairs];
}

/* ---- a pipeline -------------------------------------------------------------------------------------------------- */

static dit_status allocate(suite_stage_costs *costs)
{
    size_t all = (size_t)costs->elements * (size_t)costs->strategies;
    size_t pairs = (size_t)costs->strategies * (size_t)costs->strategies;
    costs->cost = calloc(all, sizeof *costs->cost);
    costs->chain = calloc(all * (size_t)(costs->weights * costs->stages), sizeof *costs->chain);
    costs->conversion_s = calloc(pairs, sizeof *costs->conversion_s);
    costs->weighed_s = calloc(pairs * (size_t)costs->weights, sizeof *costs->weighed_s);
    if (costs->cost && costs->chain && costs->conversion_s && costs->weighed_s) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the costs of %d elements in %d stages", costs->elements,
                    costs->stages);
}

dit_status suite_stage_costs_open(const suite_layer_question *question, const suite_plan_machine *machine, int stages,
                                  int micro_batches, suite_stage_costs *out)
{
    *out = (suite_stage_costs){.question = question,
                               .stages = stages,
                               .micro_batches = micro_batches,
                               .watch = machine->watch,
                               .weights = stages > 1 ? SUITE_STAGE_WEIGHTS : 1,
                               .devices = question->devices / stages};
    out->training =
        (suite_training){.question = question,
                         .device = machine->device,
                         .profile = machine->profile,
                         .wires = suite_wires_of(machine->cluster, machine->device->architecture, question->devices),
                         .micro_batch = question->batch / micro_batches};
    list_elements(out);
    out->strategies = suite_strategies_list(question, out->devices, out->strategy);
    if (!out->strategies)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "no strategy shares a layer over %d devices", out->devices);
    DIT_TRY(allocate(out));
    fill_costs(out);
    fill_chains(out);
    fill_conversions(out);
    out->handover_s = stages > 1 ? suite_training_handover(&out->training, out->devices) : 0;
    return DIT_OK;
}

void suite_stage_costs_release(suite_stage_costs *costs)
{
    free(costs->cost);
    free(costs->chain);
    free(costs->conversion_s);
    free(costs->weighed_s);
    costs->cost = NULL;
    costs->chain = NULL;
    costs->conversion_s = costs->weighed_s = NULL;
}

suite_layers suite_stage_chain(const suite_stage_costs *costs, int weight, int stage, int first, int count)
{
    static const double gib = 1024.0 * 1024 * 1024;
    int row = weight * costs->stages + stage;
    return (suite_layers){.layers = count,
                          .strategies = costs->strategies,
                          .costs = costs->chain + (row * costs->elements + first) * costs->strategies,
                          .watch = costs->watch,
                          .conversion_s = costs->weighed_s + weight * costs->strategies * costs->strategies,
                          .budget_bytes = costs->question->memory_limit_gib * gib};
}

suite_stage_plan suite_stage_weigh(const suite_stage_costs *costs, int stage, int first, int count, const int *choice)
{
    suite_stage_plan plan = {.first = first, .count = count};
    for (int i = 0; i < count; i++) {
        const suite_element_cost *cost = &costs->cost[(first + i) * costs->strategies + choice[i]];
        plan.micro_s += cost->micro_s;
        if (i) plan.micro_s += costs->conversion_s[choice[i - 1] * costs->strategies + choice[i]];
        plan.step_s += cost->step_s;
        plan.state_bytes += cost->state_bytes;
        plan.weight_bytes += cost->weight_bytes;
        plan.activation_bytes += in_flight(costs, stage) * cost->activation_bytes;
        plan.working_bytes = fmax(plan.working_bytes, cost->working_bytes);
    }
    if (stage < costs->stages - 1) plan.micro_s += costs->handover_s;
    plan.total_bytes = plan.state_bytes + plan.activation_bytes + plan.working_bytes;
    return plan;
}

/* With working sizes up to that of one strategy of one element. */
static double least_below(const suite_layers *chain, double working)
{
    double sum = working;
    for (int i = 0; i < chain->layers; i++) {
        double least = INFINITY;
        for (int s = 0; s < chain->strategies; s++) {
            const suite_layer_cost *cost = &chain->costs[i * chain->strategies + s];
            if (isfinite(cost->seconds) && cost->working_bytes <= working) least = fmin(least, cost->held_bytes);
        }
        sum += least;
    }
    return sum;
}

double suite_stage_least_bytes(const suite_stage_costs *costs, int stage, int first, int count)
{
    suite_layers chain = suite_stage_chain(costs, 0, stage, first, count);
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        if (i && costs->parts[first + i] == costs->parts[first + i - 1]) continue; /* the same sizes again */
        for (int s = 0; s < chain.strategies; s++)
            least = fmin(least, least_below(&chain, chain.costs[i * chain.strategies + s].working_bytes));
    }
    return least;
}
