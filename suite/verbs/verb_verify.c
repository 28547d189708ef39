/* ditbench verify: is this session what was measured? */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/session/session.h"
#include "suite/session/verify.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>

static const char purpose[] =
    "Recomputes what a session says: the hash chain, case ids, aggregates over the ranks, bytes by the closed form\n"
    "of the method, and digests of the stored latents. Each problem is printed with its line or file.\n"
    "Exit: 0 the session is sound; 6 it is not.";
static const char examples[] = "ditbench verify\nditbench verify results/local/20260131T120000Z-smoke-3fa9c1 --json";

typedef struct {
    dit_json_writer writer; /* of the document that holds `problems` */
    bool json;
    cJSON *problems;
} verify_call;

static void take_problem(void *context, const char *place, dit_status code, const char *message)
{
    verify_call *call = context;
    if (!call->json) {
        printf("%s: %s: %s\n", place, dit_status_name(code), message);
        return;
    }
    cJSON *item = dit_json_put_object(&call->writer, call->problems, NULL);
    suite_text_put(&call->writer, item, "place", place);
    suite_text_put(&call->writer, item, "code", dit_status_name(code));
    suite_text_put(&call->writer, item, "message", message);
}

/* Takes the document over. */
static int answer(verify_call *call, const suite_session *session, const suite_verify_summary *summary, cJSON *document)
{
    dit_json_writer *w = &call->writer;
    int code = summary->problems ? DIT_EXIT_VERIFICATION : DIT_EXIT_OK;
    if (!call->json) {
        cJSON_Delete(document);
        printf("%s: %d lines, %d results, %d records, %d latents: %s", session->name, summary->lines, summary->results,
               summary->records, summary->latents, summary->problems ? "" : "sound\n");
        if (summary->problems) printf("%d problem%s\n", summary->problems, summary->problems == 1 ? "" : "s");
        return code;
    }
    dit_json_put_string(w, document, "path", session->dir);
    dit_json_put_number(w, document, "lines", summary->lines);
    dit_json_put_number(w, document, "results", summary->results);
    dit_json_put_number(w, document, "records", summary->records);
    dit_json_put_number(w, document, "latents", summary->latents);
    dit_json_put_bool(w, document, "sound", summary->problems == 0);
    return suite_cli_answer(w, "verify", document, code);
}

int suite_verb_verify(int argc, char **argv)
{
    suite_cli cli;
    suite_session session;
    suite_verify_summary summary = {0};
    const suite_cli_spec spec = {"verify", "[SESSION]", purpose, examples, NULL, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    verify_call call = {.json = cli.json};
    cJSON *document = dit_json_new_object(&call.writer);
    call.problems = dit_json_put_array(&call.writer, document, "problems");
    dit_status st = suite_session_find(cli.operands[0], &session);
    if (st == DIT_OK) st = suite_verify_session(&session, take_problem, &call, &summary);
    if (st == DIT_OK) {
        code = answer(&call, &session, &summary, document);
    } else {
        cJSON_Delete(document);
        code = suite_cli_fail(&cli, st);
    }
    suite_cli_release(&cli);
    return code;
}
