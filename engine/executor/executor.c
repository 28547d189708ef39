#include "engine/executor/executor.h"

const dit_executor *dit_executor_of(const dit_sampler *sampler)
{
    (void)sampler;
    return &dit_executor_whole;
}
