/* Ratios, their verdicts and Holm's rule, against closed forms and printed tables; looks, and the order within pairs. */
#include "suite/compare/distribution.h"
#include "suite/compare/looks.h"
#include "suite/compare/ratio.h"
#include "suite/console/forest_line.h"
#include "suite/run/order.h"

#include "base/tests/test.h"

static void student_is_cauchy_with_one_degree_and_algebraic_with_two(void **state)
{
    (void)state;
    for (double t = -40; t <= 40; t += 0.37) {
        assert_near(suite_student_below(t, 1), 0.5 + atan(t) / M_PI, 1e-12);
        assert_near(suite_student_below(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-12);
        assert_near(suite_student_below(t, 1e6), suite_normal_below(t), 1e-6);
    }
}

static void student_quantiles_are_those_of_the_printed_table(void **state)
{
    (void)state;
    static const struct {
        double p, freedom, t;
    } rows[] = {{0.975, 1, 12.7062}, {0.975, 5, 2.5706}, {0.975, 6, 2.4469}, {0.975, 9, 2.2622},
                {0.995, 6, 3.7074},  {0.95, 14, 1.7613}, {0.9, 4, 1.5332},   {0.5, 7, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_near(suite_student_quantile(rows[i].p, rows[i].freedom), rows[i].t, 6e-5);
        assert_near(suite_student_quantile(1 - rows[i].p, rows[i].freedom), -rows[i].t, 6e-5);
    }
}

static void binomial_sums_its_terms(void **state)
{
    (void)state;
    static const double ps[] = {0, 0.01, 0.1, 0.5, 0.93, 1};
    for (int n = 1; n <= 40; n += 3)
        for (size_t i = 0; i < sizeof ps / sizeof *ps; i++) {
            double sum = 0;
            for (int k = 0; k <= n; k++) {
                double ways = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1));
                sum += ways * pow(ps[i], k) * pow(1 - ps[i], n - k);
                assert_near(suite_binomial_at_most(k, n, ps[i]), sum, 1e-11);
            }
        }
}

static void pairs_give_the_interval_that_is_worked_by_hand(void **state)
{
    (void)state;
    /* logs of the ratios: 0.01, 0.03, 0.05, 0.07, 0.09, 0.05, 0.05; mean 0.05, variance 0.004 / 6 */
    static const double log_ratio[] = {0.01, 0.03, 0.05, 0.07, 0.09, 0.05, 0.05};
    double old[7], new_[7];
    for (int i = 0; i < 7; i++) old[i] = 1 + i, new_[i] = old[i] * exp(log_ratio[i]);
    suite_ratio r = suite_ratio_of_pairs(old, new_, 7, 0.95);
    double reach = 2.446911851 * sqrt(0.004 / 6 / 7);
    assert_close(r.ratio, exp(0.05), 1e-12);
    assert_close(r.low, exp(0.05 - reach), 1e-8);
    assert_close(r.high, exp(0.05 + reach), 1e-8);
    assert_int_equal(r.n, 7);
}

static void a_shift_that_both_of_a_pair_share_leaves_no_trace(void **state)
{
    (void)state;
    double old[8], new_[8];
    for (int i = 0; i < 8; i++) old[i] = 1 + i, new_[i] = old[i] * 1.1; /* a drift of a factor of eight */
    suite_ratio r = suite_ratio_of_pairs(old, new_, 8, 0.95);
    assert_close(r.low, 1.1, 1e-9);
    assert_close(r.high, 1.1, 1e-9);
    suite_ratio loose = suite_ratio_of_samples(old, 8, new_, 8, 0.95);
    assert_true(loose.low < 0.6 && loose.high > 1.8);
}

static void welch_is_student_for_equal_spreads(void **state)
{
    (void)state;
    double old[6], new_[6];
    for (int i = 0; i < 6; i++) old[i] = exp(0.01 * i), new_[i] = exp(0.01 * i + 0.2);
    suite_ratio r = suite_ratio_of_samples(old, 6, new_, 6, 0.95);
    assert_close(r.freedom, 10, 1e-9);
    double error = sqrt(2 * 0.00035 / 6); /* variance of 0, .01 .. .05 */
    assert_close(r.error, error, 1e-9);
    assert_close(r.low, exp(0.2 - 2.228138852 * error), 1e-8);
}

static suite_verdict judge(double shift, double spread, int n, double margin)
{
    double old[32], new_[32];
    for (int i = 0; i < n; i++) old[i] = 1, new_[i] = exp(shift + spread * (i % 2 ? 1 : -1));
    suite_ratio r = suite_ratio_of_pairs(old, new_, n, 0.95);
    suite_evidence e = suite_ratio_evidence(&r, margin);
    suite_verdict verdict = suite_verdict_of(&e, 0.95, true);
    /* The tests say what the interval says: it must clear the margin, and half of its own reach. */
    double limit = 1 + margin, clear = fmax(limit, sqrt(r.high / r.ratio));
    if (n >= SUITE_RATIO_LEAST) {
        assert_int_equal(verdict == SUITE_VERDICT_WORSE, r.low >= clear);
        assert_int_equal(verdict == SUITE_VERDICT_BETTER, r.high <= 1 / clear);
        assert_int_equal(verdict == SUITE_VERDICT_SAME, r.low >= 1 / limit && r.high <= limit);
    }
    return verdict;
}

static void there_are_four_verdicts_and_the_margin_decides_between_them(void **state)
{
    (void)state;
    assert_int_equal(judge(0.05, 0.01, 8, 0.02), SUITE_VERDICT_WORSE);
    assert_int_equal(judge(-0.05, 0.01, 8, 0.02), SUITE_VERDICT_BETTER);
    assert_int_equal(judge(0.005, 0.005, 8, 0.02), SUITE_VERDICT_SAME);
    assert_int_equal(judge(0.02, 0.01, 8, 0.02), SUITE_VERDICT_UNDECIDED);
    assert_int_equal(judge(0.05, 0.2, 8, 0.02), SUITE_VERDICT_UNDECIDED);
    assert_int_equal(judge(0.05, 0, 8, 0.02), SUITE_VERDICT_WORSE);
    assert_int_equal(judge(0, 0, 8, 0.02), SUITE_VERDICT_SAME);
    assert_int_equal(judge(0.5, 0, 5, 0.02), SUITE_VERDICT_UNDECIDED); /* too few */
    for (double shift = -0.1; shift < 0.1; shift += 0.0031)
        for (double spread = 0; spread < 0.05; spread += 0.007) judge(shift, spread, 9, 0.02);
}

/* Of a wide interval, clearing the margin is not enough: 1.5 times its reach is. */
static void much_noise_asks_for_more_than_the_margin(void **state)
{
    (void)state;
    const double spread = 0.1, reach = spread * sqrt(8.0 / 7 / 8) * suite_student_quantile(0.975, 7);
    assert_true(reach / 2 > log(1.02));
    assert_int_equal(judge(reach + 0.021, spread, 8, 0.02), SUITE_VERDICT_UNDECIDED);
    assert_int_equal(judge(1.49 * reach, spread, 8, 0.02), SUITE_VERDICT_UNDECIDED);
    assert_int_equal(judge(1.51 * reach, spread, 8, 0.02), SUITE_VERDICT_WORSE);
    assert_int_equal(judge(-1.51 * reach, spread, 8, 0.02), SUITE_VERDICT_BETTER);
}

static void looks_lie_further_and_further_apart(void **state)
{
    (void)state;
    int seen = 0;
    static const int after[] = {7, 11, 16, 24, 36};
    for (int pairs = 1; pairs <= SUITE_LOOKS_MOST; pairs++)
        if (suite_looks_after(SUITE_LOOKS_FIRST, SUITE_LOOKS_MOST, pairs)) assert_int_equal(pairs, after[seen++]);
    assert_int_equal(seen, 5);
    for (int first = 6; first < 40; first++)
        for (int most = first; most < 120; most++) {
            int count = 0;
            for (int pairs = 1; pairs <= most; pairs++) count += suite_looks_after(first, most, pairs);
            assert_int_equal(count, suite_looks_count(first, most));
            assert_true(suite_looks_after(first, most, first) && suite_looks_after(first, most, most));
        }
    assert_near(suite_looks_level(0.95, 5), 0.99, 1e-12);
}

/* Busy pairs end a case where they stay three times as many as those that count, and more. */
static void a_machine_that_stays_busy_is_given_up(void **state)
{
    (void)state;
    assert_int_equal(suite_looks_spare(7, 36, 0), 21);
    assert_int_equal(suite_looks_spare(7, 36, 6), 45);
    assert_int_equal(suite_looks_spare(7, 36, 35), SUITE_LOOKS_SPARES * 36);
}

static void either_side_is_first_in_half_of_each_block(void **state)
{
    (void)state;
    int patterns[1 << SUITE_ORDER_BLOCK] = {0}, kinds = 0;
    for (uint64_t stream = 0; stream < 7000; stream++) {
        int bits = 0, old_first = 0;
        for (int i = 0; i < SUITE_ORDER_BLOCK; i++) {
            bool first = suite_order_old_first(3, stream, 2 * SUITE_ORDER_BLOCK + i);
            assert_int_equal(first, suite_order_old_first(3, stream, 2 * SUITE_ORDER_BLOCK + i));
            bits |= first << i, old_first += first;
        }
        assert_int_equal(old_first, SUITE_ORDER_BLOCK / 2);
        patterns[bits]++;
    }
    /* each of the 70 patterns as often as any other: 100 times, five standard deviations to either side */
    for (int i = 0; i < 1 << SUITE_ORDER_BLOCK; i++) {
        kinds += patterns[i] > 0;
        if (patterns[i]) assert_near(patterns[i], 100, 50);
    }
    assert_int_equal(kinds, 70);
}

static void an_interval_is_drawn_with_margin_and_arrows(void **state)
{
    (void)state;
    char line[SUITE_FOREST_BYTES];
    const double reach = log(1.3);
    suite_forest_row r = {.ratio = exp(reach / 3), .low = exp(reach / 5), .high = exp(reach / 2)};
    suite_forest_line(&r, expm1(reach / 15), reach, line); /* 15 characters to either side; the margin is one of them */
    assert_string_equal(line, "              ┊│┊ ──●───       ");
    r.low = exp(-2 * reach), r.high = exp(2 * reach);
    suite_forest_line(&r, expm1(reach / 15), reach, line);
    assert_string_equal(line, "◀───────────────────●─────────▶");
    r.low = r.high = NAN;
    suite_forest_line(&r, expm1(reach / 15), reach, line);
    assert_string_equal(line, "              ┊│┊   ●          ");
    r.ratio = NAN;
    suite_forest_line(&r, 0.02, reach, line);
    assert_string_equal(line, "");
    assert_near(suite_forest_reach(&r, 0.02), 0, 0);
    r = (suite_forest_row){.ratio = 1, .low = 0.99, .high = 1.2};
    assert_near(suite_forest_reach(&r, 0.02), log(1.2), 1e-12);
    assert_near(suite_forest_reach(&r, 0.5), 1.5 * log(1.5), 1e-12);
}

static void more_of_a_rate_is_better(void **state)
{
    (void)state;
    suite_evidence greater = {0.001, 1, 1};
    assert_int_equal(suite_verdict_of(&greater, 0.95, false), SUITE_VERDICT_BETTER);
    assert_int_equal(suite_verdict_of(&greater, 0.95, true), SUITE_VERDICT_WORSE);
    assert_string_equal(suite_verdict_name(SUITE_VERDICT_WORSE, true), "slower");
    assert_string_equal(suite_verdict_name(SUITE_VERDICT_WORSE, false), "worse");
}

static void holm_multiplies_by_what_is_left_and_keeps_the_order(void **state)
{
    (void)state;
    double p[] = {0.04, 0.01, 0.03, 0.005, 0.9};
    assert_ok(suite_holm_adjust(p, 5));
    static const double want[] = {0.09, 0.04, 0.09, 0.025, 0.9};
    for (int i = 0; i < 5; i++) assert_near(p[i], want[i], 1e-15);
    assert_ok(suite_holm_adjust(NULL, 0));
    double one = 0.02;
    assert_ok(suite_holm_adjust(&one, 1));
    assert_near(one, 0.02, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student_is_cauchy_with_one_degree_and_algebraic_with_two),
        cmocka_unit_test(student_quantiles_are_those_of_the_printed_table),
        cmocka_unit_test(binomial_sums_its_terms),
        cmocka_unit_test(pairs_give_the_interval_that_is_worked_by_hand),
        cmocka_unit_test(a_shift_that_both_of_a_pair_share_leaves_no_trace),
        cmocka_unit_test(welch_is_student_for_equal_spreads),
        cmocka_unit_test(there_are_four_verdicts_and_the_margin_decides_between_them),
        cmocka_unit_test(much_noise_asks_for_more_than_the_margin),
        cmocka_unit_test(looks_lie_further_and_further_apart),
        cmocka_unit_test(a_machine_that_stays_busy_is_given_up),
        cmocka_unit_test(either_side_is_first_in_half_of_each_block),
        cmocka_unit_test(an_interval_is_drawn_with_margin_and_arrows),
        cmocka_unit_test(more_of_a_rate_is_better),
        cmocka_unit_test(holm_multiplies_by_what_is_left_and_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
