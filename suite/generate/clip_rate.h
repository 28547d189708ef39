/* Clip rate: how fast a clip is shown where nobody says so. */
#ifndef DIT_SUITE_GENERATE_CLIP_RATE_H
#define DIT_SUITE_GENERATE_CLIP_RATE_H

#include "base/json.h"

/* Returns the frames a second of the clips that a transformer's class was trained on, by its config; 0: it makes pictures, or
 * is not known. frame_rate: what LTX-Video was told of its positions, NaN where it was told nothing. */
int suite_clip_rate(const cJSON *config, double frame_rate);

#endif
