#include "reports/layout/compose.h"

#include <stdio.h>
#include <string.h>

int compose_panel_end(const report_grid *grid, int first)
{
    int end = first;
    while (end < grid->count && strcmp(grid->cells[end].panel, grid->cells[first].panel) == 0) end++;
    return end;
}

int compose_group_end(const report_grid *grid, int first)
{
    int panel_end = compose_panel_end(grid, first), end = first;
    while (end < panel_end && strcmp(grid->cells[end].x, grid->cells[first].x) == 0) end++;
    return end;
}

int compose_slots(const report_grid *grid, int first, int end)
{
    int slots = 0;
    for (int i = first; i < end; i++) slots += !grid->cells[i].shares;
    return slots;
}

double compose_bar_sum(const report_bar *bar)
{
    double sum = 0;
    for (int i = 0; i < REPORT_PARTS; i++) sum += bar->part[i];
    return sum;
}

int compose_block(report_composition *c, const char *name, const char *columns)
{
    dit_buffer *data = &c->files->data;
    if (c->blocks) dit_buffer_text(data, "\n\n");
    dit_buffer_printf(data, "# index %d: ", c->blocks);
    for (; *name; name++) dit_buffer_char(data, (unsigned char)*name < 0x20 ? ' ' : *name); /* stays one comment line */
    dit_buffer_printf(data, "\n# %s\n", columns);
    return c->blocks++;
}

report_canvas compose_canvas(const report_composition *c, compose_plot plot)
{
    return (report_canvas){.script = &c->files->script,
                           .id = c->id,
                           .style = c->style,
                           .title = c->plot->title,
                           .footer = c->footer,
                           .panels = c->grid->panel_count,
                           .margin_left = plot.left,
                           .margin_right = plot.right,
                           .margin_top = plot.top,
                           .margin_bottom = plot.bottom,
                           .panel_width = plot.width + plot.left + plot.right,
                           .panel_height = plot.height + plot.top + plot.bottom};
}

void compose_fit(report_composition *c, report_canvas *canvas)
{
    canvas_layout(canvas);
    c->files->width = canvas->width;
    c->files->height = canvas->height;
}

void compose_y_label(const report_composition *c, const char *symbol, char out[COMPOSE_LABEL])
{
    snprintf(out, COMPOSE_LABEL, symbol[0] ? "%s [%s]" : "%s", c->kind->y_label, symbol);
}

enum { POINT_TYPES = 6 };

static bool is_taken(const report_composition *c, const char *colour)
{
    for (int i = 0; i < COMPOSE_COLOURS && i < c->grid->series_count; i++) {
        if (c->colours[i] && strcmp(c->colours[i], colour) == 0) return true;
    }
    return false;
}

/* Returns the colour of the method that the series' name begins with; NULL for other names, and where so many series
 * before it have the colour that its points would look like those of one of them. */
static const char *known_colour(const report_composition *c, int series)
{
    char method[64];
    int before = 0;
    snprintf(method, sizeof method, "%.*s", (int)strcspn(c->grid->series[series], " "), c->grid->series[series]);
    const char *colour = report_colour_known(method);
    for (int i = 0; i < series && colour; i++) before += c->colours[i] && strcmp(c->colours[i], colour) == 0;
    return before < POINT_TYPES ? colour : NULL;
}

/* First the names we know, so that a method looks the same in every figure; then what is left of the palette. */
static void choose_colours(report_composition *c)
{
    int count = c->grid->series_count < COMPOSE_COLOURS ? c->grid->series_count : COMPOSE_COLOURS;
    for (int i = 0; i < count; i++) c->colours[i] = known_colour(c, i);
    for (int i = 0; i < count; i++) {
        int position = 0;
        while (!c->colours[i] && position < 8 && is_taken(c, report_colour_at(position))) position++;
        if (!c->colours[i]) c->colours[i] = report_colour_at(position < 8 ? position : i);
    }
}

int compose_series_repeat(const report_composition *c, int series)
{
    int repeat = 0;
    for (int i = 0; i < series; i++) {
        if (compose_series_look(c, i) != compose_series_look(c, series)) continue; /* they differ already */
        repeat += strcmp(compose_series_colour(c, i), compose_series_colour(c, series)) == 0;
    }
    return repeat;
}

const char *compose_series_colour(const report_composition *c, int series)
{
    return series < COMPOSE_COLOURS ? c->colours[series] : report_colour_at(series);
}

int compose_point_type(int series)
{
    static const int types[POINT_TYPES] = {7, 5, 9, 13, 11, 15};
    return types[series % POINT_TYPES];
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

compose_look compose_look_of(const report_cell *cell)
{
    if (report_case_is_published(cell->kase)) return COMPOSE_PUBLISHED;
    if (!report_case_is_simulated(cell->kase)) return COMPOSE_MEASURED;
    return cell->best ? COMPOSE_BEST : COMPOSE_SIMULATED;
}

int compose_look_point(int series, compose_look look)
{
    int solid = compose_point_type(series);
    return look == COMPOSE_PUBLISHED ? solid - 1 : solid; /* gnuplot's hollow shape comes before its solid one */
}

const char *compose_look_size(compose_look look)
{
    static const char *const sizes[COMPOSE_LOOK_COUNT] = {"0.9", "0.45", "0.45", "1.1"};
    return sizes[look];
}

const char *compose_look_dash(const report_composition *c, int series, compose_look look)
{
    if (look == COMPOSE_BEST) return "dt (2,4)";
    return look == COMPOSE_MEASURED ? canvas_dash(compose_series_repeat(c, series)) : canvas_dash(0);
}

const char *compose_look_columns(compose_look look)
{
    static const char *const columns[COMPOSE_LOOK_COUNT] = {"x median low high; measured", "x value; simulated",
                                                            "x value; simulated, best of a search",
                                                            "x value low high; published"};
    return columns[look];
}

const char *compose_look_fill(compose_look look, int repeat)
{
    return look == COMPOSE_MEASURED ? canvas_fill(repeat) : canvas_pale_fill(repeat);
}

const char *compose_oom_word(const report_cell *cell)
{
    return report_case_is_published(cell->kase) ? "(OOM)" : "OOM";
}

compose_look compose_series_look(const report_composition *c, int series)
{
    for (int i = 0; i < c->grid->count; i++) {
        const report_cell *cell = &c->grid->cells[i];
        if (cell->series_index == series && !report_case_is_published(cell->kase)) return compose_look_of(cell);
    }
    return COMPOSE_PUBLISHED;
}

/* "ranks 4": a number says nothing by itself. */
static const char *name_series(const report_composition *c, report_canvas *canvas, int series)
{
    const char *name = c->grid->series[series];
    char *room = canvas->names[canvas->legend_count];
    if (!*name || name[strspn(name, "0123456789.")]) return name;
    snprintf(room, sizeof canvas->names[0], "%.60s %.30s", report_grid_tag_title(c->grid, c->plot->series), name);
    return room;
}

/* Whether some cell of the series is drawn, as a number or as a lack of memory. */
static bool is_visible(const report_composition *c, int series)
{
    for (int i = 0; i < c->grid->count; i++) {
        const report_cell *cell = &c->grid->cells[i];
        if (cell->series_index == series && (cell->bar.n > 0 || report_cell_is_oom(cell))) return true;
    }
    return false;
}

void compose_add_series(const report_composition *c, report_canvas *canvas, int series, canvas_glyph glyph)
{
    if (!is_visible(c, series)) return;
    compose_look look = compose_series_look(c, series);
    const canvas_entry entry = {.name = name_series(c, canvas, series),
                                .colour = compose_series_colour(c, series),
                                .glyph = glyph == CANVAS_LINE && look == COMPOSE_PUBLISHED ? CANVAS_POINT : glyph,
                                .point = compose_look_point(series, look),
                                .size = compose_look_size(look),
                                .dash = compose_look_dash(c, series, look),
                                .fill = compose_look_fill(look, compose_series_repeat(c, series))};
    canvas_add_legend(canvas, &entry);
}

static bool has_oom(const report_composition *c, bool published)
{
    for (int i = 0; i < c->grid->count; i++) {
        const report_cell *cell = &c->grid->cells[i];
        if (report_cell_is_oom(cell) && report_case_is_published(cell->kase) == published) return true;
    }
    return false;
}

static void add_look(report_canvas *canvas, const char *name, compose_look look, canvas_glyph glyph)
{
    const canvas_entry entry = {.name = name,
                                .colour = "#555555",
                                .glyph = glyph,
                                .point = compose_look_point(0, look),
                                .size = compose_look_size(look),
                                .dash = canvas_dash(0),
                                .fill = compose_look_fill(look, 0)};
    canvas_add_legend(canvas, &entry);
}

const char *compose_panel_note(const report_grid *grid, int first)
{
    int end = compose_panel_end(grid, first);
    if (!grid->published) return NULL;
    for (int i = first; i < end; i++)
        if (report_case_is_published(grid->cells[i].kase)) return NULL;
    return "no published points";
}

void compose_add_evidence(const report_composition *c, report_canvas *canvas, canvas_glyph glyph, bool errors)
{
    const report_grid *grid = c->grid;
    const canvas_entry oom = {.name = "OOM: out of memory", .colour = "#555555", .glyph = CANVAS_POINT},
                       printed = {
                           .name = "(OOM): out of memory, published", .colour = "#555555", .glyph = CANVAS_POINT};
    if (!grid->simulated && !grid->published) return;
    if (grid->measured) add_look(canvas, "measured", COMPOSE_MEASURED, glyph);
    if (grid->simulated) add_look(canvas, "simulated", COMPOSE_SIMULATED, glyph);
    const char *published = errors ? "published, with reading error" : "published";
    if (grid->published) add_look(canvas, published, COMPOSE_PUBLISHED, CANVAS_POINT);
    if (has_oom(c, false)) canvas_add_legend(canvas, &oom);
    if (has_oom(c, true)) canvas_add_legend(canvas, &printed);
}

const char *compose_part_colour(const report_composition *c, int part)
{
    const char *colour = report_colour_known(c->kind->parts[part]);
    return colour ? colour : report_colour_at(part);
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void csv_number(dit_buffer *csv, bool present, double value)
{
    dit_buffer_char(csv, ',');
    if (present) dit_buffer_printf(csv, "%.9g", value);
}

static void csv_text(dit_buffer *csv, const char *text)
{
    dit_buffer_char(csv, ',');
    report_append_csv(csv, text);
}

static void csv_head(const report_composition *c, dit_buffer *csv)
{
    dit_buffer_text(csv, "panel,x,series,case_id,label,evidence,status,n");
    if (!c->kind->parts) csv_text(csv, "median");
    for (const char *const *part = c->kind->parts; part && *part; part++) csv_text(csv, *part);
    dit_buffer_text(csv, ",low,high,low_n");
    if (c->kind->marker) csv_text(csv, c->kind->marker);
    if (c->kind->drawing == REPORT_DRAW_AGREEMENT) dit_buffer_text(csv, ",reference,reference_evidence");
    if (c->kind->drawing == REPORT_DRAW_PARETO)
        dit_buffer_printf(csv, ",%s", report_metric_get(report_pareto_cost(c->plot))->name);
    dit_buffer_text(csv, ",unit,reason\n");
}

static void csv_row(const report_composition *c, const report_cell *cell, dit_buffer *csv)
{
    const report_bar *bar = &cell->bar;
    bool published = report_case_is_published(cell->kase); /* one number, whatever its parts */
    int part_count = 1;
    while (c->kind->parts && c->kind->parts[part_count]) part_count++;
    report_append_csv(csv, cell->panel);
    csv_text(csv, cell->x);
    csv_text(csv, cell->series);
    csv_text(csv, cell->kase->case_id);
    csv_text(csv, cell->kase->label);
    csv_text(csv, cell->kase->evidence);
    csv_text(csv, dit_outcome_name(cell->kase->status));
    dit_buffer_printf(csv, ",%d", bar->n);
    for (int i = 0; i < part_count; i++) csv_number(csv, bar->n > 0 && (i == 0 || !published), bar->part[i]);
    csv_number(csv, bar->n > 0 && bar->has_interval, bar->low);
    csv_number(csv, bar->n > 0 && bar->has_interval, bar->high);
    csv_text(csv, bar->n == 0 || !bar->has_interval ? "" : bar->low_n ? "true" : "false");
    if (c->kind->marker) csv_number(csv, bar->has_marker, bar->marker);
    if (c->kind->drawing == REPORT_DRAW_AGREEMENT) {
        csv_number(csv, true, cell->x_number);
        csv_text(csv, cell->twin ? cell->twin->evidence : "published");
    }
    const dit_summary *cost = &cell->kase->metric[report_pareto_cost(c->plot)];
    if (c->kind->drawing == REPORT_DRAW_PARETO) csv_number(csv, cost->n > 0, cost->median);
    csv_text(csv, report_unit_name(c->kind->unit));
    csv_text(csv, bar->reason);
    dit_buffer_char(csv, '\n');
}

dit_status report_figure_compose(const report_grid *grid, const report_plot *plot, const report_figure_kind *kind,
                                 const char *id, const char *footer, const report_style *style,
                                 report_figure_files *out)
{
    report_composition c = {
        .grid = grid, .plot = plot, .kind = kind, .id = id, .footer = footer, .style = style, .files = out};
    *out = (report_figure_files){0};
    choose_colours(&c);
    csv_head(&c, &out->csv);
    for (int i = 0; i < grid->count; i++) csv_row(&c, &grid->cells[i], &out->csv);
    static dit_status (*const compose[])(report_composition *) = {
        [REPORT_DRAW_BARS] = compose_bars,           [REPORT_DRAW_LINES] = compose_lines,
        [REPORT_DRAW_AGREEMENT] = compose_agreement, [REPORT_DRAW_ERROR] = compose_error,
        [REPORT_DRAW_TIMELINE] = compose_timeline,   [REPORT_DRAW_SCHEDULE] = compose_schedule,
        [REPORT_DRAW_PARETO] = compose_pareto,       [REPORT_DRAW_HEATMAP] = compose_heatmap,
        [REPORT_DRAW_PROFILE] = compose_profile,     [REPORT_DRAW_CONTACT] = compose_contact,
        [REPORT_DRAW_DECISIONS] = compose_decisions,
    };
    dit_status st = compose[kind->drawing](&c);
    if (st == DIT_OK && (out->data.failed || out->script.failed || out->csv.failed)) {
        st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", id);
    }
    if (st != DIT_OK) report_figure_files_release(out);
    return st;
}
