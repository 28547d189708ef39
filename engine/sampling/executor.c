#include "engine/sampling/executor.h"

/* All executors. The first that serves a mesh is taken; the last serves any mesh. */
static const dit_executor *const executors[] = {&dit_executor_pipefusion, &dit_executor_oracle, &dit_executor_whole};

const dit_executor *dit_executor_for(const dit_runtime *rt, const dit_parallel *emulates)
{
    size_t last = sizeof executors / sizeof *executors - 1, i = 0;
    while (i < last && !executors[i]->serves(rt, emulates)) i++;
    return executors[i];
}

const dit_executor *dit_executor_of_cache(const dit_cache *cache)
{
    if (dit_cache_is_of_outputs(cache)) return &dit_executor_output_oracle;
    if (dit_cache_is_of_blocks(cache)) return &dit_executor_block_oracle;
    return dit_cache_modules(cache) ? &dit_executor_module_oracle : &dit_executor_cache_oracle;
}

const dit_cache_log *dit_executor_cache_log(const dit_sampler *sampler, int group)
{
    if (!sampler->emulates_cache || group >= sampler->emulated_groups) return NULL;
    return sampler->executor->cache_log(sampler, group);
}
