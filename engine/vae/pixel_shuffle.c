/* PixelShuffle: an exact codec instead of an autoencoder. A square of block x block pixels is one cell of 3 block^2
 * channels, so that no decoder blurs what is compared, and nothing is learned: there are no weights.
 *
 *     latent = (2 p - 1 - shift_factor) scaling_factor       p in [0, 1]; channel = (colour block + dy) block + dx
 *
 * The order of channels is that of PyTorch's pixel_unshuffle (Shi et al., arXiv:1609.05158). As with every VAE, scale
 * and shift are applied outside (engine/results/decode.c); here pixels are only moved. Frames of a clip are pictures.
 */
#include "base/rows.h"
#include "engine/vae/vae_impl.h"

enum { COLOURS = 3, NEVER_TILED = 1 << 24 };

typedef struct {
    int64_t block, latent_channels;
    double scaling_factor, shift_factor;
} shuffle_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(shuffle_config, block, "block_size", 2, 1, 64),
    DIT_CONFIG_INT(shuffle_config, latent_channels, "latent_channels", 0, 1, 65536),
    DIT_CONFIG_NUMBER(shuffle_config, scaling_factor, "scaling_factor", 1, 1e-6, 1e6),
    DIT_CONFIG_NUMBER(shuffle_config, shift_factor, "shift_factor", 0, -1e6, 1e6),
    DIT_CONFIG_END,
};

static dit_status shuffle_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    shuffle_config c;
    DIT_TRY(dit_config_read(config, fields, &c));
    if (c.block & (c.block - 1))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "block_size %lld: only powers of two are implemented", (long long)c.block);
    if (c.latent_channels && c.latent_channels != COLOURS * c.block * c.block)
        return DIT_FAIL(DIT_ERR_SHAPE, "latent_channels is %lld, but squares of %lld x %lld pixels have %lld values",
                        (long long)c.latent_channels, (long long)c.block, (long long)c.block,
                        (long long)(COLOURS * c.block * c.block));
    *facts = (dit_vae_facts){.latent_channels = COLOURS * c.block * c.block,
                             .image_channels = COLOURS,
                             .weightless = true,
                             .spatial = c.block,
                             .temporal = 1,
                             .scaling_factor = c.scaling_factor,
                             .shift_factor = c.shift_factor,
                             .tile_height_px = NEVER_TILED,
                             .tile_width_px = NEVER_TILED,
                             .tile_overlap_height = 0.25,
                             .tile_overlap_width = 0.25};
    return DIT_OK;
}

static dit_status shuffle_load(dit_vae *vae)
{
    (void)vae;
    return DIT_OK;
}

/* Returns where channel c's pixel of the cell at row y lies in planes of pixels; x moves by the block. */
static int64_t pixel_row(int64_t block, int64_t c, int64_t y, int64_t channel, int64_t row)
{
    return c / (block * block) * channel + (y * block + c / block % block) * row + c % block;
}

/* Moves the rows of this rank. Latents and pixels are in host memory, whatever the backend. */
static dit_status shuffle_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    int64_t block = vae->facts.spatial, first = vae->bands.comm ? vae->bands.first : 0;
    int64_t rows = vae->bands.comm ? vae->bands.rows : size.height;
    if (vae->memory.planning || vae->params.rt->ledger.counting_only) return DIT_OK;
    for (int64_t c = 0; c < vae->facts.latent_channels; c++)
        for (int64_t t = 0; t < size.frames; t++)
            for (int64_t y = first; y < first + rows; y++) {
                const float *from = latents.data + c * latents.channel + t * latents.frame + y * latents.row;
                float *to = image.data + t * image.frame + pixel_row(block, c, y, image.channel, image.row);
                for (int64_t x = 0; x < size.width; x++) to[x * block] = from[x];
            }
    return DIT_OK;
}

/* The codec leaves nothing to chance: logvar is that of no variance, which diffusers clamps at -30. */
static dit_status shuffle_encode(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar)
{
    static const float none = -30;
    int64_t block = vae->facts.spatial;
    if (vae->memory.planning || vae->params.rt->ledger.counting_only) return DIT_OK;
    for (int64_t c = 0; c < vae->facts.latent_channels; c++)
        for (int64_t t = 0; t < size.frames; t++)
            for (int64_t y = 0; y < size.height; y++) {
                const float *from = image.data + t * image.frame + pixel_row(block, c, y, image.channel, image.row);
                int64_t to = c * mean.channel + t * mean.frame + y * mean.row;
                for (int64_t x = 0; x < size.width; x++) {
                    mean.data[to + x] = from[x * block];
                    logvar.data[to + x] = none;
                }
            }
    return DIT_OK;
}

const dit_vae_class dit_vae_pixel_shuffle = {
    .class_name = DIT_PIXEL_SHUFFLE,
    .decoder = DIT_ROWS_PIXELS,
    .read_facts = shuffle_read_facts,
    .load = shuffle_load,
    .decode = shuffle_decode,
    .encode = shuffle_encode,
};
