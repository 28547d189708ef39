/* Pages: writes the reports of one or several sessions, and the index page of the folder in which the sessions lie. */
#ifndef DIT_SUITE_SESSION_PAGES_H
#define DIT_SUITE_SESSION_PAGES_H

#include "reports/report.h"
#include "reports/sessions.h"
#include "suite/paths.h"
#include "suite/session/session.h"

/* Finds the sessions folder that holds a session. False: the session lies elsewhere, and no index lists it. */
bool suite_pages_root(const suite_session *session, char out[SUITE_PATH]);

/* Writes the page of a session that lies in sessions->root (NULL: of one that lies elsewhere), with links to the index
 * and to the other sessions that have a page, or where `all` will have one. `options` says the rest. As
 * report_write. */
dit_status suite_pages_write(const suite_session *session, const report_sessions *sessions, bool all,
                             report_options options, report_summary *out);

/* Reads the sessions of `root` again and writes its index.html. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_pages_index(const char *root, char path[REPORT_PATH]);

/* Says whether a session started at or after `since`: a date or time ("2026-01-31", "2026-01-31T12:00") or an age
 * ("90m", "2h", "7d"); NULL: any did. Errors: DIT_ERR_USAGE. */
dit_status suite_pages_since(const char *since, char out[32]);

#endif
