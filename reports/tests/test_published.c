/* Published lines of a journal: they are read strictly, and evidence is never blurred. */

#include "reports/tests/published_fixture.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void published_lines_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {
        POINT("\"metric\":\"latency_s\",\"value\":1"),
        POINT("\"metric\":\"speed\",\"value\":1,\"tags\":{}"),
        POINT("\"value\":1,\"tags\":{}"),
        POINT("\"metric\":\"latency_s\",\"value\":1,\"tags\":[]"),
        POINT("\"metric\":\"latency_s\",\"value\":1,\"tags\":{\"world_size\":0}"),
        POINT("\"metric\":\"latency_s\",\"value\":1,\"tags\":{\"evidence\":\"measured\"}"),
        POINT("\"metric\":\"latency_s\",\"value\":1,\"tags\":{\"latency_s\":1}"),
        LATENCY("\"value\":\"1\""),
        LATENCY("\"value\":-1"),
        LATENCY("\"value\":0"),
        LATENCY("\"value\":1e99"),
        LATENCY("\"rounding\":1"),
        LATENCY("\"value\":1,\"rounding\":-1"),
        LATENCY("\"value\":1,\"out_of_memory\":true"),
        LATENCY("\"out_of_memory\":false"),
        LATENCY("\"value\":1,\"in_fit\":1"),
        LATENCY("\"value\":1,\"label\":1"),
        LATENCY("\"value\":1,\"case_id\":7"),
        LATENCY("\"value\":1,\"warnings\":\"w\""),
        LATENCY("\"value\":1,\"warnings\":[\"a\",1]"),
        "{\"kind\":\"published\",\"index\":1,\"source\":\"s\",\"metric\":\"latency_s\",\"value\":1,\"tags\":{}}\n",
        ("{\"kind\":\"published\",\"file\":\"f\",\"index\":-1,\"source\":\"s\",\"metric\":\"latency_s\",\"value\":1,"
         "\"tags\":{}}\n"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        report_table table;
        if (fixture_parse("{}", bad[i], &table) != DIT_ERR_JOURNAL) fail_msg("taken: %s", bad[i]);
        assert_contains(dit_error_last()->message, "line 2");
        assert_null(table.published);
    }
}

static void a_point_has_its_number_its_reading_error_and_its_evidence(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(fixture_parse("{}",
                                   LATENCY("\"value\":3") LATENCY("\"value\":2,\"rounding\":0.5,\"in_fit\":true"
                                                                  ",\"warnings\":[\"w\"]"),
                                   &table),
                     DIT_OK);
    assert_int_equal(table.published_count, 1); /* the later line of one point counts */
    const report_published *point = &table.published[0];
    assert_near(point->value, 2, 0);
    assert_near(point->kase.metric[REPORT_LATENCY].low, 1.5, 0);
    assert_near(point->kase.metric[REPORT_LATENCY].high, 2.5, 0);
    assert_true(point->in_fit);
    assert_string_equal(point->kase.evidence, "published");
    assert_string_equal(point->kase.case_id, "f#1");
    assert_string_equal(point->kase.label, "s");
    assert_int_equal(table.case_count, 0); /* no case: it enters no median and no claim */
    report_table_release(&table);
}

/* ---- evidence ---------------------------------------------------------------------------------------------------- */

static void a_record_that_blurs_its_evidence_is_refused(void **state)
{
    (void)state;
    static const char *const forged[] = {
        RESULT("0", "ok", ON("cpu") "," SIMULATED),
        RESULT("0", "ok", ON("cuda") "," SIMULATED),
        RESULT("0", "ok", SIMULATED),
        RESULT("0", "ok", "\"case\":{\"platform\":{}}," SIMULATED),
        RESULT("0", "ok", ON("cost") "," MEASURED),
        RESULT("0", "ok", ON("cost") ",\"record\":{" SAMPLES "}"),
        RESULT("0", "ok", ON("cpu") ",\"record\":{\"evidence\":\"published\"," SAMPLES "}"),
        RESULT("0", "ok", ON("cost") ",\"record\":{\"evidence\":\"published\"," SAMPLES "}"),
        RESULT("0", "ok", ON("cpu") ",\"record\":{\"evidence\":\"Measured\"," SAMPLES "}"),
        RESULT("0", "ok", ON("cpu") ",\"record\":{\"evidence\":\"measured\",\"simulation\":{}," SAMPLES "}"),
        RESULT("0", "ok", ON("cpu") "," MEASURED) RESULT("1", "ok", ON("cost") "," SIMULATED),
        RESULT("0", "ok", ON("cost") "," SIMULATED) RESULT("1", "ok", ON("cpu") "," MEASURED),
        RESULT("0", "ok", ON("cost") "," SIMULATED ",\"tags\":{\"evidence\":\"measured\"}"),
        RESULT("0", "ok", ON("cost") "," SIMULATED ",\"tags\":{\"status\":\"ok\"}"),
        RESULT("0", "ok", ON("cost") "," SIMULATED ",\"tags\":{\"label\":\"x\"}"),
        RESULT("0", "ok", ON("cpu") "," MEASURED ",\"tags\":{\"latency_s\":1}"),
        RESULT("0", "ok", "\"case\":{\"platform\":{\"backend\":7}}," MEASURED),
        RESULT("0", "ok", "\"case\":{\"platform\":\"cost\"}," MEASURED),
    };
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        report_table table;
        if (fixture_parse("{}", forged[i], &table) != DIT_ERR_JOURNAL) fail_msg("taken: %s", forged[i]);
        assert_null(table.cases);
    }
}

static void a_record_that_counts_for_nothing_need_not_be_refused(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(fixture_parse("{}", RESULT("0", "invalid", ON("cost") "," MEASURED), &table), DIT_OK);
    assert_string_equal(table.cases[0].evidence, "simulated");
    assert_int_equal(table.cases[0].metric[REPORT_LATENCY].n, 0);
    report_table_release(&table);
}

static void virtual_time_is_exact_measured_time_is_not(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(fixture_parse("{}", RESULT("0", "ok", ON("cost") "," SIMULATED), &table), DIT_OK);
    assert_false(table.cases[0].metric[REPORT_LATENCY].low_n);
    report_table_release(&table);
    assert_int_equal(fixture_parse("{}", RESULT("0", "ok", ON("cpu") "," MEASURED), &table), DIT_OK);
    assert_true(table.cases[0].metric[REPORT_LATENCY].low_n);
    report_table_release(&table);
    const char *two = RESULT("0", "ok", ON("cost") "," SIMULATED)
        RESULT("1", "ok", ON("cost") ",\"record\":{\"evidence\":\"simulated\",\"samples\":{\"latency_ns\":[6]}}");
    assert_int_equal(fixture_parse("{}", two, &table), DIT_OK); /* runs that differ are none that repeat */
    assert_true(table.cases[0].metric[REPORT_LATENCY].low_n);
    report_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_lines_are_read_strictly),
        cmocka_unit_test(a_point_has_its_number_its_reading_error_and_its_evidence),
        cmocka_unit_test(a_record_that_blurs_its_evidence_is_refused),
        cmocka_unit_test(a_record_that_counts_for_nothing_need_not_be_refused),
        cmocka_unit_test(virtual_time_is_exact_measured_time_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
