/* Timetable: computes which stage of a pipeline works on which band of which step, and when, if all bands take one tick
 * on all stages. Pure.
 *
 * A stage takes bands in order, step by step. It can start a band when the stage before it has done that band. The
 * first stage needs the latents of the step before, so it waits until the last stage has done the band in that step.
 */
#ifndef DIT_SUITE_EXPLAIN_TIMETABLE_H
#define DIT_SUITE_EXPLAIN_TIMETABLE_H

#include "base/json.h"
#include "base/facts.h"
#include "base/parallel.h"

/* A pipeline's schedule as {"stages", "bands", "warmup_steps", "fill", "stale_steps", "ticks", "efficiency",
 * "speed_up", "speed_up_bound", "stage_blocks": [blocks], "rows": [text]}: `rows` is the table of the first two stale
 * steps, a line for the ticks and one per stage, "STEP.BAND" in a column per tick. Times in steps of one rank: a tick
 * is 1 / (P M), a synchronous step 1. Appends to `parent` as "schedule". Errors: DIT_ERR_MEMORY. */
dit_status suite_timetable_to_json(const dit_parallel *parallel, const dit_facts *facts, cJSON *parent);

#endif
