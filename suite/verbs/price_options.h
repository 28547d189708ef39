/* Price options: declares the options that say which quotes count, and reads what they name. `prices` and `procure`
 * share them.
 */
#ifndef DIT_SUITE_VERBS_PRICE_OPTIONS_H
#define DIT_SUITE_VERBS_PRICE_OPTIONS_H

#include "suite/console/cli.h"
#include "suite/prices/price.h"
#include "suite/text.h"

enum { PRICE_OPTIONS = 8 };

/* The values that were given; begin with a zeroed one. Strings are the command line's. */
typedef struct {
    suite_strings files;
    const char *date, *kind, *region, *currency;
    bool per_device, old_prices, doubtful;
} price_options;

/* Fills PRICE_OPTIONS rows; no ending row. */
void price_options_fill(price_options *given, suite_option *options);
/* Says which quotes are asked for: on demand, in USD, today, where nothing else was said. Errors: DIT_ERR_USAGE. */
dit_status price_options_terms(const price_options *given, suite_price_terms *out);
/* Reads the named price files, else all of workloads/prices. The caller releases `out`. Errors: those of book.h. */
dit_status price_options_book(const price_options *given, suite_price_book *out);

#endif
