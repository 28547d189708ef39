#include "engine/executor/executor.h"

const dit_executor *dit_executor_of(const dit_sampler *sampler)
{
    if (dit_comm_size(sampler->rt->comm[DIT_AXIS_PIPEFUSION]) > 1) return &dit_executor_pipefusion;
    if (sampler->emulates) return &dit_executor_oracle;
    return &dit_executor_whole;
}
