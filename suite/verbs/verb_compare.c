/* ditbench compare: what changed between two sessions, and whether the change is real. */
#include "base/words.h"
#include "suite/compare/comparison_print.h"
#include "suite/compare/named_side.h"
#include "suite/verbs/verbs.h"
#include "suite/verbs/verdict_answer.h"

#include <stdio.h>
#include <stdlib.h>

static const char purpose[] =
    "Compares two sessions case by case. OLD and NEW are sessions, baseline files, or commits: of a commit the newest\n"
    "whole session of its build counts. Numbers that repeat (bytes, messages, flops, memory, virtual time) are\n"
    "compared as they are; measured times get an interval of their ratio and are same, faster, slower or undecided.\n"
    "A verdict needs 6 processes on both sides.\n"
    "Exit: 0 nothing is worse; 1 something is slower or worse; 5 something is undecided.";

static const char examples[] = "ditbench compare 20260301T1 latest\n"
                               "ditbench compare ci/baseline.json latest --markdown \"$GITHUB_STEP_SUMMARY\"\n"
                               "ditbench compare 4170609 631fa91 --metric latency_s,step_s\n"
                               "ditbench compare nvlink pcie --across platform --env";

enum { MOST_METRICS = 16, METRIC_NAME = 64, MOST_CIRCUMSTANCES = 12 };

typedef struct {
    suite_cli cli;
    suite_verdict_words words;
    const char *metrics;
    bool env;
    suite_comparison_params params;
    report_metric metric[MOST_METRICS];
    suite_side old, now;
    suite_comparison comparison;
    suite_circumstance *circumstances;
    int circumstance_count;
} compare_call;

static dit_status read_metrics(compare_call *call)
{
    const char *rest = call->metrics;
    char name[METRIC_NAME];
    int count = 0;
    while (rest && count < MOST_METRICS && dit_words_next(&rest, name, sizeof name)) {
        if (!report_metric_from_name(name, &call->metric[count]))
            return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no metric \"%s\"", name),
                                  "`ditbench list metrics` names them");
        count++;
    }
    call->params.metrics = call->metric;
    call->params.metric_count = count;
    return DIT_OK;
}

static dit_status load(compare_call *call)
{
    DIT_TRY(read_metrics(call));
    call->params.margin = call->words.margin_percent / 100;
    call->params.filter = call->words.filter;
    call->params.busy_limit = (double)call->words.busy_percent / 100;
    DIT_TRY(suite_side_load(call->cli.operands[0], &call->old));
    DIT_TRY(suite_side_load(call->cli.operands[1], &call->now));
    DIT_TRY(suite_comparison_make(&call->old, &call->now, &call->params, &call->comparison));
    return suite_circumstances_compare(call->old.session, call->now.session,
                                       call->old.is_baseline || call->now.is_baseline, &call->circumstances,
                                       &call->circumstance_count);
}

static dit_status answer(const compare_call *call)
{
    const suite_verdict_answer all = {&call->comparison, call->circumstances, call->circumstance_count};
    DIT_TRY(suite_verdict_print(&call->cli, &call->words, &all));
    if (call->env && !call->cli.json)
        suite_circumstances_print(call->circumstances, call->circumstance_count, MOST_CIRCUMSTANCES, stdout);
    return DIT_OK;
}

int suite_verb_compare(int argc, char **argv)
{
    compare_call call = {.params = {0}};
    const suite_option options[] = {
        {"metric", 'm', SUITE_OPTION_STRING, "A,B", "times to judge (latency_s)", &call.metrics, 0, 0},
        {"across", 0, SUITE_OPTION_STRING, "TAG,TAG", "cases match that are equal in all tags but these",
         &call.params.across, 0, 0},
        {"env", 0, SUITE_OPTION_FLAG, NULL, "say what else differs: machine, libraries, build, workload", &call.env, 0,
         0},
        SUITE_VERDICT_OPTIONS(call.words, "a smaller change is none (2 for pairs, 5 otherwise)"),
        {0},
    };
    const suite_cli_spec spec = {"compare", "OLD NEW", purpose, examples, options, 2, 2};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = load(&call);
    if (st == DIT_OK) st = answer(&call);
    code = st == DIT_OK ? suite_verdict_exit_code(&call.comparison) : suite_cli_fail(&call.cli, st);
    suite_comparison_release(&call.comparison);
    suite_side_release(&call.old);
    suite_side_release(&call.now);
    free(call.circumstances);
    suite_cli_release(&call.cli);
    return code;
}
