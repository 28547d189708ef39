/* Outcome: what became of one process of one case, in the words of journals and reports. */
#ifndef DIT_BASE_OUTCOME_H
#define DIT_BASE_OUTCOME_H

#include <stdbool.h>

/* "evidence" of a record whose times the fake engine made up, to test the harness (suite/tests/fake_engine.c). */
#define DIT_EVIDENCE_FAKE "fake"

typedef enum {
    DIT_OUTCOME_OK,
    DIT_OUTCOME_FAILED,  /* ended with an error, or crashed                                */
    DIT_OUTCOME_TIMEOUT, /* was ended at its deadline                                      */
    DIT_OUTCOME_OOM,     /* hit an arena's limit, or the kernel's out-of-memory killer     */
    DIT_OUTCOME_SKIPPED, /* cannot run here, with the reason                               */
    DIT_OUTCOME_INVALID, /* ran, but its numbers or bytes are wrong                        */
    DIT_OUTCOME_COUNT
} dit_outcome;

/* Returns "ok", "failed", "timeout", "oom", "skipped" or "invalid". */
const char *dit_outcome_name(dit_outcome outcome);
/* Returns all names, NULL-terminated. */
const char *const *dit_outcome_names(void);
/* Returns false when no outcome has that name. */
bool dit_outcome_from_name(const char *name, dit_outcome *out);

#endif
