/* Schedule: keeps the resolved cases of a session, and the order in which they run, in the session's plan.json.
 *
 * It is written before the journal's first line, which holds its hash: a resumed run does exactly what was planned,
 * even when workload files have changed since.
 */
#ifndef DIT_SUITE_SESSION_SCHEDULE_H
#define DIT_SUITE_SESSION_SCHEDULE_H

#include "suite/session/plan.h"
#include "suite/session/session.h"
#include "suite/workload/workload.h"

/* release accepts a zeroed one. */
typedef struct {
    suite_case *cases;
    int case_count;
    suite_run_item *items; /* in running order */
    int item_count;
    cJSON *workload;  /* {"path","name","title","hash","seed","set","plots","expect","gate"}: all that a report needs */
    cJSON *dropped;   /* [{"cell","code","reason"}]                                                               */
    cJSON *published; /* lines of published points (published_lines.h); NULL: none                                */
    char hash[DIT_HASH_HEX]; /* of the canonical plan.json */
} suite_schedule;

/* Plans the workload, keeping only items whose case passes `filter` (an expression over tags; NULL keeps all).
 * Errors: DIT_ERR_EXPRESSION, DIT_ERR_NO_MATCH when it keeps nothing, DIT_ERR_MEMORY. */
dit_status suite_schedule_make(const suite_workload *workload, const char *filter, suite_schedule *out);
/* Takes out the simulated cases. Returns how many there were. */
int suite_schedule_drop_simulated(suite_schedule *schedule);
/* Writes plan.json and cases/ID/case.json of every planned case. Fills `hash`. */
dit_status suite_schedule_save(suite_schedule *schedule, const suite_session *session);
/* Writes plan.json alone. */
dit_status suite_schedule_save_plan(suite_schedule *schedule, const suite_session *session);
/* Reads plan.json back. Errors: DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_INTEGRITY when a case's id is not its hash. */
dit_status suite_schedule_load(const suite_session *session, suite_schedule *out);
void suite_schedule_release(suite_schedule *schedule);

#endif
