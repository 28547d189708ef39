#include "engine/shapes/edit.h"

#include "engine/shapes/draws.h"

enum { EDITED = DIT_SHAPE + 1 };

void dit_edit_draw(dit_split split, uint64_t index, dit_edit *out)
{
    dit_draws draws = dit_draws_of((int)split, "shapes.edit", index);
    dit_split_caption(split, false, index, &out->before);
    do {
        out->after = out->before;
        out->object = dit_draw_below(&draws, out->before.count);
        out->attribute = (dit_attribute)dit_draw_below(&draws, EDITED);
        int values = dit_attribute_values(out->attribute), *is = &out->after.objects[out->object].is[out->attribute];
        *is = (*is + 1 + dit_draw_below(&draws, values - 1)) % values;
    } while (split != DIT_SPLIT_PAIRS && dit_split_of(&out->after) == DIT_SPLIT_PAIRS);
}

void dit_edit_region(const dit_edit *edit, dit_split split, uint64_t index, uint8_t *region)
{
    dit_scene scene;
    float before[DIT_PICTURE_VALUES], after[DIT_PICTURE_VALUES];
    dit_scene_draw(&edit->before, split, index, &scene);
    dit_picture_render_frame(&scene, 0, before);
    dit_scene_draw(&edit->after, split, index, &scene);
    dit_picture_render_frame(&scene, 0, after);
    for (int i = 0; i < DIT_PICTURE_PLANE; i++) {
        region[i] = 0;
        for (int c = 0; c < 3; c++) region[i] |= before[c * DIT_PICTURE_PLANE + i] != after[c * DIT_PICTURE_PLANE + i];
    }
}
