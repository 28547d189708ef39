/* Precision: when a case has run often enough. Private to suite/run.
 *
 * A workload may ask for processes until the interval of the median is narrow (repeat.until, a share of the median),
 * and name the most that it allows (repeat.most). At least repeat.processes run, and at least six, for with fewer there
 * is no interval. The plan holds the most; what a case does not need is not run.
 */
#ifndef DIT_SUITE_RUN_PRECISION_H
#define DIT_SUITE_RUN_PRECISION_H

#include "base/json_writer.h"
#include "suite/session/history.h"
#include "suite/session/schedule.h"

typedef struct {
    double until; /* half of the interval over the median; 0: run all that is planned */
    int least;
    double *seconds; /* [case][process] of those that ended ok, in the order in which they ended */
    int *count, cases, most;
} suite_precision;

/* Reads what the schedule asks for and makes room. release accepts a zeroed one. Errors: DIT_ERR_MEMORY. */
dit_status suite_precision_init(const suite_schedule *schedule, suite_precision *out);
void suite_precision_release(suite_precision *precision);

/* A process of a case ended ok after `latency_ns`; a negative one is ignored. */
void suite_precision_note(suite_precision *precision, int case_index, double latency_ns);
/* Half of the case's interval over its median; 1 where there is no interval yet. */
double suite_precision_of(const suite_precision *precision, int case_index);
/* Whether `item` need not run. */
bool suite_precision_is_enough(const suite_precision *precision, const suite_run_item *item);
/* Adds "stop" to a journal line: the target, and for each case why it ran no more. Nothing without a target. */
void suite_precision_put(const suite_precision *precision, const suite_schedule *schedule, dit_json_writer *w,
                         cJSON *line);

#endif
