#include "reports/forest.h"

#include "reports/draw/canvas.h"
#include "reports/draw/drawn.h"
#include "reports/draw/palette.h"
#include "reports/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOREST_WIDTH = 960,
    FOREST_ROW = 20,
    FOREST_RIGHT = 96,
    FOREST_TOP = 10,
    FOREST_BOTTOM = 46,
    FOREST_LEAST_LEFT = 120,
    FOREST_MOST_LEFT = 500,
    FOREST_FONT = 11,
};

typedef struct {
    const report_forest *forest;
    const report_forest_row **rows; /* those that are drawn, the greatest ratio first */
    int count;
    report_drawn drawn;
    double least, most; /* of the axis, in % */
    double left;        /* pixels of the labels */
} drawing;

static double percent(double ratio)
{
    return 100 * (ratio - 1);
}

static double distance(const report_forest_row *row)
{
    return isfinite(row->ratio) && row->ratio > 0 ? fabs(log(row->ratio)) : 0;
}

static int compare_distance(const void *left, const void *right)
{
    double a = distance(*(const report_forest_row *const *)left),
           b = distance(*(const report_forest_row *const *)right);
    return (a < b) - (a > b);
}

static int compare_ratio(const void *left, const void *right)
{
    double a = (*(const report_forest_row *const *)left)->ratio, b = (*(const report_forest_row *const *)right)->ratio;
    return (a < b) - (a > b);
}

static dit_status choose_rows(drawing *d)
{
    int kept = 0;
    d->rows = malloc(((size_t)d->forest->count + 1) * sizeof *d->rows);
    if (!d->rows) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d rows of a figure", d->forest->count);
    for (int i = 0; i < d->forest->count; i++)
        if (isfinite(d->forest->rows[i].ratio)) d->rows[kept++] = &d->forest->rows[i];
    d->count = kept < REPORT_FOREST_MOST ? kept : REPORT_FOREST_MOST;
    if (kept > d->count) qsort(d->rows, (size_t)kept, sizeof *d->rows, compare_distance);
    if (d->count) qsort(d->rows, (size_t)d->count, sizeof *d->rows, compare_ratio);
    return DIT_OK;
}

static void find_range(drawing *d)
{
    d->least = -5;
    d->most = 5;
    for (int i = 0; i < d->count; i++) {
        const report_forest_row *row = d->rows[i];
        double low = isfinite(row->low) ? row->low : row->ratio, high = isfinite(row->high) ? row->high : row->ratio;
        d->least = fmin(d->least, percent(fmin(low, 1 / (1 + row->margin))));
        d->most = fmax(d->most, percent(fmax(high, 1 + row->margin)));
        d->left = fmax(d->left, report_text_width(row->label, FOREST_FONT) + 14);
    }
    double room = 0.06 * (d->most - d->least);
    d->least -= room;
    d->most += room;
    d->left = fmin(fmax(d->left, FOREST_LEAST_LEFT), FOREST_MOST_LEFT);
}

static const char *colour_of(const report_forest_row *row)
{
    return palette_named(row->worse ? "VERMILLION" : row->better ? "GREEN" : "GREY")->light;
}

/* Labels left of the axis, verdicts right of it. */
static void put_labels(drawing *d)
{
    char text[256];
    dit_buffer_text(&d->drawn.script, "set ytics scale 0 tc rgb '#222222' (");
    for (int i = 0; i < d->count; i++) {
        canvas_fit_text(d->rows[i]->label, FOREST_FONT, d->left - 10, text, sizeof text);
        if (i) dit_buffer_text(&d->drawn.script, ", ");
        report_append_quoted(&d->drawn.script, text);
        dit_buffer_printf(&d->drawn.script, " %d", -i);
    }
    dit_buffer_text(&d->drawn.script, ")\n");
    for (int i = 0; i < d->count; i++) {
        dit_buffer_text(&d->drawn.script, "set label ");
        snprintf(text, sizeof text, "%+.1f %%  %s", percent(d->rows[i]->ratio), d->rows[i]->verdict);
        report_append_quoted(&d->drawn.script, text);
        dit_buffer_printf(&d->drawn.script, " at graph 1,first %d left offset 0.6,0 tc rgb '%s'\n", -i, "#222222");
    }
}

static void put_axes(drawing *d)
{
    dit_buffer *script = &d->drawn.script;
    canvas_line(script, "set xrange [%.6g:%.6g]", d->least, d->most);
    canvas_line(script, "set yrange [%g:0.6]", -d->count + 0.4);
    canvas_line(script, "set xtics nomirror out scale 0.4 autofreq tc rgb '#222222'");
    canvas_line(script, "set grid xtics lt 1 lw 0.6 lc rgb '#dcdcdc'");
    canvas_line(script, "set border 1 lc rgb '#666666'");
    dit_buffer_text(script, "set xlabel ");
    char text[128];
    snprintf(text, sizeof text, "change of %s, new against old [%%]", d->forest->quantity);
    report_append_quoted(script, text);
    dit_buffer_text(script, " offset 0,0.4 tc rgb '#222222'\n");
    put_labels(d);
}

/* "left row right half-height" of margins, then "ratio row low high colour". */
static void write_data(drawing *d)
{
    dit_buffer_text(&d->drawn.data, "# margin: middle row half-width half-height\n");
    for (int i = 0; i < d->count; i++) {
        double low = percent(1 / (1 + d->rows[i]->margin)), high = percent(1 + d->rows[i]->margin);
        dit_buffer_printf(&d->drawn.data, "%.6g %d %.6g 0.42\n", (low + high) / 2, -i, (high - low) / 2);
    }
    dit_buffer_text(&d->drawn.data, "\n\n# change [%] row low high colour\n");
    for (int i = 0; i < d->count; i++) {
        const report_forest_row *row = d->rows[i];
        unsigned colour = (unsigned)strtoul(colour_of(row) + 1, NULL, 16);
        double low = isfinite(row->low) ? row->low : row->ratio, high = isfinite(row->high) ? row->high : row->ratio;
        dit_buffer_printf(&d->drawn.data, "%.6g %d %.6g %.6g %u\n", percent(row->ratio), -i, percent(low),
                          percent(high), colour);
    }
}

static void put_plot(drawing *d, const char *id)
{
    dit_buffer_printf(&d->drawn.script,
                      "set arrow 1 from 0,graph 0 to 0,graph 1 nohead lw 1 lc rgb '#888888'\n"
                      "plot '%s.dat' index 0 using 1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#dcdcdc', \\\n"
                      "     '' index 1 using 1:2:3:4:5 with xerrorbars pt 7 ps 0.7 lw 1.6 lc rgb variable\n",
                      id);
}

static void compose(drawing *d, const char *id)
{
    char title[200];
    int least = FOREST_ROW * d->count;
    snprintf(title, sizeof title, "%s%s", d->forest->title,
             d->forest->count > d->count ? ": the cases that changed most" : "");
    report_canvas canvas = {.script = &d->drawn.script,
                            .id = id,
                            .style = &d->forest->style,
                            .title = title,
                            .footer = d->forest->footer,
                            .shape = CANVAS_FIXED,
                            .panels = 1,
                            .margin_left = (int)d->left,
                            .margin_right = FOREST_RIGHT + 40,
                            .margin_top = FOREST_TOP,
                            .margin_bottom = FOREST_BOTTOM,
                            .panel_width = FOREST_WIDTH,
                            .panel_height = least + FOREST_TOP + FOREST_BOTTOM};
    const canvas_entry margin = {
        .name = "margin: a smaller change is none", .colour = "#dcdcdc", .glyph = CANVAS_SWATCH};
    const canvas_entry worse = {
        .name = "worse", .colour = palette_named("VERMILLION")->light, .glyph = CANVAS_POINT, .point = 7};
    const canvas_entry better = {
        .name = "better", .colour = palette_named("GREEN")->light, .glyph = CANVAS_POINT, .point = 7};
    const canvas_entry neither = {
        .name = "same or undecided", .colour = palette_named("GREY")->light, .glyph = CANVAS_POINT, .point = 7};
    canvas_add_legend(&canvas, &worse);
    canvas_add_legend(&canvas, &better);
    canvas_add_legend(&canvas, &neither);
    canvas_add_legend(&canvas, &margin);
    canvas_layout(&canvas);
    canvas_begin(&canvas);
    canvas_panel(&canvas, 0, "", NULL, "");
    put_axes(d);
    write_data(d);
    put_plot(d, id);
    canvas_end(&canvas);
}

/* What the figure shows, in words. */
static void put_words(drawing *d)
{
    for (int i = 0; i < d->count; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s%s: %+.1f %%, %s", i ? "; " : "", d->rows[i]->label, percent(d->rows[i]->ratio),
                 d->rows[i]->verdict);
        report_append_html(&d->drawn.words, text);
    }
}

dit_status report_forest_draw(const report_forest *forest, const char *folder, const char *id)
{
    drawing d = {.forest = forest, .drawn = {.id = id, .title = forest->title}};
    unsigned formats = forest->style.formats | 1u << REPORT_FORMAT_svg | 1u << REPORT_FORMAT_png;
    dit_status st = choose_rows(&d);
    if (st == DIT_OK) {
        find_range(&d);
        compose(&d, id);
        put_words(&d);
        st = report_drawn_write(&d.drawn, folder, forest->gnuplot, &forest->style, formats, NULL);
    }
    free(d.rows);
    report_drawn_release(&d.drawn);
    return st;
}
