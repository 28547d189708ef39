/* The words of the schemas are those of the code: methods, axes, patch methods, programs, parameters. */
#include "base/tests/test.h"

#include "base/axis.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/words.h"
#include "reports/figures/figure.h"
#include "suite/catalogue/method.h"
#include "suite/catalogue/parameter.h"
#include "suite/prices/quote.h"
#include "suite/workload/programs/program.h"

#include <regex.h>

static const char workload_schema[] = "workloads/schema/workload.schema.json";

static dit_json open_schema(const char *path)
{
    dit_json schema = {0};
    char *text = test_file_read(path, NULL);
    assert_ok(dit_json_parse(text, strlen(text), path, &schema));
    free(text);
    return schema;
}

static cJSON *part(const cJSON *object, const char *key)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!item) fail_msg("the schema has no %s", key);
    return item;
}

static bool has_word(const cJSON *list, const char *word)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, word) == 0) return true;
    }
    return false;
}

/* Both have the same words, in any order. */
static void assert_same_words(const cJSON *list, const char *const *words, const char *what)
{
    const cJSON *item;
    for (int i = 0; words[i]; i++)
        if (!has_word(list, words[i])) fail_msg("%s: the schema lacks \"%s\"", what, words[i]);
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && dit_words_find(words, item->valuestring) < 0)
            fail_msg("%s: the code lacks \"%s\"", what, item->valuestring);
    }
}

/* Every enum of a member `key` anywhere below `node` has these words. Returns how many there are. */
static int check_enums(const cJSON *node, const char *key, const char *const *words)
{
    const cJSON *item;
    int found = 0;
    cJSON_ArrayForEach(item, node)
    {
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, "enum");
        if (item->string && strcmp(item->string, key) == 0 && list && has_word(list, words[0])) {
            assert_same_words(list, words, key);
            found++;
        }
        found += check_enums(item, key, words);
    }
    return found;
}

static int check_file(const char *path, const char *key, const char *const *words)
{
    dit_json schema = open_schema(path);
    int found = check_enums(schema.root, key, words);
    dit_json_release(&schema);
    return found;
}

static void axes_of_records_are_those_of_the_table(void **state)
{
    const char *names[DIT_GROUP_COUNT + 1] = {NULL};
    (void)state;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) names[axis] = dit_axis_name((dit_axis)axis);
    assert_int_equal(check_file("results/schema/case.schema.json", "axis", names), 1);
    assert_int_equal(check_file("results/schema/record.schema.json", "axis", names), 3);
    assert_int_equal(check_file("results/schema/trace.schema.json", "axis", names), 1);
}

static void patch_methods_and_layouts_of_text_are_those_of_the_code(void **state)
{
    static const char *const files[] = {workload_schema, "results/schema/case.schema.json"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(check_file(files[i], "patch_method", dit_patch_method_names()), 1);
        assert_int_equal(check_file(files[i], "joint_text", dit_joint_text_names()), 1);
    }
}

static void degrees_of_a_case_are_those_of_the_table(void **state)
{
    (void)state;
    dit_json schema = open_schema("results/schema/case.schema.json");
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) {
        char quoted[64];
        char *text = cJSON_PrintUnformatted(schema.root);
        snprintf(quoted, sizeof quoted, "\"%s\":{", dit_axis_key((dit_axis)axis));
        assert_contains(text, quoted);
        cJSON_free(text);
    }
    dit_json_release(&schema);
}

static void programs_of_a_workload_are_those_of_the_table(void **state)
{
    const char *names[SUITE_PROGRAM_COUNT + 1] = {NULL};
    (void)state;
    for (int i = 0; i < SUITE_PROGRAM_COUNT; i++) names[i] = suite_programs()[i]->name;
    dit_json schema = open_schema(workload_schema);
    const cJSON *program = part(part(schema.root, "properties"), "program");
    assert_same_words(part(program, "enum"), names, "program");
    assert_string_equal(part(program, "default")->valuestring, names[0]);
    dit_json_release(&schema);
}

/* Those of `defaults`, of `axes` and of `zip`, each by its own list. */
static void parameters_of_a_workload_are_those_of_the_table(void **state)
{
    const cJSON *item;
    (void)state;
    dit_json schema = open_schema(workload_schema);
    const cJSON *parameters = part(part(schema.root, "$defs"), "parameters");
    for (const char *const *key = suite_parameter_keys(); *key; key++) part(parameters, *key);
    cJSON_ArrayForEach(item, parameters)
    {
        suite_parameter parameter;
        if (!suite_parameter_from_key(item->string, &parameter)) fail_msg("the code lacks %s", item->string);
    }
    dit_json_release(&schema);
}

static void figure_kinds_of_a_workload_are_those_of_the_table(void **state)
{
    (void)state;
    assert_int_equal(check_file(workload_schema, "kind", report_figure_kind_names()), 1);
}

static void kinds_of_prices_are_those_of_the_code(void **state)
{
    (void)state;
    assert_int_equal(check_file("workloads/schema/price_book.schema.json", "kind", suite_price_kind_names()), 1);
    assert_int_equal(check_file("results/schema/prices.schema.json", "kind", suite_price_kind_names()), 1);
}

static void methods_of_a_workload_are_those_of_the_table(void **state)
{
    const char *words[64] = {NULL};
    int count = 0;
    regex_t products;
    (void)state;
    for (; dit_method_get(count); count++) words[count] = dit_method_get(count)->name;
    words[count] = "hybrid";
    dit_json schema = open_schema(workload_schema);
    const cJSON *method = part(part(part(schema.root, "$defs"), "parameters"), "method");
    const cJSON *single = cJSON_GetArrayItem(part(method, "anyOf"), 0);
    const cJSON *several = cJSON_GetArrayItem(part(method, "anyOf"), 1);
    assert_same_words(part(single, "enum"), words, "method");
    assert_int_equal(regcomp(&products, part(several, "pattern")->valuestring, REG_EXTENDED | REG_NOSUB), 0);
    for (const char *const *name = suite_method_names(); *name; name++) {
        assert_ok(suite_method_check(*name));
        bool alone = has_word(part(single, "enum"), *name);
        if (alone == (regexec(&products, *name, 0, NULL, 0) == 0)) fail_msg("method %s", *name);
    }
    regfree(&products);
    dit_json_release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_of_records_are_those_of_the_table),
        cmocka_unit_test(patch_methods_and_layouts_of_text_are_those_of_the_code),
        cmocka_unit_test(degrees_of_a_case_are_those_of_the_table),
        cmocka_unit_test(programs_of_a_workload_are_those_of_the_table),
        cmocka_unit_test(parameters_of_a_workload_are_those_of_the_table),
        cmocka_unit_test(figure_kinds_of_a_workload_are_those_of_the_table),
        cmocka_unit_test(kinds_of_prices_are_those_of_the_code),
        cmocka_unit_test(methods_of_a_workload_are_those_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
