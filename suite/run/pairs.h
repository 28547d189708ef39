/* Pairs: two runs of one workload, side by side, for `ditbench ab`.
 *
 * The runs differ in their engine or in their settings. Each is a session of its own; a pair is one process of a case
 * of the one and the corresponding process of the other, back to back on the same cores, in a random order, so that a
 * drift of the machine moves both. A pair beside which other processes used the cores is kept, and does not count.
 */
#ifndef DIT_SUITE_RUN_PAIRS_H
#define DIT_SUITE_RUN_PAIRS_H

#include "suite/run/params.h"
#include "suite/workload/workload.h"

#include <stdint.h>

typedef struct suite_pairs suite_pairs;

enum { SUITE_PAIRS_OLD, SUITE_PAIRS_NEW, SUITE_PAIRS_SIDES };

typedef struct {
    const char *id;    /* what both sessions share; the order within pairs follows from it                      */
    int looks;         /* how often the numbers are looked at                                                   */
    double busy_limit; /* the share of the cores that others may use while a pair counts; 1: every pair counts */
    double max_time_s; /* begin no pair so long after the sides were opened; 0: no limit                       */
} suite_pairs_rules;

/* Pairs of a case that were run. */
typedef struct {
    int counted, busy; /* busy: others used the cores beside one of both */
} suite_pairs_count;

/* Loads and plans the measured cases of the workload twice and begins both sessions. The runs' params name engine,
 * settings and output; their `processes` is the most pairs that a case may need, busy ones among them. The rules go into
 * both first lines. Errors: those of suite_run_workload; DIT_ERR_USAGE when the sides have different numbers of cases;
 * DIT_ERR_NO_MATCH without a measured case. */
dit_status suite_pairs_open(const char *workload, const suite_run_params params[SUITE_PAIRS_SIDES],
                            const suite_pairs_rules *rules, suite_signals *signals, suite_pairs **out);
/* Cases of a side, and what each is. */
int suite_pairs_case_count(const suite_pairs *pairs);
const suite_case *suite_pairs_case(const suite_pairs *pairs, int side, int index);
const suite_session *suite_pairs_session(const suite_pairs *pairs, int side);
/* Runs pair `process` of every case that is `wanted`, in an order that the plan's seed fixes, and adds to `counts` (both
 * per case). Which side is first follows from how many pairs of the case count (order.h), so that a pair that did not
 * count is run again in its order. Stops at a signal, and begins no pair when the time is over. Errors: as
 * suite_run_workload. */
dit_status suite_pairs_run(suite_pairs *pairs, int process, const bool *wanted, suite_pairs_count *counts);
/* Whether max_time_s is over. */
bool suite_pairs_is_over(const suite_pairs *pairs);
/* Writes both last lines and gives everything back. `reason`: "decided" makes the sessions complete although pairs that
 * nobody needed were planned. Accepts NULL. Errors: DIT_ERR_IO. */
dit_status suite_pairs_close(suite_pairs *pairs, const char *reason);

#endif
