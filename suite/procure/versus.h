/* Versus: two machines beside each other: which is faster, which is cheaper, how sure that is, and at what price that
 * turns.
 */
#ifndef DIT_SUITE_PROCURE_VERSUS_H
#define DIT_SUITE_PROCURE_VERSUS_H

#include "suite/procure/split.h"

/* Returns the place of the split that answers for a machine: the least within the bound, else the first in order. -1:
 * none has a mesh. */
int suite_answer_of(const suite_procured *procured, int machine);

/* Fills out->versus where the request asks for it and both machines have an answer. Errors: DIT_ERR_MEMORY; those of
 * serve.h. */
dit_status suite_versus_find(const suite_procure_request *request, suite_procured *out);

#endif
