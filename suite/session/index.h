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
/* Accepts NULL. */
void suite_index_close(suite_index *index);

#endif
