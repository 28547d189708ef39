/* How near predictions are said to come to what was published. */
#include "suite/simulate/points_groups.h"

#include "suite/tests/published_fixture.h"

static suite_point_result simulated(int index, const char *panel, const char *method, double published,
                                    double predicted)
{
    suite_point_result result = {.index = index,
                                 .has_published = true,
                                 .published = published,
                                 .rounding = suite_published_rounding(published),
                                 .predicted = predicted};
    snprintf(result.panel, sizeof result.panel, "%s", panel);
    snprintf(result.method, sizeof result.method, "%s", method);
    return result;
}

static dit_agreement judged(const suite_point_result *results, int count, suite_points_part part)
{
    dit_agreement found;
    assert_int_equal(suite_points_judge(results, count, part, &found), DIT_OK);
    return found;
}

static void rounding_is_half_of_the_last_digit(void **state)
{
    (void)state;
    assert_float_equal(suite_published_rounding(12.5), 0.05, 1e-12);
    assert_float_equal(suite_published_rounding(300), 0.5, 1e-12);
    assert_float_equal(suite_published_rounding(0.125), 0.0005, 1e-12);
    assert_float_equal(suite_published_rounding(-7.25), 0.005, 1e-12);
    assert_true(suite_published_rounding(1.0 / 3) < 1e-12);
}

static void nothing_gives_no_statistics(void **state)
{
    dit_agreement s;
    suite_point_result skipped = {.skip = SUITE_SKIP_STEPS, .has_published = true, .published = 3};
    (void)state;
    s = judged(NULL, 0, SUITE_POINTS_ALL);
    assert_int_equal(s.points + s.pairs + s.ordered, 0);
    assert_true(s.median_error == 0 && s.p90_error == 0);
    s = judged(&skipped, 1, SUITE_POINTS_ALL);
    assert_int_equal(s.points + s.pairs, 0);
}

static void errors_have_a_median_and_a_percentile(void **state)
{
    dit_agreement s;
    const suite_point_result results[] = {simulated(0, "a", "u2", 10, 11), simulated(1, "b", "u2", 10, 8),
                                          simulated(2, "c", "u2", 10, 10.5)};
    (void)state;
    s = judged(results, 3, SUITE_POINTS_ALL);
    assert_int_equal(s.points, 3);
    assert_float_equal(s.median_error, 0.1, 1e-12);
    assert_float_equal(s.p90_error, 0.2, 1e-12);
    assert_int_equal(s.pairs, 0); /* three panels */
    assert_float_equal(suite_point_error(&results[1]), -0.2, 1e-12);
}

static void pairs_of_a_panel_are_in_order_or_not(void **state)
{
    dit_agreement s;
    /* printed u4 < r4 < tp4; predicted r4 < u4 < tp4: two of three; the other panel has one pair, in order */
    const suite_point_result results[] = {simulated(0, "a", "u4", 1.01, 1.3), simulated(1, "b", "u4", 5.25, 7),
                                          simulated(2, "a", "r4", 2.01, 1.2), simulated(3, "a", "tp4", 3.01, 9),
                                          simulated(4, "b", "r4", 4.25, 6)};
    (void)state;
    s = judged(results, 5, SUITE_POINTS_ALL);
    assert_int_equal(s.pairs, 4);
    assert_int_equal(s.ordered, 3);
    assert_int_equal(s.pairs_apart, 4); /* u4 < r4 < tp4, far apart; 5.25 and 4.25 */
    assert_int_equal(s.ordered_apart, 3);
}

static void values_near_each_other_are_counted_apart(void **state)
{
    dit_agreement s;
    const suite_point_result results[] = {simulated(0, "a", "u4", 10.1, 5), simulated(1, "a", "r4", 11.0, 4),
                                          simulated(2, "a", "tp4", 13.0, 6)};
    (void)state;
    s = judged(results, 3, SUITE_POINTS_ALL);
    assert_int_equal(s.pairs, 3);
    assert_int_equal(s.ordered, 2);
    assert_int_equal(s.pairs_apart, 2);
    assert_int_equal(s.ordered_apart, 2);
}

static void what_rounding_hides_is_not_judged(void **state)
{
    dit_agreement s;
    suite_point_result results[] = {simulated(0, "a", "u4", 1.3, 5), simulated(1, "a", "r4", 1.4, 4)};
    (void)state;
    s = judged(results, 2, SUITE_POINTS_ALL); /* 0.1 apart, 0.05 each */
    assert_int_equal(s.pairs, 0);
    results[1].published = 1.5;
    s = judged(results, 2, SUITE_POINTS_ALL);
    assert_int_equal(s.pairs, 1);
    assert_int_equal(s.ordered, 0);
    results[0].rounding = 0.3; /* read off an axis */
    s = judged(results, 2, SUITE_POINTS_ALL);
    assert_int_equal(s.pairs, 0);
}

static void equal_predictions_are_no_order(void **state)
{
    dit_agreement s;
    const suite_point_result results[] = {simulated(0, "a", "u4", 1, 4), simulated(1, "a", "hybrid", 3, 4)};
    (void)state;
    s = judged(results, 2, SUITE_POINTS_ALL);
    assert_int_equal(s.pairs, 1);
    assert_int_equal(s.ordered, 0);
}

static void one_method_twice_is_no_pair(void **state)
{
    dit_agreement s;
    const suite_point_result results[] = {simulated(0, "a", "u4", 1, 4), simulated(1, "a", "u4", 3, 4)};
    (void)state;
    s = judged(results, 2, SUITE_POINTS_ALL);
    assert_int_equal(s.points, 2);
    assert_int_equal(s.pairs, 0);
}

static void parts_add_up(void **state)
{
    dit_agreement all, in, out;
    suite_point_result results[] = {simulated(0, "a", "u4", 1.25, 1.875), simulated(1, "a", "r4", 2.25, 2.475),
                                    simulated(2, "a", "pp4", 3.25, 3.575)};
    (void)state;
    results[0].in_fit = results[1].in_fit = true;
    all = judged(results, 3, SUITE_POINTS_ALL);
    in = judged(results, 3, SUITE_POINTS_IN_FIT);
    out = judged(results, 3, SUITE_POINTS_NOT_IN_FIT);
    assert_int_equal(all.points, in.points + out.points);
    assert_int_equal(all.pairs, in.pairs + out.pairs);
    assert_int_equal(in.pairs, 1); /* a pair with a foot outside is outside */
    assert_float_equal(in.p90_error, 0.5, 1e-12);
    assert_float_equal(out.median_error, 0.1, 1e-12);
}

static void doubtful_and_repeated_points_judge_nothing(void **state)
{
    dit_agreement all, latencies, rates, doubtful;
    suite_point_result results[] = {simulated(0, "a", "u4", 1, 1.25), simulated(1, "b", "u4", 1.25, 1.875),
                                    simulated(2, "b", "r4", 2.25, 2.475), simulated(3, "b", "pp4", 1, 7.25),
                                    simulated(4, "b", "pp2", 1, 3)};
    (void)state;
    results[1].is_rate = results[2].is_rate = results[3].is_rate = results[4].is_rate = true;
    results[3].doubtful = results[4].repeated = true;
    all = judged(results, 5, SUITE_POINTS_ALL);
    latencies = judged(results, 5, SUITE_POINTS_LATENCIES);
    rates = judged(results, 5, SUITE_POINTS_RATES);
    doubtful = judged(results, 5, SUITE_POINTS_DOUBTFUL);
    assert_int_equal(all.points, 3);
    assert_int_equal(latencies.points, 1);
    assert_int_equal(rates.points, 2);
    assert_int_equal(rates.pairs, 1);
    assert_int_equal(doubtful.points, 1);
    assert_int_equal(doubtful.pairs, 0);
    assert_float_equal(rates.worst_error, 0.5, 1e-12);
    assert_float_equal(doubtful.worst_error, 6.25, 1e-12);
}

static void memory_is_judged_apart(void **state)
{
    dit_agreement all, latencies, memory;
    suite_point_result results[] = {simulated(0, "a", "u4", 1, 1.25), simulated(1, "b", "u4", 10, 15)};
    (void)state;
    results[1].is_memory = true;
    all = judged(results, 2, SUITE_POINTS_ALL);
    latencies = judged(results, 2, SUITE_POINTS_LATENCIES);
    memory = judged(results, 2, SUITE_POINTS_MEMORY);
    assert_int_equal(all.points, 1);
    assert_int_equal(latencies.points, 1);
    assert_int_equal(memory.points, 1);
    assert_float_equal(memory.worst_error, 0.5, 1e-12);
}

static suite_published_point printed(const char *model, int gpus)
{
    return (suite_published_point){.model = model, .gpus = gpus, .status = ""};
}

static void groups_are_alike_in_what_is_named(void **state)
{
    const suite_published_point published[] = {printed("x", 2), printed("x", 4), printed("x", 4), printed("x", 4)};
    suite_point points[4] = {0};
    suite_point_result results[] = {simulated(0, "a", "u2", 10, 9), simulated(1, "b", "u4", 10, 12),
                                    simulated(2, "b", "r4", 8, 16), simulated(3, "b", "pp4", 8, 99)};
    suite_group_keys keys;
    suite_points_group *groups;
    int count;
    (void)state;
    for (int i = 0; i < 4; i++) points[i].published = &published[i];
    results[3].doubtful = true;
    assert_int_equal(suite_group_keys_read("model, gpus", &keys), DIT_OK);
    assert_int_equal(suite_points_groups(&keys, points, results, 4, &groups, &count), DIT_OK);
    assert_int_equal(count, 2);
    assert_string_equal(groups[0].value[0], "x");
    assert_string_equal(groups[0].value[1], "2");
    assert_float_equal(groups[0].median, -0.1, 1e-12);
    assert_string_equal(groups[1].value[1], "4");
    assert_int_equal(groups[1].agreement.points, 2);
    assert_float_equal(groups[1].median, 0.6, 1e-12);
    assert_int_equal(groups[1].agreement.pairs, 1);
    assert_int_equal(groups[1].agreement.ordered, 0);
    free(groups);
    assert_int_equal(suite_group_keys_read("colour", &keys), DIT_ERR_USAGE);
    assert_int_equal(suite_group_keys_read("model,gpus,mesh,batch,steps", &keys), DIT_ERR_USAGE);
    assert_int_equal(suite_group_keys_read("", &keys), DIT_ERR_USAGE);
}

static void the_answer_leaves_out_what_does_not_exist(void **state)
{
    cJSON *document;
    suite_point_result results[] = {simulated(7, "a", "u4", 2, 3), {.index = 9, .skip = SUITE_SKIP_STEPS}};
    (void)state;
    assert_int_equal(suite_points_json(results, 2, &document), DIT_OK);
    const cJSON *first = cJSON_GetObjectItem(document, "points")->child, *second = first->next;
    const cJSON *summary = cJSON_GetObjectItem(document, "summary");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "status")), "simulated");
    assert_true(number_at(first, "index") == 7 && number_at(first, "published") == 2);
    assert_float_equal(number_at(first, "error"), 0.5, 1e-12);
    assert_null(cJSON_GetObjectItem(first, "reason"));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(second, "status")), "skipped");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(second, "reason")), "steps_not_stated");
    assert_null(cJSON_GetObjectItem(second, "predicted"));
    assert_null(cJSON_GetObjectItem(second, "published"));
    assert_true(number_at(summary, "simulated") == 1 && number_at(summary, "skipped") == 1);
    assert_true(number_at(cJSON_GetObjectItem(summary, "reasons"), "steps_not_stated") == 1);
    assert_float_equal(number_at(cJSON_GetObjectItem(summary, "all"), "median_error"), 0.5, 1e-12);
    assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(summary, "in_fit"), "median_error"));
    assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(summary, "all"), "ordered_share"));
    cJSON_Delete(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_is_half_of_the_last_digit),
        cmocka_unit_test(nothing_gives_no_statistics),
        cmocka_unit_test(errors_have_a_median_and_a_percentile),
        cmocka_unit_test(pairs_of_a_panel_are_in_order_or_not),
        cmocka_unit_test(values_near_each_other_are_counted_apart),
        cmocka_unit_test(what_rounding_hides_is_not_judged),
        cmocka_unit_test(equal_predictions_are_no_order),
        cmocka_unit_test(one_method_twice_is_no_pair),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(doubtful_and_repeated_points_judge_nothing),
        cmocka_unit_test(memory_is_judged_apart),
        cmocka_unit_test(groups_are_alike_in_what_is_named),
        cmocka_unit_test(the_answer_leaves_out_what_does_not_exist),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
