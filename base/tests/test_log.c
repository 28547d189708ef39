/* Log: one line per call on stderr, levels, prefix, and no colour where it is not wanted. */
#include "base/log.h"

#include "base/tests/test.h"

static char said[16384];

/* What `speak` writes to stderr. */
static const char *capture(void (*speak)(void))
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    speak();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    return said;
}

static void speak_all(void)
{
    dit_log_error("%d", 1);
    dit_log_warning("%d", 2);
    dit_log_info("%d", 3);
    dit_log_debug("%d", 4);
}

static void speak_long(void)
{
    char text[10000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    dit_log_info("%s", text);
    dit_log_info("next");
}

static void levels_drop_what_is_below_them(void **state)
{
    (void)state;
    assert_string_equal(capture(speak_all), "error: 1\nwarning: 2\n3\n");
    dit_log_set_level(DIT_LOG_DEBUG);
    assert_string_equal(capture(speak_all), "error: 1\nwarning: 2\n3\ndebug: 4\n");
    dit_log_set_level(DIT_LOG_ERROR);
    assert_string_equal(capture(speak_all), "error: 1\n");
    dit_log_set_level(DIT_LOG_INFO);
}

static void the_prefix_is_cut_not_overrun(void **state)
{
    (void)state;
    dit_log_set_prefix("[rank 2] ");
    assert_string_equal(capture(speak_all), "[rank 2] error: 1\n[rank 2] warning: 2\n[rank 2] 3\n");
    dit_log_set_prefix("0123456789012345678901234567890123456789");
    assert_non_null(strstr(capture(speak_all), "0123456789012345678901234567890error: 1\n"));
    dit_log_set_prefix("");
}

static void long_lines_stay_one_line(void **state)
{
    (void)state;
    const char *text = capture(speak_long);
    const char *end = strchr(text, '\n');
    assert_non_null(end);
    assert_in_range(end - text, 1000, 4096);
    assert_string_equal(end + 1, "next\n");
}

static void a_file_is_not_a_terminal(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    bool terminal = dit_log_is_terminal();
    dup2(saved, STDERR_FILENO);
    close(saved);
    fclose(file);
    assert_false(terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_drop_what_is_below_them),
        cmocka_unit_test(the_prefix_is_cut_not_overrun),
        cmocka_unit_test(long_lines_stay_one_line),
        cmocka_unit_test(a_file_is_not_a_terminal),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
