/* SkyPilot: makes a price file of a catalogue CSV of SkyPilot.
 *
 * Such a catalogue has no date, one name for several devices, placeholders, ceilings and mistakes. A table of names
 * (workloads/schema/price_names.schema.json) says what the catalogue's names stand for; where the row does not decide,
 * the quote is in doubt. A line, or its spot price, that is no price is refused, with the reason.
 */
#ifndef DIT_SUITE_PRICES_SKYPILOT_H
#define DIT_SUITE_PRICES_SKYPILOT_H

#include "base/json_writer.h"

/* Why a line (or the spot price in it) is left out: constant, name in documents, whether the rest of the line stays. */
#define SUITE_SKYPILOT_REFUSAL_LIST(X)                                                                                 \
    X(NO_ACCELERATOR, "no_accelerator", false)                                                                         \
    X(FIELDS, "fields", false)                                                                                         \
    X(NUMBER, "number", false)                                                                                         \
    X(NAME, "name", false)                                                                                             \
    X(COUNT, "count", false)                                                                                           \
    X(MEMORY, "memory", false)                                                                                         \
    X(NO_PRICE, "no_price", false)                                                                                     \
    X(PLACEHOLDER, "placeholder", false)                                                                               \
    X(SWAPPED, "swapped", false)                                                                                       \
    X(PRICE_OF_FEWER, "price_of_fewer", false)                                                                         \
    X(SPOT_ZERO, "spot_zero", true)                                                                                    \
    X(SPOT_CEILING, "spot_ceiling", true)

typedef enum {
#define SUITE_SKYPILOT_REFUSAL_ENUM(name, text, stays) SUITE_SKYPILOT_##name,
    SUITE_SKYPILOT_REFUSAL_LIST(SUITE_SKYPILOT_REFUSAL_ENUM)
#undef SUITE_SKYPILOT_REFUSAL_ENUM
        SUITE_SKYPILOT_REFUSAL_COUNT
} suite_skypilot_refusal;

/* What a refusal is called in documents. */
const char *suite_skypilot_refusal_name(suite_skypilot_refusal why);
/* True if only the spot price of the line is left out. */
bool suite_skypilot_keeps_line(suite_skypilot_refusal why);

/* A line that was refused, or its spot price. */
typedef struct {
    int line;
    suite_skypilot_refusal why;
    char reason[160];
} suite_skypilot_refused;

typedef struct {
    cJSON *book; /* a price file, ditbench.price_book/1 */
    suite_skypilot_refused *refused;
    int refused_count, quote_count, doubt_count, line_count; /* lines: records behind the header */
} suite_skypilot_import;

/* What is read, and what a catalogue does not say of itself. `names`: the table of names, read already; `commit` and
 * `date`: of the catalogue. */
typedef struct {
    const char *text, *path;
    size_t length;
    const dit_json *names;
    const char *commit, *date;
} suite_skypilot_request;

/* Makes a price file. The caller releases it. Errors: DIT_ERR_JSON_* in the table of names; DIT_ERR_USAGE for text that
 * is no such catalogue (PATH:LINE); DIT_ERR_MEMORY. */
dit_status suite_skypilot_read(const suite_skypilot_request *request, suite_skypilot_import *out);
/* Accepts a zeroed one. */
void suite_skypilot_release(suite_skypilot_import *import);

#endif
