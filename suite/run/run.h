/* Run: executes a schedule, one (case, process) after the other, and journals each outcome.
 *
 * Whatever happens to a case is recorded and the run goes on. Whatever happens to the harness (a signal, kill -9, a
 * full disk), the journal holds every finished (case, process) once, and resume runs the rest.
 */
#ifndef DIT_SUITE_RUN_RUN_H
#define DIT_SUITE_RUN_RUN_H

#include "suite/run/params.h"

/* Checks that the workload can be run here: it is valid, and there is a simulator if it has simulated cases. With
 * several workloads, a late one must not be refused after the others have run for hours. Errors: as below. */
dit_status suite_run_check(const char *workload, const suite_run_params *params);
/* Loads, plans and runs one workload in a session of its own. With dry_run, or a launcher that only prints, the
 * commands go to stdout and nothing is run. `signals` must be blocked (suite_signals_block). Errors: those of loading;
 * DIT_ERR_ENVIRONMENT without an engine, launcher or simulator that it needs; DIT_ERR_IO for the session. */
dit_status suite_run_workload(const char *workload, const suite_run_params *params, suite_signals *signals,
                              suite_run_summary *out);
/* Runs the items of a session that have no result yet. Errors: as above; DIT_ERR_INTEGRITY when the plan is not the one
 * that was started; DIT_ERR_ENVIRONMENT on a machine with another hardware_id. */
dit_status suite_run_resume(const char *session, const suite_run_params *params, suite_signals *signals,
                            suite_run_summary *out);

#endif
