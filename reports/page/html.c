#include "reports/page/html.h"

#include "reports/page/html_pieces.h"

#include <stdio.h>
#include <string.h>

/* ---- sections ---------------------------------------------------------------------------------------------------- */

static int always(const report_page *page)
{
    (void)page;
    return 1;
}

static int when_measured(const report_page *page)
{
    return html_has_measured(page);
}

static int when_simulated(const report_page *page)
{
    return html_has_simulated(page);
}

static int count_neighbours(const report_page *page)
{
    return page->options->neighbour_count;
}

static void put_neighbours(const report_page *page, dit_buffer *out)
{
    put(out, "<ul class=\"plain\">\n");
    for (int i = 0; i < page->options->neighbour_count; i++) {
        put(out, "<li><a href=\"");
        put_text(out, page->options->neighbours[i].href);
        put(out, "\">");
        put_text(out, page->options->neighbours[i].title);
        put(out, "</a> <span class=\"soft small\">");
        put_text(out, page->options->neighbours[i].started);
        put(out, "</span></li>\n");
    }
    put(out, "</ul>\n");
}

/* The page's parts in their order. The list of contents counts what `counted` ones hold. */
static const struct {
    const char *id, *title;
    int (*count)(const report_page *page); /* 0: the part is left out */
    bool counted;
    void (*put)(const report_page *page, dit_buffer *out);
} sections[] = {
    {"figures", "Figures", always, false, html_put_figures},
    {"claims", "Claims", html_count_claims, true, html_put_claims},
    {"agreement", "Agreement with published numbers", html_count_published, false, html_put_agreement},
    {"results", "Results", always, false, html_put_results},
    {"published", "Published numbers", html_count_published, true, html_put_published},
    {"failures", "Failures", html_count_failures, true, html_put_failures},
    {"dropped", "Dropped cells", html_count_dropped, true, html_put_dropped},
    {"method", "How it was measured", when_measured, false, html_put_measuring},
    {"simulation", "How it was simulated", when_simulated, false, html_put_simulating},
    {"environment", "Environment", always, false, html_put_environment},
    {"sessions", "Other sessions", count_neighbours, false, put_neighbours},
};
enum { SECTIONS = (int)(sizeof sections / sizeof *sections) };

static void put_contents(const report_page *page, dit_buffer *out)
{
    put(out, "<nav class=\"contents\" aria-label=\"On this page\">\n");
    for (int i = 0; i < SECTIONS; i++) {
        int count = sections[i].count(page);
        if (count == 0) continue;
        dit_buffer_printf(out, "<a href=\"#%s\">%s", sections[i].id, sections[i].title);
        if (sections[i].counted) dit_buffer_printf(out, " (%d)", count);
        put(out, "</a>\n");
    }
    put(out, "</nav>\n");
}

static void put_sections(const report_page *page, dit_buffer *out)
{
    for (int i = 0; i < SECTIONS; i++) {
        if (sections[i].count(page) == 0) continue;
        dit_buffer_printf(out, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", sections[i].id,
                          sections[i].id, sections[i].title);
        sections[i].put(page, out);
        put(out, "</section>\n");
    }
}

void report_html_write(const report_page *page, dit_buffer *out)
{
    html_put_head(page, out);
    put(out, "<main>\n");
    put_contents(page, out);
    put_sections(page, out);
    put(out, "</main>\n</body>\n</html>\n");
}
