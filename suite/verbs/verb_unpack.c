/* ditbench unpack: a packed session, checked and restored. */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/pack/pack.h"
#include "suite/session/verify.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>

static const char purpose[] =
    "Checks every byte of a file that `ditbench pack` wrote, and restores its session among those here, or into\n"
    "--output DIR. Nothing is restored from a file that was changed. --verify also recomputes hashes, aggregates and\n"
    "bytes of the session, as `ditbench verify` does. --dry-run only checks.\n"
    "Exit: 0 sound; 6 a byte was changed, with the file it belongs to.";
static const char examples[] = "ditbench unpack artefact.tar --verify\nditbench unpack artefact.tar --dry-run";

typedef struct {
    suite_cli cli;
    const char *file;
    char folder[SUITE_PATH], name[SUITE_SESSION_NAME];
    suite_pack_summary summary;
    bool verify;
    suite_verify_summary verified;
} unpack_call;

static void take_problem(void *context, const char *place, dit_status code, const char *message)
{
    (void)context;
    fprintf(stderr, "%s: %s: %s\n", place, dit_status_name(code), message);
}

static dit_status unpack(unpack_call *call)
{
    suite_session session;
    char root[SUITE_PATH];
    if (call->cli.dry_run) return suite_unpack(call->file, NULL, call->name, &call->summary);
    if (call->cli.output) {
        DIT_TRY(suite_path(call->folder, "%s", call->cli.output));
    } else {
        DIT_TRY(suite_session_root(root));
        DIT_TRY(suite_pack_name(call->file, call->name));
        DIT_TRY(suite_path(call->folder, "%s/%s", root, call->name));
    }
    DIT_TRY(suite_unpack(call->file, call->folder, call->name, &call->summary));
    if (!call->verify) return DIT_OK;
    DIT_TRY(suite_session_find(call->folder, &session));
    return suite_verify_session(&session, take_problem, NULL, &call->verified);
}

static void answer(const unpack_call *call)
{
    dit_json_writer w = {0};
    cJSON *document = NULL;
    if (!call->cli.json) {
        printf("%s: session %s, %d files, sound\n", call->file, call->name, call->summary.members);
        if (call->folder[0]) printf("restored into %s\n", call->folder);
        if (call->verify && !call->cli.dry_run)
            printf("verified: %d results, %d problem%s\n", call->verified.results, call->verified.problems,
                   call->verified.problems == 1 ? "" : "s");
        return;
    }
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "file", call->file);
    dit_json_put_string(&w, root, "session", call->name);
    if (call->folder[0]) dit_json_put_string(&w, root, "path", call->folder);
    dit_json_put_int(&w, root, "files", call->summary.members);
    dit_json_put_int(&w, root, "bytes", (int64_t)call->summary.bytes);
    dit_json_put_string(&w, root, "hash", call->summary.hash);
    if (call->verify) dit_json_put_int(&w, root, "problems", call->verified.problems);
    if (dit_json_finish(&w, root, &document) == DIT_OK) suite_cli_print_json("unpack", document);
    cJSON_Delete(document);
}

int suite_verb_unpack(int argc, char **argv)
{
    unpack_call call = {.file = NULL};
    const suite_option options[] = {
        {"verify", 0, SUITE_OPTION_FLAG, NULL, "recompute what the session says, too", &call.verify, 0, 0}, {0}};
    const suite_cli_spec spec = {"unpack", "FILE", purpose, examples, options, 1, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.file = call.cli.operands[0];
    dit_status st = unpack(&call);
    if (st == DIT_OK) {
        answer(&call);
        code = call.verified.problems ? DIT_EXIT_VERIFICATION : DIT_EXIT_OK;
    } else {
        code = suite_cli_fail(&call.cli, st);
    }
    suite_cli_release(&call.cli);
    return code;
}
