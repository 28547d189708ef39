/* Legality: whether a model can run on a mesh. */
#ifndef DIT_BASE_LEGALITY_H
#define DIT_BASE_LEGALITY_H

#include "base/facts.h"
#include "base/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns DIT_OK, or the first broken rule as an error with values (DIT_ERR_CONSTRAINT_*, stable codes). */
dit_status dit_parallel_check(const dit_parallel *parallel, const dit_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
