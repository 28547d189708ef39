/* A contact sheet: pictures in rows of one caption and columns of one case, each with its PSNR and its words. Positions
 * are pixels of the plot, downward. */
#include "reports/layout/compose.h"
#include "reports/pictures/shown.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONTACT_ROWS = 6,
    CONTACT_COLUMNS = 9,
    CONTACT_LEAST = 4,    /* columns that have room: a figure is not narrower, and pictures stay square */
    CONTACT_PICTURE = 96, /* edge of a picture as drawn, in pixels */
    CONTACT_CELL = 107,
    CONTACT_CAPTION = 104, /* width of the captions on the left */
    CONTACT_HEAD = 36,     /* titles of three lines */
    CONTACT_FONT = 7,
    CONTACT_LINE = 10, /* of words */
    CONTACT_GAP = 10,
    CONTACT_TEXT = 256
};
static const char plain_colour[] = "#222222", wrong_colour[] = "#b04a00", faint_colour[] = "#666666";

typedef struct {
    const report_cell *cell;
    char title[CONTACT_TEXT], reason[CONTACT_TEXT]; /* reason: why there are no pixels */
    report_pixels pixels;
} contact_column;

typedef struct {
    report_composition *c;
    contact_column columns[CONTACT_COLUMNS];
    int count, rows, left_out;
    bool has_reference; /* it is the first column */
    int row_height[CONTACT_ROWS];
} contact_sheet;

static const report_shown *shown_of(const contact_column *column)
{
    return &column->cell->kase->shown;
}

static const cJSON *row_of(const contact_column *column, int row)
{
    return cJSON_GetArrayItem(shown_of(column)->rows, row);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* The case with which the first of all was compared, if it is there and has pictures; else NULL. */
static const report_cell *find_reference(const report_grid *grid)
{
    for (int i = 0; i < grid->count; i++) {
        const char *id = grid->cells[i].kase->shown.reference_id;
        for (int k = 0; k < grid->count && id; k++)
            if (grid->cells[k].bar.n > 0 && strcmp(grid->cells[k].kase->case_id, id) == 0) return &grid->cells[k];
    }
    return NULL;
}

static void add_column(contact_sheet *s, const report_cell *cell)
{
    if (s->count == CONTACT_COLUMNS) {
        s->left_out++;
        return;
    }
    contact_column *column = &s->columns[s->count++];
    double steps = 0;
    column->cell = cell;
    report_case_number(cell->kase, "steps", &steps);
    if (report_case_is_oracle(cell->kase))
        snprintf(column->title, sizeof column->title, "converged, %.0f steps", steps);
    else
        snprintf(column->title, sizeof column->title, "%.200s", cell->x);
    if (report_pixels_read(cell->kase->shown.path ? cell->kase->shown.path : "", &column->pixels) != DIT_OK) {
        snprintf(column->reason, sizeof column->reason, "%s: %.180s", dit_status_name(dit_error_last()->status),
                 dit_error_last()->message);
        dit_error_clear();
    }
}

/* The reference, then what was compared with it, in the grid's order; all cases where there is none. */
static void find_columns(contact_sheet *s)
{
    const report_grid *grid = s->c->grid;
    const report_cell *reference = find_reference(grid);
    s->has_reference = reference != NULL;
    if (reference) add_column(s, reference);
    for (int i = 0; i < grid->count; i++) {
        const report_cell *cell = &grid->cells[i];
        const char *id = cell->kase->shown.reference_id;
        if (cell == reference || cell->bar.n == 0) continue;
        if (reference ? id && strcmp(id, reference->kase->case_id) == 0 : !report_case_is_oracle(cell->kase))
            add_column(s, cell);
        else
            s->left_out++;
    }
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void put_text(const contact_sheet *s, double x, double y, const char *text, const char *colour)
{
    dit_buffer *script = &s->c->files->script;
    dit_buffer_text(script, "set label ");
    report_append_quoted(script, text);
    canvas_line(script, " at first %.6g,%.6g left font ',%d' tc rgb '%s' front", x, y, CONTACT_FONT, colour);
}

/* Writes words into lines of a width. Words of one colour that follow each other are one text, so that gnuplot spaces
 * them. */
typedef struct {
    const contact_sheet *s; /* NULL: lines are only counted */
    double left, top, width;
    double x, start; /* where the next word goes, where the text before it began */
    int line;
    const char *colour;
    char text[CONTACT_TEXT];
} contact_pen;

static contact_pen pen_at(const contact_sheet *s, double left, double top, double width)
{
    return (contact_pen){.s = s, .left = left, .top = top, .width = width, .x = left, .start = left};
}

static void end_text(contact_pen *pen)
{
    if (pen->s && pen->text[0])
        put_text(pen->s, pen->start, pen->top + (pen->line + 0.5) * CONTACT_LINE, pen->text, pen->colour);
    pen->text[0] = '\0';
    pen->start = pen->x;
}

static void put_word(contact_pen *pen, const char *word, const char *colour)
{
    double width = report_text_width(word, CONTACT_FONT), space = report_text_width(" ", CONTACT_FONT);
    bool breaks = pen->x > pen->left && pen->x + width > pen->left + pen->width;
    if (breaks || (pen->colour && pen->colour != colour)) end_text(pen);
    if (breaks) pen->line++, pen->x = pen->start = pen->left;
    size_t used = strlen(pen->text);
    snprintf(pen->text + used, sizeof pen->text - used, "%s%s", used ? " " : "", word);
    pen->colour = colour;
    pen->x += width + space;
}

/* Puts all words of a text; returns its lines. */
static int put_words(contact_pen *pen, const char *text, const char *colour)
{
    char copy[CONTACT_TEXT], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word; (word = strsep(&rest, " "));)
        if (word[0]) put_word(pen, word, colour);
    end_text(pen);
    return pen->line + 1;
}

/* Puts the caption of a row; returns its lines. */
static int put_caption(const contact_sheet *s, int row, double top, bool draws)
{
    contact_pen pen = pen_at(draws ? s : NULL, 0, top, CONTACT_CAPTION - 8);
    return put_words(&pen, dit_json_text_or(row_of(&s->columns[0], row), "caption", ""), plain_colour);
}

/* Writes "31.4 dB", or what stands there instead. */
static void write_psnr(const contact_sheet *s, int column, const cJSON *told, char out[32])
{
    const char *key = shown_of(&s->columns[column])->converged ? "converged_psnr_db" : "psnr_db";
    double psnr = dit_json_number_or(told, key, NAN);
    if (column == 0 && s->has_reference)
        snprintf(out, 32, "reference");
    else if (s->has_reference && isfinite(psnr))
        snprintf(out, 32, "%.1f dB", psnr);
    else
        snprintf(out, 32, "no reference");
}

/* Puts PSNR and words under a picture; returns their lines. */
static int put_reading(const contact_sheet *s, int column, int row, double top, bool draws)
{
    const cJSON *told = row_of(&s->columns[column], row), *item;
    double left = CONTACT_CAPTION + column * CONTACT_CELL;
    contact_pen pen = pen_at(draws ? s : NULL, left, top, CONTACT_CELL - 6);
    char text[SHOWN_TEXT + 4], psnr[32];
    int index = 0;
    write_psnr(s, column, told, psnr);
    if (draws) put_text(s, left, top + CONTACT_LINE / 2.0, psnr, faint_colour);
    pen.line = 1;
    cJSON_ArrayForEach(item, dit_json_member(told, "read"))
    {
        bool wrong = report_shown_is_wrong(told, index++);
        snprintf(text, sizeof text, wrong ? "[%s]" : "%s", item->valuestring);
        put_word(&pen, text, wrong ? wrong_colour : plain_colour);
    }
    end_text(&pen);
    return pen.line + 1;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Writes the pixels as a block of places and colours; returns it, or -1 where there is no such picture. */
static int write_picture(const contact_sheet *s, int column, int row, double top)
{
    const contact_column *one = &s->columns[column];
    const report_pixels *p = &one->pixels;
    char name[64];
    if (row >= p->count) return -1;
    double step = (double)CONTACT_PICTURE / (double)(p->width > p->height ? p->width : p->height);
    double left = CONTACT_CAPTION + column * CONTACT_CELL;
    const unsigned char *rgb = p->rgb + 3 * p->width * p->height * row;
    snprintf(name, sizeof name, "column %d, caption %d", column, row);
    int block = compose_block(s->c, name, "x y red green blue");
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++, rgb += 3)
            dit_buffer_printf(&s->c->files->data, "%.6g %.6g %d %d %d\n", left + ((double)x + 0.5) * step,
                              top + ((double)y + 0.5) * step, rgb[0], rgb[1], rgb[2]);
    return block;
}

static void put_missing(const contact_sheet *s, int column, double top)
{
    const char *reason = s->columns[column].reason;
    contact_pen pen = pen_at(s, CONTACT_CAPTION + column * CONTACT_CELL, top + CONTACT_LINE, CONTACT_PICTURE);
    char text[CONTACT_TEXT];
    snprintf(text, sizeof text, "no picture: %.*s", (int)strcspn(reason, ":"), reason[0] ? reason : "it has fewer");
    put_words(&pen, text, faint_colour);
}

static void put_pictures(const contact_sheet *s)
{
    dit_buffer *script = &s->c->files->script;
    const char *separator = "plot ";
    int blocks[CONTACT_ROWS][CONTACT_COLUMNS];
    double top = CONTACT_HEAD;
    for (int row = 0; row < s->rows; top += s->row_height[row++])
        for (int column = 0; column < s->count; column++) {
            blocks[row][column] = write_picture(s, column, row, top);
            if (blocks[row][column] < 0) put_missing(s, column, top);
        }
    for (int row = 0; row < s->rows; row++)
        for (int column = 0; column < s->count; column++) {
            if (blocks[row][column] < 0) continue;
            dit_buffer_printf(script, "%s'%s.dat' index %d using 1:2:3:4:5 with rgbimage notitle", separator, s->c->id,
                              blocks[row][column]);
            separator = ", \\\n     ";
        }
    dit_buffer_text(script, *separator == 'p' ? "plot NaN notitle\n" : "\n");
}

/* ---- the figure -------------------------------------------------------------------------------------------------- */

/* Finds the height of each row; returns that of all. */
static int measure_rows(contact_sheet *s)
{
    int height = CONTACT_HEAD;
    for (int row = 0; row < s->rows; row++) {
        int lines = put_caption(s, row, 0, false) - CONTACT_PICTURE / CONTACT_LINE;
        for (int column = 0; column < s->count; column++) {
            int own = put_reading(s, column, row, 0, false);
            lines = own > lines ? own : lines;
        }
        s->row_height[row] = CONTACT_PICTURE + lines * CONTACT_LINE + CONTACT_GAP;
        height += s->row_height[row];
    }
    return height;
}

static void put_titles(const contact_sheet *s)
{
    for (int column = 0; column < s->count; column++) {
        contact_pen pen = pen_at(s, CONTACT_CAPTION + column * CONTACT_CELL, 0, CONTACT_CELL - 6);
        put_words(&pen, s->columns[column].title, plain_colour);
    }
}

static dit_status draw(contact_sheet *s)
{
    report_composition *c = s->c;
    dit_buffer *script = &c->files->script, footer = {0};
    int columns = s->count < CONTACT_LEAST ? CONTACT_LEAST : s->count, height = measure_rows(s);
    int width = CONTACT_CAPTION + columns * CONTACT_CELL;
    dit_buffer_text(&footer, c->footer);
    if (s->left_out) dit_buffer_printf(&footer, " · %d cases are left out", s->left_out);
    dit_buffer_printf(&footer, " · enlarged, each pixel as a square");
    report_canvas canvas = compose_canvas(
        c, (compose_plot){.width = width, .height = height, .left = 4, .right = 4, .top = 18, .bottom = 4});
    canvas.shape = CANVAS_FIXED;
    canvas.panels = 1;
    canvas.footer = footer.data;
    compose_fit(c, &canvas);
    canvas_begin(&canvas);
    canvas_panel(&canvas, 0, c->grid->cells[0].panel,
                 s->has_reference ? NULL : "the session has no pictures of a reference", "");
    canvas_line(script, "set xrange [0:%d]\nset yrange [%d:0]\nunset grid\nunset xtics\nunset ytics\nunset border",
                width, height);
    put_titles(s);
    double top = CONTACT_HEAD;
    for (int row = 0; row < s->rows; top += s->row_height[row++]) {
        put_caption(s, row, top, true);
        for (int column = 0; column < s->count; column++) put_reading(s, column, row, top + CONTACT_PICTURE + 2, true);
    }
    put_pictures(s);
    canvas_end(&canvas);
    dit_status st = footer.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", c->id) : DIT_OK;
    dit_buffer_release(&footer);
    return st;
}

dit_status compose_contact(report_composition *c)
{
    contact_sheet s = {.c = c};
    find_columns(&s);
    dit_status st =
        s.count ? DIT_OK
                : DIT_FAIL(DIT_ERR_NOT_FOUND, "no case made pictures: a workload asks for them with \"prompts\"");
    if (st == DIT_OK) s.rows = cJSON_GetArraySize(shown_of(&s.columns[0])->rows);
    if (s.rows > CONTACT_ROWS) s.rows = CONTACT_ROWS;
    if (st == DIT_OK) st = draw(&s);
    for (int i = 0; i < s.count; i++) report_pixels_release(&s.columns[i].pixels);
    return st;
}
