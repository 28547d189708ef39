/* Outcome: what became of one run of the engine, and the one reading of the error that it left. */
#ifndef DIT_SUITE_LAUNCH_OUTCOME_H
#define DIT_SUITE_LAUNCH_OUTCOME_H

#include "base/json_writer.h"
#include "base/outcome.h"

typedef struct {
    dit_outcome status;
    bool interrupted; /* the harness was told to stop; there is no outcome                          */
    int exit_code;    /* of the launcher                                                            */
    int64_t elapsed_ns;
    cJSON *record; /* record.json; NULL when there is none                                       */
    cJSON *error;  /* {"code","message","hint"?,"notes"?,"rank"?,"log"?,"positions"?}; NULL when status is ok */
    dit_json_writer writer; /* of `error`: what kept it from being whole is the harness's failure          */
} suite_outcome;

/* Replaces the error, and sets the status. */
void suite_outcome_set_error(suite_outcome *out, dit_outcome status, dit_status code, const char *message);
/* Makes the outcome of a case that could not even be started: failed, with this code and message. */
void suite_outcome_fail(suite_outcome *out, dit_status code, const char *message);
/* Makes the outcome of a case that cannot run on this machine: skipped, for this reason; `hint` may be "". */
void suite_outcome_skip(suite_outcome *out, const char *reason, const char *hint);
void suite_outcome_release(suite_outcome *outcome);

/* An engine's error, in strings of the outcome; "" where the error says nothing. */
typedef struct {
    dit_status status; /* of `code`; DIT_ERR_CRASH when there is no known code */
    const char *code;  /* "E_CRASH" when there is none */
    const char *message, *hint, *log;
} suite_failure;
suite_failure suite_outcome_failure(const suite_outcome *outcome);
/* Prints "ditbench: CODE: MESSAGE" on stderr; nothing when there is no error. */
void suite_outcome_print_error(const suite_outcome *outcome);

#endif
