/* What a record says of a cache, as a raster: a rectangle for each step, a letter for each computed one. Text that is no
 * decision is refused. */
#include "reports/figures/figure.h"
#include "reports/tests/fixture.h"

#define LINE(case, cache, more)                                                                                        \
    "{\"kind\":\"result\",\"case_id\":\"" case "\",\"label\":\"" case "\",\"process\":0,\"status\":\"ok\",\"tags\":{"  \
                                                                      "\"cache\":\"" case "\",\"mesh\":\"1\","         \
                                                                                          "\"model\":\"toy\","         \
                                                                                          "\"method\":\"single\","     \
                                                                                          "\"steps\":6,\"weights\":"   \
                                                                                          "\"trained\"},"              \
                                                                                          "\"record\":{\"samples\":{"  \
                                                                                          "\"latency_ns\":[5]}" cache  \
                                                                                              more "}}\n"
#define CACHE(digits, reasons) ",\"cache\":{\"decisions\":\"" digits "\",\"reasons\":\"" reasons "\"}"

static const char *const workload = "{\"plots\":[]}";

static void draw(const report_table *table, const char *kind, report_grid *grid, report_figure_files *files)
{
    const report_figure_kind *found = report_figure_kind_find(kind);
    assert_non_null(found);
    assert_int_equal(report_grid_build(table, &found->defaults, found, grid), DIT_OK);
    dit_status st = report_figure_compose(grid, &found->defaults, found, "d", "footer", NULL, files);
    if (st != DIT_OK) fail_msg("%s", dit_error_last()->message);
}

/* Counts the lines of the block of data that is called `name`. */
static int rows_of(const report_figure_files *files, const char *name)
{
    char head[64];
    snprintf(head, sizeof head, ": %s\n", name);
    const char *at = strstr(files->data.data, head);
    int rows = 0;
    while (at && (at = strchr(at, '\n')) && *++at && *at != '\n') rows += *at != '#';
    return rows;
}

static void a_step_is_a_rectangle_and_a_computed_one_has_its_letter(void **state)
{
    (void)state;
    report_table table;
    report_grid grid;
    report_figure_files files;
    assert_int_equal(fixture_parse(workload,
                                   LINE("fbcache(0.1)", CACHE("110100", "ww.t.."), "")
                                       LINE("interval(2)", CACHE("101011", "w.m.mm"), "") LINE("none", "", ""),
                                   &table),
                     DIT_OK);
    assert_string_equal(fixture_case(&table, "interval(2)")->decisions.reasons, "w.m.mm");
    assert_null(fixture_case(&table, "none")->decisions.digits);
    draw(&table, "decisions", &grid, &files);
    assert_int_equal(rows_of(&files, "computed"), 3 + 4);
    assert_int_equal(rows_of(&files, "reused"), 3 + 2);
    assert_int_equal(rows_of(&files, "reasons"), 3 + 4);
    assert_non_null(strstr(files.script.data, "'3 of 6'"));
    assert_non_null(strstr(files.script.data, "'4 of 6'"));
    assert_null(strstr(files.script.data, "none"));
    report_figure_files_release(&files);
    report_grid_release(&grid);
    report_table_release(&table);
}

static void other_text_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        LINE("a", CACHE("110", "ww"), ""),
        LINE("a", CACHE("112", "ww."), ""),
        LINE("a", CACHE("110", "ww<"), ""),
        LINE("a", CACHE("110", "wwww"), ""),
        LINE("a", ",\"cache\":{\"decisions\":5,\"reasons\":\"w\"}", ""),
        LINE("a", ",\"cache\":[]", ""),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        report_table table;
        dit_status st = fixture_parse(workload, wrong[i], &table);
        if (st == DIT_OK) fail_msg("%s was read", wrong[i]);
        report_table_release(&table);
    }
    dit_error_clear();
}

#define QUALITY(value, low, high, chance)                                                                              \
    ",\"quality\":{\"accuracy\":{\"all\":{\"value\":" value ",\"low\":" low ",\"high\":" high                          \
    "}},\"accuracy_shuffled\":{\"all\":{\"value\":" chance "}}}"

/* A bar has its interval over captions; chance is one line over the panel, and no line where nothing is seeded. */
static void quality_has_bars_and_lines(void **state)
{
    (void)state;
    report_table table;
    report_grid grid;
    report_figure_files files;
    assert_int_equal(fixture_parse(workload,
                                   LINE("none", "", QUALITY("0.8", "0.7", "0.9", "0.1"))
                                       LINE("fbcache(0.1)", "", QUALITY("0.6", "0.5", "0.7", "0.3")),
                                   &table),
                     DIT_OK);
    draw(&table, "quality_bars", &grid, &files);
    assert_int_equal(rows_of(&files, "by chance"), 1);
    assert_int_equal(rows_of(&files, "interval of the median"), 2);
    assert_non_null(strstr(files.data.data, "\n0 20 ")); /* the mean of 10 and 30 % */
    assert_null(strstr(files.data.data, "seeded"));
    report_figure_files_release(&files);
    report_grid_release(&grid);
    report_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_a_rectangle_and_a_computed_one_has_its_letter),
        cmocka_unit_test(other_text_is_refused),
        cmocka_unit_test(quality_has_bars_and_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
