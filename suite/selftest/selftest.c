#include "suite/selftest/selftest.h"

#include "suite/compare/distribution.h"
#include "suite/compare/looks.h"

const suite_noise suite_selftest_noise = {.between = 0.01,
                                          .within = 0.005,
                                          .iterations = 10,
                                          .outliers = 0.05,
                                          .outlier_size = 0.05,
                                          .drift = 0.03,
                                          .neighbours = 0.5,
                                          .neighbour_size = 0.3,
                                          .neighbour_stay = 3};

static const double by_chance = 0.001, level = 0.95;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef enum { KIND_SIDES, KIND_NIGHTS, KIND_SHIFTED_NIGHTS, KIND_SERIES } row_kind;
enum { SLOWER = 1 << SUITE_VERDICT_WORSE, FASTER = 1 << SUITE_VERDICT_BETTER, SAME = 1 << SUITE_VERDICT_SAME };

typedef struct {
    const char *name, *counted, *meaning;
    row_kind kind;
    suite_trial_sides sides;  /* of sides                                       */
    int verdicts;             /* of sides: bits of those that are counted; 0: intervals without 1 */
    double shift;             /* of nights and series                           */
    bool confirm;             /* of nights                                      */
    double at_most, at_least; /* the target; 0: none                            */
} row_plan;

#define PAIRS(...)                                                                                                     \
    KIND_SIDES,                                                                                                        \
    {                                                                                                                  \
        .order = SUITE_TRIAL_PAIRS, __VA_ARGS__                                                                        \
    }
#define SESSIONS(...)                                                                                                  \
    KIND_SIDES,                                                                                                        \
    {                                                                                                                  \
        .order = SUITE_TRIAL_SESSIONS, __VA_ARGS__                                                                     \
    }

static const row_plan plans[] = {
    {"same build", "slower or faster", "a build against itself, pairs, looks after 7, 11, 16, 24 and 36",
     PAIRS(.change = 0), .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"+5 %, 7 pairs", "slower", "new is 5 % slower, one look after 7 pairs",
     PAIRS(.change = 0.05, .most = SUITE_LOOKS_FIRST), .verdicts = SLOWER, .at_least = 0.99},
    {"+5 %", "slower", "new is 5 % slower, looks after 7, 11, 16, 24 and 36 pairs", PAIRS(.change = 0.05),
     .verdicts = SLOWER, .at_least = 0.99},
    {"at the margin", "slower or same", "new is 2 % slower, exactly the margin: no answer is right",
     PAIRS(.change = 0.02), .verdicts = SLOWER | SAME, .at_most = 0.05},
    {"drift, pairs", "slower or faster", "a build against itself while the machine drifts, pairs",
     PAIRS(.drifts = true), .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"drift, in turn",
     "interval without 0",
     "what one would say without pairs and margin: all old, then all new",
     KIND_SIDES,
     {.order = SUITE_TRIAL_IN_TURN, .drifts = true},
     .verdicts = 0},
    {"drift, sessions", "slower or faster", "a build against itself, two sessions, the drift between them",
     SESSIONS(.drifts = true), .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"outliers", "slower or faster", "a build against itself, some processes disturbed, pairs", PAIRS(.spoilt = true),
     .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"outliers, +5 %", "slower", "new is 5 % slower, some processes disturbed, pairs",
     PAIRS(.change = 0.05, .spoilt = true), .verdicts = SLOWER},
    {"neighbours", "slower or faster", "a build against itself, neighbours come and go, pairs beside them do not count",
     PAIRS(.stay = 1, .seen = true), .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"neighbours, +5 %", "slower", "new is 5 % slower, neighbours come and go, pairs beside them do not count",
     PAIRS(.change = 0.05, .stay = 1, .seen = true), .verdicts = SLOWER, .at_least = 0.95},
    {"neighbours unseen", "slower or faster", "a build against itself, neighbours come and go, every pair counts",
     PAIRS(.stay = 1), .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"rhythm", "slower or faster", "the same, neighbours come with every second process, in a rhythm",
     PAIRS(.stay = 1.0 / 3, .rhythm = true), .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"rhythm of pairs", "slower or faster", "the same, neighbours come with every second pair, in a rhythm",
     PAIRS(.stay = 2.0 / 3, .rhythm = true), .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"long neighbours", "slower or faster", "the same, neighbours stay for twelve processes", PAIRS(.stay = 4),
     .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"20 cases", "any slower", "20 cases at the margin, judged together after 7 pairs (Holm)",
     PAIRS(.change = 0.02, .cases = SUITE_TRIAL_CASES, .most = SUITE_LOOKS_FIRST), .verdicts = SLOWER,
     .at_most = 0.025},
    {"sessions", "slower or faster", "a build against itself, two sessions of 10 processes", SESSIONS(.change = 0),
     .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"sessions, neighbours", "slower or faster",
     "a build against itself, two sessions, neighbours come and go, processes beside them do not count",
     SESSIONS(.stay = 1, .seen = true), .verdicts = SLOWER | FASTER, .at_most = 0.01},
    {"sessions, +10 %", "slower", "new is 10 % slower, two sessions of 10 processes", SESSIONS(.change = 0.1),
     .verdicts = SLOWER, .at_least = 0.99},
    {"nights, no rerun", "alarms in 20 nights", "clean nights, some disturbed, an alarm at once", KIND_NIGHTS,
     .confirm = false},
    {"nights", "alarms in 20 nights", "clean nights, some disturbed, an alarm after a rerun", KIND_NIGHTS,
     .confirm = true, .at_most = 0.05},
    {"nights, +5 %", "found in 3 nights", "a shift of 5 % that stays, an alarm after a rerun", KIND_SHIFTED_NIGHTS,
     .shift = 0.05, .confirm = true, .at_least = 0.95},
    {"series", "any change", "60 values of one level, some disturbed", KIND_SERIES, .at_most = 0.05},
    {"series, +5 %", "within 2 of it", "60 values, a shift of 5 % in the middle, some disturbed", KIND_SERIES,
     .shift = 0.05, .at_least = 0.9},
};
enum { ROWS = sizeof plans / sizeof *plans };
_Static_assert((int)ROWS <= (int)SUITE_SELFTEST_MOST_ROWS, "room for all rows");

/* ---- one trial --------------------------------------------------------------------------------------------------- */

static dit_status try_sides(const row_plan *plan, const suite_noise *noise, suite_draws *draws, suite_selftest_row *row)
{
    suite_trial_said said;
    bool counted = false;
    DIT_TRY(suite_trial_compare(noise, &plan->sides, draws, &said));
    for (int v = 0; v < SUITE_VERDICT_COUNT; v++) {
        row->verdicts[v] += said.verdicts[v];
        counted |= said.verdicts[v] && plan->verdicts >> v & 1;
    }
    row->count += plan->verdicts ? counted : said.apart;
    row->effort += said.pairs;
    row->effort_unit = "pairs";
    return DIT_OK;
}

static void try_nights(const row_plan *plan, const suite_noise *noise, suite_draws *draws, suite_selftest_row *row)
{
    int first, alarms = suite_trial_nights(noise, plan->shift, plan->confirm, draws, &first);
    if (plan->kind == KIND_NIGHTS) {
        row->count += alarms;
        return;
    }
    row->count += first && first <= SUITE_NIGHTS_SOON;
    row->effort += first ? first : SUITE_NIGHTS;
    row->effort_unit = "nights";
}

static dit_status try_series(const row_plan *plan, const suite_noise *noise, suite_draws *draws,
                             suite_selftest_row *row)
{
    int found;
    bool near;
    DIT_TRY(suite_trial_series(noise, plan->shift, draws, &found, &near));
    row->count += plan->shift > 0 ? near : found > 0;
    return DIT_OK;
}

static dit_status try_once(const row_plan *plan, const suite_noise *noise, suite_draws *draws, suite_selftest_row *row)
{
    switch (plan->kind) {
    case KIND_SIDES: return try_sides(plan, noise, draws, row);
    case KIND_SERIES: return try_series(plan, noise, draws, row);
    case KIND_NIGHTS:
    case KIND_SHIFTED_NIGHTS: break;
    }
    try_nights(plan, noise, draws, row);
    return DIT_OK;
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

/* The probability at which `count` successes or fewer in n trials are as likely as `tail`: it falls as p grows. */
static double probability_with(int64_t count, int64_t n, double tail)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (suite_binomial_at_most((int)count, (int)n, middle) > tail)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* The rate with the interval of Clopper and Pearson. */
static void fill_rate(suite_selftest_row *row)
{
    const double tail = (1 - level) / 2;
    row->rate = row->per * (double)row->count / (double)row->chances;
    row->low = row->count ? row->per * probability_with(row->count - 1, row->chances, 1 - tail) : 0;
    row->high = row->count < row->chances ? row->per * probability_with(row->count, row->chances, tail) : row->per;
}

static void judge(const row_plan *plan, suite_selftest_row *row)
{
    int count = (int)row->count, chances = (int)row->chances;
    row->at_least = plan->at_least > 0;
    row->has_target = row->at_least || plan->at_most > 0;
    row->target = row->at_least ? plan->at_least : plan->at_most;
    if (!row->has_target) return;
    double truth = row->target / row->per;
    double likely = row->at_least ? suite_binomial_at_most(count, chances, truth)
                                  : 1 - suite_binomial_at_most(count - 1, chances, truth);
    row->missed = likely < by_chance;
}

static dit_status run_row(const suite_selftest_params *params, int index, suite_selftest_row *row)
{
    const row_plan *plan = &plans[index];
    *row = (suite_selftest_row){.name = plan->name, .counted = plan->counted, .meaning = plan->meaning, .per = 1};
    if (plan->kind == KIND_NIGHTS) row->per = SUITE_NIGHTS;
    row->chances = (int64_t)params->trials * (int64_t)row->per;
    for (int trial = 0; trial < params->trials; trial++) {
        suite_draws draws = {.seed = params->seed, .stream = (uint64_t)index << 32 | (uint64_t)trial};
        DIT_TRY(try_once(plan, &params->noise, &draws, row));
    }
    row->effort /= params->trials;
    fill_rate(row);
    judge(plan, row);
    return DIT_OK;
}

dit_status suite_selftest_run(const suite_selftest_params *params, suite_selftest_row rows[SUITE_SELFTEST_MOST_ROWS],
                              int *count)
{
    *count = ROWS;
    for (int i = 0; i < ROWS; i++) DIT_TRY(run_row(params, i, &rows[i]));
    return DIT_OK;
}
