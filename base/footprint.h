/* Footprint: estimates how much memory a rank needs, before anything runs. */
#ifndef DIT_BASE_FOOTPRINT_H
#define DIT_BASE_FOOTPRINT_H

#include "base/facts.h"
#include "base/parallel.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Estimates the peak bytes by memory class (DIT_MEMORY_*) of a rank of the heaviest stage: weights, activations, stores
 * of K and V. It is an upper limit for planning. */
void dit_memory_predict(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4]);

#ifdef __cplusplus
}
#endif
#endif
