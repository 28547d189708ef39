#include "suite/search/stages.h"

#include <math.h>
#include <stdlib.h>

suite_stage_cost suite_stages_cost(const suite_stage_block *blocks, const int *counts, int stages)
{
    suite_stage_cost cost = {0};
    for (int stage = 0; stage < stages; stage++) {
        double seconds = 0, bytes = 0;
        for (int i = 0; i < counts[stage]; i++, blocks++) seconds += blocks->seconds, bytes += blocks->bytes;
        cost.slowest_s = fmax(cost.slowest_s, seconds), cost.fullest = fmax(cost.fullest, bytes);
    }
    return cost;
}

/* The best partition of the first blocks into so many stages: its worst stage, and where its last one begins; from -1:
 * there is none. */
typedef struct {
    double worst;
    int from;
} best_cut;

/* What is asked of every stage, and which of both its worst one shall have least of. */
typedef struct {
    double most_seconds, most_bytes;
    bool least_bytes;
} cut_limits;

/* sums[i]: of the blocks before i. best [count + 1]: of one stage less; out: of this many. */
static void add_stage(const suite_stage_block *sums, int count, const cut_limits *limits, const best_cut *best,
                      best_cut *out)
{
    for (int end = 0; end <= count; end++) {
        out[end] = (best_cut){.from = -1};
        for (int from = 0; from < end; from++) {
            double seconds = sums[end].seconds - sums[from].seconds, bytes = sums[end].bytes - sums[from].bytes;
            if (best[from].from < 0 || bytes > limits->most_bytes || seconds > limits->most_seconds) continue;
            double worst = fmax(best[from].worst, limits->least_bytes ? bytes : seconds);
            if (out[end].from < 0 || worst < out[end].worst) out[end] = (best_cut){worst, from};
        }
    }
}

/* Returns the worst stage of the best partition; -1: there is none. */
static double cut(const suite_stage_block *sums, int count, int stages, const cut_limits *limits, best_cut *table,
                  int counts[DIT_MAX_STAGES])
{
    const size_t row = (size_t)count + 1;
    int end = count;
    for (int first = 1; first <= count; first++) table[first] = (best_cut){.from = -1}; /* no stage holds no block */
    table[0] = (best_cut){0};
    for (int stage = 1; stage <= stages; stage++)
        add_stage(sums, count, limits, table + (size_t)(stage - 1) * row, table + (size_t)stage * row);
    const best_cut *whole = &table[(size_t)stages * row + (size_t)count];
    for (int stage = stages; stage > 0 && whole->from >= 0; stage--) {
        int from = table[(size_t)stage * row + (size_t)end].from;
        counts[stage - 1] = end - from;
        end = from;
    }
    return whole->from < 0 ? -1 : whole->worst;
}

bool suite_stages_cut(const suite_stage_block *blocks, int count, int stages, double most_bytes,
                      int counts[DIT_MAX_STAGES])
{
    if (stages < 1 || stages > DIT_MAX_STAGES || count < stages) return false;
    cut_limits limits = {.most_seconds = INFINITY, .most_bytes = most_bytes};
    suite_stage_block *sums = calloc((size_t)count + 1, sizeof *sums);
    best_cut *table = calloc(((size_t)count + 1) * ((size_t)stages + 1), sizeof *table);
    bool found = sums && table;
    for (int i = 0; found && i < count; i++)
        sums[i + 1] = (suite_stage_block){sums[i].seconds + blocks[i].seconds, sums[i].bytes + blocks[i].bytes};
    double slowest_s = found ? cut(sums, count, stages, &limits, table, counts) : -1;
    found = slowest_s >= 0;
    limits.most_seconds = slowest_s * (1 + 1e-12), limits.least_bytes = true;
    if (found) found = cut(sums, count, stages, &limits, table, counts) >= 0;
    free(sums);
    free(table);
    return found;
}
