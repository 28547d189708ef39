#include "reports/layout/compose.h"

#include <math.h>
#include <stdio.h>

enum {
    AGREEMENT_INNER = 420,
    AGREEMENT_PLOT_HEIGHT = 400,
    AGREEMENT_LEFT = 72,
    AGREEMENT_RIGHT = 18,
    AGREEMENT_TOP = 28,
    AGREEMENT_BOTTOM = 50,
    AGREEMENT_POINT_FITTED = 2, /* a cross, an open circle, a dot */
    AGREEMENT_POINT_PUBLISHED = 6,
    AGREEMENT_POINT_MEASURED = 7,
};
static const double agreement_band = 0.15;

/* What a point is held against. */
typedef enum { AGAINST_MEASURED, AGAINST_PUBLISHED, AGAINST_FITTED, AGAINST_COUNT } against;

static against against_of(const report_cell *cell)
{
    if (!cell->published) return AGAINST_MEASURED;
    return cell->published->in_fit ? AGAINST_FITTED : AGAINST_PUBLISHED;
}

static int point_of(against what)
{
    static const int points[] = {AGREEMENT_POINT_MEASURED, AGREEMENT_POINT_PUBLISHED, AGREEMENT_POINT_FITTED};
    return points[what];
}

typedef struct {
    report_composition *c;
    int first, end;
    report_scale scale;
    double least, most; /* of both axes, unscaled */
} agreement_panel;

static agreement_panel open_panel(report_composition *c, int first)
{
    agreement_panel p = {.c = c, .first = first, .end = compose_panel_end(c->grid, first), .least = INFINITY};
    for (int i = first; i < p.end; i++) {
        const report_cell *cell = &c->grid->cells[i];
        p.least = fmin(p.least, fmin(cell->bar.part[0], cell->x_low));
        p.most = fmax(p.most, fmax(cell->bar.part[0], cell->x_high));
    }
    p.scale = report_scale_for(c->kind->unit, p.most);
    p.least /= 1.4;
    p.most *= 1.4;
    return p;
}

/* Ticks 1, 2, 5 of each decade inside the range; of many decades the first alone. */
static void put_ticks(const agreement_panel *p, const char *axis)
{
    dit_buffer *script = &p->c->files->script;
    double least = p->least * p->scale.factor, most = p->most * p->scale.factor;
    static const int steps[] = {1, 2, 5};
    int written = 0, each = log10(most / least) > 3 ? 1 : 3;
    dit_buffer_printf(script, "set %stics nomirror out scale 0.4 tc rgb '#222222' (", axis);
    for (int decade = (int)floor(log10(least)); decade <= (int)ceil(log10(most)); decade++) {
        for (int i = 0; i < each; i++) {
            double tick = steps[i] * pow(10, decade);
            if (tick < least || tick > most) continue;
            dit_buffer_printf(script, "%s'%g' %.9g", written++ ? ", " : "", tick, tick);
        }
    }
    dit_buffer_text(script, ")\n");
}

static void put_axes(const agreement_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    double least = p->least * p->scale.factor, most = p->most * p->scale.factor;
    const report_grid *grid = p->c->grid;
    canvas_line(script, "set logscale xy 10");
    canvas_line(script, "set grid xtics ytics lt 1 lw 0.6 lc rgb '#dcdcdc'");
    canvas_line(script, "set xrange [%.6g:%.6g]", least, most);
    canvas_line(script, "set yrange [%.6g:%.6g]", least, most);
    put_ticks(p, "x");
    put_ticks(p, "y");
    canvas_line(script, "set xlabel '%s latency [%s]' offset 0,0.4 tc rgb '#222222'",
                grid->published && grid->measured ? "published or measured"
                : grid->published                 ? "published"
                                                  : "measured",
                p->scale.symbol);
}

static int write_points(const agreement_panel *p, int series, against what)
{
    static const char *const columns[] = {"measured predicted low high", "published predicted low high; not in fit",
                                          "published predicted low high; in fit"};
    const report_grid *grid = p->c->grid;
    double factor = p->scale.factor;
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &grid->cells[i];
        if (cell->series_index != series || against_of(cell) != what) continue;
        if (block < 0) block = compose_block(p->c, grid->series[series], columns[what]);
        dit_buffer_printf(&p->c->files->data, "%.6g %.6g %.6g %.6g\n", cell->x_number * factor,
                          cell->bar.part[0] * factor, cell->x_low * factor, cell->x_high * factor);
    }
    return block;
}

static void put_plots(const agreement_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    dit_buffer_printf(script,
                      "plot x with lines lw 1.2 lc rgb '#888888', \\\n     x*%g with lines dt 2 lw 1 lc rgb "
                      "'#888888', \\\n     x*%g with lines dt 2 lw 1 lc rgb '#888888'",
                      1 + agreement_band, 1 - agreement_band);
    double shortest = pow(p->most / p->least, COMPOSE_POINT_SHARE / 2); /* the panel is large */
    for (int what = 0; what < AGAINST_COUNT; what++) {
        for (int i = 0; i < p->c->grid->series_count; i++) {
            const char *colour = compose_series_colour(p->c, i);
            int block = write_points(p, i, (against)what);
            if (block < 0) continue;
            dit_buffer_printf(script,
                              ", \\\n     '%s.dat' index %d using ($4/$3>%.4g?$3:NaN):2:($4-$3):(0) with vectors "
                              "nohead lw 1 lc rgb '%s'",
                              p->c->id, block, shortest, colour);
            dit_buffer_printf(script, ", \\\n     '' index %d using 1:2 with points pt %d ps 0.8 lw 1.4 lc rgb '%s'",
                              block, point_of((against)what), colour);
        }
    }
    dit_buffer_text(script, "\n");
}

/* The point that most of a series' pairs have: its entry in the legend looks as it does in the panel. */
static int point_of_series(const report_grid *grid, int series)
{
    int count[AGAINST_COUNT] = {0}, most = 0;
    for (int i = 0; i < grid->count; i++)
        if (grid->cells[i].series_index == series) count[against_of(&grid->cells[i])]++;
    for (int i = 1; i < AGAINST_COUNT; i++) most = count[i] > count[most] ? i : most;
    return point_of((against)most);
}

static void fill_legend(const report_composition *c, report_canvas *canvas)
{
    static const canvas_entry equal = {.name = "equal", .colour = "#888888", .glyph = CANVAS_LINE, .dash = "dt 1"},
                              band = {
                                  .name = "15 % off", .colour = "#888888", .glyph = CANVAS_LINE, .dash = "dt (8,6)"};
    static const char *const names[] = {"against its measured twin", "against a published point",
                                        "published, in the fit"};
    bool used[AGAINST_COUNT] = {false};
    for (int i = 0; i < c->grid->series_count; i++) {
        const canvas_entry entry = {.name = c->grid->series[i],
                                    .colour = compose_series_colour(c, i),
                                    .glyph = CANVAS_POINT,
                                    .point = point_of_series(c->grid, i)};
        canvas_add_legend(canvas, &entry);
    }
    for (int i = 0; i < c->grid->count; i++) used[against_of(&c->grid->cells[i])] = true;
    for (int i = 0; i < AGAINST_COUNT; i++) {
        const canvas_entry entry = {
            .name = names[i], .colour = "#555555", .glyph = CANVAS_POINT, .point = point_of((against)i)};
        if (used[i]) canvas_add_legend(canvas, &entry);
    }
    canvas_add_legend(canvas, &equal);
    canvas_add_legend(canvas, &band);
}

dit_status compose_agreement(report_composition *c)
{
    char y_label[COMPOSE_LABEL];
    int index = 0;
    report_canvas canvas = compose_canvas(c, (compose_plot){.width = AGREEMENT_INNER,
                                                            .height = AGREEMENT_PLOT_HEIGHT,
                                                            .left = AGREEMENT_LEFT,
                                                            .right = AGREEMENT_RIGHT,
                                                            .top = AGREEMENT_TOP,
                                                            .bottom = AGREEMENT_BOTTOM});
    canvas.shape = CANVAS_SQUARE;
    fill_legend(c, &canvas);
    compose_fit(c, &canvas);
    canvas_begin(&canvas);
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        agreement_panel p = open_panel(c, i);
        compose_y_label(c, p.scale.symbol, y_label);
        canvas_panel(&canvas, index++, c->grid->cells[i].panel, NULL, y_label);
        put_axes(&p);
        put_plots(&p);
    }
    canvas_end(&canvas);
    return DIT_OK;
}
