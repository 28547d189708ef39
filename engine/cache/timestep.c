/* The timestep's embedding against that of the step before. It is equal for all prompts and on all ranks, so that ranks
 * exchange nothing: the row of the first batch entry is compared.
 * Source: TeaCache's program (arXiv:2411.19108), its pipelines of CogVideoX and Wan. */
#include "engine/cache/cache_impl.h"

static dit_status embedded(dit_cache_run *run)
{
    ops_combine(run->rt, &(dit_combine_args){.elements = run->image.width,
                                             .count = 1,
                                             .x = {run->model->time_embedding},
                                             .a = {1},
                                             .y = run->embedding});
    return DIT_OK;
}

const dit_cache_indicator dit_cache_timestep = {.embedded = embedded, .every_step = true};
