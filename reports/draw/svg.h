/* SVG: adds to a drawn picture a title and a description for readers who cannot see it, colours for dark pages, and a
 * size on paper. */
#ifndef DIT_REPORTS_DRAW_SVG_H
#define DIT_REPORTS_DRAW_SVG_H

#include "base/buffer.h"
#include "reports/draw/style.h"

/* Appends `svg`, as gnuplot writes it, with a <title> and a <desc>. For a page it also gets rules that replace each
 * colour of the palette by its dark counterpart where the reader prefers a dark page. With a style that has a width,
 * its size is in points. `description` is already escaped for XML. An `svg` of another form is appended as it is. */
void svg_finish(const char *svg, const char *title, const char *description, const report_style *style,
                dit_buffer *out);

/* Appends the address of an SVG's text, "data:image/svg+xml;base64,...", so that a page with pictures is one file. */
void svg_append_data(dit_buffer *out, const char *svg);

#endif
