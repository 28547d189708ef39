#include "suite/launch/outcome.h"

#include "suite/text.h"

#include <stdio.h>

void suite_outcome_set_error(suite_outcome *out, dit_outcome status, dit_status code, const char *message)
{
    out->status = status;
    cJSON_Delete(out->error);
    out->error = dit_json_new_object(&out->writer);
    suite_text_put(&out->writer, out->error, "code", dit_status_name(code));
    suite_text_put(&out->writer, out->error, "message", message);
}

void suite_outcome_fail(suite_outcome *out, dit_status code, const char *message)
{
    *out = (suite_outcome){0};
    suite_outcome_set_error(out, DIT_OUTCOME_FAILED, code, message);
}

void suite_outcome_skip(suite_outcome *out, const char *reason, const char *hint)
{
    *out = (suite_outcome){.exit_code = DIT_EXIT_SKIPPED};
    suite_outcome_set_error(out, DIT_OUTCOME_SKIPPED, DIT_ERR_ENVIRONMENT, reason);
    if (hint[0]) suite_text_put(&out->writer, out->error, "hint", hint);
}

void suite_outcome_release(suite_outcome *outcome)
{
    cJSON_Delete(outcome->record);
    cJSON_Delete(outcome->error);
    *outcome = (suite_outcome){0};
}

suite_failure suite_outcome_failure(const suite_outcome *outcome)
{
    suite_failure failure = {
        .status = DIT_ERR_CRASH,
        .code = dit_json_text_or(outcome->error, "code", dit_status_name(DIT_ERR_CRASH)),
        .message = dit_json_text_or(outcome->error, "message", ""),
        .hint = dit_json_text_or(outcome->error, "hint", ""),
        .log = dit_json_text_or(outcome->error, "log", ""),
    };
    dit_status_from_name(failure.code, &failure.status);
    return failure;
}

void suite_outcome_print_error(const suite_outcome *outcome)
{
    suite_failure failure = suite_outcome_failure(outcome);
    if (!outcome->error) return;
    fprintf(stderr, "ditbench: %s: %s\n", failure.code, failure.message[0] ? failure.message : "the engine failed");
}
