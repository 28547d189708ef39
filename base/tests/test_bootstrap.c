/* The bootstrap: intervals have the width that theory gives, groups stay together, pairs cancel what they share. Equal
 * numbers from NumPy: engine/tests/test_quality.c. */
#include "base/rng.h"
#include "base/bootstrap.h"

#include "base/tests/test.h"

enum { GROUPS = 100, EACH = 10 };

static void normals(uint64_t seed, int count, double *out)
{
    for (int i = 0; i < count; i++) {
        float x;
        dit_rng_normal(seed, 1, (uint64_t)i, 1, 0, 1, &x);
        out[i] = x;
    }
}

static void the_interval_of_a_mean_is_as_wide_as_theory_says(void **state)
{
    (void)state;
    double values[400], squares = 0;
    int group[400];
    dit_interval mean;
    normals(1, 400, values);
    for (int i = 0; i < 400; i++) group[i] = i, squares += values[i] * values[i] / 400;
    const dit_grouped sample = {values, group, 400, 400};
    assert_ok(dit_bootstrap_mean(&sample, &mean));
    assert_true(mean.bounded);
    assert_close(mean.high - mean.low, 2 * 1.96 * sqrt(squares / 400), 0.06);
    assert_true(mean.low < mean.value && mean.value < mean.high);
}

/* A copy of a value says nothing new: a method that drew values one by one would make the interval a third as wide. */
static void values_of_a_group_are_drawn_together(void **state)
{
    (void)state;
    double of_group[GROUPS], values[GROUPS * EACH];
    int alone[GROUPS], group[GROUPS * EACH];
    dit_interval once, copied;
    normals(2, GROUPS, of_group);
    for (int i = 0; i < GROUPS; i++) alone[i] = i;
    for (int i = 0; i < GROUPS * EACH; i++) values[i] = of_group[i / EACH], group[i] = i / EACH;
    const dit_grouped singles = {of_group, alone, GROUPS, GROUPS}, copies = {values, group, GROUPS * EACH, GROUPS};
    assert_ok(dit_bootstrap_mean(&singles, &once));
    assert_ok(dit_bootstrap_mean(&copies, &copied));
    assert_near(copied.low, once.low, 1e-12);
    assert_near(copied.high, once.high, 1e-12);
}

static void pairs_cancel_what_they_share(void **state)
{
    (void)state;
    double shared[GROUPS], a[GROUPS], b[GROUPS];
    int group[GROUPS];
    dit_interval paired, apart;
    normals(3, GROUPS, shared);
    normals(4, GROUPS, a);
    normals(5, GROUPS, b);
    for (int i = 0; i < GROUPS; i++) {
        group[i] = i;
        a[i] = 10 * shared[i] + 0.1 * a[i] + 0.5;
        b[i] = 10 * shared[i] + 0.1 * b[i];
    }
    const dit_grouped sample = {a, group, GROUPS, GROUPS};
    assert_ok(dit_bootstrap_paired(&sample, b, &paired));
    assert_ok(dit_bootstrap_mean(&sample, &apart));
    assert_true(paired.low > 0.4 && paired.high < 0.6);
    assert_true(apart.high - apart.low > 20 * (paired.high - paired.low));
}

static void percentiles_are_by_nearest_rank(void **state)
{
    (void)state;
    double values[100];
    int group[100];
    dit_interval p;
    for (int i = 0; i < 100; i++) values[i] = (i * 37) % 100, group[i] = i; /* 0 .. 99 in disorder */
    const dit_grouped sample = {values, group, 100, 100};
    assert_ok(dit_bootstrap_percentile(&sample, 0.05, &p));
    assert_near(p.value, 4, 0);
    assert_true(p.low >= 0 && p.low <= 3 && p.high >= 5 && p.high <= 12);
    assert_ok(dit_bootstrap_percentile(&sample, 1, &p));
    assert_near(p.value, 99, 0);
    assert_near(p.high, 99, 0);
}

static void equal_calls_give_equal_bits(void **state)
{
    (void)state;
    const double values[5] = {1, 4, 2, 8, 5};
    const int group[5] = {0, 1, 2, 3, 4};
    const dit_grouped sample = {values, group, 5, 5};
    dit_interval a, b;
    assert_ok(dit_bootstrap_mean(&sample, &a));
    assert_ok(dit_bootstrap_mean(&sample, &b));
    assert_memory_equal(&a.low, &b.low, sizeof a.low);
    assert_memory_equal(&a.high, &b.high, sizeof a.high);
}

static void one_group_has_a_mean_and_no_interval(void **state)
{
    (void)state;
    const double values[3] = {1, 2, 6};
    const int group[3] = {0, 0, 0};
    const dit_grouped sample = {values, group, 3, 1};
    dit_interval mean;
    assert_ok(dit_bootstrap_mean(&sample, &mean));
    assert_near(mean.value, 3, 0);
    assert_false(mean.bounded);
}

static void samples_without_a_mean_are_refused(void **state)
{
    (void)state;
    const double values[3] = {1, NAN, 6};
    const int group[3] = {0, 1, 5}, gap[3] = {0, 2, 2};
    dit_interval mean;
    const dit_grouped none = {values, group, 0, 0}, broken = {values, group, 3, 6}, far = {values, group + 2, 1, 2},
                      hole = {(double[]){1, 2, 3}, gap, 3, 3};
    assert_fails(dit_bootstrap_mean(&none, &mean), DIT_ERR_SHAPE, "0 values in 0 groups");
    assert_fails(dit_bootstrap_mean(&broken, &mean), DIT_ERR_NONFINITE, "value 2 of 3");
    assert_fails(dit_bootstrap_mean(&far, &mean), DIT_ERR_SHAPE, "of group 5, but there are 2");
    assert_fails(dit_bootstrap_percentile(&hole, 0.5, &mean), DIT_ERR_SHAPE, "group 1 of 3 has no values");
    assert_fails(dit_bootstrap_paired(&broken, values, &mean), DIT_ERR_NONFINITE, "value 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_of_a_mean_is_as_wide_as_theory_says),
        cmocka_unit_test(values_of_a_group_are_drawn_together),
        cmocka_unit_test(pairs_cancel_what_they_share),
        cmocka_unit_test(percentiles_are_by_nearest_rank),
        cmocka_unit_test(equal_calls_give_equal_bits),
        cmocka_unit_test(one_group_has_a_mean_and_no_interval),
        cmocka_unit_test(samples_without_a_mean_are_refused),
    };
    return cmocka_run_group_tests_name("bootstrap", tests, NULL, NULL);
}
