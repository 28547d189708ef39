/* Index: an SQLite table of sessions and results, for listing and history.
 *
 * Journals are the truth; the index can be deleted at any time. It lies beside the sessions
 * (results/local/index.sqlite) and is brought up to date before it is read: sessions whose journal has another size or
 * time are read again, those that are gone are forgotten, and a file that is not a sound database is made anew. Whoever
 * only reads writes nothing: what the file lacks is then read into memory.
 */
#ifndef DIT_SUITE_SESSION_INDEX_H
#define DIT_SUITE_SESSION_INDEX_H

#include "base/status.h"

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

/* The sessions under `root`, as they are now, in memory: nothing is written, and without an index that can be read
 * every journal is. A folder that is not there has no sessions. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_index_read(const char *root, suite_index **out);
/* Brings the file under `root` up to date (creates, repairs), so that reading is fast. Errors: DIT_ERR_IO where it
 * cannot be written, which is no harm. */
dit_status suite_index_save(const char *root);
dit_status suite_index_sessions(suite_index *index, suite_index_visit visit, void *context);
/* Accepts NULL. */
void suite_index_close(suite_index *index);

#endif
