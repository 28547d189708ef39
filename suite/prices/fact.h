/* Fact: a number of a data file with where it comes from: {"value", "source" and "date"}, or {"value", "assumed"} with
 * the reason. What is assumed is printed as assumed wherever it is used.
 */
#ifndef DIT_SUITE_PRICES_FACT_H
#define DIT_SUITE_PRICES_FACT_H

#include "base/json.h"

#include <stdint.h>

typedef struct {
    double value;
    const char *source, *assumed, *doubt; /* "" where absent; source or assumed is there. They lie in the document */
    int64_t day;                          /* of the source; 0 of what is assumed */
} suite_fact;

/* Checks the evidence of an object: "source" and "date", or "assumed", and never both; "doubt" may be there. Errors:
 * DIT_ERR_JSON_* with file, line and key. */
dit_status suite_fact_evidence(const dit_json *doc, const cJSON *object, const char *pointer, suite_fact *out);
/* Reads member `key` of `parent`, whose pointer is `above`: an object of a value in [least, most] with its evidence.
 * *out stays as it is where the member is absent. */
dit_status suite_fact_read(const dit_json *doc, const cJSON *parent, const char *above, const char *key, double least,
                           double most, suite_fact *out);

/* Reads the required member `key` of `object`, the name of a currency: three capital letters (ISO 4217). */
dit_status suite_fact_currency(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                               const char **out);

#endif
