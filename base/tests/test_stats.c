#include "base/stats.h"

#include "base/tests/test.h"

static void ranks_and_coverage_are_the_binomial_ones(void **state)
{
    (void)state;
    static const struct {
        int n, low, high;
        double coverage;
    } rows[] = {{6, 1, 6, 1 - 2.0 / 64},   {7, 1, 7, 1 - 2.0 / 128},    {8, 1, 8, 1 - 2.0 / 256},
                {9, 2, 8, 1 - 20.0 / 512}, {10, 2, 9, 1 - 22.0 / 1024}, {20, 6, 15, 1 - 2 * 21700.0 / 1048576}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int low = 0, high = 0;
        double coverage = 0;
        assert_true(dit_stats_median_ranks(rows[i].n, 0.95, &low, &high, &coverage));
        assert_int_equal(low, rows[i].low);
        assert_int_equal(high, rows[i].high);
        assert_near(coverage, rows[i].coverage, 0);
    }
}

static void below_six_there_is_no_interval_at_95_percent(void **state)
{
    (void)state;
    int low, high;
    double coverage;
    for (int n = 0; n < 6; n++) assert_false(dit_stats_median_ranks(n, 0.95, &low, &high, &coverage));
    assert_true(dit_stats_median_ranks(5, 0.9, &low, &high, &coverage));
    assert_near(coverage, 1 - 2.0 / 32, 0);
}

static void large_samples_do_not_underflow(void **state)
{
    (void)state;
    int low, high;
    double coverage;
    assert_true(dit_stats_median_ranks(1000, 0.95, &low, &high, &coverage));
    assert_in_range(low, 468, 470); /* 500 - 1.96 sqrt(250) */
    assert_true(dit_stats_median_ranks(100000, 0.95, &low, &high, &coverage));
    assert_near(low, 50000 - 1.96 * sqrt(25000), 3);
    assert_near(coverage, 0.95, 0.002);
}

static void summary_of_ten_is_by_hand(void **state)
{
    (void)state;
    const double values[10] = {9, 1, 8, 2, 7, 3, 6, 4, 5, 100};
    dit_summary s = dit_stats_summarise(values, 10);
    assert_int_equal(s.n, 10);
    assert_false(s.low_n);
    assert_near(s.median, 5.5, 0);
    assert_near(s.low, 2, 0);
    assert_near(s.high, 9, 0);
    assert_near(s.min, 1, 0);
    assert_near(s.max, 100, 0);
    assert_near(s.mean, 14.5, 1e-12);
    assert_near(s.q1, 3.25, 1e-12);
    assert_near(s.q3, 7.75, 1e-12);
    assert_near(s.mad, 2.5, 1e-12);
    assert_near(values[0], 9, 0); /* the caller's samples keep their order */
}

static void few_samples_give_a_range_marked_low_n(void **state)
{
    (void)state;
    const double values[5] = {3, 1, 2, 5, 4};
    dit_summary s = dit_stats_summarise(values, 5);
    assert_true(s.low_n);
    assert_near(s.low, 1, 0);
    assert_near(s.high, 5, 0);
    assert_near(s.level, 0, 0);
    dit_summary one = dit_stats_summarise(values, 1);
    assert_near(one.median, 3, 0);
    assert_near(one.sd, 0, 0);
    assert_near(one.q3, 3, 0);
    dit_summary none = dit_stats_summarise(NULL, 0);
    assert_true(none.low_n);
    assert_int_equal(none.n, 0);
    assert_near(dit_stats_median(NULL, 0), 0, 0);
}

static void interval_covers_the_median_as_often_as_it_says(void **state)
{
    (void)state;
    uint64_t bits = 12345;
    int covered = 0, trials = 20000;
    for (int t = 0; t < trials; t++) {
        double values[9];
        for (int i = 0; i < 9; i++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            values[i] = (double)(bits >> 11) * 0x1p-53; /* true median 0.5 */
        }
        dit_summary s = dit_stats_summarise(values, 9);
        covered += s.low <= 0.5 && 0.5 <= s.high;
    }
    assert_near((double)covered / trials, 1 - 20.0 / 512, 0.005);
}

static void more_samples_than_fit_on_the_stack(void **state)
{
    (void)state;
    double values[1001];
    for (int i = 0; i < 1001; i++) values[i] = (i * 7919) % 1001;
    assert_near(dit_stats_median(values, 1001), 500, 0);
}

static void an_outlier_stands_far_above(void **state)
{
    (void)state;
    const double quiet[] = {1.00, 1.02, 0.99, 1.01, 1.03}, one[] = {1.00, 1.02, 1.9, 1.01, 0.99, 1.5};
    const double spread[] = {1, 2, 3, 4, 5, 9}, equal[] = {1, 1, 1, 1.05}, low[] = {1, 1.01, 0.99, 0.2}, two[] = {1, 9};
    assert_int_equal(dit_stats_outlier(quiet, 5), -1);
    assert_int_equal(dit_stats_outlier(one, 6), 2);
    assert_int_equal(dit_stats_outlier(spread, 6), -1);
    assert_int_equal(dit_stats_outlier(equal, 4), -1);
    assert_int_equal(dit_stats_outlier(low, 4), -1);
    assert_int_equal(dit_stats_outlier(two, 2), -1);
    assert_int_equal(dit_stats_outlier(two, 0), -1);
}

static void a_percentile_is_one_of_the_values(void **state)
{
    const double values[] = {5, 1, 4, 2, 3, 10, 9, 8, 7, 6};
    (void)state;
    assert_true(dit_stats_percentile(values, 10, 0.9) == 9);
    assert_true(dit_stats_percentile(values, 10, 0.91) == 10);
    assert_true(dit_stats_percentile(values, 10, 1) == 10);
    assert_true(dit_stats_percentile(values, 10, 0) == 1);
    assert_true(dit_stats_percentile(values, 1, 0.9) == 5);
    assert_true(dit_stats_percentile(values, 0, 0.9) == 0);
    assert_true(values[0] == 5); /* not sorted in place */
}

static void sorted_values_keep_their_places(void **state)
{
    dit_placed values[] = {{3, 0}, {-1, 1}, {2, 2}};
    double plain[] = {3, -1, 2};
    (void)state;
    dit_stats_sort_placed(values, 3);
    dit_stats_sort(plain, 3);
    static const int places[] = {1, 2, 0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(values[i].place, places[i]);
        assert_true(values[i].value == plain[i]);
    }
    dit_stats_sort_placed(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted_values_keep_their_places),
        cmocka_unit_test(an_outlier_stands_far_above),
        cmocka_unit_test(a_percentile_is_one_of_the_values),
        cmocka_unit_test(ranks_and_coverage_are_the_binomial_ones),
        cmocka_unit_test(below_six_there_is_no_interval_at_95_percent),
        cmocka_unit_test(large_samples_do_not_underflow),
        cmocka_unit_test(summary_of_ten_is_by_hand),
        cmocka_unit_test(few_samples_give_a_range_marked_low_n),
        cmocka_unit_test(interval_covers_the_median_as_often_as_it_says),
        cmocka_unit_test(more_samples_than_fit_on_the_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
