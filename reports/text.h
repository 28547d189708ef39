/* Text: writes numbers with units, and makes strings safe for the place they go to.
 *
 * Everything a record says is untrusted: it reaches HTML, CSV and gnuplot only through the writers of this file.
 */
#ifndef DIT_REPORTS_TEXT_H
#define DIT_REPORTS_TEXT_H

#include "base/buffer.h"
#include "base/json.h"

typedef enum {
    REPORT_UNIT_SECONDS,
    REPORT_UNIT_BYTES, /* kB = 10^3 bytes */
    REPORT_UNIT_COUNT,
    REPORT_UNIT_FLOP,
    REPORT_UNIT_GFLOP_PER_S,
    REPORT_UNIT_PER_HOUR,
    REPORT_UNIT_FACTOR,   /* 1.87x                  */
    REPORT_UNIT_RELATIVE, /* small and dimensionless */
    REPORT_UNIT_SHARE,    /* of a whole, shown in percent */
    REPORT_UNIT_DECIBEL,
    REPORT_UNIT_JOULES,
    REPORT_UNIT_WATTS,
    REPORT_UNIT_COUNT_
} report_unit;

/* "s", "bytes", ... as CSV headers and claims name the unscaled unit. */
const char *report_unit_name(report_unit unit);

/* How a quantity is shown on an axis: shown = value * factor, in `symbol`. */
typedef struct {
    double factor;
    const char *symbol;
} report_scale;
/* Returns the scale that makes `largest` a readable number. */
report_scale report_scale_for(report_unit unit, double largest);

enum { REPORT_NUMBER_TEXT = 48 };
/* Writes four significant digits with the unit: "1.234 s", "12.5 MB", "1.87×", "0". */
void report_format(report_unit unit, double value, char out[REPORT_NUMBER_TEXT]);
/* Writes four significant digits, without an exponent where possible. */
void report_format_plain(double value, char out[REPORT_NUMBER_TEXT]);

/* Appends `text` for HTML content and quoted attributes: & < > " ' escaped, control characters replaced. */
void report_append_html(dit_buffer *out, const char *text);
/* Appends one CSV cell (RFC 4180), quoted when needed. */
void report_append_csv(dit_buffer *out, const char *text);
/* Appends a gnuplot single-quoted string: no escapes, macros or commands act inside one. Control characters become
 * spaces; more than 200 characters are cut with an ellipsis. */
void report_append_quoted(dit_buffer *out, const char *text);

/* Returns the number of characters of UTF-8 text, and their estimated width in pixels (in DejaVu Sans, a wide face;
 * other faces need less). */
int report_text_length(const char *text);
double report_text_width(const char *text, double font_px);

/* Returns a copy from malloc; NULL is copied as "". Returns NULL without memory. */
char *report_copy(const char *text);

/* Names the machine that a session's `hardware` object is of: its GPUs, if it has any, before its processor. `size`: of out. */
void report_hardware_words(const cJSON *hardware, int size, char *out);

#endif
