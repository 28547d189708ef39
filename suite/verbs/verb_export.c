/* ditbench export: a session in the words of other tools. */
#include "base/file.h"
#include "base/json_writer.h"
#include "reports/records/journal.h"
#include "suite/console/cli.h"
#include "suite/export/export.h"
#include "suite/session/session.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>

static const char purpose[] =
    "Writes the results of a session (default: latest) in the format of another tool, to standard output or --output\n"
    "FILE: junit, google-benchmark, bmf (Bencher), openmetrics, csv, markdown, github (annotations), conbench (a list "
    "of\n"
    "results for its API), sqlite (a database; needs --output). Measured and simulated\n"
    "numbers are marked in each of them. With --json the text stands in a document.";
static const char examples[] = "ditbench export --format junit --output results.xml\n"
                               "ditbench export 20260131T12 --format google-benchmark --output old.json";

static dit_status fail_format(const char *name)
{
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; suite_export_formats()[i] && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", suite_export_formats()[i]->name);
    if (!name) return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--format is missing"), "it is one of %s", list);
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "there is no format \"%.60s\"", name), "it is one of %s", list);
}

static dit_status write_text(const suite_cli *cli, const suite_export_format *format, const dit_buffer *text)
{
    dit_json_writer w = {0};
    cJSON *document = NULL;
    const dit_file_piece piece = {text->data, text->used};
    if (cli->output) DIT_TRY(dit_file_write(cli->output, &piece, 1));
    if (!cli->json) {
        if (!cli->output) fwrite(text->data, 1, text->used, stdout);
        return DIT_OK;
    }
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "format", format->name);
    dit_json_put_string(&w, root, "file", cli->output);
    if (!cli->output) dit_json_put_string(&w, root, "text", text->data);
    DIT_TRY(dit_json_finish(&w, root, &document));
    suite_cli_print_json("export", document);
    cJSON_Delete(document);
    return DIT_OK;
}

static dit_status export(const suite_cli *cli, const char *name)
{
    const suite_export_format *format = name ? suite_export_find(name) : NULL;
    suite_session session;
    report_table table = {0};
    dit_buffer text = {0};
    if (!format) return fail_format(name);
    if (format->binary && !cli->output)
        return DIT_FAIL(DIT_ERR_USAGE, "%s is no text: --output FILE says where it goes", format->name);
    DIT_TRY(suite_session_find(cli->operands[0], &session));
    suite_session_tell_latest(cli->operands[0], &session);
    DIT_TRY(report_table_read(session.journal, &table));
    dit_status st = format->write(&table, session.name, &text);
    if (st == DIT_OK) st = write_text(cli, format, &text);
    dit_buffer_release(&text);
    report_table_release(&table);
    return st;
}

int suite_verb_export(int argc, char **argv)
{
    suite_cli cli;
    const char *format = NULL;
    const suite_option options[] = {{"format", 0, SUITE_OPTION_STRING, "NAME", "in whose words", &format, 0, 0}, {0}};
    const suite_cli_spec spec = {"export", "[SESSION]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = export(&cli, format);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&cli, st);
    suite_cli_release(&cli);
    return code;
}
