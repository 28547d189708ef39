/* ditbench expand: the cases of a workload, and every dropped cell with its reason. */
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/load.h"
#include "suite/workload/settings.h"
#include "suite/workload/workload.h"

#include <stdio.h>
#include <stdlib.h>

static cJSON *case_json(const suite_case *one)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "case_id", one->case_id);
    cJSON_AddStringToObject(entry, "label", one->label);
    cJSON_AddStringToObject(entry, "reference_id", one->reference_id);
    cJSON_AddBoolToObject(entry, "is_reference", one->is_reference);
    if (one->is_oracle) cJSON_AddTrueToObject(entry, "is_oracle");
    if (one->is_simulated) cJSON_AddTrueToObject(entry, "is_simulated");
    if (one->oracle_id[0]) cJSON_AddStringToObject(entry, "oracle_id", one->oracle_id);
    cJSON_AddItemReferenceToObject(entry, "tags", one->tags);
    cJSON_AddItemReferenceToObject(entry, "case", one->document);
    return entry;
}

static cJSON *dropped_json(const suite_dropped *one)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddItemReferenceToObject(entry, "cell", one->cell);
    cJSON_AddStringToObject(entry, "code", dit_status_name(one->code));
    cJSON_AddStringToObject(entry, "reason", one->reason);
    return entry;
}

/* `st`: that no case is left, which the document says beside what was dropped. */
static void print_json(const suite_workload *workload, dit_status st)
{
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "workload", workload->name);
    cJSON_AddStringToObject(document, "hash", workload->hash);
    cJSON_AddNumberToObject(document, "merged", workload->merged_count);
    cJSON *kept = cJSON_AddArrayToObject(document, "kept");
    for (int i = 0; i < workload->case_count; i++) cJSON_AddItemToArray(kept, case_json(&workload->cases[i]));
    cJSON *dropped = cJSON_AddArrayToObject(document, "dropped");
    for (int i = 0; i < workload->dropped_count; i++)
        cJSON_AddItemToArray(dropped, dropped_json(&workload->dropped[i]));
    if (st != DIT_OK) cJSON_AddItemToObject(document, "error", suite_cli_error_json());
    suite_cli_print_json("expand", document);
    cJSON_Delete(document);
}

static void print_dropped(const suite_dropped *one)
{
    char *cell = NULL;
    if (dit_json_canonical(one->cell, &cell) != DIT_OK) return;
    printf("drop  %-24s %s\n      %s\n", dit_status_name(one->code), one->reason, cell);
    free(cell);
}

static void print_text(const suite_workload *workload)
{
    for (int i = 0; i < workload->case_count; i++)
        printf("keep  %.12s  %s%s\n", workload->cases[i].case_id, workload->cases[i].label,
               workload->cases[i].is_reference   ? "  (reference)"
               : workload->cases[i].is_oracle    ? "  (oracle)"
               : workload->cases[i].is_simulated ? "  (simulated)"
                                                 : "");
    for (int i = 0; i < workload->dropped_count; i++) print_dropped(&workload->dropped[i]);
    printf("%s: %d case%s, %d dropped, %d merged into an equal case\n", workload->name, workload->case_count,
           suite_plural(workload->case_count), workload->dropped_count, workload->merged_count);
}

static int answer(const suite_workload *workload, bool json)
{
    dit_status st = suite_workload_require_cases(workload);
    if (json)
        print_json(workload, st);
    else
        print_text(workload);
    if (st != DIT_OK && !json) dit_error_print("ditbench");
    return dit_status_exit_code(st);
}

int suite_verb_expand(int argc, char **argv)
{
    suite_strings settings = {.count = 0};
    const suite_option options[] = {SUITE_OPTION_SET(&settings), {0}};
    const suite_cli_spec spec = {
        .verb = "expand",
        .operands = "WORKLOAD",
        .purpose =
            "Multiplies out the axes of a workload and shows the cases that would run, and every dropped cell with\n"
            "a code and a reason. Cells that resolve to the same case are merged. A case of an approximate method\n"
            "comes with its oracle: one rank that computes what the method must give. A simulated case has none.\n"
            "The method hybrid stands for every mesh of cfg, pipefusion, ring and ulysses at its world size. With\n"
            "--json the answer holds the whole case documents.\n"
            "Exit: 0; 2 the workload is invalid, or no case is left.",
        .examples =
            "ditbench expand smoke\nditbench expand cpu/methods --json\nditbench expand smoke --set world_size=1,2,4",
        .options = options,
        .min_operands = 1,
        .max_operands = 1,
    };
    suite_cli cli;
    suite_workload workload;
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = suite_workload_load_set(cli.operands[0], &settings, &workload);
    code = st == DIT_OK ? answer(&workload, cli.json) : suite_cli_fail(&cli, st);
    suite_workload_release(&workload);
    suite_cli_release(&cli);
    return code;
}
