/* ditbench import: results of another program as a session. */
#include "base/json_writer.h"
#include "base/log.h"
#include "suite/console/cli.h"
#include "suite/import/import.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Makes a session of results that another program left: nccl-tests (its option -J), or any engine that writes\n"
    "ditbench.external/1 (docs/external.md). The session is shown, reported, compared, exported and verified like any\n"
    "other; its cases have the tag `engine`. --beside SESSION puts the results of that session into the new one, too,\n"
    "so that both stand in one report.";
static const char examples[] = "ditbench import all_reduce.json --format nccl-tests\n"
                               "ditbench import xdit.json --format external --beside latest";

typedef struct {
    suite_cli cli;
    const char *format, *beside;
    suite_imported imported;
    suite_session session, other;
    char hash[DIT_HASH_HEX];
} import_call;

static dit_status fail_format(const char *name)
{
    char list[128] = "";
    size_t used = 0;
    for (int i = 0; suite_import_formats()[i] && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", suite_import_formats()[i]->name);
    if (!name) return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--format is missing"), "it is one of %s", list);
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "there is no format \"%.60s\"", name), "it is one of %s", list);
}

static dit_status read_file(import_call *call, const suite_import_format *format)
{
    dit_json doc = {0};
    DIT_TRY(dit_json_read_file(call->cli.operands[0], &doc));
    dit_hash(doc.text, doc.length, call->hash);
    dit_status st = cJSON_IsObject(doc.root) ? format->read(&doc, &call->imported)
                                             : dit_json_fail(&doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    dit_json_release(&doc);
    if (st == DIT_OK && !call->imported.case_count)
        st = DIT_FAIL(DIT_ERR_NO_MATCH, "%s holds no result", call->cli.operands[0]);
    return st;
}

/* A session that cannot be written whole is taken away. */
static dit_status write_session(import_call *call, const suite_import_source *source)
{
    dit_status st = suite_import_write(&call->imported, source, &call->session);
    if (st != DIT_OK) (void)!suite_path_remove(call->session.dir);
    return st;
}

static dit_status import(import_call *call, int argc, char **argv)
{
    const suite_import_format *format = call->format ? suite_import_find(call->format) : NULL;
    char name[64];
    if (!format) return fail_format(call->format);
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the command line");
    memcpy(words, argv, (size_t)argc * sizeof *words);
    const suite_import_source source = {format->name, call->cli.operands[0], call->hash, words,
                                        call->beside ? &call->other : NULL};
    dit_status st = call->beside ? suite_session_find(call->beside, &call->other) : DIT_OK;
    if (st == DIT_OK) st = read_file(call, format);
    snprintf(name, sizeof name, "import-%.40s", call->imported.name);
    if (st == DIT_OK && !call->cli.dry_run) st = suite_session_create(call->cli.output, name, &call->session);
    if (st == DIT_OK && !call->cli.dry_run) st = write_session(call, &source);
    if (st == DIT_OK && !call->cli.dry_run) suite_session_make_latest(&call->session);
    free(words);
    return st;
}

static void answer(const import_call *call)
{
    dit_json_writer w = {0};
    cJSON *document = NULL;
    if (!call->cli.json) {
        printf("%d case%s of %s %s\n", call->imported.case_count, call->imported.case_count == 1 ? "" : "s",
               call->imported.name, call->imported.version);
        if (!call->cli.dry_run) printf("session %s\n", call->session.dir);
        return;
    }
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "engine", call->imported.name);
    dit_json_put_string(&w, root, "version", call->imported.version);
    dit_json_put_int(&w, root, "cases", call->imported.case_count);
    if (!call->cli.dry_run) dit_json_put_string(&w, root, "session", call->session.name);
    if (!call->cli.dry_run) dit_json_put_string(&w, root, "path", call->session.dir);
    if (dit_json_finish(&w, root, &document) == DIT_OK) suite_cli_print_json("import", document);
    cJSON_Delete(document);
}

int suite_verb_import(int argc, char **argv)
{
    import_call call = {.format = NULL};
    const suite_option options[] = {
        {"format", 0, SUITE_OPTION_STRING, "NAME", "whose words: external, nccl-tests", &call.format, 0, 0},
        {"beside", 0, SUITE_OPTION_STRING, "SESSION", "take its results into the session, too", &call.beside, 0, 0},
        {0}};
    const suite_cli_spec spec = {"import", "FILE", purpose, examples, options, 1, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = import(&call, argc, argv);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call.cli, st);
    if (st == DIT_OK) answer(&call);
    suite_imported_release(&call.imported);
    suite_cli_release(&call.cli);
    return code;
}
