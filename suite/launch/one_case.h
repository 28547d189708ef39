/* One case: runs one engine case outside of any session, for verbs that check rather than measure (golden, kernels,
 * doctor). */
#ifndef DIT_SUITE_LAUNCH_ONE_CASE_H
#define DIT_SUITE_LAUNCH_ONE_CASE_H

#include "suite/launch/launch.h"

/* Zero means default. */
typedef struct {
    const char *engine, *launcher;
    const char
        *output;       /* keeps case.json, engine.log and records there; NULL: a temporary folder, removed at the end */
    double deadline_s; /* 0: 600 s */
    int stdout_fd;     /* > 0: the engine's stdout goes there */
    void (*tick)(void *context, double elapsed_s); /* called a few times a second; may be NULL */
    void *context;
    int world_size, threads_per_rank;
    bool dry_run;    /* only the command */
    cJSON *commands; /* dry_run: the command is added to this array; NULL: printed on stdout */
} suite_single_params;

/* Writes `kase` to a file and runs the engine on it. Errors: DIT_ERR_ENVIRONMENT, DIT_ERR_IO, DIT_ERR_INTERRUPTED. */
dit_status suite_single_run(const cJSON *kase, const suite_single_params *params, suite_outcome *out);

#endif
