/* Sight: a picture as the rule sees it: limited values, the background, and the pixels that differ from it. */
#ifndef DIT_ENGINE_SHAPES_SIGHT_H
#define DIT_ENGINE_SHAPES_SIGHT_H

#include "engine/shapes/mask.h"
#include "engine/shapes/picture.h"

enum { DIT_SIGHT_LEAST_PIXELS = 12 }; /* fewer are no object */

typedef struct {
    float rgb[3][DIT_PICTURE_PLANE]; /* limited to 0..1 */
    float ground[3];                 /* the background's colour: the median of the border */
} dit_sight;

/* Takes a picture [3][32][32]; NaN counts as 0. */
void dit_sight_take(const float *planes, dit_sight *out);
/* The level of background that is nearest. */
int dit_sight_background(const dit_sight *sight);
/* The pixels that differ from the background. One with few such neighbours is noise, one among many is no hole. */
void dit_sight_objects(const dit_sight *sight, dit_mask *out);
/* How far from grey a pixel is: its largest colour less its smallest. */
float dit_sight_chroma(const dit_sight *sight, int pixel);
/* Orders floats for qsort. */
int dit_sight_by_value(const void *a, const void *b);

#endif
