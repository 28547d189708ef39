/* VAE: decodes latents to images and encodes images, by diffusers' config and parameter names. Each class has a file
 * and a row in vae.c.
 *
 * One rank decodes alone, or all ranks of a communicator share a decode by rows (engine/vae/bands.h): the image differs
 * only by the order of sums, and each rank needs about its share of the memory. A causal decoder can be shared by frames
 * instead (engine/vae/relay.h): the image is equal to the bit, and each rank needs the memory of one. Encoding is not shared. Inside,
 * activations are channels-last [frames, height, width, channels]; outside, latents and images are planes [channels,
 * frames, height, width]. create takes all memory from the runtime's arenas, after a dry walk through the decoder has
 * found what the largest decode needs. Decoding allocates nothing.
 *
 * Tiling (diffusers' tiled_decode) cuts the latents into overlapping tiles, decodes each by itself and blends the
 * seams. It is an approximation: convolutions see zeros at the edges of a tile, and group norms the statistics of a
 * tile. Its memory is bounded by the tile and one row of seams, whatever the size of the image.
 */
#ifndef DIT_ENGINE_VAE_H
#define DIT_ENGINE_VAE_H

#include "base/rows.h"
#include "engine/files/config.h"
#include "engine/runtime/runtime.h"
#include "engine/runtime/weights.h"

/* Receives intermediate results, for a caller that wants them; names are those of diffusers' modules. */
typedef struct dit_vae_tap dit_vae_tap;
struct dit_vae_tap {
    /* x [frames, height, width, channels] = shape, valid during the call */
    dit_status (*take)(dit_vae_tap *tap, const char *name, const float *x, const int64_t shape[4]);
};

enum { DIT_VAE_STATISTICS = 128 };

/* What a config gives. */
typedef struct {
    int64_t latent_channels, image_channels;
    bool weightless;           /* a file of weights has nothing for it */
    bool normed_patches;       /* the weights have mean and deviation of each value of a patch of 2 x 2 cells */
    bool normed_channels;      /* they have mean and deviation of each channel, beside the factor */
    bool certain;              /* the encoder gives one latent, and no deviation */
    bool told_timestep;        /* the decoder is told a timestep */
    int64_t spatial, temporal; /* compression */
    bool one_first;            /* the first latent frame is one frame; else only that of an odd number of them */
    double scaling_factor, shift_factor;
    int statistics; /* 0: one factor for all channels; else each has its own mean and deviation, and so many are given */
    double latents_mean[DIT_VAE_STATISTICS], latents_std[DIT_VAE_STATISTICS];
    int64_t tile_height_px, tile_width_px; /* of the config, or diffusers' defaults */
    double tile_overlap_height, tile_overlap_width;
} dit_vae_facts;

typedef struct {
    dit_runtime *rt;
    dit_config config;
    const dit_weights *weights;
    int64_t frames, height, width; /* latent extents of the largest decode */
    bool encoder;                  /* also loads the encoder and plans for images of that size */
    dit_comm *sharers;             /* the ranks that share each decode; NULL or one rank: this rank decodes alone */
    dit_decode_split split;        /* what they divide */
    bool tiling;
    int64_t tile_height_px, tile_width_px;          /* 0: the facts' */
    double tile_overlap_height, tile_overlap_width; /* 0: the facts' */
    double timestep;  /* of a decode, from 0 to 1; for decoders that are told one (told_timestep) */
    uint64_t seed;    /* of noise that a decoder adds: PyTorch's default generator gets it before each decode */
    dit_vae_tap *tap; /* NULL: none */
    void (*told)(void *context, int done, int of); /* NULL, or called after each part of a decode, for progress */
    void *context;
} dit_vae_params;

typedef struct dit_vae dit_vae;

/* Reads the facts. Errors: DIT_ERR_JSON_*; DIT_ERR_UNSUPPORTED for classes that are not implemented (it names those
 * that are) and for config values that would change results and are not implemented. */
dit_status dit_vae_read_facts(const dit_config *config, dit_vae_facts *out);
/* Returns how many frames `latent_frames` latent frames decode to. */
int64_t dit_vae_output_frames(const dit_vae_facts *facts, int64_t latent_frames);
/* Brings a sampler's latents, planes [latent channels, cells], in place to the range that the decoder was trained with: x /
 * scaling_factor + shift_factor, or x std + mean of the channel. Errors: DIT_ERR_SHAPE when the config gives means and
 * deviations of another number of channels. */
dit_status dit_vae_scale(const dit_vae_facts *facts, int64_t cells, float *latents);

/* Likewise for a VAE that is made, whose weights may have the statistics (normed_patches, normed_channels); latents [C, frames,
 * height, width] of its extents. */
dit_status dit_vae_prepare(const dit_vae *vae, float *latents);

/* Brings planes [latent channels, cells] that the VAE encoded in place to the range that samplers know, by the channels' means and
 * deviations, where it has them. */
void dit_vae_normalise(const dit_vae *vae, int64_t cells, float *latents);
/* The way back, of what the encoder made: (x - mean) / deviation of a value of a patch or of a channel, or (x - shift_factor)
 * scaling_factor. */
void dit_vae_norm(const dit_vae *vae, float *latents);

/* Loads the weights and takes all memory. Errors: as dit_vae_read_facts; DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE,
 * DIT_ERR_MEMORY; DIT_ERR_SHAPE for tiles whose overlap is not a whole number of latents; as dit_shared_decode_check where a
 * decode shall be shared. */
dit_status dit_vae_create(const dit_vae_params *params, dit_vae **out);
void dit_vae_free(dit_vae *vae); /* accepts NULL; the arenas keep the memory */
const dit_vae_facts *dit_vae_get_facts(const dit_vae *vae);
/* True if a decode of the created extents is cut into tiles. */
bool dit_vae_is_tiled(const dit_vae *vae);

/* Decodes latents [C, frames, height, width], already scaled (dit_vae_prepare), to image [3, output
 * frames, height * spatial, width * spatial] in about [-1, 1]. A shared decode gives every rank the image. Errors:
 * those of the tap; DIT_ERR_MPI. */
dit_status dit_vae_decode(dit_vae *vae, const float *latents, float *image);
/* Encodes image [3, output frames, height * spatial, width * spatial] in [-1, 1] to mean and logvar (before clamping)
 * [C, frames, height, width] of the latents' distribution, never in tiles. Errors: DIT_ERR_UNSUPPORTED for classes whose
 * encoder is not implemented, or when create did not load it. */
dit_status dit_vae_encode(dit_vae *vae, const float *image, float *mean, float *logvar);

#endif
