#include "reports/drawings/lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LINES_INNER = 300,
    LINES_INNER_LEAST = 150,
    LINES_PLOT_HEIGHT = 240,
    LINES_NAME_ROOM = 20, /* below ticks and meshes: what x is */
    LINES_TICK_GAP = 12,
    LINES_PLACES = 12, /* that an even axis holds by itself */
};

static const double LINES_OUTLIER = 1.5;  /* times everything below: cut off */
static const double LINES_OUTLIERS = 0.1; /* of a panel's points, but one at least */

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool is_over_ranks(const report_composition *c)
{
    return strcmp(c->plot->x, "world_size") == 0;
}

bool lines_is_drawn(const lines_panel *p, const report_cell *cell)
{
    return cell->bar.n > 0 && (p->named || !p->log_x || cell->x_number > 0);
}

bool lines_is_cut(const lines_panel *p, const report_cell *cell)
{
    return cell->bar.part[0] >= p->cut;
}

bool lines_has_mesh_row(const lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i)) {
        int best = 0;
        for (int k = i; k < compose_group_end(grid, i); k++) best += grid->cells[k].best;
        if (best > 1) return false;
    }
    return (p->even || p->named) && !p->rotated;
}

double lines_place_of(const lines_panel *p, int cell)
{
    const report_grid *grid = p->c->grid;
    int place = 1;
    if (!p->named && !p->even) return grid->cells[cell].x_number;
    for (int i = p->first; compose_group_end(grid, i) <= cell; i = compose_group_end(grid, i)) place++;
    return place;
}

static double share_of(double value, double from, double to, bool logarithmic)
{
    return logarithmic ? log(value / from) / log(to / from) : (value - from) / (to - from);
}

double lines_across(const lines_panel *p, double place)
{
    return p->width * share_of(place, p->x_from, p->x_to, p->log_x);
}

double lines_down(const lines_panel *p, double value)
{
    return p->height * (1 - share_of(value * p->scale.factor, p->y_from, p->y_to, p->log_y));
}

/* ---- what a panel holds ------------------------------------------------------------------------------------------ */

static bool is_logarithmic(const report_composition *c)
{
    return c->kind == &report_figure_scaling || (c->plot->axis && strcmp(c->plot->axis, "log") == 0);
}

/* Few counts that grow by factors, as devices do, stand evenly unless the plot says otherwise. */
static bool counts_grow(const lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    double least = INFINITY, most = 0;
    int places = 0;
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i), places++) {
        double x = grid->cells[i].x_number;
        if (x < 1 || x != floor(x)) return false;
        least = fmin(least, x), most = fmax(most, x);
    }
    return places <= LINES_PLACES && most >= 4 * least;
}

static void find_kind_of_x(lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    const char *axis = p->c->plot->axis;
    p->log_x = p->log_y = is_logarithmic(p->c);
    for (int i = p->first; i < p->end; i++) p->named = p->named || !isfinite(grid->cells[i].x_number);
    if (strncmp(p->c->plot->x, "mesh", 4) == 0) p->named = true;
    for (int i = p->first; i < p->end; i++) p->log_x = p->log_x && !p->named && grid->cells[i].x_number > 0;
    if (p->named || p->log_x) return;
    p->even = axis ? strcmp(axis, "even") == 0 : counts_grow(p);
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

/* A published point, the one-rank case and the best are what a picture is for: their axis holds them. */
static bool may_be_cut(const lines_panel *p, const report_cell *cell)
{
    bool wanted = report_case_is_published(cell->kase) || cell->best || cell->kase->world_size == 1;
    return lines_is_drawn(p, cell) && !wanted;
}

/* The least number above `floor` of the points that may be cut; INFINITY without one. */
static double next_above(const lines_panel *p, double floor)
{
    double next = INFINITY;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &p->c->grid->cells[i];
        if (may_be_cut(p, cell) && cell->bar.part[0] > floor) next = fmin(next, cell->bar.part[0]);
    }
    return next;
}

/* Whether the points from `value` on are few enough to leave the axis. */
static bool are_few(const lines_panel *p, double value)
{
    int drawn = 0, above = 0;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &p->c->grid->cells[i];
        drawn += lines_is_drawn(p, cell);
        above += lines_is_drawn(p, cell) && cell->bar.part[0] >= value;
    }
    return above <= fmax(1, LINES_OUTLIERS * drawn);
}

/* The few highest points leave the axis to the others when a gap lies below them. */
static double find_cut(const lines_panel *p)
{
    double kept = 0;
    if (p->log_y || p->c->kind->unit == REPORT_UNIT_FACTOR) return INFINITY;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &p->c->grid->cells[i];
        if (lines_is_drawn(p, cell) && !may_be_cut(p, cell)) kept = fmax(kept, cell->bar.part[0]);
    }
    if (kept == 0) kept = next_above(p, 0);
    for (double next; isfinite(next = next_above(p, kept)); kept = next)
        if (next >= LINES_OUTLIER * kept && are_few(p, next)) return next;
    return INFINITY;
}

static void measure_words(lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    double needed = 0;
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i)) {
        needed += report_text_width(grid->cells[i].x, LINES_TICK_FONT) + 6;
    }
    p->rotated = p->named && needed > p->width;
}

static void choose_ranges(lines_panel *p)
{
    double margin = p->named || p->even ? 0.5 : p->x_most > p->x_least ? 0.07 * (p->x_most - p->x_least) : 0.5;
    double factor = p->scale.factor;
    p->x_from = p->log_x ? p->x_least * 0.85 : p->x_least - margin;
    p->x_to = p->log_x ? p->x_most * 1.18 : p->x_most + margin;
    p->y_from = p->log_y ? p->y_least * factor / 1.25 : 0;
    p->y_to = p->y_most * factor * (p->log_y ? 1.25 : isfinite(p->cut) ? 1.2 : 1.1);
}

/* A panel whose plot is `width` x `height` pixels. */
static lines_panel open_panel(report_composition *c, int first, int width, int height)
{
    lines_panel p = {.c = c, .first = first, .end = compose_panel_end(c->grid, first), .start = {-1, -1}};
    p.width = width, p.height = height;
    find_kind_of_x(&p);
    measure_words(&p);
    p.cut = find_cut(&p);
    p.x_least = INFINITY;
    for (int i = first; i < p.end; i++) {
        const report_cell *cell = &c->grid->cells[i];
        double x = lines_place_of(&p, i);
        if (!lines_is_drawn(&p, cell) && !report_cell_is_oom(cell)) continue;
        p.x_least = fmin(p.x_least, x), p.x_most = fmax(p.x_most, x);
        if (lines_is_drawn(&p, cell) && !lines_is_cut(&p, cell)) extend_y(&p, cell);
        note_start(&p, i);
    }
    if (c->kind == &report_figure_scaling) p.x_least = 1, p.x_most = fmax(p.x_most, 1);
    if (c->kind == &report_figure_scaling && ideal_of(&p) > 0) p.y_least = fmin(p.y_least, ideal_of(&p) / p.x_most);
    if (c->kind == &report_figure_product) p.y_most = fmax(p.y_most, 1), p.y_least = fmin(p.y_least, 1);
    p.scale = report_scale_for(c->kind->unit, p.y_most);
    choose_ranges(&p);
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

/* The step of ticks from 0 to `most`: 1, 2 or 5 times a power of ten, no more than a tick each 32 pixels. */
static double tick_step(double most, int pixels)
{
    static const double steps[] = {1, 2, 5};
    double ticks = fmax(pixels / 32, 2), decade = pow(10, floor(log10(most / ticks)));
    for (int i = 0; i < 3; i++)
        if (most / (steps[i] * decade) <= ticks) return steps[i] * decade;
    return 10 * decade;
}

/* Pixels of the widest word at a tick of the y axis. */
static double tick_width(const lines_panel *p)
{
    double widest = 0, step = tick_step(p->y_to, p->height);
    char text[REPORT_NUMBER_TEXT];
    if (p->log_y) return report_text_width("0000", LINES_TICK_FONT);
    for (int i = 0; i * step <= p->y_to; i++) {
        snprintf(text, sizeof text, "%.4g", i * step);
        widest = fmax(widest, report_text_width(text, LINES_TICK_FONT));
    }
    return widest;
}

static void put_even_ticks(const lines_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    double step = tick_step(p->y_to, p->height);
    dit_buffer_text(script, "set ytics nomirror out scale 0.4 tc rgb '#222222' (");
    for (int i = 0; i * step <= p->y_to; i++)
        dit_buffer_printf(script, "%s'%.4g' %.9g", i ? ", " : "", i * step, i * step);
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
        dit_buffer_printf(script, " %.9g", lines_place_of(p, i));
    }
    dit_buffer_text(script, ")\n");
}

/* `below`: pixels under the plot. */
static void put_x_axis(const lines_panel *p, int below)
{
    dit_buffer *script = &p->c->files->script;
    canvas_line(script, "set xrange [%.9g:%.9g]", p->x_from, p->x_to);
    if (p->c->kind == &report_figure_scaling)
        put_log_ticks(script, "x", 1, p->x_most);
    else
        put_place_ticks(p);
    if (p->rotated) return; /* long words leave no room for the axis's own */
    dit_buffer_text(script, "set label ");
    report_append_quoted(script, report_grid_tag_title(p->c->grid, p->c->plot->x));
    canvas_line(script, " at graph 0.5, graph %.4f center tc rgb '#222222' front",
                -(double)(below - LINES_NAME_ROOM / 2) / p->height);
}

static void put_axes(const lines_panel *p, int below)
{
    dit_buffer *script = &p->c->files->script;
    if (p->log_x || p->log_y) canvas_line(script, "set logscale %s%s 2", p->log_x ? "x" : "", p->log_y ? "y" : "");
    put_x_axis(p, below);
    canvas_line(script, "set yrange [%.6g:%.6g]", p->y_from, p->y_to);
    if (p->log_y)
        put_log_ticks(script, "y", p->y_from, p->y_to);
    else
        put_even_ticks(p);
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

void lines_walk(const lines_panel *p, int series, compose_look look, lines_visit visit, void *context)
{
    const report_grid *grid = p->c->grid;
    int before = -1, start = p->start[look != COMPOSE_MEASURED];
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &grid->cells[i];
        if (!lines_is_drawn(p, cell) || !is_of(cell, series, look)) continue;
        if (before < 0 && start >= 0 && cell->x_number > 1) visit(context, p, before = start, true);
        visit(context, p, i, before < 0 || skips_a_place(p, before, i));
        before = i;
    }
}

/* A line as a data block; -1 while it has no point. */
typedef struct {
    const char *name;
    int block;
} line_block;

static void write_vertex(void *context, const lines_panel *p, int cell, bool breaks)
{
    line_block *line = context;
    dit_buffer *data = &p->c->files->data;
    bool first = line->block < 0;
    if (first) line->block = compose_block(p->c, line->name, "x y; a line");
    if (breaks && !first) dit_buffer_text(data, "\n");
    dit_buffer_printf(data, "%.9g %.6g\n", lines_place_of(p, cell),
                      p->c->grid->cells[cell].bar.part[0] * p->scale.factor);
}

static int write_line(lines_panel *p, int series, compose_look look)
{
    line_block line = {p->c->grid->series[series], -1};
    lines_walk(p, series, look, write_vertex, &line);
    return line.block;
}

static int write_points(lines_panel *p, int series, compose_look look)
{
    const report_grid *grid = p->c->grid;
    double factor = p->scale.factor;
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &grid->cells[i];
        const report_bar *bar = &cell->bar;
        if (!lines_is_drawn(p, cell) || lines_is_cut(p, cell) || !is_of(cell, series, look)) continue;
        bool interval = bar->has_interval || look == COMPOSE_MEASURED;
        if (block < 0) block = compose_block(p->c, grid->series[series], compose_look_columns(look));
        dit_buffer_printf(&p->c->files->data, "%.9g %.6g %.6g %.6g\n", lines_place_of(p, i), bar->part[0] * factor,
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

/* The shortest error bar that a hollow point does not hide: a length, on a logarithmic axis a ratio. */
static double least_error(const lines_panel *p)
{
    double ratio = p->y_least > 0 ? p->y_most / p->y_least : 1;
    return p->log_y ? pow(1.5 * ratio, COMPOSE_POINT_SHARE) : COMPOSE_POINT_SHARE * p->y_most * p->scale.factor;
}

static bool shows_error(const lines_panel *p, const report_cell *cell)
{
    const report_bar *bar = &cell->bar;
    if (!report_case_is_published(cell->kase) || !lines_is_drawn(p, cell) || !bar->has_interval) return false;
    double shown = p->log_y ? bar->high / bar->low : (bar->high - bar->low) * p->scale.factor;
    return shown > least_error(p);
}

/* gnuplot's words for where an error bar begins: nowhere when the point hides it. `out` holds 64 bytes. */
static const char *error_bar_start(const lines_panel *p, char *out)
{
    const char *format = p->log_y ? "($4/$3>%.4g?$3:NaN)" : "($4-$3>%.4g?$3:NaN)";
    snprintf(out, 64, format, least_error(p));
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

/* As many times faster as there are devices: straight where the axis is to scale. */
static int write_ideal(const lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    int block = compose_block(p->c, "ideal", "x y; a line");
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i))
        dit_buffer_printf(&p->c->files->data, "%.9g %.6g\n", lines_place_of(p, i),
                          grid->cells[i].x_number * p->scale.factor);
    return block;
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
        dit_buffer_printf(script, "plot '%s.dat' index %d using 1:2 with lines dt 2 lw 1.2 lc rgb '#888888'", p->c->id,
                          write_ideal(p));
        count++;
    }
    if (p->c->kind == &report_figure_product) {
        dit_buffer_printf(script, "plot %.6g with lines dt 2 lw 1.2 lc rgb '#888888'", p->scale.factor);
        count++;
    }
    for (int look = 0; look < COMPOSE_LOOK_COUNT; look++) {
        for (int i = 0; i < p->c->grid->series_count; i++) put_look(p, i, (compose_look)look, &count);
    }
    dit_buffer_text(script, count ? "\n" : "plot NaN notitle\n");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void fill_legend(report_composition *c, report_canvas *canvas)
{
    bool ideal = false, errors = false;
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        lines_panel p = open_panel(c, i, LINES_INNER, LINES_PLOT_HEIGHT);
        ideal = ideal || (c->kind == &report_figure_scaling && ideal_of(&p) > 0) ||
                (c->kind == &report_figure_speedup && is_over_ranks(c)) || c->kind == &report_figure_product;
        for (int k = i; k < p.end; k++) errors = errors || shows_error(&p, &c->grid->cells[k]);
    }
    for (int i = 0; i < c->grid->series_count; i++) compose_add_series(c, canvas, i, CANVAS_LINE);
    const canvas_entry entry = {.name = "ideal", .colour = "#888888", .glyph = CANVAS_LINE};
    if (ideal) canvas_add_legend(canvas, &entry);
    compose_add_evidence(c, canvas, CANVAS_LINE, errors);
}

/* Room around the plots, for the longest words of any panel when a plot is `inner` pixels wide. */
static void choose_margins(report_composition *c, report_canvas *canvas, int inner)
{
    double left = 0, words = 0;
    int rows = 0;
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        lines_panel p = open_panel(c, i, inner, LINES_PLOT_HEIGHT);
        for (int k = i; k < p.end && p.rotated; k++)
            words = fmax(words, 0.64 * report_text_width(c->grid->cells[k].x, LINES_TICK_FONT));
        if (!(p.y_most > 0)) continue;
        int needed = lines_mesh_rows(&p);
        left = fmax(left, tick_width(&p));
        rows = needed > rows ? needed : rows;
    }
    if (rows) left = fmax(left, report_text_width("best", LINES_MARK_FONT));
    canvas->margin_left = (int)left + LINES_TICK_GAP + (canvas->y_label ? 0 : CANVAS_LABEL);
    canvas->margin_bottom = words > 0 ? (int)words + 14 : LINES_TICK_ROOM + rows * LINES_MARK_ROW + LINES_NAME_ROOM;
    canvas->panel_height = LINES_PLOT_HEIGHT + LINES_TOP + canvas->margin_bottom;
}

/* One label for all panels whose numbers have one unit; NULL otherwise. */
static const char *shared_label(report_composition *c, char label[COMPOSE_LABEL])
{
    const char *symbol = NULL;
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        lines_panel p = open_panel(c, i, LINES_INNER, LINES_PLOT_HEIGHT);
        if (!(p.y_most > 0) || (symbol && strcmp(symbol, p.scale.symbol) != 0)) return NULL;
        symbol = p.scale.symbol;
    }
    compose_y_label(c, symbol ? symbol : "", label);
    return label;
}

static void set_up_canvas(report_composition *c, report_canvas *canvas, char label[COMPOSE_LABEL])
{
    *canvas = compose_canvas(c, (compose_plot){.width = LINES_INNER, .right = LINES_RIGHT, .top = LINES_TOP});
    canvas->y_label = shared_label(c, label);
    choose_margins(c, canvas, LINES_INNER);
    canvas->panel_width = LINES_INNER + canvas->margin_left + LINES_RIGHT;
    canvas->panel_least = LINES_INNER_LEAST + canvas->margin_left + LINES_RIGHT;
    fill_legend(c, canvas);
    report_canvas first = *canvas;
    canvas_layout(&first); /* tells how wide a plot becomes, and so how often its words break */
    choose_margins(c, canvas, canvas_inner_width(&first));
    compose_fit(c, canvas);
}

static void write_panel(report_composition *c, const report_canvas *canvas, int index, int first)
{
    lines_panel p = open_panel(c, first, canvas_inner_width(canvas), canvas_inner_height(canvas));
    char y_label[COMPOSE_LABEL];
    compose_y_label(c, p.y_most > 0 ? p.scale.symbol : "no data", y_label);
    canvas_panel(canvas, index, c->grid->cells[first].panel, compose_panel_note(c->grid, first), y_label);
    if (p.y_most > 0)
        put_axes(&p, canvas->margin_bottom);
    else
        put_empty_axes(&c->files->script);
    if (p.y_most > 0) lines_put_words(&p);
    put_plots(&p);
    if (p.y_most > 0 && (p.log_x || p.log_y)) canvas_line(&c->files->script, "unset logscale");
}

dit_status compose_lines(report_composition *c)
{
    report_canvas canvas;
    char label[COMPOSE_LABEL];
    int index = 0;
    set_up_canvas(c, &canvas, label);
    canvas_begin(&canvas);
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) write_panel(c, &canvas, index++, i);
    canvas_end(&canvas);
    return DIT_OK;
}
