/* Draws of errors and what follows from them: probabilities, Holm's rule, gaps, ranks, prices; closed forms. */
#include "suite/tests/held_out_fixture.h"

#include "suite/confidence/rank.h"

enum { DRAWS = 20000 };

static const suite_error_class all_fitted = {true, SUITE_CLASS_ANY, SUITE_CLASS_ANY, SUITE_CLASS_ANY};

/* ---- draws --------------------------------------------------------------------------------------------------------- */

/* 20 questions on two machines: errors of one question are alike, those of different questions are not. */
static suite_held_out made_alike(double apart)
{
    made_point points[40];
    for (int q = 0; q < 20; q++)
        for (int m = 0; m < 2; m++)
            points[2 * q + m] = (made_point){
                .machine = m, .set = 2 * q + m, .question = q, .outside = 0.1 * q + apart * m, .left_out = q ? NAN : 0};
    return made_held_out(points, 40, 2);
}

static double *drawn(const suite_error_sample *sample, int machines, suite_draw_rule rule)
{
    const suite_error_sample *samples[8];
    double *errors = calloc((size_t)(DRAWS * machines), sizeof *errors);
    assert_non_null(errors);
    for (int m = 0; m < machines; m++) samples[m] = sample;
    assert_ok(suite_draw_errors(samples, machines, DRAWS, 7, rule, errors));
    return errors;
}

/* Of two independent draws from 20 values a tenth apart, 190 of 400 pairs have the first at least a tenth lower. */
static void independent_draws_are_those_of_the_sample(void **state)
{
    suite_error_sample sample;
    int lower = 0, least = 0;
    double sum = 0;
    (void)state;
    suite_held_out held = made_alike(0);
    assert_ok(suite_error_sample_take(&held, &all_fitted, NULL, &sample));
    double *errors = drawn(&sample, 2, SUITE_DRAW_INDEPENDENT);
    for (int j = 0; j < DRAWS; j++) {
        lower += errors[2 * j] < errors[2 * j + 1] - 0.05;
        least += errors[2 * j] < 0.05;
        sum += errors[2 * j];
    }
    assert_near((double)lower / DRAWS, 190.0 / 400, 0.015); /* four standard errors */
    assert_near((double)least / DRAWS, 1.0 / 20, 0.007);
    assert_near(sum / DRAWS, 0.95, 0.02);
    free(errors);
    suite_error_sample_release(&sample);
    suite_held_out_release(&held);
}

static void paired_draws_are_of_one_question_and_of_two_machines(void **state)
{
    suite_error_sample sample;
    (void)state;
    suite_held_out held = made_alike(0.01);
    assert_ok(suite_error_sample_take(&held, &all_fitted, NULL, &sample));
    double *errors = drawn(&sample, 2, SUITE_DRAW_PAIRED);
    int swapped = 0;
    for (int j = 0; j < DRAWS; j++) {
        assert_near(fabs(errors[2 * j] - errors[2 * j + 1]), 0.01, 1e-12);
        swapped += errors[2 * j] > errors[2 * j + 1];
    }
    assert_near((double)swapped / DRAWS, 0.5, 0.015);
    free(errors);
    suite_error_sample_release(&sample);
    suite_held_out_release(&held);
}

/* A third machine finds no third error of the question, and draws alone. */
static void machines_beyond_a_family_draw_alone(void **state)
{
    suite_error_sample sample;
    int far = 0;
    (void)state;
    suite_held_out held = made_alike(0.01);
    assert_ok(suite_error_sample_take(&held, &all_fitted, NULL, &sample));
    double *errors = drawn(&sample, 3, SUITE_DRAW_PAIRED);
    for (int j = 0; j < DRAWS; j++) far += fabs(errors[3 * j] - errors[3 * j + 2]) > 0.05;
    assert_near((double)far / DRAWS, 0.95, 0.01);
    free(errors);
    suite_error_sample_release(&sample);
    suite_held_out_release(&held);
}

static void draws_are_the_same_whoever_stands_beside(void **state)
{
    suite_error_sample sample;
    (void)state;
    suite_held_out held = made_alike(0.01);
    assert_ok(suite_error_sample_take(&held, &all_fitted, NULL, &sample));
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++) {
        double *two = drawn(&sample, 2, (suite_draw_rule)rule), *four = drawn(&sample, 4, (suite_draw_rule)rule);
        for (int j = 0; j < DRAWS; j++)
            for (int m = 0; m < 2; m++) assert_near(two[2 * j + m], four[4 * j + m], 0);
        free(two);
        free(four);
    }
    suite_error_sample_release(&sample);
    suite_held_out_release(&held);
}

static void nothing_is_drawn_from_nothing(void **state)
{
    const suite_error_sample none = {0}, *samples[] = {&none};
    double error;
    (void)state;
    assert_fails(suite_draw_errors(samples, 1, 1, 7, SUITE_DRAW_PAIRED, &error), DIT_ERR_USAGE, "without errors");
}

/* ---- pairs --------------------------------------------------------------------------------------------------------- */

static double zeros[8 * DRAWS];

static suite_contest contest_of(const suite_contender *contenders, int count, int draws)
{
    return (suite_contest){.contenders = contenders, .count = count, .draws = draws, .errors = {zeros, zeros}};
}

/* With 100 draws without error a verdict is wrong with 1/101; Holm allows that for five pairs, and not for six. */
static void holms_rule_is_over_all_pairs_that_are_shown(void **state)
{
    static const suite_contender four[] = {{1, 1, 1, false}, {2, 2, 2, false}, {3, 3, 3, false}, {4, 4, 4, false}};
    suite_pair pairs[6];
    suite_rank ranks[4];
    (void)state;
    suite_contest contest = contest_of(four, 3, 100);
    assert_ok(suite_rank_all(&contest, pairs, ranks));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pairs[i].verdict, SUITE_PAIR_FIRST);
        assert_near(pairs[i].adjusted, 3.0 / 101, 1e-12);
        assert_near(pairs[i].p_first, 1, 0);
    }
    contest.count = 4;
    assert_ok(suite_rank_all(&contest, pairs, ranks));
    for (int i = 0; i < 6; i++) assert_int_equal(pairs[i].verdict, SUITE_PAIR_TIED);
    contest.draws = 1000;
    assert_ok(suite_rank_all(&contest, pairs, ranks));
    for (int i = 0; i < 6; i++) assert_int_equal(pairs[i].verdict, SUITE_PAIR_FIRST);
    assert_int_equal(pairs[5].a, 2);
    assert_int_equal(pairs[5].b, 3);
}

/* One rule sees no difference ever, the other one in half of the draws. */
static void the_less_certain_rule_counts(void **state)
{
    static const suite_contender two[] = {{1, 1, 1, false}, {2, 2, 2, false}};
    static double other[2 * 1000];
    suite_pair pair;
    suite_rank ranks[2];
    (void)state;
    for (int j = 0; j < 1000; j++) other[2 * j] = j % 2 ? 1 : 0; /* e > 2 */
    suite_contest contest = contest_of(two, 2, 1000);
    contest.errors[SUITE_DRAW_PAIRED] = other;
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_near(pair.p_first, 0.5, 1e-12);
    assert_int_equal(pair.verdict, SUITE_PAIR_TIED);
    assert_int_equal(ranks[0].low, 1);
    assert_int_equal(ranks[0].high, 2);
    assert_true(ranks[0].leads && ranks[1].leads);
    for (int j = 0; j < 1000; j++) other[2 * j] = j < 40 ? 1 : 0;
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_near(pair.p_first, 0.96, 1e-12);
    assert_int_equal(pair.verdict, SUITE_PAIR_FIRST);
    assert_int_equal(ranks[0].high, 1);
    assert_false(ranks[1].leads);
}

static void a_machine_left_out_must_be_ahead_by_more_than_any_error_seen(void **state)
{
    suite_contender two[] = {{1, 1, 1, true}, {1.6, 1.6, 1.6, false}};
    suite_pair pair;
    suite_rank ranks[2];
    (void)state;
    suite_contest contest = contest_of(two, 2, 1000);
    contest.widest_gap = 0.5; /* ln 1.65 */
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_int_equal(pair.verdict, SUITE_PAIR_TIED);
    assert_true(pair.within_gap);
    two[1] = (suite_contender){1.7, 1.7, 1.7, false};
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_int_equal(pair.verdict, SUITE_PAIR_FIRST);
    contest.widest_gap = INFINITY; /* nothing was seen of two machines left out */
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_int_equal(pair.verdict, SUITE_PAIR_TIED);
    assert_true(pair.within_gap);
    two[0].left_out = false;
    two[1] = (suite_contender){1.1, 1.1, 1.1, false};
    assert_ok(suite_rank_all(&contest, &pair, ranks)); /* both are in the fit */
    assert_int_equal(pair.verdict, SUITE_PAIR_FIRST);
}

static void a_verdict_on_cost_holds_at_the_worst_prices(void **state)
{
    suite_contender two[] = {{10, 9, 12, false}, {15, 13, 20, false}};
    suite_pair pair;
    suite_rank ranks[2];
    (void)state;
    suite_contest contest = contest_of(two, 2, 1000);
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_int_equal(pair.verdict, SUITE_PAIR_FIRST);
    two[1].least = 11; /* below the 12 that the first may cost */
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_int_equal(pair.verdict, SUITE_PAIR_DEPENDS_ON_PRICE);
    assert_string_equal(suite_pair_verdict_name(pair.verdict), "depends on price");
    two[0] = (suite_contender){30, 25, 40, false};
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_int_equal(pair.verdict, SUITE_PAIR_SECOND);
    two[0] = (suite_contender){15, 9, 40, false};
    assert_ok(suite_rank_all(&contest, &pair, ranks)); /* equal scores, whatever the prices */
    assert_int_equal(pair.verdict, SUITE_PAIR_TIED);
    assert_near(suite_break_even_price(2, 3, 40), 60, 1e-12); /* 2 s at 60 an hour cost what 3 s at 40 do */
}

static void scores_that_are_none_are_refused(void **state)
{
    suite_contender two[] = {{1, 1, 1, false}, {0, 0, 0, false}};
    suite_pair pair;
    suite_rank ranks[2];
    (void)state;
    suite_contest contest = contest_of(two, 2, 10);
    assert_fails(suite_rank_all(&contest, &pair, ranks), DIT_ERR_USAGE, "contender 1");
    two[1] = (suite_contender){2, 3, 3, false};
    assert_fails(suite_rank_all(&contest, &pair, ranks), DIT_ERR_USAGE, "contender 1");
    contest.draws = 0;
    assert_fails(suite_rank_all(&contest, &pair, ranks), DIT_ERR_USAGE, "draws");
}

/* ---- ranks --------------------------------------------------------------------------------------------------------- */

/* The first of three falls to the last place in 3 of 100 draws, and to the second in 10. */
static void rank_intervals_are_from_five_to_ninety_five_percent(void **state)
{
    static const suite_contender three[] = {{1, 1, 1, false}, {2, 2, 2, false}, {3, 3, 3, false}};
    static double errors[3 * 100];
    suite_pair pairs[3];
    suite_rank ranks[3];
    (void)state;
    for (int j = 0; j < 100; j++) errors[3 * j] = j < 3 ? 2 : j < 13 ? 0.9 : 0; /* e^0.9 = 2.46 */
    suite_contest contest = contest_of(three, 3, 100);
    contest.errors[SUITE_DRAW_INDEPENDENT] = contest.errors[SUITE_DRAW_PAIRED] = errors;
    assert_ok(suite_rank_all(&contest, pairs, ranks));
    assert_int_equal(ranks[0].low, 1);
    assert_int_equal(ranks[0].high, 2);
    assert_near(ranks[0].p_leads, 0.87, 1e-12);
    assert_int_equal(ranks[1].low, 1);
    assert_int_equal(ranks[1].high, 2);
    assert_true(ranks[1].leads);
    assert_int_equal(ranks[2].low, 3);
    assert_int_equal(ranks[2].high, 3);
    assert_false(ranks[2].leads);
}

static void equal_machines_share_the_better_rank(void **state)
{
    static const suite_contender two[] = {{1, 1, 1, false}, {1, 1, 1, false}};
    suite_pair pair;
    suite_rank ranks[2];
    (void)state;
    suite_contest contest = contest_of(two, 2, 100);
    assert_ok(suite_rank_all(&contest, &pair, ranks));
    assert_int_equal(pair.verdict, SUITE_PAIR_TIED);
    assert_near(pair.p_first, 0.5, 1e-12);
    assert_int_equal(ranks[1].low, 1);
    assert_int_equal(ranks[1].high, 1);
    assert_true(ranks[0].leads && ranks[1].leads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_draws_are_those_of_the_sample),
        cmocka_unit_test(paired_draws_are_of_one_question_and_of_two_machines),
        cmocka_unit_test(machines_beyond_a_family_draw_alone),
        cmocka_unit_test(draws_are_the_same_whoever_stands_beside),
        cmocka_unit_test(nothing_is_drawn_from_nothing),
        cmocka_unit_test(holms_rule_is_over_all_pairs_that_are_shown),
        cmocka_unit_test(the_less_certain_rule_counts),
        cmocka_unit_test(a_machine_left_out_must_be_ahead_by_more_than_any_error_seen),
        cmocka_unit_test(a_verdict_on_cost_holds_at_the_worst_prices),
        cmocka_unit_test(scores_that_are_none_are_refused),
        cmocka_unit_test(rank_intervals_are_from_five_to_ninety_five_percent),
        cmocka_unit_test(equal_machines_share_the_better_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
