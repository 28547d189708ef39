/* Footprint: how much memory a rank needs, estimated before anything runs. */
#ifndef DIT_BASE_FOOTPRINT_H
#define DIT_BASE_FOOTPRINT_H

#include "base/facts.h"
#include "base/parallel.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Estimated peak bytes by memory class (DIT_MEMORY_*) of a rank of the heaviest stage, before running: weights,
 * activations, stores of K and V; an upper guide for planning. */
void dit_memory_predict(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4]);

#ifdef __cplusplus
}
#endif
#endif
