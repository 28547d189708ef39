#include "engine/shapes/split.h"

#include "engine/shapes/draws.h"

const char *const dit_split_names[DIT_SPLITS + 1] = {"train",       "validation", "held-out", "pairs",
                                                     "calibration", "test",       NULL};

/* The one shape that no trained object of this colour has. */
static int held_out_shape(int colour)
{
    return (2 * colour + 1) % DIT_SHAPES;
}

bool dit_split_holds_out_pair(int colour, int shape)
{
    return shape == held_out_shape(colour);
}

static bool has_held_out_pair(const dit_caption *caption)
{
    for (int k = 0; k < caption->count; k++) {
        const int *is = caption->objects[k].is;
        if (dit_split_holds_out_pair(is[DIT_COLOUR], is[DIT_SHAPE])) return true;
    }
    return false;
}

dit_split dit_split_of(const dit_caption *caption)
{
    if (has_held_out_pair(caption)) return DIT_SPLIT_PAIRS;
    /* A clip's caption is in the group of its picture's: what is told apart by motion alone is not told apart. */
    dit_caption picture = *caption;
    picture.clip = false;
    char text[DIT_CAPTION_TEXT];
    dit_caption_print(&picture, text);
    uint64_t bucket = dit_rng_stream(text) % 32;
    if (bucket < 2) return DIT_SPLIT_HELD_OUT;
    if (bucket < 3) return DIT_SPLIT_CALIBRATION;
    return bucket < 5 ? DIT_SPLIT_TEST : DIT_SPLIT_TRAIN;
}

static void draw_caption(dit_draws *draws, bool clip, dit_caption *out)
{
    *out = (dit_caption){.clip = clip};
    out->background = dit_draw_below(draws, DIT_BACKGROUNDS);
    out->count = dit_draw_below(draws, 10) < 4 ? 1 : 2;
    for (int k = 0; k < out->count; k++) {
        int *is = out->objects[k].is;
        for (int a = 0; a < DIT_MOTION; a++) is[a] = dit_draw_below(draws, dit_attribute_values((dit_attribute)a));
        is[DIT_MOTION] = clip ? dit_draw_below(draws, DIT_MOTIONS) : -1;
    }
    if (out->count == 2) { /* the second has one of the three other places */
        int *place = &out->objects[1].is[DIT_PLACE];
        *place = (out->objects[0].is[DIT_PLACE] + 1 + dit_draw_below(draws, DIT_PLACES - 1)) % DIT_PLACES;
    }
}

void dit_split_caption(dit_split split, bool clip, uint64_t index, dit_caption *out)
{
    dit_draws draws = dit_draws_of((int)split, clip ? "shapes.caption.clip" : "shapes.caption", index);
    dit_split wanted = split == DIT_SPLIT_VALIDATION ? DIT_SPLIT_TRAIN : split;
    do {
        draw_caption(&draws, clip, out);
        if (wanted == DIT_SPLIT_PAIRS) { /* one in five would have one: choose it */
            int *is = out->objects[0].is;
            is[DIT_SHAPE] = held_out_shape(is[DIT_COLOUR]);
        }
        dit_caption_sort(out);
    } while (dit_split_of(out) != wanted);
}
