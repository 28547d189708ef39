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

static void forget(void)
{
    suite_comparison_release(&comparison);
    suite_side_release(&old_side);
    suite_side_release(&new_side);
}

static dit_status compare(const char *old, const char *now, const suite_comparison_params *params)
{
    static const suite_comparison_params usual;
    forget();
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

/* Says of every process of the side's first case which share of the cores others used. */
static void use_cores(suite_side *side, const double *shares, int count)
{
    suite_side_case *one = &side->cases[0];
    assert_int_equal(one->process_count, count);
    free(one->other_shares);
    one->other_shares = malloc((size_t)count * sizeof *shares);
    assert_non_null(one->other_shares);
    memcpy(one->other_shares, shares, (size_t)count * sizeof *shares);
}

#define EIGHT_OLD "\"latency_s\":[1.00,1.01,9,1.02,1.00,1.01,1.02,1.00]"
#define EIGHT_NEW "\"latency_s\":[1.02,1.00,1.01,1.00,9,1.02,1.00,1.01]"

/* The two values of 9 were taken beside others. In pairs their partners do not count either. */
static void processes_beside_others_do_not_count(void **state)
{
    (void)state;
    static const double old_busy[] = {0, 0.02, 0.5, 0.1, NAN, 0, 0, 0}, new_busy[] = {0, 0, 0, 0, 0.11, 0, 0, 0};
    for (int paired = 0; paired < 2; paired++) {
        const suite_comparison_params all = {.busy_limit = 1}, usual = {0};
        assert_ok(compare(MEASURED("a", EIGHT_OLD), MEASURED("a", EIGHT_NEW), &all));
        use_cores(&old_side, old_busy, 8);
        use_cores(&new_side, new_busy, 8);
        if (paired) strcpy(old_side.pairing, "p"), strcpy(new_side.pairing, "p"), old_side.looks = 1;
        suite_comparison_release(&comparison);
        assert_ok(suite_comparison_make(&old_side, &new_side, &all, &comparison));
        assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_UNDECIDED);
        assert_int_equal(comparison.timings[0].not_counted, 0);
        suite_comparison_release(&comparison);
        assert_ok(suite_comparison_make(&old_side, &new_side, &usual, &comparison));
        assert_int_equal(comparison.timings[0].not_counted, 2);
        assert_int_equal(comparison.timings[0].ratio.n, paired ? 6 : 7);
        assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_SAME);
        assert_near(comparison.timings[0].before, 1.01, 0);
    }
}

static void too_few_processes_that_count_decide_nothing(void **state)
{
    (void)state;
    static const double busy[] = {1, 1, 1, 0, 0, 0};
    assert_ok(compare(MEASURED("a", SIX("")), MEASURED("a", SIX_SLOWER), NULL));
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_WORSE);
    use_cores(&new_side, busy, 6);
    suite_comparison_release(&comparison);
    assert_ok(suite_comparison_make(&old_side, &new_side, &(suite_comparison_params){0}, &comparison));
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_UNDECIDED);
    assert_int_equal(comparison.timings[0].ratio.n, 3);
    assert_near(comparison.timings[0].ratio.ratio, 1.2, 0.01); /* of all */
}

static void a_baseline_holds_no_times_beside_others(void **state)
{
    (void)state;
    static const double busy[] = {0, 1, 0, 0, NAN, 0};
    char path[2 * TEST_FOLDER];
    forget();
    assert_ok(suite_side_load(write_side("old", MEASURED("a", SIX(""))), &old_side));
    use_cores(&old_side, busy, 6);
    snprintf(path, sizeof path, "%s/quiet.json", folder);
    assert_ok(suite_baseline_write(&old_side, path, "test"));
    assert_ok(suite_baseline_load(path, &new_side));
    assert_int_equal(new_side.cases[0].process_count, 5);
    assert_near(new_side.cases[0].values[REPORT_LATENCY][1], 1.02, 0);
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
    forget();
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
    forget();
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

/* ---- rules of the workload --------------------------------------------------------------------------------------- */

/* Compares as `compare` does, after the rules stand in the new side's session. */
static dit_status compare_by(const char *rules, const char *old, const char *now)
{
    char text[8192], path[2 * TEST_FOLDER];
    forget();
    assert_ok(suite_side_load(write_side("old", old), &old_side));
    snprintf(path, sizeof path, "%s/ruled.json", folder);
    snprintf(text, sizeof text,
             "{\"schema\":\"ditbench.baseline/1\",\"session\":{\"hardware\":{\"hardware_id\":\"m\"},"
             "\"workload\":{\"gate\":[%s]}},\"cases\":[%s]}",
             rules, now);
    test_file_write(path, text, strlen(text));
    DIT_TRY(suite_side_load(path, &new_side));
    return suite_comparison_make(&old_side, &new_side, &(suite_comparison_params){0}, &comparison);
}

static void a_rule_sets_direction_and_margin_of_a_number(void **state)
{
    (void)state;
    static const char old[] = SIMULATED("a", "\"flops\":100"), more[] = SIMULATED("a", "\"flops\":102"),
                      less[] = SIMULATED("a", "\"flops\":98");
    assert_ok(compare_by("{\"metric\":\"flops\",\"margin\":3}", old, more));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_SAME);
    assert_ok(compare_by("{\"metric\":\"flops\",\"margin\":1}", old, more));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_WORSE);
    assert_ok(compare_by("{\"metric\":\"flops\",\"better\":\"lower\"}", old, less));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_BETTER);
    assert_ok(compare_by("{\"metric\":\"flops\",\"better\":\"higher\"}", old, less));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_WORSE);
    assert_ok(compare_by("{\"metric\":\"total_bytes\",\"better\":\"equal\"}", SIMULATED("a", "\"total_bytes\":100"),
                         SIMULATED("a", "\"total_bytes\":90")));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_WORSE);
}

static void a_rule_sets_the_margin_of_a_measured_time(void **state)
{
    (void)state;
    static const char faster[] = MEASURED("a", "\"latency_s\":[0.90,0.91,0.92,0.90,0.91,0.92]");
    assert_ok(
        compare_by("{\"metric\":\"latency_s\",\"margin\":40}", MEASURED("a", SIX("")), MEASURED("a", SIX_SLOWER)));
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_SAME);
    assert_ok(compare_by("{\"metric\":\"latency_s\",\"better\":\"equal\"}", MEASURED("a", SIX("")), faster));
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_WORSE);
    assert_ok(compare_by("", MEASURED("a", SIX("")), faster));
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_BETTER);
}

static void a_margin_of_the_command_line_outweighs_that_of_a_rule(void **state)
{
    (void)state;
    const suite_comparison_params strict = {.margin = 0.05};
    assert_ok(
        compare_by("{\"metric\":\"latency_s\",\"margin\":40}", MEASURED("a", SIX("")), MEASURED("a", SIX_SLOWER)));
    suite_comparison_release(&comparison);
    assert_ok(suite_comparison_make(&old_side, &new_side, &strict, &comparison));
    assert_near(comparison.timings[0].margin, 0.05, 0);
    assert_int_equal(comparison.timings[0].verdict, SUITE_VERDICT_WORSE);
}

static void a_rule_asks_for_times_and_numbers_that_nobody_judges_else(void **state)
{
    (void)state;
#define PARTS(waits, far) "\"latency_s\":1,\"exposed_communication_s\":" waits ",\"rel_l2\":" far
    static const char old[] = SIMULATED("a", PARTS("0.1", "0.5")), now[] = SIMULATED("a", PARTS("0.2", "0.6"));
    assert_ok(compare_by("", old, now));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_SAME);
    assert_ok(compare_by("{\"metric\":\"exposed_communication_s\"}", old, now));
    assert_int_equal(comparison.timing_count, 2);
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_WORSE);
    assert_ok(compare_by("{\"metric\":\"rel_l2\",\"margin\":10}", old, now));
    assert_int_equal(comparison.difference_count, 1);
    assert_string_equal(comparison.differences[0].name, "rel_l2");
    assert_ok(compare_by("{\"metric\":\"rel_l2\",\"margin\":30}", old, now));
    assert_int_equal(comparison.difference_count, 0);
}

static void a_wrong_rule_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char one[] = SIMULATED("a", "\"flops\":1");
    assert_fails(compare_by("{\"metric\":\"latency\"}", one, one), DIT_ERR_JSON_VALUE,
                 "/session/workload/gate/0/metric");
    assert_contains(dit_error_last()->hint, "latency_s");
    assert_fails(compare_by("{\"metric\":\"flops\"},{\"metric\":\"flops\"}", one, one), DIT_ERR_JSON_VALUE, "already");
    assert_fails(compare_by("{\"metric\":\"speedup\"}", one, one), DIT_ERR_JSON_VALUE, "several cases");
    assert_fails(compare_by("{\"metric\":\"flops\",\"better\":\"less\"}", one, one), DIT_ERR_JSON_VALUE,
                 "gate/0/better");
    assert_fails(compare_by("{\"metric\":\"flops\",\"margin\":-1}", one, one), DIT_ERR_JSON_VALUE, "gate/0/margin");
    assert_fails(compare_by("{\"metric\":\"flops\",\"most\":1}", one, one), DIT_ERR_JSON_UNKNOWN_KEY, "most");
    assert_fails(compare_by("3", one, one), DIT_ERR_JSON_TYPE, "gate/0");
}

/* ---- what was done of each kind ---------------------------------------------------------------------------------- */

#define COUNTED(counts)                                                                                                \
    "{\"case_id\":\"a\",\"label\":\"l\",\"evidence\":\"simulated\",\"status\":\"ok\",\"tags\":{},"                     \
    "\"metrics\":{\"communication_bytes\":30},\"counts\":{" counts "}}"

static void kinds_are_compared_one_by_one(void **state)
{
    (void)state;
    static const char old[] = COUNTED("\"communication_bytes/ring/send_recv/step\":10,"
                                      "\"communication_bytes/ulysses/all_to_all/step\":20,\"plan\":\"aa\"");
    assert_ok(compare(old, old, NULL));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_SAME);
    assert_int_equal(comparison.exact_count, 4);
    assert_ok(compare(old,
                      COUNTED("\"communication_bytes/ring/send_recv/step\":12,"
                              "\"communication_bytes/ulysses/all_to_all/step\":18,\"plan\":\"bb\""),
                      NULL));
    assert_int_equal(comparison.difference_count, 2); /* the plan says nothing new */
    assert_string_equal(comparison.differences[0].name, "communication_bytes/ring/send_recv/step");
    assert_int_equal(comparison.differences[0].verdict, SUITE_VERDICT_WORSE);
    assert_int_equal(comparison.differences[1].verdict, SUITE_VERDICT_BETTER);
    /* a kind that was not there, and one that is gone */
    assert_ok(compare(COUNTED("\"operator_calls/copy\":3"), COUNTED("\"operator_calls/linear\":4"), NULL));
    assert_int_equal(comparison.difference_count, 2);
    assert_near(comparison.differences[0].before, 0, 0);
    assert_near(comparison.differences[1].after, 0, 0);
    /* an older file counts nothing, and a later one what nobody knows here */
    assert_ok(compare(SIMULATED("a", "\"flops\":1"), COUNTED("\"operator_calls/copy\":3"), NULL));
    assert_int_equal(comparison.difference_count, 0);
    assert_ok(compare(COUNTED("\"new_things/x\":1"), COUNTED("\"new_things/x\":2"), NULL));
    assert_int_equal(comparison.difference_count, 0);
}

static void a_plan_that_moved_between_ranks_closes_the_gate(void **state)
{
    (void)state;
    assert_ok(compare(COUNTED("\"operator_calls/copy\":3,\"plan\":\"aa\""),
                      COUNTED("\"operator_calls/copy\":3,\"plan\":\"bb\""), NULL));
    assert_int_equal(comparison.difference_count, 1);
    assert_string_equal(comparison.differences[0].name, "plan");
    assert_string_equal(comparison.differences[0].new_text, "bb");
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_WORSE);
    forget();
    assert_fails(suite_side_load(write_side("bad", COUNTED("\"operator_calls/copy\":-3")), &old_side),
                 DIT_ERR_JSON_VALUE, "/cases/0/counts/operator_calls~1copy");
    assert_fails(suite_side_load(write_side("bad", COUNTED("\"plan\":3")), &old_side), DIT_ERR_JSON_TYPE,
                 "/cases/0/counts/plan");
}

/* ---- outcomes ---------------------------------------------------------------------------------------------------- */

static void what_a_machine_has_to_skip_is_not_judged(void **state)
{
    (void)state;
#define SKIPPED(id)                                                                                                    \
    "{\"case_id\":\"" id "\",\"label\":\"l\",\"evidence\":\"measured\",\"status\":\"skipped\","                        \
    "\"failure\":\"E_ENVIRONMENT: no GPU\",\"tags\":{},\"metrics\":{}}"
    assert_ok(compare(MEASURED("a", SIX("")) "," MEASURED("b", "\"flops\":1"),
                      SKIPPED("a") "," MEASURED("b", "\"flops\":1"), NULL));
    assert_int_equal(comparison.skipped_count, 1);
    assert_int_equal(comparison.turned_count, 0);
    assert_int_equal(comparison.gone_count, 0);
    assert_string_equal(suite_comparison_who_skipped(&comparison, 0)->failure, "E_ENVIRONMENT: no GPU");
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_SAME);
    assert_ok(compare(SKIPPED("a"), MEASURED("a", SIX("")), NULL));
    assert_int_equal(suite_comparison_verdict(&comparison), SUITE_VERDICT_SAME);
    assert_string_equal(suite_comparison_who_skipped(&comparison, 0)->failure, "E_ENVIRONMENT: no GPU");
}

static void a_case_that_fails_on_both_sides_has_failed(void **state)
{
    (void)state;
    static const char failed[] = "{\"case_id\":\"a\",\"label\":\"l\",\"evidence\":\"measured\",\"status\":\"failed\","
                                 "\"tags\":{},\"metrics\":{}}";
    assert_ok(compare(failed, failed, NULL));
    assert_int_equal(comparison.turned_count, 0);
    assert_true(suite_side_has_failures(&new_side));
    assert_ok(compare(SKIPPED("a"), SKIPPED("a"), NULL));
    assert_false(suite_side_has_failures(&new_side));
}

static void a_median_is_that_of_all_processes(void **state)
{
    (void)state;
    char list[4000] = "", text[4200];
    for (int i = 0; i < 600; i++) strcat(list, i < 256 ? "1," : i < 599 ? "9," : "9");
    snprintf(text, sizeof text, MEASURED("a", "\"latency_s\":[%s]"), list);
    forget();
    assert_ok(suite_side_load(write_side("many", text), &old_side));
    assert_int_equal(old_side.cases[0].process_count, 600);
    assert_near(suite_side_median(&old_side.cases[0], REPORT_LATENCY), 9, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slower_case_is_slower_and_an_equal_one_is_the_same),
        cmocka_unit_test(five_processes_decide_nothing),
        cmocka_unit_test(processes_beside_others_do_not_count),
        cmocka_unit_test(too_few_processes_that_count_decide_nothing),
        cmocka_unit_test(a_baseline_holds_no_times_beside_others),
        cmocka_unit_test(many_cases_need_stronger_evidence),
        cmocka_unit_test(numbers_that_repeat_are_compared_to_the_last_digit),
        cmocka_unit_test(memory_may_differ_by_a_hundredth),
        cmocka_unit_test(cases_of_one_side_are_named),
        cmocka_unit_test(cases_that_differ_on_purpose_match_by_their_other_tags),
        cmocka_unit_test(an_outcome_that_turned_bad_is_worse),
        cmocka_unit_test(a_baseline_reads_back_as_it_was_written),
        cmocka_unit_test(a_damaged_baseline_is_refused_with_its_place),
        cmocka_unit_test(what_differs_besides_is_ranked),
        cmocka_unit_test(a_rule_sets_direction_and_margin_of_a_number),
        cmocka_unit_test(a_rule_sets_the_margin_of_a_measured_time),
        cmocka_unit_test(a_margin_of_the_command_line_outweighs_that_of_a_rule),
        cmocka_unit_test(a_rule_asks_for_times_and_numbers_that_nobody_judges_else),
        cmocka_unit_test(a_wrong_rule_is_refused_with_its_place),
        cmocka_unit_test(kinds_are_compared_one_by_one),
        cmocka_unit_test(a_plan_that_moved_between_ranks_closes_the_gate),
        cmocka_unit_test(what_a_machine_has_to_skip_is_not_judged),
        cmocka_unit_test(a_case_that_fails_on_both_sides_has_failed),
        cmocka_unit_test(a_median_is_that_of_all_processes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
