/* Beside picture: what stands beside each token of FLUX.1 Fill, Depth and Canny: the latents of a picture, and of Fill those
 * of the picture without the part that is painted anew, with the mask of that part, whose pixels become channels.
 * Source: diffusers 0.42.1, FluxFillPipeline and FluxControlPipeline. */
#ifndef DIT_ENGINE_BESIDE_PICTURE_H
#define DIT_ENGINE_BESIDE_PICTURE_H

#include "engine/case/case.h"
#include "engine/prompts/first_frame.h"

typedef struct {
    const dit_case *kase; /* image_path, mask_path, noise and seed, with `vae` */
    dit_latent latent;    /* with its extents */
    int64_t channels;     /* floats beside a token */
} dit_beside_picture_params;

/* Makes latent_condition [1 or images, tokens, channels] of rank 0 as the only tensor of *out. The sample of the VAE's
 * distribution takes the case's noise as the pipeline draws it, which is before or behind that of the latents. Collective
 * over the world, before the transformer's runtime exists. The caller releases *out, also after an error. Errors: those of
 * pictures and VAEs; DIT_ERR_USAGE without a picture, or a mask where one is needed; DIT_ERR_SHAPE where the VAE does not fit;
 * DIT_ERR_UNSUPPORTED for a generator for each image. */
dit_status dit_beside_picture_encode(const dit_beside_picture_params *params, dit_first_frame *out);

#endif
