/* ditbench resume: runs what a session still lacks. */
#include "suite/console/cli.h"
#include "suite/run/run.h"
#include "suite/run/summary.h"
#include "suite/verbs/verbs.h"

#include <signal.h>

static const char purpose[] =
    "Continues a session that was interrupted, killed or limited in time. It runs exactly those planned runs that\n"
    "have no result yet. SESSION is a folder, a name or the beginning of a name, or `latest` (default). The exit\n"
    "codes are those of `run`.";

static const char examples[] = "ditbench resume\n"
                               "ditbench resume results/local/20260131T120000Z-smoke-3fa9c1\n"
                               "ditbench resume latest --retry-failed --timeout 10m";

/* With --json: what a dry run would do. */
static void print_plan(const cJSON *previews)
{
    if (!previews) return;
    cJSON *document = cJSON_CreateObject();
    cJSON_AddItemReferenceToObject(document, "workloads", (cJSON *)(uintptr_t)previews);
    suite_cli_print_json("run-plan", document);
    cJSON_Delete(document);
}

static int report(const suite_cli *cli, const suite_run_params *params, const suite_run_summary *summary, dit_status st)
{
    if (st != DIT_OK) return suite_cli_fail(cli, st);
    if (params->dry_run) return print_plan(params->previews), DIT_EXIT_OK;
    int code = suite_run_exit_code(summary, 1);
    if (!cli->json) {
        suite_run_summary_print(summary, cli->quiet);
        return code;
    }
    cJSON *document = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(document, "sessions");
    cJSON_AddItemToArray(list, suite_run_summary_json(summary));
    cJSON_AddNumberToObject(document, "exit_code", code);
    suite_cli_print_json("run", document);
    cJSON_Delete(document);
    return code;
}

int suite_verb_resume(int argc, char **argv)
{
    suite_cli cli;
    suite_run_params params = {.argc = argc, .argv = argv};
    int64_t jobs = 0;
    suite_run_summary summary;
    suite_signals signals;
    const suite_option options[] = {
        {"retry-failed", 0, SUITE_OPTION_FLAG, NULL, "run failed, timed-out and out-of-memory results again",
         &params.retry_failed, 0, 0},
        {"other-hardware", 0, SUITE_OPTION_FLAG, NULL, "go on although this machine has another hardware_id",
         &params.other_hardware, 0, 0},
        {"max-time", 0, SUITE_OPTION_DURATION, "TIME", "start no case after TIME", &params.max_time_s, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline of every case", &params.timeout_s, 0, 0},
        {"jobs", 'j', SUITE_OPTION_INT, "N", "simulated cases at a time (default: cores)", &jobs, 1, 1000},
        {"launcher", 0, SUITE_OPTION_STRING, "NAME", "starts measured cases: mpirun, local, srun; print only prints",
         &params.launcher, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &params.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"resume", "[SESSION]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    params.jobs = (int)jobs;
    params.dry_run = cli.dry_run;
    params.quiet = cli.quiet;
    params.previews = cli.json ? cJSON_CreateArray() : NULL;
    signal(SIGPIPE, SIG_IGN); /* as of run */
    suite_signals_block(&signals);
    dit_status st = suite_run_resume(cli.operand_count ? cli.operands[0] : NULL, &params, &signals, &summary);
    code = report(&cli, &params, &summary, st);
    suite_signals_restore(&signals);
    cJSON_Delete(params.previews);
    suite_cli_release(&cli);
    return code;
}
