/* Accuracy: how many words of their captions pictures show, by the rule that reads pictures of shapes without a network
 * (engine/shapes/rule.h). */
#ifndef DIT_ENGINE_ACCURACY_H
#define DIT_ENGINE_ACCURACY_H

#include "engine/quality/picture_set.h"
#include "engine/shapes/reading.h"

/* Reads all pictures of a set and compares them with their captions, and in *shuffled each with the next caption that is
 * another: what is right there is right by chance. Nothing is asked there where all captions are equal. Errors:
 * DIT_ERR_SHAPE where they are not as large, or clips not as long, as renders, or where a picture has no caption. */
dit_status dit_accuracy_count(const dit_picture_set *set, dit_reading_tally *out, dit_reading_tally *shuffled);
enum { DIT_READ_WORDS = 1 + (DIT_CAPTION_OBJECTS + DIT_PLACES) * DIT_OBJECT_ATTRIBUTES };
/* What the rule reads in a picture, as the words of a caption in its order, "?" for what it cannot tell and "nothing"
 * where it finds no object; objects that no caption asked for stand at the end. */
typedef struct {
    const char *word[DIT_READ_WORDS];
    bool wrong[DIT_READ_WORDS]; /* it is not the caption's */
    int count;
} dit_read_words;
/* Reads picture `index` of a set. Errors: as dit_accuracy_count; DIT_ERR_JSON_VALUE for a caption that is none. */
dit_status dit_accuracy_words(const dit_picture_set *set, int index, dit_read_words *out);
/* Says whether the rule finds an object with this value of an attribute at a place of a picture. Errors: as
 * dit_accuracy_count. */
dit_status dit_accuracy_finds(const dit_picture_set *set, int index, int place, dit_attribute attribute, int value,
                              bool *out);
/* Computes the 95 % interval of a share, right of asked, asked > 0 (Wilson, JASA 22, 1927). */
void dit_accuracy_bounds(int64_t right, int64_t asked, double *low, double *high);

#endif
