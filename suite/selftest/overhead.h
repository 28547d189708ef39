/* Overhead: what the harness itself costs, measured with an engine that computes nothing.
 *
 * Two costs, which are not to be added: processor time that the harness takes while a case runs could slow the case
 * down; wall time between two cases only makes a session longer, for engines time themselves.
 */
#ifndef DIT_SUITE_SELFTEST_OVERHEAD_H
#define DIT_SUITE_SELFTEST_OVERHEAD_H

#include "base/status.h"

#include <stdbool.h>

/* Of the processor time of a core while a case runs: 0.1 %. */
#define SUITE_OVERHEAD_MOST 0.001

typedef struct {
    int long_cases, empty_cases; /* cases of one second, cases that end at once                                */
    double taken_s;              /* processor time of the harness while a case runs for a second; less than 0: noise */
    double between_s;            /* wall time of a case less that of its engine: folders, journal, fsync       */
    double launch_s;             /* wall time of an engine that does nothing, from its start to its end        */
    bool missed;                 /* taken_s is above SUITE_OVERHEAD_MOST of a second                           */
} suite_overhead;

/* Runs sessions of the fake engine in a temporary folder, ten seconds in all. `engine`: NULL takes
 * tests/ditbench-engine-fake of the build folder that this program lies in. Errors: DIT_ERR_ENVIRONMENT without the
 * fake engine; those of suite_run_workload; DIT_ERR_INTERRUPTED. */
dit_status suite_overhead_measure(const char *engine, suite_overhead *out);

#endif
