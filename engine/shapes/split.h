/* Split: which captions the samples of a split have. Sample i of a split is a function of (split, i) alone.
 *
 * Captions fall into four groups. A caption with a held-out pair of colour and shape is in the group of pairs; the
 * hash of each other one puts it into a group that is trained (27 of 32), held out (2), for calibration (1) or for
 * tests (2). A model never saw a caption outside the first group, and what is fitted on calibration captions is
 * judged on others.
 */
#ifndef DIT_ENGINE_SHAPES_SPLIT_H
#define DIT_ENGINE_SHAPES_SPLIT_H

#include "engine/shapes/caption.h"

typedef enum {
    DIT_SPLIT_TRAIN,
    DIT_SPLIT_VALIDATION, /* captions of the trained group, other pictures */
    DIT_SPLIT_HELD_OUT,
    DIT_SPLIT_PAIRS, /* an object has a held-out pair */
    DIT_SPLIT_CALIBRATION,
    DIT_SPLIT_TEST,
    DIT_SPLITS
} dit_split;

/* "train", "validation", "held-out", "pairs", "calibration", "test", NULL. */
extern const char *const dit_split_names[DIT_SPLITS + 1];

/* Whether no object of this colour and shape was trained: 8 of 40 pairs, one for each colour. */
bool dit_split_holds_out_pair(int colour, int shape);
/* The split that a caption belongs to; DIT_SPLIT_TRAIN also stands for DIT_SPLIT_VALIDATION. */
dit_split dit_split_of(const dit_caption *caption);
/* The caption of sample `index`, of a picture or of a clip: 40 of 100 have one object. */
void dit_split_caption(dit_split split, bool clip, uint64_t index, dit_caption *out);

#endif
