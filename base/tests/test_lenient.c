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
        cmocka_unit_test(what_is_no_json_stays_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
