/* Process pool: calls one function for every number from 0 on, several at a time, each call in a process of its own.
 *
 * A job may start processes of its own (suite/launch/process.h), which a thread could not. What it leaves behind is its
 * result, plain bytes without pointers.
 */
#ifndef DIT_SUITE_LAUNCH_PROCESS_POOL_H
#define DIT_SUITE_LAUNCH_PROCESS_POOL_H

#include "suite/launch/process.h"

typedef struct {
    int count;           /* jobs 0, 1, ..., count - 1                                 */
    int at_once;         /* 0: as many as cores that this process may use             */
    size_t result_bytes; /* of one; zeroed before the job                             */
    void *context;
    /* In the job's process; signals come in through `signals`. */
    dit_status (*run)(int job, suite_signals *signals, void *result, void *context);
    /* In the caller, in the order in which jobs end. `st` is what run returned; of a failure, dit_error_last() is the
     * job's. A status that it returns ends everything. */
    dit_status (*done)(int job, dit_status st, const void *result, void *context);
    bool (*goes_on)(void *context); /* asked before each job: false starts no more; NULL: always */
    void (*tick)(void *context);    /* called a few times a second; NULL: nobody */
    suite_signals *signals;         /* blocked by the caller, who wants to know what came; NULL: own */
} suite_jobs;

/* Runs all jobs. When it returns, no job is left. Errors: DIT_ERR_INTERRUPTED after SIGINT or SIGTERM,
 * DIT_ERR_MEMORY, DIT_ERR_ENVIRONMENT when no process can be made, and what `done` returned. */
dit_status suite_jobs_run(const suite_jobs *jobs);

#endif
