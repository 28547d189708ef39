#include "engine/sampling/executor.h"

/* All executors. The first that serves a mesh is taken; the last serves any mesh. */
static const dit_executor *const executors[] = {&dit_executor_stream, &dit_executor_pipefusion,
                                                &dit_executor_stream_oracle, &dit_executor_oracle, &dit_executor_whole};

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

dit_status dit_executor_share_last(dit_sampler *s)
{
    dit_comm *comm = s->rt->comm[DIT_AXIS_PIPEFUSION];
    int stage = dit_comm_rank(comm), stages = dit_comm_size(comm);
    int64_t bytes = s->elements * (int64_t)sizeof *s->latents;
    bool last = stage == stages - 1;
    dit_comm_exchange exchange;
    for (int peer = 0; peer < stages - 1; peer++) {
        if (!last && peer != stage) continue;
        DIT_TRY(dit_comm_exchange_begin(comm, s->latents, last ? peer : DIT_COMM_NOBODY, s->latents,
                                        last ? DIT_COMM_NOBODY : stages - 1, bytes, &exchange));
        DIT_TRY(dit_comm_exchange_wait(comm, &exchange));
    }
    return DIT_OK;
}
