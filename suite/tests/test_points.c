/* Published points: what is read, what is understood, and how near a prediction is said to come. */
#include "suite/catalogue/catalogue.h"
#include "suite/simulate/published_points.h"
#include "suite/text.h"

#include "base/tests/test.h"

#ifndef DITBENCH_SOURCE_DIR
#define DITBENCH_SOURCE_DIR "."
#endif
#define PUBLISHED DITBENCH_SOURCE_DIR "/results/published/"

static suite_published_names names;

static int setup(void **state)
{
    (void)state;
    setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1);
    return suite_published_names_load(DITBENCH_SOURCE_DIR "/results/published", &names) != DIT_OK;
}

static int teardown(void **state)
{
    (void)state;
    suite_published_names_release(&names);
    return 0;
}

/* ---- how near ---------------------------------------------------------------------------------------------------- */

static suite_point_result simulated(int index, const char *panel, const char *method, double published,
                                    double predicted)
{
    suite_point_result result = {.index = index,
                                 .has_published = true,
                                 .published = published,
                                 .rounding = suite_published_rounding(published),
                                 .predicted = predicted};
    snprintf(result.panel, sizeof result.panel, "%s", panel);
    snprintf(result.method, sizeof result.method, "%s", method);
    return result;
}

static void a_percentile_is_one_of_the_values(void **state)
{
    const double values[] = {5, 1, 4, 2, 3, 10, 9, 8, 7, 6};
    (void)state;
    assert_true(suite_points_percentile(values, 10, 0.9) == 9);
    assert_true(suite_points_percentile(values, 10, 0.91) == 10);
    assert_true(suite_points_percentile(values, 10, 1) == 10);
    assert_true(suite_points_percentile(values, 10, 0) == 1);
    assert_true(suite_points_percentile(values, 1, 0.9) == 5);
    assert_true(suite_points_percentile(values, 0, 0.9) == 0);
    assert_true(values[0] == 5); /* not sorted in place */
}

static void rounding_is_half_of_the_last_digit(void **state)
{
    (void)state;
    assert_float_equal(suite_published_rounding(12.5), 0.05, 1e-12);
    assert_float_equal(suite_published_rounding(300), 0.5, 1e-12);
    assert_float_equal(suite_published_rounding(0.125), 0.0005, 1e-12);
    assert_float_equal(suite_published_rounding(-7.25), 0.005, 1e-12);
    assert_true(suite_published_rounding(1.0 / 3) < 1e-12);
}

static void nothing_gives_no_statistics(void **state)
{
    suite_points_statistics s;
    suite_point_result skipped = {.skip = SUITE_SKIP_STEPS, .has_published = true, .published = 3};
    (void)state;
    suite_points_summarise(NULL, 0, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.points + s.pairs + s.ordered, 0);
    assert_true(s.median_error == 0 && s.p90_error == 0);
    suite_points_summarise(&skipped, 1, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.points + s.pairs, 0);
}

static void errors_have_a_median_and_a_percentile(void **state)
{
    suite_points_statistics s;
    const suite_point_result results[] = {simulated(0, "a", "u2", 10, 11), simulated(1, "b", "u2", 10, 8),
                                          simulated(2, "c", "u2", 10, 10.5)};
    (void)state;
    suite_points_summarise(results, 3, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.points, 3);
    assert_float_equal(s.median_error, 0.1, 1e-12);
    assert_float_equal(s.p90_error, 0.2, 1e-12);
    assert_int_equal(s.pairs, 0); /* three panels */
    assert_float_equal(suite_point_error(&results[1]), -0.2, 1e-12);
}

static void pairs_of_a_panel_are_in_order_or_not(void **state)
{
    suite_points_statistics s;
    /* printed u4 < r4 < tp4; predicted r4 < u4 < tp4: two of three; the other panel has one pair, in order */
    const suite_point_result results[] = {simulated(0, "a", "u4", 1.01, 1.3), simulated(1, "b", "u4", 5.25, 7),
                                          simulated(2, "a", "r4", 2.01, 1.2), simulated(3, "a", "tp4", 3.01, 9),
                                          simulated(4, "b", "r4", 4.25, 6)};
    (void)state;
    suite_points_summarise(results, 5, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.pairs, 4);
    assert_int_equal(s.ordered, 3);
    assert_int_equal(s.pairs_apart, 4); /* u4 < r4 < tp4, far apart; 5.25 and 4.25 */
    assert_int_equal(s.ordered_apart, 3);
}

static void values_near_each_other_are_counted_apart(void **state)
{
    suite_points_statistics s;
    const suite_point_result results[] = {simulated(0, "a", "u4", 10.1, 5), simulated(1, "a", "r4", 11.0, 4),
                                          simulated(2, "a", "tp4", 13.0, 6)};
    (void)state;
    suite_points_summarise(results, 3, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.pairs, 3);
    assert_int_equal(s.ordered, 2);
    assert_int_equal(s.pairs_apart, 2);
    assert_int_equal(s.ordered_apart, 2);
}

static void what_rounding_hides_is_not_judged(void **state)
{
    suite_points_statistics s;
    suite_point_result results[] = {simulated(0, "a", "u4", 1.3, 5), simulated(1, "a", "r4", 1.4, 4)};
    (void)state;
    suite_points_summarise(results, 2, SUITE_POINTS_ALL, &s); /* 0.1 apart, 0.05 each */
    assert_int_equal(s.pairs, 0);
    results[1].published = 1.5;
    suite_points_summarise(results, 2, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.pairs, 1);
    assert_int_equal(s.ordered, 0);
    results[0].rounding = 0.3; /* read off an axis */
    suite_points_summarise(results, 2, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.pairs, 0);
}

static void equal_predictions_are_no_order(void **state)
{
    suite_points_statistics s;
    const suite_point_result results[] = {simulated(0, "a", "u4", 1, 4), simulated(1, "a", "hybrid", 3, 4)};
    (void)state;
    suite_points_summarise(results, 2, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.pairs, 1);
    assert_int_equal(s.ordered, 0);
}

static void one_method_twice_is_no_pair(void **state)
{
    suite_points_statistics s;
    const suite_point_result results[] = {simulated(0, "a", "u4", 1, 4), simulated(1, "a", "u4", 3, 4)};
    (void)state;
    suite_points_summarise(results, 2, SUITE_POINTS_ALL, &s);
    assert_int_equal(s.points, 2);
    assert_int_equal(s.pairs, 0);
}

static void parts_add_up(void **state)
{
    suite_points_statistics all, in, out;
    suite_point_result results[] = {simulated(0, "a", "u4", 1.25, 1.875), simulated(1, "a", "r4", 2.25, 2.475),
                                    simulated(2, "a", "pp4", 3.25, 3.575)};
    (void)state;
    results[0].in_fit = results[1].in_fit = true;
    suite_points_summarise(results, 3, SUITE_POINTS_ALL, &all);
    suite_points_summarise(results, 3, SUITE_POINTS_IN_FIT, &in);
    suite_points_summarise(results, 3, SUITE_POINTS_NOT_IN_FIT, &out);
    assert_int_equal(all.points, in.points + out.points);
    assert_int_equal(all.pairs, in.pairs + out.pairs);
    assert_int_equal(in.pairs, 1); /* a pair with a foot outside is outside */
    assert_float_equal(in.p90_error, 0.5, 1e-12);
    assert_float_equal(out.median_error, 0.1, 1e-12);
}

static void doubted_rates_and_tails_are_told_apart(void **state)
{
    suite_points_statistics latencies, rates, doubted;
    suite_point_result results[] = {simulated(0, "a", "u4", 1, 1.25), simulated(1, "b", "u4", 1.25, 1.875),
                                    simulated(2, "b", "r4", 2.25, 2.475), simulated(3, "b", "pp4", 1, 7.25)};
    (void)state;
    results[1].is_rate = results[2].is_rate = results[3].is_rate = true;
    results[3].doubted = true;
    suite_points_summarise(results, 4, SUITE_POINTS_LATENCIES, &latencies);
    suite_points_summarise(results, 4, SUITE_POINTS_RATES, &rates);
    suite_points_summarise(results, 4, SUITE_POINTS_RATES_DOUBTED, &doubted);
    assert_int_equal(latencies.points, 1);
    assert_int_equal(rates.points, 2);
    assert_int_equal(rates.pairs, 1);
    assert_int_equal(doubted.points, 1);
    assert_int_equal(doubted.pairs, 0);
    assert_float_equal(rates.worst_error, 0.5, 1e-12);
    assert_float_equal(doubted.worst_error, 6.25, 1e-12);
}

static double number_at(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static void the_answer_leaves_out_what_does_not_exist(void **state)
{
    cJSON *document;
    suite_point_result results[] = {simulated(7, "a", "u4", 2, 3), {.index = 9, .skip = SUITE_SKIP_STEPS}};
    (void)state;
    assert_int_equal(suite_points_json(results, 2, &document), DIT_OK);
    const cJSON *first = cJSON_GetObjectItem(document, "points")->child, *second = first->next;
    const cJSON *summary = cJSON_GetObjectItem(document, "summary");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "status")), "simulated");
    assert_true(number_at(first, "index") == 7 && number_at(first, "published") == 2);
    assert_float_equal(number_at(first, "error"), 0.5, 1e-12);
    assert_null(cJSON_GetObjectItem(first, "reason"));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(second, "status")), "skipped");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(second, "reason")), "steps_not_stated");
    assert_null(cJSON_GetObjectItem(second, "predicted"));
    assert_null(cJSON_GetObjectItem(second, "published"));
    assert_true(number_at(summary, "simulated") == 1 && number_at(summary, "skipped") == 1);
    assert_true(number_at(cJSON_GetObjectItem(summary, "reasons"), "steps_not_stated") == 1);
    assert_float_equal(number_at(cJSON_GetObjectItem(summary, "all"), "median_error"), 0.5, 1e-12);
    assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(summary, "in_fit"), "median_error"));
    assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(summary, "all"), "ordered_share"));
    cJSON_Delete(document);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define SAYS   "\"hardware\":\"8xA100\",\"interconnect\":\"NVLink\",\"metric\":\"latency\",\"unit\":\"s\""
#define FLUX   "\"model\":\"FLUX.1-dev\",\"resolution\":\"1024x1024\",\"steps\":28," SAYS
#define CONFIG "\"config\":{\"cfg\":1,\"ulysses\":4,\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1}"
#define LAYER                                                                                                          \
    "\"model\":\"attention layer only (causal, forward)\",\"hardware\":\"8xA100\",\"interconnect\":\"NVLink\","        \
    "\"metric\":\"throughput\",\"unit\":\"iter/s\",\"gpus\":8,\"heads\":32,\"head_dim\":128"
#define GOOD "{" FLUX ",\"gpus\":4,\"method\":\"ulysses-4\"," CONFIG ",\"value\":1.5}"

static dit_status parse(const char *text, suite_published *out)
{
    return suite_published_parse(text, strlen(text), "points.json", out);
}

static void refused(const char *text, dit_status wanted, const char *words)
{
    suite_published published;
    dit_status st = parse(text, &published);
    if (st != wanted) fail_msg("%s: %s, not %s", text, dit_status_name(st), dit_status_name(wanted));
    if (!strstr(dit_error_last()->message, words)) fail_msg("\"%s\" is not in: %s", words, dit_error_last()->message);
    assert_null(published.points);
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
    (void)state;
    refused("[", DIT_ERR_JSON_SYNTAX, "points.json:1:");
    refused("7", DIT_ERR_JSON_TYPE, "list of points");
    refused("{\"entries\":7}", DIT_ERR_JSON_TYPE, "/entries");
    refused("[" GOOD ",3]", DIT_ERR_JSON_TYPE, "/1: ");
    refused("[{}]", DIT_ERR_JSON_MISSING, "model");
    refused("[{" FLUX ",\"gpus\":0,\"method\":\"u\",\"value\":1}]", DIT_ERR_JSON_VALUE, "/0/gpus");
    refused("[{" FLUX ",\"gpus\":2.5,\"method\":\"u\",\"value\":1}]", DIT_ERR_JSON_TYPE, "/0/gpus");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\"}]", DIT_ERR_JSON_MISSING, "\"value\"");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":\"1\"}]", DIT_ERR_JSON_TYPE, "/0/value");
    refused("[{" FLUX ",\"gpus\":4,\"method\":7,\"value\":1}]", DIT_ERR_JSON_TYPE, "/0/method");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":1,\"config\":[]}]", DIT_ERR_JSON_TYPE, "/0/config");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":1,\"config\":{\"ring\":\"4\"}}]", DIT_ERR_JSON_TYPE,
            "/0/config/ring");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":1,\"error_abs\":-1}]", DIT_ERR_JSON_VALUE,
            "/0/error_abs");
    refused("[{" FLUX ",\"gpus\":4,\"gpus\":4,\"method\":\"u\",\"value\":1}]", DIT_ERR_JSON_DUPLICATE_KEY, "gpus");
    refused("{\"entries\":[{\"model\":\"x\",\"gpu\":\"T4\"}]}", DIT_ERR_JSON_MISSING, "latency_s");
    refused("[{" FLUX ",\"gpus\":1e300,\"method\":\"u\",\"value\":1}]", DIT_ERR_JSON_VALUE, "/0/gpus");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":1e300}]", DIT_ERR_JSON_VALUE, "/0/value");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":1e-300}]", DIT_ERR_JSON_VALUE, "\"value\" 1e-300");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":NaN}]", DIT_ERR_JSON_SYNTAX, "points.json:1:");
    refused("[{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":\"NaN\"}]", DIT_ERR_JSON_TYPE, "/0/value");
}

static void unknown_members_are_counted(void **state)
{
    suite_published published;
    (void)state;
    assert_int_equal(parse("[" GOOD ",{" FLUX ",\"gpus\":4,\"method\":\"u\",\"value\":null,\"steps_\":3,\"colour\":"
                           "{\"a\":[1]},\"note\":null}]",
                           &published),
                     DIT_OK);
    assert_int_equal(published.count, 2);
    assert_int_equal(published.unknown_keys, 2);
    assert_true(published.points[0].has_value && !published.points[1].has_value);
    assert_float_equal(published.points[0].rounding, 0.05, 1e-12);
    assert_string_equal(published.points[1].note, "");
    assert_int_equal(published.points[1].warmup_steps, -1);
    suite_published_release(&published);
}

static void no_damage_crashes_the_reader(void **state)
{
    static const char good[] = "[" GOOD "," GOOD "]";
    char text[sizeof good];
    suite_published published;
    (void)state;
    for (size_t length = 0; length < sizeof good - 1; length++)
        assert_int_not_equal(suite_published_parse(good, length, "cut", &published), DIT_OK);
    srand(7);
    for (int round = 0; round < 20000; round++) {
        memcpy(text, good, sizeof good);
        for (int flips = 1 + rand() % 3; flips > 0; flips--)
            text[(size_t)rand() % (sizeof good - 1)] = "\"{}[]:,0-9eE.nul\\x\xff"[rand() % 20];
        if (parse(text, &published) != DIT_OK) continue;
        for (int i = 0; i < published.count; i++) {
            suite_point point;
            assert_int_equal(suite_point_understand(&names, &published.points[i], NULL, &point), DIT_OK);
            assert_true(point.skip != SUITE_SKIP_NONE || point.case_count > 0);
            suite_point_release(&point);
        }
        suite_published_release(&published);
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void models_have_many_names(void **state)
{
    const char *why;
    (void)state;
    assert_string_equal(suite_published_model(&names, "PixArt-alpha", &why), "pixart-alpha-xl-2");
    assert_string_equal(suite_published_model(&names, "CogVideoX-5B", &why), "cogvideox-5b");
    assert_null(suite_published_model(&names, "SDXL", &why));
    assert_non_null(strstr(why, "U-Net"));
    assert_null(suite_published_model(&names, "flux", &why));
    assert_non_null(strstr(why, "no alias"));
}

static void machines_are_rows_of_a_table(void **state)
{
    const struct {
        const char *hardware, *interconnect;
        int gpus;
        suite_published_place place;
        const char *platform;
    } cases[] = {
        {"8xA100", "NVLink", 8, SUITE_PUBLISHED_PLATFORM, "8xa100-sxm"},
        {"A100-80GB", "PCIe", 4, SUITE_PUBLISHED_PLATFORM, "4xa100-pcie"},
        {"A100-80GB", "PCIe", 8, SUITE_PUBLISHED_DEVICES, NULL},
        {"L40", "PCIe", 6, SUITE_PUBLISHED_PLATFORM, "8xl40"},
        {"L40", "PCIe", 12, SUITE_PUBLISHED_PLATFORM, "2x8xl40"},
        {"L40", "PCIe", 17, SUITE_PUBLISHED_DEVICES, NULL},
        {"L20", "single GPU", 1, SUITE_PUBLISHED_PLATFORM, "8xl20"},
        {"H20", "not stated", 1, SUITE_PUBLISHED_PLATFORM, "8xh20"},
        {"H20", "not stated", 4, SUITE_PUBLISHED_INTERCONNECT, NULL},
        {"8xA100", "token ring", 8, SUITE_PUBLISHED_INTERCONNECT, NULL},
        {"abacus", "NVLink", 8, SUITE_PUBLISHED_HARDWARE_UNKNOWN, NULL},
        {"not stated", "NVLink", 8, SUITE_PUBLISHED_HARDWARE_UNSTATED, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *platform = NULL;
        assert_int_equal(
            suite_published_platform(&names, cases[i].hardware, cases[i].interconnect, cases[i].gpus, &platform),
            cases[i].place);
        if (cases[i].platform) assert_string_equal(platform, cases[i].platform);
    }
}

static void words_of_a_method_give_degrees(void **state)
{
    suite_published_method method;
    (void)state;
    suite_published_method_read(&names, "Ulysses-2 x Ring-3+cfg 2", &method);
    assert_string_equal(method.word, "");
    assert_int_equal(method.degree[DIT_AXIS_ULYSSES], 2);
    assert_int_equal(method.degree[DIT_AXIS_RING], 3);
    assert_int_equal(method.degree[DIT_AXIS_CFG], 2);
    suite_published_method_read(&names, "sp ulysses=1 (ring=8)", &method);
    assert_int_equal(method.degree[DIT_AXIS_ULYSSES], 1);
    assert_int_equal(method.degree[DIT_AXIS_RING], 8);
    suite_published_method_read(&names, "pipefusion (warm-up 2)", &method);
    assert_int_equal(method.degree[DIT_AXIS_PIPEFUSION], 0);
    assert_int_equal(method.warmup_steps, 2);
    suite_published_method_read(&names, "fp8 ulysses-2", &method);
    assert_string_equal(method.word, "fp");
    assert_non_null(method.why);
    suite_published_method_read(&names, "teleport-4", &method);
    assert_string_equal(method.word, "teleport");
    assert_null(method.why);
    suite_published_method_read(&names, "ulysses-99999999999999999999", &method);
    assert_true(method.degree[DIT_AXIS_ULYSSES] > 0);
}

/* ---- understanding ----------------------------------------------------------------------------------------------- */

static suite_published one_file;

/* A point of these members beside its machine, metric and unit; overwrites the one before. */
static suite_point understood(const char *members)
{
    suite_point point;
    char text[2048];
    suite_published_release(&one_file);
    snprintf(text, sizeof text, "[{%s}]", members);
    if (parse(text, &one_file) != DIT_OK) fail_msg("%s: %s", text, dit_error_last()->message);
    assert_int_equal(suite_point_understand(&names, &one_file.points[0], NULL, &point), DIT_OK);
    return point;
}

static void every_reason_is_found(void **state)
{
    static const struct {
        suite_skip skip;
        const char *members;
    } cases[] = {
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":2,\"method_\":0," CONFIG},
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":4,\"method\":\"ulysses-4\",\"value\":2"},
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":1,\"method\":\"baseline\",\"value\":2,\"runtime\":\"torch.compile\""},
        {SUITE_SKIP_METRIC,
         "\"model\":\"x\",\"hardware\":\"x\",\"gpus\":1,\"method\":\"x\",\"metric\":\"FID\",\"unit\":\"\","
         "\"value\":1"},
        {SUITE_SKIP_METRIC,
         "\"model\":\"x\",\"hardware\":\"x\",\"gpus\":1,\"method\":\"x\",\"metric\":\"latency\",\"unit\":"
         "\"x\",\"value\":1"},
        {SUITE_SKIP_VALUE, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":null," CONFIG},
        {SUITE_SKIP_NONE, LAYER ",\"seq_len\":8192,\"method\":\"ulysses-8\",\"value\":3"},
        {SUITE_SKIP_VALUE, LAYER ",\"seq_len\":8192,\"method\":\"ulysses-8\",\"value\":null"},
        {SUITE_SKIP_LAYER, LAYER ",\"method\":\"ulysses-8\",\"value\":3"},
        {SUITE_SKIP_METRIC,
         "\"model\":\"attention layer only (causal, forward)\",\"hardware\":\"8xA100\",\"gpus\":8,\"method\":\"usp\","
         "\"metric\":\"throughput_fwd_bwd\",\"unit\":\"iter/s\",\"value\":3"},
        {SUITE_SKIP_SETTING, FLUX ",\"gpus\":4,\"method\":\"ulysses-4 zigzag\",\"value\":2"},
        {SUITE_SKIP_NOT_LEGAL, LAYER ",\"seq_len\":8192,\"kv_groups\":5,\"method\":\"ulysses-8\",\"value\":3"},
        {SUITE_SKIP_VALUE, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":0," CONFIG},
        {SUITE_SKIP_DOUBTFUL, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":1,\"status\":\"doubtful\"," CONFIG},
        {SUITE_SKIP_METHOD_OTHER, FLUX ",\"gpus\":1,\"method\":\"TeaCache\",\"value\":1"},
        {SUITE_SKIP_METHOD_UNKNOWN, FLUX ",\"gpus\":1,\"method\":\"wormhole\",\"value\":1"},
        {SUITE_SKIP_MODEL_UNKNOWN, "\"model\":\"GPT\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_MODEL_NOT_BUILT, "\"model\":\"Allegro\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_RESOLUTION, "\"model\":\"FLUX.1-dev\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_RESOLUTION,
         "\"model\":\"FLUX.1-dev\",\"resolution\":\"big\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_FRAMES, "\"model\":\"HunyuanVideo\",\"resolution\":\"1280x720\",\"steps\":50," SAYS
                            ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_STEPS,
         "\"model\":\"FLUX.1-dev\",\"resolution\":\"1024x1024\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_RUNTIME, FLUX ",\"gpus\":1,\"method\":\"single\",\"value\":1,\"runtime\":\"onediff\""},
        {SUITE_SKIP_DEVICES, FLUX ",\"gpus\":16,\"method\":\"ulysses-16\",\"value\":1"},
        {SUITE_SKIP_DEGREES, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":1"},
        {SUITE_SKIP_SETTING, FLUX ",\"gpus\":1,\"method\":\"single\",\"value\":1,\"config\":{\"cache\":\"on\"}"},
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":1,\"method\":\"single\",\"value\":1,\"config\":{\"cache\":0}"},
        {SUITE_SKIP_DISAGREE, FLUX ",\"gpus\":4,\"method\":\"ulysses-2\",\"value\":1," CONFIG},
        {SUITE_SKIP_PRODUCT, FLUX ",\"gpus\":8,\"method\":\"ulysses\",\"value\":1," CONFIG},
        {SUITE_SKIP_NOT_LEGAL, FLUX ",\"gpus\":2,\"method\":\"cfg2\",\"value\":1"},     /* guidance is distilled */
        {SUITE_SKIP_NOT_LEGAL, FLUX ",\"gpus\":5,\"method\":\"ulysses5\",\"value\":1"}, /* 24 heads              */
        {SUITE_SKIP_NOT_LEGAL, FLUX ",\"gpus\":1,\"method\":\"single\",\"value\":1,\"batch\":9999"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        suite_point point = understood(cases[i].members);
        if (point.skip != cases[i].skip)
            fail_msg("%s: \"%s\", not \"%s\" (%s)", cases[i].members, suite_skip_code(point.skip),
                     suite_skip_code(cases[i].skip), point.detail);
        assert_int_equal(point.detail[0] != '\0', point.skip != SUITE_SKIP_NONE);
        suite_point_release(&point);
    }
}

static const cJSON *part_of(const suite_point *point, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(point->cases[0].kase->document, key);
}

/* Degrees and word of a pipeline, a source, its model: what the case then is. */
static void what_a_source_does_is_known(void **state)
{
    static const struct {
        const char *source, *model, *scope;
        int warmup_steps;
    } cases[] = {
        {"xdit-project/xdit_assets: performance/pixart/a.png", "PixArt-alpha", "latents", 0},
        {"xdit-project/xdit_assets: performance/flux/a.png", "FLUX.1-dev", "pipeline", 1},
        {"xdit-project/xdit_assets: latency-L20.png", "PixArt-alpha", "latents", 1},
        {"github xdit-project/xdit_assets @e051d26e", "PixArt-alpha", "latents", 1},
        {"github xdit-project/xdit_assets @e051d26e", "FLUX.1-dev", "pipeline", 1},
        {"somebody else", "PixArt-alpha", "pipeline", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[1024];
        snprintf(members, sizeof members,
                 "\"source\":\"%s\",\"model\":\"%s\",\"resolution\":\"1024x1024\",\"steps\":20," SAYS
                 ",\"gpus\":4,\"method\":\"pipefusion\",\"value\":2,\"config\":{\"cfg\":1,\"ulysses\":1,"
                 "\"ring\":1,\"pipefusion\":4,\"tp\":1,\"dp\":1}",
                 cases[i].source, cases[i].model);
        suite_point point = understood(members);
        assert_int_equal(point.skip, SUITE_SKIP_NONE);
        assert_true(number_at(part_of(&point, "parallel"), "warmup_steps") == cases[i].warmup_steps);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(part_of(&point, "measure"), "scope")),
                            cases[i].scope);
        suite_point_release(&point);
    }
}

static void a_decode_is_tiled_where_the_source_does_so(void **state)
{
    (void)state;
    for (int ours = 0; ours < 2; ours++) {
        char members[1024];
        snprintf(members, sizeof members,
                 "\"source\":\"%s\",\"model\":\"CogVideoX-5B\",\"resolution\":\"720x480\",\"frames\":49,"
                 "\"steps\":50," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":2,\"config\":{\"cfg\":1,"
                 "\"ulysses\":1,\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1}",
                 ours ? "xdit-project/xdit_assets: performance/cogvideo/a.png" : "somebody else");
        suite_point point = understood(members);
        assert_int_equal(point.skip, SUITE_SKIP_NONE);
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(part_of(&point, "vae"), "tiling")), ours);
        suite_point_release(&point);
    }
}

/* DistriFusion's own code replays graphs; others run it op by op. */
static void a_run_time_is_that_of_the_source(void **state)
{
    static const char *const sources[][2] = {{"mit-han-lab/distrifuser: assets/a.jpg", "pytorch-cuda-graphs"},
                                             {"PipeFusion/PipeFusion: legacy/scripts/plots/a.py", "pytorch-eager"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char members[1024];
        snprintf(members, sizeof members,
                 "\"source\":\"%s\",\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\",\"steps\":20," SAYS
                 ",\"gpus\":4,\"method\":\"distrifusion\",\"value\":2,\"config\":{\"cfg\":1,\"ulysses\":1,"
                 "\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1,\"distrifusion\":4}",
                 sources[i][0]);
        suite_point point = understood(members);
        assert_int_equal(point.skip, SUITE_SKIP_NONE);
        assert_string_equal(point.profile, sources[i][1]);
        suite_point_release(&point);
    }
}

static void a_point_becomes_one_case(void **state)
{
    suite_point point =
        understood("\"model\":\"PixArt-alpha\",\"resolution\":\"2048x1024\",\"steps\":20," SAYS
                   ",\"gpus\":8,\"method\":\"cfg2 x pipefusion4 (warm-up "
                   "3)\",\"value\":2,\"runtime\":\"torch.compile\",\"config\":"
                   "{\"cfg\":2,\"ulysses\":1,\"ring\":1,\"pipefusion\":4,\"tp\":1,\"dp\":1,\"num_pipeline_patch\":8}");
    (void)state;
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(point.case_count, 1);
    assert_string_equal(point.platform, "8xa100-sxm");
    assert_string_equal(point.profile, "torch-compile");
    assert_string_equal(point.method, "pp4 cfg2 M8 W3");
    assert_true(number_at(part_of(&point, "run"), "width_px") == 2048);
    assert_true(number_at(part_of(&point, "run"), "num_inference_steps") == 20);
    assert_true(number_at(part_of(&point, "run"), "num_images") == 1);
    assert_true(number_at(part_of(&point, "parallel"), "pipefusion_degree") == 4);
    assert_true(number_at(part_of(&point, "parallel"), "num_pipeline_patch") == 8);
    assert_true(number_at(part_of(&point, "parallel"), "warmup_steps") == 3);
    assert_true(number_at(part_of(&point, "measure"), "iterations") == 1);
    const cJSON *platform = part_of(&point, "platform");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(platform, "name")), "8xa100-sxm");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(platform, "backend")), "cost");
    suite_point_release(&point);
}

static void displaced_patches_and_clips_are_cases_too(void **state)
{
    suite_point point =
        understood("\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\",\"steps\":20," SAYS
                   ",\"gpus\":8,\"method\":\"distrifusion\",\"value\":2,\"config\":{\"cfg\":1,\"ulysses\":1,"
                   "\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1,\"distrifusion\":8}");
    (void)state;
    assert_string_equal(point.method, "patch8 W1");
    assert_true(number_at(part_of(&point, "parallel"), "patch_degree") == 8);
    suite_point_release(&point);
    point = understood("\"model\":\"HunyuanVideo\",\"resolution\":\"1280x720\",\"steps\":50,\"frames\":129," SAYS
                       ",\"gpus\":8,\"method\":\"ulysses-8\",\"value\":2");
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_true(number_at(part_of(&point, "run"), "num_frames") == 129);
    suite_point_release(&point);
}

static void a_layer_is_a_case_of_its_own_program(void **state)
{
    suite_point point =
        understood(LAYER ",\"seq_len\":8192,\"batch\":2,\"kv_groups\":4,\"method\":\"usp zigzag/no_packed\","
                         "\"value\":300,\"config\":{\"cfg\":1,\"ulysses\":2,\"ring\":4,\"pipefusion\":1}");
    (void)state;
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(point.case_count, 1);
    assert_string_equal(point.method, "u2 r4 zigzag");
    const cJSON *layer = part_of(&point, "layer");
    assert_string_equal(cJSON_GetStringValue(part_of(&point, "program")), "attention");
    assert_true(number_at(layer, "tokens") == 8192 && number_at(layer, "batch") == 2);
    assert_true(number_at(layer, "heads") == 32 && number_at(layer, "kv_heads") == 8);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(layer, "causal")));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(layer, "packed")));
    suite_point_release(&point);
    point = understood(LAYER ",\"seq_len\":8192,\"method\":\"ulysses-8 stripe/qkvpack\",\"value\":300");
    assert_string_equal(point.method, "u8 packed"); /* without a ring there is no layout */
    suite_point_release(&point);
}

static dit_status quarter_of_a_second(const suite_point_case *one, double *seconds, void *context)
{
    (void)one, (void)context;
    *seconds = 0.25;
    return DIT_OK;
}

static void a_rate_is_compared_as_a_rate(void **state)
{
    suite_point point = understood(LAYER ",\"seq_len\":8192,\"method\":\"ulysses-8\",\"value\":5");
    suite_point_result result;
    (void)state;
    assert_int_equal(suite_point_predict(&point, quarter_of_a_second, NULL, &result), DIT_OK);
    assert_true(result.predicted == 4);
    assert_float_equal(suite_point_error(&result), -0.2, 1e-12);
    suite_point_release(&point);
}

static void filters_see_what_a_point_says(void **state)
{
    suite_point point = understood(FLUX ",\"gpus\":4,\"method\":\"ulysses-4\",\"value\":2.5");
    bool holds = false;
    (void)state;
    assert_int_equal(
        suite_point_test(&point, "model == 'flux.1-dev' && gpus == 4 && mesh == 'u4' && value > 2", &holds), DIT_OK);
    assert_true(holds);
    assert_int_equal(suite_point_test(&point, "status == 'skipped' || reason != '' || frames > 0", &holds), DIT_OK);
    assert_false(holds);
    assert_int_equal(suite_point_test(&point, "colour == 'red'", &holds), DIT_ERR_EXPRESSION);
    assert_true(suite_point_ruled_out(point.published, "gpus == 3") &&
                suite_point_ruled_out(point.published, "gpus == 3 && model == 'flux.1-dev'"));
    assert_false(
        suite_point_ruled_out(point.published, "gpus == 4") ||
        suite_point_ruled_out(point.published, "model == 'sd3-medium'") || /* not known before it is understood */
        suite_point_ruled_out(point.published, "gpus == 4 && mesh == ''") ||
        suite_point_ruled_out(point.published, "colour == 'red'"));
    suite_point_release(&point);
}

/* ---- predicting -------------------------------------------------------------------------------------------------- */

/* Seconds by mesh: what one is told to answer. */
typedef struct {
    const char *mesh;
    double seconds;
    dit_status otherwise; /* of every other mesh; DIT_OK: 100 s */
    int calls;
} oracle;

static dit_status ask_oracle(const suite_point_case *one, double *seconds, void *context)
{
    oracle *told = context;
    told->calls++;
    assert_string_equal(one->platform, "8xa100-sxm");
    assert_int_equal(one->kase->world_size, (int)one->published->gpus);
    *seconds = strcmp(one->mesh, told->mesh) == 0 ? told->seconds : 100;
    if (strcmp(one->mesh, told->mesh) == 0 || told->otherwise == DIT_OK) return DIT_OK;
    return DIT_FAIL(told->otherwise, "mesh %s is not simulated", one->mesh);
}

#define HYBRID                                                                                                         \
    FLUX ",\"gpus\":8,\"method\":\"hybrid\",\"value\":8,\"config\":{\"cfg\":null,\"hybrid\":\"best of sweep\"}"

static void a_hybrid_is_the_best_of_all_legal_meshes(void **state)
{
    oracle told = {"u4 pp2", 4, DIT_OK, 0};
    suite_point_result result;
    suite_point point = understood(HYBRID);
    (void)state;
    /* 8 over pipefusion, ring, ulysses; distilled guidance has no cfg */
    assert_int_equal(point.case_count, 10);
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(told.calls, 10);
    assert_string_equal(result.mesh, "u4 pp2");
    assert_string_equal(result.method, "hybrid");
    assert_float_equal(suite_point_error(&result), -0.5, 1e-12);
    suite_point_release(&point);
}

static void a_hybrid_splits_guidance_where_there_is_any(void **state)
{
    suite_point point = understood("\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\",\"steps\":20," SAYS
                                   ",\"gpus\":4,\"method\":\"hybrid\",\"value\":2");
    int split = 0;
    (void)state;
    for (int i = 0; i < point.case_count; i++) split += strstr(point.cases[i].mesh, "cfg2") != NULL;
    assert_int_equal(point.case_count, 9); /* 6 ways to write 4 as a product of three, and 3 to write 2 */
    assert_int_equal(split, 3);
    suite_point_release(&point);
}

static void meshes_that_fail_are_left_out(void **state)
{
    oracle told = {"r8", 9, DIT_ERR_CRASH, 0};
    suite_point_result result;
    suite_point point = understood(HYBRID);
    (void)state;
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(result.skip, SUITE_SKIP_NONE);
    assert_string_equal(result.mesh, "r8");
    assert_string_equal(result.detail, "");
    told.mesh = "nothing";
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(result.skip, SUITE_SKIP_PREDICTION);
    assert_non_null(strstr(result.detail, "E_CRASH"));
    told.otherwise = DIT_ERR_INTERRUPTED;
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_ERR_INTERRUPTED);
    suite_point_release(&point);
}

static void a_time_of_zero_is_no_prediction(void **state)
{
    oracle told = {"u4", 0, DIT_OK, 0};
    suite_point_result result;
    suite_point point = understood(FLUX ",\"gpus\":4,\"method\":\"ulysses-4\",\"value\":2.5");
    (void)state;
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(result.skip, SUITE_SKIP_PREDICTION);
    suite_point_release(&point);
}

static void a_step_is_a_part_of_the_loop(void **state)
{
    oracle told = {"u2", 30, DIT_OK, 0};
    suite_point_result result;
    suite_point point = understood("\"model\":\"CogVideoX-5B\",\"resolution\":\"720x480\",\"steps\":50,\"frames\":49,"
                                   "\"hardware\":\"A100\",\"interconnect\":\"NVLink\",\"metric\":\"latency_per_step\","
                                   "\"unit\":\"s\",\"gpus\":2,\"method\":\"ulysses-2\",\"value\":0.5");
    (void)state;
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_float_equal(result.predicted, 0.6, 1e-12);
    suite_point_release(&point);
}

static void skipped_points_are_not_asked_about(void **state)
{
    oracle told = {"u4", 1, DIT_OK, 0};
    suite_point_result result;
    suite_point point = understood(FLUX ",\"gpus\":4,\"method\":\"TeaCache\\u001b[31m\",\"value\":2.5");
    (void)state;
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(told.calls, 0);
    assert_int_equal(result.skip, SUITE_SKIP_METHOD_OTHER);
    assert_null(strchr(result.label, '\x1b')); /* nothing of others reaches a terminal */
    assert_null(strchr(result.detail, '\x1b'));
    suite_point_release(&point);
    suite_published_release(&one_file);
}

/* ---- what is shipped --------------------------------------------------------------------------------------------- */

static int count_understood(const char *path, int *total, int *unknown_keys)
{
    suite_published published;
    int understood_count = 0;
    assert_int_equal(suite_published_read(path, &published), DIT_OK);
    for (int i = 0; i < published.count; i++) {
        suite_point point;
        assert_int_equal(suite_point_understand(&names, &published.points[i], NULL, &point), DIT_OK);
        understood_count += point.skip == SUITE_SKIP_NONE;
        suite_point_release(&point);
    }
    *total = published.count;
    *unknown_keys = published.unknown_keys;
    suite_published_release(&published);
    return understood_count;
}

static void most_printed_latencies_are_understood(void **state)
{
    int total, unknown_keys;
    (void)state;
    assert_true(count_understood(PUBLISHED "paper_numbers.json", &total, &unknown_keys) >= 496 + 227);
    assert_int_equal(total, 1105);
    assert_int_equal(unknown_keys, 0);
    assert_true(count_understood(PUBLISHED "single_gpu_latency.json", &total, &unknown_keys) >= 114);
    assert_int_equal(total, 180);
    assert_int_equal(unknown_keys, 0);
}

static bool is_listed(char **list, const char *word)
{
    for (int i = 0; list[i]; i++)
        if (strcmp(list[i], word) == 0) return true;
    return false;
}

static void tables_name_what_exists(void **state)
{
    char **platforms, **profiles;
    const cJSON *item;
    (void)state;
    assert_int_equal(suite_catalogue_names("platforms", &platforms), DIT_OK);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(names.hardware.root, "rows"))
    {
        const char *platform = cJSON_GetStringValue(cJSON_GetObjectItem(item, "platform"));
        if (!is_listed(platforms, platform)) fail_msg("there is no platform %s", platform);
    }
    cJSON_ArrayForEach(
        item, cJSON_GetObjectItem(names.models.root, "aliases")) if (!is_listed(names.catalogue, item->valuestring))
        fail_msg("there is no model %s", item->valuestring);
    assert_int_equal(suite_catalogue_names("profiles", &profiles), DIT_OK);
    cJSON_ArrayForEach(item,
                       cJSON_GetObjectItem(names.methods.root, "runtimes")) if (!is_listed(profiles, item->valuestring))
        fail_msg("there is no profile %s", item->valuestring);
    suite_names_free(profiles);
    suite_names_free(platforms);
}

static void check_points(const suite_published *published, const cJSON *list, const char *id)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        int index = (int)number_at(item, "index");
        const cJSON *value = cJSON_GetObjectItem(item, "value");
        if (index < 0 || index >= published->count) fail_msg("%s: no point %d", id, index);
        const suite_published_point *point = &published->points[index];
        assert_int_equal(point->has_value, cJSON_IsNumber(value));
        if (point->has_value && point->value != value->valuedouble) fail_msg("%s: point %d is another", id, index);
    }
}

static void contradictions_are_about_points_that_exist(void **state)
{
    suite_published published;
    dit_json doc;
    const cJSON *one;
    (void)state;
    assert_int_equal(suite_published_read(PUBLISHED "paper_numbers.json", &published), DIT_OK);
    assert_int_equal(dit_json_read_file(PUBLISHED "contradictions.json", &doc), DIT_OK);
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(doc.root, "contradictions")) >= 12);
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(doc.root, "contradictions"))
    {
        const char *id = cJSON_GetStringValue(cJSON_GetObjectItem(one, "id"));
        assert_non_null(id);
        assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(one, "what")));
        assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(one, "believe")));
        assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(one, "why")));
        check_points(&published, cJSON_GetObjectItem(one, "points"), id);
        check_points(&published, cJSON_GetObjectItem(one, "against"), id);
    }
    dit_json_release(&doc);
    suite_published_release(&published);
}

static void write_table(const char *folder, const char *name, const char *text)
{
    char path[SUITE_PATH];
    assert_int_equal(suite_path(path, "%s/%s.json", folder, name), DIT_OK);
    test_file_write(path, text, strlen(text));
}

#define MODELS "{\"schema\":\"ditbench.published_models/1\",\"unknown\":{},\"layers\":{},"
#define ROWS   "{\"schema\":\"ditbench.published_hardware/1\",\"not_stated\":[],\"rows\":["
#define ROW    "{\"names\":[\"T4\"],\"interconnects\":[],\"platform\":\"4xt4\","
#define METHODS                                                                                                        \
    "{\"schema\":\"ditbench.published_methods/1\",\"refused\":{},\"runtimes\":{},"                                     \
    "\"method_runtimes\":{},"
#define GOOD_METHODS METHODS "\"settings\":{},\"neutral\":[],\"warmup_steps\":1}"

static void damaged_tables_are_refused(void **state)
{
    static const struct {
        const char *name, *text, *words;
    } tables[] = {
        {"models", "{\"schema\":\"ditbench.published_models/1\",\"aliases\":{\"a/b\":7},\"unknown\":{}}", "a~1b"},
        {"models", "{\"schema\":\"ditbench.published_models/2\",\"aliases\":{},\"unknown\":{}}", "/schema"},
        {"models", "[]", "expected an object"},
        {"models", MODELS "\"aliases\":[]}", "/aliases"},
        {"hardware", ROWS "7]}", "/rows/0"},
        {"hardware", ROWS ROW "\"gpus\":[1,\"4\"]}]}", "/rows/0"},
        {"hardware", ROWS ROW "\"gpus\":{\"least\":1,\"most\":4}}]}", "/rows/0"},
        {"hardware", ROWS ROW "\"gpus\":[1,1e300]}]}", "/rows/0"},
        {"hardware", ROWS ROW "\"gpus\":[1,4],\"names\":[]}]}", "names"},
        {"hardware", ROWS "{\"names\":[7],\"interconnects\":[],\"platform\":\"4xt4\",\"gpus\":[1,4]}]}",
         "/rows/0/names"},
        {"methods", METHODS "\"settings\":{\"ring\":7},\"neutral\":[],\"warmup_steps\":1}", "/settings/ring"},
        {"methods", METHODS "\"settings\":{},\"neutral\":\"x\",\"warmup_steps\":1}", "/neutral"},
        {"methods", METHODS "\"settings\":{},\"neutral\":[],\"warmup_steps\":\"1\"}", "/warmup_steps"},
        {"methods", METHODS "\"settings\":{},\"neutral\":[],\"warmup_steps\":1e300}", "/warmup_steps"}};
    char folder[TEST_FOLDER];
    suite_published_names read;
    (void)state;
    assert_int_equal(test_folder_make(folder), 0);
    assert_int_equal(suite_published_names_load(folder, &read), DIT_ERR_IO);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        write_table(folder, "models", MODELS "\"aliases\":{}}");
        write_table(folder, "hardware", ROWS ROW "\"gpus\":[1,4]}]}");
        write_table(folder, "methods", GOOD_METHODS);
        assert_int_equal(suite_published_names_load(folder, &read), DIT_OK);
        suite_published_names_release(&read);
        write_table(folder, tables[i].name, tables[i].text);
        dit_status st = suite_published_names_load(folder, &read);
        if (st == DIT_OK || !strstr(dit_error_last()->message, tables[i].words))
            fail_msg("%s: %s", tables[i].text, st == DIT_OK ? "taken" : dit_error_last()->message);
        assert_null(read.catalogue);
    }
    assert_int_equal(suite_path_remove(folder), DIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_percentile_is_one_of_the_values),
        cmocka_unit_test(rounding_is_half_of_the_last_digit),
        cmocka_unit_test(nothing_gives_no_statistics),
        cmocka_unit_test(errors_have_a_median_and_a_percentile),
        cmocka_unit_test(pairs_of_a_panel_are_in_order_or_not),
        cmocka_unit_test(values_near_each_other_are_counted_apart),
        cmocka_unit_test(what_rounding_hides_is_not_judged),
        cmocka_unit_test(equal_predictions_are_no_order),
        cmocka_unit_test(one_method_twice_is_no_pair),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(doubted_rates_and_tails_are_told_apart),
        cmocka_unit_test(the_answer_leaves_out_what_does_not_exist),
        cmocka_unit_test(what_is_wrong_is_named_with_its_place),
        cmocka_unit_test(unknown_members_are_counted),
        cmocka_unit_test(no_damage_crashes_the_reader),
        cmocka_unit_test(models_have_many_names),
        cmocka_unit_test(machines_are_rows_of_a_table),
        cmocka_unit_test(words_of_a_method_give_degrees),
        cmocka_unit_test(every_reason_is_found),
        cmocka_unit_test(a_point_becomes_one_case),
        cmocka_unit_test(what_a_source_does_is_known),
        cmocka_unit_test(a_decode_is_tiled_where_the_source_does_so),
        cmocka_unit_test(a_run_time_is_that_of_the_source),
        cmocka_unit_test(displaced_patches_and_clips_are_cases_too),
        cmocka_unit_test(a_layer_is_a_case_of_its_own_program),
        cmocka_unit_test(a_rate_is_compared_as_a_rate),
        cmocka_unit_test(filters_see_what_a_point_says),
        cmocka_unit_test(a_hybrid_is_the_best_of_all_legal_meshes),
        cmocka_unit_test(a_hybrid_splits_guidance_where_there_is_any),
        cmocka_unit_test(meshes_that_fail_are_left_out),
        cmocka_unit_test(a_time_of_zero_is_no_prediction),
        cmocka_unit_test(a_step_is_a_part_of_the_loop),
        cmocka_unit_test(skipped_points_are_not_asked_about),
        cmocka_unit_test(most_printed_latencies_are_understood),
        cmocka_unit_test(tables_name_what_exists),
        cmocka_unit_test(contradictions_are_about_points_that_exist),
        cmocka_unit_test(damaged_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
