/* ditbench kernels: the operators against the reference, and how fast they are. */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/launch/one_case.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char purpose[] =
    "Checks every operator of a backend against the reference (--check, default), or times it too (--time); a case is\n"
    "timed only after it has passed. A time is the median of n rounds, with [the least, the most]; --json adds the\n"
    "quartiles (spread_ns). On a device (--backend cuda) operands have the type --dtype, and speed is also given as a\n"
    "ratio to the device's own rate at a matrix product.\n"
    "Exit: 0, 6 when an operator is wrong, 77 when there is no such device.";

static const char examples[] = "ditbench kernels --check\n"
                               "ditbench kernels --time --threads 2 --filter linear\n"
                               "ditbench kernels --time --json\n"
                               "ditbench kernels --backend cuda --dtype bf16 --time";

typedef struct {
    suite_cli cli;
    suite_single_params single;
    bool check, time;
    int64_t threads;
    const char *filter, *backend, *element;
} kernels_call;

static dit_status make_case(const kernels_call *call, cJSON *kase)
{
    dit_json_writer w = {0};
    dit_json_put_string(&w, kase, "schema", "ditbench.case/1");
    dit_json_put_string(&w, kase, "program", "kernel");
    dit_json_put_string(&w, kase, "backend", call->backend);
    suite_text_put(&w, kase, "element", call->element);
    dit_json_put_int(&w, kase, "threads", call->threads);
    dit_json_put_bool(&w, kase, "time", call->time);
    suite_text_put(&w, kase, "filter", call->filter);
    return w.status;
}

static int count_verdicts(const cJSON *report, const char *verdict)
{
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, dit_json_member(report, "cases"))
    {
        const char *own = dit_json_text_or(item, "verdict", NULL);
        count += own && strcasecmp(own, verdict) == 0;
    }
    return count;
}

static void print_summary(const cJSON *report)
{
    const cJSON *peak = dit_json_member(report, "peak_gflop_per_s");
    const cJSON *threads = dit_json_member(report, "threads");
    const char *isa = dit_json_text_or(report, "isa", NULL);
    int all = cJSON_GetArraySize(dit_json_member(report, "cases"));
    printf("%d cases: %d pass, %d marginal, %d fail", all, count_verdicts(report, "pass"),
           count_verdicts(report, "marginal"), count_verdicts(report, "fail"));
    const char *element = dit_json_text_or(report, "element", NULL);
    const cJSON *gemm = dit_json_member(report, "gemm_size");
    if (element) printf("; on a device, %s", element);
    if (isa && !element) printf("; isa %s", isa);
    if (cJSON_IsNumber(threads) && !element) printf("; %d threads", threads->valueint);
    if (cJSON_IsNumber(gemm)) printf("; peak: a product of %d x %d matrices", gemm->valueint, gemm->valueint);
    if (cJSON_IsNumber(peak)) printf("; measured peak %.1f GFLOP/s", peak->valuedouble);
    printf("\n");
    const cJSON *row;
    cJSON_ArrayForEach(row, dit_json_member(report, "summary"))
    {
        const char *op = dit_json_text_or(row, "op", NULL);
        const cJSON *median = dit_json_member(row, "of_peak_median");
        const cJSON *least = dit_json_member(row, "of_peak_min");
        if (op && cJSON_IsNumber(median) && cJSON_IsNumber(least))
            printf("%s: %.2f of the peak (median), %.2f at least\n", op, median->valuedouble, least->valuedouble);
    }
}

static int exit_code_of(const suite_outcome *outcome, const cJSON *report)
{
    if (outcome->status == DIT_OUTCOME_OK) return report && count_verdicts(report, "fail") ? DIT_EXIT_VERIFICATION : 0;
    if (outcome->status == DIT_OUTCOME_INVALID) return DIT_EXIT_VERIFICATION;
    if (outcome->exit_code == DIT_EXIT_USAGE) return DIT_EXIT_USAGE;
    return outcome->status == DIT_OUTCOME_SKIPPED ? DIT_EXIT_SKIPPED : DIT_EXIT_CASE;
}

static int answer(const kernels_call *call, const suite_outcome *outcome)
{
    dit_json_writer w = {0};
    const cJSON *report = dit_json_member(outcome->record, "kernels"), *member;
    int code = exit_code_of(outcome, report);
    bool skipped = outcome->status == DIT_OUTCOME_SKIPPED;
    if (call->cli.json) {
        cJSON *document = dit_json_new_object(&w);
        cJSON_ArrayForEach(member, report) dit_json_put_reference(&w, document, member->string, member);
        if (!skipped) dit_json_put_reference(&w, document, "error", outcome->error);
        return suite_cli_answer(&w, "kernels", document, code);
    }
    if (skipped) return code;
    if (report) print_summary(report);
    suite_outcome_print_error(outcome);
    return code;
}

static int run_kernels(kernels_call *call)
{
    suite_outcome outcome = {0};
    dit_json_writer w = {0};
    cJSON *kase = dit_json_new_object(&w);
    fflush(stdout);
    call->single.stdout_fd = call->cli.json ? STDERR_FILENO : STDOUT_FILENO; /* the lines come as they are made */
    if (call->cli.quiet) call->single.stdout_fd = 0;
    if (call->cli.json && call->cli.dry_run) call->single.commands = dit_json_new_array(&w);
    dit_status st = call->check && call->time
                        ? DIT_FAIL(DIT_ERR_USAGE, "give only one of --check and --time: --time checks too")
                        : w.status;
    if (st == DIT_OK) st = make_case(call, kase);
    if (st == DIT_OK) st = suite_single_run(kase, &call->single, &outcome);
    bool planned = st == DIT_OK && call->cli.dry_run;
    if (planned && call->cli.json) st = suite_cli_print_commands(call->single.commands);
    int code = st != DIT_OK ? suite_cli_fail(&call->cli, st) : planned ? DIT_EXIT_OK : answer(call, &outcome);
    cJSON_Delete(call->single.commands);
    suite_outcome_release(&outcome);
    cJSON_Delete(kase);
    return code;
}

int suite_verb_kernels(int argc, char **argv)
{
    kernels_call call = {.backend = "cpu", .single = {.world_size = 1, .launcher = "local"}, .threads = 0};
    const suite_option options[] = {
        {"check", 0, SUITE_OPTION_FLAG, NULL, "compare with the reference (default)", &call.check, 0, 0},
        {"time", 0, SUITE_OPTION_FLAG, NULL, "compare, then time", &call.time, 0, 0},
        {"threads", 't', SUITE_OPTION_INT, "N", "threads (default: all cores)", &call.threads, 1, 1024},
        {"filter", 'f', SUITE_OPTION_STRING, "TEXT", "only operators or shapes that contain TEXT", &call.filter, 0, 0},
        {"backend", 0, SUITE_OPTION_STRING, "NAME", "cpu (default), ref, or a device: cuda, host", &call.backend, 0, 0},
        {"dtype", 0, SUITE_OPTION_STRING, "TYPE", "on a device: fp32 (default), bf16 or fp16", &call.element, 0, 0},
        {"element", 0, SUITE_OPTION_STRING, "TYPE", NULL, &call.element, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline (10m)", &call.single.deadline_s, 0, 0},
        {"launcher", 0, SUITE_OPTION_STRING, "NAME", "local (default) or mpirun", &call.single.launcher, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.single.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"kernels", NULL, purpose, examples, options, 0, 0};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    if (call.threads == 0) call.threads = suite_launch_cores();
    call.single.threads_per_rank = (int)call.threads;
    call.single.output = call.cli.output;
    call.single.dry_run = call.cli.dry_run;
    code = run_kernels(&call);
    suite_cli_release(&call.cli);
    return code;
}
