/* Index: keeps an SQLite table of sessions and results, for listing and history.
 *
 * Journals are the truth; the index can be deleted at any time. It lies beside the sessions
 * (results/local/index.sqlite) and is brought up to date before it is read: sessions whose journal has another size or
 * time are read again, sessions that are gone are forgotten, and a file that is not a sound database is made anew. A
 * caller who only reads writes nothing: what the file lacks is then read into memory.
 */
#ifndef DIT_SUITE_SESSION_INDEX_H
#define DIT_SUITE_SESSION_INDEX_H

#include "base/status.h"
#include "reports/records/metrics.h"

typedef struct suite_index suite_index;

/* One row of the list, newest first. Strings live until the visit returns. */
typedef struct {
    const char *called, *note, *tags, *title, *evidence; /* run --name, --note, --tag (with commas); "" when not given;
                                                            title of the workload; measured, simulated, both, or "" */
    const char *name, *dir, *workload, *started, *ended, *hardware_id, *version;
    const char *damage; /* why the journal cannot be read, "" when it can */
    int planned, dropped, done, ok, failed, timeout, oom, skipped, invalid;
    bool complete, running;
} suite_index_session;
typedef void (*suite_index_visit)(void *context, const suite_index_session *row);

/* Reads the sessions under `root`, as they are now, into memory, and writes nothing. Without a readable index it reads
 * every journal. A folder that does not exist has no sessions. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_index_read(const char *root, suite_index **out);
/* Brings the file under `root` up to date (creates, repairs), so that reading is fast. Errors: DIT_ERR_IO where it
 * cannot be written, which is no harm. */
dit_status suite_index_save(const char *root);
dit_status suite_index_sessions(suite_index *index, suite_index_visit visit, void *context);

/* One number of one process that ended ok. Strings live until the visit returns. */
typedef struct {
    const char *case_id, *label, *tags; /* tags: a JSON object */
    const char
        *context; /* what comparable numbers share: hardware_id, or the hash of simulator, calibration, profile */
    bool simulated;
    const char *session, *started, *commit, *version;
    double value;
} suite_index_value;
typedef dit_status (*suite_index_value_visit)(void *context, const suite_index_value *row);
/* Visits all numbers of a metric from sessions that started at `since` (a time as journals write it; NULL: any) or
 * later, ordered by case, context, start, session, process. Stops at the first error of a visit. */
dit_status suite_index_values(suite_index *index, report_metric metric, const char *since,
                              suite_index_value_visit visit, void *context);
/* Accepts NULL. */
void suite_index_close(suite_index *index);

#endif
