/* ditbench expand: the cases of a workload, and every dropped cell with its reason. */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/load.h"
#include "suite/workload/settings.h"
#include "suite/workload/workload.h"

#include <stdio.h>
#include <stdlib.h>

static cJSON *case_json(dit_json_writer *w, const suite_case *one)
{
    cJSON *entry = dit_json_new_object(w);
    dit_json_put_string(w, entry, "case_id", one->case_id);
    dit_json_put_string(w, entry, "label", one->label);
    dit_json_put_string(w, entry, "reference_id", one->reference_id);
    dit_json_put_bool(w, entry, "is_reference", one->is_reference);
    if (one->is_oracle) dit_json_put_bool(w, entry, "is_oracle", true);
    if (one->is_simulated) dit_json_put_bool(w, entry, "is_simulated", true);
    if (one->oracle_id[0]) dit_json_put_string(w, entry, "oracle_id", one->oracle_id);
    if (one->converged_id[0]) dit_json_put_string(w, entry, "converged_id", one->converged_id);
    dit_json_put_reference(w, entry, "tags", one->tags);
    dit_json_put_reference(w, entry, "case", one->document);
    return entry;
}

static cJSON *dropped_json(dit_json_writer *w, const suite_dropped *one)
{
    cJSON *entry = dit_json_new_object(w);
    dit_json_put_reference(w, entry, "cell", one->cell);
    dit_json_put_string(w, entry, "code", dit_status_name(one->code));
    dit_json_put_string(w, entry, "reason", one->reason);
    return entry;
}

/* `st`: that no case is left, which the document says beside what was dropped. */
static int answer_json(const suite_workload *workload, dit_status st)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "workload", workload->name);
    dit_json_put_string(&w, document, "hash", workload->hash);
    dit_json_put_number(&w, document, "merged", workload->merged_count);
    cJSON *kept = dit_json_put_array(&w, document, "kept");
    for (int i = 0; i < workload->case_count; i++)
        dit_json_put_item(&w, kept, NULL, case_json(&w, &workload->cases[i]));
    cJSON *dropped = dit_json_put_array(&w, document, "dropped");
    for (int i = 0; i < workload->dropped_count; i++)
        dit_json_put_item(&w, dropped, NULL, dropped_json(&w, &workload->dropped[i]));
    if (st != DIT_OK) suite_cli_put_error(&w, document);
    return suite_cli_answer(&w, "expand", document, dit_status_exit_code(st));
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
               : workload->cases[i].is_converged ? "  (converged)"
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
    if (json) return answer_json(workload, st);
    print_text(workload);
    if (st != DIT_OK) dit_error_print("ditbench");
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
