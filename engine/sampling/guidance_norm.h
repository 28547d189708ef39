/* Guidance norms: scales a guided prediction by its norms beside those of the positive one (cfg_normalization), or by its
 * deviation (guidance_rescale).
 *
 * A norm is over a row of cells of one channel, or over the whole image (base/facts.h). Ranks that share the image's rows
 * add up their sums of squares, so that every rank scales by equal factors. Source: diffusers 0.42.1, Lumina2Pipeline and
 * ZImagePipeline.
 */
#ifndef DIT_ENGINE_GUIDANCE_NORM_H
#define DIT_ENGINE_GUIDANCE_NORM_H

#include "engine/runtime/partition.h"

typedef struct {
    dit_runtime *rt;
    const dit_partition *part; /* the caller's */
    int64_t pieces;            /* runs of neighbouring cells of a token */
    int64_t norms;             /* of an image; 0: nothing is scaled */
    double *squares;           /* [2, images, image_count, pieces] of guided and positive prediction; on the device */
    double *sums, *gathered;   /* [2, images, norms]; [degree of an axis] of them; host memory */
} dit_guidance_norm;

/* Takes its memory from the arenas of step and messages, where the runtime's facts have such norms. */
dit_status dit_guidance_norm_create(dit_runtime *rt, const dit_partition *partition, dit_guidance_norm *out);
/* Scales `guided` in place; both are [images, image_count, token_channels], dense, of all rows of this rank. Waits for the
 * device. Collective over the axes that share rows. Errors: those of messages and devices. */
dit_status dit_guidance_norm_apply(const dit_guidance_norm *norm, const float *positive, float *guided);

/* Guidance rescale: gives a share of a guided prediction the standard deviation of the positive one (guidance_rescale), over a whole
 * image or clip. Source: Lin et al., Common Diffusion Noise Schedules and Sample Steps are Flawed (arXiv:2305.08891), section 3.4;
 * diffusers 0.42.1, rescale_noise_cfg of LTXPipeline. */
typedef struct {
    dit_runtime *rt;
    const dit_partition *part; /* the caller's */
    double *sums,
        *gathered; /* [images, 4] of values and squares, guided and positive; [degree of an axis] of them; host memory;
                                  NULL: nothing is scaled */
} dit_guidance_rescale;

/* Takes its memory from the arena of messages, where the runtime's facts say guidance_rescale. */
dit_status dit_guidance_rescale_create(dit_runtime *rt, const dit_partition *partition, dit_guidance_rescale *out);
/* Scales `guided` in place; both are [images, image_count, token_channels], dense, of all rows of this rank. Waits for the
 * device. Collective over the axes that share rows. Errors: those of messages and devices. */
dit_status dit_guidance_rescale_apply(const dit_guidance_rescale *rescale, const float *positive, float *guided);

#endif
