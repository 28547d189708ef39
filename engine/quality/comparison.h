/* Comparison: all measures of one set of pictures beside another, as members of a document.
 *
 * Each measure is an object. One that cannot be taken has only "reason", so that nobody takes its absence for a zero.
 * Intervals are 95 %; prompts are the unit of resampling (base/bootstrap.h), blocks of prompts for "kid".
 */
#ifndef DIT_ENGINE_COMPARISON_H
#define DIT_ENGINE_COMPARISON_H

#include "engine/quality/features.h"
#include "engine/quality/picture_set.h"

#include <cjson/cJSON.h>

/* A set with its features, which are computed once. */
typedef struct {
    dit_picture_set pictures;
    int *prompt;         /* [count]                                          */
    float *features;     /* [count, width] of pictures, averaged over frames; NULL: no network, or `reason` */
    float *motion;       /* [count, 2 width] of clips: features, and last frame less first; NULL: none */
    int64_t width;       /* of features                                      */
    char reason[512];    /* why there are no features                        */
    double *psnr, *ssim; /* [count] to the reference, once compared; NULL: no pairs */
} dit_judged_set;

/* Reads pictures and computes features; network NULL: none, and `reason` says so. A network that cannot see pictures of
 * this size is a reason, too. Errors: as dit_picture_set_read, DIT_ERR_MEMORY. */
dit_status dit_judged_set_read(const char *path, bool prompt_each, const dit_features *network, dit_judged_set *out);
void dit_judged_set_release(dit_judged_set *set); /* accepts a zeroed one */

/* Adds "pictures", "prompts", "size", "rounded" and "digest" to `out`, and "accuracy" where captions are known. */
dit_status dit_judged_set_describe(const dit_judged_set *set, cJSON *out);
/* Adds how near pictures are to those of a reference, pair by pair: psnr_db, ssim. The set keeps
 * the values of the latest call. Errors: DIT_ERR_MEMORY; what a measure cannot do is its reason. */
dit_status dit_judged_set_pairs(dit_judged_set *set, const dit_judged_set *reference, cJSON *out);
/* Adds how alike two sets are as a whole: kid, fd_shapes, fd_inf, diversity; of clips change, fd_motion. Errors: as
 * dit_judged_set_pairs. */
dit_status dit_judged_set_whole(const dit_judged_set *set, const dit_judged_set *reference, cJSON *out);
/* Adds psnr_db and ssim of `set` less those of `other`, pair by pair, to `out`; both were compared with the same
 * reference. Errors: DIT_ERR_MEMORY. */
dit_status dit_judged_set_difference(const dit_judged_set *set, const dit_judged_set *other, cJSON *out);

#endif
