/* Plan: decides the order in which the cases of a workload run. */
#ifndef DIT_SUITE_SESSION_PLAN_H
#define DIT_SUITE_SESSION_PLAN_H

#include "suite/workload/workload.h"

/* One planned process: which case, which repetition. */
typedef struct {
    int case_index, process, block, order;
} suite_run_item;
/* Randomised blocks: block p holds process p of every case in a shuffled order (seeded); within block 0
 * converged references come first, then one-rank references and oracles, so that later cases can state their distance to them. An oracle is no
 * measurement, so it has one process. A simulation gives equal results each time, so it has one process too;
 * simulations stand behind the other cases of block 0, so that none runs beside a measurement, those that send most
 * first. *items from malloc. */
dit_status suite_plan(const suite_workload *workload, suite_run_item **items, int *count);

#endif
