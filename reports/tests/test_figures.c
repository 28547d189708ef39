/* What figures are made of: colours that can be told apart, words that cover nothing, rows of panels, sizes on paper.
 */
#include "base/method.h"
#include "base/words.h"
#include "reports/draw/canvas.h"
#include "reports/draw/palette.h"
#include "reports/draw/svg.h"
#include "reports/figures/figure.h"
#include "reports/layout/labels.h"

#include "reports/tests/scratch.h"

#include <math.h>

/* ---- colours ----------------------------------------------------------------------------------------------------- */

static void contrasts_are_those_of_wcag(void **state)
{
    (void)state;
    assert_true(fabs(palette_contrast("#000000", "#ffffff") - 21) < 1e-9);
    assert_true(fabs(palette_contrast("#ffffff", "#777777") - 4.48) < 0.01);
    assert_true(fabs(palette_contrast("#e69f00", "#ffffff") - 2.25) < 0.05);
}

static void every_line_and_word_stands_out_on_light_and_dark_pages(void **state)
{
    (void)state;
    const palette_colour *paper = palette_get(PALETTE_PAPER);
    for (int i = 0; i < PALETTE_COUNT; i++) {
        const palette_colour *colour = palette_get(i);
        double least = colour->use == PALETTE_MARK ? 3 : colour->use == PALETTE_TEXT ? 4.5 : 1;
        double light = palette_contrast(colour->light, paper->light),
               dark = palette_contrast(colour->dark, paper->dark);
        if (light < least || dark < least) fail_msg("%s: %.2f on white, %.2f on dark", colour->name, light, dark);
    }
}

/* CIE L*a*b* of a colour as an eye sees it that lacks long (0), medium (1) or no (2) receptors: Machado, Oliveira and
 * Fernandes 2009, severity 1. */
static void see(const char *colour, int eye, double lab[3])
{
    static const double eyes[3][3][3] = {
        {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
        {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    static const double xyz[3][3] = {{0.4124 / 0.9505, 0.3576 / 0.9505, 0.1805 / 0.9505},
                                     {0.2126, 0.7152, 0.0722},
                                     {0.0193 / 1.089, 0.1192 / 1.089, 0.9505 / 1.089}};
    double linear[3], seen[3], f[3];
    long rgb = strtol(colour + 1, NULL, 16);
    for (int i = 0; i < 3; i++) {
        double c = (double)(rgb >> (16 - 8 * i) & 0xff) / 255;
        linear[i] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
    for (int i = 0; i < 3; i++)
        seen[i] = eyes[eye][i][0] * linear[0] + eyes[eye][i][1] * linear[1] + eyes[eye][i][2] * linear[2];
    for (int i = 0; i < 3; i++) {
        double t = fmax(xyz[i][0] * seen[0] + xyz[i][1] * seen[1] + xyz[i][2] * seen[2], 0);
        f[i] = t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
    }
    lab[0] = 116 * f[1] - 16, lab[1] = 500 * (f[0] - f[1]), lab[2] = 200 * (f[1] - f[2]);
}

static void methods_differ_for_eyes_that_lack_receptors(void **state)
{
    (void)state;
    static const int methods[] = {PALETTE_GREY, PALETTE_BLUE,   PALETTE_ORANGE, PALETTE_GREEN, PALETTE_VERMILLION,
                                  PALETTE_SKY,  PALETTE_PURPLE, PALETTE_BROWN,  PALETTE_INK};
    enum { METHODS = sizeof methods / sizeof *methods };
    for (int pair = 0; pair < METHODS * METHODS; pair++) {
        const palette_colour *a = palette_get(methods[pair / METHODS]), *b = palette_get(methods[pair % METHODS]);
        for (int eye = 0; eye < 6 && a < b; eye++) {
            double one[3], other[3];
            see(eye < 3 ? a->light : a->dark, eye % 3, one);
            see(eye < 3 ? b->light : b->dark, eye % 3, other);
            double away = hypot(hypot(one[0] - other[0], one[1] - other[1]), one[2] - other[2]);
            if (away < 15) fail_msg("%s and %s are %.1f apart for eye %d", a->name, b->name, away, eye);
        }
    }
}

static void every_colour_of_a_script_has_a_dark_one(void **state)
{
    (void)state;
    static const char *const scripts[] = {"latency", "scaling", "split", "bytes", "memory"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        char path[512], colour[8];
        size_t length = 0;
        snprintf(path, sizeof path, "%s/%s.gp", GOLDEN_FOLDER, scripts[i]);
        char *text = test_file_read(path, &length);
        for (char *at = text; (at = strstr(at, "'#")); at += 8) {
            snprintf(colour, sizeof colour, "%.7s", at + 1);
            if (!palette_dark_of(colour)) fail_msg("%s: %s is not of the palette", path, colour);
        }
        free(text);
    }
    for (int position = 0; position < 16; position++) assert_non_null(palette_dark_of(report_colour_at(position)));
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static bool boxes_meet(const labels_box *a, const labels_box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static labels_field *new_field(double width, double height)
{
    labels_field *field = calloc(1, sizeof *field);
    assert_non_null(field);
    field->width = width, field->height = height;
    return field;
}

static void words_of_crowded_points_never_meet(void **state)
{
    (void)state;
    labels_field *field = new_field(300, 240);
    labels_box placed[64];
    int count = 0, refused = 0;
    for (int x = 0; x < 4; x++) /* eight machines at four counts of devices, nearly on one another */
        for (int y = 0; y < 8; y++) labels_add_point(field, 40 + 70 * x, 180 - 4 * y - 20 * (3 - x), 3);
    for (int x = 0; x < 4; x++) {
        for (int y = 0; y < 8; y++) {
            bool found =
                labels_place(field, 40 + 70 * x, 180 - 4 * y - 20 * (3 - x), 52, 11, true, false, &placed[count]);
            count += found, refused += !found;
        }
    }
    assert_true(count >= 4);
    assert_true(refused > 0); /* there is no room for all: some are left out rather than laid over others */
    for (int i = 0; i < count; i++) {
        assert_true(placed[i].left >= 0 && placed[i].top >= 0 && placed[i].right <= 300 && placed[i].bottom <= 240);
        for (int k = 0; k < i; k++) assert_false(boxes_meet(&placed[i], &placed[k]));
    }
    free(field);
}

static void a_word_stands_below_its_point_unless_a_line_or_the_axis_is_there(void **state)
{
    (void)state;
    labels_field *field = new_field(200, 100);
    labels_box box;
    assert_true(labels_place(field, 100, 50, 30, 11, true, false, &box));
    assert_true(box.top > 50 && box.left < 100 && box.right > 100);
    free(field);
    field = new_field(200, 100);
    labels_add_segment(field, 0, 60, 200, 60);
    assert_true(labels_place(field, 100, 50, 30, 11, true, false, &box));
    assert_true(box.bottom < 60);
    free(field);
    field = new_field(200, 100);
    assert_true(labels_place(field, 100, 96, 30, 11, true, false, &box));
    assert_true(box.bottom <= 100);
    free(field);
}

static void only_a_needed_word_crosses_lines(void **state)
{
    (void)state;
    labels_field *field = new_field(60, 30);
    labels_box box;
    for (int y = 0; y <= 30; y += 4) labels_add_segment(field, 0, y, 60, y);
    assert_false(labels_place(field, 30, 15, 20, 9, true, false, &box));
    assert_true(labels_place(field, 30, 15, 20, 9, true, true, &box));
    free(field);
}

/* ---- panels and sizes -------------------------------------------------------------------------------------------- */

static void panels_stand_in_a_row_and_leave_no_hole(void **state)
{
    (void)state;
    assert_int_equal(canvas_columns(3, 4), 3);
    assert_int_equal(canvas_columns(4, 4), 4);
    assert_int_equal(canvas_columns(3, 2), 1); /* no 2 x 2 with a hole */
    assert_int_equal(canvas_columns(4, 3), 2);
    assert_int_equal(canvas_columns(6, 4), 3);
    assert_int_equal(canvas_columns(5, 4), 3);
    assert_int_equal(canvas_columns(2, 1), 1);
    assert_int_equal(canvas_columns(3, 0), 1);
    assert_int_equal(canvas_columns(24, 9), 4);
}

static report_canvas canvas_of(const report_style *style, int panels)
{
    report_canvas canvas = {.style = style,
                            .id = "x",
                            .title = "x",
                            .footer = "one line",
                            .panels = panels,
                            .panel_width = 360,
                            .panel_least = 210,
                            .panel_height = 320,
                            .margin_left = 40,
                            .margin_right = 14,
                            .margin_top = 28,
                            .margin_bottom = 50};
    canvas_layout(&canvas);
    return canvas;
}

static void a_column_of_paper_stacks_panels_and_a_page_puts_them_in_a_row(void **state)
{
    (void)state;
    const report_style column = {.width = 3.3 * 72, .font = 8}, page = {.width = 7 * 72, .font = 8};
    report_canvas own = canvas_of(NULL, 3), narrow = canvas_of(&column, 3), wide = canvas_of(&page, 3);
    assert_int_equal(own.columns, 3);
    assert_int_equal(narrow.columns, 1);
    assert_int_equal(wide.columns, 3);
    assert_true(fabs(narrow.width * narrow.points - 3.3 * 72) < 1e-9);
    assert_true(fabs(11 * narrow.points - 8) < 0.05); /* 11 pixels of text are 8 points */
    assert_true(narrow.panel_height < own.panel_height);
}

static void what_is_too_wide_gets_smaller_type_not_a_cut(void **state)
{
    (void)state;
    const report_style column = {.width = 72, .font = 8};
    report_canvas canvas = canvas_of(&column, 1);
    assert_true(canvas_inner_width(&canvas) >= 150);
    assert_true(fabs(canvas.width * canvas.points - 72) < 1e-9);
    assert_true(11 * canvas.points < 8);
}

static void a_height_is_kept(void **state)
{
    (void)state;
    const report_style style = {.width = 3.3 * 72, .height = 144, .font = 8};
    report_canvas canvas = canvas_of(&style, 1);
    assert_true(fabs(canvas.height * canvas.points - 144) < 1);
}

static void lengths_have_units(void **state)
{
    (void)state;
    double points = 0;
    assert_int_equal(report_length_parse("3.3in", &points), DIT_OK);
    assert_true(fabs(points - 237.6) < 1e-9);
    assert_int_equal(report_length_parse("84mm", &points), DIT_OK);
    assert_true(fabs(points - 238.11) < 0.01);
    assert_int_equal(report_length_parse("240", &points), DIT_OK);
    static const char *const bad[] = {"", "in", "-3in", "0in", "3 feet", "1e9in", "nan", "inf"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(report_length_parse(bad[i], &points), DIT_ERR_USAGE);
}

static void formats_are_a_list(void **state)
{
    (void)state;
    unsigned formats = 0;
    assert_int_equal(report_formats_parse("pdf, eps", &formats), DIT_OK);
    assert_int_equal(formats, 1u << REPORT_FORMAT_pdf | 1u << REPORT_FORMAT_eps);
    assert_int_equal(report_formats_parse("jpeg", &formats), DIT_ERR_USAGE);
    assert_non_null(strstr(dit_error_last()->hint, "pdf"));
    assert_int_equal(report_formats_parse("", &formats), DIT_ERR_USAGE);
}

/* ---- SVG --------------------------------------------------------------------------------------------------------- */

static const char drawn[] = "<svg \n width=\"800\" height=\"400\"\n viewBox=\"0 0 800 400\">\n<title>Gnuplot</title>\n"
                            "<desc>Produced by GNUPLOT</desc>\n<g stroke=\"rgb(  0, 114, 178)\"/></svg>\n";

static void an_svg_says_what_it_shows_and_has_dark_colours(void **state)
{
    (void)state;
    const report_style own = {0};
    dit_buffer out = {0};
    svg_finish(drawn, "a < b", "Lines. &amp;", &own, &out);
    dit_buffer_text(&out, "");
    assert_non_null(strstr(out.data, "<title>a &lt; b</title>\n<desc>Lines. &amp;</desc>"));
    assert_null(strstr(out.data, "Gnuplot"));
    assert_non_null(strstr(out.data, "prefers-color-scheme:dark"));
    assert_non_null(strstr(out.data, "[stroke=\"rgb(  0, 114, 178)\"]{stroke:#2f9bea}"));
    assert_null(strstr(out.data, palette_get(PALETTE_WINE)->dark)); /* a colour that the picture has not */
    dit_buffer_release(&out);
}

static void an_svg_for_paper_has_its_size_and_one_look(void **state)
{
    (void)state;
    const report_style paper = {.width = 237.6};
    dit_buffer out = {0};
    svg_finish(drawn, "t", "d", &paper, &out);
    dit_buffer_text(&out, "");
    assert_non_null(strstr(out.data, "width=\"237.6pt\" height=\"118.8pt\"\n viewBox"));
    assert_null(strstr(out.data, "prefers-color-scheme"));
    dit_buffer_release(&out);
}

static void every_axis_has_a_part_and_every_method_of_papers_a_colour(void **state)
{
    const char *const *parts = report_figure_communication.parts;
    (void)state;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        if (dit_words_find(parts, dit_axis_name((dit_axis)axis)) < 0)
            fail_msg("the bytes of axis %s would be \"other\"", dit_axis_name((dit_axis)axis));
    }
    for (int i = 0; dit_method_get(i); i++) {
        const dit_method_row *method = dit_method_get(i);
        if (!method->colour) continue;
        assert_string_equal(palette_named(method->colour)->name, method->colour);
        assert_string_equal(report_colour_known(method->name), palette_named(method->colour)->light);
    }
    assert_null(report_colour_known("no method"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contrasts_are_those_of_wcag),
        cmocka_unit_test(every_axis_has_a_part_and_every_method_of_papers_a_colour),
        cmocka_unit_test(every_line_and_word_stands_out_on_light_and_dark_pages),
        cmocka_unit_test(methods_differ_for_eyes_that_lack_receptors),
        cmocka_unit_test(every_colour_of_a_script_has_a_dark_one),
        cmocka_unit_test(words_of_crowded_points_never_meet),
        cmocka_unit_test(a_word_stands_below_its_point_unless_a_line_or_the_axis_is_there),
        cmocka_unit_test(only_a_needed_word_crosses_lines),
        cmocka_unit_test(panels_stand_in_a_row_and_leave_no_hole),
        cmocka_unit_test(a_column_of_paper_stacks_panels_and_a_page_puts_them_in_a_row),
        cmocka_unit_test(what_is_too_wide_gets_smaller_type_not_a_cut),
        cmocka_unit_test(a_height_is_kept),
        cmocka_unit_test(lengths_have_units),
        cmocka_unit_test(formats_are_a_list),
        cmocka_unit_test(an_svg_says_what_it_shows_and_has_dark_colours),
        cmocka_unit_test(an_svg_for_paper_has_its_size_and_one_look),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
