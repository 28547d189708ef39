/* ditbench run: one session per workload. */
#include "base/json_writer.h"
#include "base/log.h"
#include "suite/compare/nodes.h"
#include "suite/console/cli.h"
#include "suite/paths.h"
#include "suite/run/run.h"
#include "suite/run/summary.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/settings.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char purpose[] =
    "Runs workloads. WORKLOAD is a file, a folder (all its files), or a name under the workloads folder (smoke,\n"
    "cpu/methods). Each makes a session of its own under results/local; with --output, DIR itself (DIR/NAME when "
    "there\n"
    "are several workloads). Each finished case prints its latency (of a simulated case the predicted one); how long\n"
    "the whole run took stands in the last lines, with the fastest case of each model and size and the next command.\n"
    "Cases of simulated platforms run under SimGrid, several at a time; a simulated case that needs more memory than\n"
    "its device has is recorded as oom, which is not a failure.\n"
    "Exit: 0; 3 a case failed or timed out; 4 no simulator where one is needed; 5 the machine did not hold still (a\n"
    "GPU too hot, an emulated link that drifted); 6 wrong numbers or bytes; 77 all skipped; 130/143 interrupted.";

static const char examples[] =
    "ditbench run smoke\n"
    "ditbench run cpu/methods --filter 'world_size <= 2' --processes 5\n"
    "ditbench run smoke --dry-run\n"
    "ditbench run papers/xdit/xdit-scal-flux-16l40 --set num_inference_steps=50 --name 50-steps\n"
    "ditbench run smoke --set model=flux.1-schnell~one-of-each --set method=ulysses --tag try\n"
    "ditbench run workloads/papers/xdit workloads/papers/pipefusion --jobs 2\n"
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
    char **workloads; /* operands, folders replaced by their files */
    int workload_count;
    suite_signals signals;
    suite_run_summary *summaries;
    int count;
    cJSON *plan; /* with --json: what a dry run would do */
} run_call;

static dit_status add_workload(run_call *call, const char *name)
{
    char **grown = realloc(call->workloads, sizeof *grown * ((size_t)call->workload_count + 1));
    if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the workloads");
    call->workloads = grown;
    grown[call->workload_count] = strdup(name);
    return grown[call->workload_count++] ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the workloads");
}

/* Every workload file of a folder, in the order of their names. */
static dit_status add_folder(run_call *call, const char *folder)
{
    char pattern[SUITE_PATH];
    glob_t found = {0};
    DIT_TRY(suite_path(pattern, "%.*s/*.json", (int)(strlen(folder) - (folder[strlen(folder) - 1] == '/')), folder));
    int code = glob(pattern, 0, NULL, &found);
    dit_status st = DIT_OK;
    for (size_t i = 0; code == 0 && st == DIT_OK && i < found.gl_pathc; i++) st = add_workload(call, found.gl_pathv[i]);
    globfree(&found);
    if (code == 0) return st;
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "folder %s holds no workload files", folder),
                          "`ditbench list workloads` shows what there is");
}

static dit_status list_workloads(run_call *call)
{
    struct stat facts;
    for (int i = 0; i < call->cli.operand_count; i++) {
        const char *name = call->cli.operands[i];
        bool folder = stat(name, &facts) == 0 && S_ISDIR(facts.st_mode);
        DIT_TRY(folder ? add_folder(call, name) : add_workload(call, name));
    }
    call->summaries = calloc((size_t)call->workload_count, sizeof *call->summaries);
    return call->summaries ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the summaries");
}

/* Whether a workload of several stays: one of which the filter keeps nothing is told of and left out. */
static dit_status check_one(const run_call *call, const char *workload, bool *stays)
{
    dit_status st = suite_run_check(workload, &call->params);
    *stays = st == DIT_OK;
    if (st == DIT_OK) return st;
    if (st != DIT_ERR_NO_MATCH) return dit_error_note(st, "reading workload %s", workload);
    dit_log_info("left out: %s", dit_error_last()->message);
    return DIT_OK;
}

/* What is wrong with the last of several is said before the first has run. */
static dit_status check_all(run_call *call)
{
    int kept = 0;
    if (call->workload_count == 1) return DIT_OK;
    for (int i = 0; i < call->workload_count; i++) {
        bool stays;
        DIT_TRY(check_one(call, call->workloads[i], &stays));
        if (!stays) free(call->workloads[i]);
        if (stays) call->workloads[kept++] = call->workloads[i];
    }
    call->workload_count = kept;
    if (kept) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_NO_MATCH, "the filter %s keeps no case of any workload", call->params.filter),
        "`ditbench expand` lists the cases of a workload");
}

/* A launcher that only prints commands leaves no results. */
static bool prints_summaries(const run_call *call)
{
    const suite_launcher *launcher = NULL;
    if (call->params.launcher) suite_launcher_find(call->params.launcher, &launcher);
    return !call->cli.json && !call->cli.dry_run && (!launcher || suite_launcher_runs(launcher));
}

/* Stops at the first error of the harness and at a signal; a failed case is neither. */
static dit_status run_all(run_call *call)
{
    DIT_TRY(list_workloads(call));
    DIT_TRY(check_all(call));
    for (int i = 0; i < call->workload_count && !call->signals.received; i++) {
        suite_run_params params = call->params;
        char output[SUITE_PATH];
        if (params.output && call->workload_count > 1) {
            DIT_TRY(output_of(params.output, call->workloads[i], output));
            params.output = output;
        }
        dit_status st = suite_run_workload(call->workloads[i], &params, &call->signals, &call->summaries[i]);
        if (st != DIT_OK) return dit_error_note(st, "running workload %s", call->workloads[i]);
        call->count = i + 1;
        if (!prints_summaries(call)) continue;
        suite_run_summary_print(&call->summaries[i], params.quiet);
        suite_nodes_warn(call->summaries[i].session.journal);
    }
    return DIT_OK;
}

static void release(run_call *call)
{
    for (int i = 0; i < call->workload_count; i++) free(call->workloads[i]);
    free(call->workloads);
    free(call->summaries);
    cJSON_Delete(call->plan);
    suite_cli_release(&call->cli);
}

static int answer(const run_call *call, dit_status st, int code)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w), *list = dit_json_put_array(&w, document, "sessions");
    for (int i = 0; i < call->count; i++) suite_run_summary_put(&w, list, &call->summaries[i]);
    if (st != DIT_OK) suite_cli_put_error(&w, document);
    dit_json_put_number(&w, document, "exit_code", code);
    return suite_cli_answer(&w, "run", document, code);
}

static int report(const run_call *call, dit_status st)
{
    int code = st == DIT_OK ? suite_run_exit_code(call->summaries, call->count) : dit_status_exit_code(st);
    const suite_launcher *launcher = NULL;
    if (st == DIT_OK && call->params.launcher) st = suite_launcher_find(call->params.launcher, &launcher);
    if (st == DIT_OK && (call->cli.dry_run || (launcher && !suite_launcher_runs(launcher)))) {
        if (call->plan) st = suite_cli_print_json("run-plan", call->plan);
        return st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call->cli, st);
    }
    if (call->cli.json) return answer(call, st, code);
    if (st != DIT_OK) dit_error_print("ditbench");
    return code;
}

int suite_verb_run(int argc, char **argv)
{
    dit_json_writer w = {0};
    run_call call = {.params = {.argc = argc, .argv = argv}};
    int64_t processes = 0, jobs = 0;
    const suite_option options[] = {
        {"processes", 'p', SUITE_OPTION_INT, "N", "number of fresh process groups for each case", &processes, 1, 1000},
        {"filter", 'f', SUITE_OPTION_STRING, "EXPR",
         "run only cases whose tags satisfy EXPR; exit 2 when there are none", &call.params.filter, 0, 0},
        SUITE_OPTION_SET(&call.params.settings),
        {"name", 0, SUITE_OPTION_STRING, "TEXT", "what you call the session; part of its folder's name",
         &call.params.name, 0, 0},
        {"tag", 0, SUITE_OPTION_STRINGS, "TEXT", "a tag of the session; may be repeated", &call.params.tags, 0, 0},
        {"note", 0, SUITE_OPTION_STRING, "TEXT", "a remark, kept with the session", &call.params.note, 0, 0},
        {"max-time", 0, SUITE_OPTION_DURATION, "TIME", "start no case after TIME", &call.params.max_time_s, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline of every case", &call.params.timeout_s, 0, 0},
        {"trace", 0, SUITE_OPTION_FLAG, NULL, "add one more run of every case, recorded as a timeline",
         &call.params.trace, 0, 0},
        {"jobs", 'j', SUITE_OPTION_INT, "N", "simulated cases at a time (default: cores)", &jobs, 1, 1000},
        {"calibration", 0, SUITE_OPTION_STRING, "FILE",
         "fitted values for simulated cases, or \"none\" (results/calibration/published.json)",
         &call.params.calibration, 0, 0},
        {"launcher", 0, SUITE_OPTION_STRING, "NAME",
         "starts measured cases: mpirun, local, srun; print, sbatch only print", &call.params.launcher, 0, 0},
        {"without", 0, SUITE_OPTION_STRINGS, "NODE",
         "give this node no ranks; needs launcher srun or sbatch; may be repeated", &call.params.without, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.params.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"run", "WORKLOAD...", purpose, examples, options, 1, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.params.processes = (int)processes;
    call.params.jobs = (int)jobs;
    call.params.output = call.cli.output;
    call.params.dry_run = call.cli.dry_run;
    call.params.quiet = call.cli.quiet;
    call.plan = call.cli.json ? dit_json_new_object(&w) : NULL;
    call.params.previews = call.plan ? dit_json_put_array(&w, call.plan, "workloads") : NULL;
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone (head) does not end a session: the journal is the result */
    suite_signals_block(&call.signals);
    dit_status st = w.status == DIT_OK ? run_all(&call) : w.status;
    code = report(&call, st);
    suite_signals_restore(&call.signals);
    release(&call);
    return code;
}
