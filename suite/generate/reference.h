/* Reference: how large pipelines make the pictures that they refer to, and the picture that they make beside them.
 * Source: diffusers 0.42.1, calculate_dimensions of QwenImageEditPipeline; Flux2Pipeline.__call__ and Flux2ImageProcessor. */
#ifndef DIT_SUITE_GENERATE_REFERENCE_H
#define DIT_SUITE_GENERATE_REFERENCE_H

#include "base/facts.h"
#include "base/status.h"

/* One pipeline's rule. */
typedef struct {
    const char *pipeline;
    int most;        /* pictures */
    int64_t area_px; /* that every picture gets, or of `cuts` those that have more */
    bool cuts; /* the middle is taken, in multiples of the VAE's patch; else extents are resized to multiples of 32 */
    int64_t least_px; /* of a side; 0: any */
    int64_t seen_px;  /* area of what the text encoder sees of each; 0: that of the reference, or nothing */
    bool last;        /* the picture that is made has the last one's size; else the first one's */
    int64_t longest;  /* most times that a side may be as long as the other; 0: any */
} suite_reference_rule;

/* What becomes of a picture: resized to `cut_*`, of which the middle is taken, or where that is 0 to its size. `seen_*`: for the text
 * encoder, where that is another size. */
typedef struct {
    int64_t height_px, width_px, cut_height_px, cut_width_px, seen_height_px, seen_width_px;
} suite_reference;

/* The rule of a pipeline; NULL: it has none. */
const suite_reference_rule *suite_reference_rule_of(const char *pipeline);
/* Sizes the picture of a file. `patch_px`: pixels of a token's side. Errors: those of dit_picture_size; DIT_ERR_SHAPE for a
 * picture that the pipeline refuses. */
dit_status suite_reference_size(const suite_reference_rule *rule, const char *path, int64_t patch_px,
                                suite_reference *out);

#endif
