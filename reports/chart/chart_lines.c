#include "reports/chart/axis.h"
#include "reports/chart/chart.h"
#include "reports/chart/colours.h"
#include "reports/draw/canvas.h"
#include "reports/text.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 860, HEIGHT = 430, LEFT = 66, RIGHT = 24, TOP = 10, BOTTOM = 50, LABEL_FONT = 9 };

typedef struct {
    const chart_lines *chart;
    report_drawn drawn;
    chart_axis x, y;
    int blocks, plots;
} drawing;

static void find_range(drawing *d)
{
    const chart_lines *chart = d->chart;
    d->x = chart_axis_new(chart->x_log);
    d->y = chart_axis_new(chart->y_log);
    for (int i = 0; i < chart->count; i++) {
        for (int j = 0; j < chart->series[i].count; j++) {
            const chart_point *point = &chart->series[i].points[j];
            chart_axis_show(&d->x, point->x);
            chart_axis_show(&d->y, point->y);
            if (point->x_low > 0) chart_axis_show(&d->x, point->x_low), chart_axis_show(&d->x, point->x_high);
            if (point->y_low > 0) chart_axis_show(&d->y, point->y_low), chart_axis_show(&d->y, point->y_high);
        }
    }
    for (int i = 0; i < chart->rule_count; i++)
        chart_axis_show(chart->rules[i].upright ? &d->x : &d->y, chart->rules[i].at);
    if (chart->from_zero) chart_axis_show(&d->x, 0), chart_axis_show(&d->y, 0);
    chart_axis_pad(&d->x, chart->from_zero ? 0 : 0.05, 0.08);
    chart_axis_pad(&d->y, chart->from_zero ? 0 : 0.05, 0.08);
}

static void put_label(dit_buffer *script, const char *text, double x, double y, const char *how)
{
    dit_buffer_text(script, "set label ");
    report_append_quoted(script, text);
    canvas_line(script, " at %.9g,%.9g %s front", x, y, how);
}

static void put_rules(drawing *d)
{
    for (int i = 0; i < d->chart->rule_count; i++) {
        const chart_rule *rule = &d->chart->rules[i];
        char place[80];
        dit_buffer_text(&d->drawn.script, "set label ");
        report_append_quoted(&d->drawn.script, rule->label);
        snprintf(place, sizeof place, rule->upright ? "first %.9g,graph 0.97" : "graph 0.99,first %.9g", rule->at);
        canvas_line(&d->drawn.script, " at %s %s font ',%d' tc rgb '#444444' front", place,
                    rule->upright ? "left offset 0.4,0" : "right offset 0,0.5", LABEL_FONT);
        snprintf(place, sizeof place,
                 rule->upright ? "first %.9g,graph 0 to first %.9g,graph 1"
                               : "graph 0,first %.9g to graph 1,first %.9g",
                 rule->at, rule->at);
        canvas_line(&d->drawn.script, "set arrow from %s nohead dt 2 lw 1.2 lc rgb '#888888'", place);
    }
}

static bool belongs(const chart_point *point, bool hollow)
{
    return isfinite(point->x) && isfinite(point->y) && point->hollow == hollow;
}

/* x y x_low x_high y_low y_high; an end that is not there is the point itself. Returns the block; -1: it is empty. */
static int write_block(drawing *d, const chart_series *series, int hollow)
{
    dit_buffer *data = &d->drawn.data;
    bool any = false;
    for (int i = 0; i < series->count; i++) {
        const chart_point *p = &series->points[i];
        if (hollow >= 0 && !belongs(p, hollow)) continue;
        if (!any) dit_buffer_printf(data, "%s# ", d->blocks ? "\n\n" : "");
        if (!any) dit_buffer_text(data, series->name);
        if (!any) dit_buffer_text(data, ": x y x_low x_high y_low y_high\n");
        any = true;
        dit_buffer_printf(data, "%.9g %.9g %.9g %.9g %.9g %.9g\n", p->x, p->y, p->x_low > 0 ? p->x_low : p->x,
                          p->x_low > 0 ? p->x_high : p->x, p->y_low > 0 ? p->y_low : p->y,
                          p->y_low > 0 ? p->y_high : p->y);
    }
    return any ? d->blocks++ : -1;
}

static void put_plot(drawing *d, int block, const char *how)
{
    dit_buffer_printf(&d->drawn.script, "%s'%s.dat' index %d using %s", d->plots++ ? ", \\\n     " : "plot ",
                      d->drawn.id, block, how);
}

static bool has_interval(const chart_series *series, bool of_x)
{
    for (int i = 0; i < series->count; i++)
        if ((of_x ? series->points[i].x_low : series->points[i].y_low) > 0) return true;
    return false;
}

static int colour_of(const chart_lines *chart, int index)
{
    return chart->series[index].colour ? chart->series[index].colour - 1 : index;
}

static int repeat_of(const chart_lines *chart, int index)
{
    return chart->series[index].colour ? 1 : chart_repeat(index);
}

static void put_series(drawing *d, int index)
{
    const chart_series *series = &d->chart->series[index];
    const char *colour = chart_colour(colour_of(d->chart, index)), *dash = canvas_dash(repeat_of(d->chart, index));
    char how[160];
    int all = write_block(d, series, -1);
    if (all < 0) return;
    if (series->band && has_interval(series, false)) {
        snprintf(how, sizeof how, "1:5:6 with filledcurves fs transparent solid 0.18 noborder lc rgb '%s'", colour);
        put_plot(d, all, how);
    }
    if (!series->band && has_interval(series, false)) {
        snprintf(how, sizeof how, "1:5:(0):($6-$5) with vectors nohead lw 0.7 lc rgb '%s'", colour);
        put_plot(d, all, how);
    }
    if (has_interval(series, true)) {
        snprintf(how, sizeof how, "3:2:($4-$3):(0) with vectors nohead lw 0.7 lc rgb '%s'", colour);
        put_plot(d, all, how);
    }
    if (series->line) {
        snprintf(how, sizeof how, "1:2 with lines lw 1.4 %s lc rgb '%s'", dash, colour);
        put_plot(d, all, how);
    }
    for (int hollow = 0; hollow < 2 && !series->no_points; hollow++) {
        int block = write_block(d, series, hollow);
        if (block < 0) continue;
        snprintf(how, sizeof how, "1:2 with points pt %d ps 0.9 lc rgb '%s'", chart_point_type(index, hollow), colour);
        put_plot(d, block, how);
    }
}

static void put_point_labels(drawing *d)
{
    for (int i = 0; i < d->chart->count; i++) {
        for (int j = 0; j < d->chart->series[i].count; j++) {
            const chart_point *point = &d->chart->series[i].points[j];
            if (!point->label || !isfinite(point->x) || !isfinite(point->y)) continue;
            char how[96];
            snprintf(how, sizeof how, "left offset 0.7,0.45 font ',%d' tc rgb '#444444'", LABEL_FONT);
            put_label(&d->drawn.script, point->label, point->x, point->y, how);
        }
    }
}

static void put_axes(drawing *d)
{
    dit_buffer *script = &d->drawn.script;
    chart_axis_write(&d->x, 'x', script);
    chart_axis_write(&d->y, 'y', script);
    canvas_line(script, "set grid xtics ytics lt 1 lw 0.6 lc rgb '#dcdcdc'");
    dit_buffer_text(script, "set xlabel ");
    report_append_quoted(script, d->chart->x_label);
    canvas_line(script, " offset 0,0.4 tc rgb '#222222'");
}

/* Whether all its points are. */
static bool is_hollow(const chart_series *series)
{
    for (int i = 0; i < series->count; i++)
        if (!series->points[i].hollow) return false;
    return series->count > 0;
}

static void compose(drawing *d, const report_style *style)
{
    const chart_lines *chart = d->chart;
    report_canvas canvas = {.script = &d->drawn.script,
                            .id = d->drawn.id,
                            .style = style,
                            .title = chart->title,
                            .footer = chart->footer,
                            .panels = 1,
                            .margin_left = LEFT,
                            .margin_right = RIGHT,
                            .margin_top = TOP,
                            .margin_bottom = BOTTOM,
                            .panel_width = WIDTH,
                            .panel_height = HEIGHT,
                            .panel_least = 300};
    for (int i = 0; i < chart->count; i++) {
        const canvas_entry entry = {
            .name = chart->series[i].name,
            .colour = chart_colour(colour_of(chart, i)),
            .glyph = chart->series[i].line ? CANVAS_LINE : CANVAS_POINT,
            .point = chart->series[i].no_points ? 0 : chart_point_type(i, is_hollow(&chart->series[i])),
            .repeat = repeat_of(chart, i),
            .dash = canvas_dash(repeat_of(chart, i))};
        canvas_add_legend(&canvas, &entry);
    }
    canvas_layout(&canvas);
    canvas_begin(&canvas);
    canvas_panel(&canvas, 0, "", NULL, chart->y_label);
    put_axes(d);
    put_rules(d);
    put_point_labels(d);
    for (int i = 0; i < chart->count; i++) put_series(d, i);
    dit_buffer_text(&d->drawn.script, d->plots ? "\n" : "plot NaN notitle\n");
    canvas_end(&canvas);
}

static dit_status draw_one(const chart_lines *chart, bool narrow, const char *folder, const char *gnuplot, char **svg)
{
    char id[96];
    const report_style style = {.width = narrow ? CHART_PHONE_POINTS : 0};
    unsigned formats = 1u << REPORT_FORMAT_svg | (narrow ? 0 : 1u << REPORT_FORMAT_png);
    drawing d = {.chart = chart, .drawn = {.id = id, .title = chart->title}};
    snprintf(id, sizeof id, "%.80s%s", chart->id, narrow ? "-narrow" : "");
    find_range(&d);
    compose(&d, &style);
    report_append_html(&d.drawn.words, chart->words);
    dit_status st = report_drawn_write(&d.drawn, folder, gnuplot, &style, formats, svg);
    report_drawn_release(&d.drawn);
    return st;
}

dit_status chart_lines_draw(const chart_lines *chart, const char *folder, const char *gnuplot, chart_pictures *out)
{
    *out = (chart_pictures){NULL, NULL};
    DIT_TRY(draw_one(chart, false, folder, gnuplot, &out->wide));
    return draw_one(chart, true, folder, gnuplot, &out->narrow);
}
