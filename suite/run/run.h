/* Run: executes a schedule, one (case, process) after the other, and journals each outcome.
 *
 * Whatever happens to a case is recorded and the run goes on. Whatever happens to the harness (a signal, kill -9, a
 * full disk), the journal holds every finished (case, process) once, and resume runs the rest.
 */
#ifndef DIT_SUITE_RUN_RUN_H
#define DIT_SUITE_RUN_RUN_H

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
    suite_strings settings;        /* laid over the workload (suite/workload/settings.h)             */
    double timeout_s;              /* instead of every case's own deadline                  */
    double max_time_s;             /* start no case after so long                           */
    int processes;                 /* instead of the workload's repeat.processes            */
    int jobs;                      /* simulated cases at a time; as many as cores           */
    bool retry_failed;             /* resume: run failed, timed-out and oom results again   */
    bool other_hardware;           /* resume: allow a machine with another hardware_id      */
    bool trace;                    /* every case leaves a timeline                          */
    bool dry_run, quiet;
    cJSON *previews; /* what a dry run would do is added to this array; NULL: printed */
    int argc;        /* command line, for the journal                         */
    char **argv;
} suite_run_params;

typedef struct {
    suite_session session;
    char workload[128];
    int planned, dropped;
    int counts[DIT_OUTCOME_COUNT]; /* newest result of each (case, process)               */
    int verdicts;                  /* of them, simulations that say out of memory: results, not failures      */
    bool complete;
    bool stays_behind; /* nothing could be run, so it did not become `latest`                */
    double wall_s;     /* how long this call ran cases                                       */
    int signal_number; /* what stopped it, 0 for nothing                                     */
} suite_run_summary;

/* Whether the workload can be run here at all: it is valid, and there is a simulator if it has simulated cases. For
 * several workloads, of which the last should not be refused when the first have run for hours. Errors: as below. */
dit_status suite_run_check(const char *workload, const suite_run_params *params);
/* Loads, plans and runs one workload in a session of its own. With dry_run, or a launcher that only prints, the
 * commands go to stdout and nothing is run. `signals` must be blocked (suite_signals_block). Errors: those of loading;
 * DIT_ERR_ENVIRONMENT without an engine, launcher or simulator that it needs; DIT_ERR_IO for the session. */
dit_status suite_run_workload(const char *workload, const suite_run_params *params, suite_signals *signals,
                              suite_run_summary *out);
/* Runs what a session still lacks. Errors: as above; DIT_ERR_INTEGRITY when the plan is not the one that was started;
 * DIT_ERR_ENVIRONMENT on a machine with another hardware_id. */
dit_status suite_run_resume(const char *session, const suite_run_params *params, suite_signals *signals,
                            suite_run_summary *out);

/* Exit code of several runs: 130/143 when interrupted, else 6 > 3 > 0; 77 when nothing ran but skips. */
int suite_run_exit_code(const suite_run_summary *summaries, int count);
/* {"session","path","workload","planned","done","ok",...,"complete","resume"?}. The caller deletes it. */
cJSON *suite_run_summary_json(const suite_run_summary *summary);
/* For people, on stdout: counts; the fastest case of each model and size; the session's path ("session PATH") and the
 * next commands; when unfinished the resume command on stderr. Quiet: counts and path alone. */
void suite_run_summary_print(const suite_run_summary *summary, bool quiet);

#endif
