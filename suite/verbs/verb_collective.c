/* ditbench collective: how fast ranks of this machine exchange, by operation and size. */
#include "base/exchange.h"
#include "base/json_writer.h"
#include "base/parallel.h"
#include "base/words.h"
#include "suite/console/cli.h"
#include "suite/launch/one_case.h"
#include "suite/verbs/mesh_options.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Times all-reduce, all-gather, reduce-scatter, all-to-all and send/recv by message size, in the conventions of\n"
    "nccl-tests: algbw is bytes over time; busbw scales it to the rate of the links, so that results of different\n"
    "numbers of ranks compare. It runs on host memory over MPI, or on devices: over NCCL where each rank has a GPU,\n"
    "else through host memory. Every size is checked before it is timed. With degrees, the groups of one axis of\n"
    "that mesh exchange at the same time. Exit: 0; 6 an element is wrong.";

static const char examples[] = "ditbench collective --ranks 2\n"
                               "ditbench collective --ranks 4 --operation all_reduce,all_to_all --max-bytes 1M --json\n"
                               "ditbench collective --ulysses_degree 2 --ring_degree 2 --axis ring\n"
                               "ditbench collective --ranks 8 --backend cuda --min-bytes 1M --max-bytes 1G";

typedef struct {
    suite_cli cli;
    suite_single_params single;
    int64_t ranks, degree[DIT_AXIS_COUNT], factor, warmup, iterations;
    const char *operations, *axis, *min_bytes, *max_bytes, *backend;
} collective_call;

/* "8", "64K", "1M", "2G": powers of 1024. */
static dit_status read_bytes(const char *option, const char *text, int64_t *out)
{
    static const char units[] = "KMG";
    char *end;
    double count = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    bool right = end != text && (!*end || (unit && !end[1])) && count >= 1 && count <= 1e15;
    if (!right)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--%s: '%s' is not a number of bytes", option, text),
                              "such as 8, 64K, 16M or 1G");
    for (const char *u = unit; u && u >= units; u--) count *= 1024;
    *out = (int64_t)count;
    return DIT_OK;
}

static dit_status settle_ranks(collective_call *call, dit_parallel *parallel)
{
    int64_t product = 1;
    *parallel = (dit_parallel){0};
    for (int i = 0; i < DIT_AXIS_COUNT; i++) {
        parallel->degree[i] = call->degree[i] > 0 ? (int)call->degree[i] : 1;
        product *= parallel->degree[i];
    }
    if (product == 1) product = call->ranks > 0 ? call->ranks : 2;
    if (call->ranks > 0 && call->ranks != product)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "--ranks %d is not the product of the degrees, %d",
                        (int)call->ranks, (int)product);
    call->single.world_size = (int)product;
    call->single.threads_per_rank = 1;
    return DIT_OK;
}

static dit_status fail_operation(const char *name)
{
    return dit_fail_word(DIT_ERR_USAGE, "--operation", name, dit_exchange_names());
}

static dit_status add_operations(const char *list, cJSON *collective)
{
    dit_json_writer w = {0};
    char name[64];
    cJSON *array = list ? dit_json_put_array(&w, collective, "operations") : NULL;
    while (list && dit_words_next(&list, name, sizeof name)) {
        for (char *c = name; *c; c++)
            if (*c == '-') *c = '_';
        if (dit_exchange_from_name(name) < 0) {
            dit_json_put_status(&w, fail_operation(name));
            return w.status;
        }
        dit_json_put_string(&w, array, NULL, name);
    }
    return w.status;
}

static dit_status add_sizes(const collective_call *call, cJSON *collective)
{
    dit_json_writer w = {0};
    int64_t min_bytes, max_bytes;
    DIT_TRY(read_bytes("min-bytes", call->min_bytes, &min_bytes));
    DIT_TRY(read_bytes("max-bytes", call->max_bytes, &max_bytes));
    if (max_bytes < min_bytes)
        return DIT_FAIL(DIT_ERR_USAGE, "--max-bytes %s is less than --min-bytes %s", call->max_bytes, call->min_bytes);
    dit_json_put_int(&w, collective, "min_bytes", min_bytes);
    dit_json_put_int(&w, collective, "max_bytes", max_bytes);
    dit_json_put_int(&w, collective, "factor", call->factor);
    dit_json_put_int(&w, collective, "warmup_runs", call->warmup);
    dit_json_put_int(&w, collective, "iterations", call->iterations);
    return w.status;
}

static dit_status make_case(collective_call *call, cJSON *kase)
{
    dit_json_writer w = {0};
    dit_parallel parallel;
    DIT_TRY(settle_ranks(call, &parallel));
    dit_json_put_string(&w, kase, "schema", "ditbench.case/1");
    dit_json_put_string(&w, kase, "program", "collective");
    cJSON *collective = dit_json_put_object(&w, kase, "collective");
    DIT_TRY(add_operations(call->operations, collective));
    suite_text_put(&w, collective, "axis", call->axis);
    DIT_TRY(add_sizes(call, collective));
    dit_json_put_status(&w, dit_parallel_to_json(&parallel, dit_json_put_object(&w, kase, "parallel")));
    cJSON *platform = dit_json_put_object(&w, kase, "platform");
    dit_json_put_string(&w, platform, "name", "local");
    suite_text_put(&w, platform, "backend", call->backend);
    dit_json_put_int(&w, platform, "threads_per_rank", 1);
    return w.status;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* Of each operation the size that gives most. */
static void print_summary(const cJSON *result)
{
    const cJSON *table = dit_json_member(result, "table"), *item, *best = NULL;
    cJSON_ArrayForEach(item, table)
    {
        const char *name = dit_json_text_or(item, "operation", NULL);
        const cJSON *next = item->next;
        const char *after = dit_json_text_or(next, "operation", NULL);
        if (!best || dit_json_number_or(item, "busbw_gb_per_s", 0) > dit_json_number_or(best, "busbw_gb_per_s", 0))
            best = item;
        if (after && name && strcmp(name, after) == 0) continue;
        printf("%s: busbw at most %.3f GB/s, at %.0f bytes\n", name ? name : "?",
               dit_json_number_or(best, "busbw_gb_per_s", 0), dit_json_number_or(best, "bytes", 0));
        best = NULL;
    }
}

static int exit_code_of(const suite_outcome *outcome, const cJSON *result)
{
    if (outcome->status == DIT_OUTCOME_OK) return result ? DIT_EXIT_OK : DIT_EXIT_CASE;
    if (outcome->status == DIT_OUTCOME_INVALID) return DIT_EXIT_VERIFICATION;
    if (outcome->exit_code == DIT_EXIT_USAGE || outcome->exit_code == DIT_EXIT_ENVIRONMENT) return outcome->exit_code;
    return outcome->status == DIT_OUTCOME_SKIPPED ? DIT_EXIT_SKIPPED : DIT_EXIT_CASE;
}

static int answer(const collective_call *call, const suite_outcome *outcome)
{
    dit_json_writer w = {0};
    const cJSON *result = dit_json_member(outcome->record, "collective"), *member;
    int code = exit_code_of(outcome, result);
    if (call->cli.json) {
        cJSON *document = dit_json_new_object(&w);
        cJSON_ArrayForEach(member, result) dit_json_put_reference(&w, document, member->string, member);
        dit_json_put_reference(&w, document, "error", outcome->error);
        return suite_cli_answer(&w, "collective", document, code);
    }
    if (result) print_summary(result);
    suite_outcome_print_error(outcome);
    return code;
}

static int run_collective(collective_call *call)
{
    suite_outcome outcome = {0};
    dit_json_writer w = {0};
    cJSON *kase = dit_json_new_object(&w);
    fflush(stdout);
    call->single.stdout_fd = call->cli.json ? STDERR_FILENO : STDOUT_FILENO; /* the lines come as they are made */
    if (call->cli.quiet) call->single.stdout_fd = 0;
    if (call->cli.json && call->cli.dry_run) call->single.commands = dit_json_new_array(&w);
    dit_status st = w.status == DIT_OK ? make_case(call, kase) : w.status;
    if (st == DIT_OK) st = suite_single_run(kase, &call->single, &outcome);
    bool planned = st == DIT_OK && call->cli.dry_run;
    if (planned && call->cli.json) st = suite_cli_print_commands(call->single.commands);
    int code = st != DIT_OK ? suite_cli_fail(&call->cli, st) : planned ? DIT_EXIT_OK : answer(call, &outcome);
    cJSON_Delete(call->single.commands);
    suite_outcome_release(&outcome);
    cJSON_Delete(kase);
    return code;
}

int suite_verb_collective(int argc, char **argv)
{
    collective_call call = {.backend = "cpu",
                            .axis = "world",
                            .min_bytes = "8",
                            .max_bytes = "64M",
                            .factor = 2,
                            .warmup = 5,
                            .iterations = 20};
    const suite_option own[] = {
        {"ranks", 'n', SUITE_OPTION_INT, "N", "number of processes (default: 2, or the product of the degrees)",
         &call.ranks, 1, 65536},
        {"operation", 'o', SUITE_OPTION_STRING, "LIST",
         "of all_reduce, all_gather, reduce_scatter, all_to_all, send_recv (all)", &call.operations, 0, 0},
        {"min-bytes", 0, SUITE_OPTION_STRING, "SIZE", "smallest size: 8 (default), 64K, 1M", &call.min_bytes, 0, 0},
        {"max-bytes", 0, SUITE_OPTION_STRING, "SIZE", "largest size (64M)", &call.max_bytes, 0, 0},
        {"factor", 0, SUITE_OPTION_INT, "N", "from size to size (2)", &call.factor, 2, 1024},
        {"warmup", 0, SUITE_OPTION_INT, "N", "calls that are not counted (5)", &call.warmup, 0, 10000},
        {"iterations", 0, SUITE_OPTION_INT, "N", "calls that are counted, at most (20)", &call.iterations, 1, 1000000},
        {"backend", 0, SUITE_OPTION_STRING, "NAME", "cpu (default), cuda or host", &call.backend, 0, 0},
        {"axis", 0, SUITE_OPTION_STRING, "NAME", "the axis whose groups exchange: world (default), ulysses, ring, ...",
         &call.axis, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline (10m)", &call.single.deadline_s, 0, 0},
        {"launcher", 0, SUITE_OPTION_STRING, "NAME", "mpirun (default) or local", &call.single.launcher, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.single.engine, 0, 0},
    };
    suite_option options[sizeof own / sizeof *own + SUITE_DEGREE_OPTIONS + 1] = {{0}};
    memcpy(options, own, sizeof own);
    suite_degree_options(call.degree, options + sizeof own / sizeof *own);
    const suite_cli_spec spec = {"collective", NULL, purpose, examples, options, 0, 0};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.single.output = call.cli.output;
    call.single.dry_run = call.cli.dry_run;
    code = run_collective(&call);
    suite_cli_release(&call.cli);
    return code;
}
