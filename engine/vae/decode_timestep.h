/* Decode timestep: what a decoder that is told a timestep makes of it. A decode has one timestep, and so the shifts and scales of
 * norms that follow from it are weights: they are made on the host when the decoder is loaded.
 * Source: diffusers 0.42.1, PixArtAlphaCombinedTimestepSizeEmbeddings and scale_shift_table of autoencoder_kl_ltx.py. */
#ifndef DIT_ENGINE_DECODE_TIMESTEP_H
#define DIT_ENGINE_DECODE_TIMESTEP_H

#include "engine/vae/layers.h"

/* Embeds a timestep by `prefix`.time_embedder: out [width], in host memory. Its weights lie in rt->step until it returns. Errors:
 * those of reading weights. */
dit_status vae_timestep_embed(const vae_loader *l, const char *prefix, float timestep, int64_t width, float *out);
/* Adds the table `name` [rows, width] to an embedding [rows, width] and makes *out of it in rt->run, an array for operators. */
dit_status vae_timestep_modulate(const vae_loader *l, const char *name, int64_t rows, int64_t width,
                                 const float *embedded, const float **out);

#endif
