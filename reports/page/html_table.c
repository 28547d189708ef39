#include "reports/page/html_table.h"

void html_table_open(html_table *table, const char *caption)
{
    dit_buffer_printf(table->out, "<div class=\"scroll\"><table><caption>%s</caption><thead><tr>", caption);
    for (int i = 0; i < table->count; i++) {
        const html_column *column = &table->columns[i];
        dit_buffer_printf(table->out, "<th scope=\"col\"%s>%s</th>", column->number ? " class=\"num\"" : "",
                          column->title);
    }
    put(table->out, "</tr></thead><tbody>\n");
}

void html_table_close(html_table *table)
{
    put(table->out, "</tbody></table></div>\n");
}

void html_row_open(html_table *table)
{
    table->at = 0;
    put(table->out, "<tr>");
}

void html_row_close(html_table *table)
{
    put(table->out, "</tr>\n");
}

void html_row_across(html_table *table, const char *class, const char *text)
{
    dit_buffer_printf(table->out, "<tr><td class=\"%s\" colspan=\"%d\">", class, table->count);
    put_text(table->out, text);
    put(table->out, "</td></tr>\n");
}

static void open_cell(html_table *table, const char *none)
{
    const html_column *column = &table->columns[table->at];
    const char *class = column->number ? "num" : column->wide ? "wide" : "";
    if (table->at == table->header) {
        put(table->out, "<th scope=\"row\">");
        return;
    }
    dit_buffer_printf(table->out, "<td data-title=\"%s\"", column->title);
    if (class[0] || none[0]) {
        dit_buffer_printf(table->out, " class=\"%s%s%s\"", class, class[0] && none[0] ? " " : "", none);
    }
    put(table->out, ">");
}

void html_cell_open(html_table *table)
{
    open_cell(table, "");
}

void html_cell_close(html_table *table)
{
    put(table->out, table->at == table->header ? "</th>" : "</td>");
    table->at++;
}

void html_cell(html_table *table, const char *text)
{
    html_cell_open(table);
    put_text(table->out, text);
    html_cell_close(table);
}

void html_cell_none(html_table *table)
{
    open_cell(table, "none");
    put(table->out, "–");
    html_cell_close(table);
}
