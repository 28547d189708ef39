/* Self-test: the table of rates against closed forms and a second implementation that shares no code with the rules.
 *
 * The second implementation says the rules by intervals where suite/compare says them by probabilities, has its own
 * random numbers, medians and quantiles, and its own integrals of Student's distribution, central or not.
 */
#include "suite/selftest/selftest.h"

#include "base/tests/test.h"

#include <math.h>
#include <string.h>

enum { TRIALS = 1000, SECOND_TRIALS = 20000, GRID = 4000 };

/* Variance of the median of ten standard normal values (tables of order statistics). */
static const double median_of_ten = 0.13833;

/* ---- Student's distribution by integrals ------------------------------------------------------------------------- */

static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* P(Z + shift > t S), where S is the root of a chi-squared value over its k degrees of freedom: Simpson's rule over S.
 */
static double noncentral_above(double t, double k, double shift)
{
    const double scale = log(2) + k / 2 * log(k / 2) - lgamma(k / 2), top = 8, h = top / GRID;
    double sum = 0;
    for (int i = 1; i <= GRID; i++) {
        double s = i * h, density = exp(scale + (k - 1) * log(s) - k * s * s / 2);
        sum += (i == GRID ? 1 : i % 2 ? 4 : 2) * density * normal_below(shift - t * s);
    }
    return sum * h / 3;
}

static double student_quantile(double p, double k)
{
    double low = 0, high = 100;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (noncentral_above(middle, k, 0) > 1 - p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void the_integrals_agree_with_tables(void **state)
{
    (void)state;
    assert_near(student_quantile(0.975, 6), 2.446912, 1e-4);
    assert_near(student_quantile(0.975, 18), 2.100922, 1e-4);
    assert_near(student_quantile(0.99, 10), 2.763769, 1e-4);
}

/* ---- the second implementation ----------------------------------------------------------------------------------- */

static unsigned short second_state[3] = {11, 7, 1999};

/* Marsaglia's polar method. */
static double second_normal(void)
{
    double u, v, s;
    do {
        u = 2 * erand48(second_state) - 1;
        v = 2 * erand48(second_state) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return u * sqrt(-2 * log(s) / s);
}

/* The logarithm of a process: the medians of iterations are taken to be normal, which they nearly are. */
static double second_process(const suite_noise *noise, bool spoilt)
{
    double value = noise->between * second_normal() + noise->within * sqrt(median_of_ten) * second_normal();
    if (spoilt && erand48(second_state) < noise->outliers)
        value += log(1 - noise->outlier_size * log(1 - erand48(second_state)));
    return value;
}

typedef struct {
    double slower, faster, same, pairs;
} second_rates;

/* Neighbours as a list of times at which they come and go, from 0 on, in processes. */
enum { MOST_TURNS = 4000 };
typedef struct {
    double when[MOST_TURNS], slower[MOST_TURNS];
    int count;
} second_neighbours;

static void second_timeline(const suite_noise *noise, double stay, bool rhythm, second_neighbours *out)
{
    double now = 0;
    bool here = erand48(second_state) < noise->neighbours;
    for (out->count = 0; out->count < MOST_TURNS && now < 300; here = !here) {
        double mean = here ? stay : stay / noise->neighbours - stay;
        double size = noise->neighbour_size * (rhythm ? 1 : -log(1 - erand48(second_state)));
        now += mean * (rhythm ? 0.8 + 0.4 * erand48(second_state) : -log(1 - erand48(second_state)));
        out->when[out->count] = now, out->slower[out->count++] = here ? size : 0;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double second_median(const double *values, int n)
{
    double sorted[64];
    memcpy(sorted, values, (size_t)n * sizeof *values);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The logarithm of a process from `start` to start + 1, and how much of it neighbours were here. */
static double second_beside(const suite_noise *noise, const second_neighbours *all, double start, double *here)
{
    double own = noise->between * second_normal(), values[64] = {0};
    *here = 0;
    for (int i = 0; i < noise->iterations; i++) {
        double from = start + (double)i / noise->iterations, to = from + 1.0 / noise->iterations, sum = 0, began = 0;
        for (int k = 0; k < all->count; began = all->when[k++]) {
            double overlap = fmin(to, all->when[k]) - fmax(from, began);
            if (began >= to) break;
            if (overlap <= 0 || all->slower[k] <= 0) continue;
            sum += overlap * all->slower[k], *here += overlap;
        }
        values[i] = own + log1p(sum * noise->iterations) + noise->within * second_normal();
    }
    return second_median(values, noise->iterations);
}

typedef struct {
    double change, drift;
    bool spoilt, rhythm, seen;
    double stay; /* 0: no neighbours */
} second_world;

/* Logarithm of new / old of the next pair. Returns whether it counts. */
static bool second_pair(const suite_noise *noise, const second_world *world, const second_neighbours *all, int place,
                        bool old_first, double *out)
{
    double value[2], here[2] = {0};
    for (int i = 0; i < 2; i++) {
        value[i] =
            world->stay > 0 ? second_beside(noise, all, 2 * place + i, &here[i]) : second_process(noise, world->spoilt);
        value[i] += log1p(world->drift * (2 * place + i) / 13);
    }
    *out = log1p(world->change) + (old_first ? value[1] - value[0] : value[0] - value[1]);
    return !world->seen || (here[0] <= 0.2 && here[1] <= 0.2);
}

/* Pairs with looks after 7, 11, 16, 24 and 36, each with its fifth of 5 %, by intervals. Either side is first in half of
 * each eight pairs that count. */
static second_rates second_pairs(const suite_noise *noise, const second_world *world, int trials)
{
    static const int looks[] = {7, 11, 16, 24, 36};
    static second_neighbours all;
    const double margin = log(1.02);
    double t[5];
    for (int i = 0; i < 5; i++) t[i] = student_quantile(1 - 0.05 / 5 / 2, looks[i] - 1);
    second_rates rates = {0};
    for (int trial = 0; trial < trials; trial++) {
        double d[36] = {0};
        int n = 0, place = 0, olds = 0;
        bool done = false, old_first = false, again = false;
        if (world->stay > 0) second_timeline(noise, world->stay, world->rhythm, &all);
        for (int look = 0; look < 5 && !done; look++) {
            for (; n < looks[look] && place - n <= fmin(21 + 4 * n, 72); place++) {
                if (n % 8 == 0 && !again) olds = 4;
                if (!again) old_first = erand48(second_state) < olds / (8.0 - n % 8), olds -= old_first;
                again = !second_pair(noise, world, &all, place, old_first, &d[n]);
                n += !again;
            }
            double mean = 0, squares = 0;
            for (int i = 0; i < n; i++) mean += d[i] / n;
            for (int i = 0; i < n; i++) squares += (d[i] - mean) * (d[i] - mean);
            done = n < looks[look];
            double quantile = done && n > 5 ? student_quantile(1 - 0.05 / 5 / 2, n - 1) : t[look];
            double reach = quantile * sqrt(squares / (n - 1) / n), low = mean - reach, high = mean + reach;
            double beyond = fmax(margin, reach / 2);
            bool slower = low > beyond, faster = high<-beyond, same = low> - margin && high < margin;
            if (n < 6) slower = faster = same = false;
            rates.slower += slower, rates.faster += faster, rates.same += same;
            done |= slower || faster || same || 4 * reach < margin;
        }
        rates.pairs += place;
    }
    rates.slower /= trials, rates.faster /= trials, rates.same /= trials, rates.pairs /= trials;
    return rates;
}

/* All of one side, then all of the other, Welch's t without a margin. */
static double second_in_turn(const suite_noise *noise)
{
    int alarms = 0;
    for (int trial = 0; trial < SECOND_TRIALS / 10; trial++) {
        double mean[2] = {0}, variance[2] = {0}, v[14];
        for (int i = 0; i < 14; i++) v[i] = second_process(noise, false) + log1p(noise->drift * i / 13);
        for (int i = 0; i < 14; i++) mean[i / 7] += v[i] / 7;
        for (int i = 0; i < 14; i++) variance[i / 7] += (v[i] - mean[i / 7]) * (v[i] - mean[i / 7]) / 6 / 7;
        double sum = variance[0] + variance[1];
        double freedom = sum * sum / (variance[0] * variance[0] / 6 + variance[1] * variance[1] / 6);
        alarms += noncentral_above(fabs(mean[1] - mean[0]) / sqrt(sum), freedom, 0) < 0.025;
    }
    return alarms / (SECOND_TRIALS / 10.0);
}

/* Which side of the newest 30 values the new one lies on, beyond three robust deviations and beyond 2 %. */
static int second_side(const double *all, int count, double value)
{
    const int n = count < 30 ? count : 30;
    const double *newest = all + count - n;
    double away[30], middle;
    if (n < 6) return 0;
    middle = second_median(newest, n);
    for (int i = 0; i < n; i++) away[i] = fabs(newest[i] - middle);
    double distance = value - middle;
    if (fabs(distance) <= 3 * 1.4826 * second_median(away, n) || fabs(distance) <= 0.02 * middle) return 0;
    return distance > 0 ? 1 : -1;
}

typedef struct {
    double alarms, soon; /* in 20 nights; share found within three */
} second_night_rates;

static second_night_rates second_nights(const suite_noise *noise, double shift, bool confirm)
{
    second_night_rates rates = {0};
    for (int trial = 0; trial < SECOND_TRIALS / 4; trial++) {
        double kept[50];
        int count = 0, first = 99;
        for (int night = 0; night < 50; night++) {
            double level = night < 30 ? 0 : log1p(shift), value = exp(level + second_process(noise, true));
            int side = second_side(kept, count, value);
            if (side == 0) kept[count++] = value;
            bool alarm = side != 0;
            if (alarm && confirm) alarm = second_side(kept, count, exp(level + second_process(noise, true))) == side;
            if (!alarm || night < 30) continue;
            rates.alarms++;
            if (first == 99) first = night - 29;
        }
        rates.soon += first <= 3;
    }
    rates.alarms /= SECOND_TRIALS / 4.0, rates.soon /= SECOND_TRIALS / 4.0;
    return rates;
}

/* ---- the table against both -------------------------------------------------------------------------------------- */

static suite_selftest_row rows[SUITE_SELFTEST_MOST_ROWS];
static int row_count;

static int run_table(void **state)
{
    (void)state;
    const suite_selftest_params params = {.seed = 5, .trials = TRIALS, .noise = suite_selftest_noise};
    return suite_selftest_run(&params, rows, &row_count) == DIT_OK ? 0 : 1;
}

static const suite_selftest_row *row(const char *name)
{
    for (int i = 0; i < row_count; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    fail_msg("there is no row \"%s\"", name);
    return NULL;
}

/* Within five standard deviations of a count of TRIALS chances, or three counts where the rate is next to 0 or 1. */
static void agrees(const char *name, double truth)
{
    const suite_selftest_row *r = row(name);
    double p = truth / r->per, sd = r->per * sqrt(p * (1 - p) / (double)r->chances);
    assert_near(r->rate, truth, 5 * sd + 3 * r->per / (double)r->chances);
}

static double deviation_of_pair(void)
{
    const suite_noise *n = &suite_selftest_noise;
    return sqrt(2 * (n->between * n->between + median_of_ten * n->within * n->within));
}

static void one_look_finds_what_the_noncentral_t_says(void **state)
{
    (void)state;
    double shift = (log(1.05) - log(1.02)) / (deviation_of_pair() / sqrt(7));
    double truth = noncentral_above(student_quantile(0.975, 6), 6, shift);
    assert_true(truth >= 0.99);
    agrees("+5 %, 7 pairs", truth);
}

static void a_family_is_wrong_as_often_as_holm_allows(void **state)
{
    (void)state;
    agrees("20 cases", 1 - pow(1 - 0.025 / 20, 20));
}

static void sessions_find_what_the_noncentral_t_says(void **state)
{
    (void)state;
    double error = deviation_of_pair() / sqrt(10), t = student_quantile(0.975, 18);
    agrees("sessions, +10 %", noncentral_above(t, 18, (log(1.10) - log(1.05)) / error));
    agrees("sessions", 2 * noncentral_above(t, 18, -log(1.05) / error));
    agrees("drift, sessions", noncentral_above(t, 18, (log(1.03) - log(1.05)) / error));
}

static void looks_agree_with_the_second_implementation(void **state)
{
    (void)state;
    const suite_noise *noise = &suite_selftest_noise;
    const second_world worlds[] = {{0},
                                   {.change = 0.05},
                                   {.change = 0.02},
                                   {.drift = noise->drift},
                                   {.spoilt = true},
                                   {.change = 0.05, .spoilt = true}};
    second_rates rates[6];
    for (int i = 0; i < 6; i++) rates[i] = second_pairs(noise, &worlds[i], SECOND_TRIALS);
    agrees("same build", rates[0].slower + rates[0].faster);
    agrees("+5 %", rates[1].slower);
    agrees("at the margin", rates[2].slower + rates[2].same);
    agrees("drift, pairs", rates[3].slower + rates[3].faster);
    agrees("outliers", rates[4].slower + rates[4].faster);
    agrees("outliers, +5 %", rates[5].slower);
    assert_near(row("same build")->effort, rates[0].pairs, 0.6);
    assert_near(row("at the margin")->effort, rates[2].pairs, 0.6);
    assert_near(row("outliers, +5 %")->effort, rates[5].pairs, 0.6);
}

/* Neighbours who come and go make few verdicts false, also in a rhythm, and a change is found beside them. */
static void neighbours_agree_with_the_second_implementation(void **state)
{
    (void)state;
    const suite_noise *noise = &suite_selftest_noise;
    static const struct {
        const char *name;
        second_world world;
    } rows_of[] = {{"neighbours", {.stay = 3, .seen = true}},
                   {"neighbours unseen", {.stay = 3}},
                   {"rhythm", {.stay = 1, .rhythm = true}},
                   {"rhythm of pairs", {.stay = 2, .rhythm = true}},
                   {"long neighbours", {.stay = 12}}};
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) {
        second_rates rates = second_pairs(noise, &rows_of[i].world, SECOND_TRIALS / 10);
        agrees(rows_of[i].name, rates.slower + rates.faster);
        assert_near(row(rows_of[i].name)->effort, rates.pairs, 2.5);
        assert_near(row(rows_of[i].name)->target, 0.01, 0);
    }
    const second_world slower = {.change = 0.05, .stay = 3, .seen = true};
    second_rates rates = second_pairs(noise, &slower, SECOND_TRIALS / 10);
    agrees("neighbours, +5 %", rates.slower);
    assert_near(row("neighbours, +5 %")->target, 0.95, 0);
}

static void drift_fools_who_measures_in_turn(void **state)
{
    (void)state;
    agrees("drift, in turn", second_in_turn(&suite_selftest_noise));
    assert_true(row("drift, in turn")->rate > 0.5);
}

static void nights_agree_with_the_second_implementation(void **state)
{
    (void)state;
    const suite_noise *noise = &suite_selftest_noise;
    agrees("nights, no rerun", second_nights(noise, 0, false).alarms);
    agrees("nights", second_nights(noise, 0, true).alarms);
    agrees("nights, +5 %", second_nights(noise, 0.05, true).soon);
}

/* The level of a test by random orders is its `chance`, whatever the noise is. */
static void a_series_without_change_has_one_at_most_by_chance(void **state)
{
    (void)state;
    assert_true(row("series")->low <= 0.05);
    assert_true(row("series, +5 %")->rate > 0.9);
}

static void every_target_is_met(void **state)
{
    (void)state;
    for (int i = 0; i < row_count; i++)
        if (rows[i].missed) fail_msg("%s: %g, target %g", rows[i].name, rows[i].rate, rows[i].target);
    assert_near(row("same build")->target, 0.01, 0);
    assert_near(row("+5 %, 7 pairs")->target, 0.99, 0);
    assert_near(row("drift, pairs")->target, 0.01, 0);
    assert_near(row("nights")->target, 0.05, 0);
}

static void noise_without_bounds_misses_targets(void **state)
{
    (void)state;
    suite_selftest_row wild[SUITE_SELFTEST_MOST_ROWS];
    suite_selftest_params params = {.seed = 5, .trials = 60, .noise = suite_selftest_noise};
    int count, missed = 0;
    params.noise.between = 0.05;
    assert_ok(suite_selftest_run(&params, wild, &count));
    for (int i = 0; i < count; i++) missed += wild[i].missed;
    assert_true(missed >= 2); /* +5 % is not to be found in such noise */
    assert_true(wild[0].count == 0);
}

static void a_seed_repeats_and_another_does_not(void **state)
{
    (void)state;
    suite_selftest_row a[SUITE_SELFTEST_MOST_ROWS], b[SUITE_SELFTEST_MOST_ROWS], c[SUITE_SELFTEST_MOST_ROWS];
    suite_selftest_params params = {.seed = 5, .trials = 40, .noise = suite_selftest_noise};
    int count;
    bool differs = false;
    assert_ok(suite_selftest_run(&params, a, &count));
    assert_ok(suite_selftest_run(&params, b, &count));
    params.seed = 6;
    assert_ok(suite_selftest_run(&params, c, &count));
    for (int i = 0; i < count; i++) {
        assert_int_equal(a[i].count, b[i].count);
        assert_memory_equal(a[i].verdicts, b[i].verdicts, sizeof a[i].verdicts);
        differs |= a[i].count != c[i].count || a[i].effort != c[i].effort;
    }
    assert_true(differs);
}

/* With equal noise and no outliers the value of a process has the spread that the closed forms assume. */
static void processes_scatter_as_asked(void **state)
{
    (void)state;
    suite_noise noise = suite_selftest_noise;
    suite_draws draws = {.seed = 3};
    double sum = 0, squares = 0;
    noise.outliers = 0;
    for (int i = 0; i < SECOND_TRIALS; i++) {
        double value = log(suite_noise_process(&noise, &draws, 1));
        sum += value, squares += value * value;
    }
    double mean = sum / SECOND_TRIALS, sd = sqrt(squares / SECOND_TRIALS - mean * mean);
    assert_near(mean, 0, 5 * 0.0102 / sqrt(SECOND_TRIALS));
    assert_near(sd, deviation_of_pair() / sqrt(2), 5 * 0.0102 / sqrt(2.0 * SECOND_TRIALS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_integrals_agree_with_tables),
        cmocka_unit_test(processes_scatter_as_asked),
        cmocka_unit_test(one_look_finds_what_the_noncentral_t_says),
        cmocka_unit_test(a_family_is_wrong_as_often_as_holm_allows),
        cmocka_unit_test(sessions_find_what_the_noncentral_t_says),
        cmocka_unit_test(looks_agree_with_the_second_implementation),
        cmocka_unit_test(neighbours_agree_with_the_second_implementation),
        cmocka_unit_test(drift_fools_who_measures_in_turn),
        cmocka_unit_test(nights_agree_with_the_second_implementation),
        cmocka_unit_test(a_series_without_change_has_one_at_most_by_chance),
        cmocka_unit_test(every_target_is_met),
        cmocka_unit_test(noise_without_bounds_misses_targets),
        cmocka_unit_test(a_seed_repeats_and_another_does_not),
    };
    return cmocka_run_group_tests(tests, run_table, NULL);
}
