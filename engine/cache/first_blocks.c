/* What the first blocks add to the image rows of the stream, against what they added in the last computed step.
 * Source: ParaAttention's first-block cache; cache-dit's DBCache with more blocks. */
#include "engine/cache/cache_impl.h"

static void embedded(dit_cache_run *run)
{
    dit_cache_take(run, &run->image, 1, 0, run->now);
}

static void first_done(dit_cache_run *run)
{
    dit_cache_take(run, &run->image, 1, -1, run->now);
}

static void computed(dit_cache_run *run)
{
    const dit_cache_rows *rows = &run->image;
    ops_combine(run->rt, &(dit_combine_args){.elements = rows->batch * rows->rows * rows->width,
                                             .count = 1,
                                             .x = {run->now},
                                             .a = {1},
                                             .y = run->reference});
}

const dit_cache_indicator dit_cache_first_blocks = {embedded, first_done, computed};
