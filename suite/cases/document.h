/* Document: reads back, leniently, what a case document says about where it runs. */
#ifndef DIT_SUITE_CASES_DOCUMENT_H
#define DIT_SUITE_CASES_DOCUMENT_H

#include "base/json.h"

/* True if a case document is to be simulated: its platform has backend cost. */
bool suite_case_simulated(const cJSON *document);
/* Returns the word of a case's platform under `key`; "" where there is none. */
const char *suite_case_platform(const cJSON *document, const char *key);
/* Returns platform.threads_per_rank of a case document, 1 when absent. */
int suite_case_threads(const cJSON *document);
/* Returns the name of the external engine that a case is to be run by; "" where it is ours. */
const char *suite_case_engine(const cJSON *document);

#endif
