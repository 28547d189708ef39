/* Warm-up: runs a program until it is as fast as it will be, before anything counts.
 *
 * A case asks for a number of warm-up runs, and may allow more: then they go on until two runs in a row differ by at
 * most DIT_WARMUP_NEAR, or as many are done as it allows. All ranks decide alike, by the sum of their times.
 */
#ifndef DIT_ENGINE_RESULTS_WARMUP_H
#define DIT_ENGINE_RESULTS_WARMUP_H

#include "engine/case/case.h"
#include "engine/results/record.h"

#define DIT_WARMUP_NEAR 0.03 /* a share of the shorter run */

/* Makes room for the warm-up runs that the case may need. Errors: DIT_ERR_MEMORY. */
dit_status dit_warmup_init(dit_measurement *measurement, const dit_case *kase);
/* Calls `run` for each warm-up run, which gives its nanoseconds, and notes how many there were and why they ended.
 * Collective. Errors: those of `run`; of communication. */
dit_status dit_warmup_run(dit_measurement *measurement, dit_status (*run)(void *context, int64_t *latency_ns),
                          void *context);

/* Whether the last two of `count` runs differ little enough. */
bool dit_warmup_is_over(const int64_t *latency_ns, int count);

#endif
