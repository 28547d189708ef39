/* Documents that are whole or not there: a writer that has failed once writes nothing more, wherever memory ends. */
#include "base/json_writer.h"

#include "base/tests/test.h"

/* ---- memory that ends -------------------------------------------------------------------------------------------- */

static int64_t left = INT64_MAX, living; /* allocations that still succeed; those not freed yet */

static void *take(size_t bytes)
{
    if (left-- <= 0) return NULL;
    living++;
    return malloc(bytes);
}

static void give_back(void *block)
{
    living -= block != NULL;
    free(block);
}

static int hook(void **state)
{
    cJSON_Hooks hooks = {.malloc_fn = take, .free_fn = give_back};
    (void)state;
    left = INT64_MAX, living = 0;
    cJSON_InitHooks(&hooks);
    return 0;
}

static int unhook(void **state)
{
    (void)state;
    cJSON_InitHooks(NULL);
    return 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static dit_status write_everything(cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_int(&w, root, "int", -9007199254740992);
    dit_json_put_number(&w, root, "number", 0.25);
    dit_json_put_string(&w, root, "text", "a \"word\"");
    dit_json_put_string(&w, root, "no text", NULL);
    dit_json_put_bool(&w, root, "yes", true);
    dit_json_put_null(&w, root, "nothing");
    cJSON *list = dit_json_put_array(&w, root, "list");
    for (int i = 0; i < 3; i++) dit_json_put_int(&w, list, NULL, i);
    dit_json_put_string(&w, dit_json_put_object(&w, list, NULL), "deep", "down");
    dit_json_put_copy(&w, root, "copy", list);
    dit_json_put_copy(&w, root, "no copy", NULL);
    dit_json_put_item(&w, root, "item", dit_json_new_array(&w));
    return dit_json_finish(&w, root, out);
}

static void a_document_has_what_was_put(void **state)
{
    cJSON *root;
    char *text;
    (void)state;
    assert_ok(write_everything(&root));
    assert_ok(dit_json_canonical(root, &text));
    assert_string_equal(text, "{\"copy\":[0,1,2,{\"deep\":\"down\"}],\"int\":-9007199254740992,\"item\":[],\"list\":[0,"
                              "1,2,{\"deep\":\"down\"}],\"nothing\":null,\"number\":0.25,\"text\":\"a \\\"word\\\"\","
                              "\"yes\":true}");
    free(text);
    cJSON_Delete(root);
    assert_int_equal(living, 0);
}

/* At each allocation in turn: the document is refused, and nothing of it stays. */
static void without_memory_there_is_no_document(void **state)
{
    cJSON *root;
    int failures = 0;
    (void)state;
    for (;; failures++) {
        left = failures;
        dit_status st = write_everything(&root);
        if (st == DIT_OK) break;
        assert_int_equal(st, DIT_ERR_MEMORY);
        assert_null(root);
        assert_int_equal(living, 0);
    }
    assert_true(failures > 30);
    cJSON_Delete(root);
}

static void the_first_failure_stays(void **state)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w), *out = root;
    (void)state;
    dit_json_put_number(&w, root, "rate", NAN);
    dit_json_put_int(&w, root, "huge", INT64_MAX);
    dit_json_put_status(&w, DIT_ERR_IO);
    dit_json_put_string(&w, root, "later", "word");
    assert_int_equal(cJSON_GetArraySize(root), 0);
    assert_null(dit_json_put_object(&w, root, "child"));
    assert_null(dit_json_new_array(&w));
    assert_fails(dit_json_finish(&w, root, &out), DIT_ERR_NONFINITE, "\"rate\": nan cannot be written");
    assert_null(out);
    assert_int_equal(living, 0);
}

static void what_json_rounds_is_refused(void **state)
{
    static const int64_t beyond[] = {9007199254740993, -9007199254740993, INT64_MAX, INT64_MIN};
    cJSON *root = cJSON_CreateArray();
    (void)state;
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        dit_json_writer w = {0};
        dit_json_put_int(&w, root, NULL, beyond[i]);
        assert_int_equal(w.status, DIT_ERR_JSON_NUMBER);
    }
    assert_int_equal(cJSON_GetArraySize(root), 0);
    cJSON_Delete(root);
}

static void the_failure_of_a_part_is_that_of_the_whole(void **state)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w), *out;
    (void)state;
    dit_json_put_status(&w, DIT_OK);
    assert_int_equal(w.status, DIT_OK);
    dit_json_put_status(&w, DIT_FAIL(DIT_ERR_IO, "the part"));
    assert_fails(dit_json_finish(&w, root, &out), DIT_ERR_IO, "the part");
    assert_int_equal(living, 0);
}

static void a_reference_is_written_and_stays_with_its_owner(void **state)
{
    char *text = NULL;
    dit_json_writer w = {0};
    cJSON *owner = cJSON_CreateArray(), *root = dit_json_new_object(&w), *out;
    (void)state;
    dit_json_put_int(&w, owner, NULL, 7);
    dit_json_put_reference(&w, root, "list", owner);
    dit_json_put_reference(&w, root, "absent", NULL);
    assert_int_equal(dit_json_finish(&w, root, &out), DIT_OK);
    assert_int_equal(dit_json_canonical(out, &text), DIT_OK);
    assert_string_equal(text, "{\"list\":[7]}");
    free(text);
    cJSON_Delete(out);
    assert_int_equal(cJSON_GetArraySize(owner), 1);
    cJSON_Delete(owner);
    assert_int_equal(living, 0);
}

static void a_document_that_failed_leaves_no_file(void **state)
{
    const char *path = "/nowhere/is/such/a/folder/record.json";
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    (void)state;
    dit_json_put_number(&w, root, "ratio", NAN);
    assert_fails(dit_json_finish_file(&w, root, path, false), DIT_ERR_NONFINITE, "ratio");
    w = (dit_json_writer){0};
    root = dit_json_new_object(&w);
    assert_int_equal(dit_json_finish_file(&w, root, path, false), DIT_ERR_IO);
    assert_int_equal(living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_document_has_what_was_put, hook, unhook),
        cmocka_unit_test_setup_teardown(without_memory_there_is_no_document, hook, unhook),
        cmocka_unit_test_setup_teardown(the_first_failure_stays, hook, unhook),
        cmocka_unit_test_setup_teardown(what_json_rounds_is_refused, hook, unhook),
        cmocka_unit_test_setup_teardown(the_failure_of_a_part_is_that_of_the_whole, hook, unhook),
        cmocka_unit_test_setup_teardown(a_reference_is_written_and_stays_with_its_owner, hook, unhook),
        cmocka_unit_test_setup_teardown(a_document_that_failed_leaves_no_file, hook, unhook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
