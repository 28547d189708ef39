/* ditbench resume: runs what a session still lacks. */
#include "base/json_writer.h"
#include "suite/compare/nodes.h"
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
                               "ditbench resume latest --retry-failed --timeout 10m\n"
                               "ditbench resume latest --launcher srun --without node-17";

/* With --json: what a dry run would do. */
static int answer_plan(const cJSON *previews)
{
    dit_json_writer w = {0};
    if (!previews) return DIT_EXIT_OK;
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_reference(&w, document, "workloads", previews);
    return suite_cli_answer(&w, "run-plan", document, DIT_EXIT_OK);
}

static int report(const suite_cli *cli, const suite_run_params *params, const suite_run_summary *summary, dit_status st)
{
    dit_json_writer w = {0};
    if (st != DIT_OK) return suite_cli_fail(cli, st);
    if (params->dry_run) return answer_plan(params->previews);
    int code = suite_run_exit_code(summary, 1);
    if (!cli->json) {
        suite_run_summary_print(summary, cli->quiet);
        suite_nodes_warn(summary->session.journal);
        return code;
    }
    cJSON *document = dit_json_new_object(&w), *list = dit_json_put_array(&w, document, "sessions");
    suite_run_summary_put(&w, list, summary);
    dit_json_put_number(&w, document, "exit_code", code);
    return suite_cli_answer(&w, "run", document, code);
}

int suite_verb_resume(int argc, char **argv)
{
    suite_cli cli;
    suite_run_params params = {.argc = argc, .argv = argv};
    int64_t jobs = 0;
    suite_run_summary summary;
    suite_signals signals;
    const suite_option options[] = {
        {"retry-failed", 0, SUITE_OPTION_FLAG, NULL,
         "run failed, timed-out and out-of-memory results again, and those that ran before what they are compared with",
         &params.retry_failed, 0, 0},
        {"other-hardware", 0, SUITE_OPTION_FLAG, NULL, "go on although this machine has another hardware_id",
         &params.other_hardware, 0, 0},
        {"max-time", 0, SUITE_OPTION_DURATION, "TIME", "start no case after TIME", &params.max_time_s, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline of every case", &params.timeout_s, 0, 0},
        {"jobs", 'j', SUITE_OPTION_INT, "N", "simulated cases at a time (default: cores)", &jobs, 1, 1000},
        {"launcher", 0, SUITE_OPTION_STRING, "NAME", "starts measured cases: mpirun, local, srun; print only prints",
         &params.launcher, 0, 0},
        {"without", 0, SUITE_OPTION_STRINGS, "NODE",
         "give this node no ranks; needs launcher srun or sbatch; may be repeated", &params.without, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &params.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"resume", "[SESSION]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    params.jobs = (int)jobs;
    params.dry_run = cli.dry_run;
    params.quiet = cli.quiet;
    dit_json_writer w = {0};
    params.previews = cli.json ? dit_json_new_array(&w) : NULL;
    signal(SIGPIPE, SIG_IGN); /* as of run */
    suite_signals_block(&signals);
    dit_status st = w.status;
    if (st == DIT_OK) st = suite_run_resume(cli.operand_count ? cli.operands[0] : NULL, &params, &signals, &summary);
    code = report(&cli, &params, &summary, st);
    suite_signals_restore(&signals);
    cJSON_Delete(params.previews);
    suite_cli_release(&cli);
    return code;
}
