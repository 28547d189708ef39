/* ditbench validate: reads workload files strictly and says what is wrong, where, and what would be right. */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/load.h"
#include "suite/workload/settings.h"
#include "suite/workload/workload.h"

#include <stdio.h>

static void print_ok(const suite_workload *workload, const char *path)
{
    printf("%sok%s    %s: %s, %d case%s, %d dropped, %d merged\n", suite_colour_start(stdout, "ok"),
           suite_colour_end(stdout, "ok"), path, workload->name, workload->case_count,
           suite_plural(workload->case_count), workload->dropped_count, workload->merged_count);
}

static cJSON *file_json(dit_json_writer *w, const char *path, dit_status st, const suite_workload *workload)
{
    cJSON *entry = dit_json_new_object(w);
    dit_json_put_string(w, entry, "path", path);
    dit_json_put_bool(w, entry, "valid", st == DIT_OK);
    if (st != DIT_OK) {
        suite_cli_put_error(w, entry);
        return entry;
    }
    dit_json_put_string(w, entry, "name", workload->name);
    dit_json_put_string(w, entry, "parameters", workload->parameters);
    dit_json_put_number(w, entry, "cases", workload->case_count);
    dit_json_put_number(w, entry, "dropped", workload->dropped_count);
    dit_json_put_number(w, entry, "merged", workload->merged_count);
    return entry;
}

/* Checks one file; appends to `files` with --json, prints otherwise. */
static dit_status validate_file(const char *path, const suite_cli *cli, const suite_strings *settings, cJSON *files)
{
    dit_json_writer w = {0};
    suite_workload workload;
    dit_status st = suite_workload_load_set(path, settings, &workload);
    if (st == DIT_OK) st = suite_workload_require_cases(&workload);
    if (cli->json)
        dit_json_put_item(&w, files, NULL, file_json(&w, path, st, &workload));
    else if (st == DIT_OK)
        print_ok(&workload, path);
    else
        dit_error_print("ditbench");
    suite_workload_release(&workload);
    return st == DIT_OK ? w.status : st;
}

/* The first bad file decides the exit code, and is the document's "error". */
static int validate_all(const suite_cli *cli, const suite_strings *settings)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    cJSON *files = dit_json_put_array(&w, document, "files");
    int code = DIT_EXIT_OK;
    for (int i = 0; i < cli->operand_count; i++) {
        dit_status st = validate_file(cli->operands[i], cli, settings, files);
        if (code != DIT_EXIT_OK || st == DIT_OK) continue;
        code = dit_status_exit_code(st);
        suite_cli_put_error(&w, document);
    }
    if (cli->json) return suite_cli_answer(&w, "validate", document, code);
    cJSON_Delete(document);
    return code;
}

int suite_verb_validate(int argc, char **argv)
{
    suite_strings settings = {.count = 0};
    const suite_option options[] = {SUITE_OPTION_SET(&settings), {0}};
    const suite_cli_spec spec = {
        .verb = "validate",
        .operands = "WORKLOAD...",
        .purpose =
            "Checks workload files (or names) without running anything: syntax, keys, types, ranges, names of\n"
            "models and platforms, expressions, and the names in claims and plots (metrics, functions, tags and\n"
            "their values). An error names file, line, column and JSON pointer and says what to do. A workload of\n"
            "which no case is left is an error too. Exit: 0 valid; 2 not.",
        .examples = "ditbench validate smoke cpu/methods\nditbench validate my.json --json",
        .options = options,
        .min_operands = 1,
        .max_operands = -1,
    };
    suite_cli cli;
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    code = validate_all(&cli, &settings);
    suite_cli_release(&cli);
    return code;
}
