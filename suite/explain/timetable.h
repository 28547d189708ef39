/* Timetable: which stage of a pipeline works on which band of which step, and when, if all bands took equally long on
 * all stages (one tick). Pure.
 *
 * A stage takes bands in order, step by step. It can start one when the stage before has done it; the first stage, when
 * the last one has done the same band of the step before, whose latents it needs.
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

/* All of it from the rules above. Errors: DIT_ERR_MEMORY. release takes a zeroed one. */
dit_status suite_timetable_make(int64_t stages, int64_t bands, int64_t steps, suite_timetable *out);
void suite_timetable_release(suite_timetable *table);
/* The closed form of its ticks: steps M + P - 1 where M >= P; else (steps - 1) P + M + P - 1. 0 without steps. */
int64_t suite_timetable_ticks(int64_t stages, int64_t bands, int64_t steps);

/* A pipeline's schedule as {"stages", "bands", "warmup_steps", "fill", "stale_steps", "ticks", "efficiency",
 * "speed_up", "speed_up_bound", "stage_blocks": [blocks], "rows": [text]}: `rows` is the table of the first two stale
 * steps, a line for the ticks and one per stage, "STEP.BAND" in a column per tick. Times in steps of one rank: a tick
 * is 1 / (P M), a synchronous step 1. Appends to `parent` as "schedule". Errors: DIT_ERR_MEMORY. */
dit_status suite_timetable_to_json(const dit_parallel *parallel, const dit_facts *facts, cJSON *parent);

#endif
