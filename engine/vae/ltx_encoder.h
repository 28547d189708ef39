/* The encoder of LTX-Video's VAE: blocks of ltx_blocks.h and changes of resolution, over a whole clip. Its convolutions look back
 * only; a first frame stands for a cell in time.
 * Source: diffusers 0.42.1, LTXVideoEncoder3d. */
#ifndef DIT_ENGINE_LTX_ENCODER_H
#define DIT_ENGINE_LTX_ENCODER_H

#include "engine/vae/ltx_blocks.h"
#include "engine/vae/shortcut.h"

enum { LTX_ENCODER_STAGES = 8 };

/* How a stage ends: with the grid that it has, with a convolution of stride 2, or with cells that become channels, led around by
 * their means. */
typedef enum { LTX_KEEPS, LTX_STRIDES, LTX_FOLDS } ltx_down;

typedef struct {
    ltx_chain chain;
    ltx_down down;
    vae_conv conv;
    vae_shortcut fold, mean; /* of a stage that folds: the cells of what `conv` gives, and of its input */
    bool has_out;
    ltx_resnet out;
} ltx_encoder_stage;

typedef struct {
    int64_t patch, latent_channels;
    int stages;
    vae_conv conv_in, conv_out;
    ltx_encoder_stage stage[LTX_ENCODER_STAGES];
    ltx_chain middle;
} ltx_encoder;

/* Reads the encoder's keys of a config and loads it. spatial, temporal: pixels and frames of a latent, as the decoder has them.
 * Errors: DIT_ERR_SHAPE when the encoder has others; DIT_ERR_UNSUPPORTED; those of reading weights. */
dit_status ltx_load_encoder(const vae_loader *l, const dit_config *config, int64_t spatial, int64_t temporal,
                            ltx_encoder *encoder);
/* Encodes a clip of so many frames, rows and columns. `w` has walk.memory, vae and eps. */
dit_status ltx_walk_encoder(ltx_walk *w, ltx_encoder *encoder, vae_source image, vae_extents clip, vae_planes mean,
                            vae_planes logvar);

#endif
