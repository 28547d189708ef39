/* Session: makes and finds the folder of one run of one workload.
 *
 *   journal.jsonl        the truth (journal.h)
 *   plan.json            the resolved cases and the order of all runs (schedule.h), so that resume needs no workload
 *   cases/ID/case.json   what the engine reads
 *   cases/ID/pK/         what the engine wrote in process K: record.json, rank-N.json, latents, engine.log
 *
 * Sessions lie under results/local of the current folder ($DITBENCH_RESULTS instead when set) under a name made of the
 * UTC time, the workload's name and a random tail; `latest` there points to the newest.
 */
#ifndef DIT_SUITE_SESSION_SESSION_H
#define DIT_SUITE_SESSION_SESSION_H

#include "suite/paths.h"

enum { SUITE_SESSION_NAME = 192 };

typedef struct {
    char dir[SUITE_PATH]; /* absolute */
    char name[SUITE_SESSION_NAME];
    char journal[SUITE_PATH];
} suite_session;

/* Makes a new session folder: `output` itself when given, else one under the root.
 * Errors: DIT_ERR_IO; DIT_ERR_USAGE when `output` already holds a session. */
dit_status suite_session_create(const char *output, const char *workload_name, suite_session *out);
/* Points `latest` to a session that lies under the root; a session elsewhere gets no link. A link that cannot be made
 * is no error. */
void suite_session_make_latest(const suite_session *session);
/* Finds a session by folder, journal file, name, unique beginning of a name, or "latest" (also NULL).
 * Errors: DIT_ERR_NOT_FOUND. */
dit_status suite_session_find(const char *name, suite_session *out);
/* Says on stderr which session `latest` (or NULL) turned out to be; nothing for a session that was named. */
void suite_session_tell_latest(const char *name, const suite_session *found);
/* Write the paths cases/ID and cases/ID/pK, without making the folders. */
dit_status suite_session_case_dir(const suite_session *session, const char *case_id, char out[SUITE_PATH]);
dit_status suite_session_process_dir(const suite_session *session, const char *case_id, int process,
                                     char out[SUITE_PATH]);

#endif
