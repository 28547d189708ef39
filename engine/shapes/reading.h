/* Reading: what was found in a picture or a clip, and how it compares with what a caption asked for. */
#ifndef DIT_ENGINE_SHAPES_READING_H
#define DIT_ENGINE_SHAPES_READING_H

#include "engine/shapes/caption.h"

typedef struct {
    int background;
    bool found[DIT_PLACES];
    dit_shape_object objects[DIT_PLACES]; /* of those found; -1 for what could not be told */
} dit_reading;

/* Words of captions that were asked for, and those that were found. Places count per object of the caption; other
 * attributes per object that was found in its place; the whole is right when every word is and nothing else is
 * there. */
typedef struct {
    int64_t asked[DIT_ATTRIBUTES], right[DIT_ATTRIBUTES];
    int64_t captions, whole;
} dit_reading_tally;

/* Adds one comparison to the tally. Returns whether the whole caption is right. */
bool dit_reading_compare(const dit_reading *reading, const dit_caption *caption, dit_reading_tally *tally);

#endif
