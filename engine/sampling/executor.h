/* Executors: decide in what order the pieces of a sampling run, and which messages stages exchange. Each is a file and
 * a row of the table in executor.c; sampler.h has the type. */
#ifndef DIT_ENGINE_EXECUTOR_H
#define DIT_ENGINE_EXECUTOR_H

#include "engine/sampling/sampler.h"

/* Returns the first executor of the table that serves the mesh: "stream" or "pipefusion" with stages, "stream-oracle" or
 * "oracle" where one rank emulates a mesh, else "whole". emulates: as in dit_sampler. Never NULL. */
const dit_executor *dit_executor_for(const dit_runtime *rt, const dit_parallel *emulates);

extern const dit_executor dit_executor_stream, dit_executor_pipefusion, dit_executor_stream_oracle, dit_executor_oracle,
    dit_executor_whole;
/* Sends all latents from the last stage, which has them, to all others. Collective over the stages. */
dit_status dit_executor_share_last(dit_sampler *sampler);
/* Emulate a cache on one rank, of middle blocks, of modules, of whole outputs and of single blocks; sampler->emulates_cache is
 * set. */
extern const dit_executor dit_executor_cache_oracle, dit_executor_module_oracle, dit_executor_output_oracle,
    dit_executor_block_oracle;
/* Returns that of them which emulates the cache, on a mesh without stale steps. */
const dit_executor *dit_executor_of_cache(const dit_cache *cache);
/* A group's log has what was decided for the images of one data rank; NULL beyond the last group, and of other
 * executors. */
const dit_cache_log *dit_executor_cache_log(const dit_sampler *sampler, int group);

#endif
