/* Status: one table, a message with values, hints and notes, and a record for each thread. */
#include "base/status.h"

#include "base/tests/test.h"

#include <pthread.h>

static void every_code_is_unique_and_has_an_inverse(void **state)
{
    (void)state;
    for (int i = 0; i < DIT_STATUS_COUNT; i++) {
        dit_status found;
        const char *name = dit_status_name((dit_status)i);
        assert_true(i == DIT_OK || strncmp(name, "E_", 2) == 0);
        assert_true(dit_status_from_name(name, &found));
        assert_int_equal(found, i);
        assert_true(strlen(dit_status_text((dit_status)i)) > 0);
    }
}

static void only_documented_exit_codes_are_used(void **state)
{
    (void)state;
    static const int documented[] = {0, 1, 2, 3, 4, 5, 6, 77, 130, 143};
    for (int i = 0; i < DIT_STATUS_COUNT; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof documented / sizeof *documented; k++)
            found = found || documented[k] == dit_status_exit_code((dit_status)i);
        assert_true(found);
        assert_true((dit_status_exit_code((dit_status)i) == 0) == (i == DIT_OK));
    }
    assert_int_equal(dit_status_exit_code(DIT_ERR_JSON_SYNTAX), 2);
    assert_int_equal(dit_status_exit_code(DIT_ERR_SAFETENSORS_OFFSETS), 6);
}

static void unknown_codes_are_internal_errors(void **state)
{
    (void)state;
    dit_status out = DIT_OK;
    assert_false(dit_status_from_name("E_NOTHING", &out));
    assert_false(dit_status_from_name("", &out));
    assert_string_equal(dit_status_name((dit_status)9999), "E_INTERNAL");
    assert_int_equal(dit_status_exit_code((dit_status)-1), DIT_EXIT_CASE);
}

static dit_status inner(int value)
{
    return DIT_FAIL(DIT_ERR_SHAPE, "extent %d of \"%s\"", value, "q");
}

static dit_status outer(int value)
{
    dit_status st = inner(value);
    dit_error_hint(st, "try %d", value + 1);
    dit_error_note(st, "checking layer %d", 3);
    return dit_error_note(st, "loading the model");
}

static void an_error_keeps_message_hint_notes_and_place(void **state)
{
    (void)state;
    assert_int_equal(outer(7), DIT_ERR_SHAPE);
    const dit_error *error = dit_error_last();
    assert_int_equal(error->status, DIT_ERR_SHAPE);
    assert_string_equal(error->message, "extent 7 of \"q\"");
    assert_string_equal(error->hint, "try 8");
    assert_string_equal(error->notes, "checking layer 3\nloading the model");
    assert_non_null(strstr(error->file, "test_status.c"));
    assert_true(error->line > 0);
}

static void a_new_error_forgets_the_old_hint_and_notes(void **state)
{
    (void)state;
    outer(1);
    inner(2);
    assert_string_equal(dit_error_last()->hint, "");
    assert_string_equal(dit_error_last()->notes, "");
    dit_error_clear();
    assert_int_equal(dit_error_last()->status, DIT_OK);
    assert_string_equal(dit_error_last()->message, "");
}

static void an_error_may_quote_the_one_before(void **state)
{
    (void)state;
    inner(5);
    (void)!DIT_FAIL(DIT_ERR_INTERNAL, "again: %s", dit_error_last()->message);
    assert_string_equal(dit_error_last()->message, "again: extent 5 of \"q\"");
}

static void long_texts_are_cut_not_overrun(void **state)
{
    (void)state;
    char text[8000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    dit_status st = DIT_FAIL(DIT_ERR_INTERNAL, "%s", text);
    dit_error_hint(st, "%s", text);
    for (int i = 0; i < 5; i++) dit_error_note(st, "%s", text);
    assert_true(strlen(dit_error_last()->message) > 1000);
    assert_true(strlen(dit_error_last()->message) < sizeof text);
}

static void control_characters_do_not_reach_a_terminal(void **state)
{
    (void)state;
    (void)!DIT_FAIL(DIT_ERR_INTERNAL, "tensor \"%s\"", "\033[2Ja\177\tb");
    assert_string_equal(dit_error_last()->message, "tensor \"?[2Ja??b\"");
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    (void)!DIT_FAIL(DIT_ERR_IO, "from another thread");
    return NULL;
}

static void threads_do_not_mix_their_errors(void **state)
{
    (void)state;
    pthread_t thread;
    inner(1);
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(dit_error_last()->message, "extent 1 of \"q\"");
}

static dit_status both(dit_status first, dit_status second)
{
    dit_status st = first;
    DIT_KEEP_FIRST(st, second);
    return st;
}

static void cleanup_keeps_the_first_error(void **state)
{
    (void)state;
    assert_int_equal(both(DIT_OK, DIT_ERR_IO), DIT_ERR_IO);
    assert_int_equal(both(DIT_ERR_SHAPE, DIT_ERR_IO), DIT_ERR_SHAPE);
    assert_int_equal(both(DIT_ERR_SHAPE, DIT_OK), DIT_ERR_SHAPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_is_unique_and_has_an_inverse),
        cmocka_unit_test(only_documented_exit_codes_are_used),
        cmocka_unit_test(unknown_codes_are_internal_errors),
        cmocka_unit_test(an_error_keeps_message_hint_notes_and_place),
        cmocka_unit_test(a_new_error_forgets_the_old_hint_and_notes),
        cmocka_unit_test(an_error_may_quote_the_one_before),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
        cmocka_unit_test(control_characters_do_not_reach_a_terminal),
        cmocka_unit_test(threads_do_not_mix_their_errors),
        cmocka_unit_test(cleanup_keeps_the_first_error),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
