#include "suite/layers/cuts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

dit_status suite_cut_table_open(int stages, int elements, suite_cut_table *out)
{
    size_t count = (size_t)stages * (size_t)(elements + 1) * (size_t)(elements + 1);
    *out = (suite_cut_table){.stages = stages, .elements = elements, .value = malloc(count * sizeof(double))};
    if (!out->value) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the cuts of %d elements", elements);
    for (size_t i = 0; i < count; i++) out->value[i] = INFINITY;
    return DIT_OK;
}

void suite_cut_table_release(suite_cut_table *table)
{
    free(table->value);
    table->value = NULL;
}

double *suite_cut_at(const suite_cut_table *table, int stage, int from, int to)
{
    return &table->value[(stage * (table->elements + 1) + from) * (table->elements + 1) + to];
}

/* ---- the least greatest value ------------------------------------------------------------------------------------ */

/* least[stage][to]: of elements [0, to) in stages [0, stage]; from[stage][to]: where its last stage begins. */
static void fill(const suite_cut_table *table, double *least, int *from)
{
    int width = table->elements + 1;
    for (int stage = 0; stage < table->stages; stage++)
        for (int to = 0; to < width; to++) {
            double *best = &least[stage * width + to];
            *best = stage == 0 && to > 0 ? *suite_cut_at(table, 0, 0, to) : INFINITY;
            from[stage * width + to] = stage; /* one element a stage before */
            for (int begin = stage; stage > 0 && begin < to; begin++) {
                double value = fmax(least[(stage - 1) * width + begin], *suite_cut_at(table, stage, begin, to));
                if (value >= *best) continue;
                *best = value;
                from[stage * width + to] = begin;
            }
        }
}

bool suite_cut_evenly(const suite_cut_table *table, int *ends)
{
    int width = table->elements + 1;
    size_t count = (size_t)table->stages * (size_t)width;
    double *least = calloc(count, sizeof *least);
    int *from = calloc(count, sizeof *from);
    bool found = least && from;
    if (found) fill(table, least, from);
    found = found && isfinite(least[(table->stages - 1) * width + table->elements]);
    for (int stage = table->stages - 1, end = table->elements; found && stage >= 0; stage--) {
        ends[stage] = end;
        end = from[stage * width + end];
    }
    free(least);
    free(from);
    return found;
}

/* ---- the fastest step -------------------------------------------------------------------------------------------- */

typedef struct {
    const suite_cut_table *micro, *step;
    int micro_batches;
    double best;
    const suite_layers_watch *watch;
    int *best_ends, ends[64];
} cut_search;

/* What stages up to one come to. */
typedef struct {
    double sum, slowest, step;
} cut_cost;

static double seconds_of(const cut_search *search, cut_cost cost)
{
    return cost.sum + (search->micro_batches - 1) * cost.slowest + cost.step;
}

static dit_status try_stage(cut_search *search, int stage, int from, cut_cost so_far)
{
    DIT_TRY(suite_layers_ask(search->watch));
    int last = search->micro->stages - 1, most = search->micro->elements - (last - stage);
    for (int to = stage == last ? most : from + 1; to <= most; to++) {
        double micro = *suite_cut_at(search->micro, stage, from, to);
        double step = *suite_cut_at(search->step, stage, from, to);
        cut_cost cost = {so_far.sum + micro, fmax(so_far.slowest, micro), fmax(so_far.step, step)};
        if (!(seconds_of(search, cost) < search->best)) continue;
        search->ends[stage] = to;
        if (stage < last) {
            DIT_TRY(try_stage(search, stage + 1, to, cost));
            continue;
        }
        search->best = seconds_of(search, cost);
        memcpy(search->best_ends, search->ends, sizeof *search->ends * (size_t)(last + 1));
    }
    return DIT_OK;
}

dit_status suite_cut_fastest(const suite_cut_table *micro, const suite_cut_table *step, int micro_batches,
                             const suite_layers_watch *watch, int *ends, bool *found)
{
    cut_search search = {.micro = micro,
                         .step = step,
                         .micro_batches = micro_batches,
                         .best = INFINITY,
                         .watch = watch,
                         .best_ends = ends};
    *found = false;
    if (micro->stages > micro->elements) return DIT_OK;
    DIT_TRY(try_stage(&search, 0, 0, (cut_cost){0}));
    *found = isfinite(search.best);
    return DIT_OK;
}
