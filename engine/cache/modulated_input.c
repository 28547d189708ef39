/* What the first block gives its attention, normalised and modulated by the timestep, against that of the step before.
 * Source: TeaCache (arXiv:2411.19108) and its program's pipelines of FLUX, HunyuanVideo, Latte and others. */
#include "engine/cache/cache_impl.h"

static dit_status embedded(dit_cache_run *run)
{
    return dit_model_attention_input(run->model, run->now);
}

const dit_cache_indicator dit_cache_modulated_input = {.embedded = embedded, .every_step = true};
