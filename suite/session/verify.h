/* Verify: checks that a session still says what was measured.
 *
 * Recomputes everything that can be: the hash chain, every case id, the plan's hash, each aggregate of a record from
 * its ranks, the bytes from the closed form, the digest of the stored latents, and that files and journal
 * agree, and that each planned (case, process) has one result that counts.
 */
#ifndef DIT_SUITE_SESSION_VERIFY_H
#define DIT_SUITE_SESSION_VERIFY_H

#include "suite/session/session.h"

typedef struct {
    int lines, results, records, latents; /* looked at      */
    int problems;
} suite_verify_summary;

/* Called for each problem; `place` is "journal.jsonl:12" or a file inside the session. */
typedef void (*suite_verify_report)(void *context, const char *place, dit_status code, const char *message);

/* Checks the whole session. Problems are reported, not returned. Errors: DIT_ERR_IO when the journal cannot be
 * opened; DIT_ERR_MEMORY. */
dit_status suite_verify_session(const suite_session *session, suite_verify_report report, void *context,
                                suite_verify_summary *out);

#endif
