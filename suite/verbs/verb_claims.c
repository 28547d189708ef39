/* ditbench claims: do the numbers of a page come from results? */
#include "base/file.h"
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/quotes/quotes.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Checks the numbers that Markdown pages quote from results. A page says where a number comes from:\n"
    "    <!-- ditbench: SOURCE; CASE; METRIC; FORMAT -->1.23 s<!-- / -->\n"
    "SOURCE is a session, a baseline file, a packed session or a commit; CASE a label or the beginning of a case id;\n"
    "FORMAT, which may be left out, such as 0.00 ms, 0 MB, 0.0 % or 0.00x. A stale number is printed with its place.\n"
    "--update writes the right numbers into the pages.\n"
    "Exit: 0 all are right, or were updated; 1 a number is stale; 2 a quote cannot be read or looked up.";
static const char examples[] = "ditbench claims README.md docs/*.md\nditbench claims README.md --update";

enum { PAGE_BYTES = 64 << 20 };

typedef struct {
    suite_cli cli;
    suite_quoted_sources sources;
    dit_json_writer writer;
    cJSON *root, *files;
    bool update;
    int numbers, stale, errors;
} claims_call;

static void put_quote(claims_call *call, cJSON *list, const suite_quote *quote)
{
    cJSON *row = dit_json_put_object(&call->writer, list, NULL);
    dit_json_put_int(&call->writer, row, "line", quote->line);
    dit_json_put_string(&call->writer, row, "source", quote->source);
    dit_json_put_string(&call->writer, row, "case", quote->kase);
    dit_json_put_string(&call->writer, row, "metric", quote->metric);
    dit_json_put_string(&call->writer, row, "said", quote->said);
    if (quote->status == DIT_OK) dit_json_put_string(&call->writer, row, "is", quote->is);
    if (quote->status != DIT_OK) dit_json_put_string(&call->writer, row, "error", quote->message);
}

static void tell(claims_call *call, const char *path, const suite_quotes *quotes)
{
    cJSON *file = dit_json_put_object(&call->writer, call->files, NULL);
    dit_json_put_string(&call->writer, file, "path", path);
    cJSON *list = dit_json_put_array(&call->writer, file, "numbers");
    for (int i = 0; i < quotes->count; i++) {
        const suite_quote *quote = &quotes->rows[i];
        put_quote(call, list, quote);
        call->numbers++;
        call->stale += suite_quote_is_stale(quote);
        call->errors += quote->status != DIT_OK;
        if (call->cli.json) continue;
        if (quote->status != DIT_OK)
            printf("%s:%d: %s: %s\n", path, quote->line, dit_status_name(quote->status), quote->message);
        else if (suite_quote_is_stale(quote))
            printf("%s:%d: says \"%s\", %s of %s in %s is \"%s\"\n", path, quote->line, quote->said, quote->metric,
                   quote->kase, quote->source, quote->is);
    }
}

static dit_status check_page(claims_call *call, const char *path)
{
    suite_quotes quotes = {0};
    dit_buffer page = {0};
    char *text = NULL;
    size_t length = 0;
    DIT_TRY(dit_file_read(path, PAGE_BYTES, &text, &length));
    dit_status st = strlen(text) == length ? suite_quotes_check(text, &call->sources, &quotes, &page)
                                           : DIT_FAIL(DIT_ERR_USAGE, "%s is no text", path);
    if (st == DIT_OK) tell(call, path, &quotes);
    if (st == DIT_OK && call->update && !call->cli.dry_run && strcmp(text, page.data) != 0) {
        const dit_file_piece piece = {page.data, page.used};
        st = dit_file_write(path, &piece, 1);
    }
    suite_quotes_release(&quotes);
    dit_buffer_release(&page);
    free(text);
    return st;
}

static dit_status answer(claims_call *call)
{
    cJSON *document = NULL;
    if (!call->cli.json) {
        printf("%d number%s, %d stale%s\n", call->numbers, call->numbers == 1 ? "" : "s", call->stale,
               call->update && call->stale ? ", updated" : "");
        return DIT_OK;
    }
    dit_json_put_int(&call->writer, call->root, "stale", call->stale);
    dit_json_put_bool(&call->writer, call->root, "updated", call->update && !call->cli.dry_run);
    dit_json_put_int(&call->writer, call->root, "errors", call->errors);
    dit_status st = dit_json_finish(&call->writer, call->root, &document);
    call->root = NULL;
    if (st == DIT_OK) suite_cli_print_json("claims", document);
    cJSON_Delete(document);
    return st;
}

static int exit_code(const claims_call *call)
{
    if (call->errors) return DIT_EXIT_USAGE;
    return call->stale && !call->update ? DIT_EXIT_GATE : DIT_EXIT_OK;
}

int suite_verb_claims(int argc, char **argv)
{
    claims_call call = {.update = false};
    const suite_option options[] = {
        {"update", 0, SUITE_OPTION_FLAG, NULL, "write the right numbers into the pages", &call.update, 0, 0}, {0}};
    const suite_cli_spec spec = {"claims", "PAGE...", purpose, examples, options, 1, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = DIT_OK;
    call.root = dit_json_new_object(&call.writer);
    call.files = dit_json_put_array(&call.writer, call.root, "files");
    for (int i = 0; i < call.cli.operand_count && st == DIT_OK; i++) st = check_page(&call, call.cli.operands[i]);
    if (st == DIT_OK) st = answer(&call);
    code = st == DIT_OK ? exit_code(&call) : suite_cli_fail(&call.cli, st);
    cJSON_Delete(call.root);
    suite_quoted_sources_release(&call.sources);
    suite_cli_release(&call.cli);
    return code;
}
