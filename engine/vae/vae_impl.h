/* What a VAE class provides, and the object that vae.c passes to it. */
#ifndef DIT_ENGINE_VAE_IMPL_H
#define DIT_ENGINE_VAE_IMPL_H

#include "base/torch_random.h"
#include "engine/vae/layers.h"
#include "engine/vae/vae.h"

/* Planes [channels, frames, height, width] inside larger ones: strides in floats, columns contiguous. */
typedef struct {
    float *data;
    int64_t channel, frame, row;
} vae_planes;
/* Planes to read from, inside larger ones. */
typedef struct {
    const float *data;
    int64_t channel, frame, row;
} vae_source;

typedef struct {
    int64_t frames, height, width;
} vae_extents;

typedef struct {
    const char *class_name;
    dit_rows_decoder decoder; /* what the closed forms of a shared decode call it */
    bool clamps;              /* the image to [-1, 1] */
    /* Fills all facts. */
    dit_status (*read_facts)(const dit_config *config, dit_vae_facts *facts);
    /* Loads the weights; takes vae->state from rt->run. */
    dit_status (*load)(dit_vae *vae);
    /* Decodes latents of any extents up to the planned ones. While vae->memory plans, data is NULL and nothing is
     * computed. */
    dit_status (*decode)(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image);
    /* Encodes; optional. */
    dit_status (*encode)(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar);
    /* Allocates memory beyond the slots, after the dry walk; optional. */
    dit_status (*allocate)(dit_vae *vae);
} dit_vae_class;

struct dit_vae {
    const dit_vae_class *klass;
    dit_vae_params params;
    dit_vae_facts facts;
    vae_memory memory;
    vae_bands bands; /* of a decode that is shared by rows   */
    vae_relay relay; /* of one that is shared by frames      */
    void *state;
    float *patch_mean, *patch_deviation; /* [4 latent channels] in host memory where patches are normed, else NULL */
    float *channel_mean, *channel_deviation; /* [latent channels] likewise, where channels are normed */
    dit_torch_generator generator;           /* seeded before each decode */
    int parts, parts_done; /* parts of one tile's decode, as the dry walk counted; parts done of the current decode */
    bool tiled;
    vae_extents tile;       /* latents of a tile; untiled: all latents    */
    int64_t overlap_height; /* latents from tile to tile                  */
    int64_t overlap_width;
    int64_t blend_height; /* pixels                                     */
    int64_t blend_width;
    float *current; /* [3, frames, tile] pixels                   */
    float *left;    /* [3, frames, tile height, blend_width]      */
    float *above;   /* per tile column [3, frames, blend_height, tile width] */
};

/* Reads block_out_channels into widths (at most `capacity`; defaults stay when it is absent), and checks that all
 * blocks are of implemented types. Errors: DIT_ERR_JSON_*, DIT_ERR_UNSUPPORTED. */
dit_status vae_read_stages(const dit_config *config, const char *down_type, const char *up_type, int capacity,
                           int64_t *widths, int *stages);

/* Copy planes in host memory to a channels-last slot, and back; `tensor` gives the frames. */
dit_status vae_from_planes(vae_memory *memory, vae_source planes, int64_t first_frame, vae_tensor tensor);
dit_status vae_to_planes(vae_memory *memory, vae_tensor tensor, int64_t first_channel, int64_t channels,
                         vae_planes planes, int64_t first_frame);
/* The same of a tensor whose channels are (colour, column, row) of patches of pixels: a patch of 1 is as above. */
dit_status vae_patches_from_planes(vae_memory *memory, vae_source planes, int64_t first_frame, int64_t patch,
                                   vae_tensor tensor);
dit_status vae_patches_to_planes(vae_memory *memory, vae_tensor tensor, int64_t patch, vae_planes planes,
                                 int64_t first_frame);
/* How frames follow those that the planes hold: the first `skip` frames are left out, the next `extent` are blended. */
typedef struct {
    int64_t skip, extent;
} vae_seam;
/* As vae_to_planes, with a seam; `first_frame` is where the first frame goes that is not left out. */
dit_status vae_blend_planes(vae_memory *memory, vae_tensor tensor, int64_t first_channel, int64_t channels,
                            vae_seam seam, vae_planes planes, int64_t first_frame);
/* Returns the planes of this rank's rows of an image; those of the whole image where a decode is not shared. */
vae_planes vae_band_of(const dit_vae *vae, vae_planes image);
/* Passes an activation to the tap, if there is one and this is no dry walk. Bands are first collected. */
dit_status vae_tap(dit_vae *vae, vae_tensor tensor, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
