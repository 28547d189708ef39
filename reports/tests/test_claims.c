#include "reports/figures/figure.h"
#include "reports/records/claims.h"

#include "reports/tests/fixture.h"

static report_table claims_table;

static int set_up(void **state)
{
    (void)state;
    fixture_table(&claims_table);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    report_table_release(&claims_table);
    return 0;
}

static void judge(const report_table *table, const char *expr, const char *requires, report_judgement *out)
{
    const report_claim claim = {.id = "x", .claim = "x", .source = "", .expr = expr, .requires = requires};
    assert_int_equal(report_claim_judge(table, &claim, out), DIT_OK);
}

static void expect(const char *expr, report_verdict verdict, const char *reason)
{
    report_judgement judgement;
    judge(&claims_table, expr, NULL, &judgement);
    if (judgement.verdict != verdict) {
        fail_msg("%s: %s (%s)", expr, report_verdict_name(judgement.verdict), judgement.reason);
    }
    assert_contains(judgement.reason, reason);
    report_judgement_release(&judgement);
}

static void claims_hold_or_fail_by_the_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *expr;
        report_verdict verdict;
    } rows[] = {
        {"median('latency_s', mesh='u2') < median('latency_s', mesh='1')", REPORT_CLAIM_HOLDS},
        {"median('latency_s', mesh='u2') > median('latency_s', mesh='1')", REPORT_CLAIM_FAILS},
        {"median('latency_s', mesh='1') / median('latency_s', mesh='u2') > 1.5", REPORT_CLAIM_HOLDS},
        {"median('speedup', world_size=2, method='ulysses') > 1.5", REPORT_CLAIM_HOLDS},
        {"max('communication_bytes', world_size=2) == 4000", REPORT_CLAIM_HOLDS},
        {"min('communication_bytes', world_size=2) == 3999", REPORT_CLAIM_FAILS},
        {"mean('communication_bytes', world_size=2) == 4000", REPORT_CLAIM_HOLDS},
        {"abs(geomean('communication_bytes', world_size=2) - 4000) < 1e-6", REPORT_CLAIM_HOLDS},
        {"count() == 4 && count(status='ok') == 3 && count(world_size=2) == 2", REPORT_CLAIM_HOLDS},
        {"count(where='world_size > 1') == 3", REPORT_CLAIM_HOLDS},
        {"count(mesh='nine') == 0", REPORT_CLAIM_HOLDS},
        {"all('communication_bytes == predicted_bytes', world_size=2)", REPORT_CLAIM_HOLDS},
        {"all('communication_bytes < 4000', world_size=2)", REPORT_CLAIM_FAILS},
        {"any('method == \"ring\"')", REPORT_CLAIM_HOLDS},
        {"any('method == \"usp\"')", REPORT_CLAIM_FAILS},
        {"max('rel_l2', world_size=2) <= 1e-6", REPORT_CLAIM_HOLDS},
        {"max(1, 2) == 2 && min(3, 1) == 1", REPORT_CLAIM_HOLDS},
        {"on_line('communication_bytes', over='predicted_bytes', at=2 * 500, where='mesh == \"1\" || mesh == \"u2\"') "
         "== 1000",
         REPORT_CLAIM_HOLDS},
        {"on_line('communication_bytes', over='predicted_bytes', at=4000, world_size=2) == 4000", REPORT_CLAIM_HOLDS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) expect(rows[i].expr, rows[i].verdict, "");
}

static void without_the_numbers_a_claim_is_undecided(void **state)
{
    (void)state;
    expect("median('latency_s', mesh='u4') < 1", REPORT_CLAIM_UNDECIDED, "no latency_s (timeout)");
    expect("median('latency_s', mesh='nine') < 1", REPORT_CLAIM_UNDECIDED, "no case matches");
    expect("on_line('communication_bytes', over='predicted_bytes', at=9999, world_size=2) > 0", REPORT_CLAIM_UNDECIDED,
           "no two cases lie on both sides");
    expect("on_line('latency_s', over='predicted_bytes', at=4000, world_size=2) > 0", REPORT_CLAIM_UNDECIDED,
           "reads no times");
    expect("on_line('communication_bytes', at=4000) > 0", REPORT_CLAIM_UNDECIDED, "needs over=");
    expect("median('latency', mesh='u2') < 1", REPORT_CLAIM_UNDECIDED, "no metric \"latency\"");
    expect("median('latency_s', mehs='u2') < 1", REPORT_CLAIM_UNDECIDED, "no case has a tag \"mehs\"");
    expect("all('rel_l2 < 1')", REPORT_CLAIM_UNDECIDED, "has no rel_l2");
    expect("all('method == \"ring\"', mesh='nine')", REPORT_CLAIM_UNDECIDED, "no case matches");
    expect("count(where='nothing == 1') == 0", REPORT_CLAIM_UNDECIDED, "unknown name");
    expect("latency_s < 1", REPORT_CLAIM_UNDECIDED, "unknown name");
    expect("median('latency_s', 'u2') < 1", REPORT_CLAIM_UNDECIDED, "without a name");
    expect("1 <", REPORT_CLAIM_UNDECIDED, "column");
    expect("median('latency_s', mesh='u2')", REPORT_CLAIM_HOLDS, ""); /* a number that is not zero is true */
    expect("'text'", REPORT_CLAIM_UNDECIDED, "truth value");
}

static void a_side_that_settles_nothing_need_not_have_data(void **state)
{
    (void)state;
    expect("count() == 99 && median('latency_s', mesh='u4') < 1", REPORT_CLAIM_FAILS, "");
}

static void requirements_come_first(void **state)
{
    (void)state;
    report_judgement judgement;
    judge(&claims_table, "1 == 1", "count(world_size=8) > 0", &judgement);
    assert_int_equal(judgement.verdict, REPORT_CLAIM_UNDECIDED);
    assert_contains(judgement.reason, "requires: count(world_size=8) > 0");
    report_judgement_release(&judgement);
    judge(&claims_table, "1 == 1", "count(world_size=2) > 0", &judgement);
    assert_int_equal(judgement.verdict, REPORT_CLAIM_HOLDS);
    report_judgement_release(&judgement);
}

static void the_numbers_are_shown(void **state)
{
    (void)state;
    report_judgement judgement;
    judge(&claims_table, "median('latency_s', mesh='u2') < 1 && count(world_size=2) == 2", NULL, &judgement);
    assert_string_equal(judgement.numbers.data,
                        "median('latency_s', mesh='u2') = 604 ms [601 ms, 607 ms], 1 case, n = 7\n"
                        "count(world_size=2) = 2");
    report_judgement_release(&judgement);
}

/* One case per label with the given latencies, a process each. */
static void make_table(const char *const *names, const int (*latency_ns)[8], int cases, int processes,
                       report_table *table)
{
    dit_buffer lines = {0};
    for (int c = 0; c < cases; c++) {
        for (int p = 0; p < processes; p++) {
            dit_buffer_printf(
                &lines,
                "{\"kind\":\"result\",\"case_id\":\"%s\",\"label\":\"%s\",\"process\":%d,\"status\":\"ok\","
                "\"tags\":{\"name\":\"%s\"},\"record\":{\"samples\":{\"latency_ns\":[%d]},"
                "\"memory\":{\"weights_bytes\":%d}}}\n",
                names[c], names[c], p, names[c], latency_ns[c][p], c + 1);
        }
    }
    assert_int_equal(fixture_parse("{}", lines.data, table), DIT_OK);
    dit_buffer_release(&lines);
}

static const char *const two_names[] = {"a", "b"};

static void timing_with_few_processes_is_never_a_verdict(void **state)
{
    (void)state;
    static const int apart[2][8] = {{100, 100, 100, 100, 100, 100}, {900, 900, 900, 900, 900, 900}};
    for (int n = 1; n <= 6; n++) {
        report_table table;
        report_judgement judgement;
        make_table(two_names, apart, 2, n, &table);
        judge(&table, "median('latency_s', name='a') < median('latency_s', name='b')", NULL, &judgement);
        assert_int_equal(judgement.verdict, n < 6 ? REPORT_CLAIM_UNDECIDED : REPORT_CLAIM_HOLDS);
        if (n < 6) assert_contains(judgement.reason, "low_n");
        report_judgement_release(&judgement);
        judge(&table, "all('latency_s < 1')", NULL, &judgement);
        assert_int_equal(judgement.verdict, n < 6 ? REPORT_CLAIM_UNDECIDED : REPORT_CLAIM_HOLDS);
        report_judgement_release(&judgement);
        judge(&table, "max('weights_bytes') == 2", NULL, &judgement); /* bytes need no n */
        assert_int_equal(judgement.verdict, REPORT_CLAIM_HOLDS);
        report_judgement_release(&judgement);
        report_table_release(&table);
    }
}

static void overlapping_intervals_are_undecided(void **state)
{
    (void)state;
    static const int overlap[2][8] = {{100, 101, 102, 103, 104, 120}, {110, 111, 112, 113, 114, 115}};
    static const char *const exprs[] = {"median('latency_s', name='a') < median('latency_s', name='b')",
                                        "median('latency_s', name='a') >= median('latency_s', name='b')"};
    report_table table;
    make_table(two_names, overlap, 2, 6, &table);
    for (int i = 0; i < 2; i++) {
        report_judgement judgement;
        judge(&table, exprs[i], NULL, &judgement);
        assert_int_equal(judgement.verdict, REPORT_CLAIM_UNDECIDED);
        assert_contains(judgement.reason, "intervals allow both");
        report_judgement_release(&judgement);
    }
    report_table_release(&table);
}

static void hostile_expressions_end_in_a_verdict(void **state)
{
    (void)state;
    static const char *const pieces[] = {"median(",
                                         "all(",
                                         "'latency_s'",
                                         "'",
                                         ",",
                                         "mesh=",
                                         "where=",
                                         ")",
                                         "count(",
                                         "1",
                                         "<",
                                         "&&",
                                         "'all(1)'",
                                         "'where'",
                                         "=",
                                         "geomean(",
                                         "-",
                                         "''",
                                         "\"world_size > 1\""};
    uint64_t bits = 7;
    for (int t = 0; t < 20000; t++) {
        char text[256] = "";
        for (int i = 0; i < 1 + t % 12; i++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            strcat(text, pieces[(bits >> 33) % (sizeof pieces / sizeof pieces[0])]);
        }
        report_judgement judgement;
        judge(&claims_table, text, t % 3 ? NULL : text, &judgement);
        assert_true(judgement.verdict != REPORT_CLAIM_UNDECIDED || judgement.reason[0]);
        report_judgement_release(&judgement);
    }
}

/* A case with one tag, its ranks and its time. */
typedef struct {
    const char *tag;
    int world_size, latency_ns;
} timed_case;

/* Makes a table of cases c0, c1, ..., whose tags are values of `key`. */
static void make_timed(const char *key, const timed_case *rows, size_t count, report_table *table)
{
    dit_buffer lines = {0};
    for (size_t i = 0; i < count; i++)
        dit_buffer_printf(
            &lines,
            "{\"kind\":\"result\",\"case_id\":\"%zu\",\"label\":\"c%zu\",\"process\":0,\"status\":\"ok\","
            "\"tags\":{\"%s\":\"%s\",\"world_size\":%d},\"record\":{\"samples\":{\"latency_ns\":[%d]}}}\n",
            i, i, key, rows[i].tag, rows[i].world_size, rows[i].latency_ns);
    assert_int_equal(fixture_parse("{}", lines.data, table), DIT_OK);
    dit_buffer_release(&lines);
}

/* An oracle is one rank like the baseline, and slower: neither speedup nor counts nor bars may see it. */
static void oracles_are_in_the_table_and_nowhere_else(void **state)
{
    static const timed_case rows[] = {{"oracle", 1, 8000}, {"single", 1, 1000}, {"pipefusion", 2, 500}};
    report_table table;
    report_grid grid;
    report_judgement judgement;
    (void)state;
    make_timed("method", rows, sizeof rows / sizeof *rows, &table);
    assert_int_equal(table.case_count, 3);
    assert_int_equal(fixture_case(&table, "c0")->metric[REPORT_LATENCY].n, 1);
    assert_int_equal(fixture_case(&table, "c0")->metric[REPORT_SPEEDUP].n, 0);
    assert_near(fixture_case(&table, "c2")->metric[REPORT_SPEEDUP].median, 2, 1e-9);
    judge(&table, "count() == 2 && count(method='oracle') == 0", NULL, &judgement);
    assert_int_equal(judgement.verdict, REPORT_CLAIM_HOLDS);
    const report_figure_kind *kind = report_figure_kind_find("latency_bars");
    assert_int_equal(report_grid_build(&table, &kind->defaults, kind, &grid), DIT_OK);
    assert_int_equal(grid.count, 2);
    report_grid_release(&grid);
    report_judgement_release(&judgement);
    report_table_release(&table);
}

/* A cached run of one rank is no baseline: it comes first in the table, and its speedup is over the run without. */
static void speedups_are_over_the_run_without_a_cache(void **state)
{
    static const timed_case rows[] = {{"fbcache(0.1)", 1, 500}, {"none", 1, 1000}, {"fbcache(0.1)", 2, 250}};
    report_table table;
    (void)state;
    make_timed("cache", rows, sizeof rows / sizeof *rows, &table);
    assert_near(fixture_case(&table, "c0")->metric[REPORT_SPEEDUP].median, 2, 1e-9);
    assert_near(fixture_case(&table, "c1")->metric[REPORT_SPEEDUP].median, 1, 1e-9);
    assert_near(fixture_case(&table, "c2")->metric[REPORT_SPEEDUP].median, 4, 1e-9);
    report_table_release(&table);
}

/* Both together gain 1000/300; alone they gain 2 and 1000/550. Without either half there is no product. */
static void a_product_compares_both_with_each_alone(void **state)
{
    static const timed_case rows[] = {{"fbcache(0.1)", 1, 500},
                                      {"none", 1, 1000},
                                      {"fbcache(0.1)", 2, 300},
                                      {"none", 2, 550},
                                      {"interval(2)", 2, 200}};
    report_table table;
    (void)state;
    make_timed("cache", rows, sizeof rows / sizeof *rows, &table);
    assert_near(fixture_case(&table, "c2")->metric[REPORT_SPEEDUP_PRODUCT].median, 1000.0 / 300 / (2 * 1000.0 / 550),
                1e-9);
    for (int i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof name, "c%d", i);
        if (i != 2) assert_int_equal(fixture_case(&table, name)->metric[REPORT_SPEEDUP_PRODUCT].n, 0);
    }
    report_table_release(&table);
}

/* Cases whose times are exact: 1, 2 and 3 s, one that ran out of memory and, in the second table, one that failed. */
static void make_outcomes(bool failed, report_table *table)
{
    static const struct {
        const char *name, *status;
        int latency_s;
    } rows[] = {{"one", "ok", 1}, {"two", "ok", 2}, {"three", "ok", 3}, {"full", "oom", 0}, {"broken", "failed", 0}};
    dit_buffer lines = {0};
    for (int i = 0; i < 4 + failed; i++) {
        char record[160] = "{}";
        if (rows[i].latency_s)
            snprintf(record, sizeof record, "{\"evidence\":\"simulated\",\"samples\":{\"latency_ns\":[%d000000000]}}",
                     rows[i].latency_s);
        dit_buffer_printf(&lines,
                          "{\"kind\":\"result\",\"case_id\":\"%s\",\"label\":\"%s\",\"process\":0,\"status\":\"%s\","
                          "\"case\":{\"platform\":{\"backend\":\"cost\"}},\"tags\":{\"name\":\"%s\"}%s%s}\n",
                          rows[i].name, rows[i].name, rows[i].status, rows[i].name,
                          rows[i].latency_s ? ",\"record\":" : "", rows[i].latency_s ? record : "");
    }
    assert_int_equal(fixture_parse("{}", lines.data, table), DIT_OK);
    dit_buffer_release(&lines);
}

static void a_case_out_of_memory_is_no_example_and_not_the_best(void **state)
{
    (void)state;
    static const struct {
        const char *expr;
        report_verdict verdict, beside_failed; /* of the table with the failed case */
        const char *words;                     /* in the numbers, or in the reason */
    } rows[] = {
        {"any('latency_s < 1.5')", REPORT_CLAIM_HOLDS, REPORT_CLAIM_HOLDS, "true for 1 of"},
        {"any('latency_s < 0.5')", REPORT_CLAIM_FAILS, REPORT_CLAIM_UNDECIDED, "1 out of memory"},
        {"all('latency_s < 5')", REPORT_CLAIM_UNDECIDED, REPORT_CLAIM_UNDECIDED,
         "full has no latency_s (oom); status='ok'"},
        {"all('latency_s < 2.5')", REPORT_CLAIM_FAILS, REPORT_CLAIM_FAILS, "not for three"},
        {"all('latency_s < 5', status='ok')", REPORT_CLAIM_HOLDS, REPORT_CLAIM_HOLDS, "3 of 3"},
        {"count(where='latency_s < 2.5') == 2", REPORT_CLAIM_HOLDS, REPORT_CLAIM_UNDECIDED, " = 2"},
        {"min('latency_s') == 1", REPORT_CLAIM_HOLDS, REPORT_CLAIM_UNDECIDED,
         "3 cases, n = 1; 1 out of memory left out"},
        {"max('images_per_hour') == 3600", REPORT_CLAIM_HOLDS, REPORT_CLAIM_UNDECIDED, "1 out of memory left out"},
        {"max('latency_s') == 3", REPORT_CLAIM_UNDECIDED, REPORT_CLAIM_UNDECIDED, "full has no latency_s (oom)"},
        {"median('latency_s') == 2", REPORT_CLAIM_UNDECIDED, REPORT_CLAIM_UNDECIDED, "full has no latency_s (oom)"},
        {"median('latency_s', status='ok') == 2", REPORT_CLAIM_HOLDS, REPORT_CLAIM_HOLDS, "= 2 s"},
        {"min('latency_s', name='full') > 0", REPORT_CLAIM_UNDECIDED, REPORT_CLAIM_UNDECIDED, "full has no latency_s"},
    };
    for (int failed = 0; failed < 2; failed++) {
        report_table table;
        make_outcomes(failed, &table);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            report_judgement judgement;
            judge(&table, rows[i].expr, NULL, &judgement);
            if (judgement.verdict != (failed ? rows[i].beside_failed : rows[i].verdict))
                fail_msg("%s: %s (%s)", rows[i].expr, report_verdict_name(judgement.verdict), judgement.reason);
            bool decided = judgement.verdict != REPORT_CLAIM_UNDECIDED;
            if (!failed) assert_contains(decided ? judgement.numbers.data : judgement.reason, rows[i].words);
            report_judgement_release(&judgement);
        }
        report_table_release(&table);
    }
}

static void what_failed_is_named(void **state)
{
    (void)state;
    report_table table;
    report_judgement judgement;
    make_outcomes(true, &table);
    judge(&table, "any('latency_s < 0.5')", NULL, &judgement);
    assert_contains(judgement.reason, "broken has no latency_s (failed)");
    report_judgement_release(&judgement);
    report_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_hold_or_fail_by_the_numbers),
        cmocka_unit_test(without_the_numbers_a_claim_is_undecided),
        cmocka_unit_test(a_side_that_settles_nothing_need_not_have_data),
        cmocka_unit_test(requirements_come_first),
        cmocka_unit_test(the_numbers_are_shown),
        cmocka_unit_test(timing_with_few_processes_is_never_a_verdict),
        cmocka_unit_test(overlapping_intervals_are_undecided),
        cmocka_unit_test(hostile_expressions_end_in_a_verdict),
        cmocka_unit_test(oracles_are_in_the_table_and_nowhere_else),
        cmocka_unit_test(speedups_are_over_the_run_without_a_cache),
        cmocka_unit_test(a_product_compares_both_with_each_alone),
        cmocka_unit_test(a_case_out_of_memory_is_no_example_and_not_the_best),
        cmocka_unit_test(what_failed_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
