/* Procure: bounds are read, forecasts carry the errors of their class, and contests rank by what the goal makes least. */
#include "suite/procure/contest.h"
#include "suite/tests/held_out_fixture.h"

#include <math.h>

static void near(double got, double wanted, double by)
{
    if (!(fabs(got - wanted) <= by)) fail_msg("%.17g, not %.17g", got, wanted);
}

static void bounds_are_times_or_multiples(void **state)
{
    (void)state;
    suite_slo slo;
    assert_int_equal(suite_slo_read("5s", &slo), DIT_OK);
    near(slo.seconds, 5, 0);
    assert_int_equal(suite_slo_read("500ms", &slo), DIT_OK);
    near(slo.seconds, 0.5, 1e-12);
    assert_int_equal(suite_slo_read("3x", &slo), DIT_OK);
    near(slo.seconds, 0, 0);
    near(slo.times, 3, 0);
    near(slo.quantile, 0.95, 0);
    assert_int_equal(suite_slo_read("p99.9=8s", &slo), DIT_OK);
    near(slo.quantile, 0.999, 1e-12);
    near(slo.seconds, 8, 0);
    for (int i = 0; i < 6; i++) {
        const char *const wrong[] = {"", "x", "0x", "-1s", "p99", "p101=3s"};
        assert_int_equal(suite_slo_read(wrong[i], &slo), DIT_ERR_USAGE);
    }
    dit_error_clear();
}

/* Forty groups of one fitted machine's points, whose errors are -0.20, -0.19, ..., 0.19. */
static void open_forecaster(suite_forecaster *out)
{
    made_point points[40];
    for (int i = 0; i < 40; i++)
        points[i] = (made_point){.machine = 0, .set = i, .question = i, .outside = (i - 20) / 100.0, .left_out = 0};
    *out = (suite_forecaster){.level = 0.9, .held = made_held_out(points, 40, 1)};
}

static suite_forecast forecast_of(const suite_error_sample *sample, double seconds)
{
    return (suite_forecast){
        .seconds = seconds, .low = seconds, .high = seconds, .has_interval = true, .sample = sample};
}

static void a_share_of_errors_is_within_a_bound(void **state)
{
    (void)state;
    suite_forecaster forecaster;
    suite_error_sample sample;
    const suite_error_class of = {
        .fitted = true, .reach = SUITE_REACH_NODE, .kind = SUITE_KIND_EXACT, .software = SUITE_CLASS_ANY};
    open_forecaster(&forecaster);
    assert_int_equal(suite_error_sample_take(&forecaster.held, &of, NULL, &sample), DIT_OK);
    assert_int_equal(sample.count, 40);
    suite_forecast one = forecast_of(&sample, 2);
    /* 21 of 40 errors are at most 0 */
    near(suite_forecast_share_within(&one, 2), 21 / 40.0, 1e-9);
    near(suite_forecast_share_within(&one, 2 * exp(-0.205)), 0, 1e-9);
    near(suite_forecast_share_within(&one, 2 * exp(0.195)), 1, 1e-9);
    one.has_interval = false;
    assert_true(isnan(suite_forecast_share_within(&one, 2)));
    suite_error_sample_release(&sample);
    suite_forecaster_release(&forecaster);
}

/* Splits of 8, 2 and 4 s; the last has no price, and one more has no time. */
static void contests_rank_by_the_goal(void **state)
{
    (void)state;
    suite_forecaster forecaster;
    suite_error_sample sample;
    suite_search_candidate mesh = {.ranks = 1};
    const suite_error_class of = {
        .fitted = true, .reach = SUITE_REACH_NODE, .kind = SUITE_KIND_EXACT, .software = SUITE_CLASS_ANY};
    open_forecaster(&forecaster);
    assert_int_equal(suite_error_sample_take(&forecaster.held, &of, NULL, &sample), DIT_OK);
    for (int goal = 0; goal < SUITE_PROCURE_GOALS; goal++) {
        const double seconds[] = {8, 2, 4}, money[] = {1, 5, 0};
        suite_procured found = {.count = 4};
        found.splits = calloc(4, sizeof *found.splits);
        for (int i = 0; i < 3; i++)
            found.splits[i] = (suite_split){.machine = i,
                                            .devices = 1,
                                            .chosen = &mesh,
                                            .replicas = 1,
                                            .service = forecast_of(&sample, seconds[i]),
                                            .price = {.least = 1, .median = 1, .most = 1},
                                            .per_1000 = {.value = money[i]},
                                            .images_per_hour = {.value = 3600 / seconds[i]}};
        found.splits[3] = (suite_split){.machine = 3, .devices = 1};
        const suite_procure_request request = {.goal = (suite_procure_goal)goal, .forecaster = &forecaster};
        assert_int_equal(suite_contest_run(&request, &found), DIT_OK);
        const int by_speed[] = {1, 2, 0, 3}, by_cost[] = {0, 1, 2, 3};
        for (int i = 0; i < 4; i++)
            assert_int_equal(found.splits[i].machine, goal == SUITE_PROCURE_SPEED ? by_speed[i] : by_cost[i]);
        int ranked = goal == SUITE_PROCURE_SPEED ? 3 : 2;
        for (int i = 0; i < 4; i++) assert_int_equal(found.splits[i].ranked, i < ranked);
        assert_int_equal(found.pair_count, ranked * (ranked - 1) / 2);
        /* twice as long is beyond errors of +-20 % */
        assert_int_equal(found.splits[0].rank.low, 1);
        assert_int_equal(found.splits[0].rank.high, 1);
        assert_int_equal(found.pairs[0].verdict, SUITE_PAIR_FIRST);
        suite_procured_release(&found);
    }
    suite_error_sample_release(&sample);
    suite_forecaster_release(&forecaster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_are_times_or_multiples),
                                       cmocka_unit_test(a_share_of_errors_is_within_a_bound),
                                       cmocka_unit_test(contests_rank_by_the_goal)};
    return cmocka_run_group_tests_name("procure", tests, NULL, NULL);
}
