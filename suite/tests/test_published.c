/* Published points and the tables of names beside them: what is read, what is refused, and what ships. */
#include "suite/catalogue/catalogue.h"
#include "suite/published/contradictions.h"

#include "suite/paths.h"
#include "suite/tests/published_fixture.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

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

/* ---- what is shipped --------------------------------------------------------------------------------------------- */

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
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(doc.root, "repeated")) check_points(
        &published, cJSON_GetObjectItem(one, "points"), cJSON_GetStringValue(cJSON_GetObjectItem(one, "id")));
    dit_json_release(&doc);
    suite_published_release(&published);
}

#define THREE "[" GOOD "," GOOD "," GOOD "]"
#define SAID(more)                                                                                                     \
    "{\"file\":\"points.json\",\"contradictions\":[{\"id\":\"c\",\"what\":\"w\",\"believe\":\"b\",\"why\":\"y\"," more \
    "}],"                                                                                                              \
    "\"repeated\":[{\"id\":\"r\",\"why\":\"y\",\"points\":[{\"index\":1,\"value\":1.5},{\"index\":2,\"value\":1.5}]}]" \
    "}"

/* Reads three good points, with what is said of them laid over. */
static void read_laid(const char *folder, const char *said, dit_json *contradictions, suite_published *out)
{
    char path[SUITE_PATH];
    assert_int_equal(suite_path(path, "%s/points.json", folder), DIT_OK);
    test_file_write(path, THREE, strlen(THREE));
    assert_int_equal(dit_json_parse(said, strlen(said), "said", contradictions), DIT_OK);
    assert_int_equal(suite_contradictions_points(contradictions, path, out), DIT_OK);
}

static void points_are_read_as_is_believed(void **state)
{
    char folder[TEST_FOLDER];
    suite_published read;
    dit_json said;
    (void)state;
    assert_int_equal(test_folder_make(folder), 0);
    read_laid(folder,
              SAID("\"doubtful\":true,\"restated\":{\"hardware\":\"L20\",\"steps\":7,\"scope\":\"latents\"},"
                   "\"points\":[{\"index\":0,\"value\":1.5},{\"index\":1,\"value\":9}]"),
              &said, &read);
    assert_string_equal(read.points[0].status, SUITE_PUBLISHED_DOUBTFUL);
    assert_string_equal(read.points[0].hardware, "L20");
    assert_string_equal(read.points[0].interconnect, "NVLink");
    assert_true(read.points[0].steps == 7);
    assert_string_equal(read.points[0].restated, "c");
    suite_published_habits habits;
    suite_published_habits_of(&names, &read.points[0], &habits);
    assert_string_equal(habits.scope, "latents");
    assert_string_equal(read.points[1].hardware, "8xA100"); /* another number stands there than is meant */
    assert_string_equal(read.points[1].status, "");         /* the first of a repeated measurement counts */
    assert_string_equal(read.points[2].status, SUITE_PUBLISHED_REPEATED);
    suite_published_release(&read);
    dit_json_release(&said);
    assert_int_equal(suite_path_remove(folder), DIT_OK);
}

/* Bars of one chart may have been made by two programs. */
static void a_source_has_habits_by_method(void **state)
{
    static const struct {
        const char *source, *method, *eager;
        bool known;
    } cases[] = {
        {"xdit-project/xdit_assets: performance/pixart/x.png", "tensor parallel", "pipefusion-legacy", true},
        {"xdit-project/xdit_assets: performance/pixart/x.png", "sp-ulysses", "pytorch-eager-2024", true},
        {"xdit-project/xdit_assets: performance/cogvideo/latency-cogvideo1.5-5b", "ulysses", "pytorch-eager-2024-12",
         true},
        {"xdit-project/xdit_assets: performance/cogvideo/cogvideo-l40-5b.png", "ulysses", "pytorch-eager-2024", true},
        {"nobody knows", "ulysses", "pytorch-eager-2025", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const suite_published_point point = {
            .source = cases[i].source, .method = cases[i].method, .model = "", .scope = ""};
        suite_published_habits habits;
        suite_published_habits_of(&names, &point, &habits);
        assert_string_equal(dit_json_text_or(habits.profiles, "pytorch-eager", ""), cases[i].eager);
        assert_int_equal(habits.known, cases[i].known);
    }
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
        cmocka_unit_test(what_is_wrong_is_named_with_its_place),
        cmocka_unit_test(unknown_members_are_counted),
        cmocka_unit_test(no_damage_crashes_the_reader),
        cmocka_unit_test(models_have_many_names),
        cmocka_unit_test(machines_are_rows_of_a_table),
        cmocka_unit_test(words_of_a_method_give_degrees),
        cmocka_unit_test(tables_name_what_exists),
        cmocka_unit_test(contradictions_are_about_points_that_exist),
        cmocka_unit_test(points_are_read_as_is_believed),
        cmocka_unit_test(a_source_has_habits_by_method),
        cmocka_unit_test(damaged_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
