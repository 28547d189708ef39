/* Plans of calibrations, and calibrations beside those that are committed. */
#include "suite/calibrate/calibrate.h"
#include "suite/calibrate/judged_points.h"

#include "suite/tests/calibration_fixture.h"

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static void plan_refused(const char *text, dit_status wanted, const char *words)
{
    char path[TEST_FOLDER];
    suite_calibration_plan plan;
    test_file_make(path, text, strlen(text));
    dit_status st = suite_calibration_plan_load(path, &plan);
    unlink(path);
    if (st != wanted) fail_msg("%s: %s, not %s", text, dit_status_name(st), dit_status_name(wanted));
    if (!strstr(dit_error_last()->message, words)) fail_msg("\"%s\" is not in: %s", words, dit_error_last()->message);
}

#define PLAN "{\"schema\":\"ditbench.calibration_plan/1\",\"name\":\"p\",\"stages\":["
#define WIDTH(deviation)                                                                                               \
    "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gemm_ceiling\",\"least\":0.1,\"most\":1,\"prior_"              \
    "deviation\":" deviation "}"
#define GEMM                WIDTH("0.2")
#define UNBOUNDED           "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gemm_ceiling\",\"prior_deviation\":0.2}"
#define BOUNDS(least, most) "{\"gemm_ceiling\":{\"least\":" least ",\"most\":" most ",\"why\":\"w\"}}"
#define POINTS(points)      "{\"name\":\"a\",\"why\":\"w\",\"parameters\":[" GEMM "],\"points\":[" points "]}"
#define STAGE(name, values, where)                                                                                     \
    "{\"name\":\"" name "\",\"why\":\"w\",\"parameters\":[" values "],\"points\":[{\"file\":\"paper_numbers.json\","   \
    "\"where\":\"" where "\"}]}"
#define ALONE "platform == '8xl40' && gpus == 1"

static void a_plan_that_cannot_be_followed_is_refused(void **state)
{
    (void)state;
    plan_refused("{\"schema\":\"x\"}", DIT_ERR_JSON_VALUE, "/schema");
    plan_refused(PLAN "]}", DIT_ERR_JSON_MISSING, "stages");
    plan_refused(PLAN STAGE("a", "", ALONE) "]}", DIT_ERR_JSON_VALUE, "/stages/0/parameters");
    plan_refused(PLAN STAGE("a", GEMM, "gpus == 77") "]}", DIT_ERR_JSON_VALUE, "selects no point");
    plan_refused(PLAN STAGE("a", GEMM, "gpu == 1") "]}", DIT_ERR_EXPRESSION, "gpu");
    plan_refused(PLAN STAGE("a", GEMM, "method == 'hybrid' && platform == '2x8xl40'") "]}", DIT_ERR_JSON_VALUE,
                 "best of several");
    plan_refused(PLAN STAGE("a", GEMM, ALONE) "," STAGE("b", GEMM, ALONE) "]}", DIT_ERR_JSON_VALUE, "fitted twice");
    plan_refused(PLAN STAGE("a", GEMM, ALONE) "," STAGE("a", GEMM, ALONE) "]}", DIT_ERR_JSON_VALUE, "two stages");
    plan_refused(PLAN STAGE("a",
                            "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gemm_ceiling\",\"least\":0.1,"
                            "\"most\":0.2,\"prior_deviation\":0.2}",
                            ALONE) "]}",
                 DIT_ERR_JSON_VALUE, "the plan allows 0.1 to 0.2");
    plan_refused(PLAN STAGE("a", UNBOUNDED, ALONE) "]}", DIT_ERR_JSON_MISSING, "least");
    plan_refused(PLAN STAGE("a", UNBOUNDED, ALONE) "],\"bounds\":{\"gemm_ceiling\":{\"least\":0.1,\"most\":1}}}",
                 DIT_ERR_JSON_MISSING, "why");
    plan_refused(PLAN STAGE("a", UNBOUNDED, ALONE) "],\"bounds\":{\"gemm_cieling\":{}}}", DIT_ERR_JSON_VALUE,
                 "/bounds/gemm_cieling");
    plan_refused(PLAN STAGE("a", UNBOUNDED, ALONE) "],\"bounds\":{\"gemm_ceiling\":7}}", DIT_ERR_JSON_TYPE,
                 "/bounds/gemm_ceiling");
    plan_refused(PLAN STAGE("a", UNBOUNDED, ALONE) "],\"bounds\":" BOUNDS("0.1", "0.2") "}", DIT_ERR_JSON_VALUE,
                 "the plan allows 0.1 to 0.2");
    plan_refused("[]", DIT_ERR_JSON_TYPE, "expected an object");
    plan_refused(PLAN STAGE("a", GEMM, ALONE) "],\"not_judged\":{\"mlenergy.json\":7}}", DIT_ERR_JSON_TYPE,
                 "/not_judged/mlenergy.json");
    plan_refused(PLAN "7]}", DIT_ERR_JSON_TYPE, "/stages/0");
    plan_refused(PLAN "{\"name\":7}]}", DIT_ERR_JSON_TYPE, "/stages/0/name");
    plan_refused(PLAN "{\"name\":\"a\",\"why\":\"w\",\"parameters\":{}}]}", DIT_ERR_JSON_TYPE, "/stages/0/parameters");
    plan_refused(PLAN STAGE("a", "7", ALONE) "]}", DIT_ERR_JSON_TYPE, "/stages/0/parameters/0");
    plan_refused(PLAN STAGE("a", WIDTH("\"NaN\""), ALONE) "]}", DIT_ERR_JSON_TYPE,
                 "/stages/0/parameters/0/prior_deviation");
    plan_refused(PLAN STAGE("a", WIDTH("1e300"), ALONE) "]}", DIT_ERR_JSON_VALUE,
                 "/stages/0/parameters/0/prior_deviation");
    plan_refused(PLAN STAGE("a", GEMM, ALONE) "],\"rounds\":1e300}", DIT_ERR_JSON_VALUE, "/rounds");
    plan_refused(PLAN POINTS("7") "]}", DIT_ERR_JSON_TYPE, "/stages/0/points/0");
    plan_refused(PLAN POINTS("{\"where\":\"gpus == 1\"}") "]}", DIT_ERR_JSON_MISSING, "file");
    plan_refused(PLAN POINTS("{\"file\":\"a.json\",\"where\":7}") "]}", DIT_ERR_JSON_TYPE, "/stages/0/points/0/where");
    plan_refused(PLAN POINTS("{\"file\":\"../a.json\",\"where\":\"1\"}") "]}", DIT_ERR_JSON_VALUE,
                 "/stages/0/points/0/file");
    plan_refused(PLAN POINTS("{\"file\":\"none.json\",\"where\":\"1\"}") "]}", DIT_ERR_IO, "none.json");
}

static void doubtful_points_are_never_fitted_on(void **state)
{
    suite_calibration_plan plan;
    (void)state;
    assert_int_equal(suite_calibration_plan_load(NULL, &plan), DIT_OK);
    for (int i = 0; i < plan.stage_count; i++)
        for (int j = 0; j < plan.stages[i].point_count; j++) {
            const suite_published_point *published = plan.stages[i].points[j].point->published;
            assert_string_not_equal(published->status, "doubtful");
            assert_true(published->has_value && published->value > 0);
            if (published->gpus > 1 && !plan.stages[i].points[j].why[0])
                fail_msg("point %d of %s has %d devices and no reason to be fitted on", published->index,
                         plan.stages[i].points[j].file, (int)published->gpus);
        }
    suite_calibration_plan_release(&plan);
}

/* Bounds of all values of a key hold where a value has none of its own. */
static void bounds_of_a_key_hold_for_its_values(void **state)
{
    static const char text[] = PLAN STAGE("a", UNBOUNDED, ALONE) "],\"bounds\":" BOUNDS("0.4", "0.95") "}";
    char path[TEST_FOLDER];
    suite_calibration_plan plan;
    (void)state;
    test_file_make(path, text, strlen(text));
    assert_int_equal(suite_calibration_plan_load(path, &plan), DIT_OK);
    assert_true(plan.stages[0].values[0].range.least == 0.4 && plan.stages[0].values[0].range.most == 0.95);
    suite_calibration_plan_release(&plan);
    unlink(path);
}

/* Points of a file may be fitted on, and yet no fit without a machine or a model is held against them. */
static void a_file_may_be_fitted_on_and_not_judged(void **state)
{
    static const char *const plans[] = {
        PLAN STAGE("a", GEMM, ALONE) "]}",
        PLAN STAGE("a", GEMM, ALONE) "],\"not_judged\":{\"paper_numbers.json\":\"w\"}}"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char path[TEST_FOLDER];
        suite_calibration_plan plan;
        suite_judged_points judged;
        test_file_make(path, plans[i], strlen(plans[i]));
        assert_int_equal(suite_calibration_plan_load(path, &plan), DIT_OK);
        assert_int_equal(suite_judged_points_gather(&plan, &judged), DIT_OK);
        assert_true(plan.stages[0].point_count > 0 && (judged.count > 0) == (i == 0));
        suite_judged_points_release(&judged);
        suite_calibration_plan_release(&plan);
        unlink(path);
    }
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static void a_changed_byte_is_named(void **state)
{
    char path[TEST_FOLDER];
    static const char text[] =
        "{\"parameters\":[{\"stage\":\"a\",\"value\":1},{\"stage\":\"b\",\"value\":2}],\"points\":"
        "[{\"stage\":\"b\",\"after\":3}],\"summary\":{}}";
    static const char part[] =
        "{\"parameters\":[{\"stage\":\"b\",\"value\":2}],\"points\":[{\"stage\":\"b\",\"after\":3}"
        "]}";
    (void)state;
    test_file_make(path, text, strlen(text));
    cJSON *all = cJSON_Parse(text), *one = cJSON_Parse(part);
    assert_int_equal(suite_calibrate_compare(all, NULL, path), DIT_ERR_BYTES_MISMATCH); /* there is no schema */
    assert_int_equal(suite_calibrate_compare(one, "b", path), DIT_OK);
    assert_int_equal(suite_calibrate_compare(one, "a", path), DIT_ERR_BYTES_MISMATCH);
    cJSON_SetNumberValue(cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(one, "points"), 0), "after"), 4);
    assert_int_equal(suite_calibrate_compare(one, "b", path), DIT_ERR_BYTES_MISMATCH);
    assert_non_null(strstr(dit_error_last()->message, "points 0"));
    cJSON_Delete(all);
    cJSON_Delete(one);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_cannot_be_followed_is_refused),
        cmocka_unit_test(bounds_of_a_key_hold_for_its_values),
        cmocka_unit_test(a_file_may_be_fitted_on_and_not_judged),
        cmocka_unit_test(doubtful_points_are_never_fitted_on),
        cmocka_unit_test(a_changed_byte_is_named),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
