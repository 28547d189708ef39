#include "suite/run/pairs.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/words.h"
#include "suite/run/order.h"
#include "suite/run/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACROSS_BYTES = 512 };

struct suite_pairs {
    suite_run_params params[SUITE_PAIRS_SIDES];
    suite_run_summary summary[SUITE_PAIRS_SIDES];
    suite_run_state run[SUITE_PAIRS_SIDES];
    cJSON *ab[SUITE_PAIRS_SIDES];
    char across[ACROSS_BYTES]; /* tags in which the sides' cases differ */
    bool open[SUITE_PAIRS_SIDES];
    uint64_t seed;
    double busy_limit, max_time_s;
    int64_t opened_ns;
};

static const char *const side_names[] = {"old", "new"};

/* {"id","side","looks","busy_limit","across"?} of a session's first line. */
static dit_status make_note(suite_pairs *pairs, const suite_pairs_rules *rules, int side)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "id", rules->id);
    dit_json_put_string(&w, root, "side", side_names[side]);
    dit_json_put_int(&w, root, "looks", rules->looks);
    dit_json_put_number(&w, root, "busy_limit", rules->busy_limit);
    if (pairs->across[0]) dit_json_put_string(&w, root, "across", pairs->across);
    DIT_TRY(dit_json_finish(&w, root, &pairs->ab[side]));
    pairs->params[side].ab = pairs->ab[side];
    return DIT_OK;
}

static bool is_in_list(const char *list, const char *name)
{
    char word[64];
    while (dit_words_next(&list, word, sizeof word))
        if (strcmp(word, name) == 0) return true;
    return false;
}

/* Settings of a side change tags: cases belong together that are equal in all others. */
static void find_differing_tags(suite_pairs *pairs)
{
    const suite_schedule *old = &pairs->run[SUITE_PAIRS_OLD].schedule, *now = &pairs->run[SUITE_PAIRS_NEW].schedule;
    size_t used = 0;
    const cJSON *tag;
    for (int i = 0; i < old->case_count; i++) {
        cJSON_ArrayForEach(tag, old->cases[i].tags)
        {
            const cJSON *other = dit_json_member(now->cases[i].tags, tag->string);
            if (cJSON_Compare(tag, other, true) || is_in_list(pairs->across, tag->string)) continue;
            if (used + strlen(tag->string) + 2 < sizeof pairs->across)
                used += (size_t)snprintf(pairs->across + used, sizeof pairs->across - used, "%s%s", used ? "," : "",
                                         tag->string);
        }
    }
}

static void tell_left_out(int simulated)
{
    if (simulated)
        dit_log_info("%d simulated case%s left out: virtual time needs no pairs", simulated,
                     simulated == 1 ? " is" : "s are");
}

static dit_status check_sides(const suite_pairs *pairs)
{
    const suite_schedule *old = &pairs->run[SUITE_PAIRS_OLD].schedule, *now = &pairs->run[SUITE_PAIRS_NEW].schedule;
    if (old->case_count != now->case_count || old->item_count != now->item_count)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "the old side has %d cases, the new one %d", old->case_count, now->case_count),
            "settings of the sides may change cases, never their number");
    if (old->case_count) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_NO_MATCH, "every case is simulated, and virtual time needs no pairs"),
                          "run the workload twice, and `ditbench compare` the sessions: they repeat to the last digit");
}

static dit_status open_side(suite_pairs *pairs, const char *workload, int side, suite_signals *signals)
{
    DIT_TRY(suite_run_init(&pairs->run[side], &pairs->params[side], signals, &pairs->summary[side]));
    pairs->open[side] = true;
    return suite_run_plan(&pairs->run[side], workload);
}

static dit_status begin_side(suite_pairs *pairs, int side)
{
    suite_run_state *run = &pairs->run[side];
    DIT_TRY(suite_run_begin(run));
    suite_progress_init(&run->progress, run->schedule.item_count, 0, run->params->quiet);
    run->progress.prefix = side_names[side];
    return DIT_OK;
}

dit_status suite_pairs_open(const char *workload, const suite_run_params params[SUITE_PAIRS_SIDES],
                            const suite_pairs_rules *rules, suite_signals *signals, suite_pairs **out)
{
    suite_pairs *pairs = calloc(1, sizeof *pairs);
    dit_status st = pairs ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for two runs");
    for (int side = 0; st == DIT_OK && side < SUITE_PAIRS_SIDES; side++) {
        pairs->params[side] = params[side];
        pairs->params[side].measured_only = true;
        st = open_side(pairs, workload, side, signals);
        if (st != DIT_OK) dit_error_note(st, "preparing the %s side", side_names[side]);
    }
    if (st == DIT_OK) st = check_sides(pairs);
    if (st == DIT_OK) tell_left_out(pairs->run[SUITE_PAIRS_OLD].left_out);
    if (st == DIT_OK) find_differing_tags(pairs);
    for (int side = 0; st == DIT_OK && side < SUITE_PAIRS_SIDES; side++) st = make_note(pairs, rules, side);
    for (int side = 0; st == DIT_OK && side < SUITE_PAIRS_SIDES; side++) st = begin_side(pairs, side);
    if (st == DIT_OK) {
        pairs->seed = dit_rng_stream(rules->id);
        pairs->busy_limit = rules->busy_limit;
        pairs->max_time_s = rules->max_time_s;
        pairs->opened_ns = dit_clock_ns();
    }
    if (st != DIT_OK) {
        suite_pairs_close(pairs, NULL);
        pairs = NULL;
    }
    *out = pairs;
    return st;
}

int suite_pairs_case_count(const suite_pairs *pairs)
{
    return pairs->run[SUITE_PAIRS_OLD].schedule.case_count;
}

const suite_case *suite_pairs_case(const suite_pairs *pairs, int side, int index)
{
    return &pairs->run[side].schedule.cases[index];
}

const suite_session *suite_pairs_session(const suite_pairs *pairs, int side)
{
    return pairs->run[side].session;
}

/* Items with one index are one pair: both schedules were made with one seed from as many cases. */
static dit_status run_pair(suite_pairs *pairs, int index, int counted)
{
    const suite_run_item *item = &pairs->run[SUITE_PAIRS_OLD].schedule.items[index];
    bool old_first = suite_order_old_first(pairs->seed, (uint64_t)item->case_index, counted);
    int first = old_first ? SUITE_PAIRS_OLD : SUITE_PAIRS_NEW;
    for (int i = 0; i < SUITE_PAIRS_SIDES; i++) {
        suite_run_state *run = &pairs->run[(first + i) % SUITE_PAIRS_SIDES];
        if (suite_signals_poll(run->signals)) return DIT_OK;
        DIT_TRY(suite_run_one(run, index));
    }
    return DIT_OK;
}

static bool is_busy(const suite_pairs *pairs, int index)
{
    bool busy = false;
    for (int side = 0; side < SUITE_PAIRS_SIDES; side++)
        busy |= pairs->run[side].other_share[index] > pairs->busy_limit;
    return busy;
}

dit_status suite_pairs_run(suite_pairs *pairs, int process, const bool *wanted, suite_pairs_count *counts)
{
    const suite_run_state *old = &pairs->run[SUITE_PAIRS_OLD];
    for (int i = 0; i < old->schedule.item_count; i++) {
        const suite_run_item *item = &old->schedule.items[i];
        suite_pairs_count *count = &counts[item->case_index];
        if (item->process != process || !wanted[item->case_index]) continue;
        if (suite_signals_poll(old->signals) || suite_pairs_is_over(pairs)) return DIT_OK;
        DIT_TRY(run_pair(pairs, i, count->counted));
        if (suite_signals_poll(old->signals)) return DIT_OK;
        is_busy(pairs, i) ? count->busy++ : count->counted++;
    }
    return DIT_OK;
}

bool suite_pairs_is_over(const suite_pairs *pairs)
{
    return pairs->max_time_s > 0 && (double)(dit_clock_ns() - pairs->opened_ns) * 1e-9 > pairs->max_time_s;
}

dit_status suite_pairs_close(suite_pairs *pairs, const char *reason)
{
    dit_status st = DIT_OK;
    if (!pairs) return st;
    for (int side = 0; side < SUITE_PAIRS_SIDES; side++) {
        suite_run_state *run = &pairs->run[side];
        if (reason && pairs->open[side]) {
            suite_progress_end(&run->progress);
            dit_status written = suite_run_write_end(run, strcmp(reason, "decided") == 0, reason);
            if (st == DIT_OK) st = written;
        }
        if (pairs->open[side]) suite_run_release(run);
        cJSON_Delete(pairs->ab[side]);
    }
    free(pairs);
    return st;
}
