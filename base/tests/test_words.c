/* Lists of words: found, joined, read from a text, and what somebody is told whose word is in none. */
#include "base/words.h"

#include "base/tests/test.h"

static const char *const words[] = {"width_px", "height_px", "seed", NULL}, *const none[] = {NULL};

static void a_word_has_its_place_in_its_list_only(void **state)
{
    (void)state;
    assert_int_equal(dit_words_find(words, "width_px"), 0);
    assert_int_equal(dit_words_find(words, "seed"), 2);
    assert_int_equal(dit_words_find(words, "see"), -1);
    assert_int_equal(dit_words_find(none, ""), -1);
}

static void nearest_word_finds_slips_only(void **state)
{
    (void)state;
    char endless[200];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_string_equal(dit_nearest_word("widht_px", words), "width_px"); /* a swap is one slip */
    assert_string_equal(dit_nearest_word("heigth_px", words), "height_px");
    assert_string_equal(dit_nearest_word("sed", words), "seed");
    assert_string_equal(dit_nearest_word("seed", words), "seed");
    assert_null(dit_nearest_word("completely", words));
    assert_null(dit_nearest_word("", words));
    assert_null(dit_nearest_word(endless, words));
    assert_null(dit_nearest_word("x", none));
}

/* With room for all but the NUL of the last word the list is cut, and says so. */
static void a_joined_list_is_whole_or_says_that_it_is_cut(void **state)
{
    static const char whole[] = "width_px, height_px, seed";
    (void)state;
    for (size_t size = 1; size <= sizeof whole + 2; size++) {
        char out[sizeof whole + 8];
        memset(out, '#', sizeof out);
        dit_words_join(words, out, size);
        assert_true(strlen(out) < size && out[size] == '#');
        if (size >= sizeof whole)
            assert_string_equal(out, whole);
        else if (size >= sizeof "width_px, ...")
            assert_string_equal(out + strlen(out) - 5, ", ...");
    }
    char out[40];
    dit_words_join(none, out, sizeof out);
    assert_string_equal(out, "");
}

static void who_slips_is_told_the_nearest_and_who_guesses_all(void **state)
{
    (void)state;
    assert_fails(dit_fail_word(DIT_ERR_USAGE, "--key:", "sed", words), DIT_ERR_USAGE,
                 "--key: \"sed\" is none of width_px, height_px, seed");
    assert_string_equal(dit_error_last()->hint, "did you mean \"seed\"?");
    assert_fails(dit_fail_word(DIT_ERR_USAGE, "--key:", "colour", words), DIT_ERR_USAGE, "\"colour\"");
    assert_string_equal(dit_error_last()->hint, "");
    assert_fails(dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no key"), "sed", words), DIT_ERR_NOT_FOUND, "no key");
    assert_string_equal(dit_error_last()->hint, "did you mean \"seed\"?");
    dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no key"), "colour", words);
    assert_string_equal(dit_error_last()->hint, "there are: width_px, height_px, seed");
}

static void a_list_is_read_as_people_write_it(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {{"a", "a|"}, {"a, b,c", "a|b|c|"}, {" a ,, b c , ", "a|b c|"},
                {"", ""},    {" , ,", ""},         {"tokens, longer than eight", "tokens|longer |"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char word[8], all[64] = "";
        for (const char *at = rows[i].text; dit_words_next(&at, word, sizeof word);)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s|", word);
        assert_string_equal(all, rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_has_its_place_in_its_list_only),
        cmocka_unit_test(nearest_word_finds_slips_only),
        cmocka_unit_test(a_joined_list_is_whole_or_says_that_it_is_cut),
        cmocka_unit_test(who_slips_is_told_the_nearest_and_who_guesses_all),
        cmocka_unit_test(a_list_is_read_as_people_write_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
