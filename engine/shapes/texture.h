/* Texture: which one a shape in a picture has. */
#ifndef DIT_ENGINE_SHAPES_TEXTURE_H
#define DIT_ENGINE_SHAPES_TEXTURE_H

#include "engine/shapes/sight.h"
#include "engine/shapes/template.h"

/* Lays every texture, at all phases and three rotations and in the colour that suits it best, over the fitted shape
 * within `window`. Returns the one that leaves the least squares. */
int dit_texture_read(const dit_sight *sight, const dit_mask *window, const dit_template_fit *fit);

#endif
