/* What the first blocks add to the image rows of the stream, against what they added in the last computed step.
 * Source: ParaAttention's first-block cache; cache-dit's DBCache with more blocks. */
#include "engine/cache/cache_impl.h"

static dit_status embedded(dit_cache_run *run)
{
    dit_cache_take(run, &run->image, 1, 0, run->now);
    return DIT_OK;
}

static void first_done(dit_cache_run *run)
{
    dit_cache_take(run, &run->image, 1, -1, run->now);
}

const dit_cache_indicator dit_cache_first_blocks = {.embedded = embedded, .first_done = first_done};
