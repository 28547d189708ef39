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

/* ---- in words ---------------------------------------------------------------------------------------------------- */

static void add_word(dit_read_words *out, const char *word, bool wrong)
{
    out->word[out->count] = word;
    out->wrong[out->count++] = wrong;
}

static void add_value(dit_read_words *out, dit_attribute attribute, int value, bool wrong)
{
    const char *word = value < 0 ? "?" : dit_caption_word(dit_caption_word_of(attribute, value));
    add_word(out, word, wrong || value < 0);
}

/* The words of the object at `place`; asked: those of the caption, NULL where it has no object there. */
static void add_object(const dit_reading *reading, int place, const int *asked, bool clip, dit_read_words *out)
{
    for (int a = 0; a < DIT_OBJECT_ATTRIBUTES && reading->found[place]; a++) {
        int value = a == DIT_PLACE ? place : reading->objects[place].is[a];
        if (a != DIT_MOTION || clip) add_value(out, (dit_attribute)a, value, !asked || value != asked[a]);
    }
    if (reading->found[place]) return;
    add_word(out, "nothing", true);
    add_value(out, DIT_PLACE, place, false);
}

dit_status dit_accuracy_words(const dit_picture_set *set, int index, dit_read_words *out)
{
    dit_caption caption;
    dit_reading reading;
    bool asked[DIT_PLACES] = {false};
    *out = (dit_read_words){0};
    DIT_TRY(check(set));
    DIT_TRY(dit_caption_parse(set->labels[index].caption, &caption));
    read_picture(dit_picture_set_at(set, index), set->size, &reading);
    add_value(out, DIT_BACKGROUND, reading.background, reading.background != caption.background);
    for (int k = 0; k < caption.count; k++) {
        const int *is = caption.objects[k].is;
        asked[is[DIT_PLACE]] = true;
        add_object(&reading, is[DIT_PLACE], is, caption.clip, out);
    }
    for (int place = 0; place < DIT_PLACES; place++)
        if (reading.found[place] && !asked[place]) add_object(&reading, place, NULL, caption.clip, out);
    return DIT_OK;
}

dit_status dit_accuracy_finds(const dit_picture_set *set, int index, int place, dit_attribute attribute, int value,
                              bool *out)
{
    dit_reading reading;
    DIT_TRY(check(set));
    read_picture(dit_picture_set_at(set, index), set->size, &reading);
    *out = reading.found[place] && reading.objects[place].is[attribute] == value;
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
