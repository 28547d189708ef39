/* Draws: the random numbers of one sample, in order, from the counter-based generator (base/rng.h). */
#ifndef DIT_ENGINE_SHAPES_DRAWS_H
#define DIT_ENGINE_SHAPES_DRAWS_H

#include "base/rng.h"

typedef struct {
    uint64_t key, stream, index;
    uint32_t used, words[4];
} dit_draws;

/* Draws of sample `index` of a split, for one use that `stream` names. */
static inline dit_draws dit_draws_of(int split, const char *stream, uint64_t index)
{
    return (dit_draws){.key = (uint64_t)split, .stream = dit_rng_stream(stream), .index = index};
}

static inline uint32_t dit_draw(dit_draws *d)
{
    if (d->used % 4 == 0) dit_rng_philox(d->key | (uint64_t)(d->used / 4) << 32, d->stream, d->index, d->words);
    return d->words[d->used++ % 4];
}

/* A number in [0, count), count < 2^16: the bias is under 2^-16 of a value's share. */
static inline int dit_draw_below(dit_draws *d, int count)
{
    return (int)((uint64_t)dit_draw(d) * (uint64_t)count >> 32);
}

/* A number in [low, high), on a grid of 2^24 steps. */
static inline float dit_draw_between(dit_draws *d, float low, float high)
{
    return low + (high - low) * ((float)(dit_draw(d) >> 8) * 0x1p-24f);
}

#endif
