/* Sensitivity: what of the machine, or of its price, the first answer hangs on most.
 */
#ifndef DIT_SUITE_PROCURE_SENSITIVITY_H
#define DIT_SUITE_PROCURE_SENSITIVITY_H

#include "suite/procure/split.h"

/* Fills out->sensitivities for the first split that has a score, the largest first. Parts of the machine by lower bounds
 * alone: nothing is simulated. Errors: those of suite_search_run and serve.h. */
dit_status suite_sensitivities_find(const suite_procure_request *request, suite_procured *out);

#endif
