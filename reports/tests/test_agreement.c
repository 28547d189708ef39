/* Published points beside simulated cases: which belong together, how near they are, and what claims say of them. */
#include "reports/records/agreement.h"
#include "reports/records/claims.h"

#include "reports/tests/published_fixture.h"

/* ---- pairs and statistics ---------------------------------------------------------------------------------------- */

static void a_point_meets_its_case_and_a_search_the_fastest(void **state)
{
    (void)state;
    report_table table;
    make_table(&table);
    assert_int_equal(table.published_count, 7);
    static const char *const twins[] = {"1 1024x1024",  "u2 1024x1024",    "r2 1024x1024", "u4 1024x1024",
                                        "r4 1024x1024", "u2 r2 1024x1024", "u8 1024x1024"};
    for (int i = 0; i < 7; i++) assert_string_equal(table.published[i].twin->case_id, twins[i]);
    assert_near(report_published_error(&table.published[1]), 0.2, 1e-12);
    assert_near(report_published_error(&table.published[6]), 0.6 / 0.75 - 1, 1e-12);
    assert_true(isnan(report_published_error(&table.published[4])));
    assert_near(table.published[3].kase.metric[REPORT_SPEEDUP].median, 2, 1e-12);
    assert_near(table.published[3].kase.metric[REPORT_SPEEDUP].low, 1.99 / 1.01, 1e-12);
    report_table_release(&table);
}

/* Errors: 0 (in fit); 0.2, 0.0769, -0.2, 0.4, -0.2. Pairs: u2 < r2 in order; u4 > hybrid of four in order. */
static void the_statistics_are_those_by_hand(void **state)
{
    (void)state;
    report_table table;
    report_agreement a;
    const report_published *points[7];
    make_table(&table);
    for (int i = 0; i < 7; i++) points[i] = &table.published[i];
    assert_int_equal(report_agreement_of(points, 7, REPORT_LATENCY, DIT_AGREEMENT_ALL, &a), DIT_OK);
    assert_int_equal(a.numbers.points, 6);
    assert_near(a.numbers.median_error, 0.2, 1e-12);
    assert_near(a.numbers.p90_error, 0.4, 1e-12);
    assert_int_equal(a.numbers.pairs, 2);
    assert_int_equal(a.numbers.ordered, 2);
    assert_int_equal(a.oom, 1);
    assert_int_equal(a.oom_agreed, 1);
    assert_int_equal(a.oom_wrong, 0);
    assert_int_equal(report_agreement_of(points, 7, REPORT_LATENCY, DIT_AGREEMENT_IN_FIT, &a), DIT_OK);
    assert_int_equal(a.numbers.points, 1);
    assert_near(a.numbers.median_error, 0, 0);
    assert_int_equal(a.numbers.pairs, 0);
    assert_int_equal(report_agreement_of(points, 7, REPORT_LATENCY, DIT_AGREEMENT_NOT_IN_FIT, &a), DIT_OK);
    assert_int_equal(a.numbers.points, 5);
    assert_int_equal(report_agreement_of(points, 7, REPORT_TOTAL_BYTES, DIT_AGREEMENT_ALL, &a), DIT_OK);
    assert_int_equal(a.numbers.points, 0);
    assert_near(a.numbers.median_error, 0, 0);
    report_table_release(&table);
}

static void wrong_orders_and_wrong_memory_are_counted(void **state)
{
    (void)state;
    static const made_case printed[] = {{"ulysses", "u2", "1024x1024", 2, 1.5},
                                        {"ring", "r2", "1024x1024", 2, 1.0},
                                        {"ring", "r4", "1024x1024", 4, 1.0},
                                        {"ulysses", "u4", "1024x1024", 4, 0}};
    report_table table;
    report_agreement a;
    dit_buffer lines = {0};
    const report_published *points[6];
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    for (int i = 0; i < 4; i++) add_published(&lines, i, &printed[i], "");
    for (int i = 4; i < 6; i++) add_published(&lines, i, &printed[i - 4], ",\"status\":\"doubtful\"");
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    for (int i = 0; i < 6; i++) points[i] = &table.published[i];
    assert_int_equal(report_agreement_of(points, 6, REPORT_LATENCY, DIT_AGREEMENT_ALL, &a), DIT_OK);
    assert_int_equal(a.numbers.points, 2);
    assert_int_equal(a.numbers.pairs, 1);
    assert_int_equal(a.numbers.ordered, 0);
    assert_int_equal(a.oom, 1);
    assert_int_equal(a.oom_agreed, 0);
    assert_int_equal(a.oom_wrong, 1);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

static void a_measured_case_is_no_prediction(void **state)
{
    (void)state;
    static const made_case here = {"ulysses", "u2", "1024x1024", 2, 1.2};
    report_table table;
    dit_buffer lines = {0};
    add_measured(&lines, &here, 6);
    add_published(&lines, 0, &here, ",\"case_id_of_another\":1");
    dit_buffer_printf(&lines, LATENCY("\"value\":1,\"case_id\":\"u2 1024x1024 here\""));
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    for (int i = 0; i < table.published_count; i++) assert_null(table.published[i].twin);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

static void a_simulated_case_meets_its_measured_twin(void **state)
{
    (void)state;
    static const made_case here = {"ulysses", "u2", "1024x1024", 2, 1.0}, other = {"ring", "r4", "1024x1024", 4, 1.0};
    report_table table;
    report_judgement judgement;
    dit_buffer lines = {0};
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    add_measured(&lines, &here, 6);
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    const report_claim claim = {
        .id = "x", .claim = "x", .source = "", .expr = "median('error_to_measured') <= 0.15", .partly = "1 == 1"};
    assert_int_equal(report_claim_judge(&table, &claim, &judgement), DIT_OK);
    assert_int_equal(judgement.verdict, REPORT_CLAIM_PARTLY); /* 1.2 s of 1.0 s */
    assert_true(judgement.simulated);
    report_judgement_release(&judgement);
    report_table_release(&table);
    add_measured(&lines, &other, 6); /* its simulated twin is out of memory: no claim on errors passes over it */
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    assert_int_equal(report_claim_judge(&table, &claim, &judgement), DIT_OK);
    assert_int_equal(judgement.verdict, REPORT_CLAIM_UNDECIDED);
    assert_contains(judgement.reason, "no error_to_measured (oom)");
    report_judgement_release(&judgement);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static void claims_on_simulated_cases_have_their_own_words(void **state)
{
    (void)state;
    static const struct {
        const char *expr, *partly;
        report_verdict verdict;
        const char *word;
    } rows[] = {
        {"median('latency_s', mesh='u2') < median('latency_s', mesh='r2')", NULL, REPORT_CLAIM_HOLDS, "reproduced"},
        {"median('latency_s', mesh='u2') > 2", "median('latency_s', mesh='u2') > 1", REPORT_CLAIM_PARTLY, "partly"},
        {"median('latency_s', mesh='u2') > 2", "median('latency_s', mesh='u2') > 3", REPORT_CLAIM_FAILS,
         "not reproduced"},
        {"median('latency_s', mesh='u2') > 2", "median('latency_s', mesh='r4') > 3", REPORT_CLAIM_FAILS,
         "not reproduced"},
        {"median('latency_s', mesh='r4') > 2", "1 == 1", REPORT_CLAIM_UNDECIDED, "undecided"},
        {"count(mesh='r4', status='oom') == 1", NULL, REPORT_CLAIM_HOLDS, "reproduced"},
        {"count(mesh='u2', status='oom') == 1", NULL, REPORT_CLAIM_FAILS, "not reproduced"},
        {"count(mesh='u2', status='oom') == 0", NULL, REPORT_CLAIM_HOLDS, "reproduced"},
        {"max('error_to_published', mesh='u2') < 0.25", NULL, REPORT_CLAIM_HOLDS, "reproduced"},
    };
    report_table table;
    make_table(&table);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const report_claim claim = {
            .id = "x", .claim = "x", .source = "", .expr = rows[i].expr, .partly = rows[i].partly};
        report_judgement judgement;
        assert_int_equal(report_claim_judge(&table, &claim, &judgement), DIT_OK);
        if (judgement.verdict != rows[i].verdict) fail_msg("%s: %s", rows[i].expr, judgement.reason);
        assert_string_equal(report_judgement_word(&judgement), rows[i].word);
        assert_string_equal(report_judgement_evidence(&judgement), "simulated");
        report_judgement_release(&judgement);
    }
    report_table_release(&table);
}

/* A session without the paper's numbers cannot say that it reproduces the paper. */
static void without_compared_points_nothing_is_reproduced(void **state)
{
    (void)state;
    static const struct {
        const char *expr, *word;
    } rows[] = {{"median('latency_s', mesh='u2') < median('latency_s', mesh='r2')", "holds (simulated)"},
                {"median('latency_s', mesh='u2') > 2", "fails (simulated)"},
                {"median('latency_s', mesh='r4') > 2", "undecided"}};
    report_table table;
    dit_buffer lines = {0};
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const report_claim claim = {.id = "x", .claim = "x", .source = "", .expr = rows[i].expr};
        report_judgement judgement;
        assert_int_equal(report_claim_judge(&table, &claim, &judgement), DIT_OK);
        assert_int_equal(judgement.compared, 0);
        assert_string_equal(report_judgement_word(&judgement), rows[i].word);
        report_judgement_release(&judgement);
    }
    report_table_release(&table);
    dit_buffer_release(&lines);
}

/* What the authors noted about their parameters says nothing of others, and nothing of what was not decided. */
static void a_note_stands_only_where_it_was_written_for(void **state)
{
    (void)state;
    const report_judgement fails = {.verdict = REPORT_CLAIM_FAILS}, undecided = {.verdict = REPORT_CLAIM_UNDECIDED},
                           holds = {.verdict = REPORT_CLAIM_HOLDS}, partly = {.verdict = REPORT_CLAIM_PARTLY};
    report_claim claim = {.because = "so", .noted = true};
    assert_true(report_claim_shows_note(&claim, &fails));
    assert_true(report_claim_shows_note(&claim, &partly));
    assert_false(report_claim_shows_note(&claim, &undecided));
    assert_false(report_claim_shows_note(&claim, &holds));
    claim.noted = false; /* other parameters */
    assert_false(report_claim_shows_note(&claim, &fails));
    assert_false(report_claim_shows_note(&claim, &partly));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_meets_its_case_and_a_search_the_fastest),
        cmocka_unit_test(the_statistics_are_those_by_hand),
        cmocka_unit_test(wrong_orders_and_wrong_memory_are_counted),
        cmocka_unit_test(a_measured_case_is_no_prediction),
        cmocka_unit_test(a_simulated_case_meets_its_measured_twin),
        cmocka_unit_test(claims_on_simulated_cases_have_their_own_words),
        cmocka_unit_test(without_compared_points_nothing_is_reproduced),
        cmocka_unit_test(a_note_stands_only_where_it_was_written_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
