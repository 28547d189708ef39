/* Decode: turns a pipeline's gathered latents into frames, by the VAE that a case names:
 *
 *   {"config": {diffusers' config.json}, "weights": {"kind", "seed" | "path"}, "tiling": false, "split": "rows",
 *    "decode_timestep": 0, "decode_noise_scale": 0}
 *
 * Classes without weights need none. The last two are for classes that are told a timestep, and mean what they mean in
 * LTXPipeline: latents are mixed with that share of noise, by default as much as the timestep says.
 *
 * One rank decodes, or all ranks share each decode: its rows, or with split "frames" its frames. */
#ifndef DIT_ENGINE_DECODE_H
#define DIT_ENGINE_DECODE_H

#include "engine/sampling/sampler.h"
#include "engine/vae/vae.h"

typedef struct {
    dit_config config;
    char config_at[96];
    const char *path; /* path of the weights; NULL: seeded */
    dit_weights weights;
    bool tiling;
    dit_decode_split split;
    double timestep, noise_scale;                  /* of the decode */
    void (*told)(void *context, int done, int of); /* NULL, or set before opening: as dit_vae_params has it */
    void *context;
    dit_safetensors *file;
    dit_vae *vae;
    dit_latent latent;             /* extents of the latents                                          */
    int64_t surplus;               /* how many first frames of the latents only fill up a patch       */
    int64_t frames, height, width; /* of one decoded image or video                            */
    float *planes, *image;         /* [channels, frames, height, width] latents; [3, frames, height, width] pixels */
    float *noise, *noise_planes;   /* NULL, or what is mixed with them, as tokens and as planes */
} dit_decoder;

/* Reads the object at `pointer` and opens nothing yet. `out` must not be moved. Errors: DIT_ERR_JSON_*;
 * DIT_ERR_UNSUPPORTED when the class of VAE, or a value of its config, is not implemented. */
dit_status dit_decoder_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_decoder *out);
/* Reads "weights" of a VAE's object: *path is NULL for seeded ones and for a class without weights, which need not say
 * any. Errors: DIT_ERR_JSON_*, also for a file of weights where the class has none. */
dit_status dit_decoder_read_weights(const dit_json *doc, const cJSON *vae, const char *pointer,
                                    const dit_vae_facts *facts, const char **path, uint64_t *seed);
/* Reads decode_timestep and decode_noise_scale of a VAE's object. Errors: DIT_ERR_JSON_*; DIT_ERR_UNSUPPORTED for a class that is
 * told no timestep. */
dit_status dit_decoder_read_timestep(const dit_json *doc, const cJSON *vae, const char *pointer,
                                     const dit_vae_facts *facts, double *timestep, double *noise_scale);
/* Loads the weights and takes all memory from `rt`. seed: the VAE's (dit_vae_params). sharers: the ranks that share each
 * decode, or NULL. num_frames: how many frames were asked for; those that a pipeline added to fill a patch are dropped.
 * Errors: DIT_ERR_SHAPE when the VAE does not fit the latents; those of opening and loading. */
dit_status dit_decoder_open(dit_decoder *decoder, dit_runtime *rt, const dit_latent *latent, int64_t num_frames,
                            uint64_t seed, dit_comm *sharers);
/* Decodes one image of those that `sampler` has gathered into decoder->image. Errors: as dit_vae_decode; DIT_ERR_UNSUPPORTED
 * where noise is mixed in behind a scheduler that draws two tensors a step. */
dit_status dit_decoder_run(dit_decoder *decoder, const dit_sampler *sampler, int64_t image);
void dit_decoder_close(dit_decoder *decoder); /* accepts a zeroed one */

#endif
