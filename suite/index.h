/* Index: an SQLite table of sessions and results, for listing and history.
 *
 * Journals are the truth; the index can be deleted at any time. It lies beside the sessions
 * (results/local/index.sqlite) and is brought up to date before it is read: sessions whose journal has another size or
 * time are read again, those that are gone are forgotten, and a file that is not a sound database is made anew.
 */
#ifndef DIT_SUITE_INDEX_H
#define DIT_SUITE_INDEX_H

#include "suite/session.h"

typedef struct suite_index suite_index;

/* One row of the list, newest first. Strings live until the visit returns. */
typedef struct {
    const char *name, *dir, *workload, *started, *ended, *hardware_id, *version;
    const char *damage; /* why the journal cannot be read, "" when it can */
    int planned, dropped, done, ok, failed, timeout, oom, skipped, invalid;
    bool complete, running;
} suite_index_session;
typedef void (*suite_index_visit)(void *context, const suite_index_session *row);

/* Opens (creates, repairs) the index of the sessions under `root` and brings it up to date. Errors: DIT_ERR_IO. */
dit_status suite_index_open(const char *root, suite_index **out);
dit_status suite_index_sessions(suite_index *index, suite_index_visit visit, void *context);
/* Accepts NULL. */
void suite_index_close(suite_index *index);

#endif
