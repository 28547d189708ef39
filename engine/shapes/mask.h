/* Mask: sets of pixels of a 32 x 32 picture. */
#ifndef DIT_ENGINE_SHAPES_MASK_H
#define DIT_ENGINE_SHAPES_MASK_H

#include "engine/shapes/scene.h"

typedef struct {
    uint32_t rows[DIT_PICTURE_EDGE]; /* bit x of row y */
} dit_mask;

/* Whether the pixel (row times 32 plus column) is in the mask. */
static inline bool dit_mask_has(const dit_mask *mask, int pixel)
{
    return mask->rows[pixel / DIT_PICTURE_EDGE] >> pixel % DIT_PICTURE_EDGE & 1;
}

int dit_mask_count(const dit_mask *mask);
/* The mean place of the mask's pixels, whose centres lie at halves; the mask has some. */
void dit_mask_centre(const dit_mask *mask, float *x, float *y);
/* How many of a pixel's eight neighbours are in the mask. */
int dit_mask_neighbours(const dit_mask *mask, int pixel);
/* Adds to `part` all pixels of `whole` that touch it, until nothing is added: its connected pixels. */
void dit_mask_grow(const dit_mask *whole, dit_mask *part);
/* Adds the neighbours of all pixels. */
void dit_mask_widen(dit_mask *mask);

#endif
