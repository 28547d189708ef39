/* Mix print: what `ditbench procure --mix` found, for a person. */
#ifndef DIT_SUITE_VERBS_MIX_PRINT_H
#define DIT_SUITE_VERBS_MIX_PRINT_H

#include "suite/mix/mix.h"

#include <stdio.h>

/* Prints the classes, a table of machines, and where the best one sends each class. `width` of the screen, 0: no limit.
 * Errors: DIT_ERR_MEMORY. */
dit_status mix_print(const suite_procure_request *request, const suite_traffic *traffic, const suite_mixed *mixed,
                     FILE *out, int width);

#endif
