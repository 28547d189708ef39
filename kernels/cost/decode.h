/* Decode: what a VAE's own code takes to decode latents on one device, whole or in tiles, as a census counted it.
 *
 * Tiles lie every step of the census's schedule, the last ones cut off at the edge. Each is decoded in calls of so many
 * frames; the first and the second call have parts of their own. Then each line of a tile's overlap is mixed with the
 * tile before, line by line, and tiles are joined.
 */
#ifndef DIT_KERNELS_COST_DECODE_H
#define DIT_KERNELS_COST_DECODE_H

#include "kernels/cost/census.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int64_t frames, height, width; /* of latents */
    bool tiling;                   /* asked for; latents no larger than a tile stay whole */
} dit_cost_decode;
/* Returns the time of one decode. `census` has a schedule. */
dit_census_time dit_cost_decode_time(const dit_census *census, const dit_cost_device *device,
                                     const dit_cost_profile *profile, const dit_cost_decode *decode);

#ifdef __cplusplus
}
#endif
#endif
