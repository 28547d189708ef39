/* Prices answer: what `ditbench prices` says of a book: quotes with their ages, machines with their prices or the reason
 * why there is none, as tables and as a document (ditbench.prices/1).
 */
#ifndef DIT_SUITE_VERBS_PRICES_ANSWER_H
#define DIT_SUITE_VERBS_PRICES_ANSWER_H

#include "base/json_writer.h"
#include "suite/prices/price.h"

#include <stdio.h>

typedef struct {
    const suite_price_book *book;
    suite_price_terms terms;
    suite_priced_machine *machines; /* [machine_count] */
    int machine_count;
    bool named;          /* somebody named the machines: only quotes of their accelerators, and prices by region */
    char **accelerators; /* of the catalogue, NULL-terminated */
} suite_price_answer;

/* Prints the tables. `width`: of the screen, 0: no limit. Errors: DIT_ERR_MEMORY. */
dit_status suite_price_answer_print(const suite_price_answer *answer, FILE *out, int width);
/* Adds the members of the document. */
void suite_price_answer_put(dit_json_writer *w, cJSON *document, const suite_price_answer *answer);

/* Finds the machines whose rank would rest on nothing but old quotes: writes their indices to `old` [machine_count]
 * and returns their number, or -1 after an error. */
int suite_price_answer_check(const suite_price_answer *answer, int *old);

#endif
