/* Quotes: finds the numbers that a Markdown page takes from results, and says which are stale.
 *
 *     <!-- ditbench: SOURCE; CASE; METRIC; FORMAT -->1.23 s<!-- / -->
 *
 * SOURCE is a session, a baseline file, a packed session or a commit; CASE a label or the beginning of a case id.
 * FORMAT is a pattern such as "0.00 ms", "0 MB", "0.0 %", "0.00x": the zeros behind the point are its decimals, and
 * what follows is the unit. Without FORMAT the number is written as reports write it. Comments inside code are none.
 */
#ifndef DIT_SUITE_QUOTES_QUOTES_H
#define DIT_SUITE_QUOTES_QUOTES_H

#include "base/buffer.h"
#include "suite/quotes/quoted_source.h"

/* One number of a page. `is` is what belongs there; "" where `status` says why nobody knows. */
typedef struct {
    int line;
    char source[256], kase[256], metric[48], format[32], said[128], is[128];
    dit_status status;
    char message[512];
} suite_quote;

typedef struct {
    suite_quote *rows;
    int count, capacity;
} suite_quotes;

/* Whether the page says what the source says. */
bool suite_quote_is_stale(const suite_quote *quote);
/* Checks all quotes of `text`, and puts the page with right numbers into `page`. A quote that cannot be read or looked
 * up stays as it is and has a status. Errors: DIT_ERR_MEMORY. */
dit_status suite_quotes_check(const char *text, suite_quoted_sources *sources, suite_quotes *out, dit_buffer *page);
void suite_quotes_release(suite_quotes *quotes);
/* Writes a value as `format` says; "" is as reports write it. Errors: DIT_ERR_USAGE for a pattern that is none or a
 * unit that the metric does not have. */
dit_status suite_quote_format(const char *format, report_unit unit, double value, char out[128]);

#endif
