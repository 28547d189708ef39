#include "engine/vae/vae_impl.h"

#include "base/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const dit_vae_class dit_vae_autoencoder_dc, dit_vae_autoencoder_kl, dit_vae_autoencoder_kl_cogvideox,
    dit_vae_autoencoder_kl_flux2, dit_vae_autoencoder_kl_hunyuan_video, dit_vae_autoencoder_kl_hunyuan_video15,
    dit_vae_autoencoder_kl_ltx_video, dit_vae_autoencoder_kl_mochi, dit_vae_autoencoder_kl_qwen_image,
    dit_vae_autoencoder_kl_wan, dit_vae_pixel_shuffle;

/* All classes. */
static const dit_vae_class *const classes[] = {
    &dit_vae_autoencoder_dc,
    &dit_vae_autoencoder_kl,
    &dit_vae_autoencoder_kl_cogvideox,
    &dit_vae_autoencoder_kl_flux2,
    &dit_vae_autoencoder_kl_hunyuan_video,
    &dit_vae_autoencoder_kl_hunyuan_video15,
    &dit_vae_autoencoder_kl_ltx_video,
    &dit_vae_autoencoder_kl_mochi,
    &dit_vae_autoencoder_kl_qwen_image,
    &dit_vae_autoencoder_kl_wan,
    &dit_vae_pixel_shuffle,
};
enum { CLASS_COUNT = sizeof classes / sizeof *classes };

static dit_status find_class(const dit_config *config, const dit_vae_class **out)
{
    const char *name, *names[CLASS_COUNT + 1] = {NULL};
    DIT_TRY(dit_json_require_string(config->doc, config->object, config->pointer, "_class_name", &name));
    for (int i = 0; i < CLASS_COUNT; i++) {
        *out = classes[i];
        names[i] = classes[i]->class_name;
        if (strcmp(names[i], name) == 0) return DIT_OK;
    }
    return dit_words_hint_all(DIT_FAIL(DIT_ERR_UNSUPPORTED, "VAE class \"%s\" is not built", name), "built", names);
}

dit_status dit_vae_read_facts(const dit_config *config, dit_vae_facts *out)
{
    const dit_vae_class *klass;
    *out = (dit_vae_facts){0};
    DIT_TRY(find_class(config, &klass));
    return klass->read_facts(config, out);
}

/* Returns the frames of a decode. Of an odd number of latent frames the first one decodes to a single frame. */
int64_t dit_vae_output_frames(const dit_vae_facts *facts, int64_t latent_frames)
{
    bool one_first = facts->one_first || latent_frames % 2;
    return one_first ? (latent_frames - 1) * facts->temporal + 1 : latent_frames * facts->temporal;
}

dit_status dit_vae_scale(const dit_vae_facts *f, int64_t cells, float *latents)
{
    if (f->statistics && f->statistics != f->latent_channels)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "latents_mean and latents_std have %d values for %lld channels",
                                       f->statistics, (long long)f->latent_channels),
                              "a config that leaves them out has those of 16 channels");
    for (int64_t c = 0; c < f->latent_channels; c++)
        for (int64_t i = c * cells; i < (c + 1) * cells; i++)
            latents[i] = (float)(f->statistics ? latents[i] * f->latents_std[c] + f->latents_mean[c]
                                               : latents[i] / f->scaling_factor + f->shift_factor);
    return DIT_OK;
}

/* x std / scaling_factor + mean, by the statistics of the weights. */
static void scale_channels(const dit_vae *vae, int64_t cells, float *latents)
{
    const dit_vae_facts *f = &vae->facts;
    for (int64_t i = 0; i < f->latent_channels * cells; i++) {
        float spread = latents[i] * vae->channel_deviation[i / cells];
        latents[i] = (float)(spread / f->scaling_factor) + vae->channel_mean[i / cells];
    }
}

dit_status dit_vae_prepare(const dit_vae *vae, float *latents)
{
    int64_t height = vae->params.height, width = vae->params.width, cells = vae->params.frames * height * width;
    if (vae->channel_mean) scale_channels(vae, cells, latents);
    if (vae->channel_mean) return DIT_OK;
    if (!vae->patch_mean) return dit_vae_scale(&vae->facts, cells, latents);
    for (int64_t i = 0; i < vae->facts.latent_channels * cells; i++) {
        int64_t x = i % width, y = i / width % height, value = i / cells * 4 + y % 2 * 2 + x % 2;
        latents[i] = latents[i] * vae->patch_deviation[value] + vae->patch_mean[value];
    }
    return DIT_OK;
}

void dit_vae_normalise(const dit_vae *vae, int64_t cells, float *latents)
{
    const dit_vae_facts *f = &vae->facts;
    for (int64_t i = 0; i < f->latent_channels * cells; i++) {
        int64_t c = i / cells;
        if (vae->channel_mean)
            latents[i] = (latents[i] - vae->channel_mean[c]) * (float)f->scaling_factor / vae->channel_deviation[c];
        else if (c < f->statistics)
            latents[i] = (latents[i] - (float)f->latents_mean[c]) * (1.0f / (float)f->latents_std[c]);
    }
}

void dit_vae_norm(const dit_vae *vae, float *latents)
{
    const dit_vae_facts *f = &vae->facts;
    int64_t height = vae->params.height, width = vae->params.width, cells = vae->params.frames * height * width;
    bool by_channel = f->statistics == f->latent_channels;
    for (int64_t i = 0; i < f->latent_channels * cells; i++) {
        int64_t x = i % width, y = i / width % height, value = i / cells * 4 + y % 2 * 2 + x % 2;
        if (vae->patch_mean)
            latents[i] = (latents[i] - vae->patch_mean[value]) / vae->patch_deviation[value];
        else if (by_channel)
            latents[i] = (latents[i] - (float)f->latents_mean[i / cells]) / (float)f->latents_std[i / cells];
        else
            latents[i] = (latents[i] - (float)f->shift_factor) * (float)f->scaling_factor;
    }
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static dit_status plan_tiles(dit_vae *vae)
{
    dit_vae_params *p = &vae->params;
    const dit_vae_facts *f = &vae->facts;
    int64_t px[2] = {p->tile_height_px ? p->tile_height_px : f->tile_height_px,
                     p->tile_width_px ? p->tile_width_px : f->tile_width_px};
    double overlap[2] = {p->tile_overlap_height > 0 ? p->tile_overlap_height : f->tile_overlap_height,
                         p->tile_overlap_width > 0 ? p->tile_overlap_width : f->tile_overlap_width};
    int64_t size[2] = {p->height, p->width}, tile[2], step[2], blend[2];
    for (int i = 0; i < 2; i++) {
        tile[i] = px[i] / f->spatial;
        step[i] = (int64_t)((double)tile[i] * (1 - overlap[i]));
        blend[i] = (int64_t)((double)px[i] * overlap[i]);
        vae->tiled = vae->tiled || (p->tiling && size[i] > tile[i]);
    }
    vae->tile = (vae_extents){p->frames, p->height, p->width};
    if (!vae->tiled) return DIT_OK;
    for (int i = 0; i < 2; i++)
        if (step[i] < 1 || step[i] * f->spatial != px[i] - blend[i])
            return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE,
                                           "tiles of %lld pixels that overlap by %g do not begin at a whole latent of "
                                           "%lld pixels",
                                           (long long)px[i], overlap[i], (long long)f->spatial),
                                  "choose a tile whose size times the overlap is a multiple of the latent");
    if (tile[0] < size[0]) vae->tile.height = tile[0];
    if (tile[1] < size[1]) vae->tile.width = tile[1];
    vae->overlap_height = step[0], vae->overlap_width = step[1];
    vae->blend_height = blend[0], vae->blend_width = blend[1];
    return DIT_OK;
}

static int64_t tiles_along(int64_t extent, int64_t step)
{
    return (extent + step - 1) / step;
}

static dit_status allocate_tiles(dit_vae *vae)
{
    const dit_vae_facts *f = &vae->facts;
    dit_arena *step = &vae->params.rt->step;
    if (!vae->tiled) return DIT_OK;
    int64_t planes = f->image_channels * dit_vae_output_frames(f, vae->params.frames);
    int64_t height = vae->tile.height * f->spatial, width = vae->tile.width * f->spatial;
    int64_t columns = tiles_along(vae->params.width, vae->overlap_width);
    DIT_TRY(dit_arena_host(step, planes * height * width, &vae->current));
    DIT_TRY(dit_arena_host(step, planes * height * vae->blend_width, &vae->left));
    return dit_arena_host(step, columns * planes * vae->blend_height * width, &vae->above);
}

/* Plans memory by a dry walk: decodes (and encodes) the largest piece without computing, then allocates what was noted.
 */
static dit_status plan_memory(dit_vae *vae)
{
    const vae_source nothing = {0};
    const vae_planes nowhere = {0};
    vae_extents whole = {vae->params.frames, vae->params.height, vae->params.width};
    vae->memory.planning = true;
    DIT_TRY(vae->klass->decode(vae, nothing, vae->tile, nowhere));
    if (vae->params.encoder) DIT_TRY(vae->klass->encode(vae, nothing, whole, nowhere, nowhere));
    vae->memory.planning = false;
    DIT_TRY(vae_memory_allocate(&vae->memory));
    int64_t frames = dit_vae_output_frames(&vae->facts, whole.frames), spatial = vae->facts.spatial;
    int64_t floats = vae->facts.image_channels * frames * whole.height * spatial * whole.width * spatial;
    DIT_TRY(vae_bands_allocate(&vae->bands, floats));
    DIT_TRY(vae_relay_allocate(&vae->relay, floats));
    if (vae->klass->allocate) DIT_TRY(vae->klass->allocate(vae));
    return allocate_tiles(vae);
}

/* What the closed forms of a decode that is shared by frames ask for. */
static dit_rows_facts chunk_facts(const dit_vae *vae)
{
    return (dit_rows_facts){
        .decoder = vae->klass->decoder, .temporal = vae->facts.temporal, .frames = vae->params.frames};
}

static dit_status share(dit_vae *vae)
{
    const dit_vae_params *p = &vae->params;
    bool by_frames = p->split == DIT_SPLIT_FRAMES;
    dit_rows_facts facts = chunk_facts(vae);
    DIT_TRY(vae_bands_init(&vae->bands, p->rt, by_frames ? NULL : p->sharers, p->height, vae->tiled));
    return vae_relay_init(&vae->relay, p->rt, by_frames ? p->sharers : NULL, &facts);
}

static dit_status create(dit_vae *vae)
{
    const dit_vae_params *p = &vae->params;
    DIT_TRY(find_class(&p->config, &vae->klass));
    DIT_TRY(vae->klass->read_facts(&p->config, &vae->facts));
    if (p->frames < 1 || p->height < 1 || p->width < 1)
        return DIT_FAIL(DIT_ERR_SHAPE, "latents of %lld frames of %lld x %lld cannot be decoded", (long long)p->frames,
                        (long long)p->height, (long long)p->width);
    if (p->encoder && !vae->klass->encode)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "the encoder of %s is not implemented", vae->klass->class_name);
    DIT_TRY(plan_tiles(vae));
    DIT_TRY(share(vae));
    DIT_TRY(vae->klass->load(vae));
    return plan_memory(vae);
}

dit_status dit_vae_create(const dit_vae_params *params, dit_vae **out)
{
    *out = NULL;
    dit_vae *vae = calloc(1, sizeof *vae);
    if (!vae) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a VAE");
    vae->params = *params;
    vae->memory.rt = params->rt;
    dit_status st = create(vae);
    if (st != DIT_OK) {
        dit_vae_free(vae);
        return dit_error_note(st, "creating the VAE");
    }
    *out = vae;
    return DIT_OK;
}

void dit_vae_free(dit_vae *vae)
{
    free(vae);
}

const dit_vae_facts *dit_vae_get_facts(const dit_vae *vae)
{
    return &vae->facts;
}

bool dit_vae_is_tiled(const dit_vae *vae)
{
    return vae->tiled;
}

/* ---- for the classes --------------------------------------------------------------------------------------------- */

static dit_status require_types(const dit_config *config, const char *key, const char *type)
{
    const cJSON *list = NULL, *item;
    DIT_TRY(dit_json_optional_array(config->doc, config->object, config->pointer, key, &list));
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, type) == 0) continue;
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has \"%s\"; only %s is implemented", key,
                        cJSON_IsString(item) ? item->valuestring : "a value that is not a string", type);
    }
    return DIT_OK;
}

dit_status vae_read_stages(const dit_config *config, const char *down_type, const char *up_type, int capacity,
                           int64_t *widths, int *stages)
{
    int count = -1;
    DIT_TRY(require_types(config, "down_block_types", down_type));
    DIT_TRY(require_types(config, "up_block_types", up_type));
    DIT_TRY(dit_config_read_ints(config, "block_out_channels", 1, 16384, capacity, widths, &count));
    if (count == 0) return DIT_FAIL(DIT_ERR_SHAPE, "block_out_channels is empty: a VAE has at least one stage");
    if (count > 0) *stages = count;
    return DIT_OK;
}

dit_status vae_from_planes(vae_memory *memory, vae_source planes, int64_t first_frame, vae_tensor tensor)
{
    float *data = vae_tensor_data(memory, &tensor), *to = data;
    if (memory->planning || memory->rt->ledger.counting_only) return DIT_OK;
    for (int64_t t = 0; t < tensor.frames; t++)
        for (int64_t y = 0; y < tensor.height; y++)
            for (int64_t x = 0; x < tensor.width; x++)
                for (int64_t c = 0; c < tensor.channels; c++)
                    *to++ = planes.data[c * planes.channel + (first_frame + t) * planes.frame + y * planes.row + x];
    return dit_runtime_upload(memory->rt, data, vae_tensor_positions(&tensor) * tensor.channels);
}

dit_status vae_to_planes(vae_memory *memory, vae_tensor tensor, int64_t first_channel, int64_t channels,
                         vae_planes planes, int64_t first_frame)
{
    const float *from = vae_tensor_data(memory, &tensor);
    if (memory->planning || memory->rt->ledger.counting_only) return DIT_OK;
    DIT_TRY(dit_runtime_download(memory->rt, from, vae_tensor_positions(&tensor) * tensor.channels));
    for (int64_t t = 0; t < tensor.frames; t++)
        for (int64_t y = 0; y < tensor.height; y++)
            for (int64_t x = 0; x < tensor.width; x++, from += tensor.channels)
                for (int64_t c = 0; c < channels; c++)
                    planes.data[c * planes.channel + (first_frame + t) * planes.frame + y * planes.row + x] =
                        from[first_channel + c];
    return DIT_OK;
}

/* Where a value of a patched tensor lies in planes, from their first value on. */
static int64_t patched_place(const vae_tensor *x, int64_t index, int64_t patch, int64_t channel, int64_t frame,
                             int64_t row)
{
    int64_t c = index % x->channels, column = index / x->channels % x->width;
    int64_t y = index / x->channels / x->width % x->height, t = index / x->channels / x->width / x->height;
    return c / (patch * patch) * channel + t * frame + (y * patch + c % patch) * row + column * patch +
           c / patch % patch;
}

dit_status vae_patches_from_planes(vae_memory *memory, vae_source planes, int64_t first_frame, int64_t patch,
                                   vae_tensor tensor)
{
    float *data = vae_tensor_data(memory, &tensor);
    int64_t values = vae_tensor_positions(&tensor) * tensor.channels;
    if (memory->planning || memory->rt->ledger.counting_only) return DIT_OK;
    planes.data += first_frame * planes.frame;
    for (int64_t i = 0; i < values; i++)
        data[i] = planes.data[patched_place(&tensor, i, patch, planes.channel, planes.frame, planes.row)];
    return dit_runtime_upload(memory->rt, data, values);
}

dit_status vae_patches_to_planes(vae_memory *memory, vae_tensor tensor, int64_t patch, vae_planes planes,
                                 int64_t first_frame)
{
    const float *data = vae_tensor_data(memory, &tensor);
    int64_t values = vae_tensor_positions(&tensor) * tensor.channels;
    if (memory->planning || memory->rt->ledger.counting_only) return DIT_OK;
    DIT_TRY(dit_runtime_download(memory->rt, data, values));
    planes.data += first_frame * planes.frame;
    for (int64_t i = 0; i < values; i++)
        planes.data[patched_place(&tensor, i, patch, planes.channel, planes.frame, planes.row)] = data[i];
    return DIT_OK;
}

/* Blends two values: the weight of b grows from 0 to 1 over the seam. diffusers' blend_t, blend_v and blend_h. */
static float blend(float a, float b, int64_t at, int64_t extent)
{
    float weight = (float)((double)at / (double)extent);
    return a * (float)(1 - (double)at / (double)extent) + b * weight;
}

/* Puts channels of a frame of the tensor into planes; `at` below `extent`: blended with what they hold. */
static void put_frame(const float *from, const vae_tensor *x, int64_t channels, vae_planes to, int64_t at,
                      int64_t extent)
{
    for (int64_t line = 0; line < x->height; line++)
        for (int64_t column = 0; column < x->width; column++, from += x->channels)
            for (int64_t c = 0; c < channels; c++) {
                float *pixel = to.data + c * to.channel + line * to.row + column;
                *pixel = at < extent ? blend(*pixel, from[c], at, extent) : from[c];
            }
}

dit_status vae_blend_planes(vae_memory *memory, vae_tensor tensor, int64_t first_channel, int64_t channels,
                            vae_seam seam, vae_planes planes, int64_t first_frame)
{
    const float *from = vae_tensor_data(memory, &tensor);
    int64_t frame = tensor.height * tensor.width * tensor.channels;
    if (memory->planning || memory->rt->ledger.counting_only) return DIT_OK;
    DIT_TRY(dit_runtime_download(memory->rt, from, vae_tensor_positions(&tensor) * tensor.channels));
    planes.data += first_frame * planes.frame;
    for (int64_t t = seam.skip; t < tensor.frames; t++, planes.data += planes.frame)
        put_frame(from + t * frame + first_channel, &tensor, channels, planes, t - seam.skip, seam.extent);
    return DIT_OK;
}

vae_planes vae_band_of(const dit_vae *vae, vae_planes image)
{
    if (vae->bands.comm && image.data) image.data += vae->bands.first * vae->facts.spatial * image.row;
    return image;
}

static dit_status tap_whole(dit_vae *vae, vae_tensor tensor, const char *name)
{
    float *whole;
    int64_t height, row = tensor.width * tensor.channels;
    DIT_TRY(vae_bands_collect(&vae->bands, vae_tensor_data(&vae->memory, &tensor), tensor.frames, tensor.height, row,
                              &height, &whole));
    dit_status st = vae->params.tap->take(vae->params.tap, name, whole,
                                          (int64_t[4]){tensor.frames, height, tensor.width, tensor.channels});
    free(whole);
    return st;
}

static int64_t tiles_of(const dit_vae *vae)
{
    if (!vae->tiled) return 1;
    return tiles_along(vae->params.height, vae->overlap_height) * tiles_along(vae->params.width, vae->overlap_width);
}

/* Counts a part in the dry walk, and reports it in a decode. A part is what lies between two taps. */
static void tell_part(dit_vae *vae)
{
    const dit_vae_params *p = &vae->params;
    if (vae->memory.planning)
        vae->parts++;
    else if (p->told)
        p->told(p->context, ++vae->parts_done, vae->parts * (int)tiles_of(vae));
}

dit_status vae_tap(dit_vae *vae, vae_tensor tensor, const char *format, ...)
{
    tell_part(vae);
    char name[64];
    va_list args;
    dit_vae_tap *tap = vae->params.tap;
    if (!tap || vae->memory.planning) return DIT_OK;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    const float *data = vae_tensor_data(&vae->memory, &tensor);
    DIT_TRY(dit_runtime_download(vae->memory.rt, data, vae_tensor_positions(&tensor) * tensor.channels));
    if (tensor.band) return tap_whole(vae, tensor, name);
    return tap->take(tap, name, data, (int64_t[4]){tensor.frames, tensor.height, tensor.width, tensor.channels});
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* A rectangle of planes [planes, height, width], dense; channels and frames together are the planes. */
typedef struct {
    float *data;
    int64_t planes, height, width;
} tile_view;

static int64_t smallest(int64_t a, int64_t b, int64_t c)
{
    int64_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static void blend_above(tile_view above, tile_view tile, int64_t limit)
{
    int64_t extent = smallest(above.height, tile.height, limit);
    for (int64_t p = 0; p < tile.planes; p++)
        for (int64_t y = 0; y < extent; y++) {
            const float *a = above.data + (p * above.height + above.height - extent + y) * above.width;
            float *b = tile.data + (p * tile.height + y) * tile.width;
            for (int64_t x = 0; x < tile.width; x++) b[x] = blend(a[x], b[x], y, extent);
        }
}

static void blend_left(tile_view left, tile_view tile, int64_t limit)
{
    int64_t extent = smallest(left.width, tile.width, limit);
    for (int64_t line = 0; line < tile.planes * tile.height; line++)
        for (int64_t x = 0; x < extent; x++) {
            float *b = tile.data + line * tile.width + x;
            *b = blend(left.data[line * left.width + left.width - extent + x], *b, x, extent);
        }
}

/* Keeps the last lines or columns of a tile, with which the next one is blended. */
static tile_view keep_bottom(tile_view tile, int64_t extent, float *to)
{
    tile_view kept = {to, tile.planes, extent < tile.height ? extent : tile.height, tile.width};
    for (int64_t p = 0; p < tile.planes; p++)
        memcpy(to + p * kept.height * kept.width,
               tile.data + (p * tile.height + tile.height - kept.height) * tile.width,
               (size_t)(kept.height * kept.width) * sizeof *to);
    return kept;
}

static tile_view keep_right(tile_view tile, int64_t extent, float *to)
{
    tile_view kept = {to, tile.planes, tile.height, extent < tile.width ? extent : tile.width};
    for (int64_t line = 0; line < tile.planes * tile.height; line++)
        memcpy(to + line * kept.width, tile.data + line * tile.width + tile.width - kept.width,
               (size_t)kept.width * sizeof *to);
    return kept;
}

/* Writes the final part of a tile: all but the seam that the next tiles blend. */
static void place_tile(const dit_vae *vae, tile_view tile, int64_t top, int64_t begin, float *image)
{
    int64_t height = vae->params.height * vae->facts.spatial, width = vae->params.width * vae->facts.spatial;
    int64_t lines = smallest(vae->overlap_height * vae->facts.spatial, tile.height, height - top);
    int64_t columns = smallest(vae->overlap_width * vae->facts.spatial, tile.width, width - begin);
    for (int64_t p = 0; p < tile.planes; p++)
        for (int64_t y = 0; y < lines; y++)
            memcpy(image + (p * height + top + y) * width + begin, tile.data + (p * tile.height + y) * tile.width,
                   (size_t)columns * sizeof *image);
}

static dit_status decode_tile(dit_vae *vae, const float *latents, int64_t y, int64_t x, tile_view *out)
{
    const dit_vae_params *p = &vae->params;
    int64_t spatial = vae->facts.spatial, frames = dit_vae_output_frames(&vae->facts, p->frames);
    vae_extents size = {p->frames, smallest(vae->tile.height, p->height - y, p->height),
                        smallest(vae->tile.width, p->width - x, p->width)};
    vae_source from = {latents + y * p->width + x, p->frames * p->height * p->width, p->height * p->width, p->width};
    *out = (tile_view){vae->current, vae->facts.image_channels * frames, size.height * spatial, size.width * spatial};
    vae_planes to = {out->data, frames * out->height * out->width, out->height * out->width, out->width};
    return vae->klass->decode(vae, from, size, to);
}

/* Decodes tile by tile, line by line. Only the seams of the last line of tiles and of the last tile are kept. Every
 * column of tiles has its own seam, because neighbours overlap. */
static dit_status decode_tiled(dit_vae *vae, const float *latents, float *image)
{
    int64_t spatial = vae->facts.spatial, rows = tiles_along(vae->params.height, vae->overlap_height);
    int64_t columns = tiles_along(vae->params.width, vae->overlap_width);
    int64_t planes = vae->facts.image_channels * dit_vae_output_frames(&vae->facts, vae->params.frames);
    int64_t seam = planes * vae->blend_height * vae->tile.width * spatial;
    int64_t above_height = 0;
    for (int64_t i = 0; i < rows; i++) {
        tile_view tile = {0}, left = {0};
        int64_t y = i * vae->overlap_height, kept_height = 0;
        for (int64_t j = 0; j < columns; j++) {
            int64_t x = j * vae->overlap_width;
            DIT_TRY(decode_tile(vae, latents, y, x, &tile));
            if (vae->params.rt->ledger.counting_only) continue;
            tile_view above = {vae->above + j * seam, planes, above_height, tile.width};
            if (i) blend_above(above, tile, vae->blend_height);
            if (j) blend_left(left, tile, vae->blend_width);
            kept_height = keep_bottom(tile, vae->blend_height, above.data).height;
            left = keep_right(tile, vae->blend_width, vae->left);
            place_tile(vae, tile, y * spatial, x * spatial, image);
        }
        above_height = kept_height;
    }
    return DIT_OK;
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

static vae_planes dense_planes(float *data, int64_t frames, int64_t height, int64_t width)
{
    return (vae_planes){data, frames * height * width, height * width, width};
}

static vae_source dense_source(const float *data, int64_t frames, int64_t height, int64_t width)
{
    return (vae_source){data, frames * height * width, height * width, width};
}

/* NaN stays. */
static void clamp(const dit_vae *vae, int64_t frames, float *image)
{
    int64_t pixels = vae->params.height * vae->params.width * vae->facts.spatial * vae->facts.spatial;
    int64_t values = dit_runtime_values(vae->params.rt, vae->facts.image_channels * frames * pixels);
    for (int64_t i = 0; i < values; i++) image[i] = image[i] < -1 ? -1 : image[i] > 1 ? 1 : image[i];
}

/* Decodes this rank's rows or frames, or all of them. */
static dit_status decode_own(dit_vae *vae, int64_t frames, const float *latents, float *image)
{
    const dit_vae_params *p = &vae->params;
    int64_t spatial = vae->facts.spatial;
    vae->parts_done = 0;
    dit_torch_seed(&vae->generator, vae->params.seed);
    if (vae->tiled) return decode_tiled(vae, latents, image);
    return vae->klass->decode(vae, dense_source(latents, p->frames, p->height, p->width), vae->tile,
                              dense_planes(image, frames, p->height * spatial, p->width * spatial));
}

static dit_status gather(dit_vae *vae, int64_t frames, float *image)
{
    int64_t spatial = vae->facts.spatial, width = vae->params.width * spatial, colours = vae->facts.image_channels;
    dit_rows_facts facts = chunk_facts(vae);
    if (vae->bands.comm) return vae_bands_gather(&vae->bands, image, colours * frames, width, spatial);
    if (!vae->relay.comm) return DIT_OK;
    return vae_relay_gather(&vae->relay, &facts, image, colours, frames, vae->params.height * spatial * width);
}

dit_status dit_vae_decode(dit_vae *vae, const float *latents, float *image)
{
    int64_t frames = dit_vae_output_frames(&vae->facts, vae->params.frames);
    DIT_TRY(decode_own(vae, frames, latents, image));
    DIT_TRY(gather(vae, frames, image));
    if (vae->klass->clamps) clamp(vae, frames, image);
    return DIT_OK;
}

dit_status dit_vae_encode(dit_vae *vae, const float *image, float *mean, float *logvar)
{
    const dit_vae_params *p = &vae->params;
    int64_t spatial = vae->facts.spatial, frames = dit_vae_output_frames(&vae->facts, p->frames);
    if (!p->encoder) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "this VAE was created without its encoder");
    vae_extents size = {p->frames, p->height, p->width};
    return vae->klass->encode(vae, dense_source(image, frames, p->height * spatial, p->width * spatial), size,
                              dense_planes(mean, p->frames, p->height, p->width),
                              dense_planes(logvar, p->frames, p->height, p->width));
}
