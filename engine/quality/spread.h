/* Spread: how much the pictures of one prompt differ, and how much the frames of a clip do.
 *
 * A method that gives the same picture for every seed, or a clip that stands still, may be near each single reference
 * and is still wrong. Both measures are ratios to a set that is right.
 */
#ifndef DIT_ENGINE_SPREAD_H
#define DIT_ENGINE_SPREAD_H

#include "base/bootstrap.h"
#include "engine/quality/fidelity.h"
#include "engine/quality/frechet.h"

/* Computes the mean Euclidean distance of features between two pictures of a prompt, over all prompts' pairs, as a ratio
 * to that of `right`. Prompts are numbered from 0 to prompts - 1, alike in both sets; those without two pictures in both
 * are left out. The interval draws prompts. Errors: DIT_ERR_SHAPE when no prompt has two pictures in both sets, a number
 * is none of a prompt, or widths differ; DIT_ERR_NONFINITE, also where all pictures of `right` are equal;
 * DIT_ERR_MEMORY. */
dit_status dit_diversity(dit_feature_rows a, const int *prompt_of_a, dit_feature_rows right, const int *prompt_of_right,
                         int prompts, dit_interval *out);

/* Computes the mean |next frame - frame| over colours and pixels of a clip, planes [3, frames, height, width].
 * Errors: DIT_ERR_SHAPE for a single frame; DIT_ERR_NONFINITE. */
dit_status dit_frame_change(const float *clip, dit_picture_size size, double *change);

/* Computes the ratio of the means of two samples over the same groups; the interval draws groups. For changes of frames
 * of a set beside those of the right one. Errors: DIT_ERR_SHAPE for no groups or one outside the
 * range; DIT_ERR_NONFINITE, also where the mean below is 0 or a sample has no values; DIT_ERR_MEMORY. */
dit_status dit_ratio_of_means(const dit_grouped *above, const dit_grouped *below, dit_interval *out);

#endif
