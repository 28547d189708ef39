/* Cache oracle: forwards on one rank that compute what a cached run must give, by rules of their own (cache_oracle.c). */
#ifndef DIT_ENGINE_CACHE_ORACLE_H
#define DIT_ENGINE_CACHE_ORACLE_H

#include "engine/attention/oracle.h"
#include "engine/sampling/sampler.h"

typedef struct dit_cache_oracle dit_cache_oracle;

/* Takes the memory of what sampler->emulates_cache keeps, from rt->run and rt->image. stale: NULL, or the emulated mesh
 * whose K and V are of earlier steps; its groups keep what their own forwards add, and stale->group says which of them a
 * forward is about. Errors: DIT_ERR_MEMORY. */
dit_status dit_cache_oracle_create(dit_sampler *sampler, dit_oracle *stale, dit_cache_oracle **out);
/* Begins a request: nothing has been computed. */
void dit_cache_oracle_begin(dit_cache_oracle *oracle);
/* As dit_model_forward, of all blocks; in a step that reuses, what the middle ones gave is replaced. */
dit_status dit_cache_oracle_forward(dit_cache_oracle *oracle, const dit_forward_args *args);
/* True if the step, whose forwards are done, computed its middle blocks. */
bool dit_cache_oracle_computed(const dit_cache_oracle *oracle, int step);
/* What was decided for the images of data rank `group`. */
const dit_cache_log *dit_cache_oracle_log(const dit_cache_oracle *oracle, int group);

#endif
