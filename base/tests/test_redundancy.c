/* Statistics of change: shares and correlations have the values that closed forms give; maps of other sizes are read at
 * equal places. */
#include "base/redundancy.h"
#include "base/rng.h"
#include "base/stats.h"

#include "base/tests/test.h"

enum { PROMPTS = 12, LAYERS = 4, STEPS = 9, CELLS = LAYERS * STEPS };

static double places[STEPS];

/* exp(+-cell +-own): half of the cells change by e^cell, half by e^-cell; so do half of the prompts around them, by `own`. */
static dit_redundancy_map map_of(double cell, double own, double *values)
{
    for (int s = 0; s < STEPS; s++) places[s] = (s + 1.0) / STEPS;
    for (int p = 0; p < PROMPTS; p++)
        for (int c = 0; c < CELLS; c++) {
            double of_cell = c % 2 ? cell : -cell, of_prompt = (p + c / 2) % 2 ? own : -own;
            values[p * CELLS + c] = exp(of_cell + of_prompt);
        }
    return (dit_redundancy_map){values, places, PROMPTS, LAYERS, STEPS};
}

static void prompts_that_change_alike_are_explained_whole(void **state)
{
    (void)state;
    double values[PROMPTS * CELLS];
    dit_interval share, varies;
    dit_redundancy_map map = map_of(1, 0, values);
    assert_ok(dit_redundancy_explained(&map, &share));
    assert_ok(dit_redundancy_variation(&map, &varies));
    assert_near(share.value, 1, 1e-9);
    assert_near(share.low, 1, 1e-9);
    assert_near(varies.value, 0, 1e-6);
}

static void the_share_is_that_of_the_variances(void **state)
{
    (void)state;
    double values[PROMPTS * CELLS];
    dit_interval share;
    dit_redundancy_map map = map_of(1, 0.5, values);
    assert_ok(dit_redundancy_explained(&map, &share));
    assert_near(share.value, 1 / 1.25, 1e-9);
    assert_true(share.low < share.high && share.high - share.low < 0.2);
    map = map_of(0, 0.5, values);
    assert_ok(dit_redundancy_explained(&map, &share));
    assert_near(share.value, 0, 1e-9);
}

/* Of e^a and e^-a, half each, the deviation over the mean is tanh a. */
static void variation_is_that_of_the_prompts(void **state)
{
    (void)state;
    double values[PROMPTS * CELLS];
    dit_interval varies;
    dit_redundancy_map map = map_of(1, 0.1, values);
    assert_ok(dit_redundancy_variation(&map, &varies));
    assert_near(varies.value, tanh(0.1), 1e-9);
}

static void ranks_share_their_places(void **state)
{
    (void)state;
    const double x[] = {1, 2, 2, 3}, y[] = {10, 30, 20, 40}, down[] = {4, 3, 2, 1}, flat[] = {1, 1, 1, 1};
    dit_placed scratch[4];
    double ranks[8];
    assert_close(dit_stats_rank_correlation(x, y, 4, scratch, ranks), 4.5 / sqrt(4.5 * 5), 1e-12); /* SciPy: 0.9487 */
    assert_close(dit_stats_rank_correlation(y, y, 4, scratch, ranks), 1, 1e-12);
    assert_true(dit_stats_rank_correlation(x, down, 4, scratch, ranks) < -0.9);
    assert_true(isnan(dit_stats_rank_correlation(x, flat, 4, scratch, ranks)));
}

/* values[p][l][s]: a smooth function of depth and place, read at two sizes: the order is one. */
static dit_redundancy_map smooth_map(int layers, int steps, double *values, double *where, double upward)
{
    for (int s = 0; s < steps; s++) where[s] = (s + 1.0) / steps;
    for (int p = 0; p < PROMPTS; p++)
        for (int l = 0; l < layers; l++)
            for (int s = 0; s < steps; s++) {
                double depth = layers > 1 ? (double)l / (layers - 1) : 0.5;
                values[(p * layers + l) * steps + s] = 100 + upward * depth + 3 * where[s] + 0.001 * p;
            }
    return (dit_redundancy_map){values, where, PROMPTS, layers, steps};
}

static void maps_of_other_sizes_are_read_at_equal_places(void **state)
{
    (void)state;
    double small[PROMPTS * 3 * 6], large[PROMPTS * 9 * 24], of_small[6], of_large[24];
    dit_interval rho;
    dit_redundancy_map one = smooth_map(3, 6, small, of_small, 1), other = smooth_map(9, 24, large, of_large, 1);
    assert_ok(dit_redundancy_rank_correlation(&one, &other, &rho));
    assert_close(rho.value, 1, 1e-9);
    assert_ok(dit_redundancy_rank_correlation(&other, &one, &rho));
    assert_close(rho.value, 1, 1e-9);
    other = smooth_map(9, 24, large, of_large, -30);
    assert_ok(dit_redundancy_rank_correlation(&one, &other, &rho));
    assert_true(rho.high < 0.6);
}

/* A schedule's places fall, and one layer has no depth. */
static void falling_places_and_one_layer_are_fine(void **state)
{
    (void)state;
    double small[PROMPTS * 1 * 6], large[PROMPTS * 2 * 24], of_small[6], of_large[24];
    dit_interval rho;
    dit_redundancy_map one = smooth_map(1, 6, small, of_small, 1), other = smooth_map(2, 24, large, of_large, 1);
    for (int s = 0; s < 6; s++) of_small[s] = -of_small[s];
    for (int s = 0; s < 24; s++) of_large[s] = -of_large[s];
    assert_ok(dit_redundancy_rank_correlation(&one, &other, &rho));
    assert_close(rho.value, 1, 1e-9);
}

static void what_says_nothing_is_refused(void **state)
{
    (void)state;
    double values[PROMPTS * CELLS], few[PROMPTS * CELLS];
    dit_interval out;
    dit_redundancy_map map = map_of(1, 0.5, values), other = map_of(1, 0.5, few);
    values[5] = 0;
    assert_fails(dit_redundancy_explained(&map, &out), DIT_ERR_NONFINITE, "");
    assert_fails(dit_redundancy_rank_correlation(&other, &map, &out), DIT_ERR_NONFINITE, "");
    map = map_of(0, 0, values);
    assert_fails(dit_redundancy_explained(&map, &out), DIT_ERR_NONFINITE, "");
    map = map_of(1, 0.5, values);
    other.prompts = 3;
    assert_fails(dit_redundancy_rank_correlation(&map, &other, &out), DIT_ERR_SHAPE, "");
    other.prompts = 0;
    assert_fails(dit_redundancy_explained(&other, &out), DIT_ERR_SHAPE, "");
    other = map_of(1, 0.5, few);
    double beyond[STEPS];
    for (int s = 0; s < STEPS; s++) beyond[s] = 5 + s;
    other.places = beyond;
    assert_fails(dit_redundancy_rank_correlation(&map, &other, &out), DIT_ERR_SHAPE, "");
}

/* Against all schedules, one by one. */
static void a_schedule_is_the_best_of_all(void **state)
{
    (void)state;
    enum { S = 9 };
    double cost[S * S], sum;
    char best[S + 1];
    for (int i = 0; i < S * S; i++) cost[i] = dit_rng_below(5, 6, (uint64_t)i, 1000) / 1000.0;
    for (int computed = 1; computed <= S; computed++) {
        double least = INFINITY;
        for (unsigned bits = 1; bits < 1u << S; bits += 2) { /* step 0 is computed */
            double all = 0;
            int newest = 0, count = 0;
            for (int j = 0; j < S; j++) {
                bool computes = bits >> j & 1;
                if (computes)
                    newest = j, count++;
                else
                    all += cost[newest * S + j];
            }
            if (count == computed && (computed == 1 || bits >> (S - 1))) least = fmin(least, all);
        }
        assert_ok(dit_redundancy_schedule(cost, S, computed, best, &sum));
        assert_near(sum, least, 1e-12);
        double own = 0;
        int newest = 0, count = 0;
        for (int j = 0; j < S; j++) {
            if (best[j] == '1')
                newest = j, count++;
            else
                own += cost[newest * S + j];
        }
        assert_int_equal(count, computed);
        assert_true(computed == 1 || best[S - 1] == '1');
        assert_near(own, least, 1e-12);
    }
    assert_fails(dit_redundancy_schedule(cost, S, 0, best, &sum), DIT_ERR_SHAPE, "0 of 9");
    assert_fails(dit_redundancy_schedule(cost, S, S + 1, best, &sum), DIT_ERR_SHAPE, "10 of 9");
}

static void a_polynomial_is_found_again(void **state)
{
    (void)state;
    const dit_polynomial right = {
        .coefficients = {498.65, -283.78, 55.855, -3.8202, 0.26423}}; /* TeaCache's for FLUX */
    dit_polynomial found;
    double x[40], y[40];
    for (int i = 0; i < 40; i++) x[i] = 0.02 + 0.008 * i, y[i] = dit_stats_polynomial_at(&right, 5, x[i]);
    assert_true(dit_stats_fit_polynomial(x, y, 40, 5, &found));
    for (int i = 0; i < 5; i++) assert_close(found.coefficients[i], right.coefficients[i], 1e-5);
    assert_near(found.r2, 1, 1e-9);
    for (int i = 0; i < 40; i++) x[i] = i % 4;
    assert_false(dit_stats_fit_polynomial(x, y, 40, 5, &found)); /* four places bear no five coefficients */
    assert_true(dit_stats_fit_polynomial(x, y, 40, 4, &found));
    y[3] = NAN;
    assert_false(dit_stats_fit_polynomial(x, y, 40, 4, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_that_change_alike_are_explained_whole),
        cmocka_unit_test(the_share_is_that_of_the_variances),
        cmocka_unit_test(variation_is_that_of_the_prompts),
        cmocka_unit_test(ranks_share_their_places),
        cmocka_unit_test(maps_of_other_sizes_are_read_at_equal_places),
        cmocka_unit_test(falling_places_and_one_layer_are_fine),
        cmocka_unit_test(what_says_nothing_is_refused),
        cmocka_unit_test(a_schedule_is_the_best_of_all),
        cmocka_unit_test(a_polynomial_is_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
