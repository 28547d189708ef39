/* Calibration: fits that are known, what is refused in files, what is laid over what, and who is in the fit. */
#include "suite/calibrate/calibrate.h"
#include "suite/catalogue/catalogue.h"
#include "suite/simulate/simulate.h"

#include "base/tests/test.h"

static int setup(void **state)
{
    (void)state;
    return setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1);
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

/* Predicted: a0 + value0 * x, over value1; observed: the same at the true values, one of them spoilt. */
typedef struct {
    double observed[12];
    int calls, last;
    double base[2];
} line;

static double predicted(const double *values, int i)
{
    return (1 + values[0] * (i + 1)) / values[1];
}

static dit_status look(void *context, const double *values, int changed, double *errors)
{
    line *own = context;
    own->calls++;
    for (int j = 0; j < 2; j++) {
        bool same = fabs(values[j] / own->base[j] - 1) < 1e-12;
        if (changed >= 0 && j != changed) assert_true(same); /* as promised: from the last call with -1 */
        if (changed < 0) own->base[j] = values[j];
    }
    for (int i = 0; i < 12; i++) errors[i] = log(predicted(values, i) / own->observed[i]);
    return DIT_OK;
}

static suite_fit fit_of(const suite_fit_value *values, const double *weights, line *own, double huber)
{
    const double truth[] = {3, 0.5};
    for (int i = 0; i < 12; i++) own->observed[i] = predicted(truth, i);
    own->calls = 0;
    return (suite_fit){.values = values,
                       .value_count = 2,
                       .weights = weights,
                       .observation_count = 12,
                       .huber = huber,
                       .rounds = 50,
                       .context = own,
                       .evaluate = look};
}

#define VALUE(first, low, high, spread)                                                                                \
    {                                                                                                                  \
        .prior = first, .least = low, .most = high, .deviation = spread                                                \
    }

static const double equal[] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100};

static void a_fit_finds_what_made_the_observations(void **state)
{
    const suite_fit_value values[] = {VALUE(1, 0.01, 100, 10), VALUE(1, 0.01, 100, 10)};
    double found[2], again[2], objective;
    line own;
    (void)state;
    suite_fit fit = fit_of(values, equal, &own, 0.2);
    assert_int_equal(suite_fit_run(&fit, found, &objective), DIT_OK);
    assert_float_equal(found[0], 3, 0.02);
    assert_float_equal(found[1], 0.5, 0.005);
    assert_int_equal(suite_fit_run(&fit, again, NULL), DIT_OK);
    assert_memory_equal(found, again, sizeof found);
}

static void one_wrong_observation_pulls_little(void **state)
{
    const suite_fit_value values[] = {VALUE(1, 0.01, 100, 10), VALUE(1, 0.01, 100, 10)};
    double robust[2], plain[2];
    line own;
    (void)state;
    suite_fit fit = fit_of(values, equal, &own, 0.02);
    own.observed[11] *= 20;
    assert_int_equal(suite_fit_run(&fit, robust, NULL), DIT_OK);
    fit.huber = 1e6;
    assert_int_equal(suite_fit_run(&fit, plain, NULL), DIT_OK);
    assert_true(fabs(log(robust[1] / 0.5)) < 0.05);
    assert_true(fabs(log(plain[1] / 0.5)) > 0.2);
}

static void a_value_stays_within_its_bounds(void **state)
{
    const suite_fit_value values[] = {VALUE(1, 0.5, 2, 10), VALUE(1, 0.01, 100, 10)};
    double found[2];
    line own;
    (void)state;
    suite_fit fit = fit_of(values, equal, &own, 10);
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_OK);
    assert_float_equal(found[0], 2, 1e-9);
    assert_true(found[1] > 0.3 && found[1] < 0.5); /* the other makes the best of it */
}

static void a_prior_that_is_believed_is_kept(void **state)
{
    const double none[12] = {0};
    const suite_fit_value firm[] = {VALUE(1, 0.01, 100, 1e-3), VALUE(1, 0.01, 100, 1e-3)},
                          loose[] = {VALUE(7, 0.01, 100, 10), VALUE(0.1, 0.01, 100, 10)};
    double found[2];
    line own;
    (void)state;
    suite_fit fit = fit_of(firm, equal, &own, 0.2);
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_OK);
    assert_true(fabs(found[0] - 1) < 0.02 && fabs(found[1] - 1) < 0.02);
    fit = fit_of(loose, none, &own, 0.2);
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_OK);
    assert_float_equal(found[0], 7, 1e-9);
    assert_float_equal(found[1], 0.1, 1e-9);
}

/* A link that is not the slowest: nothing changes until it has become so. */
static dit_status look_at_slowest(void *context, const double *values, int changed, double *errors)
{
    (void)context, (void)changed;
    errors[0] = log(fmin(values[0], 0.2) / 0.05);
    return DIT_OK;
}

static void a_search_may_start_where_something_changes(void **state)
{
    suite_fit_value value = VALUE(1, 0.01, 1, 10);
    const suite_fit fit = {.values = &value,
                           .value_count = 1,
                           .weights = equal,
                           .observation_count = 1,
                           .huber = 10,
                           .rounds = 20,
                           .evaluate = look_at_slowest};
    double found;
    (void)state;
    assert_int_equal(suite_fit_run(&fit, &found, NULL), DIT_OK);
    assert_float_equal(found, 1, 0.01);
    value.start = 0.15;
    assert_int_equal(suite_fit_run(&fit, &found, NULL), DIT_OK);
    assert_float_equal(found, 0.05, 0.001);
    value.start = 2;
    assert_int_equal(suite_fit_run(&fit, &found, NULL), DIT_ERR_INTERNAL);
}

static dit_status give_up(void *context, const double *values, int changed, double *errors)
{
    (void)context, (void)values, (void)changed;
    for (int i = 0; i < 12; i++) errors[i] = NAN;
    return DIT_OK;
}

static void nonsense_is_refused(void **state)
{
    suite_fit_value values[] = {VALUE(1, 2, 3, 10), VALUE(1, 0.01, 100, 10)};
    double found[2];
    line own;
    (void)state;
    suite_fit fit = fit_of(values, equal, &own, 0.2);
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_ERR_INTERNAL);
    values[0].least = 0.5;
    fit.evaluate = give_up;
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_ERR_NONFINITE);
}

static void numbers_are_rounded_as_printed(void **state)
{
    (void)state;
    assert_true(suite_fit_round(0.123456, 4) == 0.1235);
    assert_true(suite_fit_round(2.00049e-05, 4) == 2e-05);
    assert_true(suite_fit_round(98765.4, 3) == 98800);
}

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
    refused(HEAD CEILING "," CEILING "]}", DIT_ERR_JSON_VALUE, "there twice", "");
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

static double number_at(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(value));
    return value->valuedouble;
}

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
    before = number_at(l20.cost, "gemm_ceiling");
    assert_int_equal(suite_calibration_accelerator(&calibration, l40.source.root), DIT_OK);
    assert_int_equal(suite_calibration_accelerator(&calibration, l20.source.root), DIT_OK);
    assert_int_equal(suite_calibration_accelerator(NULL, l20.source.root), DIT_OK);
    assert_true(number_at(l40.cost, "gemm_ceiling") == 0.5 && number_at(l40.cost, "bandwidth_scale") == 0.75);
    assert_true(number_at(l20.cost, "gemm_ceiling") == before);
    assert_null(cJSON_GetObjectItemCaseSensitive(l20.cost, "bandwidth_scale"));
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
#define GEMM           WIDTH("0.2")
#define POINTS(points) "{\"name\":\"a\",\"why\":\"w\",\"parameters\":[" GEMM "],\"points\":[" points "]}"
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
    plan_refused(PLAN STAGE("a", GEMM, "gpus == 77") "]}", DIT_ERR_JSON_VALUE, "holds for no point");
    plan_refused(PLAN STAGE("a", GEMM, "gpu == 1") "]}", DIT_ERR_EXPRESSION, "gpu");
    plan_refused(PLAN STAGE("a", GEMM, "method == 'hybrid' && platform == '2x8xl40'") "]}", DIT_ERR_JSON_VALUE,
                 "best of several");
    plan_refused(PLAN STAGE("a", GEMM, ALONE) "," STAGE("b", GEMM, ALONE) "]}", DIT_ERR_JSON_VALUE, "there twice");
    plan_refused(PLAN STAGE("a", GEMM, ALONE) "," STAGE("a", GEMM, ALONE) "]}", DIT_ERR_JSON_VALUE, "two stages");
    plan_refused(PLAN STAGE("a",
                            "{\"of\":\"accelerator\",\"name\":\"l40\",\"key\":\"gemm_ceiling\",\"least\":0.1,"
                            "\"most\":0.2,\"prior_deviation\":0.2}",
                            ALONE) "]}",
                 DIT_ERR_JSON_VALUE, "not within");
    plan_refused("[]", DIT_ERR_JSON_TYPE, "expected an object");
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
        cmocka_unit_test(a_fit_finds_what_made_the_observations),
        cmocka_unit_test(one_wrong_observation_pulls_little),
        cmocka_unit_test(a_value_stays_within_its_bounds),
        cmocka_unit_test(a_prior_that_is_believed_is_kept),
        cmocka_unit_test(a_search_may_start_where_something_changes),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(numbers_are_rounded_as_printed),
        cmocka_unit_test(what_nothing_takes_is_refused_with_its_place),
        cmocka_unit_test(a_profile_is_like_others_that_exist),
        cmocka_unit_test(no_file_is_no_fit_and_a_named_one_must_be_there),
        cmocka_unit_test(values_are_laid_over_what_bears_their_name),
        cmocka_unit_test(links_of_a_class_get_its_share),
        cmocka_unit_test(a_simulation_starts_from_fitted_values),
        cmocka_unit_test(what_is_no_time_is_not_scaled),
        cmocka_unit_test(a_case_is_in_the_fit_wherever_it_stands),
        cmocka_unit_test(points_of_the_committed_fit_are_still_known),
        cmocka_unit_test(a_plan_that_cannot_be_followed_is_refused),
        cmocka_unit_test(doubtful_points_are_never_fitted_on),
        cmocka_unit_test(a_changed_byte_is_named),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
