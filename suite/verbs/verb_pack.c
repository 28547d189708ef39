/* ditbench pack: a session as one file. */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/pack/pack.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>

static const char purpose[] =
    "Packs a session (default: latest) into one file: journal, plan, workload, cases, records, report, checksums, and "
    "a\n"
    "page for whoever checks it. Packing a session again gives equal bytes. --output FILE names the file\n"
    "(SESSION.tar); --latents takes tensor files along. `ditbench unpack` restores it.";
static const char examples[] = "ditbench pack\nditbench pack 20260131T12 --output artefact.tar";

static void answer(bool json, const suite_session *session, const char *path, const suite_pack_summary *summary)
{
    dit_json_writer w = {0};
    cJSON *root, *document = NULL;
    if (!json) {
        printf("%s: session %s, %d files, %.1f MB\n", path, session->name, summary->members,
               (double)summary->bytes * 1e-6);
        return;
    }
    root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "session", session->name);
    dit_json_put_string(&w, root, "file", path);
    dit_json_put_int(&w, root, "files", summary->members);
    dit_json_put_int(&w, root, "bytes", (int64_t)summary->bytes);
    dit_json_put_string(&w, root, "hash", summary->hash);
    if (dit_json_finish(&w, root, &document) == DIT_OK) suite_cli_print_json("pack", document);
    cJSON_Delete(document);
}

int suite_verb_pack(int argc, char **argv)
{
    suite_cli cli;
    suite_session session;
    suite_pack_summary summary;
    bool latents = false;
    char path[SUITE_PATH];
    const suite_option options[] = {{"latents", 0, SUITE_OPTION_FLAG, NULL, "take tensor files along", &latents, 0, 0},
                                    {0}};
    const suite_cli_spec spec = {"pack", "[SESSION]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = suite_session_find(cli.operands[0], &session);
    if (st == DIT_OK) suite_session_tell_latest(cli.operands[0], &session);
    if (st == DIT_OK) st = cli.output ? suite_path(path, "%s", cli.output) : suite_path(path, "%s.tar", session.name);
    if (st == DIT_OK) st = suite_pack(&session, path, latents, &summary);
    code = DIT_EXIT_OK;
    if (st == DIT_OK)
        answer(cli.json, &session, path, &summary);
    else
        code = suite_cli_fail(&cli, st);
    suite_cli_release(&cli);
    return code;
}
