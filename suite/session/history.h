/* History: reads a session's journal into memory, checks it, and marks the newest result of each (case, process). */
#ifndef DIT_SUITE_SESSION_HISTORY_H
#define DIT_SUITE_SESSION_HISTORY_H

#include "suite/launch/launch.h"
#include "suite/session/journal.h"

typedef struct {
    int line; /* of the journal */
    char case_id[DIT_HASH_HEX];
    int process;
    dit_outcome status;
    bool superseded; /* a later line holds the same (case, process): `resume --retry-failed` ran it again */
    cJSON *document; /* the whole line */
} suite_history_result;

/* release accepts a zeroed one. */
typedef struct {
    cJSON *session; /* first line; NULL in an empty journal    */
    suite_history_result *results;
    int result_count, capacity;
    int *sorted; /* places of results by case, process, line; NULL before suite_history_finish */
    int dropped_count, published_count;
    bool complete;  /* the last line says that all was run   */
    bool decided;   /* ... or all that a verdict needed: later processes of a case were planned, and not run */
    char ended[40]; /* of the last end line; "" when none    */
    suite_journal_extent extent;
} suite_history;

/* Reads a journal. Errors: those of suite_journal_read; DIT_ERR_JOURNAL for a line that lacks what its kind needs. */
dit_status suite_history_load(const char *journal_path, suite_history *out);
/* The visitor, for suite_journal_open: collects into a suite_history *. Call suite_history_finish afterwards. */
dit_status suite_history_visit(void *history, int line, const dit_json *document);
void suite_history_finish(suite_history *history);
/* Returns the newest result of (case, process), or NULL; also NULL before suite_history_finish. */
const suite_history_result *suite_history_find(const suite_history *history, const char *case_id, int process);
void suite_history_release(suite_history *history);

/* Returns true if the warnings of a result, or of its record, say that the machine did not hold still: "unstable: ..." or
 * "throttled: ...", but not "throttled: power_cap": GPUs work at that limit all day. */
bool suite_history_is_unsteady(const cJSON *result);
/* Returns the median over the steady iterations of a result's record, in ns; negative when there is none. */
double suite_history_latency_ns(const cJSON *result);
/* Returns that median for a record, which may be NULL. */
double suite_record_latency_ns(const cJSON *record);

#endif
