/* Prices own: what `ditbench prices --own` and `--power` say: watts of accelerators with their evidence, and what a
 * machine of one's own costs an hour beside a rented one.
 */
#ifndef DIT_SUITE_VERBS_PRICES_OWN_H
#define DIT_SUITE_VERBS_PRICES_OWN_H

#include "suite/verbs/prices_answer.h"

/* What is asked beside the prices. */
typedef struct {
    const char *site; /* a name or a path; NULL: nothing of ownership */
    double busy;      /* share of the best rate at which the machines work */
    bool power;       /* the table of accelerators */
} prices_own_request;

/* Prints the tables that are asked for. Errors: of reading the files; DIT_ERR_MEMORY. */
dit_status prices_own_print(const prices_own_request *request, const suite_price_answer *answer, FILE *out, int width);
/* Adds "own" and "power" to the document, as they are asked for. */
void prices_own_put(dit_json_writer *w, cJSON *document, const prices_own_request *request,
                    const suite_price_answer *answer);

#endif
