/* Decisions of caches as a raster: rows are cases, columns are steps. Positions are pixels of the plot, downward. */
#include "reports/layout/compose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DECISIONS_ROWS = 24,   /* of a panel */
    DECISIONS_PANELS = 6,  /* of a picture */
    DECISIONS_STEPS = 400, /* that a picture shows */
    DECISIONS_ROW = 16,    /* height of a row */
    DECISIONS_NAMES = 250, /* width of names on the left */
    DECISIONS_COUNTS = 64, /* width of counts on the right */
    DECISIONS_CELL = 15,   /* width of a step, where there is room */
    DECISIONS_RASTER = 640,
    DECISIONS_LETTER = 9, /* the narrowest step that has room for a letter */
    DECISIONS_FONT = 9,
    DECISIONS_TICKS = 18, /* height of the numbers of steps */
    DECISIONS_TEXT = 256
};
static const char computed_colour[] = "#0072b2", reused_colour[] = "#dcdcdc", letter_colour[] = "#ffffff";

typedef struct {
    report_composition *c;
    int steps, rows, panels; /* most steps and rows of a panel; panels */
    int beyond;              /* cases that have no room                */
    double cell;             /* width of a step in pixels              */
} decisions_picture;

static bool has_row(const report_cell *cell)
{
    return cell->bar.n > 0 && cell->kase->decisions.digits;
}

/* Counts rows and steps. */
static void measure(decisions_picture *d)
{
    const report_grid *grid = d->c->grid;
    for (int first = 0; first < grid->count; first = compose_panel_end(grid, first)) {
        int rows = 0;
        for (int i = first; i < compose_panel_end(grid, first); i++) {
            if (!has_row(&grid->cells[i])) continue;
            int steps = (int)strlen(grid->cells[i].kase->decisions.digits);
            if (rows == DECISIONS_ROWS || d->panels == DECISIONS_PANELS || steps > DECISIONS_STEPS) {
                d->beyond++;
                continue;
            }
            rows++;
            if (steps > d->steps) d->steps = steps;
        }
        if (rows > d->rows) d->rows = rows;
        d->panels += rows > 0;
    }
    d->cell = d->steps ? fmin(DECISIONS_CELL, (double)DECISIONS_RASTER / d->steps) : 0;
}

static double left_of(const decisions_picture *d, int step)
{
    return DECISIONS_NAMES + step * d->cell;
}

static void put_text(const decisions_picture *d, double x, double y, const char *align, const char *text)
{
    dit_buffer *script = &d->c->files->script;
    dit_buffer_text(script, "set label ");
    report_append_quoted(script, text);
    canvas_line(script, " at first %.6g,%.6g %s font ',%d' tc rgb '#222222'", x, y, align, (int)DECISIONS_FONT);
}

/* Writes the steps of one kind of the panel's rows as a block of rectangles; -1 where there are none. */
static int write_steps(const decisions_picture *d, const report_cell *const *rows, int count, char digit)
{
    int block = -1;
    for (int row = 0; row < count; row++) {
        const char *digits = rows[row]->kase->decisions.digits;
        for (int step = 0; digits[step]; step++) {
            if (digits[step] != digit) continue;
            if (block < 0)
                block = compose_block(d->c, digit == '1' ? "computed" : "reused", "x y half_width half_height");
            dit_buffer_printf(&d->c->files->data, "%.6g %.6g %.6g %.6g\n", left_of(d, step) + d->cell / 2,
                              (row + 0.5) * DECISIONS_ROW, d->cell / 2 - 0.5, DECISIONS_ROW / 2.0 - 1);
        }
    }
    return block;
}

/* Writes the letters of computed steps; -1 where steps are too narrow for them. */
static int write_letters(const decisions_picture *d, const report_cell *const *rows, int count)
{
    int block = -1;
    for (int row = 0; row < count && d->cell >= DECISIONS_LETTER; row++) {
        const char *reasons = rows[row]->kase->decisions.reasons;
        for (int step = 0; reasons[step]; step++) {
            if (reasons[step] == '.') continue;
            if (block < 0) block = compose_block(d->c, "reasons", "x y letter");
            dit_buffer_printf(&d->c->files->data, "%.6g %.6g %c\n", left_of(d, step) + d->cell / 2,
                              (row + 0.5) * DECISIONS_ROW, reasons[step]);
        }
    }
    return block;
}

static void put_row(const decisions_picture *d, const report_cell *cell, int row)
{
    const report_grid *grid = d->c->grid;
    char name[DECISIONS_TEXT], shown[DECISIONS_TEXT], number[64];
    int steps = (int)strlen(cell->kase->decisions.digits);
    bool several = grid->series_count > 1 && cell->series[0];
    snprintf(name, sizeof name, "%.120s%s%.120s", cell->x, several ? " · " : "", several ? cell->series : "");
    canvas_fit_text(name, DECISIONS_FONT, DECISIONS_NAMES - 8, shown, sizeof shown);
    put_text(d, DECISIONS_NAMES - 6, (row + 0.5) * DECISIONS_ROW, "right", shown);
    snprintf(number, sizeof number, "%.0f of %d", cell->bar.part[0], steps);
    put_text(d, left_of(d, steps) + 6, (row + 0.5) * DECISIONS_ROW, "left", number);
}

/* Numbers of some steps, under the last row. */
static void put_numbers(const decisions_picture *d, int rows, int steps)
{
    int every = 1;
    while (every * d->cell < 22) every = every == 1 ? 5 : every * 2;
    for (int step = 0; step < steps; step += every) {
        char number[16];
        snprintf(number, sizeof number, "%d", step);
        put_text(d, left_of(d, step) + d->cell / 2, rows * DECISIONS_ROW + DECISIONS_TICKS / 2.0, "center", number);
    }
}

static void put_plots(const decisions_picture *d, const report_cell *const *rows, int count)
{
    dit_buffer *script = &d->c->files->script;
    static const char *const colours[] = {computed_colour, reused_colour};
    const char *separator = "plot ";
    for (int kind = 0; kind < 2; kind++) {
        int block = write_steps(d, rows, count, kind ? '0' : '1');
        if (block < 0) continue;
        dit_buffer_printf(script, "%s'%s.dat' index %d using 1:2:3:4 with boxxyerror lc rgb '%s' fs solid 1 noborder",
                          separator, d->c->id, block, colours[kind]);
        separator = ", \\\n     ";
    }
    int letters = write_letters(d, rows, count);
    if (letters >= 0)
        dit_buffer_printf(script, "%s'%s.dat' index %d using 1:2:3 with labels font ',%d' tc rgb '%s'", separator,
                          d->c->id, letters, (int)DECISIONS_FONT, letter_colour);
    dit_buffer_char(script, '\n');
}

static void put_panel(const decisions_picture *d, const report_canvas *canvas, int index, int first)
{
    const report_grid *grid = d->c->grid;
    const report_cell *rows[DECISIONS_ROWS];
    dit_buffer *script = &d->c->files->script;
    int count = 0, steps = 0;
    for (int i = first; i < compose_panel_end(grid, first) && count < DECISIONS_ROWS; i++) {
        if (!has_row(&grid->cells[i])) continue;
        int own = (int)strlen(grid->cells[i].kase->decisions.digits);
        if (own > DECISIONS_STEPS) continue;
        rows[count++] = &grid->cells[i];
        if (own > steps) steps = own;
    }
    canvas_panel(canvas, index, grid->cells[first].panel, NULL, "");
    canvas_line(script, "set xrange [0:%d]\nset yrange [%d:0]\nunset grid\nunset xtics\nunset ytics\nunset border",
                canvas_inner_width(canvas), canvas_inner_height(canvas));
    for (int row = 0; row < count; row++) put_row(d, rows[row], row);
    put_numbers(d, count, steps);
    put_plots(d, rows, count);
}

static bool has_rows(const report_grid *grid, int first)
{
    for (int i = first; i < compose_panel_end(grid, first); i++)
        if (has_row(&grid->cells[i]) && strlen(grid->cells[i].kase->decisions.digits) <= DECISIONS_STEPS) return true;
    return false;
}

static dit_status draw(decisions_picture *d)
{
    report_composition *c = d->c;
    dit_buffer footer = {0};
    dit_buffer_text(&footer, c->footer);
    if (d->beyond) dit_buffer_printf(&footer, " · %d cases are left out", d->beyond);
    report_canvas canvas = compose_canvas(c, (compose_plot){.width = (int)(left_of(d, d->steps) + DECISIONS_COUNTS),
                                                            .height = d->rows * DECISIONS_ROW + DECISIONS_TICKS,
                                                            .left = 4,
                                                            .right = 4,
                                                            .top = 24,
                                                            .bottom = 6});
    canvas.shape = CANVAS_FIXED;
    canvas.panels = d->panels;
    canvas.footer = footer.data;
    canvas_add_legend(&canvas, &(canvas_entry){.name = "computed", .colour = computed_colour});
    canvas_add_legend(&canvas, &(canvas_entry){.name = "reused", .colour = reused_colour});
    compose_fit(c, &canvas);
    canvas_begin(&canvas);
    int index = 0;
    for (int first = 0; first < c->grid->count; first = compose_panel_end(c->grid, first))
        if (index < DECISIONS_PANELS && has_rows(c->grid, first)) put_panel(d, &canvas, index++, first);
    canvas_end(&canvas);
    dit_status st = footer.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", c->id) : DIT_OK;
    dit_buffer_release(&footer);
    return st;
}

dit_status compose_decisions(report_composition *c)
{
    decisions_picture d = {.c = c};
    measure(&d);
    if (!d.panels) return DIT_FAIL(DIT_ERR_NOT_FOUND, "no case tells what a cache decided");
    return draw(&d);
}
