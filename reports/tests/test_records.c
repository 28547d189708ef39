#include "reports/records/journal.h"
#include "reports/tests/fixture.h"

static void journal_becomes_cases_in_a_fixed_order(void **state)
{
    (void)state;
    report_table table;
    fixture_table(&table);
    assert_int_equal(table.case_count, 4);
    assert_int_equal(table.result_lines, 28);
    assert_int_equal(table.dropped_count, 1);
    assert_true(table.complete);
    assert_false(table.torn);
    static const char *const labels[] = {"toy 64x64 1", "toy 64x64 r2", "toy 64x64 u2", "toy 64x64 u4"};
    for (int i = 0; i < 4; i++) assert_string_equal(table.cases[i].label, labels[i]);
    for (int i = 0; i < 7; i++) assert_int_equal(table.cases[0].processes[i].process, i);
    assert_string_equal(table.dropped[0].cell, "model=toy, ulysses_degree=5");
    assert_string_equal(report_session_text(&table, "suite/commit"), "0000000");
    assert_string_equal(report_session_text(&table, "suite/nothing/here"), "");
    report_table_release(&table);
}

static void metrics_are_medians_over_processes_of_medians_over_iterations(void **state)
{
    (void)state;
    report_table table;
    fixture_table(&table);
    const report_case *u2 = fixture_case(&table, "toy 64x64 u2");
    const dit_summary *latency = &u2->metric[REPORT_LATENCY];
    assert_int_equal(latency->n, 7);
    assert_near(latency->median, 0.604, 1e-12); /* processes 0..6: 601..607 ms */
    assert_near(latency->low, 0.601, 1e-12);
    assert_near(latency->high, 0.607, 1e-12);
    assert_false(latency->low_n);
    assert_near(u2->metric[REPORT_STEP].median, 0.302, 1e-9);
    assert_near(u2->metric[REPORT_COMPUTE].median, 0.54, 1e-12);
    assert_near(u2->metric[REPORT_EXPOSED_COMMUNICATION].median, 0.05, 1e-12);
    assert_near(u2->metric[REPORT_OTHER].median, 0.01, 1e-12);
    assert_near(u2->metric[REPORT_COMMUNICATION_BYTES].median, 4000, 0);
    assert_near(u2->metric[REPORT_PREDICTED_BYTES].median, 4000, 0);
    assert_near(u2->metric[REPORT_COMMUNICATION_MESSAGES].median, 5, 0);
    assert_near(u2->metric[REPORT_COMM_BUFFER_BYTES].median, 500000, 0);
    assert_near(u2->metric[REPORT_RSS_BYTES].median, 2e7, 0);
    assert_near(u2->metric[REPORT_REL_L2].median, 2.5e-7, 1e-20);
    assert_near(u2->metric[REPORT_GFLOP_PER_S].median, 2 / 0.604, 1e-9);
    assert_near(u2->metric[REPORT_IMAGES_PER_HOUR].median, 3600 / 0.604, 1e-6);
    assert_near(u2->metric[REPORT_SPEEDUP].median, 1.004 / 0.604, 1e-12);
    assert_near(u2->metric[REPORT_SPEEDUP].low, 1.001 / 0.607, 1e-12);
    assert_near(u2->metric[REPORT_EFFICIENCY].median, 1.004 / 0.604 / 2, 1e-12);
    assert_int_equal(fixture_case(&table, "toy 64x64 1")->metric[REPORT_REL_L2].n, 0); /* absent, not zero */
    report_table_release(&table);
}

static void failed_processes_give_no_numbers_but_a_reason(void **state)
{
    (void)state;
    report_table table;
    fixture_table(&table);
    const report_case *u4 = fixture_case(&table, "toy 64x64 u4");
    assert_int_equal(u4->status, DIT_OUTCOME_TIMEOUT);
    assert_int_equal(u4->ok_count, 0);
    assert_int_equal(u4->metric[REPORT_LATENCY].n, 0);
    assert_int_equal(u4->metric[REPORT_SPEEDUP].n, 0);
    assert_string_equal(u4->failure.code, "E_TIMEOUT");
    report_table_release(&table);
}

#define LINE(process, status, more)                                                                                    \
    "{\"kind\":\"result\",\"case_id\":\"c\",\"label\":\"c\",\"process\":" process ",\"status\":\"" status "\"," more   \
    "}\n"
#define RECORD(ns) "\"record\":{\"samples\":{\"latency_ns\":[" ns "]}}"

#define SIMULATED(profile)                                                                                             \
    "{\"kind\":\"result\",\"case_id\":\"" profile "\",\"label\":\"" profile                                            \
    "\",\"process\":0,\"status\":\"ok\",\"case\":{\"platform\":{\"backend\":\"cost\"}},"                               \
    "\"tags\":{\"profile\":\"" profile "\"},"                                                                          \
    "\"record\":{\"evidence\":\"simulated\",\"samples\":{\"latency_ns\":[5]}}}\n"

static void simulated_times_of_software_that_nobody_measured_are_projections(void **state)
{
    (void)state;
    report_table table;
    const char *profiles = "{},\"simulation\":{\"profiles\":{\"old\":{\"measured\":true},"
                           "\"new\":{\"measured\":false}}}";
    assert_int_equal(fixture_parse(profiles, SIMULATED("new") SIMULATED("old") SIMULATED("unsaid"), &table), DIT_OK);
    assert_true(fixture_case(&table, "new")->projection);
    assert_false(fixture_case(&table, "old")->projection);
    assert_false(fixture_case(&table, "unsaid")->projection);
    report_table_release(&table);
}

static void an_error_beside_a_record_voids_its_numbers(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(fixture_parse("{}", LINE("0", "ok", RECORD("5") ",\"error\":{\"code\":\"E_MISMATCH\"}"), &table),
                     DIT_OK);
    assert_int_equal(table.cases[0].metric[REPORT_LATENCY].n, 0);
    assert_int_equal(table.cases[0].status, DIT_OUTCOME_INVALID);
    report_table_release(&table);
}

static void a_later_line_of_the_same_process_replaces_the_earlier(void **state)
{
    (void)state;
    report_table table;
    const char *lines = LINE("0", "ok", RECORD("7")) LINE("1", "failed", "\"error\":{\"code\":\"E_CRASH\"}")
        LINE("0", "ok", RECORD("9")) LINE("1", "ok", RECORD("9"));
    assert_int_equal(fixture_parse("{}", lines, &table), DIT_OK);
    assert_int_equal(table.cases[0].process_count, 2);
    assert_int_equal(table.cases[0].status, DIT_OUTCOME_OK);
    assert_near(table.cases[0].metric[REPORT_LATENCY].min, 9e-9, 1e-20);
    report_table_release(&table);
}

static void a_torn_last_line_is_left_out_a_bad_line_inside_is_an_error(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(fixture_parse("{}", LINE("0", "ok", RECORD("7")) "{\"kind\":\"res", &table), DIT_OK);
    assert_true(table.torn);
    assert_int_equal(table.result_lines, 1);
    report_table_release(&table);
    assert_int_equal(fixture_parse("{}", "{\"kind\":\"res\n" LINE("0", "ok", RECORD("7")), &table), DIT_ERR_JOURNAL);
    assert_contains(dit_error_last()->message, "line 2");
}

static void wrong_types_and_huge_numbers_name_the_line(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[]\n",
        "{}\n",
        "{\"kind\":1}\n",
        "null\n",
        "\n",
        "{\"kind\":\"result\"}\n",
        LINE("-1", "ok", RECORD("7")),
        LINE("1.5", "ok", RECORD("7")),
        LINE("1e300", "ok", RECORD("7")),
        LINE("99999999999999999999", "ok", RECORD("7")),
        LINE("\"0\"", "ok", RECORD("7")),
        LINE("0", "fine", RECORD("7")),
        LINE("0", "ok", RECORD("\"7\"")),
        LINE("0", "ok", RECORD("-7")),
        LINE("0", "ok", RECORD("null")),
        LINE("0", "ok", RECORD("1e999")),
        LINE("0", "ok", RECORD("[[[{}]]]")),
        LINE("0", "ok", "\"record\":[]"),
        LINE("0", "ok", "\"record\":{\"samples\":[]}"),
        LINE("0", "ok", "\"record\":{\"communication\":[1]}"),
        LINE("0", "ok", "\"record\":{\"communication\":[{\"bytes\":\"x\"}]}"),
        LINE("0", "ok", "\"record\":{\"communication\":[{\"axis\":7}]}"),
        LINE("0", "ok", "\"record\":{\"ranks\":[7]}"),
        LINE("0", "ok", "\"record\":{\"ranks\":[{\"communication\":[{\"bytes\":\"x\"}]}]}"),
        LINE("0", "ok", "\"record\":{\"communication_match\":1}"),
        LINE("0", "ok", "\"record\":{\"memory\":{\"weights_bytes\":true}}"),
        LINE("0", "ok", "\"record\":{\"memory\":7}"),
        LINE("0", "ok", "\"tags\":[]"),
        LINE("0", "ok", "\"tags\":{\"world_size\":0}"),
        LINE("0", "ok", "\"tags\":{\"world_size\":\"2\"}"),
        LINE("0", "ok", "\"error\":\"E\""),
        LINE("0", "ok", "\"error\":{\"code\":1}"),
        LINE("0", "ok", "\"a\":1,\"a\":2"),
        "{\"kind\":\"dropped\",\"code\":1}\n",
        "{\"kind\":\"end\",\"complete\":\"yes\"}\n",
        "\xff\xfe\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        report_table table;
        if (fixture_parse("{}", bad[i], &table) != DIT_ERR_JOURNAL) fail_msg("taken: %s", bad[i]);
        assert_contains(dit_error_last()->message, "line 2");
        assert_null(table.cases);
    }
}

/* Rank 0 is at the edge: it has one neighbour. */
static void bytes_are_those_of_the_rank_that_sends_most(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(
        fixture_parse(
            "{}",
            LINE("0", "ok",
                 "\"record\":{\"communication\":[{\"axis\":\"patch\",\"bytes\":4,\"messages\":1}],\"ranks\":["
                 "{\"communication\":[{\"axis\":\"patch\",\"bytes\":4,\"messages\":1,\"predicted_bytes\":4}]},"
                 "{\"communication\":[{\"axis\":\"patch\",\"bytes\":6,\"messages\":2,\"predicted_bytes\":6},"
                 "{\"axis\":\"cfg\",\"bytes\":1,\"messages\":1,\"predicted_bytes\":1}]},"
                 "{\"communication\":[{\"axis\":\"patch\",\"bytes\":5,\"messages\":9}]}]}"),
            &table),
        DIT_OK);
    assert_near(table.cases[0].metric[REPORT_COMMUNICATION_BYTES].median, 7, 0);
    assert_near(table.cases[0].metric[REPORT_COMMUNICATION_MESSAGES].median, 3, 0);
    assert_near(table.cases[0].metric[REPORT_PREDICTED_BYTES].median, 7, 0);
    assert_int_equal(table.cases[0].traffic_count, 2);
    assert_string_equal(table.cases[0].traffic[1].axis, "cfg");
    report_table_release(&table);
}

static void extreme_but_legal_numbers_stay_finite(void **state)
{
    (void)state;
    report_table table;
    const char *lines = LINE("0", "ok",
                             "\"tags\":{\"world_size\":1},\"record\":{\"samples\":{\"latency_ns\":[1e30,1e-300]},"
                             "\"flops\":{\"total\":1e30}}")
        LINE("1", "ok",
             "\"record\":{\"samples\":{\"latency_ns\":[0]},\"communication\":[{\"bytes\":1e30},{\"bytes\":1e30}]}")
            LINE("2", "ok", "\"record\":{\"samples\":{\"latency_ns\":[]}}");
    assert_int_equal(fixture_parse("{}", lines, &table), DIT_OK);
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        const dit_summary *s = &table.cases[0].metric[m];
        assert_true(isfinite(s->median) && isfinite(s->low) && isfinite(s->high) && isfinite(s->min) &&
                    isfinite(s->max));
    }
    report_table_release(&table);
}

static void without_a_session_line_there_is_nothing_to_report(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(report_table_parse("", 0, "empty", &table), DIT_ERR_JOURNAL);
    assert_int_equal(
        report_table_parse(LINE("0", "ok", RECORD("7")), strlen(LINE("0", "ok", RECORD("7"))), "x", &table),
        DIT_ERR_JOURNAL);
    const char *other = "{\"kind\":\"session\",\"schema\":\"ditbench.journal/9\"}\n";
    assert_int_equal(report_table_parse(other, strlen(other), "x", &table), DIT_ERR_JOURNAL);
    assert_contains(dit_error_last()->message, "\"ditbench.journal/9\" is newer than \"ditbench.journal/1\"");
    const char *record = "{\"kind\":\"session\",\"schema\":\"ditbench.journal/1\"}\n" LINE(
        "0", "ok", "\"record\":{\"schema\":\"ditbench.record/0\",\"samples\":{\"latency_ns\":[7]}}");
    assert_int_equal(report_table_parse(record, strlen(record), "x", &table), DIT_ERR_JOURNAL);
    assert_contains(dit_error_last()->message, "/record/schema: schema \"ditbench.record/0\" is older");
    assert_int_equal(report_table_read("/nonexistent/journal.jsonl", &table), DIT_ERR_IO);
}

/* A journal cut at any byte: either the lines before the cut, or no session line. Never anything else. */
static void a_journal_cut_at_every_byte_gives_what_stands_before_the_cut(void **state)
{
    (void)state;
    size_t length = 0;
    char *text = test_file_read(FIXTURE_FOLDER "/journal.jsonl", &length);
    size_t first = (size_t)(strchr(text, '\n') - text) + 1, whole = 0;
    for (size_t cut = 0; cut <= length; cut += cut < first + 4000 ? 1 : 61) {
        report_table table;
        whole = 0;
        for (size_t i = 0; i < cut; i++) whole += text[i] == '\n';
        dit_status st = report_table_parse(text, cut, "cut", &table);
        assert_int_equal(st, cut < first ? DIT_ERR_JOURNAL : DIT_OK);
        if (st != DIT_OK) continue;
        assert_int_equal(table.result_lines, whole - 1 < 28 ? whole - 1 : 28);
        assert_int_equal(table.torn, cut > 0 && text[cut - 1] != '\n');
        report_table_release(&table);
    }
    free(text);
}

/* One byte changed anywhere: taken or refused, never a crash (run under the sanitizers). */
static void a_journal_with_any_byte_changed_never_crashes(void **state)
{
    (void)state;
    size_t length = 0;
    char *text = test_file_read(FIXTURE_FOLDER "/journal.jsonl", &length);
    int taken = 0, refused = 0;
    if (length > 8000) length = 8000;
    while (text[length - 1] != '\n') length--;
    for (size_t i = 0; i < length; i++) {
        report_table table;
        char old = text[i];
        text[i] = "\"{}[],:0-e\\x"[i % 12];
        dit_status st = report_table_parse(text, length, "changed", &table);
        taken += st == DIT_OK;
        refused += st == DIT_ERR_JOURNAL;
        if (st == DIT_OK) report_table_release(&table);
        text[i] = old;
    }
    assert_int_equal(taken + refused, length);
    assert_true(taken > 100 && refused > 100);
    free(text);
}

static void many_cases_are_found_again(void **state)
{
    (void)state;
    dit_buffer lines = {0};
    for (int i = 0; i < 2 * 20000; i++) {
        dit_buffer_printf(&lines, "{\"kind\":\"result\",\"case_id\":\"%d\",\"process\":%d,\"status\":\"ok\"}\n",
                          i % 20000, i / 20000);
    }
    report_table table;
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    assert_int_equal(table.case_count, 20000);
    for (int i = 0; i < table.case_count; i++) assert_int_equal(table.cases[i].process_count, 2);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(journal_becomes_cases_in_a_fixed_order),
        cmocka_unit_test(metrics_are_medians_over_processes_of_medians_over_iterations),
        cmocka_unit_test(failed_processes_give_no_numbers_but_a_reason),
        cmocka_unit_test(an_error_beside_a_record_voids_its_numbers),
        cmocka_unit_test(a_later_line_of_the_same_process_replaces_the_earlier),
        cmocka_unit_test(a_torn_last_line_is_left_out_a_bad_line_inside_is_an_error),
        cmocka_unit_test(wrong_types_and_huge_numbers_name_the_line),
        cmocka_unit_test(bytes_are_those_of_the_rank_that_sends_most),
        cmocka_unit_test(simulated_times_of_software_that_nobody_measured_are_projections),
        cmocka_unit_test(extreme_but_legal_numbers_stay_finite),
        cmocka_unit_test(without_a_session_line_there_is_nothing_to_report),
        cmocka_unit_test(a_journal_cut_at_every_byte_gives_what_stands_before_the_cut),
        cmocka_unit_test(a_journal_with_any_byte_changed_never_crashes),
        cmocka_unit_test(many_cases_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
