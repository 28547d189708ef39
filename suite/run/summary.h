/* Summary: reports the outcome of runs, as an exit code, as JSON and for people. */
#ifndef DIT_SUITE_RUN_SUMMARY_H
#define DIT_SUITE_RUN_SUMMARY_H

#include "suite/run/params.h"

/* Returns the exit code of several runs: 130/143 when interrupted, else 6 > 3 > 0; 77 when nothing ran but skips. */
int suite_run_exit_code(const suite_run_summary *summaries, int count);
/* {"session","path","workload","planned","done","ok",...,"complete","resume"?}. The caller deletes it. */
cJSON *suite_run_summary_json(const suite_run_summary *summary);
/* Prints for people, on stdout: counts; the fastest case of each model and size; the session's path ("session PATH")
 * and the next commands; when unfinished the resume command on stderr. Quiet: counts and path alone. */
void suite_run_summary_print(const suite_run_summary *summary, bool quiet);

#endif
