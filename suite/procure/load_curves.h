/* Load curves: the latency that the question bounds, against the rate, for each division of a machine into replicas.
 */
#ifndef DIT_SUITE_PROCURE_LOAD_CURVES_H
#define DIT_SUITE_PROCURE_LOAD_CURVES_H

#include "suite/procure/split.h"

/* Fills out->curves for the machine of the first answer, in scenario server. Errors: DIT_ERR_MEMORY; those of serve.h. */
dit_status suite_load_curves_find(const suite_procure_request *request, suite_procured *out);

#endif
