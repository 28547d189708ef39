/* The option reader, and outside text made fit for JSON. */
#include "suite/console/cli.h"
#include "suite/paths.h"
#include "suite/text.h"

#include "base/tests/test.h"

typedef struct {
    suite_cli cli;
    bool flag;
    int64_t count;
    const char *name;
    double time_s, scale;
    int code;
} parsed;

/* Parses words that blanks separate. */
static parsed *parse(const char *line)
{
    static parsed p;
    const suite_option options[] = {
        {"flag", 'F', SUITE_OPTION_FLAG, NULL, "", &p.flag, 0, 0},
        {"ulysses_degree", 'u', SUITE_OPTION_INT, "N", "", &p.count, 1, 8},
        {"name", 0, SUITE_OPTION_STRING, "S", "", &p.name, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "T", "", &p.time_s, 0, 0},
        {"scale", 0, SUITE_OPTION_NUMBER, "X", NULL, &p.scale, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"verb", "FILE...", "purpose", "example", options, 0, 3};
    static char text[256];
    char *words[32], *rest = NULL;
    int argc = 0;
    snprintf(text, sizeof text, "verb %s", line);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) words[argc++] = word;
    words[argc] = NULL;
    p = (parsed){0};
    p.code = suite_cli_parse(&spec, argc, words, &p.cli);
    return &p;
}

static void numbers_are_finite_and_whole_words(void **state)
{
    (void)state;
    parsed *p = parse("a --scale -2.5e-1");
    assert_int_equal(p->code, -1);
    assert_true(p->scale == -0.25);
    suite_cli_release(&p->cli);
    assert_int_equal(parse("a --scale 3x")->code, DIT_EXIT_USAGE);
    assert_int_equal(parse("a --scale inf")->code, DIT_EXIT_USAGE);
    assert_int_equal(parse("a --scale")->code, DIT_EXIT_USAGE);
}

static void options_and_operands_mix(void **state)
{
    (void)state;
    parsed *p = parse("a --ulysses-degree=4 b -F --name x --json --timeout 1.5m -- --c");
    assert_int_equal(p->code, -1);
    assert_true(p->flag);
    assert_true(p->cli.json);
    assert_int_equal(p->count, 4);
    assert_string_equal(p->name, "x");
    assert_float_equal((float)p->time_s, 90.0f, 1e-6f);
    assert_int_equal(p->cli.operand_count, 3);
    assert_string_equal(p->cli.operands[2], "--c");
    assert_null(p->cli.operands[3]);
    suite_cli_release(&p->cli);
}

static void dash_and_underscore_are_equal(void **state)
{
    (void)state;
    static const char *const lines[] = {"--ulysses_degree 2", "--ulysses-degree 2", "-u 2", "-u2", "--dry_run -u2"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        parsed *p = parse(lines[i]);
        assert_int_equal(p->code, -1);
        assert_int_equal(p->count, 2);
        suite_cli_release(&p->cli);
    }
}

static void bad_lines_exit_2(void **state)
{
    (void)state;
    static const char *const lines[] = {"--nmae x", "--name",        "-z",      "--ulysses_degree nine", "-u 9",
                                        "-u 0",     "--flag=1",      "a b c d", "--timeout -3",          "--timeout 3x",
                                        "--=",      "--timeout nan", "-u 2x",   "--timeout 1e300"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) assert_int_equal(parse(lines[i])->code, DIT_EXIT_USAGE);
    parse("--nmae x");
    assert_non_null(strstr(dit_error_last()->hint, "--name"));
}

static void help_exits_0(void **state)
{
    (void)state;
    int out = dup(STDOUT_FILENO);
    fflush(stdout);
    assert_non_null(freopen("/dev/null", "w", stdout));
    int code = parse("--help")->code;
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    assert_int_equal(code, DIT_EXIT_OK);
}

static void durations_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {{"90", 90}, {"1.5s", 1.5}, {"500ms", 0.5}, {"10m", 600}, {"2h", 7200}, {"3min", 180}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds = 0;
        assert_int_equal(suite_cli_duration(rows[i].text, &seconds), DIT_OK);
        assert_float_equal((float)seconds, (float)rows[i].seconds, 1e-6f);
    }
}

static void outside_text_becomes_clean_utf8(void **state)
{
    (void)state;
    char text[] = "a\xff\xc3\xa9\x01\n\xc0\xaf\xed\xa0\x80z\xe2\x82";
    suite_text_clean(text);
    assert_string_equal(text, "a?\xc3\xa9?\n?"
                              "???"
                              "?z??");
}

static void a_tail_is_whole_lines(void **state)
{
    (void)state;
    char path[TEST_FOLDER], tail[16];
    test_file_make(path, "first line\nsecond line\nlast\n", 28);
    suite_text_tail(path, tail, sizeof tail);
    assert_string_equal(tail, "last\n");
    suite_text_tail("/nowhere", tail, sizeof tail);
    assert_string_equal(tail, "");
    unlink(path);
}

static void paths_are_made_and_removed(void **state)
{
    (void)state;
    char root[TEST_FOLDER], deep[SUITE_PATH], link[SUITE_PATH];
    assert_int_equal(test_folder_make(root), 0);
    assert_int_equal(suite_path(deep, "%s/a/b/c", root), DIT_OK);
    assert_int_equal(suite_path(link, "%s/link", root), DIT_OK);
    assert_int_equal(suite_path_make(deep), DIT_OK);
    assert_int_equal(suite_path_make(deep), DIT_OK);
    assert_int_equal(symlink("/tmp", link), 0);
    assert_int_equal(suite_path_remove(root), DIT_OK);
    assert_int_equal(suite_path_remove(root), DIT_OK);
    assert_int_equal(access(root, F_OK), -1);
    assert_int_equal(access("/tmp", F_OK), 0);
    assert_int_equal(suite_path(deep, "%5000d", 1), DIT_ERR_IO);
    assert_int_equal(suite_path_make("/dev/null/x"), DIT_ERR_IO);
}

/* Folders that are too long, not there, or have the name without the right to run it are passed over. */
static void a_program_is_found_in_the_path(void **state)
{
    char folder[TEST_FOLDER], file[TEST_FOLDER + 16], found[SUITE_PATH], search[3 * SUITE_PATH], kept[SUITE_PATH];
    char here[SUITE_PATH];
    char long_folder[SUITE_PATH + 2];
    (void)state;
    snprintf(kept, sizeof kept, "%s", getenv("PATH"));
    memset(long_folder, 'x', sizeof long_folder - 1);
    long_folder[sizeof long_folder - 1] = '\0';
    assert_int_equal(test_folder_make(folder), 0);
    snprintf(file, sizeof file, "%s/smpirun", folder);
    FILE *program = fopen(file, "w");
    assert_non_null(program);
    assert_int_equal(fclose(program), 0);
    snprintf(search, sizeof search, "/%s:/nonexistent:%s", long_folder, folder);
    assert_int_equal(setenv("PATH", search, 1), 0);
    dit_error_clear();
    assert_int_equal(chmod(file, 0644), 0);
    assert_false(suite_path_program("smpirun", found));
    assert_int_equal(chmod(file, 0755), 0);
    assert_true(suite_path_program("smpirun", found));
    assert_string_equal(found, file);
    assert_false(suite_path_program("smprun", found));
    assert_string_equal(found, "");
    assert_int_equal(setenv("PATH", "/tmp", 1), 0); /* where a folder has that name */
    assert_false(suite_path_program(strrchr(folder, '/') + 1, found));
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(setenv("PATH", "/nonexistent::/nowhere", 1), 0);
    assert_true(suite_path_program("smpirun", found));
    assert_string_equal(found, "./smpirun");
    assert_int_equal(unsetenv("PATH"), 0);
    assert_false(suite_path_program("smpirun", found));
    assert_int_equal(chdir(here), 0);
    assert_int_equal(dit_error_last()->status, DIT_OK);
    assert_int_equal(setenv("PATH", kept, 1), 0);
    assert_ok(suite_path_remove(folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_finite_and_whole_words),
        cmocka_unit_test(options_and_operands_mix),
        cmocka_unit_test(dash_and_underscore_are_equal),
        cmocka_unit_test(bad_lines_exit_2),
        cmocka_unit_test(help_exits_0),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(outside_text_becomes_clean_utf8),
        cmocka_unit_test(a_tail_is_whole_lines),
        cmocka_unit_test(paths_are_made_and_removed),
        cmocka_unit_test(a_program_is_found_in_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
