#include "reports/layout/compose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BARS_WIDTH = 32, /* of one bar, when there is room          */
    BARS_THINNEST = 8,
    BARS_GAP = 16, /* between groups                          */
    BARS_PLOT_HEIGHT = 220,
    BARS_TICK_FONT = 11,
    BARS_VALUE_FONT = 9,
    BARS_LEFT = 72,
    BARS_OVERHANG = 240, /* the most room for labels at an angle */
    BARS_RIGHT = 14,
    BARS_TOP = 28,
    BARS_INNER_MOST = CANVAS_WIDEST - 20 - BARS_LEFT - BARS_RIGHT,
};

/* Lines across a panel. */
#define CHANCE_DASH   "dt 2"
#define SEEDED_DASH   "dt 3"
#define SEEDED_COLOUR "#b8430f"

/* How the bars of all panels stand; the same for each panel so that widths compare. */
typedef struct {
    double bar;    /* pixels of one bar             */
    bool rotated;  /* group labels stand at an angle */
    double needed; /* inner pixels of the widest panel */
    double longest_label;
} bars_layout;

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static double group_width(const report_grid *grid, int first, int end, const bars_layout *layout)
{
    double bars = compose_slots(grid, first, end) * layout->bar;
    double label = report_text_width(grid->cells[first].x, BARS_TICK_FONT) + 4;
    if (layout->rotated) label = BARS_TICK_FONT + 4;
    return (bars > label ? bars : label) + (layout->rotated ? BARS_GAP / 2 : BARS_GAP);
}

static double panel_needs(const report_grid *grid, int first, int end, const bars_layout *layout)
{
    double needed = 0;
    for (int i = first; i < end; i = compose_group_end(grid, i)) {
        needed += group_width(grid, i, compose_group_end(grid, i), layout);
    }
    return needed;
}

static double widest_panel(const report_grid *grid, const bars_layout *layout)
{
    double widest = 0;
    for (int i = 0; i < grid->count; i = compose_panel_end(grid, i)) {
        double needed = panel_needs(grid, i, compose_panel_end(grid, i), layout);
        if (needed > widest) widest = needed;
    }
    return widest;
}

/* True when labels, not bars, make some group as wide as it is. */
static bool labels_are_wide(const report_grid *grid, const bars_layout *layout)
{
    for (int i = 0; i < grid->count; i = compose_group_end(grid, i)) {
        double bars = compose_slots(grid, i, compose_group_end(grid, i)) * layout->bar;
        if (report_text_width(grid->cells[i].x, BARS_TICK_FONT) > bars) return true;
    }
    return false;
}

/* First straight labels and full bars; then labels at an angle; then thinner bars; then a wider picture. */
static bars_layout plan_bars(const report_grid *grid)
{
    bars_layout layout = {.bar = BARS_WIDTH};
    for (int i = 0; i < grid->count; i++) {
        double width = report_text_width(grid->cells[i].x, BARS_TICK_FONT);
        if (width > layout.longest_label) layout.longest_label = width;
    }
    layout.needed = widest_panel(grid, &layout);
    layout.rotated = layout.needed > BARS_INNER_MOST && labels_are_wide(grid, &layout);
    layout.needed = widest_panel(grid, &layout);
    while (layout.needed > BARS_INNER_MOST && layout.bar > BARS_THINNEST) {
        layout.bar -= 2;
        layout.needed = widest_panel(grid, &layout);
    }
    return layout;
}

static double title_needs(const report_grid *grid)
{
    double widest = 0;
    for (int i = 0; i < grid->count; i = compose_panel_end(grid, i)) {
        double width = report_text_width(grid->cells[i].panel, 12) + 32;
        if (width > widest) widest = width;
    }
    return widest < 460 ? widest : 460;
}

/* Drawn as a hollow point, never as a bar. */
static bool is_published(const report_cell *cell)
{
    return report_case_is_published(cell->kase);
}

static bool part_is_used(const report_grid *grid, int part)
{
    for (int i = 0; i < grid->count; i++) {
        const report_cell *cell = &grid->cells[i];
        if (!is_published(cell) && cell->bar.n > 0 && cell->bar.part[part] > 0) return true;
    }
    return false;
}

static bool has_markers(const report_grid *grid)
{
    for (int i = 0; i < grid->count; i++) {
        if (grid->cells[i].bar.n > 0 && grid->cells[i].bar.has_marker) return true;
    }
    return false;
}

static bool is_seeded(const report_cell *cell)
{
    char weights[REPORT_TAG_TEXT];
    return cell->bar.n > 0 && report_case_tag(cell->kase, "weights", weights, sizeof weights) &&
           strcmp(weights, "seeded") == 0;
}

static bool has_seeded(const report_grid *grid)
{
    for (int i = 0; i < grid->count; i++)
        if (is_seeded(&grid->cells[i])) return true;
    return false;
}

static void fill_legend(const report_composition *c, report_canvas *canvas)
{
    const char *const *parts = c->kind->parts;
    for (int i = 0; parts && parts[i]; i++) {
        compose_look look = c->grid->simulated && !c->grid->measured ? COMPOSE_SIMULATED : COMPOSE_MEASURED;
        const canvas_entry entry = {
            .name = parts[i], .colour = compose_part_colour(c, i), .fill = compose_look_fill(look, 0)};
        if (part_is_used(c->grid, i)) canvas_add_legend(canvas, &entry);
    }
    for (int i = 0; !parts && i < c->grid->series_count; i++) compose_add_series(c, canvas, i, CANVAS_SWATCH);
    const canvas_entry marker = {.name = c->kind->marker, .colour = "#111111", .glyph = CANVAS_MARKER};
    const canvas_entry chance = {
        .name = c->kind->marker, .colour = "#111111", .glyph = CANVAS_LINE, .dash = CHANCE_DASH};
    const canvas_entry seeded = {
        .name = "seeded weights", .colour = SEEDED_COLOUR, .glyph = CANVAS_LINE, .dash = SEEDED_DASH};
    if (marker.name && has_markers(c->grid)) canvas_add_legend(canvas, c->kind->lines ? &chance : &marker);
    if (c->kind->lines && has_seeded(c->grid)) canvas_add_legend(canvas, &seeded);
    compose_add_evidence(c, canvas, CANVAS_SWATCH, true);
}

/* How far labels at an angle, which end under their groups, reach to the left of the first panel's bars. */
static double overhang(const report_grid *grid, const bars_layout *layout)
{
    const double along = 0.77; /* the cosine of the angle */
    double most = 0;
    for (int first = 0; first < grid->count && layout->rotated; first = compose_panel_end(grid, first)) {
        double left = 0;
        for (int i = first; i < compose_panel_end(grid, first); i = compose_group_end(grid, i)) {
            double width = group_width(grid, i, compose_group_end(grid, i), layout);
            most = fmax(most, along * report_text_width(grid->cells[i].x, BARS_TICK_FONT) - left - width / 2);
            left += width;
        }
    }
    return most;
}

static void set_up_canvas(report_composition *c, const bars_layout *layout, report_canvas *canvas)
{
    double inner = layout->needed, title = title_needs(c->grid) - BARS_LEFT - BARS_RIGHT;
    if (inner < title) inner = title;
    if (inner < 200) inner = 200;
    double labels = layout->rotated ? 0.64 * layout->longest_label + 14 : 20;
    *canvas =
        compose_canvas(c, (compose_plot){.width = (int)inner,
                                         .height = BARS_PLOT_HEIGHT,
                                         .left = (int)fmax(BARS_LEFT, fmin(overhang(c->grid, layout), BARS_OVERHANG)),
                                         .right = BARS_RIGHT,
                                         .top = BARS_TOP,
                                         .bottom = (int)labels + 30});
    fill_legend(c, canvas);
    compose_fit(c, canvas);
}

/* ---- one panel --------------------------------------------------------------------------------------------------- */

/* A panel being written: cells first..end, in pixels along x and scaled units along y. */
typedef struct {
    report_composition *c;
    const bars_layout *layout;
    int first, end;
    double inner, slack; /* width, and what each group gets beyond its need */
    report_scale scale;
    double top; /* of the y axis */
    bool empty; /* nothing but gaps: no scale is shown */
} bars_panel;

static double cell_top(const report_cell *cell)
{
    const report_bar *bar = &cell->bar;
    double top = compose_bar_sum(bar);
    if (bar->n == 0) return 0;
    if (bar->has_interval && bar->high > top) top = bar->high;
    if (bar->has_marker && bar->marker > top) top = bar->marker;
    return top;
}

static bars_panel open_panel(report_composition *c, const bars_layout *layout, const report_canvas *canvas, int first)
{
    bars_panel p = {.c = c, .layout = layout, .first = first, .end = compose_panel_end(c->grid, first)};
    int groups = 0;
    double top = 0;
    for (int i = first; i < p.end; i = compose_group_end(c->grid, i)) groups++;
    for (int i = first; i < p.end; i++) top = fmax(top, cell_top(&c->grid->cells[i]));
    p.inner = canvas_inner_width(canvas);
    p.slack = (p.inner - panel_needs(c->grid, first, p.end, layout)) / groups;
    p.scale = report_scale_for(c->kind->unit, top);
    p.top = top > 0 ? top * p.scale.factor * 1.14 : 1;
    p.empty = true;
    for (int i = first; i < p.end; i++) p.empty = p.empty && c->grid->cells[i].bar.n == 0;
    return p;
}

/* Left edge of the group that starts at cell `first`, and its width. */
static double group_left(const bars_panel *p, int first, double *width)
{
    double left = 0;
    int i = p->first;
    for (; i < first; i = compose_group_end(p->c->grid, i)) {
        left += group_width(p->c->grid, i, compose_group_end(p->c->grid, i), p->layout) + p->slack;
    }
    *width = group_width(p->c->grid, i, compose_group_end(p->c->grid, i), p->layout) + p->slack;
    return left;
}

static int group_start(const bars_panel *p, int cell)
{
    int start = p->first;
    while (compose_group_end(p->c->grid, start) <= cell) start = compose_group_end(p->c->grid, start);
    return start;
}

/* Middle of the bar of `cell`. */
static double bar_centre(const bars_panel *p, int cell)
{
    double width;
    int start = group_start(p, cell), end = compose_group_end(p->c->grid, start);
    double left = group_left(p, start, &width);
    int slot = compose_slots(p->c->grid, start, cell + 1) - 1;
    return left + width / 2 + (slot - (compose_slots(p->c->grid, start, end) - 1) / 2.0) * p->layout->bar;
}

/* Writes the block of rectangles of one part (stacked) or one series (grouped) in one look; -1 when it has none. */
static int write_rectangles(bars_panel *p, int which, compose_look look)
{
    const report_grid *grid = p->c->grid;
    bool stacked = p->c->kind->parts != NULL;
    const char *name = stacked ? p->c->kind->parts[which] : grid->series[which];
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &grid->cells[i];
        double base = 0, half = p->layout->bar * 0.44, x = bar_centre(p, i);
        if (cell->bar.n == 0 || compose_look_of(cell) != look) continue;
        if (!stacked && cell->series_index != which) continue;
        for (int part = 0; stacked && part < which; part++) base += cell->bar.part[part];
        double value = cell->bar.part[stacked ? which : 0];
        if (stacked && value == 0) continue;
        if (block < 0) block = compose_block(p->c, name, "x left right bottom top");
        dit_buffer_printf(&p->c->files->data, "%.2f %.2f %.2f %.6g %.6g\n", x, x - half, x + half,
                          base * p->scale.factor, (base + value) * p->scale.factor);
    }
    return block;
}

/* Whiskers; those of few processes (`low_n`) are drawn apart from intervals. */
static int write_intervals(bars_panel *p, bool low_n)
{
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_bar *bar = &p->c->grid->cells[i].bar;
        if (bar->n == 0 || !bar->has_interval || bar->low_n != low_n) continue;
        if (is_published(&p->c->grid->cells[i])) continue;
        if (block < 0)
            block = compose_block(p->c, low_n ? "range, n < 6" : "interval of the median", "x median low high");
        dit_buffer_printf(&p->c->files->data, "%.2f %.6g %.6g %.6g\n", bar_centre(p, i), bar->part[0] * p->scale.factor,
                          bar->low * p->scale.factor, bar->high * p->scale.factor);
    }
    return block;
}

static int write_markers(bars_panel *p)
{
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_bar *bar = &p->c->grid->cells[i].bar;
        if (bar->n == 0 || !bar->has_marker) continue;
        if (block < 0) block = compose_block(p->c, p->c->kind->marker, "left y width 0");
        dit_buffer_printf(&p->c->files->data, "%.2f %.6g %.2f 0\n", bar_centre(p, i) - p->layout->bar * 0.5,
                          bar->marker * p->scale.factor, p->layout->bar);
    }
    return block;
}

/* A line across the panel at the mean of some cells: what their marker is, or what seeded weights reach. */
static int write_line(bars_panel *p, bool of_seeded)
{
    double sum = 0;
    int count = 0;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &p->c->grid->cells[i];
        if (of_seeded ? !is_seeded(cell) : cell->bar.n == 0 || !cell->bar.has_marker) continue;
        sum += of_seeded ? cell->bar.part[0] : cell->bar.marker;
        count++;
    }
    if (!count) return -1;
    int block = compose_block(p->c, of_seeded ? "seeded weights" : p->c->kind->marker, "left y width 0");
    dit_buffer_printf(&p->c->files->data, "0 %.6g %.2f 0\n", sum / count * p->scale.factor, p->inner);
    return block;
}

static void add_plot(dit_buffer *script, int *count, const char *id, int block, const char *how)
{
    if (block < 0) return;
    dit_buffer_printf(script, "%s'%s.dat' index %d using %s", (*count)++ ? ", \\\n     " : "plot ", id, block, how);
}

static void put_lines(bars_panel *p, int *count)
{
    const report_composition *c = p->c;
    add_plot(&c->files->script, count, c->id, write_line(p, false),
             "1:2:3:4 with vectors nohead lw 1.6 " CHANCE_DASH " lc rgb '#111111'");
    add_plot(&c->files->script, count, c->id, write_line(p, true),
             "1:2:3:4 with vectors nohead lw 2 " SEEDED_DASH " lc rgb '" SEEDED_COLOUR "'");
}

/* Published points of one series, in their own colour; of a stacked kind all, since a total is no part. */
static int write_published(bars_panel *p, int series)
{
    int block = -1;
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &p->c->grid->cells[i];
        const report_bar *bar = &cell->bar;
        if (bar->n == 0 || !is_published(cell) || (!p->c->kind->parts && cell->series_index != series)) continue;
        if (block < 0) block = compose_block(p->c, "published", compose_look_columns(COMPOSE_PUBLISHED));
        dit_buffer_printf(&p->c->files->data, "%.2f %.6g %.6g %.6g\n", bar_centre(p, i), bar->part[0] * p->scale.factor,
                          (bar->has_interval ? bar->low : bar->part[0]) * p->scale.factor,
                          (bar->has_interval ? bar->high : bar->part[0]) * p->scale.factor);
    }
    return block;
}

/* Where the number of a bar stands: on its top, or on what is drawn right above it; inside the bar when a published
 * point above it would seem to have that number. */
static double value_height(const bars_panel *p, int cell, bool *inside)
{
    const report_cell *cells = p->c->grid->cells;
    const report_bar *bar = &cells[cell].bar;
    double height = compose_bar_sum(bar), near = 0.07 * p->top / p->scale.factor;
    if (bar->has_interval && bar->high > height) height = bar->high;
    if (bar->has_marker && bar->marker > height - near / 4 && bar->marker < height + near) height = bar->marker;
    for (int i = cell + 1; i < p->end && cells[i].shares; i++) {
        double middle = cells[i].bar.part[0], top = fmax(cell_top(&cells[i]), middle + near / 3);
        *inside = *inside || (middle > height + near / 3 && middle < height + 1.3 * near);
        if (fabs(middle - height) <= near / 2 && !*inside) height = fmax(height, top);
    }
    return height * p->scale.factor;
}

/* Value above the bar, when there is room for one. */
static void put_value(const bars_panel *p, int cell)
{
    const report_bar *bar = &p->c->grid->cells[cell].bar;
    bool shared = p->c->kind->unit == REPORT_UNIT_SECONDS && p->c->grid->cells[cell].kase->oversubscribed;
    char text[REPORT_NUMBER_TEXT];
    double value = compose_bar_sum(bar) * p->scale.factor;
    bool inside = false;
    double height = value_height(p, cell, &inside);
    if (p->layout->bar < 24) return;
    snprintf(text, sizeof text, value >= 100 ? "%.0f" : value < 1 ? "%.2g" : "%.3g", value);
    canvas_line(&p->c->files->script,
                "set label '%s%s%s' at first %.2f,%.6g center offset 0,%s font ',%d' tc rgb '#444444' front", text,
                bar->low_n ? "*" : "", shared ? "†" : "", bar_centre(p, cell), height, inside ? "-0.6" : "0.55",
                BARS_VALUE_FONT);
}

/* The cell whose bar stands where this one's would; itself: there is none. */
static int bar_under(const bars_panel *p, int cell)
{
    int owner = cell;
    while (owner > p->first && p->c->grid->cells[owner].shares) owner--;
    return p->c->grid->cells[owner].bar.n > 0 ? owner : cell;
}

/* A gap says why it is one, along itself; over a bar that stands there, above its number. */
static void put_gap(const bars_panel *p, int cell)
{
    const report_case *kase = p->c->grid->cells[cell].kase;
    int under = bar_under(p, cell);
    bool inside = false;
    const char *code =
        kase->failure.code && kase->failure.code[0] ? kase->failure.code : dit_outcome_name(kase->status);
    char text[40];
    if (report_cell_is_oom(&p->c->grid->cells[cell]))
        snprintf(text, sizeof text, "%s", compose_oom_word(&p->c->grid->cells[cell]));
    else
        snprintf(text, sizeof text, "× %.32s", kase->ok_count ? "no data" : code);
    dit_buffer_text(&p->c->files->script, "set label ");
    report_append_quoted(&p->c->files->script, text);
    if (under != cell)
        canvas_line(&p->c->files->script, " at first %.2f,%.6g center offset 0,1.6 font ',%d' tc rgb '#b04000' front",
                    bar_centre(p, cell), value_height(p, under, &inside), BARS_VALUE_FONT);
    else
        canvas_line(&p->c->files->script,
                    " at first %.2f, graph 0.02 rotate by 90 left font ',%d' tc rgb '#b04000' front",
                    bar_centre(p, cell), BARS_VALUE_FONT);
}

static void put_axes(const bars_panel *p)
{
    const report_grid *grid = p->c->grid;
    dit_buffer *script = &p->c->files->script;
    canvas_line(script, "set xrange [0:%.2f]", p->inner);
    canvas_line(script, "set yrange [0:%.6g]", p->top);
    canvas_line(script, p->empty ? "unset ytics" : "set ytics nomirror out scale 0.4 format '%%g' tc rgb '#222222'");
    dit_buffer_text(script, "set xtics nomirror scale 0 tc rgb '#222222'");
    if (p->layout->rotated) dit_buffer_text(script, " rotate by 40 right");
    dit_buffer_text(script, " (");
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i)) {
        double width, left = group_left(p, i, &width);
        if (i > p->first) dit_buffer_text(script, ", ");
        report_append_quoted(script, grid->cells[i].x[0] ? grid->cells[i].x : " ");
        dit_buffer_printf(script, " %.2f", left + width / 2);
    }
    dit_buffer_text(script, ")\nset label ");
    report_append_quoted(script, report_grid_tag_title(p->c->grid, p->c->plot->x));
    canvas_line(script, " at graph 0.5, graph 0 center offset character 0, -%.1f tc rgb '#222222'",
                p->layout->rotated ? (0.64 * p->layout->longest_label + 30) / 15.0 : 2.4);
}

static void put_rectangles(bars_panel *p, int which, compose_look look, int *count)
{
    const report_composition *c = p->c;
    bool stacked = c->kind->parts != NULL;
    char how[160];
    snprintf(how, sizeof how, "1:5:2:3:4:5 with boxxyerror lc rgb '%s' fs %s",
             stacked ? compose_part_colour(c, which) : compose_series_colour(c, which),
             compose_look_fill(look, stacked ? 0 : compose_series_repeat(c, which)));
    add_plot(&c->files->script, count, c->id, write_rectangles(p, which, look), how);
}

/* Hollow points over the bars, with a white edge so that they are seen on any colour. */
static void put_published(bars_panel *p, int *count)
{
    const report_composition *c = p->c;
    int sets = c->kind->parts ? 1 : c->grid->series_count;
    for (int i = 0; i < sets; i++) {
        int block = write_published(p, i), point = compose_look_point(c->kind->parts ? 0 : i, COMPOSE_PUBLISHED);
        const char *colour = c->kind->parts ? "#111111" : compose_series_colour(c, i);
        char how[200];
        snprintf(how, sizeof how,
                 "1:($4-$3>%.4g?$3:NaN):(0):($4-$3) with vectors heads size first 4,90 fixed lw 1.2 lc rgb '%s'",
                 COMPOSE_POINT_SHARE * p->top, colour);
        add_plot(&c->files->script, count, c->id, block, how);
        snprintf(how, sizeof how, "1:2 with points pt %d ps 1.2 lw 3.6 lc rgb '#ffffff'", point);
        add_plot(&c->files->script, count, c->id, block, how);
        snprintf(how, sizeof how, "1:2 with points pt %d ps 1.1 lw 1.6 lc rgb '%s'", point, colour);
        add_plot(&c->files->script, count, c->id, block, how);
    }
}

static void put_plots(bars_panel *p)
{
    const report_composition *c = p->c;
    dit_buffer *script = &c->files->script;
    int count = 0, colours = 0;
    while (c->kind->parts ? c->kind->parts[colours] != NULL : colours < c->grid->series_count) colours++;
    for (int i = 0; i < colours; i++) {
        put_rectangles(p, i, COMPOSE_MEASURED, &count);
        put_rectangles(p, i, COMPOSE_SIMULATED, &count);
    }
    add_plot(script, &count, c->id, write_intervals(p, false),
             "1:3:(0):($4-$3) with vectors heads size first 4,90 fixed lw 1.4 lc rgb '#111111'");
    add_plot(script, &count, c->id, write_intervals(p, true),
             "1:3:(0):($4-$3) with vectors heads size first 4,90 fixed lw 1 lc rgb '#555555'");
    if (c->kind->lines)
        put_lines(p, &count);
    else
        add_plot(script, &count, c->id, write_markers(p), "1:2:3:4 with vectors nohead lw 2.2 lc rgb '#111111'");
    put_published(p, &count);
    dit_buffer_text(script, count ? "\n" : "plot NaN notitle\n"); /* every case of the panel is a gap */
}

static void write_panel(report_composition *c, const bars_layout *layout, const report_canvas *canvas, int index,
                        int first)
{
    bars_panel p = open_panel(c, layout, canvas, first);
    char y_label[COMPOSE_LABEL];
    compose_y_label(c, p.empty ? "no data" : p.scale.symbol, y_label);
    canvas_panel(canvas, index, c->grid->cells[first].panel, NULL, y_label);
    put_axes(&p);
    for (int i = p.first; i < p.end; i++) {
        if (c->grid->cells[i].bar.n == 0)
            put_gap(&p, i);
        else if (!is_published(&c->grid->cells[i]))
            put_value(&p, i);
    }
    put_plots(&p);
}

dit_status compose_bars(report_composition *c)
{
    bars_layout layout = plan_bars(c->grid);
    report_canvas canvas;
    int index = 0;
    set_up_canvas(c, &layout, &canvas);
    canvas_begin(&canvas);
    for (int i = 0; i < c->grid->count; i = compose_panel_end(c->grid, i)) {
        write_panel(c, &layout, &canvas, index++, i);
    }
    canvas_end(&canvas);
    return DIT_OK;
}
