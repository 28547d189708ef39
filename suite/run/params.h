/* Params: holds what a caller asks of a run, and what the run reports. */
#ifndef DIT_SUITE_RUN_PARAMS_H
#define DIT_SUITE_RUN_PARAMS_H

#include "suite/launch/launch.h"
#include "suite/session/session.h"
#include "suite/text.h"

/* Zero means default everywhere. */
typedef struct {
    const char *engine, *launcher; /* path; row of suite_launchers                          */
    const char *filter;            /* expression over tags                                  */
    const char *output;            /* the session's folder                                  */
    const char *calibration;       /* laid over simulated machines; "none"; of a new session */
    const char *name, *note;       /* of the session, for people: kept in the journal       */
    suite_strings tags;            /* the same                                              */
    suite_strings without;         /* nodes that get no rank                                */
    suite_strings settings;        /* laid over the workload (suite/workload/settings.h)             */
    double timeout_s;              /* instead of every case's own deadline                  */
    double max_time_s;             /* start no case after so long                           */
    int processes;                 /* instead of the workload's repeat.processes            */
    int jobs;                      /* simulated cases at a time; as many as cores           */
    bool retry_failed;             /* resume: run failed, timed-out and oom results again   */
    bool other_hardware;           /* resume: allow a machine with another hardware_id      */
    bool trace;                    /* every case leaves a timeline                          */
    bool measured_only;            /* simulated cases are left out                          */
    bool dry_run, quiet;
    const cJSON *ab; /* what the first line says of the pairs that this run is a side of; NULL: none */
    cJSON *previews; /* what a dry run would do is added to this array; NULL: printed */
    int argc;        /* command line, for the journal                         */
    char **argv;
} suite_run_params;

typedef struct {
    suite_session session;
    char workload[128];
    int planned, dropped;
    int counts[DIT_OUTCOME_COUNT]; /* newest result of each (case, process)               */
    int needless;                  /* planned processes that the asked precision did not need */
    int unsteady;                  /* of the ok ones, results of a machine that did not hold still            */
    int verdicts;                  /* of them, simulations that say out of memory: results, not failures      */
    bool complete;
    char unknown_hosts[160]; /* simulated platforms of whose host nothing was fitted: "8xh200-sxm, 2xp5" */
    bool stays_behind;       /* nothing could be run, so it did not become `latest`                */
    double wall_s;           /* how long this call ran cases                                       */
    int signal_number;       /* what stopped it, 0 for nothing                                     */
} suite_run_summary;

#endif
