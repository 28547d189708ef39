/* Series: scores, change points, steadiness. */
#include "suite/compare/series.h"

#include "base/rng.h"
#include "base/tests/test.h"

/* Noise of one per cent around levels that each last `length` values. */
static void fill(double *out, const double *levels, int level_count, int length, uint64_t seed)
{
    for (int i = 0; i < level_count * length; i++) {
        float noise;
        dit_rng_normal(seed, 7, (uint64_t)i, 1, 0, 0.01f, &noise);
        out[i] = levels[i / length] * (1 + (double)noise);
    }
}

static void a_value_is_scored_by_median_and_spread_of_those_before(void **state)
{
    (void)state;
    static const double before[] = {10, 10.1, 9.9, 10.2, 9.8, 10, 10}; /* median 10, deviation 0.1 */
    assert_near(suite_series_score(before, 7, 10.5), 0.5 / 0.14826, 1e-9);
    assert_near(suite_series_score(before, 5, 99), 0, 0);
    assert_int_equal(suite_series_sticks_out(before, 7, 10.5, 0.02), 1);
    assert_int_equal(suite_series_sticks_out(before, 7, 9.5, 0.02), -1);
    assert_int_equal(suite_series_sticks_out(before, 7, 10.5, 0.06), 0);
    assert_int_equal(suite_series_sticks_out(before, 7, 10.3, 0.02), 0);
    static const double flat[] = {3, 3, 3, 3, 3, 3};
    assert_int_equal(suite_series_sticks_out(flat, 6, 3, 0.02), 0);
    assert_int_equal(suite_series_sticks_out(flat, 6, 3.1, 0.02), 1);
}

static void changes_are_found_where_they_are(void **state)
{
    (void)state;
    static const double levels[] = {1, 1.05, 0.9};
    double values[90];
    int exact = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        suite_change *found;
        int count;
        fill(values, levels, 3, 30, seed);
        assert_ok(suite_series_changes(values, 90, 0.02, 0.05, 11, &found, &count));
        assert_int_equal(count, 2);
        assert_in_range(found[0].place, 28, 32);
        assert_in_range(found[1].place, 59, 61);
        assert_near(found[0].before, 1, 0.01);
        assert_near(found[0].after, 1.05, 0.01);
        exact += found[0].place == 30 && found[1].place == 60;
        free(found);
    }
    assert_true(exact >= 15);
}

static void noise_alone_has_no_changes(void **state)
{
    (void)state;
    static const double levels[] = {1};
    double values[60];
    int alarms = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        suite_change *found;
        int count;
        fill(values, levels, 1, 60, 100 + seed);
        assert_ok(suite_series_changes(values, 60, 0, 0.05, 3, &found, &count));
        alarms += count > 0;
        free(found);
    }
    assert_in_range(alarms, 0, 12); /* 5 expected; more than 12 has a chance of 0.2 % */
    suite_change *found;
    int count;
    assert_ok(suite_series_changes(values, 11, 0, 0.05, 3, &found, &count));
    assert_int_equal(count, 0);
    assert_null(found);
}

static void changes_that_nobody_cares_for_are_none(void **state)
{
    (void)state;
    double values[40];
    for (int i = 0; i < 40; i++) values[i] = i < 20 ? 1 : 1.01;
    suite_change *found;
    int count;
    assert_ok(suite_series_changes(values, 40, 0.02, 0.05, 3, &found, &count));
    assert_int_equal(count, 0);
    assert_ok(suite_series_changes(values, 40, 0.005, 0.05, 3, &found, &count));
    assert_int_equal(count, 1);
    assert_int_equal(found[0].place, 20);
    free(found);
}

static void a_trend_is_correlated_and_not_steady(void **state)
{
    (void)state;
    double trend[20], flat[20], other[20];
    for (int i = 0; i < 20; i++) trend[i] = 1 + 0.01 * i, flat[i] = 2, other[i] = i % 2 ? 1.001 : 1;
    assert_true(suite_series_lag_1(trend, 20) > 0.8);
    assert_near(suite_series_lag_1(flat, 20), 0, 0);
    assert_true(suite_series_lag_1(other, 20) < -0.9);
    assert_false(suite_series_is_steady(trend, 20, 0.02));
    assert_true(suite_series_is_steady(other, 20, 0.02));
    assert_false(suite_series_is_steady(flat, 1, 0.02));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_scored_by_median_and_spread_of_those_before),
        cmocka_unit_test(changes_are_found_where_they_are),
        cmocka_unit_test(noise_alone_has_no_changes),
        cmocka_unit_test(changes_that_nobody_cares_for_are_none),
        cmocka_unit_test(a_trend_is_correlated_and_not_steady),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
