/* Edit: two captions that differ in one word of one object, whose pictures are equal but where that object lies. */
#ifndef DIT_ENGINE_SHAPES_EDIT_H
#define DIT_ENGINE_SHAPES_EDIT_H

#include "engine/shapes/picture.h"

typedef struct {
    dit_caption before, after;
    int object;              /* which one differs */
    dit_attribute attribute; /* DIT_SIZE, DIT_COLOUR, DIT_TEXTURE or DIT_SHAPE */
} dit_edit;

/* Draws edit `index` of a split: `before` is the caption of its sample `index`, of a picture; `after` may be in another
 * split, but has no held-out pair unless `before` has one. */
void dit_edit_draw(dit_split split, uint64_t index, dit_edit *out);
/* Marks the pixels [32][32] in which the renders of the two captions, as that sample, differ with 1, others with 0. */
void dit_edit_region(const dit_edit *edit, dit_split split, uint64_t index, uint8_t *region);

#endif
