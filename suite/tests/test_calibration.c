/* Calibrations: which files are taken, what is laid over what, and which cases are in the fit. */
#include "suite/catalogue/catalogue.h"
#include "suite/platform/profile.h"
#include "suite/calibrate/calibration_plan.h"
#include "suite/simulate/simulate.h"

#include "suite/tests/calibration_fixture.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

static dit_status take(const char *text, suite_calibration *out)
{
    dit_json doc;
    assert_int_equal(dit_json_parse(text, strlen(text), "fit.json", &doc), DIT_OK);
    return suite_calibration_take(&doc, out);
}

#define HEAD    "{\"schema\":\"ditbench.calibration/1\",\"parameters\":["
#define LONG    "a-name-that-is-longer-than-any-name-which-a-data-file-of-ours-has-got"
#define CEILING "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gemm_ceiling\",\"value\":0.5}"

static void refused(const char *text, dit_status wanted, const char *words, const char *hint)
{
    suite_calibration calibration;
    dit_status st = take(text, &calibration);
    if (st != wanted) fail_msg("%s: %s, not %s", text, dit_status_name(st), dit_status_name(wanted));
    if (!strstr(dit_error_last()->message, words)) fail_msg("\"%s\" is not in: %s", words, dit_error_last()->message);
    if (!strstr(dit_error_last()->hint, hint)) fail_msg("\"%s\" is not in: %s", hint, dit_error_last()->hint);
    assert_null(calibration.values);
}

static void what_nothing_takes_is_refused_with_its_place(void **state)
{
    (void)state;
    refused("[]", DIT_ERR_JSON_TYPE, "fit.json:1:1", "");
    refused("{\"schema\":\"ditbench.calibration/2\"}", DIT_ERR_JSON_VALUE, "/schema", "");
    refused("{\"schema\":\"ditbench.calibration/1\",\"value\":[]}", DIT_ERR_JSON_UNKNOWN_KEY, "value", "");
    refused(HEAD "3]}", DIT_ERR_JSON_TYPE, "/parameters/0", "");
    refused(HEAD "{\"of\":\"acelerator\"}]}", DIT_ERR_JSON_VALUE, "/parameters/0/of", "accelerator");
    refused(HEAD "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gem_ceiling\"}]}", DIT_ERR_JSON_VALUE,
            "/parameters/0/key", "gemm_ceiling");
    refused(HEAD "{\"of\":\"link\",\"name\":\"pcie4-x16\",\"key\":\"gemm_ceiling\"}]}", DIT_ERR_JSON_VALUE,
            "/parameters/0/key", "");
    refused(HEAD "{\"of\":\"accelerator\",\"name\":\"l400\",\"key\":\"gemm_ceiling\"}]}", DIT_ERR_JSON_VALUE,
            "/parameters/0/name", "l40");
    refused(HEAD "{\"of\":\"link\",\"name\":\"pcie4-x17\",\"key\":\"bandwidth_efficiency\"}]}", DIT_ERR_JSON_VALUE,
            "/parameters/0/name", "pcie4-x16");
    refused(HEAD "{\"of\":\"profile\",\"name\":\"pytorch-eagre\",\"key\":\"dispatch_s\"}]}", DIT_ERR_JSON_VALUE,
            "/parameters/0/name", "pytorch-eager");
    refused(HEAD "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gemm_ceiling\"}]}", DIT_ERR_JSON_MISSING, "value",
            "");
    refused(HEAD "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gemm_ceiling\",\"value\":1.5}]}",
            DIT_ERR_JSON_VALUE, "/parameters/0/value", "");
    refused(HEAD CEILING "," CEILING "]}", DIT_ERR_JSON_VALUE, "two fitted values", "");
    refused(HEAD CEILING "],\"points\":[{\"case_id\":\"x\"}]}", DIT_ERR_JSON_MISSING, "platform", "");
    refused(HEAD CEILING "],\"points\":[5]}", DIT_ERR_JSON_TYPE, "/points/0", "");
    refused("{\"schema\":7}", DIT_ERR_JSON_TYPE, "/schema", "");
    refused("{\"schema\":\"ditbench.calibration/1\",\"parameters\":{}}", DIT_ERR_JSON_TYPE, "/parameters", "");
    refused("{\"schema\":\"ditbench.calibration/1\",\"points\":\"x\"}", DIT_ERR_JSON_TYPE, "/points", "");
    refused(HEAD "{\"of\":7}]}", DIT_ERR_JSON_TYPE, "/parameters/0/of", "");
    refused(HEAD "{\"of\":\"accelerator\",\"key\":[]}]}", DIT_ERR_JSON_TYPE, "/parameters/0/key", "");
    refused(HEAD "{\"of\":\"accelerator\",\"key\":\"gemm_ceiling\",\"name\":{}}]}", DIT_ERR_JSON_TYPE,
            "/parameters/0/name", "");
    refused(HEAD "{\"of\":\"accelerator\",\"key\":\"gemm_ceiling\",\"name\":\"" LONG "\"}]}", DIT_ERR_JSON_VALUE,
            "/parameters/0/name", "");
    refused(HEAD "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gemm_ceiling\",\"value\":\"NaN\"}]}",
            DIT_ERR_JSON_TYPE, "/parameters/0/value", "");
    refused(HEAD "{\"of\":\"profile\",\"name\":\"pytorch-eager\",\"key\":\"dispatch_s\",\"value\":1e300}]}",
            DIT_ERR_JSON_VALUE, "/parameters/0/value", "");
    refused(HEAD CEILING "],\"points\":[{\"case_id\":\"" LONG "\",\"platform\":\"p\",\"profile\":\"q\"}]}",
            DIT_ERR_JSON_VALUE, "/points/0/case_id", "");
    refused(HEAD CEILING "],\"points\":[{\"case_id\":7}]}", DIT_ERR_JSON_TYPE, "/points/0/case_id", "");
}

static void a_profile_is_like_others_that_exist(void **state)
{
    static const struct {
        const char *like;
        dit_status status;
        const char *words, *hint;
    } refused_likes[] = {
        {"[\"pytorch-eager\"]", DIT_ERR_JSON_TYPE, "/like", ""},
        {"7", DIT_ERR_JSON_TYPE, "/like", ""},
        {"{\"dispatch_s\":7}", DIT_ERR_JSON_TYPE, "p.json:1:11: /like/dispatch_s", "pytorch-eager"},
        {"{\"dispatch_s\":null}", DIT_ERR_JSON_TYPE, "/like/dispatch_s", "pytorch-eager"},
        {"{\"dispatch_s\":{\"a\":\"b\"}}", DIT_ERR_JSON_TYPE, "/like/dispatch_s", "pytorch-eager"},
        {"{\"dispach_s\":\"pytorch-eager\"}", DIT_ERR_JSON_VALUE, "/like/dispach_s", "dispatch_s"},
        {"{\"gemm_ceiling\":\"pytorch-eager\"}", DIT_ERR_JSON_VALUE, "/like/gemm_ceiling", ""},
        {"{\"dispatch_s\":\"pytorch-eagre\"}", DIT_ERR_JSON_VALUE, "/like/dispatch_s", "pytorch-eager"},
        {"{\"dispatch_s\":\"../x\"}", DIT_ERR_JSON_VALUE, "/like/dispatch_s", ""},
        {"{\"dispatch_s\":\"" LONG "\"}", DIT_ERR_JSON_VALUE, "/like/dispatch_s", ""},
    };
    suite_calibration calibration;
    dit_json doc;
    char text[512];
    (void)state;
    assert_int_equal(take(HEAD "{\"of\":\"profile\",\"name\":\"pytorch-eager\",\"key\":\"dispatch_s\",\"value\":0.5}]}",
                          &calibration),
                     DIT_OK);
    for (size_t i = 0; i < sizeof refused_likes / sizeof *refused_likes; i++) {
        snprintf(text, sizeof text, "{\"like\": %s}", refused_likes[i].like);
        assert_int_equal(dit_json_parse(text, strlen(text), "p.json", &doc), DIT_OK);
        dit_status st = suite_calibration_profile(&calibration, &doc);
        if (st != refused_likes[i].status) fail_msg("%s: %s", text, dit_status_name(st));
        if (!strstr(dit_error_last()->message, refused_likes[i].words)) fail_msg("%s", dit_error_last()->message);
        if (!strstr(dit_error_last()->hint, refused_likes[i].hint)) fail_msg("%s", dit_error_last()->hint);
        dit_json_release(&doc);
    }
    snprintf(text, sizeof text, "{\"like\":{\"dispatch_s\":\"pytorch-eager\"},\"dispatch_s\":1}");
    assert_int_equal(dit_json_parse(text, strlen(text), "p.json", &doc), DIT_OK);
    assert_int_equal(suite_calibration_profile(NULL, &doc), DIT_OK);
    assert_true(cJSON_GetObjectItemCaseSensitive(doc.root, "dispatch_s")->valuedouble == 1);
    assert_int_equal(suite_calibration_profile(&calibration, &doc), DIT_OK);
    assert_true(cJSON_GetObjectItemCaseSensitive(doc.root, "dispatch_s")->valuedouble == 0.5);
    dit_json_release(&doc);
    suite_calibration_release(&calibration);
}

/* torch-compile-breaks states its own time of the host, which is eager PyTorch's; all else is torch-compile-2024's. */
static void a_profile_that_extends_another_has_its_members(void **state)
{
    suite_calibration calibration;
    dit_json own, base;
    (void)state;
    assert_int_equal(take(HEAD
                          "{\"of\":\"profile\",\"name\":\"pytorch-eager\",\"key\":\"conv_efficiency\",\"value\":0.5}]}",
                          &calibration),
                     DIT_OK);
    assert_int_equal(suite_profile_read("torch-compile-breaks", &own), DIT_OK);
    assert_int_equal(suite_profile_read("torch-compile-2024", &base), DIT_OK);
    assert_string_equal(dit_json_text_or(own.root, "name", ""), "torch-compile-breaks");
    assert_null(dit_json_member(own.root, "extends"));
    assert_true(dit_json_number_or(own.root, "dispatch_s", 0) == 2e-5);
    assert_true(cJSON_Compare(dit_json_member(own.root, "parts"), dit_json_member(base.root, "parts"), true));
    assert_int_equal(suite_calibration_profile(&calibration, &own), DIT_OK);
    assert_true(dit_json_number_or(own.root, "conv_efficiency", 0) ==
                0.5); /* torch-compile-2024's is eager PyTorch's */
    suite_calibration_release(&calibration);
    dit_json_release(&own);
    dit_json_release(&base);
    assert_int_equal(suite_profile_read("pipefusion-legacy", &own), DIT_OK);
    assert_true(cJSON_IsTrue(dit_json_member(own.root, "cross_attention_whole")));
    assert_true(cJSON_IsTrue(dit_json_member(own.root, "stores_filled")));
    assert_non_null(dit_json_member(dit_json_member(own.root, "evidence"), "stores_filled"));
    dit_json_release(&own);
}

static void no_file_is_no_fit_and_a_named_one_must_be_there(void **state)
{
    suite_calibration calibration;
    (void)state;
    assert_int_equal(suite_calibration_load("none", &calibration), DIT_OK);
    assert_int_equal(calibration.value_count, 0);
    assert_string_equal(suite_calibration_path(&calibration), "none");
    assert_int_equal(suite_calibration_load("/nowhere/fit.json", &calibration), DIT_ERR_IO);
    suite_calibration_release(&calibration);
}

/* ---- laying over ------------------------------------------------------------------------------------------------- */

static void values_are_laid_over_what_bears_their_name(void **state)
{
    suite_calibration calibration;
    suite_accelerator l40, l20;
    dit_json eager, compile;
    double before;
    (void)state;
    assert_int_equal(take(HEAD CEILING
                          ",{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"bandwidth_scale\",\"value\":"
                          "0.75},{\"of\":\"profile\",\"name\":\"pytorch-eager\",\"key\":\"dispatch_s\","
                          "\"value\":1e-05}]}",
                          &calibration),
                     DIT_OK);
    assert_int_equal(suite_accelerator_load("l40", &l40), DIT_OK);
    assert_int_equal(suite_accelerator_load("l20", &l20), DIT_OK);
    before = number_at(l20.facts.cost, "gemm_ceiling");
    assert_int_equal(suite_calibration_accelerator(&calibration, l40.source.root), DIT_OK);
    assert_int_equal(suite_calibration_accelerator(&calibration, l20.source.root), DIT_OK);
    assert_int_equal(suite_calibration_accelerator(NULL, l20.source.root), DIT_OK);
    assert_true(number_at(l40.facts.cost, "gemm_ceiling") == 0.5 &&
                number_at(l40.facts.cost, "bandwidth_scale") == 0.75);
    assert_true(number_at(l20.facts.cost, "gemm_ceiling") == before);
    assert_null(cJSON_GetObjectItemCaseSensitive(l20.facts.cost, "bandwidth_scale"));
    assert_int_equal(suite_catalogue_read("profiles", "profile", "pytorch-eager", "ditbench.profile/1", &eager),
                     DIT_OK);
    assert_int_equal(suite_catalogue_read("profiles", "profile", "torch-compile", "ditbench.profile/1", &compile),
                     DIT_OK);
    before = number_at(compile.root, "dispatch_s");
    assert_int_equal(suite_calibration_profile(&calibration, &eager), DIT_OK);
    assert_int_equal(suite_calibration_profile(&calibration, &compile), DIT_OK);
    assert_true(number_at(eager.root, "dispatch_s") == 1e-05 && number_at(compile.root, "dispatch_s") == before);
    dit_json_release(&compile);
    dit_json_release(&eager);
    suite_accelerator_release(&l20);
    suite_accelerator_release(&l40);
    suite_calibration_release(&calibration);
}

static void links_of_a_class_get_its_share(void **state)
{
    suite_calibration calibration;
    suite_cluster plain, fitted;
    int changed = 0;
    (void)state;
    assert_int_equal(take(HEAD
                          "{\"of\":\"link\",\"name\":\"pcie4-x16\",\"key\":\"bandwidth_efficiency\",\"value\":0.25},"
                          "{\"of\":\"link\",\"name\":\"pcie4-x16\",\"key\":\"many_peers_efficiency\",\"value\":0.5}]}",
                          &calibration),
                     DIT_OK);
    assert_int_equal(suite_cluster_load("2x8xl40", &plain), DIT_OK);
    assert_int_equal(suite_cluster_load("2x8xl40", &fitted), DIT_OK);
    suite_calibration_cluster(&calibration, &fitted);
    for (int i = 0; i < plain.link_count; i++) {
        const suite_link *a = &plain.links[i], *b = &fitted.links[i];
        bool named = strcmp(a->link_class.name, "pcie4-x16") == 0;
        double share = named ? 0.25 / a->link_class.bandwidth_efficiency : 1;
        assert_float_equal(b->bandwidth_bytes_per_s / a->bandwidth_bytes_per_s, share, 1e-12);
        assert_true(!named || b->link_class.many_peers_efficiency == 0.5);
        changed += named;
    }
    assert_int_equal(changed, fitted.devices);
    assert_true(fitted.fabric.bandwidth_bytes_per_s == plain.fabric.bandwidth_bytes_per_s);
    suite_cluster_release(&fitted);
    suite_cluster_release(&plain);
    suite_calibration_release(&calibration);
}

/* What a simulation is started from has the values; without them it has what the data files say. */
static void a_simulation_starts_from_fitted_values(void **state)
{
    char folder[TEST_FOLDER], path[SUITE_PATH];
    suite_calibration calibration;
    suite_simulate_params params = {.element = "fp16"};
    cJSON *kase = cJSON_CreateObject();
    double ceiling[2];
    (void)state;
    assert_int_equal(test_folder_make(folder), 0);
    assert_int_equal(take(HEAD CEILING "]}", &calibration), DIT_OK);
    for (int with = 0; with < 2; with++) {
        dit_json doc;
        params.calibration = with ? &calibration : NULL;
        assert_int_equal(suite_simulate_prepare(&params, folder, kase, 1, "8xl40", "ditbench"), DIT_OK);
        assert_int_equal(suite_path(path, "%s/accelerator.json", folder), DIT_OK);
        assert_int_equal(dit_json_read_file(path, &doc), DIT_OK);
        ceiling[with] = number_at(cJSON_GetObjectItemCaseSensitive(doc.root, "cost"), "gemm_ceiling");
        dit_json_release(&doc);
    }
    assert_true(ceiling[1] == 0.5 && ceiling[0] != 0.5);
    cJSON_Delete(kase);
    suite_calibration_release(&calibration);
    assert_int_equal(suite_path_remove(folder), DIT_OK);
}

/* A host that is slower by a factor makes no time of what is none: the engine is to see it, and say so. */
static double host_scale_of(const char *platform, const suite_calibration *calibration)
{
    suite_cluster cluster;
    assert_int_equal(suite_cluster_load(platform, &cluster), DIT_OK);
    suite_calibration_cluster(calibration, &cluster);
    double scale = cluster.host_scale;
    suite_cluster_release(&cluster);
    return scale;
}

/* Two nodes of 8 x L40 are those of the platform 8xl40. */
static void what_is_fitted_of_a_host_holds_for_platforms_with_the_same_hosts(void **state)
{
    suite_calibration calibration;
    (void)state;
    assert_int_equal(
        take(HEAD "{\"of\":\"platform\",\"name\":\"8xl40\",\"key\":\"host_scale\",\"value\":3}]}", &calibration),
        DIT_OK);
    assert_true(host_scale_of("8xl40", &calibration) == 3);
    assert_true(host_scale_of("2x8xl40", &calibration) == 3);
    assert_true(host_scale_of("8xl20", &calibration) == 1);
    suite_calibration_release(&calibration);
}

static void what_is_no_time_is_not_scaled(void **state)
{
    static const char mine[] =
        "{\"schema\":\"ditbench.profile/1\",\"name\":\"mine\",\"dispatch_s\":\"1\",\"synchronise_s\":2}";
    char folder[TEST_FOLDER], path[SUITE_PATH], results[SUITE_PATH];
    suite_calibration calibration;
    suite_simulate_params params = {.element = "fp16", .calibration = &calibration};
    cJSON *kase = cJSON_CreateObject();
    dit_json doc;
    (void)state;
    assert_int_equal(test_folder_make(folder), 0);
    assert_int_equal(suite_path(results, "%s/calibration/profiles", folder), DIT_OK);
    assert_int_equal(suite_path_make(results), DIT_OK);
    assert_int_equal(suite_path(path, "%s/mine.json", results), DIT_OK);
    test_file_write(path, mine, strlen(mine));
    setenv("DITBENCH_RESULTS", folder, 1);
    assert_int_equal(
        take(HEAD "{\"of\":\"platform\",\"name\":\"8xl40\",\"key\":\"host_scale\",\"value\":3}]}", &calibration),
        DIT_OK);
    assert_int_equal(suite_simulate_prepare(&params, folder, kase, 1, "8xl40", "mine"), DIT_OK);
    unsetenv("DITBENCH_RESULTS");
    assert_int_equal(suite_path(path, "%s/profile.json", folder), DIT_OK);
    assert_int_equal(dit_json_read_file(path, &doc), DIT_OK);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc.root, "dispatch_s")), "1");
    assert_true(number_at(doc.root, "synchronise_s") == 6);
    dit_json_release(&doc);
    cJSON_Delete(kase);
    suite_calibration_release(&calibration);
    assert_int_equal(suite_path_remove(folder), DIT_OK);
}

/* ---- in the fit -------------------------------------------------------------------------------------------------- */

#define POINT(source, label)                                                                                           \
    "{\"source\":\"" source                                                                                            \
    "\",\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\",\"steps\":20,\"hardware\":\"8x"                        \
    "A100\",\"interconnect\":\"NVLink\",\"metric\":\"latency\",\"unit\":\"s\",\"gpus\":1,\"method\":\"" label          \
    "\",\"value\":1.9}"

/* One measurement, printed twice: a row of another source is in the fit as much as the one that was named. */
static void a_case_is_in_the_fit_wherever_it_stands(void **state)
{
    static const char text[] = "[" POINT("a", "single") "," POINT("b", "baseline") "]";
    suite_calibration calibration;
    suite_published_names names;
    suite_published published;
    suite_point first, second, other;
    char fit[1000];
    (void)state;
    assert_int_equal(suite_published_names_load(DITBENCH_SOURCE_DIR "/results/published", &names), DIT_OK);
    assert_int_equal(suite_published_parse(text, strlen(text), "points.json", &published), DIT_OK);
    assert_int_equal(suite_point_understand(&names, &published.points[0], NULL, &first), DIT_OK);
    assert_int_equal(suite_point_understand(&names, &published.points[1], NULL, &second), DIT_OK);
    assert_int_equal(suite_point_understand(&names, &published.points[1], "ditbench", &other), DIT_OK);
    assert_true(first.case_count == 1 && second.case_count == 1 && other.case_count == 1);
    snprintf(fit, sizeof fit, HEAD "],\"points\":[{\"case_id\":\"%s\",\"platform\":\"%s\",\"profile\":\"%s\"}]}",
             first.cases[0].kase->case_id, first.platform, first.profile);
    assert_int_equal(take(fit, &calibration), DIT_OK);
    assert_true(suite_point_in_fit(&first, &calibration));
    assert_true(suite_point_in_fit(&second, &calibration));
    assert_false(suite_point_in_fit(&other, &calibration)); /* the same case on another stack of software */
    assert_false(suite_point_in_fit(&first, NULL));
    suite_point_release(&other);
    suite_point_release(&second);
    suite_point_release(&first);
    suite_published_release(&published);
    suite_published_names_release(&names);
    suite_calibration_release(&calibration);
}

/* The committed file says of its points what they are today: a case that changed would no longer be known as one that
 * was fitted on, and its error would be counted as that of a prediction. */
static void points_of_the_committed_fit_are_still_known(void **state)
{
    static const char path[] = DITBENCH_SOURCE_DIR "/results/calibration/published.json";
    suite_calibration calibration;
    suite_calibration_plan plan;
    int count = 0;
    (void)state;
    assert_int_equal(suite_calibration_load(path, &calibration), DIT_OK);
    assert_int_equal(suite_calibration_plan_load(NULL, &plan), DIT_OK);
    for (int i = 0; i < plan.stage_count; i++) {
        count += plan.stages[i].point_count;
        for (int j = 0; j < plan.stages[i].point_count; j++) {
            const suite_planned_point *planned = &plan.stages[i].points[j];
            if (!suite_point_in_fit(planned->point, &calibration))
                fail_msg("point %d of %s is no longer the case that was fitted on: run ditbench calibrate --from "
                         "published",
                         planned->point->published->index, planned->file);
        }
    }
    assert_int_equal(calibration.case_count, count);
    suite_calibration_plan_release(&plan);
    suite_calibration_release(&calibration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nothing_takes_is_refused_with_its_place),
        cmocka_unit_test(a_profile_is_like_others_that_exist),
        cmocka_unit_test(a_profile_that_extends_another_has_its_members),
        cmocka_unit_test(no_file_is_no_fit_and_a_named_one_must_be_there),
        cmocka_unit_test(values_are_laid_over_what_bears_their_name),
        cmocka_unit_test(links_of_a_class_get_its_share),
        cmocka_unit_test(a_simulation_starts_from_fitted_values),
        cmocka_unit_test(what_is_fitted_of_a_host_holds_for_platforms_with_the_same_hosts),
        cmocka_unit_test(what_is_no_time_is_not_scaled),
        cmocka_unit_test(a_case_is_in_the_fit_wherever_it_stands),
        cmocka_unit_test(points_of_the_committed_fit_are_still_known),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
