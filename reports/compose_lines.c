#include "reports/compose.h"
#include "reports/published.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LINES_INNER = 300,
    LINES_PLOT_HEIGHT = 240,
    LINES_LEFT = 72,
    LINES_RIGHT = 18,
    LINES_TOP = 28,
    LINES_BOTTOM = 50,
    LINES_TICK_FONT = 11,
    LINES_MARK_FONT = 9,
    LINES_MARK_ROW = 12, /* pixels between two words at one place */
};

static const double LINES_LABEL_SHARE = 0.12; /* of the axis: a label under a point */

typedef struct {
    report_composition *c;
    int first, end;
    bool log_x, log_y, named; /* named: x are words, which stand at 1, 2, ... */
    report_scale scale;
    double x_least, x_most;
    double y_least, y_most; /* over drawn cells, unscaled */
    int start[2]; /* the one-rank case, measured and simulated; -1 without one: where lines over ranks begin */
    bool rotated; /* words along x stand at an angle */
} lines_panel;

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool is_over_ranks(const report_composition *c)
{
    return strcmp(c->plot->x, "world_size") == 0;
}

static bool is_drawn(const lines_panel *p, const report_cell *cell)
{
    return cell->bar.n > 0 && (p->named || !p->log_x || cell->x_number > 0);
}

static bool is_logarithmic(const report_composition *c)
{
    return c->kind == &report_figure_scaling || (c->plot->axis && strcmp(c->plot->axis, "log") == 0);
}

/* Where a cell stands along x. */
static double place_of(const lines_panel *p, int cell)
{
    const report_grid *grid = p->c->grid;
    int place = 1;
    if (!p->named) return grid->cells[cell].x_number;
    for (int i = p->first; compose_group_end(grid, i) <= cell; i = compose_group_end(grid, i)) place++;
    return place;
}

/* What has a size: drawn points with their intervals, and the line of ideal scaling. */
static void extend_y(lines_panel *p, const report_cell *cell)
{
    const report_bar *bar = &cell->bar;
    double low = bar->low > 0 && bar->low < bar->part[0] ? bar->low : bar->part[0];
    p->y_most = fmax(p->y_most, fmax(bar->high, bar->part[0]));
    p->y_least = p->y_least > 0 ? fmin(p->y_least, low) : low;
}

static void note_start(lines_panel *p, int at)
{
    const report_cell *cell = &p->c->grid->cells[at];
    int *start = &p->start[report_case_is_simulated(cell->kase)];
    bool one = is_over_ranks(p->c) && cell->x_number == 1 && cell->bar.n > 0;
    if (one && *start < 0 && !report_case_is_published(cell->kase)) *start = at;
}

/* Number of the one-rank case that ideal scaling starts from: the measured one, if there is one; 0 without any. */
static double ideal_of(const lines_panel *p)
{
    int start = p->start[0] >= 0 ? p->start[0] : p->start[1];
    return start >= 0 ? p->c->grid->cells[start].bar.part[0] : 0;
}

static void find_kind_of_x(lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    p->log_x = p->log_y = is_logarithmic(p->c);
    for (int i = p->first; i < p->end; i++) p->named = p->named || !isfinite(grid->cells[i].x_number);
    if (strncmp(p->c->plot->x, "mesh", 4) == 0) p->named = true;
    for (int i = p->first; i < p->end; i++) p->log_x = p->log_x && !p->named && grid->cells[i].x_number > 0;
}

static void measure_words(lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    double needed = 0;
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i)) {
        needed += report_text_width(grid->cells[i].x, LINES_TICK_FONT) + 6;
    }
    p->rotated = p->named && needed > LINES_INNER;
}

static lines_panel open_panel(report_composition *c, int first)
{
    lines_panel p = {.c = c, .first = first, .end = compose_panel_end(c->grid, first), .start = {-1, -1}};
    find_kind_of_x(&p);
    measure_words(&p);
    p.x_least = INFINITY;
    for (int i = first; i < p.end; i++) {
        const report_cell *cell = &c->grid->cells[i];
        double x = place_of(&p, i);
        if (!is_drawn(&p, cell) && !report_cell_is_oom(cell)) continue;
        p.x_least = fmin(p.x_least, x), p.x_most = fmax(p.x_most, x);
        if (is_drawn(&p, cell)) extend_y(&p, cell);
        note_start(&p, i);
    }
    if (c->kind == &report_figure_scaling) p.x_least = 1, p.x_most = fmax(p.x_most, 1);
    if (c->kind == &report_figure_scaling && ideal_of(&p) > 0) p.y_least = fmin(p.y_least, ideal_of(&p) / p.x_most);
    p.scale = report_scale_for(c->kind->unit, p.y_most);
    return p;
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

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

/* A tick at every place that has a case. */
static void put_place_ticks(const lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    dit_buffer *script = &p->c->files->script;
    dit_buffer_printf(script, "set xtics nomirror out scale 0.4 tc rgb '#222222'%s (",
                      p->rotated ? " rotate by 40 right" : "");
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i)) {
        if (i > p->first) dit_buffer_text(script, ", ");
        report_append_quoted(script, grid->cells[i].x[0] ? grid->cells[i].x : " ");
        dit_buffer_printf(script, " %.9g", place_of(p, i));
    }
    dit_buffer_text(script, ")\n");
}

static void put_x_axis(const lines_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    double margin = p->named ? 0.5 : p->x_most > p->x_least ? 0.07 * (p->x_most - p->x_least) : 0.5;
    if (p->log_x)
        canvas_line(script, "set xrange [%.4g:%.4g]", p->x_least * 0.85, p->x_most * 1.18);
    else
        canvas_line(script, "set xrange [%.9g:%.9g]", p->x_least - margin, p->x_most + margin);
    if (p->c->kind == &report_figure_scaling)
        put_log_ticks(script, "x", 1, p->x_most);
    else
        put_place_ticks(p);
    if (p->rotated) return; /* long words leave no room for the axis's own */
    dit_buffer_text(script, "set xlabel ");
    report_append_quoted(script, report_tag_title(p->c->plot->x));
    canvas_line(script, " offset 0,0.4 tc rgb '#222222'");
}

static void put_axes(const lines_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    double low = p->y_least * p->scale.factor / 1.25, high = p->y_most * p->scale.factor * 1.25;
    if (p->log_x || p->log_y) canvas_line(script, "set logscale %s%s 2", p->log_x ? "x" : "", p->log_y ? "y" : "");
    put_x_axis(p);
    if (p->log_y) {
        canvas_line(script, "set yrange [%.6g:%.6g]", low, high);
        put_log_ticks(script, "y", low, high);
    } else {
        canvas_line(script, "set yrange [0:%.6g]", p->y_most * p->scale.factor * 1.14);
        canvas_line(script, "set ytics nomirror out scale 0.4 format '%%g' tc rgb '#222222'");
    }
}

static void put_empty_axes(dit_buffer *script)
{
    canvas_line(script, "unset logscale; set xrange [0:1]; set yrange [0:1]; set xtics (); set ytics ()");
    canvas_line(script, "set label 'no data' at graph 0.5,0.5 center tc rgb '#b04000'");
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

static bool is_of(const report_cell *cell, int series, compose_look look)
{
    return cell->series_index == series && compose_look_of(cell) == look;
}

/* Whether a place that cases have lies between cells `from` and `to`, at which the series has nothing to draw. */
static bool skips_a_place(const lines_panel *p, int from, int to)
{
    const report_grid *grid = p->c->grid;
    for (int i = compose_group_end(grid, from); compose_group_end(grid, i) <= to; i = compose_group_end(grid, i)) {
        for (int k = i; k < compose_group_end(grid, i); k++) {
            if (!report_case_is_published(grid->cells[k].kase)) return true;
        }
    }
    return false;
}

/* The line of one series: it begins at the one-rank case and breaks where the series has a gap. -1 without points. */
static int write_line(lines_panel *p, int series, compose_look look)
{
    const report_grid *grid = p->c->grid;
    dit_buffer *data = &p->c->files->data;
    int block = -1, before = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &grid->cells[i];
        if (!is_drawn(p, cell) || !is_of(cell, series, look)) continue;
        int start = p->start[look != COMPOSE_MEASURED];
        bool starts = block < 0 && start >= 0 && cell->x_number > 1;
        if (block < 0) block = compose_block(p->c, grid->series[series], "x y; a line");
        if (starts) {
            dit_buffer_printf(data, "1 %.6g\n", grid->cells[start].bar.part[0] * p->scale.factor);
            before = start;
        }
        if (before >= 0 && skips_a_place(p, before, i)) dit_buffer_text(data, "\n");
        dit_buffer_printf(data, "%.9g %.6g\n", place_of(p, i), cell->bar.part[0] * p->scale.factor);
        before = i;
    }
    return block;
}

static int write_points(lines_panel *p, int series, compose_look look)
{
    const report_grid *grid = p->c->grid;
    double factor = p->scale.factor;
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &grid->cells[i];
        const report_bar *bar = &cell->bar;
        if (!is_drawn(p, cell) || !is_of(cell, series, look)) continue;
        bool interval = bar->has_interval || look == COMPOSE_MEASURED;
        if (block < 0) block = compose_block(p->c, grid->series[series], compose_look_columns(look));
        dit_buffer_printf(&p->c->files->data, "%.9g %.6g %.6g %.6g\n", place_of(p, i), bar->part[0] * factor,
                          (interval ? bar->low : bar->part[0]) * factor,
                          (interval ? bar->high : bar->part[0]) * factor);
    }
    return block;
}

static void add_plot(lines_panel *p, int *count, int block, const char *how, const char *colour)
{
    dit_buffer_printf(&p->c->files->script, "%s'%s.dat' index %d using %s lc rgb '%s'",
                      (*count)++ ? ", \\\n     " : "plot ", p->c->id, block, how, colour);
}

/* gnuplot's words for where an error bar begins: nowhere when the point hides it. `out` holds 64 bytes. */
static const char *error_bar_start(const lines_panel *p, char *out)
{
    double height = p->y_most * p->scale.factor, ratio = p->y_least > 0 ? p->y_most / p->y_least : 1;
    if (p->log_y)
        snprintf(out, 64, "($4/$3>%.4g?$3:NaN)", pow(1.5 * ratio, COMPOSE_POINT_SHARE));
    else
        snprintf(out, 64, "($4-$3>%.4g?$3:NaN)", COMPOSE_POINT_SHARE * height);
    return out;
}

/* Each look is drawn in its own way: see compose_look. */
static void put_look(lines_panel *p, int series, compose_look look, int *count)
{
    const report_composition *c = p->c;
    const char *colour = compose_series_colour(c, series);
    char how[160];
    int line = look == COMPOSE_PUBLISHED ? -1 : write_line(p, series, look), points = write_points(p, series, look);
    if (points < 0) return;
    if (line >= 0) {
        snprintf(how, sizeof how, "1:2 with lines lw %s %s", look == COMPOSE_MEASURED ? "1.6" : "1.3",
                 compose_look_dash(c, series, look));
        add_plot(p, count, line, how, colour);
    }
    if (look == COMPOSE_MEASURED || look == COMPOSE_PUBLISHED) {
        snprintf(how, sizeof how, "1:%s:(0):($4-$3) with vectors heads size screen 0.005,90 fixed lw 1.2",
                 look == COMPOSE_MEASURED ? "3" : error_bar_start(p, (char[64]){0}));
        add_plot(p, count, points, how, colour);
    }
    snprintf(how, sizeof how, "1:2 with points pt %d ps %s lw %s", compose_look_point(series, look),
             compose_look_size(look), look == COMPOSE_PUBLISHED ? "1.6" : "1");
    add_plot(p, count, points, how, colour);
}

static void put_plots(lines_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    int count = 0;
    if (p->c->kind == &report_figure_scaling && ideal_of(p) > 0) {
        dit_buffer_printf(script, "plot %.6g/x with lines dt 2 lw 1.2 lc rgb '#888888'", ideal_of(p) * p->scale.factor);
        count++;
    }
    if (p->c->kind == &report_figure_speedup && is_over_ranks(p->c)) {
        dit_buffer_text(script, "plot x with lines dt 2 lw 1.2 lc rgb '#888888'");
        count++;
    }
    for (int look = 0; look < COMPOSE_LOOK_COUNT; look++) {
        for (int i = 0; i < p->c->grid->series_count; i++) put_look(p, i, (compose_look)look, &count);
    }
    dit_buffer_text(script, count ? "\n" : "plot NaN notitle\n");
}

/* ---- words in a panel -------------------------------------------------------------------------------------------- */

/* The lowest (above: the highest) of the best point and of published ones that its label would cover. */
static double label_height(const lines_panel *p, int cell, bool above)
{
    const report_grid *grid = p->c->grid;
    double height = grid->cells[cell].bar.part[0];
    int first = p->first;
    while (compose_group_end(grid, first) <= cell) first = compose_group_end(grid, first);
    for (int round = 0; round < 2; round++) {
        for (int i = first; i < compose_group_end(grid, first); i++) {
            double other = grid->cells[i].bar.part[0];
            if (!is_drawn(p, &grid->cells[i]) || compose_look_of(&grid->cells[i]) != COMPOSE_PUBLISHED) continue;
            double away = p->log_y ? log(height / other) / log(p->y_most / p->y_least) : (height - other) / p->y_most;
            if (above) away = -away;
            if (away > 0 && away < LINES_LABEL_SHARE) height = other;
        }
    }
    return height;
}

/* Whether a label fits between `height` and the x axis. */
static bool has_room_below(const lines_panel *p, double height)
{
    double share = p->log_y ? log(height * 1.25 / p->y_least) / log(1.6 * p->y_most / p->y_least) : height / p->y_most;
    return share > LINES_LABEL_SHARE / 2;
}

/* The mesh that won a search, beside its point where fewer lines are. */
static void put_winner(const lines_panel *p, int cell)
{
    const report_cell *best = &p->c->grid->cells[cell];
    dit_buffer *script = &p->c->files->script;
    char mesh[REPORT_TAG_TEXT];
    bool last = compose_group_end(p->c->grid, cell) >= p->end, first = place_of(p, cell) == p->x_least;
    bool above = p->c->kind->unit == REPORT_UNIT_FACTOR || !has_room_below(p, label_height(p, cell, false));
    if (!report_case_tag(best->kase, "mesh", mesh, sizeof mesh) || best->kase->world_size == 1) return;
    dit_buffer_text(script, "set label ");
    report_append_quoted(script, mesh);
    const char *side = last ? "right" : first ? "left" : "center";
    canvas_line(script, " at first %.9g,%.6g %s offset 0,%s font ',%d' tc rgb '%s' front", place_of(p, cell),
                label_height(p, cell, above) * p->scale.factor, side, above ? "0.75" : "-0.75", LINES_MARK_FONT,
                compose_series_colour(p->c, best->series_index));
}

/* "OOM" at its place; several at one place stand under each other. */
static void put_oom(const lines_panel *p, int cell, int row)
{
    const report_cell *lacking = &p->c->grid->cells[cell];
    double height = 0.97 - (double)row * LINES_MARK_ROW / LINES_PLOT_HEIGHT;
    bool last = compose_group_end(p->c->grid, cell) >= p->end;
    canvas_line(&p->c->files->script,
                "set label '%s' at first %.9g, graph %.4f %s point pt %d ps 0.7 lc rgb '%s' offset %s,0 font ',%d' tc "
                "rgb '#333333' front",
                compose_oom_word(lacking), place_of(p, cell), height, last ? "right" : "left",
                compose_look_point(lacking->series_index, compose_look_of(lacking)),
                compose_series_colour(p->c, lacking->series_index), last ? "-0.8" : "0.8", LINES_MARK_FONT);
}

static void put_words(const lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i)) {
        int row = 0;
        for (int k = i; k < compose_group_end(grid, i); k++) {
            if (report_cell_is_oom(&grid->cells[k])) put_oom(p, k, row++);
            if (grid->cells[k].best && is_drawn(p, &grid->cells[k])) put_winner(p, k);
        }
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void fill_legend(report_composition *c, report_canvas *canvas)
{
    bool ideal = false;
    for (int i = 0; i < c->grid->series_count; i++) compose_add_series(c, canvas, i, CANVAS_LINE);
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        lines_panel p = open_panel(c, i);
        ideal = ideal || (c->kind == &report_figure_scaling && ideal_of(&p) > 0) ||
                (c->kind == &report_figure_speedup && is_over_ranks(c));
    }
    const canvas_entry entry = {.name = "ideal", .colour = "#888888", .glyph = CANVAS_LINE};
    if (ideal) canvas_add_legend(canvas, &entry);
    compose_add_evidence(c, canvas, CANVAS_LINE);
}

static void set_up_canvas(report_composition *c, report_canvas *canvas)
{
    double words = 0;
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        lines_panel p = open_panel(c, i);
        for (int k = i; k < p.end && p.rotated; k++) {
            words = fmax(words, 0.64 * report_text_width(c->grid->cells[k].x, LINES_TICK_FONT));
        }
    }
    int bottom = words + 14 > LINES_BOTTOM ? (int)words + 14 : LINES_BOTTOM;
    *canvas = (report_canvas){.script = &c->files->script,
                              .id = c->id,
                              .title = c->plot->title,
                              .footer = c->footer,
                              .panels = c->grid->panel_count,
                              .margin_left = LINES_LEFT,
                              .margin_right = LINES_RIGHT,
                              .margin_top = LINES_TOP,
                              .margin_bottom = bottom,
                              .panel_width = LINES_INNER + LINES_LEFT + LINES_RIGHT,
                              .panel_height = LINES_PLOT_HEIGHT + LINES_TOP + bottom};
    fill_legend(c, canvas);
    canvas_layout(canvas);
    c->files->width = canvas->width;
    c->files->height = canvas->height;
}

dit_status compose_lines(report_composition *c)
{
    report_canvas canvas;
    char y_label[COMPOSE_LABEL];
    int index = 0;
    set_up_canvas(c, &canvas);
    canvas_begin(&canvas);
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        lines_panel p = open_panel(c, i);
        compose_y_label(c, p.y_most > 0 ? p.scale.symbol : "no data", y_label);
        canvas_panel(&canvas, index++, c->grid->cells[i].panel, y_label);
        if (p.y_most > 0)
            put_axes(&p);
        else
            put_empty_axes(&c->files->script);
        if (p.y_most > 0) put_words(&p);
        put_plots(&p);
        if (p.y_most > 0 && (p.log_x || p.log_y)) canvas_line(&c->files->script, "unset logscale");
    }
    canvas_end(&canvas);
    return DIT_OK;
}
