/* Template: shapes of known size and rotation as bitmaps, and the one that covers a mask best. */
#ifndef DIT_ENGINE_SHAPES_TEMPLATE_H
#define DIT_ENGINE_SHAPES_TEMPLATE_H

#include "engine/shapes/mask.h"

/* A shape laid over a mask. */
typedef struct {
    int shape, size;
    float radius, cosine, sine, x, y;
    double overlap; /* pixels in both over pixels in either, 0..1 */
} dit_template_fit;

/* Finds the best fit for the pixels of `mask`, all of which lie in `window`; what of a template lies outside counts as
 * not there. */
void dit_template_find(const dit_mask *mask, const dit_mask *window, dit_template_fit *best);

#endif
