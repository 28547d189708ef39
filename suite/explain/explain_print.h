/* Explain print: an explanation as text for people. */
#ifndef DIT_SUITE_EXPLAIN_EXPLAIN_PRINT_H
#define DIT_SUITE_EXPLAIN_EXPLAIN_PRINT_H

#include "base/json.h"

/* Prints on stdout what suite_explain gave, with the times and verdicts that suite_verdicts_add (suite/search/verdicts.h)
 * put there: a table of all meshes, or `one` in full. no_times: why a simulated platform's have none; NULL: nothing is
 * said of it. Errors: DIT_ERR_MEMORY. */
dit_status suite_explain_print(const cJSON *answer, bool one, const char *no_times);

#endif
