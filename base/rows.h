/* Rows: a decode whose picture is cut by rows over ranks - who has which rows, whether that is legal, and the closed
 * form of what each rank sends. engine/vae/bands.c runs it.
 *
 * Every rank holds a band of rows of every activation. A convolution of three rows needs one row from each neighbour:
 * 2 C w e bytes an inner boundary. A group norm needs the moments of all bands: an all-reduce of sum and sum of squares
 * of each group and of the number of elements. In the end the rows of the picture are gathered. AutoencoderKL is cut
 * after its middle block, whose attention sees the whole picture; the latents, and all before the cut, every rank has.
 * AutoencoderKLCogVideoX has no such attention and is cut from its first convolution on.
 */
#ifndef DIT_BASE_ROWS_H
#define DIT_BASE_ROWS_H

#include "base/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_ROWS_STAGES = 8 };

/* A decoder and what it decodes. */
typedef struct {
    bool causal;           /* CogVideoX: chunks of frames, conditioned norms; else AutoencoderKL, frame by frame */
    int stages, doublings; /* of resolution (all but the last double it); the first ones double time too */
    int64_t widths[DIT_ROWS_STAGES];   /* channels of each stage                              */
    int64_t resnets, groups, temporal; /* residual blocks a stage; groups a norm; latent frames to frames */
    int64_t latent_channels, image_channels;
    bool tiling;
    int64_t pictures, frames, height, width; /* pictures or clips of so many latents each */
    int64_t element_bytes;                   /* of an activation; 0: 4. Pictures are gathered in fp32 */
} dit_rows_facts;

/* Facts of a decoder from {"config", "tiling"}, with diffusers' defaults; no extents yet. Errors: DIT_ERR_JSON_*;
 * DIT_ERR_UNSUPPORTED for a class whose decoder is not cut by rows. */
dit_status dit_rows_read(const dit_json *doc, const cJSON *vae, const char *pointer, dit_rows_facts *out);
/* The extents of latents that decode to those pixels; rounded down, so that odd sizes are for others to refuse. */
void dit_rows_resize(dit_rows_facts *facts, int64_t height_px, int64_t width_px, int64_t num_frames, int64_t pictures);

/* Both, from a vae_decode case: its "vae" and "run". Errors: as read. */
dit_status dit_rows_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_rows_facts *out);

/* How many of `rows` rows `rank` has, and the first of them. Nearly equal shares: the first ranks have one more where
 * they must (shares of ceil(rows / degree) would leave the last of 4 ranks nothing of 5 rows). */
int64_t dit_rows_share(int64_t rows, int degree, int rank, int64_t *first);
/* DIT_OK, or why the decode cannot be shared: DIT_ERR_CONSTRAINT_DEGREE when a rank would have no row of latents,
 * DIT_ERR_UNSUPPORTED for tiles. */
dit_status dit_rows_check(int degree, const dit_rows_facts *facts);
/* What `rank` sends for all pictures, under DIT_AXIS_WORLD and DIT_PHASE_DECODE; nothing with one rank. */
void dit_rows_predict(const dit_rows_facts *facts, int degree, int rank, dit_volume_table *out);

#ifdef __cplusplus
}
#endif
#endif
