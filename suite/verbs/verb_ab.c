/* ditbench ab: is the new build slower than the old one? Pairs in random order on the same cores, until that is known.
 */
#include "base/clock.h"
#include "base/log.h"
#include "suite/launch/build.h"
#include "suite/compare/looks.h"
#include "suite/run/pairs.h"
#include "suite/verbs/verbs.h"
#include "suite/verbs/verdict_answer.h"
#include "suite/workload/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Runs a workload in pairs, old and new back to back in random order, and says of each case whether new is faster,\n"
    "slower or the same. A side is an engine, a build folder, a commit (built beside the repository), or settings\n"
    "(KEY=VALUE; may be repeated); a side that names no build runs this one. After 7, 11, 16, 24 and 36 pairs the\n"
    "numbers are looked at, and cases without a verdict get more; the looks share the 5 % of false alarms. A pair\n"
    "beside which other processes used more than a tenth of the cores does not count and is run again, unless\n"
    "the machine stays busy. Both sides are sessions, and `ditbench compare` says the verdict again.\n"
    "Simulated cases are left out: virtual time needs no pairs.\n"
    "Exit: 0 nothing is slower; 1 something is; 3 a case of the new side failed; 5 undecided after all pairs or all\n"
    "time, or too few pairs that count; 77 all skipped.";

static const char examples[] = "ditbench ab smoke --old HEAD~1 --new build\n"
                               "ditbench ab smoke --old ../main --new . --filter 'world_size == 2' --margin 3\n"
                               "ditbench ab smoke --old threads_per_rank=1 --new threads_per_rank=2 --max-time 10m";

typedef struct {
    suite_cli cli;
    suite_strings side[SUITE_PAIRS_SIDES];
    char engine[SUITE_PAIRS_SIDES][SUITE_PATH], output[SUITE_PAIRS_SIDES][SUITE_PATH];
    suite_verdict_words words;
    suite_strings settings; /* of both sides */
    int64_t first, most;
    double max_time_s, timeout_s;
    suite_run_params params[SUITE_PAIRS_SIDES];
    suite_signals signals;
    suite_pairs *pairs;
    suite_pairs_count *counts, *before; /* per case; before the newest pair */
    bool *wanted;
    suite_side read[SUITE_PAIRS_SIDES];
    suite_comparison comparison;
} ab_call;

/* Pairs that may be run in all, those that do not count among them. */
static int planned_pairs(const ab_call *call)
{
    return (1 + SUITE_LOOKS_SPARES) * (int)call->most + 1;
}

/* ---- sides ------------------------------------------------------------------------------------------------------- */

static dit_status add_setting(suite_strings *settings, const char *text)
{
    if (settings->count == SUITE_MOST_STRINGS)
        return DIT_FAIL(DIT_ERR_USAGE, "more than %d settings", SUITE_MOST_STRINGS);
    settings->items[settings->count++] = text;
    return DIT_OK;
}

/* Words with '=' are settings; one other word names a build. */
static dit_status read_side(ab_call *call, int side)
{
    static const char *const names[] = {"old", "new"};
    suite_run_params *params = &call->params[side];
    params->settings = call->settings;
    for (int i = 0; i < call->side[side].count; i++) {
        const char *word = call->side[side].items[i];
        if (strchr(word, '=') && access(word, F_OK) != 0) {
            DIT_TRY(add_setting(&params->settings, word));
            continue;
        }
        if (params->engine) return DIT_FAIL(DIT_ERR_USAGE, "--%s names two builds: %s", names[side], word);
        DIT_TRY(suite_build_find(word, &call->signals, call->engine[side]));
        params->engine = call->engine[side];
    }
    if (call->cli.output) {
        DIT_TRY(suite_path(call->output[side], "%s/%s", call->cli.output, names[side]));
        params->output = call->output[side];
    }
    params->name = names[side];
    params->filter = call->words.filter;
    params->timeout_s = call->timeout_s;
    params->processes = planned_pairs(call);
    params->quiet = call->cli.quiet;
    return DIT_OK;
}

static dit_status check_counts(ab_call *call)
{
    if (call->most < call->first) call->most = call->first;
    if (call->side[0].count || call->side[1].count) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "nothing says in what the sides differ"),
                          "--old BUILD --new BUILD; a build against itself is --old build --new build");
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static dit_status look(ab_call *call)
{
    const suite_comparison_params params = {.margin =
                                                call->words.margin_percent / 100}; /* the rest is in the sessions */
    suite_comparison_release(&call->comparison);
    for (int side = 0; side < SUITE_PAIRS_SIDES; side++) {
        const suite_session *session = suite_pairs_session(call->pairs, side);
        suite_side_release(&call->read[side]);
        DIT_TRY(suite_side_load_session(session->journal, session->name, &call->read[side]));
    }
    return suite_comparison_make(&call->read[SUITE_PAIRS_OLD], &call->read[SUITE_PAIRS_NEW], &params,
                                 &call->comparison);
}

/* Whether more pairs may tell more of the case. One that failed needs no more. */
static bool is_open(const ab_call *call, const char *case_id)
{
    bool open = false;
    for (int t = 0; t < call->comparison.timing_count; t++) {
        const suite_timing *timing = &call->comparison.timings[t];
        bool ok = timing->old->status == DIT_OUTCOME_OK && timing->now->status == DIT_OUTCOME_OK;
        if (strcmp(timing->old->case_id, case_id) == 0)
            open |= ok && timing->verdict == SUITE_VERDICT_UNDECIDED && !suite_timing_is_precise(timing);
    }
    return open;
}

/* Whether the newest pair of a wanted case is one that is followed by a look. */
static bool is_due(const ab_call *call, int index)
{
    const suite_pairs_count *count = &call->counts[index];
    bool again = count->counted > call->before[index].counted;
    return again && suite_looks_after((int)call->first, (int)call->most, count->counted);
}

/* What is left to do for a case after `pair`; `due`: its numbers were looked at. */
static bool is_left(const ab_call *call, int index, bool due)
{
    const suite_pairs_count *count = &call->counts[index];
    const int spare = suite_looks_spare((int)call->first, (int)call->most, count->counted);
    if (count->counted >= call->most || count->busy > spare) return false;
    return !due || is_open(call, suite_pairs_case(call->pairs, SUITE_PAIRS_OLD, index)->case_id);
}

/* Looks where a case is due, and takes those off `wanted` that need no more pairs. *left: how many do. */
static dit_status choose(ab_call *call, int *left)
{
    const int count = suite_pairs_case_count(call->pairs);
    int looked = 0;
    for (int i = 0; i < count; i++) looked += call->wanted[i] && is_due(call, i);
    if (looked) DIT_TRY(look(call));
    *left = 0;
    for (int i = 0; i < count; i++) {
        if (call->wanted[i]) call->wanted[i] = is_left(call, i, is_due(call, i));
        *left += call->wanted[i];
    }
    if (looked && *left)
        dit_log_info("after a look at %d case%s %d case%s more pairs", looked, looked == 1 ? "" : "s", *left,
                     *left == 1 ? " needs" : "s need");
    return DIT_OK;
}

static dit_status make_room(ab_call *call)
{
    const size_t count = (size_t)suite_pairs_case_count(call->pairs);
    call->counts = calloc(count, sizeof *call->counts);
    call->before = calloc(count, sizeof *call->before);
    call->wanted = malloc(count * sizeof *call->wanted);
    if (!call->counts || !call->before || !call->wanted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the cases");
    memset(call->wanted, true, count * sizeof *call->wanted);
    return DIT_OK;
}

/* Runs pairs until every case has a verdict, or pairs or time are used up. */
static dit_status run_pairs(ab_call *call, const char **reason)
{
    const size_t count = (size_t)suite_pairs_case_count(call->pairs);
    int left = 1;
    DIT_TRY(make_room(call));
    *reason = "decided"; /* all that was asked for was run, also where it did not decide */
    for (int pair = 0; left && pair < planned_pairs(call); pair++) {
        memcpy(call->before, call->counts, count * sizeof *call->before);
        DIT_TRY(suite_pairs_run(call->pairs, pair, call->wanted, call->counts));
        if (call->signals.received) return *reason = "interrupted", DIT_OK;
        DIT_TRY(choose(call, &left));
        if (left && suite_pairs_is_over(call->pairs)) *reason = "time_limit", left = 0;
    }
    return look(call);
}

static dit_status make_id(char id[48])
{
    unsigned char random[4];
    char now[32];
    if (getentropy(random, sizeof random) != 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "no random numbers");
    dit_clock_utc(now);
    snprintf(id, 48, "ab-%s-%02x%02x%02x%02x", now, random[0], random[1], random[2], random[3]);
    return DIT_OK;
}

static dit_status compare_builds(ab_call *call)
{
    char id[48];
    const char *reason = NULL;
    DIT_TRY(check_counts(call));
    for (int side = 0; side < SUITE_PAIRS_SIDES; side++) DIT_TRY(read_side(call, side));
    DIT_TRY(make_id(id));
    const suite_pairs_rules rules = {.id = id,
                                     .looks = suite_looks_count((int)call->first, (int)call->most),
                                     .busy_limit = suite_verdict_busy_limit(&call->words),
                                     .max_time_s = call->max_time_s};
    DIT_TRY(suite_pairs_open(call->cli.operands[0], call->params, &rules, &call->signals, &call->pairs));
    dit_status st = run_pairs(call, &reason);
    dit_status closed = suite_pairs_close(call->pairs, st == DIT_OK ? reason : "interrupted");
    call->pairs = NULL;
    return st == DIT_OK ? closed : st;
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static dit_status answer(const ab_call *call)
{
    const suite_verdict_answer all = {.comparison = &call->comparison};
    if (!call->comparison.old) return DIT_OK; /* stopped before the first look */
    DIT_TRY(suite_verdict_print(&call->cli, &call->words, &all));
    if (!call->cli.json)
        printf("again: ditbench compare %s %s\n", call->read[SUITE_PAIRS_OLD].name, call->read[SUITE_PAIRS_NEW].name);
    return DIT_OK;
}

/* A case that failed on the old side alone and ends well now is better, and no failure of what is judged. */
static int exit_code(const ab_call *call)
{
    if (call->signals.received) return 128 + call->signals.received;
    if (!call->comparison.old) return DIT_EXIT_UNDECIDED;
    if (suite_side_has_failures(&call->read[SUITE_PAIRS_NEW])) return DIT_EXIT_CASE;
    return suite_verdict_exit_code(&call->comparison);
}

static void release(ab_call *call)
{
    suite_pairs_close(call->pairs, NULL);
    suite_comparison_release(&call->comparison);
    for (int side = 0; side < SUITE_PAIRS_SIDES; side++) suite_side_release(&call->read[side]);
    free(call->counts);
    free(call->before);
    free(call->wanted);
    suite_cli_release(&call->cli);
}

int suite_verb_ab(int argc, char **argv)
{
    ab_call call = {.first = SUITE_LOOKS_FIRST, .most = SUITE_LOOKS_MOST};
    const suite_option options[] = {
        {"old", 0, SUITE_OPTION_STRINGS, "SIDE", "engine, build folder, commit or KEY=VALUE; may be repeated",
         &call.side[SUITE_PAIRS_OLD], 0, 0},
        {"new", 0, SUITE_OPTION_STRINGS, "SIDE", "what is compared with it", &call.side[SUITE_PAIRS_NEW], 0, 0},
        {"pairs", 'p', SUITE_OPTION_INT, "N", "pairs before the first look (7)", &call.first, SUITE_RATIO_LEAST, 1000},
        {"max-pairs", 0, SUITE_OPTION_INT, "N", "pairs of a case that stays undecided (36)", &call.most,
         SUITE_RATIO_LEAST, 1000},
        {"max-time", 0, SUITE_OPTION_DURATION, "TIME", "begin no pairs after TIME", &call.max_time_s, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline of every case", &call.timeout_s, 0, 0},
        SUITE_OPTION_SET(&call.settings),
        SUITE_VERDICT_OPTIONS(call.words, "a smaller change is none (2)"),
        {0},
    };
    const suite_cli_spec spec = {"ab", "WORKLOAD", purpose, examples, options, 1, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    for (int side = 0; side < SUITE_PAIRS_SIDES; side++)
        call.params[side] = (suite_run_params){.argc = argc, .argv = argv};
    suite_signals_block(&call.signals);
    dit_status st = compare_builds(&call);
    if (st == DIT_OK) st = answer(&call);
    code = st == DIT_OK ? exit_code(&call) : suite_cli_fail(&call.cli, st);
    suite_signals_restore(&call.signals);
    release(&call);
    return code;
}
