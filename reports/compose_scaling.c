#include "reports/compose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SCALING_INNER = 300,
    SCALING_PLOT_HEIGHT = 240,
    SCALING_LEFT = 72,
    SCALING_RIGHT = 18,
    SCALING_TOP = 28,
    SCALING_BOTTOM = 50,
    SCALING_OCTAVES = 60,
};

typedef struct {
    report_composition *c;
    int first, end;
    report_scale scale;
    double x_most, y_least, y_most; /* over drawn cells, unscaled y */
    double ideal;                   /* one-rank median, 0 without one */
} scaling_panel;

static bool is_drawn(const report_cell *cell)
{
    return cell->bar.n > 0 && cell->x_number > 0;
}

static scaling_panel open_panel(report_composition *c, int first)
{
    scaling_panel p = {.c = c, .first = first, .end = compose_panel_end(c->grid, first), .x_most = 1};
    for (int i = first; i < p.end; i++) {
        const report_cell *cell = &c->grid->cells[i];
        if (!is_drawn(cell)) continue;
        p.x_most = fmax(p.x_most, cell->x_number);
        p.y_most = fmax(p.y_most, cell->bar.high);
        p.y_least = p.y_least > 0 ? fmin(p.y_least, cell->bar.low) : cell->bar.low;
        if (cell->x_number == 1 && p.ideal == 0) p.ideal = cell->bar.part[0];
    }
    if (p.ideal > 0) p.y_least = fmin(p.y_least, p.ideal / p.x_most);
    p.scale = report_scale_for(c->kind->unit, p.y_most);
    return p;
}

/* Ticks at powers of two; when the axis spans few of them, at halves in between. */
static void put_log_ticks(dit_buffer *script, const char *axis, double least, double most)
{
    int from = (int)floor(log2(least)), to = (int)ceil(log2(most)), written = 0;
    int stride = (to - from) / 8 + 1;
    double between = most / least < 4 ? 0.25 : 1;
    dit_buffer_printf(script, "set %stics nomirror out scale 0.4 tc rgb '#222222' (", axis);
    for (int k = from; k <= to; k += stride) {
        for (double f = 1; f < 2; f += between) {
            double tick = ldexp(f, k);
            if (tick < least || tick > most) continue;
            dit_buffer_printf(script, "%s'%.4g' %.9g", written++ ? ", " : "", tick, tick);
        }
    }
    dit_buffer_text(script, ")\n");
}

static void put_axes(const scaling_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    double low = p->y_least * p->scale.factor / 1.25, high = p->y_most * p->scale.factor * 1.25;
    canvas_line(script, "set logscale xy 2");
    canvas_line(script, "set xrange [0.85:%.4g]", p->x_most * 1.18);
    canvas_line(script, "set yrange [%.6g:%.6g]", low, high);
    put_log_ticks(script, "x", 1, p->x_most);
    put_log_ticks(script, "y", low, high);
    dit_buffer_text(script, "set xlabel ");
    report_append_quoted(script, report_tag_title(p->c->plot->x));
    canvas_line(script, " offset 0,0.4 tc rgb '#222222'");
}

static void write_row(scaling_panel *p, double x, double median, double low, double high)
{
    dit_buffer_printf(&p->c->files->data, "%.9g %.6g %.6g %.6g\n", x, median * p->scale.factor, low * p->scale.factor,
                      high * p->scale.factor);
}

/* The block of one series; its first row is the one-rank case, from where its line starts. -1 when it has no point. */
static int write_series(scaling_panel *p, int series)
{
    const report_grid *grid = p->c->grid;
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &grid->cells[i];
        const report_bar *bar = &cell->bar;
        if (!is_drawn(cell) || cell->series_index != series) continue;
        if (block < 0) {
            double start = p->ideal > 0 ? p->ideal : bar->part[0];
            block = compose_block(p->c, grid->series[series], "x median low high; the first row only starts the line");
            write_row(p, p->ideal > 0 ? 1 : cell->x_number, start, start, start);
        }
        write_row(p, cell->x_number, bar->part[0], bar->low, bar->high);
    }
    return block;
}

static void put_series(scaling_panel *p, int series, int *count)
{
    const report_composition *c = p->c;
    dit_buffer *script = &c->files->script;
    const char *colour = compose_series_colour(c, series);
    int block = write_series(p, series);
    if (block < 0) return;
    dit_buffer_printf(script, "%s'%s.dat' index %d using 1:2 with lines lw 1.6 %s lc rgb '%s'",
                      (*count)++ ? ", \\\n     " : "plot ", c->id, block, canvas_dash(compose_series_repeat(c, series)),
                      colour);
    dit_buffer_printf(script,
                      ", \\\n     '' index %d every ::1 using 1:3:(0):($4-$3) with vectors heads size screen "
                      "0.005,90 fixed lw 1.2 lc rgb '%s'",
                      block, colour);
    dit_buffer_printf(script, ", \\\n     '' index %d every ::1 using 1:2 with points pt %d ps 0.9 lc rgb '%s'", block,
                      compose_point_type(series), colour);
}

static void put_plots(scaling_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    int count = 0;
    if (p->ideal > 0) {
        dit_buffer_printf(script, "plot %.6g/x with lines dt 2 lw 1.2 lc rgb '#888888'", p->ideal * p->scale.factor);
        count++;
    }
    for (int i = 0; i < p->c->grid->series_count; i++) put_series(p, i, &count);
    dit_buffer_text(script, count ? "\n" : "plot NaN notitle\n");
}

static void put_empty_axes(dit_buffer *script)
{
    canvas_line(script, "unset logscale; set xrange [0:1]; set yrange [0:1]; set xtics (); set ytics ()");
    canvas_line(script, "set label 'no data' at graph 0.5,0.5 center tc rgb '#b04000'");
}

static void set_up_canvas(report_composition *c, report_canvas *canvas)
{
    *canvas = (report_canvas){.script = &c->files->script,
                              .id = c->id,
                              .title = c->plot->title,
                              .footer = c->footer,
                              .panels = c->grid->panel_count,
                              .margin_left = SCALING_LEFT,
                              .margin_right = SCALING_RIGHT,
                              .margin_top = SCALING_TOP,
                              .margin_bottom = SCALING_BOTTOM,
                              .panel_width = SCALING_INNER + SCALING_LEFT + SCALING_RIGHT,
                              .panel_height = SCALING_PLOT_HEIGHT + SCALING_TOP + SCALING_BOTTOM};
    for (int i = 0; i < c->grid->series_count; i++) {
        const canvas_entry entry = {.name = c->grid->series[i],
                                    .colour = compose_series_colour(c, i),
                                    .glyph = CANVAS_LINE,
                                    .point = compose_point_type(i),
                                    .repeat = compose_series_repeat(c, i)};
        canvas_add_legend(canvas, &entry);
    }
    bool ideal = false;
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) ideal = ideal || open_panel(c, i).ideal > 0;
    const canvas_entry entry = {.name = "ideal", .colour = "#888888", .glyph = CANVAS_LINE};
    if (ideal) canvas_add_legend(canvas, &entry);
    canvas_layout(canvas);
    c->files->width = canvas->width;
    c->files->height = canvas->height;
}

dit_status compose_scaling(report_composition *c)
{
    report_canvas canvas;
    char y_label[COMPOSE_LABEL];
    int index = 0;
    set_up_canvas(c, &canvas);
    canvas_begin(&canvas);
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        scaling_panel p = open_panel(c, i);
        compose_y_label(c, p.y_most > 0 ? p.scale.symbol : "no data", y_label);
        canvas_panel(&canvas, index++, c->grid->cells[i].panel, y_label);
        if (p.y_most > 0)
            put_axes(&p);
        else
            put_empty_axes(&c->files->script);
        put_plots(&p);
    }
    canvas_end(&canvas);
    return DIT_OK;
}
