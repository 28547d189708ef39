/* Search rents: what a part of a platform costs an hour, for goal cost of `search`, by the quotes that count.
 */
#ifndef DIT_SUITE_VERBS_SEARCH_RENTS_H
#define DIT_SUITE_VERBS_SEARCH_RENTS_H

#include "suite/search/found.h"
#include "suite/verbs/price_options.h"

/* release accepts a zeroed one. */
typedef struct {
    suite_price_book book;
    suite_price_terms terms;
    suite_price prices[SUITE_SEARCH_RENTS]; /* [count] of numbers of devices that divide those of the search */
    int count;
} search_rents;
void search_rents_release(search_rents *rents);

/* Fills the request's rents: medians of the quotes that count. Errors: DIT_ERR_USAGE where nobody rents out any part of
 * the platform, with the reason of the largest; those of book.h and price.h. */
dit_status search_rents_find(const price_options *given, suite_search_request *request, search_rents *out);
/* Prints in a line what so many devices cost, and 1,000 images on them. */
void search_rents_print(const search_rents *rents, int devices, double per_1000);
/* Adds the member "prices" to an answer; nothing without prices. Errors: DIT_ERR_MEMORY. */
dit_status search_rents_put(const search_rents *rents, cJSON *document);

#endif
