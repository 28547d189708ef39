/* Procure: which machine, and how many of its devices, answer a buyer's question: how long a picture takes, how many an
 * hour, for how much money and how many watts, and how sure that is.
 *
 * Every machine is searched for its best exact mesh on each number of devices (suite/search). Predicted times get the
 * interval of what was held out (suite/confidence), machines a price by quotes (suite/prices), or the reason why there is
 * none. What cannot be computed has its reason, and nothing is imputed.
 */
#ifndef DIT_SUITE_PROCURE_PROCURE_H
#define DIT_SUITE_PROCURE_PROCURE_H

#include "suite/procure/split.h"

/* Answers. Errors: those of search, prices and intervals; DIT_ERR_INTERRUPTED; DIT_ERR_MEMORY. */
dit_status suite_procure(const suite_procure_request *request, suite_procured *out);

/* Returns the most devices of a machine that are asked about: a power of two, or the number that was named. */
int suite_procure_largest(const suite_procure_machine *machine);
/* Whether anybody has told how fast the accelerator computes in the element (NULL: fp16); else why[] says it. Errors: as
 * suite_accelerator_load. */
dit_status suite_procure_is_known(const suite_price_machine *machine, const char *element, char why[300]);

#endif
