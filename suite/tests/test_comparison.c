/* Comparisons of two sides, and baseline files. */
#include "suite/compare/baseline.h"
#include "suite/compare/circumstances.h"
#include "suite/compare/comparison.h"
#include "suite/compare/named_side.h"

#include "base/tests/test.h"

static suite_side old_side, new_side;
static suite_comparison comparison;
static char folder[TEST_FOLDER];

static int set_up(void **state)
{
    (void)state;
    return test_folder_make(folder);
}

static int tear_down(void **state)
{
    (void)state;
    suite_comparison_release(&comparison);
    suite_side_release(&old_side);
    suite_side_release(&new_side);
    return test_folder_remove(folder);
}

/* A baseline file of cases, each `ID, TAGS, evidence, metrics`. */
static const char *write_side(const char *name, const char *cases)
{
    static char path[2 * TEST_FOLDER];
    char text[8192];
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    snprintf(text, sizeof text,
             "{\"schema\":\"ditbench.baseline/1\",\"session\":{\"hardware\":{\"hardware_id\":\"m\"}},\"cases\":[%s]}",
             cases);
    test_file_write(path, text, strlen(text));
    return path;
}

#define CASE(id, tags, evidence, metrics)                                                                              \
    "{\"case_id\":\"" id "\",\"label\":\"case " id "\",\"evidence\":\"" evidence                                       \
    "\",\"status\":\"ok\",\"tags\":{" tags "},\"metrics\":{" metrics "}}"
#define MEASURED(id, metrics)  CASE(id, "\"model\":\"m\"", "measured", metrics)
#define SIMULATED(id, metrics) CASE(id, "\"model\":\"m\"", "simulated", metrics)
#define SIX(a)                 "\"latency_s\":[1.00" a ",1.01" a ",1.02" a ",1.00" a ",1.01" a ",1.02" a "]"
#define SIX_SLOWER             "\"latency_s\":[1.20,1.21,1.22,1.20,1.21,1.22]"

static dit_status compare(const char *old, const char *now, const suite_comparison_params *params)
{
    static const suite_comparison_params usual;
    suite_comparison_release(&comparison);
    suite_side_release(&old_side);
    suite_side_release(&new_side);
    assert_ok(suite_side_load(write_side("old", old), &old_side));
    assert_ok(suite_side_load(write_side("new", now), &new_side));
    return suite_comparison_make(&old_side, &new_side, params ? params : &usual, &comparison);
}

static void a_slower_case_is_slower_and_an_equal_one_is_the_same(void **state)
{
    (void)state;
    assert_ok(compare(MEASURED("a", SIX("")) "," MEASURED("b", SIX("")),
                      MEASURED("b", SIX_SLOWER) "," MEASURED("a", SIX("1")), NULL));
    assert_int_equal(comparison.timing_count, 2);
    assert_string_equal(comparison.timings[0].now->case_id, "b");
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_WORSE);
    assert_int_equal(comparison.timings[1].verdict, SUITE_VERDICT_SAME);
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_WORSE);
    assert_true(comparison.same_hardware);
    assert_false(comparison.paired);
}

static void five_processes_decide_nothing(void **state)
{
    (void)state;
    assert_ok(compare(MEASURED("a", "\"latency_s\":[1,1,1,1,1]"), MEASURED("a", "\"latency_s\":[2,2,2,2,2]"), NULL));
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_UNDECIDED);
}

static void many_cases_need_stronger_evidence(void **state)
{
    (void)state;
    /* just slower by itself: the interval clears the margin of 5 % narrowly */
    static const char just[] = "\"latency_s\":[1.055,1.075,1.095,1.055,1.075,1.095]";
    char old[8000] = "", now[8000] = "";
    for (int i = 0; i < 20; i++) {
        char one[400];
        snprintf(one, sizeof one,
                 "%s{\"case_id\":\"%d\",\"label\":\"c\",\"evidence\":\"measured\",\"status\":\"ok\","
                 "\"tags\":{},\"metrics\":{%s}}",
                 i ? "," : "", i, SIX(""));
        strcat(old, one);
        snprintf(one, sizeof one,
                 "%s{\"case_id\":\"%d\",\"label\":\"c\",\"evidence\":\"measured\",\"status\":\"ok\","
                 "\"tags\":{},\"metrics\":{%s}}",
                 i ? "," : "", i, i ? SIX("") : just);
        strcat(now, one);
    }
    const suite_comparison_params half = {.margin = 0.04};
    assert_ok(
        compare(MEASURED("0", SIX("")), MEASURED("0", "\"latency_s\":[1.055,1.075,1.095,1.055,1.075,1.095]"), &half));
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_WORSE);
    assert_ok(compare(old, now, &half));
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_UNDECIDED);
}

static void numbers_that_repeat_are_compared_to_the_last_digit(void **state)
{
    (void)state;
    assert_ok(compare(SIMULATED("a", "\"latency_s\":0.123456789,\"communication_bytes\":1000,\"flops\":7"),
                      SIMULATED("a", "\"latency_s\":0.123456790,\"communication_bytes\":1000,\"flops\":8"), NULL));
    assert_true(comparison.timings[0].exact);
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_WORSE);
    assert_int_equal(comparison.difference_count, 1);
    assert_int_equal(comparison.differences[0].metric, REPORT_FLOPS);
    assert_near(comparison.differences[0].after, 8, 0);
    assert_int_equal(comparison.exact_count, 3);
}

static void memory_may_differ_by_a_hundredth(void **state)
{
    (void)state;
    assert_ok(compare(MEASURED("a", "\"total_bytes\":1000"), MEASURED("a", "\"total_bytes\":1009"), NULL));
    assert_int_equal(comparison.difference_count, 0);
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_SAME);
    assert_ok(compare(MEASURED("a", "\"total_bytes\":1000"), MEASURED("a", "\"total_bytes\":1011"), NULL));
    assert_int_equal(comparison.difference_count, 1);
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_WORSE);
    assert_ok(compare(MEASURED("a", "\"total_bytes\":1000"), MEASURED("a", "\"total_bytes\":900"), NULL));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_BETTER);
}

static void cases_of_one_side_are_named(void **state)
{
    (void)state;
    assert_ok(compare(MEASURED("a", "\"flops\":1") "," MEASURED("gone", "\"flops\":1"),
                      MEASURED("a", "\"flops\":1") "," MEASURED("added", "\"flops\":1"), NULL));
    assert_int_equal(comparison.gone_count, 1);
    assert_string_equal(comparison.gone[0]->case_id, "gone");
    assert_int_equal(comparison.added_count, 1);
    assert_string_equal(comparison.added[0]->case_id, "added");
    assert_fails(compare(MEASURED("a", "\"flops\":1"), MEASURED("b", "\"flops\":1"), NULL), DIT_ERR_NO_MATCH,
                 "no case of");
}

static void cases_that_differ_on_purpose_match_by_their_other_tags(void **state)
{
    (void)state;
#define ON(id, platform, size, time)                                                                                   \
    CASE(id, "\"platform\":\"" platform "\",\"resolution\":\"" size "\"", "simulated", "\"latency_s\":" time)
    const suite_comparison_params across = {.across = "platform"};
    static const char old[] = ON("1", "x", "512x512", "2") "," ON("2", "x", "1024x1024", "8");
    assert_ok(compare(old, ON("3", "y", "1024x1024", "4") "," ON("4", "y", "512x512", "1"), &across));
    assert_int_equal(comparison.timing_count, 2);
    assert_near(comparison.timings[0].before, 8, 0);
    assert_near(comparison.timings[1].before, 2, 0);
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_BETTER);
    const suite_comparison_params too_many = {.across = "platform, resolution"};
    assert_fails(compare(old, old, &too_many), DIT_ERR_USAGE, "two cases that differ only");
    const suite_comparison_params wrong = {.across = "platfrom"};
    assert_fails(compare(old, old, &wrong), DIT_ERR_NOT_FOUND, "platfrom");
    const suite_comparison_params small = {.filter = "resolution == '512x512'"};
    assert_ok(compare(old, old, &small));
    assert_int_equal(comparison.matched_count, 1);
}

static void an_outcome_that_turned_bad_is_worse(void **state)
{
    (void)state;
    static const char failed[] = "{\"case_id\":\"a\",\"label\":\"l\",\"evidence\":\"measured\",\"status\":\"failed\","
                                 "\"failure\":\"E_CRASH: gone\",\"tags\":{},\"metrics\":{}}";
    assert_ok(compare(MEASURED("a", SIX("")), failed, NULL));
    assert_int_equal(comparison.turned_count, 1);
    assert_string_equal(comparison.turned[0][1]->failure, "E_CRASH: gone");
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_WORSE);
    assert_ok(compare(failed, MEASURED("a", SIX("")), NULL));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_BETTER);
}

static void a_baseline_reads_back_as_it_was_written(void **state)
{
    (void)state;
    static const char cases[] =
        MEASURED("a", SIX("") ",\"communication_bytes\":12345678901,\"rss_bytes\":5") "," SIMULATED(
            "b", "\"latency_s\":0.1234567890123,\"denoise_s\":0.1,\"total_bytes\":7");
    char path[2 * TEST_FOLDER];
    assert_ok(suite_side_load(write_side("first", cases), &old_side));
    snprintf(path, sizeof path, "%s/second.json", folder);
    assert_ok(suite_baseline_write(&old_side, path, "because"));
    assert_ok(suite_side_load(path, &new_side));
    assert_ok(suite_comparison_make(&old_side, &new_side, &(suite_comparison_params){0}, &comparison));
    assert_int_equal(comparison.matched_count, 2);
    assert_int_equal(comparison.difference_count, 0);
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_SAME);
    assert_near(suite_side_median(suite_side_find(&new_side, "b"), REPORT_LATENCY), 0.1234567890123, 0);
    assert_null(suite_side_find(&new_side, "a")->values[REPORT_RSS_BYTES]); /* nobody is held to it */
    assert_int_equal(suite_side_find(&new_side, "a")->process_count, 6);
    char *text = test_file_read(path, NULL);
    assert_contains(text, "\"because\"");
    free(text);
}

static void a_damaged_baseline_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_fails(suite_side_load(write_side("bad", MEASURED("a", "\"latency_s\":\"fast\"")), &old_side),
                 DIT_ERR_JSON_VALUE, "/cases/0/metrics/latency_s");
    assert_fails(suite_side_load(write_side("bad", CASE("a", "", "guessed", "")), &old_side), DIT_ERR_JSON_VALUE,
                 "guessed");
    assert_fails(suite_side_load(write_side("bad", "{}"), &old_side), DIT_ERR_JSON_MISSING, "case_id");
    char path[2 * TEST_FOLDER];
    snprintf(path, sizeof path, "%s/other.json", folder);
    test_file_write(path, "{\"schema\":\"x\"}", 14);
    assert_fails(suite_side_load(path, &old_side), DIT_ERR_JSON_VALUE, "ditbench.baseline/1");
    assert_fails(suite_side_load("/nowhere/x.json", &old_side), DIT_ERR_IO, "/nowhere/x.json");
}

static void what_differs_besides_is_ranked(void **state)
{
    (void)state;
    cJSON *old = cJSON_Parse("{\"environment\":{\"load_average\":0.1,\"compiler\":\"gcc 12\",\"odd\":1},"
                             "\"hardware\":{\"cpu\":\"A\",\"cores\":2},\"started\":\"x\"}");
    cJSON *now = cJSON_Parse("{\"environment\":{\"load_average\":3,\"compiler\":\"gcc 12\",\"new\":[1,2]},"
                             "\"hardware\":{\"cpu\":\"B\",\"cores\":2},\"started\":\"y\"}");
    suite_circumstance *items;
    int count;
    assert_ok(suite_circumstances_compare(old, now, false, &items, &count));
    assert_int_equal(count, 4);
    assert_string_equal(items[0].path, "hardware/cpu");
    assert_string_equal(items[0].old, "A");
    assert_string_equal(items[1].path, "environment/load_average");
    assert_string_equal(items[2].path, "environment/new");
    assert_string_equal(items[2].old, "");
    assert_string_equal(items[2].now, "[1,2]");
    assert_string_equal(items[3].path, "environment/odd");
    free(items);
    assert_ok(suite_circumstances_compare(old, old, false, &items, &count));
    assert_int_equal(count, 0);
    assert_ok(suite_circumstances_compare(old, now, true, &items, &count));
    assert_int_equal(count, 2); /* what both say */
    free(items);
    cJSON_Delete(old);
    cJSON_Delete(now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slower_case_is_slower_and_an_equal_one_is_the_same),
        cmocka_unit_test(five_processes_decide_nothing),
        cmocka_unit_test(many_cases_need_stronger_evidence),
        cmocka_unit_test(numbers_that_repeat_are_compared_to_the_last_digit),
        cmocka_unit_test(memory_may_differ_by_a_hundredth),
        cmocka_unit_test(cases_of_one_side_are_named),
        cmocka_unit_test(cases_that_differ_on_purpose_match_by_their_other_tags),
        cmocka_unit_test(an_outcome_that_turned_bad_is_worse),
        cmocka_unit_test(a_baseline_reads_back_as_it_was_written),
        cmocka_unit_test(a_damaged_baseline_is_refused_with_its_place),
        cmocka_unit_test(what_differs_besides_is_ranked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
