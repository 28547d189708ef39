/* Rule: reads from a picture of shapes which words of the grammar it shows. No network: medians, masks and
 * templates. It was made to read renders, with and without noise, and was never changed to please generated
 * pictures.
 */
#ifndef DIT_ENGINE_SHAPES_RULE_H
#define DIT_ENGINE_SHAPES_RULE_H

#include "engine/shapes/picture.h"
#include "engine/shapes/reading.h"

/* Reads a picture [3][32][32], values 0..1; others are limited to that range, and NaN counts as 0. */
void dit_shapes_read(const float *planes, dit_reading *out);
/* Reads a clip [8][3][32][32]. An object's place is where it is in the middle of the clip. */
void dit_shapes_read_clip(const float *planes, dit_reading *out);

#endif
