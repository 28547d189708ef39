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
/* Computes the 95 % interval of a share, right of asked, asked > 0 (Wilson, JASA 22, 1927). */
void dit_accuracy_bounds(int64_t right, int64_t asked, double *low, double *high);

#endif
