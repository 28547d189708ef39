/* Names in claims, read before anything ran: what there is passes, what there is not is named with its column. */
#include "reports/records/claim_names.h"
#include "reports/records/claims.h"

#include "reports/tests/fixture.h"

static const char *const tags[] = {"method", "mesh", "world_size", "model", NULL};

/* A workload whose method is single or ulysses, on 1 or 2 ranks; ring is a method elsewhere. */
static dit_status check_value(void *context, const char *tag, const dit_value *value, bool open)
{
    (void)context;
    if (strcmp(tag, "method") != 0) return DIT_OK;
    if (value->kind != DIT_VALUE_STRING) return DIT_FAIL(DIT_ERR_EXPRESSION, "method is a text");
    if (strcmp(value->string, "ulysses") == 0 || strcmp(value->string, "single") == 0) return DIT_OK;
    if (open && strcmp(value->string, "ring") == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "no case has method '%s'", value->string), "ulysses");
}

static const report_claim_names names = {tags, check_value, NULL};

static void what_there_is_passes(void **state)
{
    (void)state;
    static const char *const exprs[] = {
        "median('latency_s', method='ulysses') < 0.6 * median('latency_s', method='single')",
        "all('rel_l2 < 1e-5 && communication_bytes == predicted_bytes', where='world_size > 1')",
        "abs(geomean('speedup', world_size=2) - max(1, 2)) < 1 || count(status='oom', evidence='simulated') == 0",
        "count(method='ring') == 0 && count(where='method == \"ring\"') == 0",
        "any('method in [\"ulysses\", \"single\"] && min(latency_s, 1) < 1', label='x')",
        "1 == 1",
    };
    for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++)
        if (report_claim_names_check(exprs[i], &names, false) != DIT_OK)
            fail_msg("%s: %s", exprs[i], dit_error_last()->message);
}

static void what_there_is_not_is_named_with_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *expr, *message, *hint;
    } rows[] = {
        {"median('latency', method='ulysses') < 1", "column 8 ", "latency_s"},
        {"meddian('latency_s') < 1", "column 1 ", "median"},
        {"1 < 2 && mean(latency_s) < 1", "column 15 ", "median('latency_s')"},
        {"median('latency_s', metod='ulysses') < 1", "column 21 ", "method"},
        {"median('latency_s', method='ulises') < 1", "no case has method 'ulises'", "ulysses"},
        {"median('latency_s', method='ring') < 1", "no case has method 'ring'", ""},
        {"median('latency_s', method=ulysses) < 1", "\"ulysses\" stands alone", "method='ulysses'"},
        {"median('latency_s', 'ulysses') < 1", "column 21 ", "TAG=VALUE"},
        {"median() < 1", "needs an argument", "median('latency_s'"},
        {"on_line('rel_l2', over='flop', at=1) > 0", "over", ""},
        {"rank_correlation_low() > 0", "write 'place' or 'noise'", "rank_correlation_low('place', "},
        {"rank_correlation_high('sigma', method='ulysses') > 0", "write 'place'", ""},
        {"all(1)", "expression in quotes", "all("},
        {"all('rel_l2 < 1 && nothing')", "there is no tag or metric \"nothing\"", ""},
        {"all('median(1) < 2')", "there is no function \"median\"", ""},
        {"any('1 < 2', where=3)", "column 14 ", "where='"},
        {"count(where='method == \"ulises\"') == 0", "no case has method", "ulysses"},
        {"count(status='okay') == 0", "there is no status \"okay\"", "ok"},
        {"count(evidence='measurd') == 0", "there is no evidence", "measured"},
        {"all('latency_s < \"5\"')", "latency_s is a number", ""},
        {"true || median('x') < 1", "there is no metric \"x\"", ""}, /* the side that does not count */
        {"latency_s < 5", "stands alone", "all('latency_s < 1')"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (report_claim_names_check(rows[i].expr, &names, false) != DIT_ERR_EXPRESSION)
            fail_msg("%s passed", rows[i].expr);
        if (!strstr(dit_error_last()->message, rows[i].message) || !strstr(dit_error_last()->hint, rows[i].hint))
            fail_msg("%s: %s (%s)", rows[i].expr, dit_error_last()->message, dit_error_last()->hint);
        assert_non_null(strstr(dit_error_last()->message, "column "));
    }
}

static void an_open_claim_may_ask_for_what_no_case_has(void **state)
{
    (void)state;
    assert_int_equal(report_claim_names_check("median('latency_s', method='ring') < 1", &names, true), DIT_OK);
    assert_int_equal(report_claim_names_check("median('latency_s', method='rinng') < 1", &names, true),
                     DIT_ERR_EXPRESSION);
}

static void filters_see_tags_and_only_claims_see_metrics(void **state)
{
    (void)state;
    assert_int_equal(report_filter_names_check("world_size > 1 && method != 'single'", &names, false, false), DIT_OK);
    assert_int_equal(report_filter_names_check("latency_s > 1", &names, false, false), DIT_ERR_EXPRESSION);
    assert_int_equal(report_filter_names_check("latency_s > 1", &names, true, false), DIT_OK);
}

/* Whatever is judged with a verdict has names that pass, and every function and metric there is is known. */
static void every_function_and_metric_is_known(void **state)
{
    (void)state;
    char expr[200];
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        snprintf(expr, sizeof expr, "min('%s') < 1", report_metric_get((report_metric)m)->name);
        assert_int_equal(report_claim_names_check(expr, &names, false), DIT_OK);
    }
    for (const char *const *name = report_claim_functions(); *name; name++) {
        bool tests = strcmp(*name, "all") == 0 || strcmp(*name, "any") == 0, counts = strcmp(*name, "count") == 0;
        const char *rest = counts                            ? ""
                           : tests                           ? "'1 < 2'"
                           : report_claim_is_likeness(*name) ? "'place'"
                           : report_claim_is_line(*name)     ? "'rel_l2', over='flops', at=1 + 1"
                                                             : "'latency_s'";
        snprintf(expr, sizeof expr, "%s(%s)", *name, rest);
        assert_int_equal(report_claim_names_check(expr, &names, false), DIT_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_there_is_passes),
        cmocka_unit_test(what_there_is_not_is_named_with_its_column),
        cmocka_unit_test(an_open_claim_may_ask_for_what_no_case_has),
        cmocka_unit_test(filters_see_tags_and_only_claims_see_metrics),
        cmocka_unit_test(every_function_and_metric_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
