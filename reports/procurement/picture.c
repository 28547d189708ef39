#include "reports/procurement/picture.h"

#include "base/file.h"
#include "reports/draw/svg.h"
#include "reports/page/html_pieces.h"

#include <stdio.h>

enum { PATH = 4096, PHONE_PIXELS = 700 };

void picture_put(const char *id, const char *words, const char *reading, const chart_pictures *pictures,
                 dit_buffer *out)
{
    dit_buffer_printf(out, "<figure>\n<a href=\"%s.svg\"><picture>", id);
    if (pictures->narrow) {
        dit_buffer_printf(out, "<source media=\"(max-width:%dpx)\" srcset=\"", PHONE_PIXELS);
        svg_append_data(out, pictures->narrow);
        put(out, "\">");
    }
    put(out, "<img alt=\"");
    put_text(out, words);
    put(out, "\" src=\"");
    svg_append_data(out, pictures->wide);
    put(out, "\"></picture></a>\n<figcaption>");
    if (reading) put_element(out, "p", "p", reading);
    dit_buffer_printf(out,
                      "<p class=\"small\">Files: <a href=\"%s.svg\">SVG</a>, <a href=\"%s.png\">PNG</a>, <a "
                      "href=\"%s.gp\">gnuplot script</a>, <a href=\"%s.dat\">data</a>.</p></figcaption>\n</figure>\n",
                      id, id, id, id);
}

dit_status picture_page_write(dit_buffer *page, const char *folder, const char *name)
{
    char path[PATH];
    const dit_file_piece piece = {page->data, page->used};
    dit_status st = DIT_OK;
    if (snprintf(path, sizeof path, "%s/%s.html", folder, name) >= PATH)
        st = DIT_FAIL(DIT_ERR_IO, "%s: the path is too long", folder);
    else if (page->failed)
        st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", path);
    if (st == DIT_OK) st = dit_file_write(path, &piece, 1);
    dit_buffer_release(page);
    return st;
}
