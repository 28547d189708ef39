/* The figures, each with what it shows in words, its files and its gaps. */
#include "reports/draw/svg.h"
#include "reports/page/html.h"

#include "reports/layout/footer.h"
#include "reports/page/html_pieces.h"

#include <string.h>

static void put_gaps(const report_grid *grid, dit_buffer *out)
{
    bool any = false;
    for (int i = 0; i < grid->count; i++) {
        const report_cell *cell = &grid->cells[i];
        if (cell->bar.n > 0) continue;
        if (!any) put(out, "<p>Gaps in this figure:</p><ul class=\"gaps\">\n");
        any = true;
        put(out, "<li><strong>");
        put_text(out, cell->kase->label);
        put(out, "</strong>: ");
        put_text(out, cell->bar.reason);
        put(out, "</li>\n");
    }
    if (any) put(out, "</ul>\n");
}

/* The picture leads to its file, which a narrow screen can enlarge. */
static void put_picture(const report_drawing_result *figure, dit_buffer *out)
{
    if (!figure->svg) {
        put_element(out, "h3", "h3", figure->plot.title);
        put_element(out, "p class=\"warning\"", "p", figure->error);
        return;
    }
    dit_buffer_printf(out, "<a href=\"%s.svg\"><picture>", figure->id);
    if (figure->narrow) {
        put(out, "<source media=\"(max-width:700px)\" srcset=\"");
        svg_append_data(out, figure->narrow);
        put(out, "\">");
    }
    dit_buffer_printf(out, "<img width=\"%d\" alt=\"", figure->width);
    html_put_figure_text(figure, out);
    put(out, "\" src=\"");
    svg_append_data(out, figure->svg);
    put(out, "\"></picture></a>\n");
}

/* Names of files are letters, digits, - and _. */
static void put_file(const char *id, const char *suffix, const char *word, dit_buffer *out)
{
    dit_buffer_printf(out, ", <a href=\"%s.%s\">%s</a>", id, suffix, word);
}

static void put_files(const report_page *page, const report_drawing_result *figure, dit_buffer *out)
{
    put(out, "<p class=\"small\">Records: <code>");
    put_text(out, report_session_text(page->table, "session_id"));
    put(out, "/journal.jsonl</code>");
    if (figure->composed) {
        put(out, ". Files: ");
        dit_buffer_printf(out, "<a href=\"%s.csv\">CSV</a>", figure->id);
        if (figure->svg) put_file(figure->id, "svg", "SVG", out), put_file(figure->id, "png", "PNG", out);
        put_file(figure->id, "gp", "gnuplot script", out);
        put_file(figure->id, "dat", "data", out);
    }
    put(out, ".</p>\n");
}

static void put_reading(const report_drawing_result *figure, dit_buffer *out)
{
    const char *whiskers = report_whiskers(&figure->grid, figure->kind);
    put(out, "<p>");
    put_text(out, figure->kind->reading);
    if (whiskers) dit_buffer_printf(out, " Whiskers: %s.", whiskers);
    put(out, "</p>\n");
}

static void put_figure(const report_page *page, const report_drawing_result *figure, dit_buffer *out)
{
    put(out, "<figure>\n");
    put_picture(figure, out);
    put(out, "<figcaption>");
    if (figure->kind) put_reading(figure, out);
    html_put_figure_agreement(&figure->grid, out);
    if (figure->grid.left_out) {
        dit_buffer_printf(out, "<p>A picture holds a limited number of cases: %d further case%s not drawn.</p>\n",
                          figure->grid.left_out, figure->grid.left_out == 1 ? " is" : "s are");
    }
    put_gaps(&figure->grid, out);
    put_files(page, figure, out);
    put(out, "</figcaption>\n</figure>\n");
}

static int html_count_figures(const report_page *page)
{
    int shown = 0;
    for (int i = 0; i < page->figure_count; i++) shown += !page->figures[i].left_out;
    return shown;
}

void html_put_figures(const report_page *page, dit_buffer *out)
{
    if (page->summary->figures_missing) {
        put(out, "<p class=\"notice\" role=\"note\"><strong>The figures are not drawn: gnuplot is not "
                 "installed.</strong> Install it with <code>apt-get install gnuplot-nox</code> and run <code>ditbench "
                 "report</code> again. The tables below and the CSV files are complete.</p>\n");
    }
    for (int i = 0; i < page->figure_count; i++) {
        if (!page->figures[i].left_out) put_figure(page, &page->figures[i], out);
    }
    if (html_count_figures(page) == 0) put(out, "<p>There is no figure, because no case has numbers to draw.</p>\n");
}
