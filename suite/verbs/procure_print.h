/* Procure print: the answer of `ditbench procure` for a person. */
#ifndef DIT_SUITE_VERBS_PROCURE_PRINT_H
#define DIT_SUITE_VERBS_PROCURE_PRINT_H

#include "suite/procure/split.h"

#include <stdio.h>

/* Prints what was asked, a table, and what it rests on. all: every number of devices; else of each machine the one that
 * answers the question: the least devices that are likely within the bound, else the best. `width` of the screen, 0: no
 * limit. Errors: DIT_ERR_MEMORY. */
dit_status procure_print(const suite_procure_request *request, const suite_procured *procured, bool all, FILE *out,
                         int width);

#endif
