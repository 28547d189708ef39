/* VAE: from latents to pictures and back, by diffusers' own config and parameter names. One file and one row in vae.c
 * for each class.
 *
 * One rank decodes alone, or all ranks of a communicator share a decode by rows (engine/vae/bands.h): the same picture
 * but for the order of sums, in about a share of the memory. Encoding is not shared. Inside, activations are
 * channels-last [frames, height, width, channels]; outside, latents and pictures are planes [channels, frames, height,
 * width]. All memory is taken at create from the runtime's arenas: a dry walk through the decoder finds what the
 * largest decode needs. Decoding allocates nothing.
 *
 * Tiling (diffusers' tiled_decode) cuts the latents into overlapping tiles, decodes each alone and blends the seams. It
 * is an approximation: convolutions see zeros at the edges of a tile, and group norms the statistics of a tile. What it
 * needs is bounded by the tile and one row of seams, whatever the size of the picture.
 */
#ifndef DIT_ENGINE_VAE_H
#define DIT_ENGINE_VAE_H

#include "engine/files/config.h"
#include "engine/runtime/runtime.h"
#include "engine/runtime/weights.h"

/* Called with intermediate results when the caller wants them; names as in diffusers' modules. */
typedef struct dit_vae_tap dit_vae_tap;
struct dit_vae_tap {
    /* x [frames, height, width, channels] = shape, valid during the call */
    dit_status (*take)(dit_vae_tap *tap, const char *name, const float *x, const int64_t shape[4]);
};

/* What a config says. */
typedef struct {
    int64_t latent_channels, image_channels;
    int64_t spatial, temporal; /* compression */
    double scaling_factor, shift_factor;
    int64_t tile_height_px, tile_width_px; /* diffusers' defaults */
    double tile_overlap_height, tile_overlap_width;
} dit_vae_facts;

typedef struct {
    dit_runtime *rt;
    dit_config config;
    const dit_weights *weights;
    int64_t frames, height, width; /* latent extents of the largest decode */
    bool encoder;                  /* also loads the encoder and plans for pictures of that size */
    dit_comm *rows;                /* ranks that share each decode, collectively; NULL or one rank: this one alone */
    bool tiling;
    int64_t tile_height_px, tile_width_px;          /* 0: the facts' */
    double tile_overlap_height, tile_overlap_width; /* 0: the facts' */
    dit_vae_tap *tap;                               /* NULL: none */
    void (*told)(void *context, int done, int of);  /* NULL, or called after each part of a decode: for progress */
    void *context;
} dit_vae_params;

typedef struct dit_vae dit_vae;

/* Errors: DIT_ERR_JSON_*; DIT_ERR_UNSUPPORTED for classes that are not built (naming those that are) and for config
 * values that would change the numbers and are not built. */
dit_status dit_vae_read_facts(const dit_config *config, dit_vae_facts *out);
/* Frames that `latent_frames` decode to. */
int64_t dit_vae_output_frames(const dit_vae_facts *facts, int64_t latent_frames);

/* Errors: as read_facts; DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE, DIT_ERR_MEMORY; DIT_ERR_SHAPE for tiles whose overlap
 * is no whole number of latents; as dit_rows_check where a decode is to be shared. */
dit_status dit_vae_create(const dit_vae_params *params, dit_vae **out);
void dit_vae_free(dit_vae *vae); /* accepts NULL; the arenas keep the memory */
const dit_vae_facts *dit_vae_get_facts(const dit_vae *vae);
/* Whether a decode of the created extents is cut into tiles. */
bool dit_vae_is_tiled(const dit_vae *vae);

/* latents [C, frames, height, width], divided by scaling_factor and shifted; image [3, output frames, height * spatial,
 * width * spatial] in about [-1, 1]; shared, on every rank. Errors: what a tap returns; DIT_ERR_MPI. */
dit_status dit_vae_decode(dit_vae *vae, const float *latents, float *image);
/* image [3, frames, height * spatial, width * spatial] in [-1, 1] to mean and logvar (before clamping) [C, frames,
 * height, width] of the latents' distribution. Frame by frame, never in tiles. Errors: DIT_ERR_UNSUPPORTED for classes
 * without an encoder here or when it was not asked for at create. */
dit_status dit_vae_encode(dit_vae *vae, const float *image, float *mean, float *logvar);

#endif
