/* Chart: axes have readable ticks, figures hold what they are given, and the page of a procured answer survives any
 * document. */
#include "reports/chart/axis.h"
#include "reports/chart/chart.h"
#include "reports/draw/gnuplot.h"
#include "reports/draw/picture.h"
#include "reports/procurement/mix.h"
#include "reports/procurement/procurement.h"
#include "reports/tests/page_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void axes_show_what_they_saw(void **state)
{
    (void)state;
    chart_axis axis = chart_axis_new(true);
    chart_axis_show(&axis, 2);
    chart_axis_show(&axis, 40);
    chart_axis_show(&axis, -1);
    chart_axis_show(&axis, NAN);
    assert_near(axis.least, 2, 0);
    assert_near(axis.most, 40, 0);
    chart_axis_pad(&axis, 0.1, 0.1);
    assert_true(axis.least > 1 && axis.least < 2 && axis.most > 40 && axis.most < 60);
    axis = chart_axis_new(false);
    chart_axis_pad(&axis, 0, 0.1);
    assert_near(axis.least, 0, 0);
    assert_true(axis.most > 0);
}

/* Whatever the range, at least two numbers stand on a logarithmic axis, and no more than a line holds. */
static void logarithmic_axes_have_some_ticks(void **state)
{
    (void)state;
    for (double from = 0.0013; from < 2e4; from *= 3.7) {
        for (double times = 1.8; times < 1e6; times *= 2.3) {
            dit_buffer script = {0};
            chart_axis axis = chart_axis_new(true);
            int ticks = 0;
            chart_axis_show(&axis, from);
            chart_axis_show(&axis, from * times);
            chart_axis_write(&axis, 'x', &script);
            assert_false(script.failed);
            for (const char *at = strchr(script.data, '('); at && (at = strchr(at, '\'')); at += strcspn(at, ",)"))
                ticks++;
            if (ticks < 2 || ticks > 12) fail_msg("%d ticks from %g to %g: %s", ticks, from, from * times, script.data);
            dit_buffer_release(&script);
        }
    }
}

static bool has_gnuplot(void)
{
    if (gnuplot_check("gnuplot") == DIT_OK) return true;
    dit_error_clear();
    return false;
}

static void assert_drawn(const char *id, chart_pictures *pictures, const char *word)
{
    char path[2 * TEST_FOLDER];
    snprintf(path, sizeof path, "%s/%s.png", folder, id);
    assert_ok(report_picture_check(path));
    assert_non_null(pictures->wide);
    assert_non_null(pictures->narrow);
    assert_non_null(strstr(pictures->wide, word));
    assert_non_null(strstr(pictures->wide, "prefers-color-scheme:dark"));
    chart_pictures_release(pictures);
}

static void charts_are_drawn(void **state)
{
    (void)state;
    if (!has_gnuplot()) skip();
    const chart_point points[] = {{.x = 1, .y = 5, .label = "a 'b' <c>"},
                                  {.x = 3, .y = 2, .y_low = 1, .y_high = 4},
                                  {.x = NAN, .y = 1},
                                  {.x = 9, .y = 1, .hollow = true}};
    const chart_series series[] = {{.name = "one\n'two'", .points = points, .count = 4, .line = true},
                                   {.name = "none", .points = points, .count = 0}};
    chart_lines lines = {.id = "lines",
                         .title = "It's a <title>",
                         .footer = "foot",
                         .x_label = "x's",
                         .y_label = "y",
                         .x_log = true,
                         .series = series,
                         .count = 2,
                         .rules = {{2, "bound", false}, {2, "bound", true}},
                         .rule_count = 2,
                         .words = "words & <more>"};
    chart_pictures pictures;
    assert_ok(chart_lines_draw(&lines, folder, NULL, &pictures));
    assert_drawn("lines", &pictures, "words &amp; &lt;more&gt;");
    const chart_row rows[] = {{.label = "first", .text = "1", .value = 1, .low = 0.5, .high = 2},
                              {.label = "second", .text = "2", .value = 3, .hollow = true}};
    chart_rows interval = {.id = "rows",
                           .title = "rows",
                           .footer = "",
                           .x_label = "x",
                           .rows = rows,
                           .count = 2,
                           .value_name = "value",
                           .words = "two rows"};
    assert_ok(chart_rows_draw(&interval, folder, NULL, &pictures));
    assert_drawn("rows", &pictures, "two rows");
    const chart_row bars[] = {{.label = "bar", .text = "3", .parts = {1, 2}}};
    chart_rows stacked = {.id = "bars",
                          .title = "bars",
                          .footer = "",
                          .x_label = "x",
                          .rows = bars,
                          .count = 1,
                          .part_names = {"a", "b"},
                          .part_count = 2,
                          .words = "a bar"};
    assert_ok(chart_rows_draw(&stacked, folder, NULL, &pictures));
    assert_drawn("bars", &pictures, "a bar");
}

/* Documents that no procure wrote: a page comes of each, or a clear error. */
static void any_document_makes_a_page(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "{}",
        "[]",
        "{\"splits\": 3, \"question\": [], \"prices\": {}, \"checked\": 1}",
        "{\"splits\": [1, null, {\"service_s\": 2}, {\"platform\": 7, \"service_s\": {\"value\": -1, \"lo\": 1e999}}]}",
        "{\"question\": {\"slo_s\": 5, \"model\": \"<script>alert(1)</script>\", \"command\": \"'\"}, \"versus\": "
        "{\"a\": 99, "
        "\"b\": -4, \"faster\": {}}, \"splits\": [{\"platform\": \"'; system('false')\", \"devices\": 1e300, "
        "\"answers\": "
        "true, \"service_s\": {\"value\": 1, \"lo\": 0.5, \"hi\": 2}, \"power\": {\"device_w\": 0}, \"own\": "
        "{\"invested\": 0}, "
        "\"cost\": {\"per_1000\": {\"value\": 1}}, \"rank\": {}}, {\"service_s\": {\"value\": 3}, \"answers\": true}], "
        "\"curves\": [1, {\"points\": [1, {}]}], \"sensitivity\": [3, {}]}",
    };
    const report_procurement_options options = {.folder = folder};
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        char path[2 * TEST_FOLDER], *page;
        size_t length;
        int drawn;
        cJSON *document = cJSON_Parse(documents[i]);
        assert_non_null(document);
        dit_status st = report_procurement_write(document, &options, &drawn);
        if (st != DIT_OK && st != DIT_ERR_ENVIRONMENT) fail_msg("%s: %s", documents[i], dit_error_last()->message);
        dit_error_clear();
        cJSON_Delete(document);
        snprintf(path, sizeof path, "%s/procure.html", folder);
        assert_ok(dit_file_read(path, 1 << 24, &page, &length));
        assert_null(strstr(page, "<script"));
        assert_int_equal(check_page(page, false), drawn);
        free(page);
    }
}

static void any_document_makes_a_mix_page(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "{}",
        "{\"machines\": [1, {\"best\": 3}, {\"platform\": \"<b>'\", \"best\": {\"requests_per_hour\": 5, \"classes\": "
        "[2, "
        "{\"p95_s\": 1}]}, \"absent\": []}], \"classes\": [{}, {\"bound_s\": 2}], \"question\": {\"command\": "
        "\"<script>\"}}",
    };
    const report_procurement_options options = {.folder = folder, .program = ""};
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        char path[2 * TEST_FOLDER], *page;
        size_t length;
        int drawn;
        cJSON *document = cJSON_Parse(documents[i]);
        dit_status st = report_mix_write(document, &options, &drawn);
        if (st != DIT_OK && st != DIT_ERR_ENVIRONMENT) fail_msg("%s: %s", documents[i], dit_error_last()->message);
        dit_error_clear();
        cJSON_Delete(document);
        snprintf(path, sizeof path, "%s/mix.html", folder);
        assert_ok(dit_file_read(path, 1 << 24, &page, &length));
        assert_null(strstr(page, "<script"));
        assert_int_equal(check_page(page, false), drawn);
        free(page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(axes_show_what_they_saw),
                                       cmocka_unit_test(logarithmic_axes_have_some_ticks),
                                       cmocka_unit_test(charts_are_drawn), cmocka_unit_test(any_document_makes_a_page),
                                       cmocka_unit_test(any_document_makes_a_mix_page)};
    return cmocka_run_group_tests_name("chart", tests, set_up, tear_down);
}
