/* The words of a panel of lines: the number of the best point at each place, the mesh that gave it, cases that lacked
 * memory, points beyond the axis. */
#include "reports/layout/labels.h"
#include "reports/drawings/lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_ROW = 11, WORDS_HEIGHT = 11, WORDS_ARROW = 16, WORDS_NEAR = 12 };

/* ---- what is in the way ------------------------------------------------------------------------------------------ */

typedef struct {
    labels_field *field;
    double x, y;
} pen;

static void draw_to(void *context, const lines_panel *p, int cell, bool breaks)
{
    pen *at = context;
    double x = lines_across(p, lines_place_of(p, cell)), y = lines_down(p, p->c->grid->cells[cell].bar.part[0]);
    if (!breaks) labels_add_segment(at->field, at->x, at->y, x, y);
    at->x = x, at->y = y;
}

static void fill_field(const lines_panel *p, labels_field *field)
{
    field->width = p->width, field->height = p->height;
    for (int look = 0; look < COMPOSE_PUBLISHED; look++) {
        for (int series = 0; series < p->c->grid->series_count; series++) {
            pen at = {.field = field};
            lines_walk(p, series, (compose_look)look, draw_to, &at);
        }
    }
    for (int i = p->first; i < p->end; i++) {
        const report_cell *cell = &p->c->grid->cells[i];
        if (!lines_is_drawn(p, cell) || lines_is_cut(p, cell)) continue;
        labels_add_point(field, lines_across(p, lines_place_of(p, i)), lines_down(p, cell->bar.part[0]),
                         compose_look_of(cell) == COMPOSE_MEASURED || compose_look_of(cell) == COMPOSE_PUBLISHED ? 6
                                                                                                                 : 3);
    }
}

/* ---- words at pixels --------------------------------------------------------------------------------------------- */

static void put_at(const lines_panel *p, const char *text, double across, double down, const char *side)
{
    dit_buffer *script = &p->c->files->script;
    dit_buffer_text(script, "set label ");
    report_append_quoted(script, text);
    canvas_line(script, " at graph %.4f, graph %.4f %s font ',%d' tc rgb '#333333' front", across / p->width,
                1 - down / p->height, side, LINES_MARK_FONT);
}

/* A word that found no place near its point is tied to it. */
static void put_leader(const lines_panel *p, labels_field *field, const labels_box *box, double x, double y)
{
    double from_x = fmin(fmax(x, box->left), box->right), from_y = fmin(fmax(y, box->top), box->bottom);
    if (hypot(x - from_x, y - from_y) < WORDS_NEAR) return;
    labels_add_segment(field, from_x, from_y, x, y);
    canvas_line(&p->c->files->script,
                "set arrow from graph %.4f, graph %.4f to graph %.4f, graph %.4f nohead lw 0.6 lc rgb '#888888' front",
                from_x / p->width, 1 - from_y / p->height, x / p->width, 1 - y / p->height);
}

static void put_beside(const lines_panel *p, labels_field *field, int cell, const char *text, bool needed)
{
    labels_box box;
    double x = lines_across(p, lines_place_of(p, cell)), y = lines_down(p, p->c->grid->cells[cell].bar.part[0]);
    bool below = p->c->kind->unit != REPORT_UNIT_FACTOR;
    double width = report_text_width(text, LINES_MARK_FONT) + 2;
    if (!labels_place(field, x, y, width, WORDS_HEIGHT, below, needed, &box)) return;
    put_leader(p, field, &box, x, y);
    put_at(p, text, (box.left + box.right) / 2, (box.top + box.bottom) / 2, "center");
}

static void format_value(const lines_panel *p, double value, char out[REPORT_NUMBER_TEXT])
{
    double scaled = value * p->scale.factor;
    snprintf(out, REPORT_NUMBER_TEXT, scaled >= 100 ? "%.0f" : "%.3g", scaled);
}

/* ---- the best ---------------------------------------------------------------------------------------------------- */

/* The drawn case of a place whose number is the best; -1 without one. */
static int best_of_group(const lines_panel *p, int first)
{
    const report_grid *grid = p->c->grid;
    bool most = p->c->kind->unit == REPORT_UNIT_FACTOR;
    int best = -1;
    for (int i = first; i < compose_group_end(grid, first); i++) {
        const report_cell *cell = &grid->cells[i];
        if (!lines_is_drawn(p, cell) || report_case_is_published(cell->kase) || lines_is_cut(p, cell)) continue;
        double lead = best < 0 ? 1 : cell->bar.part[0] - grid->cells[best].bar.part[0];
        if (best < 0 || (most ? lead > 0 : lead < 0)) best = i;
    }
    return best;
}

static bool mesh_of(const report_cell *cell, char mesh[REPORT_TAG_TEXT])
{
    return cell->best && cell->kase->world_size > 1 && report_case_tag(cell->kase, "mesh", mesh, REPORT_TAG_TEXT);
}

/* Numbers first: they must stand; then the meshes of several lines, where they have room. */
static void put_best(const lines_panel *p, labels_field *field)
{
    const report_grid *grid = p->c->grid;
    char number[REPORT_NUMBER_TEXT], mesh[REPORT_TAG_TEXT];
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i)) {
        int best = best_of_group(p, i);
        if (best < 0) continue;
        format_value(p, grid->cells[best].bar.part[0], number);
        put_beside(p, field, best, number, true);
    }
    for (int i = p->first; i < p->end && !lines_has_mesh_row(p); i++) {
        const report_cell *cell = &grid->cells[i];
        if (lines_is_drawn(p, cell) && !lines_is_cut(p, cell) && mesh_of(cell, mesh))
            put_beside(p, field, i, mesh, false);
    }
}

/* Cuts `text` at blanks into rows of `most` pixels; the next row begins at the returned text. */
static const char *take_row(const char *text, double most, char row[REPORT_TAG_TEXT])
{
    size_t used = strcspn(text, " ");
    for (size_t next = used; text[next] == ' ';) {
        next += 1 + strcspn(text + next + 1, " ");
        snprintf(row, REPORT_TAG_TEXT, "%.*s", (int)next, text);
        if (report_text_width(row, LINES_MARK_FONT) > most) break;
        used = next;
    }
    snprintf(row, REPORT_TAG_TEXT, "%.*s", (int)used, text);
    return text + used + (text[used] == ' ');
}

static double place_width(const lines_panel *p)
{
    return lines_across(p, 2) - lines_across(p, 1) - 4;
}

int lines_mesh_rows(const lines_panel *p)
{
    double width = place_width(p);
    char mesh[REPORT_TAG_TEXT], row[REPORT_TAG_TEXT];
    int most = 0;
    for (int i = p->first; i < p->end && lines_has_mesh_row(p); i++) {
        int rows = 0;
        if (!mesh_of(&p->c->grid->cells[i], mesh)) continue;
        for (const char *rest = mesh; *rest; rows++) rest = take_row(rest, width, row);
        most = rows > most ? rows : most;
    }
    return most;
}

/* Under the ticks, so on no line: "best" and the mesh of each place. */
static void put_mesh_row(const lines_panel *p)
{
    char mesh[REPORT_TAG_TEXT], row[REPORT_TAG_TEXT];
    double width = place_width(p);
    bool any = false;
    for (int i = p->first; i < p->end; i++) {
        double down = p->height + LINES_TICK_ROOM + WORDS_ROW / 2;
        const report_cell *cell = &p->c->grid->cells[i];
        if (!lines_is_drawn(p, cell) || !mesh_of(cell, mesh)) continue;
        for (const char *rest = mesh; *rest; down += WORDS_ROW) {
            rest = take_row(rest, width, row);
            put_at(p, row, lines_across(p, lines_place_of(p, i)), down, "center");
        }
        any = true;
    }
    if (any) put_at(p, "best", -6, p->height + LINES_TICK_ROOM + WORDS_ROW / 2, "right");
}

/* ---- what has no place on the axis ------------------------------------------------------------------------------- */

/* An arrow at the upper edge with the number that lies beyond. */
static void put_cut(const lines_panel *p, labels_field *field, int cell, int row)
{
    const report_cell *beyond = &p->c->grid->cells[cell];
    double x = lines_across(p, lines_place_of(p, cell)), down = row * LINES_MARK_ROW;
    char text[REPORT_NUMBER_TEXT];
    format_value(p, beyond->bar.part[0], text);
    double width = report_text_width(text, LINES_MARK_FONT) + 6;
    bool left = x + width > p->width;
    canvas_line(
        &p->c->files->script,
        "set arrow from graph %.4f, graph %.4f to graph %.4f, graph 1 head filled size screen 0.006,25 fixed lw 1.4 "
        "lc rgb '%s' front",
        x / p->width, 1 - (double)WORDS_ARROW / p->height, x / p->width,
        compose_series_colour(p->c, beyond->series_index));
    put_at(p, text, x + (left ? -6 : 6), down + 6, left ? "right" : "left");
    labels_add_box(field, left ? x - width : x - 6, down, left ? x + 6 : x + width, down + WORDS_ARROW);
}

/* "OOM" at its place; several at one place stand under each other. */
static void put_oom(const lines_panel *p, labels_field *field, int cell, int row)
{
    const report_cell *lacking = &p->c->grid->cells[cell];
    const char *word = compose_oom_word(lacking);
    double x = lines_across(p, lines_place_of(p, cell)), down = 6 + row * LINES_MARK_ROW;
    double width = report_text_width(word, LINES_MARK_FONT) + 10;
    bool left = x + width > p->width;
    canvas_line(&p->c->files->script,
                "set label '%s' at graph %.4f, graph %.4f %s point pt %d ps 0.7 lc rgb '%s' offset %s,0 font ',%d' tc "
                "rgb '#333333' front",
                word, x / p->width, 1 - down / p->height, left ? "right" : "left",
                compose_look_point(lacking->series_index, compose_look_of(lacking)),
                compose_series_colour(p->c, lacking->series_index), left ? "-0.8" : "0.8", LINES_MARK_FONT);
    labels_add_box(field, left ? x - width : x - 6, down - 6, left ? x + 6 : x + width, down + 6);
}

void lines_put_words(const lines_panel *p)
{
    const report_grid *grid = p->c->grid;
    labels_field *field = calloc(1, sizeof *field);
    if (!field) return; /* a picture without words is still one */
    fill_field(p, field);
    for (int i = p->first; i < p->end; i = compose_group_end(grid, i)) {
        int row = 0;
        for (int k = i; k < compose_group_end(grid, i); k++) {
            if (lines_is_drawn(p, &grid->cells[k]) && lines_is_cut(p, &grid->cells[k])) put_cut(p, field, k, row++);
            if (report_cell_is_oom(&grid->cells[k])) put_oom(p, field, k, row++);
        }
    }
    put_best(p, field);
    if (lines_has_mesh_row(p)) put_mesh_row(p);
    free(field);
}
