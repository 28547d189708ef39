#include "engine/shapes/reading.h"

static bool count(dit_reading_tally *tally, int attribute, bool right)
{
    tally->asked[attribute]++;
    tally->right[attribute] += right;
    return right;
}

bool dit_reading_compare(const dit_reading *reading, const dit_caption *caption, dit_reading_tally *tally)
{
    int found = 0;
    bool whole = count(tally, DIT_BACKGROUND, reading->background == caption->background);
    for (int place = 0; place < DIT_PLACES; place++) found += reading->found[place];
    for (int k = 0; k < caption->count; k++) {
        const int *asked = caption->objects[k].is;
        int place = asked[DIT_PLACE];
        if (!count(tally, DIT_PLACE, reading->found[place])) {
            whole = false;
            continue;
        }
        for (int a = 0; a < DIT_OBJECT_ATTRIBUTES; a++) {
            if (a == DIT_PLACE || (a == DIT_MOTION && !caption->clip)) continue;
            if (!count(tally, a, reading->objects[place].is[a] == asked[a])) whole = false;
        }
    }
    whole = whole && found == caption->count;
    tally->captions++;
    tally->whole += whole;
    return whole;
}
