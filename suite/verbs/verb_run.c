/* ditbench run: one session per workload. */
#include "suite/cli.h"
#include "suite/run.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Runs workloads. WORKLOAD is a file, or a name under the workloads folder (smoke, cpu/methods). Each makes a "
    "session\n"
    "of its own under results/local; with --output, DIR itself (DIR/NAME when there are several workloads).\n"
    "Exit: 0; 3 a case failed or timed out; 6 wrong numbers or bytes; 77 all skipped; 130/143 interrupted.";

static const char examples[] = "ditbench run smoke\n"
                               "ditbench run cpu/methods --filter 'world_size <= 2' --processes 5\n"
                               "ditbench run smoke --dry-run\n"
                               "ditbench run smoke --timeout 2m --max-time 1h --json";

/* With several workloads each gets DIR/NAME, NAME the file's without folder and suffix. */
static dit_status output_of(const char *output, const char *workload, char out[SUITE_PATH])
{
    const char *base = strrchr(workload, '/') ? strrchr(workload, '/') + 1 : workload;
    return suite_path(out, "%s/%.*s", output, (int)strcspn(base, "."), base);
}

typedef struct {
    suite_cli cli;
    suite_run_params params;
    suite_signals signals;
    suite_run_summary *summaries;
    int count;
} run_call;

/* Stops at the first error of the harness and at a signal; a failed case is neither. */
static dit_status run_all(run_call *call)
{
    for (int i = 0; i < call->cli.operand_count && !call->signals.received; i++) {
        suite_run_params params = call->params;
        char output[SUITE_PATH];
        if (params.output && call->cli.operand_count > 1) {
            DIT_TRY(output_of(params.output, call->cli.operands[i], output));
            params.output = output;
        }
        dit_status st = suite_run_workload(call->cli.operands[i], &params, &call->signals, &call->summaries[i]);
        if (st != DIT_OK) return dit_error_note(st, "running workload %s", call->cli.operands[i]);
        call->count = i + 1;
    }
    return DIT_OK;
}

static void print_json(const run_call *call, dit_status st, int code)
{
    cJSON *document = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(document, "sessions");
    for (int i = 0; i < call->count; i++) cJSON_AddItemToArray(list, suite_run_summary_json(&call->summaries[i]));
    if (st != DIT_OK) cJSON_AddItemToObject(document, "error", suite_cli_error_json());
    cJSON_AddNumberToObject(document, "exit_code", code);
    suite_cli_print_json(document);
    cJSON_Delete(document);
}

static int report(const run_call *call, dit_status st)
{
    int code = st == DIT_OK ? suite_run_exit_code(call->summaries, call->count) : dit_status_exit_code(st);
    bool only_printed = call->cli.dry_run || (call->params.launcher && strcmp(call->params.launcher, "mpirun") != 0 &&
                                              strcmp(call->params.launcher, "local") != 0);
    if (st == DIT_OK && only_printed) return DIT_EXIT_OK;
    if (call->cli.json) {
        print_json(call, st, code);
        return code;
    }
    for (int i = 0; i < call->count; i++) suite_run_summary_print(&call->summaries[i]);
    if (st != DIT_OK) dit_error_print("ditbench");
    return code;
}

int suite_verb_run(int argc, char **argv)
{
    run_call call = {.params = {.argc = argc, .argv = argv}};
    int64_t processes = 0;
    const suite_option options[] = {
        {"processes", 'p', SUITE_OPTION_INT, "N", "fresh process groups per case", &processes, 1, 1000},
        {"filter", 'f', SUITE_OPTION_STRING, "EXPR", "only cases whose tags satisfy EXPR", &call.params.filter, 0, 0},
        {"max-time", 0, SUITE_OPTION_DURATION, "TIME", "start no case after TIME", &call.params.max_time_s, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline of every case", &call.params.timeout_s, 0, 0},
        {"trace", 0, SUITE_OPTION_FLAG, NULL, "one more run of every case, recorded as a timeline", &call.params.trace,
         0, 0},
        {"launcher", 0, SUITE_OPTION_STRING, "NAME", "mpirun, local, print, srun", &call.params.launcher, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.params.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"run", "WORKLOAD...", purpose, examples, options, 1, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.params.processes = (int)processes;
    call.params.output = call.cli.output;
    call.params.dry_run = call.cli.dry_run;
    call.params.quiet = call.cli.quiet;
    call.params.json = call.cli.json;
    call.summaries = calloc((size_t)call.cli.operand_count, sizeof *call.summaries);
    suite_signals_block(&call.signals);
    dit_status st = call.summaries ? run_all(&call) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the summaries");
    code = report(&call, st);
    suite_signals_restore(&call.signals);
    free(call.summaries);
    suite_cli_release(&call.cli);
    return code;
}
