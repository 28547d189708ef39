/* SVG: what a drawn picture still lacks - a title and a description for who cannot see it, colours for dark pages, a
 * size on paper. */
#ifndef DIT_REPORTS_DRAW_SVG_H
#define DIT_REPORTS_DRAW_SVG_H

#include "base/buffer.h"
#include "reports/draw/style.h"

/* Appends `svg`, as gnuplot writes it, with a <title>, a <desc> and, for a page, rules that put each colour of the palette
 * into its dark counterpart where the reader prefers a dark page; of a style with a width its size is in points.
 * `description` is escaped for XML already. What has not gnuplot's form is appended as it is. */
void svg_finish(const char *svg, const char *title, const char *description, const report_style *style,
                dit_buffer *out);

#endif
