/* Tables: writes the tables of the page, with a caption, headings with a scope, and cells that name their column.
 *
 * Each cell repeats its column's title in an attribute: on a narrow screen the style sheet stacks the cells of a row
 * and shows the titles beside them. Inside the folder of reports/ only. */
#ifndef DIT_REPORTS_PAGE_HTML_TABLE_H
#define DIT_REPORTS_PAGE_HTML_TABLE_H

#include "reports/page/html_pieces.h"

typedef struct {
    const char *title; /* our own words, not escaped */
    bool number;       /* right aligned              */
    bool wide;         /* on a narrow screen the title stands above the cell, not beside it */
} html_column;

/* A table that is being written. Fill the first four members; the others start at zero. */
typedef struct {
    dit_buffer *out;
    const html_column *columns;
    int count;
    int header; /* the column that names the row */
    int at;     /* of the next cell              */
} html_table;

/* Names an array as a table's columns, with as many of them as it has. */
#define HTML_COLUMNS(array) .columns = (array), .count = (int)(sizeof(array) / sizeof *(array))

/* Begins a table. `caption` says what a row is; it is a constant of ours and may hold markup. */
void html_table_open(html_table *table, const char *caption);
void html_table_close(html_table *table);
void html_row_open(html_table *table);
void html_row_close(html_table *table);
/* Adds a row with one cell across all columns, which holds the text. */
void html_row_across(html_table *table, const char *class, const char *text);
/* Begin and end the next cell of the row; whatever is appended between them stands in the cell. */
void html_cell_open(html_table *table);
void html_cell_close(html_table *table);
/* Add a whole cell: a text of records; or an empty cell, which a narrow screen leaves out. */
void html_cell(html_table *table, const char *text);
void html_cell_none(html_table *table);

#endif
