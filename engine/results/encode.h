/* Encode: turns the picture that a case starts from, or its reference, into latents, by the encoder of the case's VAE.
 *
 * The picture is resized to the case's extents as diffusers does it (engine/files/picture_resize.h). The latents are a
 * sample of the encoder's distribution, of the first numbers of the case's noise: shifted and scaled as the model was
 * trained; those of a reference are the middle of it. Every rank encodes by itself. */
#ifndef DIT_ENGINE_ENCODE_H
#define DIT_ENGINE_ENCODE_H

#include "engine/case/pipeline.h"
#include "engine/vae/vae.h"

/* Sets pipeline->start where the case has an image, or fills the condition of a reference, else does nothing. The encoder's memory is given back before it
 * returns. Errors: DIT_ERR_JSON_* without a VAE; DIT_ERR_UNSUPPORTED for clips, for a file that gives latents too, and
 * for a VAE without an encoder; those of reading pictures and weights. */
dit_status dit_encode_start(dit_pipeline *pipeline);
/* Planes [3, height, width] in [-1, 1] of a picture's file, resized; the caller frees. Errors: those of reading it. */
dit_status dit_encode_read_picture(const char *path, int64_t height, int64_t width, float **planes);
/* mean <- (a sample of the distribution - shift) scale: `count` values, by as many unit normals. */
void dit_encode_sample(const dit_vae_facts *facts, int64_t count, const float *logvar, const float *normals,
                       float *mean);

#endif
