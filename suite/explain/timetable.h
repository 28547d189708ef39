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

typedef struct {
    int64_t stages, bands, steps; /* steps: the stale ones       */
    int64_t *start;               /* [steps][bands][stages] ticks */
    int64_t ticks;                /* until all is done            */
} suite_timetable;

/* Makes the timetable by the rules above. Errors: DIT_ERR_MEMORY. release accepts a zeroed one. */
dit_status suite_timetable_make(int64_t stages, int64_t bands, int64_t steps, suite_timetable *out);
/* Returns the number of ticks by the closed form: steps M + P - 1 where M >= P; else (steps - 1) P + M + P - 1. 0
 * without steps. */
int64_t suite_timetable_ticks(int64_t stages, int64_t bands, int64_t steps);

/* A pipeline's schedule as {"stages", "bands", "warmup_steps", "fill", "stale_steps", "ticks", "efficiency",
 * "speed_up", "speed_up_bound", "stage_blocks": [blocks], "rows": [text]}: `rows` is the table of the first two stale
 * steps, a line for the ticks and one per stage, "STEP.BAND" in a column per tick. Times in steps of one rank: a tick
 * is 1 / (P M), a synchronous step 1. Appends to `parent` as "schedule". Errors: DIT_ERR_MEMORY. */
dit_status suite_timetable_to_json(const dit_parallel *parallel, const dit_facts *facts, cJSON *parent);

#endif
