/* Answer: a search as a document, ditbench.search/1, and what binds its winner in words. */
#ifndef DIT_SUITE_SEARCH_ANSWER_H
#define DIT_SUITE_SEARCH_ANSWER_H

#include "base/json.h"
#include "suite/search/found.h"

/* Gives the whole answer; the caller deletes *out. results/schema/answers.md lists the members. Errors:
 * DIT_ERR_MEMORY. */
dit_status suite_search_to_json(const suite_search *search, cJSON **out);

/* What a faster part of the machine is worth to a mesh: which one decides its time. */
typedef enum { SUITE_BINDS_DEVICE, SUITE_BINDS_HOST, SUITE_BINDS_MESSAGES, SUITE_BINDS_COUNT } suite_search_binds;
const char *suite_search_binds_name(suite_search_binds binds); /* "device", "host", "messages" */
/* Device or host where that alone takes 95 % of the simulated time, else messages. */
suite_search_binds suite_search_what_binds(const suite_search_candidate *candidate);
/* Gives the fastest known mesh that something else binds than the winner: the one that wins if what binds the winner
 * stays and the rest gets faster. -1: there is none. */
int suite_search_rival(const suite_search *search);
/* Whether replicas of the winner share links, and what they do to each other's messages is not counted. */
bool suite_search_winner_shares_links(const suite_search *search);

#endif
