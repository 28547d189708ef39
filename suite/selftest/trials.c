#include "suite/selftest/trials.h"

#include "suite/compare/comparison.h"
#include "suite/compare/looks.h"
#include "suite/compare/series.h"
#include "suite/machine/contention.h"
#include "suite/run/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROCESSES = (1 + SUITE_LOOKS_SPARES) * SUITE_LOOKS_MOST + 1, SERIES = 60 };
static const double neighbours_use = 0.5; /* of the cores, while they are here */
static const double least_shift = 0.02, chance_of_change = 0.05;

/* ---- two sides --------------------------------------------------------------------------------------------------- */

/* A side that was never run: what suite_side_load_session would make of its journal. Must not be moved. */
typedef struct {
    suite_side side;
    suite_side_case cases[SUITE_TRIAL_CASES];
    int64_t processes[MOST_PROCESSES];
    double values[SUITE_TRIAL_CASES][MOST_PROCESSES], other_shares[SUITE_TRIAL_CASES][MOST_PROCESSES];
} made_side;

static void make_side(made_side *made, const suite_trial_sides *sides, const char *name)
{
    *made = (made_side){.side.looks = 1};
    snprintf(made->side.name, sizeof made->side.name, "%s", name);
    if (sides->order == SUITE_TRIAL_PAIRS) {
        snprintf(made->side.pairing, sizeof made->side.pairing, "trial");
        made->side.looks = suite_looks_count(SUITE_LOOKS_FIRST, sides->most);
    }
    made->side.cases = made->cases;
    made->side.case_count = sides->cases;
    for (int i = 0; i < MOST_PROCESSES; i++) made->processes[i] = i;
    for (int i = 0; i < sides->cases; i++) {
        suite_side_case *one = &made->cases[i];
        *one = (suite_side_case){.status = DIT_OUTCOME_OK, .processes = made->processes};
        snprintf(one->case_id, sizeof one->case_id, "%032d", i);
        one->values[REPORT_LATENCY] = made->values[i];
        one->other_shares = made->other_shares[i];
    }
}

typedef struct {
    const suite_noise *noise;
    const suite_trial_sides *sides; /* without zeros */
    suite_draws *draws;
    suite_noise own; /* with outliers or without; neighbours that stay as long as these sides say */
    suite_neighbours neighbours;
    made_side old, now;
    suite_comparison comparison;
} trial;

/* One more process of a case. `when` runs from 0 to 1 while the machine drifts by all of noise.drift. */
static void add_process(trial *t, made_side *side, int index, double when)
{
    suite_side_case *one = &side->cases[index];
    const int place = one->process_count++;
    double level = side == &t->now ? 1 + t->sides->change : 1, here = 0;
    if (t->sides->drifts) level *= 1 + t->noise->drift * when;
    side->values[index][place] = t->sides->stay > 0
                                     ? suite_noise_process_beside(&t->own, &t->neighbours, t->draws, level, &here)
                                     : suite_noise_process(&t->own, t->draws, level);
    side->other_shares[index][place] = t->sides->seen ? neighbours_use * here : NAN;
}

/* The drift of pairs is that of all processes up to the first look, and goes on at that pace. `counted` pairs before it
 * count. Returns whether it counts, too. */
static bool add_pair(trial *t, int index, int counted)
{
    const int pair = t->old.cases[index].process_count;
    const double place = 2 * pair, last = 2 * SUITE_LOOKS_FIRST - 1;
    bool old_first =
        suite_order_old_first(t->draws->seed, t->draws->stream * SUITE_TRIAL_CASES + (uint64_t)index, counted);
    add_process(t, old_first ? &t->old : &t->now, index, place / last);
    add_process(t, old_first ? &t->now : &t->old, index, (place + 1) / last);
    return !(fmax(t->old.other_shares[index][pair], t->now.other_shares[index][pair]) > SUITE_CONTENTION_LIMIT);
}

static dit_status compare(trial *t)
{
    const suite_comparison_params params = {.margin = t->sides->margin};
    suite_comparison_release(&t->comparison);
    return suite_comparison_make(&t->old.side, &t->now.side, &params, &t->comparison);
}

/* As verb_ab.c does it: cases without a verdict get more pairs until the next look, and a pair that does not count is
 * run again. Timings stand in the order of cases. */
static dit_status run_pairs(trial *t)
{
    int counted[SUITE_TRIAL_CASES] = {0}, busy[SUITE_TRIAL_CASES] = {0};
    bool wanted[SUITE_TRIAL_CASES], due[SUITE_TRIAL_CASES];
    memset(wanted, 1, sizeof wanted);
    for (int left = t->sides->cases; left;) {
        int looked = 0;
        for (int i = 0; i < t->sides->cases; i++) {
            bool counts = wanted[i] && add_pair(t, i, counted[i]);
            if (wanted[i]) counts ? counted[i]++ : busy[i]++;
            due[i] = counts && suite_looks_after(SUITE_LOOKS_FIRST, t->sides->most, counted[i]);
            looked += due[i];
        }
        if (looked) DIT_TRY(compare(t));
        left = 0;
        for (int i = 0; i < t->sides->cases; i++) {
            const suite_timing *timing = &t->comparison.timings[i];
            bool over = counted[i] >= t->sides->most ||
                        busy[i] > suite_looks_spare(SUITE_LOOKS_FIRST, t->sides->most, counted[i]);
            bool open = !due[i] || (timing->verdict == SUITE_VERDICT_UNDECIDED && !suite_timing_is_precise(timing));
            wanted[i] = wanted[i] && open && !over;
            left += wanted[i];
        }
    }
    return compare(t);
}

static dit_status run_apart(trial *t)
{
    bool in_turn = t->sides->order == SUITE_TRIAL_IN_TURN;
    int n = in_turn ? SUITE_LOOKS_FIRST : SUITE_TRIAL_PROCESSES;
    const double last = 2 * SUITE_LOOKS_FIRST - 1;
    for (int i = 0; i < t->sides->cases; i++) {
        for (int k = 0; k < n; k++) add_process(t, &t->old, i, in_turn ? k / last : 0);
        for (int k = 0; k < n; k++) add_process(t, &t->now, i, in_turn ? (n + k) / last : 1);
    }
    return compare(t);
}

dit_status suite_trial_compare(const suite_noise *noise, const suite_trial_sides *sides, suite_draws *draws,
                               suite_trial_said *out)
{
    suite_trial_sides full = *sides;
    trial *t = calloc(1, sizeof *t);
    *out = (suite_trial_said){0};
    if (!t) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a trial");
    if (!full.most) full.most = SUITE_LOOKS_MOST;
    if (!full.cases) full.cases = 1;
    t->noise = noise, t->sides = &full, t->draws = draws, t->own = *noise;
    if (!full.spoilt) t->own.outliers = 0;
    t->own.neighbour_stay *= full.stay;
    t->own.rhythm = full.rhythm;
    make_side(&t->old, &full, "old");
    make_side(&t->now, &full, "new");
    dit_status st = full.order == SUITE_TRIAL_PAIRS ? run_pairs(t) : run_apart(t);
    for (int i = 0; st == DIT_OK && i < full.cases; i++) {
        out->verdicts[t->comparison.timings[i].verdict]++;
        const suite_ratio *ratio = &t->comparison.timings[i].ratio;
        out->apart |= ratio->low > 1 || ratio->high < 1;
        out->pairs += (double)t->old.cases[i].process_count / full.cases;
    }
    suite_comparison_release(&t->comparison);
    free(t);
    return st;
}

/* ---- nights ------------------------------------------------------------------------------------------------------ */

/* The values that later ones are held against: the newest SUITE_SERIES_LOOK_BACK. */
typedef struct {
    double values[SUITE_SERIES_LOOK_BACK];
    int count;
} night_history;

static void remember(night_history *history, double value)
{
    if (history->count == SUITE_SERIES_LOOK_BACK)
        memmove(history->values, history->values + 1, (size_t)--history->count * sizeof *history->values);
    history->values[history->count++] = value;
}

int suite_trial_nights(const suite_noise *noise, double shift, bool confirm, suite_draws *draws, int *first)
{
    night_history history = {.count = 0};
    int alarms = 0;
    *first = 0;
    for (int night = 0; night < SUITE_NIGHTS_BEFORE + SUITE_NIGHTS; night++) {
        const double level = night < SUITE_NIGHTS_BEFORE ? 1 : 1 + shift;
        const double value = suite_noise_process(noise, draws, level);
        int side = suite_series_sticks_out(history.values, history.count, value, least_shift);
        if (!side) {
            remember(&history, value);
            continue;
        }
        if (confirm) {
            const double again = suite_noise_process(noise, draws, level);
            if (suite_series_sticks_out(history.values, history.count, again, least_shift) != side) continue;
        }
        if (night < SUITE_NIGHTS_BEFORE) continue;
        alarms++;
        if (!*first) *first = night - SUITE_NIGHTS_BEFORE + 1;
    }
    return alarms;
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

dit_status suite_trial_series(const suite_noise *noise, double shift, suite_draws *draws, int *found, bool *near)
{
    double values[SERIES];
    suite_change *changes = NULL;
    for (int i = 0; i < SERIES; i++) values[i] = suite_noise_process(noise, draws, i < SERIES / 2 ? 1 : 1 + shift);
    *near = false;
    DIT_TRY(suite_series_changes(values, SERIES, least_shift, chance_of_change, draws->stream, &changes, found));
    for (int i = 0; i < *found; i++) *near |= abs(changes[i].place - SERIES / 2) <= SUITE_CHANGE_NEAR;
    free(changes);
    return DIT_OK;
}
