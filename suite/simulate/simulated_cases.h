/* Simulated cases: runs cases of simulated platforms, several at a time, and judges each as it ends.
 *
 * A simulation takes one core, and its result does not depend on what runs beside it; nor does that of a plan, which
 * the job's process makes itself. Each is prepared and run in a process of its own (suite/launch/process_pool.h); the
 * caller's process judges the files that it left.
 */
#ifndef DIT_SUITE_SIMULATE_SIMULATED_CASES_H
#define DIT_SUITE_SIMULATE_SIMULATED_CASES_H

#include "suite/launch/launch.h"
#include "suite/paths.h"
#include "suite/simulate/simulate.h"
#include "suite/workload/workload.h"

/* One case; strings and documents stay the caller's. */
typedef struct {
    const suite_case *kase;
    char out_dir[SUITE_PATH]; /* made, or emptied */
    double deadline_s;
} suite_batch_item;

typedef struct {
    const suite_batch_item *items;
    int count;
    int at_once; /* 0: as many as cores                                             */
    const suite_calibration *calibration;
    suite_signals *signals;         /* blocked                                                         */
    void (*tick)(void *context);    /* called a few times a second; NULL: nobody                       */
    bool (*goes_on)(void *context); /* asked before each case: false starts no more; NULL: always      */
    /* In the order in which cases end; `started` is UTC. Cases that were interrupted have no outcome. A status that it
     * returns ends everything. */
    dit_status (*done)(int item, const char *started, suite_outcome *outcome, void *context);
    void *context;
} suite_batch;

/* Runs all cases. Returns DIT_OK after a signal, too; `signals` tells of it. Errors: DIT_ERR_IO, DIT_ERR_MEMORY,
 * DIT_ERR_ENVIRONMENT, and what `done` returned. A failure of one case is its outcome. */
dit_status suite_batch_run(const suite_batch *batch);

/* Says how the launcher smpirun starts a case in `out_dir`; `engine` gets the path. Errors: those of
 * suite_simulate_engine and suite_platform_load. */
dit_status suite_batch_plan(const suite_case *one, const char *out_dir, char engine[SUITE_PATH],
                            suite_launch_plan *out);
/* Whether the harness computes the case itself, without SimGrid (program.h, plan). */
bool suite_batch_is_planned(const suite_case *one);
/* Leaves in `out_dir` the files that the launcher, or the planner, needs. */
dit_status suite_batch_prepare(const suite_case *one, const suite_calibration *calibration, const char *out_dir);

#endif
