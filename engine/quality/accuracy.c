#include "engine/quality/accuracy.h"

#include "engine/shapes/picture.h"
#include "engine/shapes/rule.h"

#include <math.h>
#include <string.h>

static dit_status check(const dit_picture_set *set)
{
    dit_picture_size size = set->size;
    if (size.height != DIT_PICTURE_EDGE || size.width != DIT_PICTURE_EDGE ||
        (size.frames != 1 && size.frames != DIT_CLIP_FRAMES))
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "the rule reads pictures of %d x %d pixels and clips of %d frames, not %lld of "
                        "%lld x %lld",
                        DIT_PICTURE_EDGE, DIT_PICTURE_EDGE, DIT_CLIP_FRAMES, (long long)size.frames,
                        (long long)size.width, (long long)size.height);
    for (int i = 0; i < set->count; i++)
        if (!set->labels[i].caption[0])
            return DIT_FAIL(DIT_ERR_SHAPE, "the caption of %s is unknown: no record of it tells one",
                            set->labels[i].name);
    return DIT_OK;
}

static void read_picture(const float *pixels, dit_picture_size size, dit_reading *out)
{
    float frames[DIT_CLIP_FRAMES * DIT_PICTURE_VALUES]; /* frame after frame; sets have colour after colour */
    if (size.frames == 1) {
        dit_shapes_read(pixels, out);
        return;
    }
    for (int64_t t = 0; t < size.frames; t++)
        for (int64_t c = 0; c < DIT_RGB; c++)
            memcpy(frames + t * DIT_PICTURE_VALUES + c * DIT_PICTURE_PLANE,
                   pixels + (c * size.frames + t) * DIT_PICTURE_PLANE, DIT_PICTURE_PLANE * sizeof *frames);
    dit_shapes_read_clip(frames, out);
}

static dit_status compare(const dit_reading *reading, const char *text, dit_reading_tally *tally)
{
    dit_caption caption;
    DIT_TRY(dit_caption_parse(text, &caption));
    dit_reading_compare(reading, &caption, tally);
    return DIT_OK;
}

/* Returns the next caption that is not that of picture i; NULL where there is none. */
static const char *another_caption(const dit_picture_set *set, int i)
{
    for (int step = 1; step < set->count; step++) {
        const char *other = set->labels[(i + step) % set->count].caption;
        if (strcmp(other, set->labels[i].caption) != 0) return other;
    }
    return NULL;
}

dit_status dit_accuracy_count(const dit_picture_set *set, dit_reading_tally *out, dit_reading_tally *shuffled)
{
    *out = *shuffled = (dit_reading_tally){0};
    DIT_TRY(check(set));
    const char *other = NULL;
    for (int i = 0; i < set->count; i++) {
        dit_reading reading;
        bool same = i > 0 && strcmp(set->labels[i].caption, set->labels[i - 1].caption) == 0;
        if (!same) other = another_caption(set, i); /* of equal captions in a row, all have one */
        read_picture(dit_picture_set_at(set, i), set->size, &reading);
        DIT_TRY(compare(&reading, set->labels[i].caption, out));
        if (other) DIT_TRY(compare(&reading, other, shuffled));
    }
    return DIT_OK;
}

void dit_accuracy_bounds(int64_t right, int64_t asked, double *low, double *high)
{
    static const double z = 1.959963984540054;
    double n = (double)asked, p = (double)right / n, scale = 1 + z * z / n;
    double centre = (p + z * z / (2 * n)) / scale, half = z / scale * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    *low = fmax(0, centre - half);
    *high = fmin(1, centre + half);
}
