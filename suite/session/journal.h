/* Journal: writes and reads the truth about a session, as append-only JSON Lines with one event in a line.
 *
 * A line is {"hash":"H",BODY where {BODY is the canonical JSON of the event (with "prev", the hash of the line before)
 * and H the XXH3-128 of those bytes; the first line's prev is 32 zeros. So any changed byte is found without parsing,
 * and a removed or swapped line breaks the chain. A line is written by one write and fsync; a last line without its
 * newline is torn: it counts as never written, and opening for append cuts it off. A damaged line elsewhere is an
 * error.
 */
#ifndef DIT_SUITE_SESSION_JOURNAL_H
#define DIT_SUITE_SESSION_JOURNAL_H

#include "base/hash.h"
#include "base/json.h"

typedef struct suite_journal suite_journal;

/* One line as read. `line` counts from 1; `document` belongs to the reader and lives until the visit returns. */
typedef dit_status (*suite_journal_visit)(void *context, int line, const dit_json *document);

/* The place where reading ended. */
typedef struct {
    int lines;     /* sound lines                           */
    int64_t bytes; /* up to the end of the last sound line  */
    bool torn;     /* bytes follow that do not end a line   */
    char last_hash[DIT_HASH_HEX];
} suite_journal_extent;

/* Reads all lines, checks each hash and the chain, and calls `visit` (may be NULL) for each. Stops at the first error
 * of a visit. Errors: DIT_ERR_IO; DIT_ERR_JOURNAL for a line that is not a journal line; DIT_ERR_INTEGRITY for one that
 * does not hash to what it says or does not follow its predecessor. Messages start with "PATH:LINE: ". */
dit_status suite_journal_read(const char *path, suite_journal_visit visit, void *context, suite_journal_extent *extent);

/* Opens for append (creates when absent): takes the lock, reads and checks what is there, cuts a torn tail.
 * Errors: as reading; DIT_ERR_USAGE when another process holds the lock. */
dit_status suite_journal_open(const char *path, suite_journal_visit visit, void *context, suite_journal **out);
/* Adds "prev" and "hash", writes one line, waits for the disk. `event` stays the caller's and is not changed. After an
 * error the file ends where it did before. Errors: DIT_ERR_IO, DIT_ERR_MEMORY, DIT_ERR_JSON_*. */
dit_status suite_journal_append(suite_journal *journal, const cJSON *event);
int suite_journal_lines(const suite_journal *journal);
/* Releases the lock. Accepts NULL. */
void suite_journal_close(suite_journal *journal);
/* True when some process holds the journal open for append: a run in progress. */
bool suite_journal_locked(const char *path);

#endif
