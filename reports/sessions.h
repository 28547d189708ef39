/* Sessions: finds the folders under a root that hold a journal, reads the short facts of their pages, and writes the
 * index page.
 *
 * Each session has NAME/journal.jsonl; its page, where there is one, is NAME/report/report.html with report.json beside
 * it. A page is current when report.json names the journal's bytes and the program that writes now.
 */
#ifndef DIT_REPORTS_SESSIONS_H
#define DIT_REPORTS_SESSIONS_H

#include "base/json.h"
#include "reports/report.h"

typedef struct {
    char *name;     /* of the folder                                              */
    dit_json head;  /* the journal's first line; root is NULL when it is damaged  */
    dit_json facts; /* report.json; root is NULL without a page                  */
    bool current;
} report_session;

typedef struct {
    char root[REPORT_PATH];
    report_session *rows; /* newest first */
    int count, capacity;
} report_sessions;

/* Lists the sessions under `root`; a root that does not exist has none. `program`: the version that writes pages now.
 * Errors: DIT_ERR_IO for a root that cannot be read; DIT_ERR_MEMORY. Then *out is released. */
dit_status report_sessions_read(const char *root, const char *program, report_sessions *out);
/* Accepts a zeroed one. */
void report_sessions_release(report_sessions *sessions);

/* Returns a text of the page's facts or of the journal's first line; "" where neither has it. Keys are those of
 * report.json. */
const char *report_session_fact(const report_session *session, const char *key);
/* Returns a link from the page of one session to the page of another, or from the index where `from_index` is true,
 * escaped for an address. The caller frees it. NULL: no memory. */
char *report_session_href(const report_session *session, bool from_index);

/* Writes ROOT/index.html atomically, and its path into `path`. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status report_index_write(const report_sessions *sessions, char path[REPORT_PATH]);

#endif
