/* Reading workloads: the shipped files are good, the malformed ones are refused with their place and a hint. */
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/model.h"
#include "suite/error_place.h"
#include "suite/platform/platform.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/load.h"
#include "suite/workload/workload.h"

#include <dirent.h>

static int use_shipped(void **state)
{
    (void)state;
    return setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1);
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static int number_of(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key)->valueint;
}

static void check_malformed(const cJSON *expected)
{
    char path[512];
    suite_workload workload;
    suite_place place;
    snprintf(path, sizeof path, "%s/suite/tests/malformed/%s", DITBENCH_SOURCE_DIR, text_of(expected, "file"));
    dit_status st = suite_workload_load(path, &workload);
    suite_workload_release(&workload);
    suite_place_split(dit_error_last()->message, &place);
    if (strcmp(dit_status_name(st), text_of(expected, "code")) != 0 || place.line != number_of(expected, "line") ||
        place.column != number_of(expected, "column") || strcmp(place.pointer, text_of(expected, "pointer")) != 0 ||
        strcmp(dit_error_last()->hint, text_of(expected, "hint")) != 0)
        fail_msg("%s: got %s, %s (%s)", text_of(expected, "file"), dit_status_name(st), dit_error_last()->message,
                 dit_error_last()->hint);
    assert_string_equal(place.file, path);
    assert_int_equal(dit_status_exit_code(st), DIT_EXIT_USAGE);
}

static void malformed_workloads_are_refused_with_place_and_hint(void **state)
{
    dit_json index;
    const cJSON *expected;
    (void)state;
    assert_int_equal(dit_json_read_file(DITBENCH_SOURCE_DIR "/suite/tests/malformed/index.json", &index), DIT_OK);
    assert_true(cJSON_GetArraySize(index.root) >= 30);
    cJSON_ArrayForEach(expected, index.root) check_malformed(expected);
    dit_json_release(&index);
}

static void every_malformed_file_is_in_the_index(void **state)
{
    dit_json index;
    int files = 0;
    (void)state;
    assert_int_equal(dit_json_read_file(DITBENCH_SOURCE_DIR "/suite/tests/malformed/index.json", &index), DIT_OK);
    DIR *dir = opendir(DITBENCH_SOURCE_DIR "/suite/tests/malformed");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strstr(entry->d_name, ".json") && strcmp(entry->d_name, "index.json") != 0) files++;
    closedir(dir);
    assert_int_equal(files, cJSON_GetArraySize(index.root));
    dit_json_release(&index);
}

static void unknown_keys_name_the_nearest_valid_key(void **state)
{
    dit_json index;
    const cJSON *expected;
    int unknown = 0;
    (void)state;
    assert_int_equal(dit_json_read_file(DITBENCH_SOURCE_DIR "/suite/tests/malformed/index.json", &index), DIT_OK);
    cJSON_ArrayForEach(expected, index.root)
    {
        if (strcmp(text_of(expected, "code"), "E_JSON_UNKNOWN_KEY") != 0) continue;
        assert_true(strlen(text_of(expected, "hint")) > 0);
        unknown++;
    }
    assert_true(unknown >= 5);
    dit_json_release(&index);
}

/* Any prefix of a good file is refused, without a crash, and never with a place outside of it. */
static void truncated_workloads_are_refused_at_any_byte(void **state)
{
    dit_json good;
    suite_workload workload;
    (void)state;
    assert_int_equal(dit_json_read_file(DITBENCH_SOURCE_DIR "/workloads/smoke/smoke.json", &good), DIT_OK);
    for (size_t length = 0; length + 2 < good.length; length += 7) {
        dit_status st = suite_workload_parse(good.text, length, "cut.json", &workload);
        assert_int_not_equal(st, DIT_OK);
        assert_int_equal(dit_status_exit_code(st), DIT_EXIT_USAGE);
        suite_workload_release(&workload);
    }
    dit_json_release(&good);
}

static void shipped_workloads_expand(void **state)
{
    char **names;
    (void)state;
    assert_int_equal(suite_catalogue_names("workloads", &names), DIT_OK);
    assert_non_null(names[0]);
    for (char **name = names; *name; name++) {
        suite_workload workload;
        dit_status st = suite_workload_load(*name, &workload);
        if (st != DIT_OK) fail_msg("%s: %s", *name, dit_error_last()->message);
        assert_true(workload.case_count > 0);
        assert_true(workload.processes > 0);
        suite_workload_release(&workload);
    }
    suite_names_free(names);
}

static bool has_note(const suite_workload *workload)
{
    const cJSON *claim;
    cJSON_ArrayForEach(claim, workload->expect)
    {
        if (cJSON_HasObjectItem(claim, "because")) return true;
    }
    return false;
}

/* A note that names other parameters than its file's would never be shown. */
static void shipped_notes_are_of_the_shipped_parameters(void **state)
{
    char **names;
    int noted = 0;
    (void)state;
    assert_int_equal(suite_catalogue_names("workloads", &names), DIT_OK);
    for (char **name = names; *name; name++) {
        suite_workload workload;
        assert_int_equal(suite_workload_load(*name, &workload), DIT_OK);
        const char *notes_for = workload.notes_for ? workload.notes_for : "nothing";
        if (has_note(&workload) && strcmp(notes_for, workload.parameters) != 0) {
            fail_msg("%s: notes_for is %s, the parameters are %s: read the notes again, then write it", *name,
                     notes_for, workload.parameters);
        }
        noted += has_note(&workload);
        suite_workload_release(&workload);
    }
    assert_true(noted > 15);
    suite_names_free(names);
}

static void parse_small(const char *title, int steps, suite_workload *out)
{
    char text[512];
    int length = snprintf(text, sizeof text,
                          "{\"schema\":\"ditbench.workload/1\",\"name\":\"n\",\"title\":\"%s\",\"defaults\":{\"model\":"
                          "\"pixart-alpha-xl-2\",\"num_inference_steps\":%d},\"axes\":{\"resolution\":[\"256x256\"]}}",
                          title, steps);
    if (suite_workload_parse(text, (size_t)length, "test", out) != DIT_OK) fail_msg("%s", dit_error_last()->message);
}

static void the_parameters_digest_sees_parameters_and_no_texts(void **state)
{
    suite_workload first, retitled, longer;
    (void)state;
    parse_small("a", 2, &first);
    parse_small("b", 2, &retitled);
    parse_small("a", 3, &longer);
    assert_string_equal(first.parameters, retitled.parameters);
    assert_string_not_equal(first.hash, retitled.hash);
    assert_string_not_equal(first.parameters, longer.parameters);
    suite_workload_release(&first);
    suite_workload_release(&retitled);
    suite_workload_release(&longer);
}

static void shipped_models_load_and_the_runnable_ones_have_all_defaults(void **state)
{
    static const char *const runnable[] = {"flux.1-dev", "flux.1-schnell", "pixart-alpha-xl-2", "pixart-sigma-xl-2"};
    char **names;
    int count = 0;
    (void)state;
    assert_int_equal(suite_catalogue_names("models", &names), DIT_OK);
    for (char **name = names; *name; name++, count++) {
        suite_model model;
        dit_status st = suite_model_load(*name, &model);
        if (st != DIT_OK) fail_msg("%s: %s", *name, dit_error_last()->message);
        suite_model_release(&model);
    }
    suite_names_free(names);
    assert_true(count >= 30);
    for (size_t i = 0; i < sizeof runnable / sizeof *runnable; i++) {
        char members[128];
        snprintf(members, sizeof members, "\"defaults\":{\"model\":\"%s\"}", runnable[i]);
        suite_workload workload = fixture_load(members);
        assert_int_equal(workload.case_count + workload.dropped_count, 1); /* may lack memory here */
        suite_workload_release(&workload);
    }
}

static void shipped_platforms_load(void **state)
{
    suite_platform platform;
    (void)state;
    assert_int_equal(suite_platform_load("local-cpu", &platform), DIT_OK);
    assert_string_equal(platform.backend, "cpu");
    assert_string_equal(platform.launcher, "mpirun");
    assert_true(platform.devices >= 1);
    assert_true(platform.max_ranks >= 4);
    assert_true(platform.memory_bytes > 0);
}

static void unknown_names_are_usage_errors_with_the_nearest_name(void **state)
{
    suite_workload workload;
    (void)state;
    assert_int_equal(suite_workload_load("smoek", &workload), DIT_ERR_NOT_FOUND);
    assert_non_null(strstr(dit_error_last()->hint, "smoke"));
    assert_int_equal(dit_status_exit_code(DIT_ERR_NOT_FOUND), DIT_EXIT_USAGE);
    suite_workload_release(&workload);
    assert_int_equal(suite_workload_load("cpu/method", &workload), DIT_ERR_NOT_FOUND);
    assert_non_null(strstr(dit_error_last()->hint, "cpu/methods"));
}

static void a_folder_without_models_is_an_environment_error(void **state)
{
    suite_workload workload;
    (void)state;
    setenv("DITBENCH_WORKLOADS", "/nonexistent", 1);
    assert_int_equal(suite_workload_load("smoke", &workload), DIT_ERR_ENVIRONMENT);
    use_shipped(NULL);
}

static void places_are_split_from_messages(void **state)
{
    suite_place place;
    (void)state;
    suite_place_split("C:12/odd:name.json:3:14: /axes/a~1b: unknown key", &place);
    assert_string_equal(place.file, "C:12/odd:name.json");
    assert_int_equal(place.line, 3);
    assert_int_equal(place.column, 14);
    assert_string_equal(place.pointer, "/axes/a~1b");
    assert_string_equal(place.what, "unknown key");
    suite_place_split("no place at all", &place);
    assert_int_equal(place.line, 0);
    assert_string_equal(place.what, "no place at all");
}

static void a_workload_without_cases_says_why(void **state)
{
    (void)state;
    suite_workload workload = fixture_load(
        "\"defaults\":{\"model\":\"pixart-alpha-xl-2\"},"
        "\"axes\":{\"resolution\":[\"250x250\",\"100x250\"],\"method\":[\"single\",\"ulysses\"],\"world_size\":[2]}");
    assert_int_equal(workload.case_count, 0);
    assert_int_equal(suite_workload_require_cases(&workload), DIT_ERR_WORKLOAD);
    assert_non_null(strstr(dit_error_last()->message, "no case is left of 4 cells: 2 x E_CONSTRAINT_METHOD"));
    assert_non_null(strstr(dit_error_last()->message, "2 x E_CONSTRAINT_RESOLUTION (250x250 px is not a multiple"));
    suite_workload_release(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_workloads_are_refused_with_place_and_hint),
        cmocka_unit_test(every_malformed_file_is_in_the_index),
        cmocka_unit_test(unknown_keys_name_the_nearest_valid_key),
        cmocka_unit_test(truncated_workloads_are_refused_at_any_byte),
        cmocka_unit_test(shipped_workloads_expand),
        cmocka_unit_test(shipped_notes_are_of_the_shipped_parameters),
        cmocka_unit_test(the_parameters_digest_sees_parameters_and_no_texts),
        cmocka_unit_test(shipped_models_load_and_the_runnable_ones_have_all_defaults),
        cmocka_unit_test(shipped_platforms_load),
        cmocka_unit_test(unknown_names_are_usage_errors_with_the_nearest_name),
        cmocka_unit_test(a_folder_without_models_is_an_environment_error),
        cmocka_unit_test(a_workload_without_cases_says_why),
        cmocka_unit_test(places_are_split_from_messages),
    };
    return cmocka_run_group_tests(tests, use_shipped, NULL);
}
