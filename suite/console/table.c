#include "suite/console/table.h"

#include "reports/text.h"
#include "suite/console/terminal.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2, LEAST_TEXT = 8 }; /* spaces between columns; characters that a cut text keeps */

static const char *cell_of(const suite_table *table, int row, int column)
{
    const char *text = table->cells[row * table->column_count + column];
    return text ? text : "";
}

dit_status suite_table_add_row(suite_table *table)
{
    size_t columns = (size_t)table->column_count;
    if (table->row_count == table->row_capacity) {
        int capacity = table->row_capacity * 2 + 32;
        char **grown = realloc(table->cells, sizeof *grown * columns * (size_t)capacity);
        if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table of %d rows", capacity);
        table->cells = grown;
        table->row_capacity = capacity;
    }
    memset(table->cells + (size_t)table->row_count++ * columns, 0, sizeof *table->cells * columns);
    return DIT_OK;
}

dit_status suite_table_set(suite_table *table, int column, const char *text)
{
    char **cell = &table->cells[(table->row_count - 1) * table->column_count + column];
    free(*cell);
    *cell = strdup(text);
    return *cell ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table");
}

dit_status suite_table_add_cells(suite_table *table, const char *const *cells, int count)
{
    DIT_TRY(suite_table_add_row(table));
    for (int i = 0; i < count; i++) DIT_TRY(suite_table_set(table, i, cells[i]));
    return DIT_OK;
}

void suite_table_release(suite_table *table)
{
    for (int i = 0; i < table->row_count * table->column_count; i++) free(table->cells[i]);
    free(table->cells);
    *table = (suite_table){0};
}

/* ---- fitting ----------------------------------------------------------------------------------------------------- */

/* Characters that a column needs; 0 when all its cells are empty. */
static int width_of(const suite_table *table, int column)
{
    int widest = 0;
    for (int row = 0; row < table->row_count; row++) {
        int length = report_text_length(cell_of(table, row, column));
        if (length > widest) widest = length;
    }
    int title = report_text_length(table->columns[column].title);
    return widest && title > widest ? title : widest;
}

static int total_of(const int *widths, int count)
{
    int total = -GAP;
    for (int i = 0; i < count; i++) total += widths[i] ? widths[i] + GAP : 0;
    return total;
}

/* The shown column that can be spared most easily; -1 when none can. */
static int most_spare(const suite_table *table, const int *widths)
{
    int found = -1;
    for (int i = 0; i < table->column_count; i++)
        if (widths[i] && table->columns[i].spare > (found < 0 ? 0 : table->columns[found].spare)) found = i;
    return found;
}

/* Cuts the widest texts until the table fits, or nothing can be cut any more. */
static void cut_texts(const suite_table *table, int *widths, int width)
{
    for (int over = total_of(widths, table->column_count) - width; over > 0;) {
        int widest = -1;
        for (int i = 0; i < table->column_count; i++)
            if (table->columns[i].is_text && widths[i] > (widest < 0 ? LEAST_TEXT : widths[widest])) widest = i;
        if (widest < 0) return;
        int cut = over < widths[widest] - LEAST_TEXT ? over : widths[widest] - LEAST_TEXT;
        widths[widest] -= cut;
        over -= cut;
    }
}

/* Fills widths[]; 0: the column is not shown. `left_out` marks those that lack of width hides. */
static void fit(const suite_table *table, int width, int *widths, bool *left_out)
{
    for (int i = 0; i < table->column_count; i++) widths[i] = width_of(table, i);
    while (width && total_of(widths, table->column_count) > width) {
        int spare = most_spare(table, widths);
        if (spare < 0) break;
        widths[spare] = 0;
        left_out[spare] = true;
    }
    if (width) cut_texts(table, widths, width);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* The first `count` characters of `text`. */
static void print_characters(FILE *out, const char *text, int count)
{
    for (; *text; text++) {
        if (((unsigned char)*text & 0xc0) != 0x80 && count-- == 0) return;
        fputc(*text, out);
    }
}

static void print_cell(FILE *out, const suite_column *column, const char *text, int width, bool last)
{
    int length = report_text_length(text), pad = width > length ? width - length : 0;
    if (!column->is_text) fprintf(out, "%*s", pad, "");
    fputs(suite_colour_start(out, text), out);
    print_characters(out, text, length > width ? width - 1 : width);
    if (length > width) fputs("…", out);
    fputs(suite_colour_end(out, text), out);
    if (column->is_text && !last) fprintf(out, "%*s", pad, "");
}

/* A row, or with row -1 the titles. */
static void print_row(const suite_table *table, FILE *out, const int *widths, int row)
{
    int last = table->column_count - 1;
    bool first = true;
    while (last > 0 && !widths[last]) last--;
    for (int i = 0; i <= last; i++) {
        if (!widths[i]) continue;
        if (!first) fprintf(out, "%*s", GAP, "");
        first = false;
        print_cell(out, &table->columns[i], row < 0 ? table->columns[i].title : cell_of(table, row, i), widths[i],
                   i == last);
    }
    fputc('\n', out);
}

static void print_left_out(const suite_table *table, FILE *out, const bool *left_out)
{
    int count = 0;
    for (int i = 0; i < table->column_count; i++)
        if (left_out[i]) fprintf(out, "%s%s", count++ ? ", " : "left out for lack of width: ", table->columns[i].key);
    if (count) fputc('\n', out);
}

void suite_table_print(const suite_table *table, FILE *out, int width)
{
    int *widths = calloc((size_t)table->column_count + 1, sizeof *widths);
    bool *left_out = calloc((size_t)table->column_count + 1, sizeof *left_out);
    if (widths && left_out) {
        fit(table, width, widths, left_out);
        for (int row = -1; row < table->row_count; row++) print_row(table, out, widths, row);
        print_left_out(table, out, left_out);
    }
    free(widths);
    free(left_out);
}

dit_status suite_table_print_csv(const suite_table *table, FILE *out)
{
    dit_buffer text = {0};
    for (int row = -1; row < table->row_count; row++) {
        for (int i = 0; i < table->column_count; i++) {
            if (i) dit_buffer_char(&text, ',');
            report_append_csv(&text, row < 0 ? table->columns[i].key : cell_of(table, row, i));
        }
        dit_buffer_text(&text, "\r\n");
    }
    bool whole = !text.failed;
    if (whole) fwrite(text.data, 1, text.used, out);
    dit_buffer_release(&text);
    return whole ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table");
}
