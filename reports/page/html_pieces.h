/* Pieces: appends the pieces of HTML that the files of the page share. Every text of a record passes through here. */
#ifndef DIT_REPORTS_PAGE_HTML_PIECES_H
#define DIT_REPORTS_PAGE_HTML_PIECES_H

#include "reports/text.h"

static inline void put(dit_buffer *out, const char *html)
{
    dit_buffer_text(out, html);
}
static inline void put_text(dit_buffer *out, const char *text)
{
    report_append_html(out, text ? text : "");
}

/* Appends <TAG>text</TAG>, with the text escaped. Attributes such as ` class="num"` may follow the tag's name in
 * `open`. */
static inline void put_element(dit_buffer *out, const char *open, const char *tag, const char *text)
{
    dit_buffer_printf(out, "<%s>", open);
    put_text(out, text);
    dit_buffer_printf(out, "</%s>", tag);
}

/* `class` (a class of the style sheet) and `word` (what is shown) are constants of ours, and are not escaped. */
static inline void put_badge(dit_buffer *out, const char *class, const char *word)
{
    dit_buffer_printf(out, "<span class=\"verdict %s\">%s</span>", class, word);
}

#endif
