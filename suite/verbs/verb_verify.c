/* ditbench verify: is this session what was measured? */
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
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(call->problems, item);
    suite_text_add(item, "place", place);
    suite_text_add(item, "code", dit_status_name(code));
    suite_text_add(item, "message", message);
}

static void answer(const verify_call *call, const suite_session *session, const suite_verify_summary *summary,
                   cJSON *document)
{
    if (!call->json) {
        printf("%s: %d lines, %d results, %d records, %d latents: %s", session->name, summary->lines, summary->results,
               summary->records, summary->latents, summary->problems ? "" : "sound\n");
        if (summary->problems) printf("%d problem%s\n", summary->problems, summary->problems == 1 ? "" : "s");
        return;
    }
    cJSON_AddStringToObject(document, "path", session->dir);
    cJSON_AddNumberToObject(document, "lines", summary->lines);
    cJSON_AddNumberToObject(document, "results", summary->results);
    cJSON_AddNumberToObject(document, "records", summary->records);
    cJSON_AddNumberToObject(document, "latents", summary->latents);
    cJSON_AddBoolToObject(document, "sound", summary->problems == 0);
    suite_cli_print_json("verify", document);
}

int suite_verb_verify(int argc, char **argv)
{
    suite_cli cli;
    suite_session session;
    suite_verify_summary summary = {0};
    const suite_cli_spec spec = {"verify", "[SESSION]", purpose, examples, NULL, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    cJSON *document = cJSON_CreateObject();
    verify_call call = {cli.json, cJSON_AddArrayToObject(document, "problems")};
    dit_status st = suite_session_find(cli.operands[0], &session);
    if (st == DIT_OK) st = suite_verify_session(&session, take_problem, &call, &summary);
    if (st == DIT_OK) {
        answer(&call, &session, &summary, document);
        code = summary.problems ? DIT_EXIT_VERIFICATION : DIT_EXIT_OK;
    } else {
        code = suite_cli_fail(&cli, st);
    }
    cJSON_Delete(document);
    suite_cli_release(&cli);
    return code;
}
