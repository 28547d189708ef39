/* Quote: what a provider asked for an instance, or for a share of one, an hour; one row of a price file.
 *
 * A price without a source, a day (or a range of days), a kind, a number of devices or a currency is refused. What is in
 * doubt says so.
 */
#ifndef DIT_SUITE_PRICES_QUOTE_H
#define DIT_SUITE_PRICES_QUOTE_H

#include "base/json.h"
#include "suite/prices/age.h"

/* Ways to pay: name in files, whether a rank may rest on it unless it is asked for by name. Kinds are never mixed. */
#define SUITE_PRICE_KIND_LIST(X)                                                                                       \
    X(LIST, "list")                                                                                                    \
    X(ON_DEMAND, "on-demand")                                                                                          \
    X(SPOT, "spot")                                                                                                    \
    X(MARKETPLACE, "marketplace")                                                                                      \
    X(COMMITTED_1Y, "committed-1y")                                                                                    \
    X(COMMITTED_3Y, "committed-3y")                                                                                    \
    X(CONTRACT, "contract")                                                                                            \
    X(OWN, "own")

typedef enum {
#define SUITE_PRICE_KIND_ENUM(name, text) SUITE_PRICE_##name,
    SUITE_PRICE_KIND_LIST(SUITE_PRICE_KIND_ENUM)
#undef SUITE_PRICE_KIND_ENUM
        SUITE_PRICE_KIND_COUNT
} suite_price_kind;

/* The names of all kinds, NULL at the end; the place of a name is its kind. */
const char *const *suite_price_kind_names(void);

enum { SUITE_QUOTE_DEVICES = 1024 }; /* at most, of one instance */

/* Texts lie in the document; those that a row lacks are "". */
typedef struct {
    const char *provider, *instance, *accelerator, *listed_as, *region, *zone, *source, *platform, *includes, *doubt,
        *note;
    const char *currency; /* of its file */
    suite_price_kind kind;
    int count;         /* devices of the instance                                                      */
    bool share;        /* price of one device's share of a machine whose size the source does not name */
    double price;      /* an hour, of `count` devices, in `currency`                                   */
    double paid_ahead; /* share of a term that is paid ahead; below 0: unknown, or no term             */
    suite_dating when;
} suite_price_quote;

/* Reads the days of a row or of a source: "date", or "not_before" and "not_after". *said: it has them. Errors:
 * DIT_ERR_JSON_VALUE for a text that is no day, for both forms together, and for a range that ends before it begins;
 * DIT_ERR_JSON_MISSING for half a range. */
dit_status suite_dating_read(const dit_json *doc, const cJSON *object, const char *pointer, bool *said,
                             suite_dating *out);

/* Reads one row. `sourced`: when the source that it names was, or NULL where the file has no such source, which is an
 * error. A row without days of its own has those of its source. Errors: DIT_ERR_JSON_* with file, line and key. */
dit_status suite_price_quote_read(const dit_json *doc, const cJSON *row, const char *pointer,
                                  const suite_dating *(*sourced)(void *context, const char *name), void *context,
                                  suite_price_quote *out);

#endif
