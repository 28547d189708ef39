/* Tables of the page: a caption, headings with a scope, and cells that know their column.
 *
 * Each cell repeats its column's title in an attribute: on a narrow screen the style sheet stacks the cells of a row and
 * shows the titles beside them. Inside the folder of reports/ only.
 */
#ifndef DIT_REPORTS_PAGE_HTML_TABLE_H
#define DIT_REPORTS_PAGE_HTML_TABLE_H

#include "reports/page/html_pieces.h"

typedef struct {
    const char *title; /* our own words, not escaped */
    bool number;       /* right aligned              */
    bool wide;         /* on a narrow screen the title stands above the cell, not beside it */
} html_column;

/* A table being written: fill the first four, the rest starts at zero. */
typedef struct {
    dit_buffer *out;
    const html_column *columns;
    int count;
    int header; /* the column that names the row */
    int at;     /* of the next cell              */
} html_table;

/* `caption` says what a row is; our own words, with markup. */
void html_table_open(html_table *table, const char *caption);
void html_table_close(html_table *table);
void html_row_open(html_table *table);
void html_row_close(html_table *table);
/* A row of one cell across all columns, with the text. */
void html_row_across(html_table *table, const char *class, const char *text);
/* The next cell of the row; what is put between stands in it. */
void html_cell_open(html_table *table);
void html_cell_close(html_table *table);
/* A whole cell: a text of records; or that there is none, which a narrow screen leaves out. */
void html_cell(html_table *table, const char *text);
void html_cell_none(html_table *table);

#endif
