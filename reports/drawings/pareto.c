/* A quality over the time that it takes, or its operations: a line for each series through its points in order of cost. A point is hollow
 * where another one both costs less and is better beyond both intervals. */
#include "reports/layout/compose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARETO_INNER = 430,
    PARETO_PLOT_HEIGHT = 300,
    PARETO_LEFT = 72,
    PARETO_RIGHT = 22,
    PARETO_TOP = 28,
    PARETO_BOTTOM = 50,
    PARETO_NAME = 32,
};
static const double pareto_margin = 0.08; /* of the range of an axis */

typedef struct {
    report_composition *c;
    int first, end;
    report_scale cost, quality;
    double x_from, x_to, y_from, y_to; /* scaled */
} pareto_panel;

static const dit_summary *cost_of(const report_composition *c, const report_cell *cell)
{
    return &cell->kase->metric[report_pareto_cost(c->plot)];
}

static bool is_drawn(const report_composition *c, const report_cell *cell)
{
    return cell->bar.n > 0 && cost_of(c, cell)->n > 0;
}

/* An interval's ends; both are the value where there is none. */
static double cost_end(const report_composition *c, const report_cell *cell, bool high)
{
    const dit_summary *cost = cost_of(c, cell);
    return cost->n < 2 ? cost->median : high ? cost->high : cost->low;
}

static double quality_end(const report_cell *cell, bool high)
{
    const report_bar *bar = &cell->bar;
    return !bar->has_interval ? bar->part[0] : high ? bar->high : bar->low;
}

/* Of memory less is better. */
static bool is_of_memory(const report_composition *c)
{
    return c->kind->unit == REPORT_UNIT_BYTES;
}

static bool is_better(const report_composition *c, const report_cell *one, const report_cell *other)
{
    return is_of_memory(c) ? quality_end(one, true) < quality_end(other, false)
                           : quality_end(one, false) > quality_end(other, true);
}

static bool is_dominated(const pareto_panel *p, const report_cell *cell)
{
    for (int i = p->first; i < p->end; i++) {
        const report_cell *other = &p->c->grid->cells[i];
        if (is_drawn(p->c, other) && cost_end(p->c, other, true) < cost_end(p->c, cell, false) &&
            is_better(p->c, other, cell))
            return true;
    }
    return false;
}

/* ---- a panel ----------------------------------------------------------------------------------------------------- */

static void widen(double *from, double *to)
{
    double margin = *to > *from ? pareto_margin * (*to - *from) : fabs(*to) * pareto_margin + 1e-9;
    *from -= margin, *to += margin;
}

static pareto_panel open_panel(report_composition *c, int first)
{
    pareto_panel p = {.c = c, .first = first, .end = compose_panel_end(c->grid, first)};
    double least_cost = INFINITY, most_cost = 0, least = INFINITY, most = -INFINITY;
    for (int i = first; i < p.end; i++) {
        const report_cell *cell = &c->grid->cells[i];
        if (!is_drawn(c, cell)) continue;
        least_cost = fmin(least_cost, cost_of(c, cell)->median), most_cost = fmax(most_cost, cost_of(c, cell)->median);
        least = fmin(least, quality_end(cell, false)), most = fmax(most, quality_end(cell, true));
    }
    if (!isfinite(least)) least_cost = least = 0, most_cost = most = 1;
    p.cost = report_scale_for(report_metric_get(report_pareto_cost(c->plot))->unit, most_cost);
    p.quality = report_scale_for(c->kind->unit, most);
    p.x_from = least_cost * p.cost.factor, p.x_to = most_cost * p.cost.factor;
    p.y_from = least * p.quality.factor, p.y_to = most * p.quality.factor;
    widen(&p.x_from, &p.x_to);
    widen(&p.y_from, &p.y_to);
    return p;
}

static bool is_none(const char *label)
{
    return !label[0] || strcmp(label, "none") == 0;
}

/* "0.08" of "fbcache(0.08)", "2 0.5" of "edit(2 0.5)"; "14 steps" where nothing is reused. */
static void name_point(const report_cell *cell, char out[PARETO_NAME])
{
    char label[REPORT_TAG_TEXT] = "", steps[32] = "";
    report_case_tag(cell->kase, "cache", label, sizeof label);
    if (is_none(label)) report_case_tag(cell->kase, "edit", label, sizeof label);
    report_case_tag(cell->kase, "steps", steps, sizeof steps);
    char *open = strchr(label, '('), *close = strrchr(label, ')');
    if (is_none(label))
        snprintf(out, PARETO_NAME, "%.20s steps", steps);
    else if (open && close && close > open)
        snprintf(out, PARETO_NAME, "%.*s", (int)(close - open - 1 < 24 ? close - open - 1 : 24), open + 1);
    else
        snprintf(out, PARETO_NAME, "%.24s", label);
}

static void name_mesh(const report_cell *cell, char out[PARETO_NAME])
{
    char label[REPORT_TAG_TEXT] = "";
    report_case_tag(cell->kase, "mesh", label, sizeof label);
    snprintf(out, PARETO_NAME, "%.*s", PARETO_NAME - 1, label);
}

/* Puts cells into order of cost: series have few points. */
static void sort_cells(const report_composition *c, const report_cell **cells, int count)
{
    for (int i = 1; i < count; i++) {
        const report_cell *moved = cells[i];
        int at = i;
        for (; at > 0 && cost_of(c, cells[at - 1])->median > cost_of(c, moved)->median; at--) cells[at] = cells[at - 1];
        cells[at] = moved;
    }
}

/* Writes a series' points in order of cost; the last column is 1 for a dominated one. Returns the block, or -1. */
static int write_series(const pareto_panel *p, int series, const report_cell **sorted)
{
    const report_grid *grid = p->c->grid;
    int count = 0;
    for (int i = p->first; i < p->end; i++)
        if (grid->cells[i].series_index == series && is_drawn(p->c, &grid->cells[i])) sorted[count++] = &grid->cells[i];
    if (!count) return -1;
    sort_cells(p->c, sorted, count);
    int block = compose_block(p->c, grid->series[series], "cost quality cost_low cost_high low high dominated");
    for (int i = 0; i < count; i++) {
        const report_cell *cell = sorted[i];
        double x = p->cost.factor, y = p->quality.factor;
        dit_buffer_printf(&p->c->files->data, "%.6g %.6g %.6g %.6g %.6g %.6g %d\n", cost_of(p->c, cell)->median * x,
                          cell->bar.part[0] * y, cost_end(p->c, cell, false) * x, cost_end(p->c, cell, true) * x,
                          quality_end(cell, false) * y, quality_end(cell, true) * y, is_dominated(p, cell));
    }
    return block;
}

static void put_names(const pareto_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    char name[PARETO_NAME];
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &p->c->grid->cells[i];
        if (!is_drawn(p->c, cell)) continue;
        if (is_of_memory(p->c))
            name_mesh(cell, name);
        else
            name_point(cell, name);
        dit_buffer_text(script, "set label ");
        report_append_quoted(script, name);
        canvas_line(script, " at %.6g,%.6g left offset 0.5,%s font ',8' tc rgb '#666666' front",
                    cost_of(p->c, cell)->median * p->cost.factor, cell->bar.part[0] * p->quality.factor,
                    cell->series_index % 2 ? "-0.6" : "0.6");
    }
}

static void put_axes(const pareto_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    canvas_line(script, "set grid xtics ytics lt 1 lw 0.6 lc rgb '#dcdcdc'");
    canvas_line(script, "set xrange [%.6g:%.6g]", p->x_from, p->x_to);
    canvas_line(script, "set yrange [%.6g:%.6g]", p->y_from, p->y_to);
    canvas_line(script, "set xtics nomirror out scale 0.4 tc rgb '#222222' autofreq");
    canvas_line(script, "set ytics nomirror out scale 0.4 tc rgb '#222222' autofreq");
    bool time = report_pareto_cost(p->c->plot) == REPORT_LATENCY;
    canvas_line(script, "set xlabel '%s [%s]' offset 0,0.4 tc rgb '#222222'",
                time ? "latency" : "operations of a picture", p->cost.symbol);
}

static void put_series(const pareto_panel *p, int series, int block, bool *plotted)
{
    dit_buffer *script = &p->c->files->script;
    const char *colour = compose_series_colour(p->c, series), *id = p->c->id;
    int point = compose_point_type(series);
    dit_buffer_printf(script, "%s'%s.dat' index %d using 1:2 with lines lw 1.2 lc rgb '%s'",
                      *plotted ? ", \\\n     " : "plot ", id, block, colour);
    dit_buffer_printf(script, ", \\\n     '' index %d using 1:2:5:6 with yerrorbars pt -1 lw 1 lc rgb '%s'", block,
                      colour);
    dit_buffer_printf(script,
                      ", \\\n     '' index %d using 1:($7==0?$2:NaN) with points pt %d ps 0.9 lw 1.4 lc rgb '%s'",
                      block, point, colour);
    dit_buffer_printf(script,
                      ", \\\n     '' index %d using 1:($7==1?$2:NaN) with points pt %d ps 0.9 lw 1.4 lc rgb '%s'",
                      block, point - 1, colour);
    *plotted = true;
}

static void put_plots(const pareto_panel *p, const report_cell **sorted)
{
    bool plotted = false;
    for (int i = 0; i < p->c->grid->series_count; i++) {
        int block = write_series(p, i, sorted);
        if (block >= 0) put_series(p, i, block, &plotted);
    }
    dit_buffer_text(&p->c->files->script, plotted ? "\n" : "plot NaN\n");
}

/* Every saving stands against the plainest one: the same run with fewer steps. */
static const char *missing_line(const pareto_panel *p)
{
    double steps = NAN, other;
    if (is_of_memory(p->c)) return NULL;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &p->c->grid->cells[i];
        char cache[REPORT_TAG_TEXT] = "none";
        report_case_tag(cell->kase, "cache", cache, sizeof cache);
        if (!is_drawn(p->c, cell) || strcmp(cache, "none") != 0 || !report_case_number(cell->kase, "steps", &other))
            continue;
        if (isfinite(steps) && other != steps) return NULL;
        steps = other;
    }
    return "no runs with fewer steps beside it";
}

/* ---- the figure -------------------------------------------------------------------------------------------------- */

static void fill_legend(const report_composition *c, report_canvas *canvas)
{
    static const canvas_entry hollow = {
        .name = "hollow: another costs less and is better", .colour = "#555555", .glyph = CANVAS_POINT, .point = 6};
    for (int i = 0; i < c->grid->series_count; i++) {
        const char *series = c->grid->series[i];
        bool plain = strcmp(series, "none") == 0 || strcmp(series, "single, none") == 0;
        const canvas_entry entry = {.name = plain ? "no cache, fewer steps" : series,
                                    .colour = compose_series_colour(c, i),
                                    .glyph = CANVAS_POINT,
                                    .point = compose_point_type(i)};
        canvas_add_legend(canvas, &entry);
    }
    canvas_add_legend(canvas, &hollow);
}

dit_status compose_pareto(report_composition *c)
{
    char y_label[COMPOSE_LABEL];
    int index = 0;
    report_canvas canvas = compose_canvas(c, (compose_plot){.width = PARETO_INNER,
                                                            .height = PARETO_PLOT_HEIGHT,
                                                            .left = PARETO_LEFT,
                                                            .right = PARETO_RIGHT,
                                                            .top = PARETO_TOP,
                                                            .bottom = PARETO_BOTTOM});
    const report_cell **sorted = malloc((size_t)(c->grid->count + 1) * sizeof *sorted);
    if (!sorted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", c->id);
    fill_legend(c, &canvas);
    compose_fit(c, &canvas);
    canvas_begin(&canvas);
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        pareto_panel p = open_panel(c, i);
        compose_y_label(c, p.quality.symbol, y_label);
        canvas_panel(&canvas, index++, c->grid->cells[i].panel, missing_line(&p), y_label);
        put_axes(&p);
        put_names(&p);
        put_plots(&p, sorted);
    }
    canvas_end(&canvas);
    free((void *)sorted);
    return DIT_OK;
}
