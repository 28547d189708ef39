#include "reports/text.h"

#include "reports/draw/canvas.h"
#include "reports/figures/figure.h"

#include "reports/tests/fixture.h"

static void html_is_escaped(void **state)
{
    (void)state;
    dit_buffer out = {0};
    report_append_html(&out, "<a href=\"x\" b='y'>&amp;\x01\x7f µ\n");
    assert_string_equal(out.data, "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;&#xfffd;&#xfffd; µ\n");
    dit_buffer_release(&out);
}

static void csv_cells_are_quoted_when_needed(void **state)
{
    (void)state;
    dit_buffer out = {0};
    report_append_csv(&out, "plain text");
    assert_string_equal(out.data, "plain text");
    dit_buffer_reset(&out);
    report_append_csv(&out, "a,\"b\"\n");
    assert_string_equal(out.data, "\"a,\"\"b\"\"\n\"");
    dit_buffer_release(&out);
}

static void gnuplot_strings_cannot_be_left(void **state)
{
    (void)state;
    char text[1001];
    dit_buffer out = {0};
    report_append_quoted(&out, "it's\n`date`\\");
    assert_string_equal(out.data, "'it''s `date`\\'");
    dit_buffer_reset(&out);
    report_append_quoted(&out, "'x"); /* a quote is never the first character */
    assert_string_equal(out.data, "' ''x'");
    dit_buffer_reset(&out);
    memset(text, '\'', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    report_append_quoted(&out, text); /* cut between characters: quotes stay in pairs */
    int quotes = 0;
    for (size_t i = 0; i < out.used; i++) quotes += out.data[i] == '\'';
    assert_int_equal(quotes % 2, 0);
    assert_true(quotes < 500);
    dit_buffer_release(&out);
}

static void numbers_read_well(void **state)
{
    (void)state;
    static const struct {
        report_unit unit;
        double value;
        const char *want;
    } rows[] = {
        {REPORT_UNIT_SECONDS, 1.23456, "1.235 s"},
        {REPORT_UNIT_SECONDS, 0.0123, "12.3 ms"},
        {REPORT_UNIT_SECONDS, 4e-6, "4 µs"},
        {REPORT_UNIT_SECONDS, 12345, "12345 s"},
        {REPORT_UNIT_BYTES, 4128768, "4.129 MB"},
        {REPORT_UNIT_BYTES, 999, "999 B"},
        {REPORT_UNIT_BYTES, 61e9, "61 GB"},
        {REPORT_UNIT_COUNT, 112, "112"},
        {REPORT_UNIT_FLOP, 1.2e12, "1.2 TFLOP"},
        {REPORT_UNIT_GFLOP_PER_S, 177.5, "177.5 GFLOP/s"},
        {REPORT_UNIT_FACTOR, 1.87, "1.87×"},
        {REPORT_UNIT_RELATIVE, 1.3e-7, "1.30e-07"},
        {REPORT_UNIT_RELATIVE, 0, "0"},
        {REPORT_UNIT_SECONDS, 0, "0"},
        {REPORT_UNIT_SECONDS, 1e30, "1e+30 s"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[REPORT_NUMBER_TEXT];
        report_format(rows[i].unit, rows[i].value, text);
        assert_string_equal(text, rows[i].want);
    }
}

static void long_labels_are_cut_between_characters(void **state)
{
    (void)state;
    char out[64];
    canvas_fit_text("short", 10, 500, out, sizeof out);
    assert_string_equal(out, "short");
    canvas_fit_text("µµµµµµµµµµ", 10, 32, out, sizeof out); /* room for five */
    assert_string_equal(out, "µµµµ…");
    canvas_fit_text("a very long text that does not fit into the buffer", 10, 1e9, out, 16);
    assert_true(strlen(out) < 16);
}

static void every_kind_and_metric_is_found_by_its_name(void **state)
{
    (void)state;
    for (int i = 0; report_figure_kinds()[i]; i++) {
        const report_figure_kind *kind = report_figure_kinds()[i];
        assert_ptr_equal(report_figure_kind_find(kind->kind), kind);
        assert_non_null(kind->defaults.id);
        assert_non_null(kind->defaults.x);
        assert_non_null(kind->defaults.panel);
        assert_non_null(kind->defaults.series);
    }
    assert_null(report_figure_kind_find("pie"));
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        report_metric found = REPORT_METRIC_COUNT;
        assert_true(report_metric_from_name(report_metric_get((report_metric)m)->name, &found));
        assert_int_equal(found, m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_is_escaped),
        cmocka_unit_test(csv_cells_are_quoted_when_needed),
        cmocka_unit_test(gnuplot_strings_cannot_be_left),
        cmocka_unit_test(numbers_read_well),
        cmocka_unit_test(long_labels_are_cut_between_characters),
        cmocka_unit_test(every_kind_and_metric_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
