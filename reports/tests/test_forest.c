/* Forest plots: every row is there, whatever its label says, and the picture is not blank. */
#include "reports/forest.h"

#include "base/tests/test.h"
#include "reports/draw/gnuplot.h"
#include "reports/draw/picture.h"

static char folder[TEST_FOLDER];

static int set_up(void **state)
{
    (void)state;
    return test_folder_make(folder);
}

static int tear_down(void **state)
{
    (void)state;
    return test_folder_remove(folder);
}

static const report_forest_row rows[] = {
    {.label = "first u2", .verdict = "slower", .ratio = 1.2, .low = 1.1, .high = 1.3, .margin = 0.02, .worse = true},
    {.label = "it's <b>'`system \"x\"`'</b>",
     .verdict = "faster",
     .ratio = 0.9,
     .low = 0.8,
     .high = 0.95,
     .better = true},
    {.label = "no interval", .verdict = "same", .ratio = 1, .low = NAN, .high = NAN},
    {.label = "no number", .verdict = "undecided", .ratio = NAN, .low = NAN, .high = NAN},
};

static const report_forest forest = {
    .title = "slower: 1 slower", .footer = "old a, new b", .quantity = "latency_s", .rows = rows, .count = 4};

static char *read_file(const char *name)
{
    char path[2 * TEST_FOLDER];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return test_file_read(path, NULL);
}

static void every_row_with_a_ratio_is_drawn(void **state)
{
    (void)state;
    if (gnuplot_check("gnuplot") != DIT_OK) skip();
    char path[2 * TEST_FOLDER];
    assert_ok(report_forest_draw(&forest, folder, "changes"));
    snprintf(path, sizeof path, "%s/changes.png", folder);
    assert_ok(report_picture_check(path));
    char *svg = read_file("changes.svg"), *data = read_file("changes.dat");
    assert_contains(svg, "first u2");
    assert_contains(svg, "<desc");
    assert_contains(svg, "first u2: +20.0 %, slower");
    assert_contains(data, "20 0 10 30 ");
    assert_null(strstr(svg, "no number"));
    free(svg);
    free(data);
}

static void a_label_is_text_and_no_command(void **state)
{
    (void)state;
    if (gnuplot_check("gnuplot") != DIT_OK) skip();
    assert_ok(report_forest_draw(&forest, folder, "changes"));
    char *svg = read_file("changes.svg");
    assert_contains(svg, "&lt;b&gt;");
    assert_null(strstr(svg, "<b>"));
    free(svg);
}

static void without_gnuplot_it_says_what_to_install(void **state)
{
    (void)state;
    report_forest none = forest;
    none.gnuplot = "/nowhere/gnuplot";
    assert_fails(report_forest_draw(&none, folder, "none"), DIT_ERR_ENVIRONMENT, "gnuplot");
}

static void many_rows_leave_those_that_changed_most(void **state)
{
    (void)state;
    if (gnuplot_check("gnuplot") != DIT_OK) skip();
    static report_forest_row many[REPORT_FOREST_MOST + 40];
    char names[REPORT_FOREST_MOST + 40][24];
    for (int i = 0; i < REPORT_FOREST_MOST + 40; i++) {
        snprintf(names[i], sizeof names[i], "case-%d.", i);
        many[i] =
            (report_forest_row){.label = names[i], .verdict = "same", .ratio = 1 + 0.001 * i, .low = NAN, .high = NAN};
    }
    report_forest large = forest;
    large.rows = many;
    large.count = REPORT_FOREST_MOST + 40;
    assert_ok(report_forest_draw(&large, folder, "many"));
    char *svg = read_file("many.svg");
    assert_contains(svg, "case-99.");
    assert_contains(svg, "case-40.");
    assert_null(strstr(svg, "case-39."));
    assert_contains(svg, "the cases that changed most");
    free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_with_a_ratio_is_drawn),
        cmocka_unit_test(a_label_is_text_and_no_command),
        cmocka_unit_test(without_gnuplot_it_says_what_to_install),
        cmocka_unit_test(many_rows_leave_those_that_changed_most),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
