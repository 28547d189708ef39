#include "engine/sampling/executor.h"

/* All executors. The first that serves a mesh is taken; the last serves any mesh. */
static const dit_executor *const executors[] = {&dit_executor_pipefusion, &dit_executor_oracle, &dit_executor_whole};

const dit_executor *dit_executor_for(const dit_runtime *rt, const dit_parallel *emulates)
{
    size_t last = sizeof executors / sizeof *executors - 1, i = 0;
    while (i < last && !executors[i]->serves(rt, emulates)) i++;
    return executors[i];
}
