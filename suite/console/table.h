/* Table: prints rows of text under titles, fitted to their contents and to the width of the reader's screen. */
#ifndef DIT_SUITE_CONSOLE_TABLE_H
#define DIT_SUITE_CONSOLE_TABLE_H

#include "base/status.h"

#include <stdio.h>

typedef struct {
    const char *key;   /* what CSV and options call it                                                  */
    const char *title; /* over the column, with the unit; the caller keeps it                            */
    bool is_text;      /* stands left, and may be cut with an ellipsis; numbers stand right              */
    int spare;         /* what a narrow screen leaves out: the greatest first; 0: never                  */
} suite_column;

/* release accepts a zeroed one. */
typedef struct {
    const suite_column *columns; /* the caller's */
    int column_count;
    char **cells; /* [row][column], owned; NULL: empty */
    int row_count, row_capacity;
} suite_table;

/* Starts a row; its cells are empty. Errors: DIT_ERR_MEMORY. */
dit_status suite_table_add_row(suite_table *table);
/* Adds a row whose first `count` cells are copies of `cells` (UTF-8). Errors: DIT_ERR_MEMORY. */
dit_status suite_table_add_cells(suite_table *table, const char *const *cells, int count);
/* Sets a cell of the last row; copies `text` (UTF-8). Errors: DIT_ERR_MEMORY. */
dit_status suite_table_set(suite_table *table, int column, const char *text);
/* Prints titles and rows. Columns whose cells are all empty are left out. `width` 0 is no limit; otherwise columns that
 * can be spared go first, and a last line names them, and then the widest text is cut. Cells that are verdicts ("ok",
 * "oom") are coloured on a terminal. */
void suite_table_print(const suite_table *table, FILE *out, int width);
/* Prints all columns as CSV (RFC 4180), the keys first. */
dit_status suite_table_print_csv(const suite_table *table, FILE *out);
void suite_table_release(suite_table *table);

#endif
