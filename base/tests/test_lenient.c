/* Configs that Python wrote: what has no value there is absent here, and nothing else is let through. */
#include "base/lenient.h"

#include "base/tests/test.h"

static dit_status read_text(const char *text, dit_json *out)
{
    char path[TEST_FOLDER];
    test_file_make(path, text, strlen(text));
    *out = (dit_json){0};
    dit_status st = dit_json_read_lenient(path, out);
    unlink(path);
    return st;
}

static void null_and_infinities_are_absent(void **state)
{
    dit_json doc;
    char *text;
    (void)state;
    assert_int_equal(read_text("{\"a\": null, \"b\": -Infinity, \"c\": [1, 2], \"d\": {\"e\": null, \"f\": Infinity, "
                               "\"g\": \"-Infinity\"}}",
                               &doc),
                     DIT_OK);
    assert_int_equal(dit_json_canonical(doc.root, &text), DIT_OK);
    assert_string_equal(text, "{\"c\":[1,2],\"d\":{\"g\":\"-Infinity\"}}");
    free(text);
    dit_json_release(&doc);
}

static void long_integers_become_doubles(void **state)
{
    dit_json doc;
    (void)state;
    assert_int_equal(
        read_text("{\"a\": 1000000000000000019884624838656, \"b\": [-12345678901234567890, 1234567890123456], "
                  "\"c\": 0.12345678901234567890, \"d\": \"12345678901234567890\", \"e\": 99999999999999999}",
                  &doc),
        DIT_OK);
    assert_close(dit_json_number_or(doc.root, "a", 0), 1e30, 1e-12);
    assert_close(cJSON_GetArrayItem(dit_json_member(doc.root, "b"), 0)->valuedouble, -12345678901234567890.0, 1e-12);
    assert_int_equal((int64_t)cJSON_GetArrayItem(dit_json_member(doc.root, "b"), 1)->valuedouble, 1234567890123456);
    assert_near(dit_json_number_or(doc.root, "c", 0), 0.1234567890123457, 1e-15);
    assert_string_equal(dit_json_text_or(doc.root, "d", ""), "12345678901234567890");
    assert_close(dit_json_number_or(doc.root, "e", 0), 1e17, 1e-12);
    dit_json_release(&doc);
}

static void what_is_no_json_stays_an_error(void **state)
{
    static const char *const bad[] = {"{\"a\": NaN}", "{\"a\": 1} x", "{\"a\": 1, \"a\": 2}", "{\"a\": Infinit}", "{"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dit_json doc;
        assert_int_not_equal(read_text(bad[i], &doc), DIT_OK);
        dit_json_release(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_and_infinities_are_absent),
        cmocka_unit_test(long_integers_become_doubles),
        cmocka_unit_test(what_is_no_json_stays_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
