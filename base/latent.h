/* Latent: the layout of what the transformer denoises, as planes of cells and as tokens.
 *
 * A cell is one VAE sample of all channels; a token is a patch of patch_t x patch x patch cells. Tokens are ordered by
 * frame, row, column; the floats of a token are (c, dt, dy, dx), c slowest. So any run of tokens can be scheduled,
 * exchanged and gathered by itself, and further channels can be appended.
 */
#ifndef DIT_BASE_LATENT_H
#define DIT_BASE_LATENT_H

#include "base/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int64_t channels;
    int64_t vae_spatial;           /* how many pixels a cell spans in each direction                               */
    int64_t vae_temporal;          /* how many frames a latent frame spans; the first one spans a single frame     */
    int64_t patch_t, patch;        /* how many cells a token spans in time, and in each direction of space         */
    int64_t frames, height, width; /* cells                                                                        */
} dit_latent;

/* How a tensor of a file holds latents. */
typedef enum {
    DIT_LATENT_CFHW,   /* [rows, channels, frames, height, width]; images without `frames` */
    DIT_LATENT_FCHW,   /* [rows, frames, channels, height, width]                          */
    DIT_LATENT_PACKED, /* [rows, tokens, token channels]                                   */
    DIT_LATENT_LAYOUT_COUNT
} dit_latent_layout;

int64_t dit_latent_tokens(const dit_latent *latent);
int64_t dit_latent_token_channels(const dit_latent *latent); /* channels * patch_t * patch^2 */
int64_t dit_latent_cells(const dit_latent *latent);          /* frames * height * width      */

/* Returns latents whose cells are the tokens of these. */
dit_latent dit_latent_of_tokens(const dit_latent *latent);

/* Sets the extents for an image or video of that size; frames are filled up to whole patches.
 * Errors: DIT_ERR_CONSTRAINT_RESOLUTION when the size is not in whole patches, DIT_ERR_SHAPE when channels, scales or
 * patches are not positive. */
dit_status dit_latent_resize(dit_latent *latent, int64_t height_px, int64_t width_px, int64_t num_frames);
/* Sets the extents from a stored tensor of the layout (a packed one: one row of tokens) and gives its rows; its
 * channels may differ from the latent's. Errors: DIT_ERR_SHAPE. */
dit_status dit_latent_from_shape(dit_latent *latent, dit_latent_layout layout, int rank, const int64_t *shape,
                                 int64_t *rows, int64_t *channels);
/* Convert stored latents [rows, ...] to tokens [rows, tokens, channels * patch_t * patch^2], and back; both belong to
 * the caller. `channels` are those of the tensor. */
void dit_latent_pack(const dit_latent *latent, dit_latent_layout layout, int64_t rows, int64_t channels,
                     const float *stored, float *tokens);
void dit_latent_unpack(const dit_latent *latent, dit_latent_layout layout, int64_t rows, int64_t channels,
                       const float *tokens, float *stored);

#ifdef __cplusplus
}
#endif
#endif
