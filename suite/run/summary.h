/* Summary: reports the outcome of runs, as an exit code, as JSON and for people. */
#ifndef DIT_SUITE_RUN_SUMMARY_H
#define DIT_SUITE_RUN_SUMMARY_H

#include "base/json_writer.h"
#include "suite/run/params.h"

/* Returns the exit code of several runs: 130/143 when interrupted, else 6 > 3 > 5 > 0; 77 when nothing ran but skips. */
int suite_run_exit_code(const suite_run_summary *summaries, int count);
/* Adds {"session","path","workload","planned","done","ok",...,"complete","resume"?} to a list. */
void suite_run_summary_put(dit_json_writer *w, cJSON *list, const suite_run_summary *summary);
/* Prints for people, on stdout: counts; the fastest case of each model and size; simulated
 * platforms of whose host nothing was fitted; the session's path ("session PATH")
 * and the next commands; when unfinished the resume command on stderr. Quiet: counts and path alone. */
void suite_run_summary_print(const suite_run_summary *summary, bool quiet);

#endif
