/* ditbench gate: does this build keep to the numbers that a baseline file holds? */
#include "base/log.h"
#include "suite/compare/baseline.h"
#include "suite/compare/comparison_print.h"
#include "suite/compare/named_side.h"
#include "suite/run/run.h"
#include "suite/verbs/verbs.h"
#include "suite/verbs/verdict_answer.h"
#include "suite/workload/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Runs a workload and holds its numbers to a baseline file. What repeats to the last digit (bytes and messages of\n"
    "every collective, flops, memory, and of simulated cases every time) may not change at all, memory by more than a\n"
    "hundredth; measured times bind on the baseline's hardware, with an interval and a margin. A change for the "
    "better\n"
    "passes, and asks for an update. --update writes the file anew with the reason.\n"
    "A case that this machine has to skip is not judged. The key \"gate\" of the workload sets direction and margin "
    "of\n"
    "single metrics.\n"
    "Exit: 0 passed; 1 something is worse or changed; 3 a case failed; 5 a measured time is undecided; 77 all skipped.";

static const char examples[] =
    "ditbench gate smoke --baseline ci/baselines/smoke.json\n"
    "ditbench gate smoke --baseline ci/baselines/smoke.json --update --reason 'ring sends K and V apart'\n"
    "ditbench gate --session latest --baseline ci/baselines/smoke.json --github";

typedef struct {
    suite_cli cli;
    suite_verdict_words words;
    const char *baseline, *session, *reason, *engine;
    bool update, github, exact_only;
    suite_strings settings;
    suite_signals signals;
    suite_run_summary summary;
    suite_side old, now;
    suite_comparison comparison;
    suite_circumstance *circumstances;
    int circumstance_count;
} gate_call;

/* ---- the session that is judged ---------------------------------------------------------------------------------- */

static dit_status check_words(const gate_call *call)
{
    if (!call->baseline)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--baseline names no file"),
                              "ditbench gate WORKLOAD --baseline FILE --update --reason TEXT makes one");
    if ((call->cli.operand_count == 1) == (call->session != NULL))
        return DIT_FAIL(DIT_ERR_USAGE, "name either a workload to run, or --session SESSION");
    if (call->update && !(call->reason && call->reason[0]))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--update needs --reason TEXT"),
                              "the reason stands in the file, for those who ask why its numbers changed");
    if (call->update && call->words.filter)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "--update with --filter would lose the other cases of %s", call->baseline),
            "--update writes the file anew from all that was run");
    return DIT_OK;
}

static dit_status run_workload(gate_call *call, char **argv, int argc)
{
    const suite_run_params params = {.argc = argc,
                                     .argv = argv,
                                     .settings = call->settings,
                                     .filter = call->words.filter,
                                     .engine = call->engine,
                                     .output = call->cli.output,
                                     .quiet = call->cli.quiet};
    DIT_TRY(suite_run_workload(call->cli.operands[0], &params, &call->signals, &call->summary));
    if (call->signals.received) return DIT_FAIL(DIT_ERR_INTERRUPTED, "stopped before all cases had run");
    return suite_side_load_session(call->summary.session.journal, call->summary.session.name, &call->now);
}

static dit_status take_side(gate_call *call, int argc, char **argv)
{
    return call->session ? suite_side_load(call->session, &call->now) : run_workload(call, argv, argc);
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

/* Times of another machine bind nobody: only what repeats is compared then. */
static void drop_foreign_times(gate_call *call)
{
    suite_comparison *c = &call->comparison;
    int kept = 0, foreign = 0;
    for (int i = 0; i < c->timing_count; i++) {
        bool binds = c->timings[i].exact || (c->same_hardware && !call->exact_only);
        foreign += !binds;
        if (binds) c->timings[kept++] = c->timings[i];
    }
    c->timing_count = kept;
    if (foreign && !call->exact_only)
        dit_log_info("%d measured time%s of other hardware do%s not bind here", foreign, foreign == 1 ? "" : "s",
                     foreign == 1 ? "es" : "");
}

static dit_status judge(gate_call *call)
{
    const suite_comparison_params params = {.filter = call->words.filter,
                                            .margin = call->words.margin_percent / 100,
                                            .busy_limit = suite_verdict_busy_limit(&call->words)};
    DIT_TRY(suite_baseline_load(call->baseline, &call->old));
    DIT_TRY(suite_comparison_make(&call->old, &call->now, &params, &call->comparison));
    drop_foreign_times(call);
    return suite_circumstances_compare(call->old.session, call->now.session, true, &call->circumstances,
                                       &call->circumstance_count);
}

static int exit_code(const gate_call *call)
{
    if (suite_side_has_failures(&call->now)) return DIT_EXIT_CASE;
    return call->comparison.gone_count ? DIT_EXIT_GATE : suite_verdict_exit_code(&call->comparison);
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

/* GitHub reads these lines from the log of a job, and shows them beside the commit. */
static void print_annotations(const suite_comparison *c)
{
    for (int i = 0; i < c->difference_count; i++) {
        const suite_difference *d = &c->differences[i];
        char before[SUITE_DIFFERENCE_TEXT], after[SUITE_DIFFERENCE_TEXT];
        suite_difference_texts(d, before, after);
        if (d->verdict == SUITE_VERDICT_WORSE)
            printf("::error title=ditbench gate::%s: %s was %s, is %s\n", d->now->label, d->name, before, after);
    }
    for (int i = 0; i < c->timing_count; i++) {
        const suite_timing *t = &c->timings[i];
        if (t->verdict == SUITE_VERDICT_WORSE)
            printf("::error title=ditbench gate::%s: %s was %.17g s, is %.17g s (%+.2f %%)\n", t->now->label,
                   report_metric_get(t->metric)->name, t->before, t->after, 100 * (t->ratio.ratio - 1));
    }
    for (int i = 0; i < c->gone_count; i++)
        printf("::error title=ditbench gate::%s: a case of the baseline did not run\n", c->gone[i]->label);
}

static void print_next(const gate_call *call, int code)
{
    const suite_comparison *c = &call->comparison;
    int better = suite_comparison_count(c, SUITE_VERDICT_BETTER);
    for (int i = 0; i < c->difference_count; i++) better += c->differences[i].verdict == SUITE_VERDICT_BETTER;
    if (code == DIT_EXIT_GATE)
        printf("the gate is closed. If the change is meant: ditbench gate --session %s --baseline %s --update --reason "
               "TEXT\n",
               call->now.name, call->baseline);
    else if (better || c->added_count)
        printf("the gate is open, and %s. To hold it: --update --reason TEXT\n",
               better ? "something became better" : "there are new cases");
    else if (code == DIT_EXIT_OK)
        printf("the gate is open\n");
}

static dit_status answer(const gate_call *call, int code)
{
    const suite_verdict_answer all = {&call->comparison, call->circumstances, call->circumstance_count};
    DIT_TRY(suite_verdict_print(&call->cli, &call->words, &all));
    if (call->cli.json) return DIT_OK;
    if (code == DIT_EXIT_GATE) suite_circumstances_print(call->circumstances, call->circumstance_count, 6, stdout);
    if (call->github) print_annotations(&call->comparison);
    print_next(call, code);
    return DIT_OK;
}

static dit_status update(const gate_call *call)
{
    DIT_TRY(suite_baseline_write(&call->now, call->baseline, call->reason));
    printf("%s: %d cases of session %s\n", call->baseline, call->now.case_count, call->now.name);
    return DIT_OK;
}

static dit_status gate(gate_call *call, int argc, char **argv, int *code)
{
    DIT_TRY(check_words(call));
    DIT_TRY(take_side(call, argc, argv));
    if (call->update) return update(call);
    DIT_TRY(judge(call));
    *code = exit_code(call);
    return answer(call, *code);
}

int suite_verb_gate(int argc, char **argv)
{
    gate_call call = {.baseline = NULL};
    const suite_option options[] = {
        {"baseline", 'b', SUITE_OPTION_STRING, "FILE", "the numbers to hold to", &call.baseline, 0, 0},
        {"session", 0, SUITE_OPTION_STRING, "SESSION", "judge this one, and run nothing", &call.session, 0, 0},
        {"update", 0, SUITE_OPTION_FLAG, NULL, "write the file from what was run", &call.update, 0, 0},
        {"reason", 0, SUITE_OPTION_STRING, "TEXT", "why the numbers may change; kept in the file", &call.reason, 0, 0},
        {"exact-only", 0, SUITE_OPTION_FLAG, NULL, "judge no measured time", &call.exact_only, 0, 0},
        SUITE_OPTION_SET(&call.settings),
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.engine, 0, 0},
        {"github", 0, SUITE_OPTION_FLAG, NULL, "print annotations for GitHub Actions", &call.github, 0, 0},
        SUITE_VERDICT_OPTIONS(call.words, "of measured times: a smaller change is none (5)"),
        {0},
    };
    const suite_cli_spec spec = {"gate", "[WORKLOAD]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    code = DIT_EXIT_OK;
    suite_signals_block(&call.signals);
    dit_status st = gate(&call, argc, argv, &code);
    if (st != DIT_OK) code = suite_cli_fail(&call.cli, st);
    suite_signals_restore(&call.signals);
    suite_comparison_release(&call.comparison);
    suite_side_release(&call.old);
    suite_side_release(&call.now);
    free(call.circumstances);
    suite_cli_release(&call.cli);
    return code;
}
