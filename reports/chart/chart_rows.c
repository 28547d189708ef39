#include "reports/chart/axis.h"
#include "reports/chart/chart.h"
#include "reports/chart/colours.h"
#include "reports/draw/canvas.h"
#include "reports/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 860, ROW = 20, TOP = 10, BOTTOM = 46, LEAST_LEFT = 90, MOST_LEFT = 330, LEAST_RIGHT = 30, FONT = 11 };

typedef struct {
    const chart_rows *chart;
    report_drawn drawn;
    chart_axis x;
    int count;
    double left, right; /* pixels of labels and texts */
    bool narrow;
} drawing;

static double sum_of(const chart_rows *chart, const chart_row *row)
{
    double sum = 0;
    for (int i = 0; i < chart->part_count; i++) sum += row->parts[i];
    return sum;
}

/* On a narrow screen a text ends before its bracket or its remark: the bar shows the rest. */
static void write_text(const chart_row *row, bool narrow, char out[128])
{
    snprintf(out, 128, "%.127s", row->text);
    if (narrow) out[strcspn(out, "(,")] = '\0';
}

static void find_range(drawing *d, bool narrow)
{
    char text[128];
    const chart_rows *chart = d->chart;
    d->count = chart->count < CHART_ROWS_MOST ? chart->count : CHART_ROWS_MOST;
    d->x = chart_axis_new(chart->x_log);
    if (chart->part_count) chart_axis_show(&d->x, 0);
    for (int i = 0; i < d->count; i++) {
        const chart_row *row = &chart->rows[i];
        if (chart->part_count) chart_axis_show(&d->x, sum_of(chart, row));
        if (!chart->part_count && chart->value_name) chart_axis_show(&d->x, row->value);
        if (row->low > 0) chart_axis_show(&d->x, row->low), chart_axis_show(&d->x, row->high);
        d->left = fmax(d->left, report_text_width(row->label, FONT) + 14);
        write_text(row, narrow, text);
        d->right = fmax(d->right, report_text_width(text, FONT) + 14);
    }
    if (chart->rule.at > 0) chart_axis_show(&d->x, chart->rule.at);
    chart_axis_pad(&d->x, chart->part_count ? 0 : 0.03, 0.03);
    d->left = fmin(fmax(d->left, LEAST_LEFT), narrow ? 150 : MOST_LEFT);
    d->right = fmin(fmax(d->right, LEAST_RIGHT), narrow ? 110 : 240);
}

/* Labels left of the axis, texts right of it. */
static void put_labels(drawing *d)
{
    dit_buffer *script = &d->drawn.script;
    char text[256], whole[128];
    dit_buffer_text(script, "set ytics scale 0 tc rgb '#222222' (");
    for (int i = 0; i < d->count; i++) {
        canvas_fit_text(d->chart->rows[i].label, FONT, d->left - 10, text, sizeof text);
        if (i) dit_buffer_text(script, ", ");
        report_append_quoted(script, text);
        dit_buffer_printf(script, " %d", -i);
    }
    dit_buffer_text(script, ")\n");
    for (int i = 0; i < d->count; i++) {
        write_text(&d->chart->rows[i], d->narrow, whole);
        canvas_fit_text(whole, FONT, d->right - 8, text, sizeof text);
        dit_buffer_text(script, "set label ");
        report_append_quoted(script, text);
        canvas_line(script, " at graph 1,first %d left offset 0.6,0 tc rgb '#222222'", -i);
    }
}

static void put_axes(drawing *d)
{
    dit_buffer *script = &d->drawn.script;
    chart_axis_write(&d->x, 'x', script);
    canvas_line(script, "set yrange [%g:0.6]", -d->count + 0.4);
    canvas_line(script, "set grid xtics lt 1 lw 0.6 lc rgb '#dcdcdc'");
    canvas_line(script, "set border 1 lc rgb '#666666'");
    dit_buffer_text(script, "set xlabel ");
    report_append_quoted(script, d->chart->x_label);
    canvas_line(script, " offset 0,0.4 tc rgb '#222222'");
    put_labels(d);
}

static void put_rule(drawing *d)
{
    const chart_rule *rule = &d->chart->rule;
    if (!(rule->at > 0)) return;
    canvas_line(&d->drawn.script,
                "set arrow from first %.9g,graph 0 to first %.9g,graph 1 nohead dt 2 lw 1.2 lc rgb '#888888'", rule->at,
                rule->at);
    dit_buffer_text(&d->drawn.script, "set label ");
    report_append_quoted(&d->drawn.script, rule->label);
    double middle = d->x.log ? sqrt(d->x.least * d->x.most) : (d->x.least + d->x.most) / 2;
    canvas_line(&d->drawn.script, " at first %.9g,graph 1 %s,-0.4 font ',9' tc rgb '#444444' front", rule->at,
                rule->at > middle ? "right offset -0.4" : "left offset 0.4");
}

static void write_part(drawing *d, int part)
{
    dit_buffer_printf(&d->drawn.data, "%s# ", part ? "\n\n" : "");
    dit_buffer_text(&d->drawn.data, d->chart->part_names[part]);
    dit_buffer_text(&d->drawn.data, ": middle row half-width half-height\n");
    for (int i = 0; i < d->count; i++) {
        const double *parts = d->chart->rows[i].parts;
        double from = 0;
        for (int j = 0; j < part; j++) from += parts[j];
        dit_buffer_printf(&d->drawn.data, "%.9g %d %.9g 0.34\n", from + parts[part] / 2, -i, parts[part] / 2);
    }
}

/* Blocks: solid values, hollow ones, intervals. An empty block has a row that lies outside. */
static void write_values(drawing *d)
{
    dit_buffer *data = &d->drawn.data;
    for (int hollow = 0; hollow < 2; hollow++) {
        dit_buffer_printf(data, "%s# %s values: value row\nNaN 0\n", hollow ? "\n\n" : "", hollow ? "hollow" : "solid");
        for (int i = 0; i < d->count; i++)
            if (d->chart->rows[i].hollow == hollow) dit_buffer_printf(data, "%.9g %d\n", d->chart->rows[i].value, -i);
    }
    dit_buffer_text(data, "\n\n# intervals: low row high\nNaN 0 NaN\n");
    for (int i = 0; i < d->count; i++)
        if (d->chart->rows[i].low > 0)
            dit_buffer_printf(data, "%.9g %d %.9g\n", d->chart->rows[i].low, -i, d->chart->rows[i].high);
}

static void put_parts(drawing *d)
{
    for (int i = 0; i < d->chart->part_count; i++) {
        write_part(d, i);
        dit_buffer_printf(&d->drawn.script,
                          "%s'%s.dat' index %d using 1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '%s'",
                          i ? ", \\\n     " : "plot ", d->drawn.id, i, chart_colour(i));
    }
    dit_buffer_text(&d->drawn.script, "\n");
}

static void put_values(drawing *d)
{
    write_values(d);
    dit_buffer_printf(&d->drawn.script,
                      "plot '%s.dat' index 2 using 1:2:($3-$1):(0) with vectors nohead lw %s lc rgb '%s'", d->drawn.id,
                      d->chart->value_name ? "1" : "3", chart_colour(0));
    for (int hollow = 0; hollow < 2 && d->chart->value_name; hollow++)
        dit_buffer_printf(&d->drawn.script, ", \\\n     '' index %d using 1:2 with points pt %d ps 0.9 lc rgb '%s'",
                          hollow, chart_point_type(0, hollow), chart_colour(0));
    dit_buffer_text(&d->drawn.script, "\n");
}

static void add_legend(const chart_rows *chart, report_canvas *canvas)
{
    const canvas_entry value = {.name = chart->value_name ? chart->value_name : "",
                                .colour = chart_colour(0),
                                .glyph = CANVAS_POINT,
                                .point = chart_point_type(0, 0)};
    const canvas_entry interval = {.name = chart->interval_name ? chart->interval_name : "predicted interval",
                                   .colour = chart_colour(0),
                                   .glyph = CANVAS_LINE,
                                   .dash = "dt 1"};
    for (int i = 0; i < chart->part_count; i++) {
        const canvas_entry part = {.name = chart->part_names[i], .colour = chart_colour(i), .glyph = CANVAS_SWATCH};
        canvas_add_legend(canvas, &part);
    }
    if (chart->part_count) return;
    canvas_add_legend(canvas, &value);
    canvas_add_legend(canvas, &interval);
}

static void compose(drawing *d, const report_style *style)
{
    char title[200], cut[32] = "";
    if (d->chart->count > d->count) snprintf(cut, sizeof cut, ": the first %d", d->count);
    snprintf(title, sizeof title, "%.150s%s", d->chart->title, cut);
    report_canvas canvas = {.script = &d->drawn.script,
                            .id = d->drawn.id,
                            .style = style,
                            .title = title,
                            .footer = d->chart->footer,
                            .shape = CANVAS_FIXED,
                            .panels = 1,
                            .margin_left = (int)d->left,
                            .margin_right = (int)d->right,
                            .margin_top = TOP,
                            .margin_bottom = BOTTOM,
                            .panel_width = WIDTH,
                            .panel_least = 300,
                            .panel_height = ROW * d->count + TOP + BOTTOM};
    add_legend(d->chart, &canvas);
    canvas_layout(&canvas);
    canvas_begin(&canvas);
    canvas_panel(&canvas, 0, "", NULL, "");
    put_axes(d);
    put_rule(d);
    if (d->chart->part_count)
        put_parts(d);
    else
        put_values(d);
    canvas_end(&canvas);
}

static dit_status draw_one(const chart_rows *chart, bool narrow, const char *folder, const char *gnuplot, char **svg)
{
    char id[96];
    const report_style style = {.width = narrow ? CHART_PHONE_POINTS : 0};
    unsigned formats = 1u << REPORT_FORMAT_svg | (narrow ? 0 : 1u << REPORT_FORMAT_png);
    drawing d = {.chart = chart, .drawn = {.id = id, .title = chart->title}, .narrow = narrow};
    snprintf(id, sizeof id, "%.80s%s", chart->id, narrow ? "-narrow" : "");
    find_range(&d, narrow);
    compose(&d, &style);
    report_append_html(&d.drawn.words, chart->words);
    dit_status st = report_drawn_write(&d.drawn, folder, gnuplot, &style, formats, svg);
    report_drawn_release(&d.drawn);
    return st;
}

dit_status chart_rows_draw(const chart_rows *chart, const char *folder, const char *gnuplot, chart_pictures *out)
{
    *out = (chart_pictures){NULL, NULL};
    DIT_TRY(draw_one(chart, false, folder, gnuplot, &out->wide));
    return draw_one(chart, true, folder, gnuplot, &out->narrow);
}
