/* One object of a picture: the part of the rule that pictures and clips share. */
#ifndef DIT_ENGINE_SHAPES_OBJECT_RULE_H
#define DIT_ENGINE_SHAPES_OBJECT_RULE_H

#include "engine/shapes/sight.h"

/* Reads size, colour, texture and shape of the object whose pixels are `mask`, at least DIT_SIGHT_LEAST_PIXELS;
 * `window` is where it may lie. The motion is -1, the place is left alone. */
void dit_shapes_read_object(const dit_sight *sight, const dit_mask *mask, const dit_mask *window,
                            dit_shape_object *out);

#endif
