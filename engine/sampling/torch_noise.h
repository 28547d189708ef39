/* Torch noise: the noise of all images of a case, as a pipeline of diffusers draws it from PyTorch's generators on the
 * CPU, in float32. The initial latents are draw 0; schedulers that add noise go on with the same generators.
 *
 * One generator draws the tensor of all images, in the pipeline's own layout; or each image has a generator of its own,
 * seeded with seed, seed + 1, ..., as a list of generators is. Every rank draws everything and takes its rows.
 * Source: diffusers 0.33.1 utils/torch_utils.py: randn_tensor, and prepare_latents of its pipelines.
 */
#ifndef DIT_ENGINE_TORCH_NOISE_H
#define DIT_ENGINE_TORCH_NOISE_H

#include "base/latent.h"
#include "engine/runtime/runtime.h"

typedef struct dit_torch_noise dit_torch_noise;

typedef struct {
    dit_latent latent;
    dit_latent_layout
        layout; /* of the pipeline's latents; DIT_LATENT_PACKED ones are drawn as planes and packed then */
    int64_t images;
    uint64_t seed;
    bool each;            /* an image, a generator                                                      */
    int64_t ahead;        /* numbers that the first generator gives before the noise: an encoder's sample       */
    int64_t step_tensors; /* that the scheduler draws at each step after the first; it uses the last one */
    int last_step;        /* whose first tensor it uses instead; 0: none */
} dit_torch_noise_params;

/* Takes all memory from rt->image. Draws nothing yet. Errors: DIT_ERR_MEMORY. */
dit_status dit_torch_noise_create(dit_runtime *rt, const dit_torch_noise_params *params, dit_torch_noise **out);
/* The numbers that were drawn ahead, [ahead]; valid as long as `noise`. */
const float *dit_torch_noise_ahead(dit_torch_noise *noise);
/* The unit normals of one image as tokens [tokens, token channels]; valid until another draw is asked for. step -1: the
 * initial latents. Steps in order cost one draw each; a step that lies before the last one asked for draws all again. */
const float *dit_torch_noise_image(dit_torch_noise *noise, int step, int64_t image);

#endif
