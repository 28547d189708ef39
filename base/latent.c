#include "base/latent.h"

#include <string.h>

int64_t dit_latent_cells(const dit_latent *latent)
{
    return latent->frames * latent->height * latent->width;
}

int64_t dit_latent_tokens(const dit_latent *latent)
{
    return dit_latent_cells(latent) / (latent->patch_t * latent->patch * latent->patch);
}

int64_t dit_latent_token_channels(const dit_latent *latent)
{
    return latent->channels * latent->patch_t * latent->patch * latent->patch;
}

dit_latent dit_latent_of_tokens(const dit_latent *l)
{
    return (dit_latent){.channels = dit_latent_token_channels(l),
                        .vae_spatial = l->vae_spatial * l->patch,
                        .vae_temporal = l->vae_temporal * l->patch_t,
                        .patch_t = 1,
                        .patch = 1,
                        .frames = l->frames / l->patch_t,
                        .height = l->height / l->patch,
                        .width = l->width / l->patch};
}

static dit_status check_units(const dit_latent *l)
{
    if (l->channels > 0 && l->vae_spatial > 0 && l->vae_temporal > 0 && l->patch_t > 0 && l->patch > 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "a latent cannot have %lld channels, VAE %lldx%lld, patch %lldx%lld",
                    (long long)l->channels, (long long)l->vae_temporal, (long long)l->vae_spatial,
                    (long long)l->patch_t, (long long)l->patch);
}

dit_status dit_latent_resize(dit_latent *latent, int64_t height_px, int64_t width_px, int64_t num_frames)
{
    DIT_TRY(check_units(latent));
    int64_t pixels = latent->vae_spatial * latent->patch, temporal = latent->vae_temporal;
    if (height_px < 1 || width_px < 1 || height_px % pixels || width_px % pixels)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION,
                                       "%lldx%lld px is not a multiple of %lld px (VAE %lld x patch %lld)",
                                       (long long)width_px, (long long)height_px, (long long)pixels,
                                       (long long)latent->vae_spatial, (long long)latent->patch),
                              "use sizes that are multiples of %lld", (long long)pixels);
    if (num_frames < 1 || (num_frames - 1) % temporal)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION, "%lld frames are not one more than a multiple of %lld (VAE)",
                     (long long)num_frames, (long long)temporal),
            "use %lld or %lld frames", (long long)(num_frames < 1 ? 1 : (num_frames - 1) / temporal * temporal + 1),
            (long long)(num_frames < 1 ? 1 + temporal : ((num_frames - 1) / temporal + 1) * temporal + 1));
    latent->height = height_px / latent->vae_spatial;
    latent->width = width_px / latent->vae_spatial;
    latent->frames = (num_frames - 1) / temporal + 1;
    latent->frames = (latent->frames + latent->patch_t - 1) / latent->patch_t * latent->patch_t;
    return DIT_OK;
}

dit_status dit_latent_from_shape(dit_latent *latent, dit_latent_layout layout, int rank, const int64_t *shape,
                                 int64_t *rows, int64_t *channels)
{
    int expected = layout == DIT_LATENT_PACKED ? 3 : 5;
    bool image = layout != DIT_LATENT_PACKED && rank == 4;
    DIT_TRY(check_units(latent));
    if (rank != expected && !image)
        return DIT_FAIL(DIT_ERR_SHAPE, "latents of %d dimensions, expected %d", rank, expected);
    for (int i = 0; i < rank; i++)
        if (shape[i] < 1) return DIT_FAIL(DIT_ERR_SHAPE, "latents are empty (dimension %d)", i);
    *rows = shape[0];
    if (layout == DIT_LATENT_PACKED) {
        int64_t cells = latent->patch_t * latent->patch * latent->patch;
        if (shape[2] % cells)
            return DIT_FAIL(DIT_ERR_SHAPE,
                            "packed latents have %lld channels, which is not a multiple of %lld, a patch",
                            (long long)shape[2], (long long)cells);
        *channels = shape[2] / cells;
        latent->frames = latent->patch_t, latent->height = latent->patch, latent->width = shape[1] * latent->patch;
        return DIT_OK;
    }
    *channels = shape[image || layout == DIT_LATENT_CFHW ? 1 : 2];
    latent->frames = image ? 1 : shape[layout == DIT_LATENT_CFHW ? 2 : 1];
    latent->height = shape[rank - 2], latent->width = shape[rank - 1];
    if (latent->frames % latent->patch_t || latent->height % latent->patch || latent->width % latent->patch)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld x %lld x %lld cells are not whole patches of %lld x %lld x %lld",
                        (long long)latent->frames, (long long)latent->height, (long long)latent->width,
                        (long long)latent->patch_t, (long long)latent->patch, (long long)latent->patch);
    return DIT_OK;
}

/* Returns the index of the first float of row `y` of a channel and frame; a row has `width` cells. */
static int64_t stored_row(const dit_latent *l, dit_latent_layout layout, int64_t channels, int64_t row, int64_t c,
                          int64_t t, int64_t y)
{
    int64_t plane =
        layout == DIT_LATENT_FCHW ? (row * l->frames + t) * channels + c : (row * channels + c) * l->frames + t;
    return (plane * l->height + y) * l->width;
}

/* Returns the index of that cell inside the tokens; cells x..x+patch-1 of a token lie together. */
static int64_t token_run(const dit_latent *l, int64_t channels, int64_t row, int64_t c, int64_t t, int64_t y, int64_t x)
{
    int64_t p = l->patch, pt = l->patch_t, cells = pt * p * p;
    int64_t token = ((t / pt) * (l->height / p) + y / p) * (l->width / p) + x / p;
    return ((row * dit_latent_tokens(l) + token) * channels + c) * cells + ((t % pt) * p + y % p) * p;
}

void dit_latent_pack(const dit_latent *latent, dit_latent_layout layout, int64_t rows, int64_t channels,
                     const float *stored, float *tokens)
{
    size_t run = (size_t)latent->patch * sizeof(float);
    if (layout == DIT_LATENT_PACKED) {
        memcpy(tokens, stored, (size_t)(rows * channels * dit_latent_cells(latent)) * sizeof(float));
        return;
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t t = 0; t < latent->frames; t++)
                for (int64_t y = 0; y < latent->height; y++) {
                    const float *cells = stored + stored_row(latent, layout, channels, row, c, t, y);
                    for (int64_t x = 0; x < latent->width; x += latent->patch)
                        memcpy(tokens + token_run(latent, channels, row, c, t, y, x), cells + x, run);
                }
}

void dit_latent_unpack(const dit_latent *latent, dit_latent_layout layout, int64_t rows, int64_t channels,
                       const float *tokens, float *stored)
{
    size_t run = (size_t)latent->patch * sizeof(float);
    if (layout == DIT_LATENT_PACKED) {
        memcpy(stored, tokens, (size_t)(rows * channels * dit_latent_cells(latent)) * sizeof(float));
        return;
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t t = 0; t < latent->frames; t++)
                for (int64_t y = 0; y < latent->height; y++) {
                    float *cells = stored + stored_row(latent, layout, channels, row, c, t, y);
                    for (int64_t x = 0; x < latent->width; x += latent->patch)
                        memcpy(cells + x, tokens + token_run(latent, channels, row, c, t, y, x), run);
                }
}
