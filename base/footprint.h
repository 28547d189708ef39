/* Footprint: estimates how much memory a rank needs, before anything runs. */
#ifndef DIT_BASE_FOOTPRINT_H
#define DIT_BASE_FOOTPRINT_H

#include "base/cache.h"
#include "base/facts.h"
#include "base/parallel.h"
#include "base/residency.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Estimates the peak bytes by memory class (DIT_MEMORY_*) of a rank of the heaviest stage: weights, activations, stores
 * of K and V. It is an upper limit for planning. */
void dit_memory_predict(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4]);
/* As above, with what a cache keeps from step to step; the mesh is one that it allows (dit_cache_check). */
void dit_memory_predict_cached(const dit_parallel *parallel, const dit_facts *facts, const dit_cache *cache,
                               int64_t bytes[4]);
/* Lowers an estimate to what stays where weights of blocks stream: those outside of blocks, resident_weights, and one
 * block on its way. */
void dit_memory_offload(const dit_parallel *parallel, const dit_facts *facts, const dit_offload *offload,
                        int64_t bytes[4]);
/* Estimates the bytes of block `index`, from 0, of a rank's stage. */
int64_t dit_memory_block_bytes(const dit_parallel *parallel, const dit_facts *facts, int rank, int64_t index);
/* Lowers an estimate to what stays where weights of blocks lie in shards: those outside of blocks, a rank's pieces, and
 * the blocks that are gathered at once. Nothing where fsdp_degree is 1. */
void dit_memory_shards(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4]);
/* Estimates the bytes that one rank keeps beside its own to emulate a cache. */
int64_t dit_memory_cache_oracle(const dit_facts *facts, const dit_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
