/* Held-out errors: what a file may say, classes and their ladder, bounds against closed forms, what is refused, and how
 * often intervals and verdicts on pairs hold. */
#include "suite/tests/held_out_fixture.h"

#include "suite/confidence/interval.h"
#include "suite/confidence/pair_calls.h"

static const suite_error_class fitted_exact = {true, SUITE_REACH_NODE, SUITE_KIND_EXACT, SUITE_SOFTWARE_EAGER};

/* One error a set, 1, 2, ..., of one machine in the fit: its own errors of the left-out kind are all 0. */
static void make_sets(made_point *points, int count)
{
    for (int i = 0; i < count; i++)
        points[i] = (made_point){.set = i, .question = i, .outside = 0.01 * (i + 1), .left_out = 0};
}

static suite_held_out sets_of(int count)
{
    made_point points[128];
    make_sets(points, count);
    return made_held_out(points, count, 1);
}

static suite_error_sample sample_of(const suite_held_out *held, const suite_error_class *of)
{
    suite_error_sample sample;
    assert_ok(suite_error_sample_take(held, of, NULL, &sample));
    return sample;
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

static void refused(const char *from, const char *to, dit_status status, const char *words)
{
    made_point points[3];
    suite_held_out held;
    char *text = calloc(1, MADE_TEXT), *changed = calloc(1, MADE_TEXT);
    assert_true(text && changed);
    make_sets(points, 3);
    made_write(text, points, 3, 1);
    char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(changed, MADE_TEXT, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_fails(suite_held_out_parse(changed, strlen(changed), "made", &held), status, words);
    assert_null(held.points);
    free(text);
    free(changed);
}

static void a_file_with_a_mistake_is_refused_with_its_place(void **state)
{
    (void)state;
    refused("holdout/3", "holdout/2", DIT_ERR_JSON_VALUE, "ditbench.holdout/2");
    refused("\"error\":0.01", "\"error\":99", DIT_ERR_JSON_VALUE, "/outside/errors/0");
    refused("\"error\":0.01", "\"erorr\":0.01", DIT_ERR_JSON_UNKNOWN_KEY, "erorr");
    refused("{\"point\":0,\"error\":0.01}", "{\"point\":0}", DIT_ERR_JSON_MISSING, "error");
    refused("{\"point\":1", "{\"point\":3", DIT_ERR_JSON_VALUE, "/outside/errors/1");
    refused("{\"point\":1", "{\"point\":0", DIT_ERR_JSON_VALUE, "point 0 has two errors");
    refused("\"reach\":\"one node\"", "\"reach\":\"one nod\"", DIT_ERR_JSON_VALUE, "one nod");
    refused("\"set\":2", "\"set\":3", DIT_ERR_JSON_VALUE, "/points/2");
    refused("\"seconds\":1}", "\"seconds\":0}", DIT_ERR_JSON_VALUE, "seconds");
    refused("\"seconds\":1}", "\"seconds\":1,\"watts\":2}", DIT_ERR_JSON_UNKNOWN_KEY, "watts");
    refused("\"name\":\"m0\"", "\"name\":\"m1\"", DIT_ERR_JSON_VALUE, "is of m0");
    refused("\"by\":\"machine\"", "\"by\":\"model\"", DIT_ERR_JSON_MISSING, "no machine was left out");
    refused("\"points\":[", "\"points\":[7,", DIT_ERR_JSON_TYPE, "/points/0");
}

static void a_machine_that_no_plan_knows_counts_as_left_out(void **state)
{
    const made_point points[] = {{.machine = 0, .set = 0, .outside = 0.1, .left_out = 0.2},
                                 {.machine = 1, .set = 1, .outside = 0.3, .left_out = NAN}};
    (void)state;
    suite_held_out held = made_held_out(points, 2, 1);
    assert_true(suite_held_out_is_fitted(&held, "m0"));
    assert_false(suite_held_out_is_fitted(&held, "m1"));
    assert_false(suite_held_out_is_fitted(&held, "m2"));
    assert_int_equal(held.outside_count, 1);
    assert_int_equal(held.left_out_count, 2);
    assert_near(held.left_out[1].error, 0.3, 0);
    suite_held_out_release(&held);
}

static void the_committed_file_is_read(void **state)
{
    suite_held_out held;
    (void)state;
    assert_ok(suite_held_out_read(NULL, &held));
    assert_true(held.outside_count > 100 && held.left_out_count > 100);
    assert_true(suite_held_out_is_fitted(&held, "a100-sxm-80"));
    assert_false(suite_held_out_is_fitted(&held, "h200-sxm-141"));
    suite_held_out_release(&held);
}

/* ---- bounds -------------------------------------------------------------------------------------------------------- */

/* (1 - a/2)(1 + 1/G): of 19 groups the extremes, of 39 the second from each end; ten leave a level of 9/11. */
static void bounds_are_the_order_statistics_of_their_closed_form(void **state)
{
    static const struct {
        int groups;
        double low, high, level;
    } rows[] = {{20, 0.01, 0.20, 0.9},       {40, 0.02, 0.39, 0.9},    {19, 0.01, 0.19, 0.9},
                {39, 0.02, 0.38, 0.9},       {59, 0.03, 0.57, 0.9},    {10, 0.01, 0.10, 9.0 / 11},
                {18, 0.01, 0.18, 17.0 / 19}, {2, 0.01, 0.02, 1.0 / 3}, {1, 0.01, 0.01, 0}};
    (void)state;
    assert_int_equal(suite_error_groups_needed(0.9), 19);
    assert_int_equal(suite_error_groups_needed(0.5), 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        suite_held_out held = sets_of(rows[i].groups);
        suite_error_sample sample = sample_of(&held, &fitted_exact);
        suite_error_bounds bounds = suite_error_bounds_of(&sample, 0.9);
        assert_near(bounds.low, rows[i].low, 1e-12);
        assert_near(bounds.high, rows[i].high, 1e-12);
        assert_near(bounds.level, rows[i].level, 1e-12);
        assert_int_equal(bounds.extremes, rows[i].groups < 19);
        suite_error_sample_release(&sample);
        suite_held_out_release(&held);
    }
}

/* A hundred errors of one chart weigh as one. */
static void a_group_weighs_one_however_many_points_it_has(void **state)
{
    made_point points[138];
    (void)state;
    for (int i = 0; i < 38; i++) points[i] = (made_point){.set = i, .outside = 0.01 * (i + 1), .left_out = 0};
    for (int i = 38; i < 138; i++) points[i] = (made_point){.set = 38, .outside = 5, .left_out = 0};
    suite_held_out held = made_held_out(points, 138, 1);
    suite_error_sample sample = sample_of(&held, &fitted_exact);
    assert_int_equal(sample.count, 138);
    assert_int_equal(sample.group_count, 39);
    suite_error_bounds bounds = suite_error_bounds_of(&sample, 0.9);
    assert_near(bounds.high, 0.38, 1e-12); /* by points it would be 5 */
    assert_near(bounds.low, 0.02, 1e-12);
    suite_error_sample_release(&sample);
    suite_held_out_release(&held);
}

static void nine_errors_ascend_from_bound_to_bound(void **state)
{
    double nine[SUITE_ERROR_QUANTILES];
    (void)state;
    suite_held_out held = sets_of(100);
    suite_error_sample sample = sample_of(&held, &fitted_exact);
    suite_error_bounds bounds = suite_error_bounds_of(&sample, 0.9);
    suite_error_nine(&sample, 0.9, nine);
    assert_near(nine[0], bounds.low, 0);
    assert_near(nine[8], bounds.high, 0);
    assert_near(nine[4], 0.5, 1e-12);
    for (int i = 1; i < SUITE_ERROR_QUANTILES; i++) assert_true(nine[i] >= nine[i - 1]);
    suite_error_sample_release(&sample);
    suite_held_out_release(&held);
}

static void the_widest_gap_is_of_one_question_on_two_machines(void **state)
{
    const made_point points[] = {{.machine = 0, .set = 0, .question = 0, .outside = NAN, .left_out = 0.1},
                                 {.machine = 1, .set = 1, .question = 0, .outside = NAN, .left_out = -0.2},
                                 {.machine = 0, .set = 0, .question = 0, .outside = NAN, .left_out = 3},
                                 {.machine = 1, .set = 1, .question = 3, .outside = NAN, .left_out = -9}};
    const made_point lone[] = {{.machine = 0, .set = 0, .question = 0, .outside = NAN, .left_out = 3},
                               {.machine = 1, .set = 1, .question = 1, .outside = NAN, .left_out = -9}};
    suite_error_class all = {false, SUITE_CLASS_ANY, SUITE_CLASS_ANY, SUITE_CLASS_ANY};
    (void)state;
    suite_held_out held = made_held_out(points, 4, 2);
    suite_error_sample sample = sample_of(&held, &all);
    assert_near(suite_error_widest_gap(&sample), 3.2, 1e-12);
    suite_error_sample_release(&sample);
    suite_held_out_release(&held);
    held = made_held_out(lone, 2, 2); /* two questions of one machine each show nothing */
    sample = sample_of(&held, &all);
    assert_int_equal(sample.count, 2);
    assert_true(isinf(suite_error_widest_gap(&sample)));
    suite_error_sample_release(&sample);
    suite_held_out_release(&held);
}

/* ---- classes ------------------------------------------------------------------------------------------------------- */

static void parents_lose_software_then_kind_then_reach(void **state)
{
    suite_error_class of = fitted_exact;
    char text[96];
    (void)state;
    suite_error_class_text(&of, text, sizeof text);
    assert_string_equal(text, "machine fitted, one node, exact, eager");
    assert_true(suite_error_class_parent(&of, &of));
    suite_error_class_text(&of, text, sizeof text);
    assert_string_equal(text, "machine fitted, one node, exact");
    assert_true(suite_error_class_parent(&of, &of));
    assert_true(suite_error_class_parent(&of, &of));
    suite_error_class_text(&of, text, sizeof text);
    assert_string_equal(text, "machine fitted");
    assert_false(suite_error_class_parent(&of, &of));
}

static void a_layer_speaks_for_no_picture_and_the_fit_for_nobody_left_out(void **state)
{
    const suite_error_class any = {true, SUITE_CLASS_ANY, SUITE_CLASS_ANY, SUITE_CLASS_ANY};
    suite_error_class layer = fitted_exact, left_out = fitted_exact;
    (void)state;
    layer.kind = SUITE_KIND_LAYER;
    left_out.fitted = false;
    assert_true(suite_error_class_has(&any, &fitted_exact));
    assert_false(suite_error_class_has(&any, &layer));
    assert_false(suite_error_class_has(&any, &left_out));
    assert_true(suite_error_class_has(&layer, &layer));
    while (suite_error_class_parent(&layer, &layer)) assert_int_equal(layer.kind, SUITE_KIND_LAYER);
}

static suite_ladder climb(const suite_held_out *held, const suite_error_class *from)
{
    suite_ladder ladder;
    suite_error_sample sample;
    assert_ok(suite_ladder_climb(held, from, 0.9, NULL, &ladder, &sample));
    assert_int_equal(sample.count, ladder.chosen < 0 ? 0 : ladder.rungs[ladder.chosen].points);
    suite_error_sample_release(&sample);
    return ladder;
}

/* 18 sets of compiled code are too few for 90 %, so that the parent speaks, which has 21. */
static void the_ladder_ends_at_the_first_class_with_groups_enough(void **state)
{
    made_point points[40];
    suite_error_class compiled = fitted_exact;
    (void)state;
    compiled.software = SUITE_SOFTWARE_COMPILED;
    make_sets(points, 40);
    for (int i = 0; i < 36; i++) points[i].set = i / 2, points[i].software = "compiled";
    points[39].set = 38;
    suite_held_out held = made_held_out(points, 40, 1);
    suite_ladder ladder = climb(&held, &compiled);
    assert_int_equal(ladder.count, 4);
    assert_int_equal(ladder.rungs[0].points, 36);
    assert_int_equal(ladder.rungs[0].groups, 18);
    assert_int_equal(ladder.chosen, 1);
    assert_int_equal(ladder.rungs[1].groups, 21);
    suite_held_out_release(&held);
}

/* Of left-out machines there are never 19: the finest class that has as many as any speaks, if it has 20 points. */
static void where_no_class_has_groups_enough_the_finest_of_the_largest_speaks(void **state)
{
    made_point points[60];
    suite_error_class of = fitted_exact;
    (void)state;
    of.fitted = false;
    for (int i = 0; i < 60; i++)
        points[i] = (made_point){.machine = i % 3, .set = i, .outside = NAN, .left_out = 0.01 * i};
    for (int i = 40; i < 60; i++) points[i].kind = "pipeline";
    suite_held_out held = made_held_out(points, 60, 3);
    suite_ladder ladder = climb(&held, &of);
    assert_int_equal(ladder.chosen, 0);
    assert_int_equal(ladder.rungs[0].points, 40);
    suite_held_out_release(&held);
    held = made_held_out(points, 19, 3);
    assert_int_equal(climb(&held, &of).chosen, -1);
    suite_held_out_release(&held);
}

/* ---- intervals ----------------------------------------------------------------------------------------------------- */

static void what_was_not_checked_is_refused_and_named(void **state)
{
    const suite_prediction inside = {.of = fitted_exact, .devices = 8, .tokens = 8192, .parameters = 2000};
    made_point points[39];
    suite_prediction asked;
    suite_interval interval;
    (void)state;
    make_sets(points, 39);
    points[7].devices = 4;
    suite_held_out held = made_held_out(points, 39, 1);
    assert_ok(suite_interval_of(&held, &inside, 0.9, &interval)); /* twice as much of everything */
    assert_near(interval.low, 0.02, 1e-12);
    assert_near(interval.high, 0.38, 1e-12);
    assert_int_equal(interval.points, 39);
    assert_false(interval.extrapolated);
    asked = inside, asked.devices = 9;
    assert_fails(suite_interval_of(&held, &asked, 0.9, &interval), DIT_ERR_UNSUPPORTED, "9 devices");
    asked = inside, asked.tokens = 8193;
    assert_fails(suite_interval_of(&held, &asked, 0.9, &interval), DIT_ERR_UNSUPPORTED, "8193 tokens");
    asked = inside, asked.parameters = 2001;
    assert_fails(suite_interval_of(&held, &asked, 0.9, &interval), DIT_ERR_UNSUPPORTED, "2001 parameters");
    asked = inside, asked.attention_assumed = true;
    assert_fails(suite_interval_of(&held, &asked, 0.9, &interval), DIT_ERR_UNSUPPORTED, "attention");
    asked = inside, asked.software_unmeasured = true;
    assert_fails(suite_interval_of(&held, &asked, 0.9, &interval), DIT_ERR_UNSUPPORTED, "too little of this software");
    asked.extrapolate = true;
    assert_ok(suite_interval_of(&held, &asked, 0.9, &interval));
    assert_true(interval.extrapolated);
    assert_contains(interval.why, "too little of this software");
    asked = inside, asked.of.fitted = false;
    assert_ok(suite_interval_of(&held, &asked, 0.9, &interval));
    assert_near(interval.level, 0, 0); /* 39 errors, all of one machine */
    assert_fails(suite_interval_of(&held, &inside, 1, &interval), DIT_ERR_USAGE, "level of 1");
    suite_held_out_release(&held);
}

static void a_machine_says_itself_whether_it_was_checked(void **state)
{
    suite_held_out held;
    suite_prediction asked = {.of = fitted_exact};
    (void)state;
    assert_ok(suite_held_out_read(NULL, &held));
    assert_ok(suite_prediction_of(&held, "a100-sxm-80", "pytorch-eager", &asked));
    assert_true(asked.of.fitted);
    assert_false(asked.attention_assumed || asked.software_unmeasured);
    assert_ok(suite_prediction_of(&held, "l40", "pytorch-eager", &asked)); /* assumed, but fitted: its errors tell */
    assert_true(asked.of.fitted && !asked.attention_assumed);
    assert_ok(suite_prediction_of(&held, "mi300x", "pytorch-eager", &asked));
    assert_true(!asked.of.fitted && asked.attention_assumed);
    assert_ok(suite_prediction_of(&held, "h200-sxm-141", "ditbench", &asked)); /* the H100's chip */
    assert_false(asked.attention_assumed);
    assert_false(asked.of.fitted);
    assert_true(asked.software_unmeasured);
    assert_fails(suite_prediction_of(&held, "a100-sxm", "ditbench", &asked), DIT_ERR_NOT_FOUND, "a100-sxm");
    assert_fails(suite_prediction_of(&held, "rtx-5090", "pytorch-eager", &asked), DIT_ERR_UNSUPPORTED, "cost model");
    suite_held_out_release(&held);
}

/* ---- coverage ------------------------------------------------------------------------------------------------------ */

/* Of 40 exchangeable groups, each judged by the 39 others, the two at each end lie outside. */
static void coverage_of_exchangeable_groups_is_its_closed_form(void **state)
{
    suite_coverage coverage;
    (void)state;
    suite_held_out held = sets_of(40);
    assert_ok(suite_coverage_of(&held, true, 0.9, &coverage));
    assert_int_equal(coverage.points, 40);
    assert_int_equal(coverage.below, 2);
    assert_int_equal(coverage.above, 2);
    assert_near(coverage.by_group, 0.9, 1e-12);
    assert_true(suite_coverage_holds(&coverage, 0.9));
    coverage.by_group = 0.849;
    assert_false(suite_coverage_holds(&coverage, 0.9));
    coverage.by_group = 0.951;
    assert_false(suite_coverage_holds(&coverage, 0.9));
    suite_held_out_release(&held);
}

static void no_promise_is_kept_without_points(void **state)
{
    suite_coverage coverage;
    (void)state;
    suite_held_out held = sets_of(10);
    assert_ok(suite_coverage_of(&held, true, 0.9, &coverage));
    assert_int_equal(coverage.points, 0);
    assert_int_equal(coverage.alone, 10);
    assert_false(suite_coverage_holds(&coverage, 0.9));
    suite_held_out_release(&held);
}

/* ---- pairs --------------------------------------------------------------------------------------------------------- */

/* In closed form: if all of n are right, the bound is 0.05^(1/n). */
static void the_bound_of_a_share_is_clopper_and_pearsons(void **state)
{
    (void)state;
    assert_near(suite_share_bound(29, 29), pow(0.05, 1.0 / 29), 1e-9);
    assert_near(suite_share_bound(0, 5), 0, 0);
    assert_near(suite_share_bound(1, 5), 1 - pow(0.95, 0.2), 1e-9); /* P(X >= 1) = 1 - (1-p)^5 */
    assert_near(suite_share_bound(9, 10), 0.6058367, 1e-6);         /* printed tables: 0.606   */
}

/* Pairs of machines 0 and 1 answer 60 questions; the first is twice as fast, and errors are small. `wrong` of the
 * questions are predicted the other way round, with an error that the others do not have. */
static void make_rivals(made_point points[120], int wrong)
{
    for (int q = 0; q < 60; q++) {
        double error = 0.001 * (q % 7 - 3), flip = q < wrong ? 2 : 0;
        points[2 * q] = (made_point){.machine = 0, .set = 2 * q, .question = q, .seconds = 1, .outside = error - flip};
        points[2 * q + 1] =
            (made_point){.machine = 1, .set = 2 * q + 1, .question = q, .seconds = 2, .outside = -error + flip};
        points[2 * q].left_out = points[2 * q + 1].left_out = NAN;
    }
    points[0].left_out = points[1].left_out = 0;
}

static void verdicts_are_counted_and_held_against_the_truth(void **state)
{
    made_point points[120];
    suite_pair_calls calls;
    (void)state;
    make_rivals(points, 0);
    suite_held_out held = made_held_out(points, 120, 2);
    assert_ok(suite_pair_calls_of(&held, true, &calls));
    assert_int_equal(calls.pairs, 60);
    assert_int_equal(calls.ordered, 60);
    assert_int_equal(calls.called, 60);
    assert_int_equal(calls.right, 60);
    assert_int_equal(calls.clusters, 60);
    assert_near(calls.bound_by_pair, pow(0.05, 1.0 / 60), 1e-9);
    suite_held_out_release(&held);
    make_rivals(points, 2); /* too few to be feared, too many not to be counted */
    held = made_held_out(points, 120, 2);
    assert_ok(suite_pair_calls_of(&held, true, &calls));
    assert_int_equal(calls.ordered, 58);
    assert_int_equal(calls.called, 60);
    assert_int_equal(calls.right, 58);
    suite_held_out_release(&held);
}

static void a_licence_is_refused_where_verdicts_or_intervals_fail(void **state)
{
    made_point points[120];
    suite_verdict_licence licence;
    (void)state;
    make_rivals(points, 2);
    suite_held_out held = made_held_out(points, 120, 2);
    assert_ok(suite_verdict_licence_of(&held, &licence));
    assert_false(licence.allowed[true]);
    assert_true(licence.why[true][0] && licence.why[false][0]);
    suite_held_out_release(&held);
    for (int q = 0; q < 60; q++) /* half of the groups are wrong by much, each by another amount */
        if (q % 2) points[2 * q].outside = 0.1 * q;
    held = made_held_out(points, 120, 2);
    assert_ok(suite_verdict_licence_of(&held, &licence));
    assert_false(licence.allowed[true]);
    suite_held_out_release(&held);
}

/* What every report prints of the committed file. It may say no; then the reason is there. */
static void the_licence_of_the_committed_file_follows_from_its_figures(void **state)
{
    static const char *const who[] = {"machines left out", "fitted machines"};
    suite_held_out held;
    suite_verdict_licence licence;
    (void)state;
    assert_ok(suite_held_out_read(NULL, &held));
    assert_ok(suite_verdict_licence_of(&held, &licence));
    for (int fitted = 0; fitted < 2; fitted++) {
        const suite_coverage *c = &licence.coverage[fitted];
        const suite_pair_calls *p = &licence.calls[fitted];
        print_message(
            "# %s: intervals of %.0f %% cover %.1f %% of %d groups (%.1f %% of %d points); %d of %d verdicts on "
            "pairs right (at least %.1f %%; by groups of pairs %d of %d, at least %.1f %%): verdicts %s%s\n",
            who[fitted], 100 * c->mean_level, 100 * c->by_group, c->groups, 100 * c->by_point, c->points, p->right,
            p->called, 100 * p->bound_by_pair, p->right_clusters, p->clusters, 100 * p->bound,
            licence.allowed[fitted] ? "allowed" : "refused: ", licence.why[fitted]);
        bool covers = suite_coverage_holds(c, SUITE_COVERAGE_LEVEL), right = p->bound_by_pair >= SUITE_PAIR_CALLS_LEAST;
        assert_int_equal(licence.allowed[fitted], covers && right);
        assert_int_equal(licence.why[fitted][0] == '\0', covers && right);
        assert_true(c->points > 100 && p->pairs > 50);
    }
    suite_held_out_release(&held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_with_a_mistake_is_refused_with_its_place),
        cmocka_unit_test(a_machine_that_no_plan_knows_counts_as_left_out),
        cmocka_unit_test(the_committed_file_is_read),
        cmocka_unit_test(bounds_are_the_order_statistics_of_their_closed_form),
        cmocka_unit_test(a_group_weighs_one_however_many_points_it_has),
        cmocka_unit_test(nine_errors_ascend_from_bound_to_bound),
        cmocka_unit_test(the_widest_gap_is_of_one_question_on_two_machines),
        cmocka_unit_test(parents_lose_software_then_kind_then_reach),
        cmocka_unit_test(a_layer_speaks_for_no_picture_and_the_fit_for_nobody_left_out),
        cmocka_unit_test(the_ladder_ends_at_the_first_class_with_groups_enough),
        cmocka_unit_test(where_no_class_has_groups_enough_the_finest_of_the_largest_speaks),
        cmocka_unit_test(what_was_not_checked_is_refused_and_named),
        cmocka_unit_test(a_machine_says_itself_whether_it_was_checked),
        cmocka_unit_test(coverage_of_exchangeable_groups_is_its_closed_form),
        cmocka_unit_test(no_promise_is_kept_without_points),
        cmocka_unit_test(the_bound_of_a_share_is_clopper_and_pearsons),
        cmocka_unit_test(verdicts_are_counted_and_held_against_the_truth),
        cmocka_unit_test(a_licence_is_refused_where_verdicts_or_intervals_fail),
        cmocka_unit_test(the_licence_of_the_committed_file_follows_from_its_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
