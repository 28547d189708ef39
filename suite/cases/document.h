/* Document: what a case document says of where it runs, read back leniently. */
#ifndef DIT_SUITE_CASES_DOCUMENT_H
#define DIT_SUITE_CASES_DOCUMENT_H

#include "base/json.h"

/* Whether a case document is to be simulated: its platform has backend cost. */
bool suite_case_simulated(const cJSON *document);
/* What a case's platform says under `key`; "" where it is no word. */
const char *suite_case_platform(const cJSON *document, const char *key);
/* platform.threads_per_rank of a case document, 1 when absent. */
int suite_case_threads(const cJSON *document);

#endif
