/* Drawn: the files of one figure, ID.dat and ID.gp, and what gnuplot makes of them. */
#ifndef DIT_REPORTS_DRAW_DRAWN_H
#define DIT_REPORTS_DRAW_DRAWN_H

#include "base/buffer.h"
#include "reports/draw/style.h"

/* What a figure is drawn from. words: what it shows, for readers who cannot see it, escaped for XML. release accepts a
 * zeroed one. */
typedef struct {
    const char *id, *title;
    dit_buffer data, script, words;
} report_drawn;
void report_drawn_release(report_drawn *drawn);

/* Writes FOLDER/ID.dat and ID.gp, runs gnuplot (`program` NULL: "gnuplot") for each format of the bits, and finishes the
 * SVG. *svg: its text, from malloc; NULL: nobody wants it. Errors: DIT_ERR_IO, DIT_ERR_MEMORY; DIT_ERR_ENVIRONMENT
 * without gnuplot, after data and script are written. */
dit_status report_drawn_write(const report_drawn *drawn, const char *folder, const char *program,
                              const report_style *style, unsigned formats, char **svg);

#endif
