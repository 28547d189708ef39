/* The blocks of LTX-Video's VAE, which its decoder and its encoder share: residual blocks whose norms see one position each.
 * Source: diffusers 0.42.1, LTXVideoResnetBlock3d. */
#ifndef DIT_ENGINE_LTX_BLOCKS_H
#define DIT_ENGINE_LTX_BLOCKS_H

#include "engine/vae/vae_impl.h"

enum { LTX_MODULATIONS = 4 }; /* of a block: shift and scale of both norms */

typedef struct {
    vae_conv conv1, conv2;
    const float *modulation;    /* [LTX_MODULATIONS, channels] or NULL*/
    bool noisy;                 /* noise is added after each convolution         */
    dit_linear noise1, noise2;  /* [channels, NOISE_CHANNELS]: one column of scales */
    bool has_shortcut;          /* where the widths differ                        */
    const float *weight, *bias; /* of the layer norm before the shortcut          */
    dit_linear shortcut;
} ltx_resnet;

/* What the blocks of one module share: `embedded` [LTX_MODULATIONS, channels] in host memory, or NULL. */
typedef struct {
    const vae_loader *l;
    const float *embedded;
    bool noisy;
} ltx_module;

/* Blocks one after the other. */
typedef struct {
    ltx_resnet *resnets;
    int64_t count;
} ltx_chain;

/* Noise: one value for each position of a frame, in host memory. */
typedef struct {
    int64_t floats; /* of the finest frame, as the dry walk noted */
    float *values;
} ltx_noise;

/* A walk, and what its blocks need beside it. */
typedef struct {
    vae_walk walk;
    dit_vae *vae;
    ltx_noise *noise;  /* NULL: no block adds any */
    float eps;         /* of the layer norms before shortcuts */
    dit_status status; /* of the first upload that failed */
} ltx_walk;

/* Loads a block, `prefix`.conv1.conv and so on. Errors: those of reading weights. */
dit_status ltx_load_resnet(const ltx_module *module, const char *prefix, int64_t in, int64_t out, ltx_resnet *resnet);
/* Loads `prefix`.resnets.0 and so on into rt->run. */
dit_status ltx_load_chain(const ltx_module *module, const char *prefix, int64_t width, int64_t count, ltx_chain *chain);
vae_tensor ltx_resnet_forward(ltx_walk *w, ltx_resnet *resnet, vae_tensor x);
vae_tensor ltx_chain_forward(ltx_walk *w, const ltx_chain *chain, vae_tensor x);
/* Normalises each position, shifts and scales, and applies SiLU. modulation: [shift, scale] or NULL. */
vae_tensor ltx_norm_forward(const ltx_walk *w, const float *modulation, vae_tensor x, int to);

#endif
