/* Style: says how large a figure is drawn, in what type, and in which file formats. */
#ifndef DIT_REPORTS_DRAW_STYLE_H
#define DIT_REPORTS_DRAW_STYLE_H

#include "base/status.h"

#include <stdbool.h>

#define REPORT_FORMAT_LIST(X) X(svg) X(png) X(pdf) X(eps)
typedef enum {
#define REPORT_FORMAT_ITEM(name) REPORT_FORMAT_##name,
    REPORT_FORMAT_LIST(REPORT_FORMAT_ITEM)
#undef REPORT_FORMAT_ITEM
        REPORT_FORMAT_COUNT
} report_file_format;

/* "svg", ...; NULL-terminated. */
const char *const *report_format_names(void);

/* Lengths are points, 1/72 inch. 0 means the picture's own size, in which 11 pixels of text are 8.25 points. */
typedef struct {
    double width, height;
    double font;      /* of axes and legend; 0: 8.25, with a width 8 */
    bool bare;        /* no title, and no line with commit and session: a paper's caption says that */
    unsigned formats; /* bit of a report_file_format set: drawn too, beside SVG and PNG */
} report_style;

/* True if the style asks for a size, a type or a bare picture, unlike the figures of a page. */
bool report_style_is_paper(const report_style *style);

/* Reads a length ("3.3in", "84mm", "8.4cm", "240pt", or a bare number of points) into points. Errors: DIT_ERR_USAGE. */
dit_status report_length_parse(const char *text, double *out);
/* Adds the formats of a list: "pdf", or "pdf,eps". Errors: DIT_ERR_USAGE, which names the known formats. */
dit_status report_formats_parse(const char *text, unsigned *out);

#endif
