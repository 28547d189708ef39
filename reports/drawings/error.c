#include "reports/layout/compose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ERROR_INNER = 340,
    ERROR_PLOT_HEIGHT = 250,
    ERROR_LEFT = 78,
    ERROR_RIGHT = 18,
    ERROR_TOP = 28,
    ERROR_BOTTOM = 50,
    ERROR_NAME = 160,
};
static const double ERROR_FOOT = 1e-9; /* where a distance of zero is drawn on a logarithmic axis */
static const double ERROR_NEAR = 100;  /* a panel whose least distance is beyond so many bounds needs no line of it */

typedef struct {
    report_composition *c;
    int first, end;
    bool logarithmic, drawn, bounded; /* bounded: with the line of what exact methods are allowed */
    double x_least, x_most, y_least, y_most;
} error_panel;

static bool is_drawn(const report_cell *cell)
{
    return cell->bar.n > 0 && isfinite(cell->x_number);
}

static double height_of(const error_panel *p, const report_cell *cell)
{
    return p->logarithmic ? fmax(cell->bar.part[0], ERROR_FOOT) : cell->bar.part[0];
}

static error_panel open_panel(report_composition *c, int first)
{
    error_panel p = {.c = c, .first = first, .end = compose_panel_end(c->grid, first)};
    p.logarithmic = c->kind->unit == REPORT_UNIT_RELATIVE;
    p.x_least = p.y_least = INFINITY, p.x_most = p.y_most = -INFINITY;
    for (int i = first; i < p.end; i++) {
        const report_cell *cell = &c->grid->cells[i];
        if (!is_drawn(cell)) continue;
        p.drawn = true;
        p.x_least = fmin(p.x_least, cell->x_number), p.x_most = fmax(p.x_most, cell->x_number);
        p.y_least = fmin(p.y_least, height_of(&p, cell)), p.y_most = fmax(p.y_most, height_of(&p, cell));
    }
    p.bounded = p.logarithmic && p.y_least < ERROR_NEAR * REPORT_EXACT_TOLERANCE;
    if (p.bounded) p.y_least = fmin(p.y_least, REPORT_EXACT_TOLERANCE);
    if (p.bounded) p.y_most = fmax(p.y_most, REPORT_EXACT_TOLERANCE);
    return p;
}

/* A tick at every place along x that has a case. */
static void put_x_ticks(const error_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    double before = NAN;
    dit_buffer_text(script, "set xtics nomirror out scale 0.4 tc rgb '#222222' (");
    for (int i = p->first; i < p->end; i++) {
        double x = p->c->grid->cells[i].x_number;
        if (!isfinite(x) || x == before) continue;
        dit_buffer_printf(script, "%s'%.4g' %.9g", isfinite(before) ? ", " : "", x, x);
        before = x;
    }
    dit_buffer_text(script, ")\n");
}

/* A logarithmic axis; of few decades 2 and 5 have ticks too. */
static void put_decades(dit_buffer *script, int from, int to)
{
    static const int steps[] = {1, 2, 5};
    int each = to - from <= 2 ? 3 : 1;
    canvas_line(script, "set logscale y 10");
    canvas_line(script, "set yrange [1e%d:1e%d]", from, to);
    dit_buffer_text(script, "set ytics nomirror out scale 0.4 tc rgb '#222222' (");
    for (int decade = from; decade < to; decade++)
        for (int i = 0; i < each; i++) dit_buffer_printf(script, "'%de%d' %de%d, ", steps[i], decade, steps[i], decade);
    canvas_line(script, "'1e%d' 1e%d)", to, to);
}

static void put_axes(const error_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    double margin = p->x_most > p->x_least ? 0.06 * (p->x_most - p->x_least) : 0.5;
    canvas_line(script, "set xrange [%.9g:%.9g]", p->x_least - margin, p->x_most + margin);
    if (p->logarithmic) {
        put_decades(script, (int)floor(log10(p->y_least)), (int)ceil(log10(p->y_most)));
    } else {
        canvas_line(script, "set yrange [%.9g:%.9g]", floor(p->y_least / 10) * 10, ceil(p->y_most / 10) * 10 + 1);
        canvas_line(script, "set ytics nomirror out scale 0.4 tc rgb '#222222'");
    }
    put_x_ticks(p);
    dit_buffer_text(script, "set xlabel ");
    report_append_quoted(script, report_grid_tag_title(p->c->grid, p->c->plot->x));
    canvas_line(script, " offset 0,0.4 tc rgb '#222222'");
}

/* The block of one series, -1 when it has no point. */
static int write_series(const error_panel *p, int series)
{
    const report_grid *grid = p->c->grid;
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &grid->cells[i];
        if (!is_drawn(cell) || cell->series_index != series) continue;
        if (block < 0) block = compose_block(p->c, grid->series[series], "x distance");
        dit_buffer_printf(&p->c->files->data, "%.9g %.6g\n", cell->x_number, height_of(p, cell));
    }
    return block;
}

static void put_series(const error_panel *p, int series, int *count)
{
    const report_composition *c = p->c;
    int block = write_series(p, series);
    if (block < 0) return;
    compose_look look = compose_series_look(c, series);
    dit_buffer_printf(&c->files->script,
                      "%s'%s.dat' index %d using 1:2 with linespoints lw 1.6 %s pt %d ps %s lc rgb '%s'",
                      (*count)++ ? ", \\\n     " : "plot ", c->id, block, compose_look_dash(c, series, look),
                      compose_look_point(series, look), compose_look_size(look), compose_series_colour(c, series));
}

static void put_plots(const error_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    int count = 0;
    if (p->bounded) {
        dit_buffer_printf(script, "plot %.6g with lines dt 2 lw 1.2 lc rgb '#888888'", REPORT_EXACT_TOLERANCE);
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

/* "bands 4": a number says nothing by itself. */
static void name_series(const report_composition *c, int series, char out[ERROR_NAME])
{
    const char *name = c->grid->series[series];
    bool number = *name && strspn(name, "0123456789.") == strlen(name);
    snprintf(out, ERROR_NAME, "%s%s%s", number ? report_grid_tag_title(c->grid, c->plot->series) : "",
             number ? " " : "", name);
}

static void set_up_canvas(report_composition *c, report_canvas *canvas, char (*names)[ERROR_NAME])
{
    const canvas_entry allowed = {.name = "limit for exact methods: 1e-5", .colour = "#888888", .glyph = CANVAS_LINE};
    *canvas = compose_canvas(c, (compose_plot){.width = ERROR_INNER,
                                               .height = ERROR_PLOT_HEIGHT,
                                               .left = ERROR_LEFT,
                                               .right = ERROR_RIGHT,
                                               .top = ERROR_TOP,
                                               .bottom = ERROR_BOTTOM});
    for (int i = 0; i < c->grid->series_count && i < CANVAS_LEGEND; i++) {
        name_series(c, i, names[i]);
        const canvas_entry entry = {.name = names[i],
                                    .colour = compose_series_colour(c, i),
                                    .glyph = CANVAS_LINE,
                                    .point = compose_point_type(i),
                                    .size = compose_look_size(compose_series_look(c, i)),
                                    .dash = compose_look_dash(c, i, compose_series_look(c, i))};
        canvas_add_legend(canvas, &entry);
    }
    bool bounded = false;
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i))
        bounded = bounded || open_panel(c, i).bounded;
    if (bounded) canvas_add_legend(canvas, &allowed);
    compose_fit(c, canvas);
}

dit_status compose_error(report_composition *c)
{
    report_canvas canvas;
    char y_label[COMPOSE_LABEL], names[CANVAS_LEGEND][ERROR_NAME];
    int index = 0;
    set_up_canvas(c, &canvas, names);
    canvas_begin(&canvas);
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        error_panel p = open_panel(c, i);
        compose_y_label(c, c->kind->unit == REPORT_UNIT_RELATIVE ? "" : report_unit_name(c->kind->unit), y_label);
        canvas_panel(&canvas, index++, c->grid->cells[i].panel, NULL, y_label);
        if (p.drawn)
            put_axes(&p);
        else
            put_empty_axes(&c->files->script);
        put_plots(&p);
    }
    canvas_end(&canvas);
    return DIT_OK;
}
