#include "suite/workload/workload.h"

#include "base/rng.h"
#include "suite/session/plan.h"

#include <stdio.h>
#include <stdlib.h>

/* Fisher-Yates; every block has its own stream, so that more processes never change the order of earlier blocks. */
static void shuffle(int *indices, int count, uint64_t seed, int block)
{
    char name[64];
    snprintf(name, sizeof name, "suite.plan.block.%d", block);
    uint64_t stream = dit_rng_stream(name);
    for (int i = count - 1; i > 0; i--) {
        int j = (int)dit_rng_below(seed, stream, (uint64_t)i, (uint64_t)i + 1);
        int kept = indices[i];
        indices[i] = indices[j];
        indices[j] = kept;
    }
}

/* The passes of block 0. */
typedef enum { CONVERGED, COMPARED_WITH, MEASURED, SIMULATED } pass;

static pass pass_of(const suite_case *one)
{
    if (one->is_simulated) return SIMULATED;
    if (one->is_converged) return CONVERGED; /* with which references are compared, too */
    return one->is_reference || one->is_oracle ? COMPARED_WITH : MEASURED;
}

static int take(const suite_workload *workload, const int *indices, pass wanted, suite_run_item *items, int order)
{
    for (int i = 0; i < workload->case_count; i++)
        if (pass_of(&workload->cases[indices[i]]) == wanted)
            items[order] = (suite_run_item){indices[i], 0, 0, order}, order++;
    return order;
}

/* Those that send most take longest, and come first: the last ones then leave no core waiting for long. */
static int compare_work(const void *a, const void *b, void *context)
{
    const suite_run_item *x = a, *y = b;
    const suite_case *cases = context, *one = &cases[x->case_index], *other = &cases[y->case_index];
    double work = (double)one->predicted_bytes * one->world_size;
    double more = (double)other->predicted_bytes * other->world_size;
    return work != more ? (work < more) - (work > more) : x->case_index - y->case_index;
}

static int plan_simulated(const suite_workload *workload, const int *indices, suite_run_item *items, int order)
{
    int end = take(workload, indices, SIMULATED, items, order);
    qsort_r(items + order, (size_t)(end - order), sizeof *items, compare_work, workload->cases);
    for (int i = order; i < end; i++) items[i].order = i;
    return end;
}

static int plan_block(const suite_workload *workload, int block, int *indices, suite_run_item *items, int order)
{
    for (int i = 0; i < workload->case_count; i++) indices[i] = i;
    shuffle(indices, workload->case_count, workload->plan_seed, block);
    if (block == 0) {
        order = take(workload, indices, CONVERGED, items, order);
        order = take(workload, indices, COMPARED_WITH, items, order);
        order = take(workload, indices, MEASURED, items, order);
        return plan_simulated(workload, indices, items, order);
    }
    for (int i = 0; i < workload->case_count; i++) {
        const suite_case *one = &workload->cases[indices[i]];
        if (!one->is_oracle && !one->is_simulated)
            items[order] = (suite_run_item){indices[i], block, block, order}, order++;
    }
    return order;
}

dit_status suite_plan(const suite_workload *workload, suite_run_item **items, int *count)
{
    int blocks = workload->processes;
    if (workload->until > 0 && workload->most_processes > blocks) blocks = workload->most_processes;
    size_t cases = (size_t)workload->case_count, runs = cases * (size_t)blocks;
    int *indices = malloc((cases + 1) * sizeof *indices), order = 0;
    *items = malloc((runs + 1) * sizeof **items);
    *count = 0;
    if (!indices || !*items) {
        free(indices);
        free(*items);
        *items = NULL;
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory to plan %zu runs", runs);
    }
    for (int block = 0; block < blocks; block++) order = plan_block(workload, block, indices, *items, order);
    *count = order;
    free(indices);
    return DIT_OK;
}
