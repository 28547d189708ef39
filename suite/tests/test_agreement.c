/* `ditbench simulate` and the reports of sessions judge equal numbers alike. */
#include "reports/records/agreement.h"
#include "suite/simulate/points_answer.h"

#include "base/tests/test.h"

enum { POINTS = 12, CASES = 5 };

/* One set of numbers in both forms. Points of one method in one panel have one twin; the last method is a search. */
typedef struct {
    suite_point_result results[POINTS];
    report_published published[POINTS];
    const report_published *list[POINTS];
    report_case twins[POINTS];
    char names[POINTS][16];
    cJSON *searched, *plain;
} both_forms;

static void fill_point(both_forms *out, int i)
{
    static const double printed[] = {1.3, 1.4, 1.5, 4, 2, 2, 10.1, 11, 13, 3, 0.7, 0.7};
    static const double predicted[] = {1.2, 1.6, 1.6, 4.4, 1, 3, 9, 8.5, 15, 3, 0.9, 0.4};
    int panel = i / 3, method = i % CASES;
    bool search = method == CASES - 1;
    suite_point_result *result = &out->results[i];
    report_published *point = &out->published[i];
    *result = (suite_point_result){.index = i,
                                   .has_published = true,
                                   .published = printed[i],
                                   .rounding = 0.05,
                                   .predicted = predicted[i],
                                   .in_fit = i % 4 == 0};
    snprintf(result->panel, sizeof result->panel, "panel %d", panel);
    snprintf(result->method, sizeof result->method, search ? "hybrid" : "u%d", method);
    snprintf(out->names[i], sizeof out->names[i], "case %d", search ? 100 + i : method);
    out->twins[i] = (report_case){.case_id = out->names[i], .evidence = (char *)"simulated", .ok_count = 1};
    out->twins[i].metric[REPORT_LATENCY] = dit_stats_summarise(&predicted[i], 1);
    *point = (report_published){.kase = {.tags = search ? out->searched : out->plain},
                                .status = (char *)"",
                                .metric = REPORT_LATENCY,
                                .value = printed[i],
                                .rounding = 0.05,
                                .in_fit = i % 4 == 0,
                                .twin = &out->twins[i],
                                .panel = result->panel};
    out->list[i] = point;
}

static void both_judge_equal_numbers_alike(void **state)
{
    static both_forms forms;
    (void)state;
    forms.searched = cJSON_Parse("{\"method\": \"hybrid\"}");
    forms.plain = cJSON_Parse("{\"method\": \"ulysses\"}");
    for (int i = 0; i < POINTS; i++) fill_point(&forms, i);
    for (int part = 0; part < DIT_AGREEMENT_PART_COUNT; part++) {
        dit_agreement one;
        report_agreement other;
        assert_ok(suite_points_judge(forms.results, POINTS, (suite_points_part)part, &one));
        assert_ok(report_agreement_of(forms.list, POINTS, REPORT_LATENCY, (dit_agreement_part)part, &other));
        assert_int_equal(one.points, other.numbers.points);
        assert_near(one.median_error, other.numbers.median_error, 0);
        assert_near(one.p90_error, other.numbers.p90_error, 0);
        assert_near(one.worst_error, other.numbers.worst_error, 0);
        assert_int_equal(one.pairs, other.numbers.pairs);
        assert_int_equal(one.ordered, other.numbers.ordered);
        assert_int_equal(one.pairs_apart, other.numbers.pairs_apart);
        assert_int_equal(one.ordered_apart, other.numbers.ordered_apart);
        if (part == DIT_AGREEMENT_ALL) assert_true(one.points == POINTS && one.pairs > 4);
    }
    cJSON_Delete(forms.searched);
    cJSON_Delete(forms.plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_judge_equal_numbers_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
