/* AutoencoderKLLTXVideo: the video VAE of LTX-Video with 32 x 32 pixels and 8 frames a latent, of all published versions;
 * the encoder is ltx_encoder.c.
 * Source: HaCohen et al., LTX-Video (arXiv:2501.00103); parameter names and arithmetic of AutoencoderKLLTXVideo of
 * diffusers 0.42.1.
 *
 * All frames are decoded together, because convolutions of the published decoders see as many frames behind as before; with
 * decoder_causal they look back only. Norms see one position each, so that bands of rows exchange nothing but rows, and a shared
 * decode is cut before the first convolution. An upsampling is a convolution whose channels are spread over cells of two frames,
 * rows and columns, without the first frame; around it may lead a selection of its input's channels. The result is patches of
 * pixels.
 *
 * From 0.9.1 on the decoder denoises, too: norms are shifted and scaled by what the decode timestep says (decode_timestep.h),
 * and blocks may add noise, one value a position for all frames and channels, by a scale of the channel. diffusers draws it from
 * PyTorch's default generator; here that is seeded with the VAE's seed before each decode.
 */
#include "engine/vae/decode_timestep.h"
#include "engine/vae/ltx_encoder.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_STAGES = 8,
    COLOURS = 3,
    CELL = 2, /* frames, rows and columns of a cell */
    PLACES = CELL * CELL * CELL,
};

typedef struct {
    int64_t out_channels, latent_channels, patch, spatial, temporal;
    double scaling_factor, eps;
    bool causal, timestep;
    int stages;
    int64_t widths[MAX_STAGES], factors[MAX_STAGES]; /* in the decoder's order: the coarsest first */
    int64_t layers[MAX_STAGES + 1];                  /* the first are those of the middle block    */
    bool noise[MAX_STAGES + 1];
    bool scales[MAX_STAGES], around[MAX_STAGES];
} ltx_config;

typedef struct {
    bool has_in, scales, has_around;
    ltx_resnet in;
    vae_conv up;
    dit_linear around; /* selects for each place of a cell the channels of the input */
    ltx_chain chain;
} ltx_stage;

typedef struct {
    ltx_config c;
    vae_conv conv_in, conv_out;
    ltx_chain middle;
    ltx_stage stages[MAX_STAGES];
    const float *modulation; /* [2, channels] of the last norm, or NULL */
    bool noisy;
    ltx_noise noise;
    ltx_encoder encoder; /* loaded where it was asked for */
} ltx;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(ltx_config, out_channels, "out_channels", COLOURS, 1, 64),
    DIT_CONFIG_INT(ltx_config, latent_channels, "latent_channels", 128, 1, 4096),
    DIT_CONFIG_INT(ltx_config, patch, "patch_size", 4, 1, 64),
    DIT_CONFIG_INT(ltx_config, spatial, "spatial_compression_ratio", 0, 1, 4096),
    DIT_CONFIG_INT(ltx_config, temporal, "temporal_compression_ratio", 0, 1, 4096),
    DIT_CONFIG_NUMBER(ltx_config, scaling_factor, "scaling_factor", 1, 1e-6, 1e6),
    DIT_CONFIG_NUMBER(ltx_config, eps, "resnet_norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_BOOL(ltx_config, causal, "decoder_causal", false),
    DIT_CONFIG_BOOL(ltx_config, timestep, "timestep_conditioning", false),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {{"patch_size_t", "1"}, {0}};

/* Reads the last `count` booleans of a list from fine to coarse into `out`, from coarse to fine; an absent one leaves `out`. */
static dit_status read_flags(const dit_config *config, const char *key, int count, bool *out)
{
    const cJSON *list = NULL, *item;
    DIT_TRY(dit_json_optional_array(config->doc, config->object, config->pointer, key, &list));
    if (!list) return DIT_OK;
    int at = cJSON_GetArraySize(list);
    bool valid = at >= count;
    cJSON_ArrayForEach(item, list)
    {
        valid = valid && cJSON_IsBool(item);
        if (--at < count && valid) out[at] = cJSON_IsTrue(item);
    }
    return valid
               ? DIT_OK
               : dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE,
                               "%s is not a list of at least %d booleans, which the decoder's blocks need", key, count);
}

/* Likewise of `count` numbers. */
static dit_status read_numbers(const dit_config *config, const char *key, int64_t max, int count, int64_t *out)
{
    int64_t list[MAX_STAGES + 1];
    int length = -1;
    DIT_TRY(dit_config_read_ints(config, key, 1, max, MAX_STAGES + 1, list, &length));
    if (length < 0) return DIT_OK;
    if (length < count)
        return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE,
                             "%s has %d entries; the decoder's blocks need %d", key, length, count);
    for (int i = 0; i < count; i++) out[i] = list[length - 1 - i];
    return DIT_OK;
}

static dit_status read_stages(const dit_config *config, ltx_config *c)
{
    int64_t widths[MAX_STAGES];
    int count = -1;
    DIT_TRY(dit_config_read_ints(config, "decoder_block_out_channels", 1, 16384, MAX_STAGES, widths, &count));
    if (count == 0) return DIT_FAIL(DIT_ERR_SHAPE, "decoder_block_out_channels is empty: a VAE has at least one stage");
    bool usual = count < 0;
    c->stages = usual ? 4 : count;
    for (int i = 0; !usual && i < count; i++) c->widths[i] = widths[count - 1 - i];
    DIT_TRY(read_numbers(config, "decoder_layers_per_block", 64, c->stages + 1, c->layers));
    DIT_TRY(read_numbers(config, "upsample_factor", PLACES, c->stages, c->factors));
    DIT_TRY(read_flags(config, "decoder_spatio_temporal_scaling", c->stages, c->scales));
    DIT_TRY(read_flags(config, "decoder_inject_noise", c->stages + 1, c->noise));
    return read_flags(config, "upsample_residual", c->stages, c->around);
}

/* Returns the channels that stage i gets. */
static int64_t width_before(const ltx_config *c, int i)
{
    return (i ? c->widths[i - 1] / c->factors[i - 1] : c->widths[0]) / c->factors[i];
}

/* Checks that stages fit each other, as the library builds them. */
static dit_status check_stages(const ltx_config *c)
{
    for (int i = 0; i < c->stages; i++) {
        int64_t in = width_before(c, i), out = c->widths[i] / c->factors[i], whole = out * c->factors[i];
        bool fits = in * c->factors[i] == (i ? c->widths[i - 1] / c->factors[i - 1] : c->widths[0]);
        if (PLACES % c->factors[i] || whole != c->widths[i] || !fits ||
            (c->factors[i] > 1 && (in != out || !c->scales[i])) || (c->around[i] && whole % PLACES))
            return DIT_FAIL(DIT_ERR_SHAPE, "block %d of the decoder: %lld channels and upsample_factor %lld do not fit",
                            i, (long long)c->widths[i], (long long)c->factors[i]);
        if (!c->layers[i + 1])
            return DIT_FAIL(DIT_ERR_SHAPE, "decoder_layers_per_block is needed for %d blocks", c->stages);
        if (in != out && (c->timestep || c->noise[i + 1]))
            return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                            "block %d of the decoder leads %lld channels to %lld: with timestep_conditioning or "
                            "decoder_inject_noise the library cannot run it",
                            i, (long long)in, (long long)out);
    }
    return DIT_OK;
}

static dit_status read_config(const dit_config *config, ltx_config *c)
{
    *c = (ltx_config){.widths = {512, 512, 256, 128},
                      .factors = {1, 1, 1, 1, 1, 1, 1, 1},
                      .layers = {4, 3, 3, 3, 4},
                      .scales = {false, true, true, true}};
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(read_stages(config, c));
    DIT_TRY(check_stages(c));
    int64_t spatial = c->patch, temporal = 1;
    for (int i = 0; i < c->stages; i++)
        if (c->scales[i]) spatial *= CELL, temporal *= CELL;
    if ((c->spatial && c->spatial != spatial) || (c->temporal && c->temporal != temporal))
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "the config's compression ratios %lld and %lld are not those of its decoder, %lld and %lld",
                        (long long)c->spatial, (long long)c->temporal, (long long)spatial, (long long)temporal);
    c->spatial = spatial, c->temporal = temporal;
    return DIT_OK;
}

static dit_status ltx_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    ltx_config c;
    DIT_TRY(read_config(config, &c));
    *facts = (dit_vae_facts){.latent_channels = c.latent_channels,
                             .image_channels = c.out_channels,
                             .normed_channels = true,
                             .told_timestep = c.timestep,
                             .spatial = c.spatial,
                             .temporal = c.temporal,
                             .one_first = true,
                             .scaling_factor = c.scaling_factor,
                             .tile_height_px = 512,
                             .tile_width_px = 512,
                             .tile_overlap_height = 0.125,
                             .tile_overlap_width = 0.125};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static const int64_t kernel[3] = {3, 3, 3};

/* Makes the layer around an upsampling: for each place of a cell, channel c takes channel c of as many as the input has at that
 * place; where the result has more, they repeat. */
static dit_status make_around(const vae_loader *l, int64_t in, int64_t out, dit_linear *around)
{
    float *weights;
    dit_runtime *rt = l->rt;
    int64_t rows = out * PLACES, each = in / PLACES;
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    DIT_TRY(dit_arena_host(&rt->step, rows * in, &weights));
    for (int64_t i = 0; i < dit_runtime_values(rt, rows * in); i++) {
        int64_t place = i / in / out, channel = i / in % out;
        weights[i] = i % in == channel % each * PLACES + place ? 1.0f : 0.0f;
    }
    DIT_TRY(rt->kernels->linear_pack(rt->pool, &rt->run, in, 1, (const float *const[]){weights}, NULL, &rows, around));
    dit_arena_release_to(&rt->step, mark);
    return DIT_OK;
}

static dit_status load_upsampling(const vae_loader *l, const ltx_config *c, int i, ltx_stage *stage)
{
    vae_loader spread = *l;
    int64_t in = c->widths[i], out = in / c->factors[i];
    stage->scales = c->scales[i], stage->has_around = c->scales[i] && c->around[i];
    if (!stage->scales) return DIT_OK;
    spread.places = PLACES;
    DIT_TRY(
        vae_load_conv(&spread, in, out * PLACES, kernel, &stage->up, "decoder.up_blocks.%d.upsamplers.0.conv.conv", i));
    return stage->has_around ? make_around(l, in, out, &stage->around) : DIT_OK;
}

/* Embeds the timestep for the blocks of a module, into host memory that the caller's mark gives back. */
static dit_status embed(const vae_loader *l, const ltx_config *c, const char *prefix, float timestep, int64_t width,
                        const float **out)
{
    float *embedded;
    *out = NULL;
    if (!c->timestep) return DIT_OK;
    DIT_TRY(dit_arena_host(&l->rt->step, width, &embedded));
    *out = embedded;
    return vae_timestep_embed(l, prefix, timestep, width, embedded);
}

static dit_status load_stage(const vae_loader *l, const ltx_config *c, int i, float timestep, ltx_stage *stage)
{
    char prefix[64], name[64];
    int64_t in = width_before(c, i), out = c->widths[i] / c->factors[i];
    ltx_module module = {.l = l, .noisy = c->noise[i + 1]};
    snprintf(prefix, sizeof prefix, "decoder.up_blocks.%d", i);
    snprintf(name, sizeof name, "%.40s.conv_in", prefix);
    stage->has_in = in != out;
    if (stage->has_in) DIT_TRY(ltx_load_resnet(&module, name, in, out, &stage->in));
    DIT_TRY(load_upsampling(l, c, i, stage));
    dit_arena_mark mark = dit_arena_get_mark(&l->rt->step);
    DIT_TRY(embed(l, c, prefix, timestep, LTX_MODULATIONS * in, &module.embedded));
    DIT_TRY(ltx_load_chain(&module, prefix, out, c->layers[i + 1], &stage->chain));
    dit_arena_release_to(&l->rt->step, mark);
    return DIT_OK;
}

static dit_status load_middle(const vae_loader *l, const ltx_config *c, float timestep, ltx_chain *middle)
{
    ltx_module module = {.l = l, .noisy = c->noise[0]};
    dit_arena_mark mark = dit_arena_get_mark(&l->rt->step);
    DIT_TRY(embed(l, c, "decoder.mid_block", timestep, LTX_MODULATIONS * c->widths[0], &module.embedded));
    DIT_TRY(ltx_load_chain(&module, "decoder.mid_block", c->widths[0], c->layers[0], middle));
    dit_arena_release_to(&l->rt->step, mark);
    return DIT_OK;
}

static dit_status load_last(const vae_loader *l, ltx *m, int64_t width, float timestep)
{
    const float *embedded;
    dit_arena_mark mark = dit_arena_get_mark(&l->rt->step);
    DIT_TRY(embed(l, &m->c, "decoder", timestep, 2 * width, &embedded));
    if (embedded) DIT_TRY(vae_timestep_modulate(l, "decoder.scale_shift_table", 2, width, embedded, &m->modulation));
    dit_arena_release_to(&l->rt->step, mark);
    return vae_load_conv(l, width, m->c.out_channels * m->c.patch * m->c.patch, kernel, &m->conv_out,
                         "decoder.conv_out.conv");
}

/* Multiplies the timestep by what the decoder's weights say, in the library's float32. */
static dit_status scale_timestep(const dit_vae *vae, float *timestep)
{
    dit_tensor_view view;
    float multiplier = 1000;
    const dit_safetensors *file = vae->params.weights->file;
    bool reads = file && !vae->params.rt->ledger.counting_only;
    if (reads) DIT_TRY(dit_safetensors_require(file, "decoder.timestep_scale_multiplier", 0, NULL, &view));
    if (reads) DIT_TRY(dit_tensor_read(&view, 0, 1, &multiplier));
    *timestep = (float)vae->params.timestep * multiplier;
    return DIT_OK;
}

static dit_status load_statistics(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    const int64_t channels = vae->facts.latent_channels;
    const dit_weights *weights = vae->params.weights;
    DIT_TRY(dit_arena_host(&rt->run, channels, &vae->channel_mean));
    DIT_TRY(dit_arena_host(&rt->run, channels, &vae->channel_deviation));
    DIT_TRY(dit_weights_read(rt, weights, "latents_mean", 1, &channels, DIT_INIT_BIAS, vae->channel_mean));
    return dit_weights_read(rt, weights, "latents_std", 1, &channels, DIT_INIT_NORM, vae->channel_deviation);
}

static dit_status ltx_load(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    void *state;
    float timestep = 0;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(ltx), &state));
    ltx *m = vae->state = state;
    DIT_TRY(read_config(&vae->params.config, &m->c));
    const ltx_config *c = &m->c;
    const vae_loader l = {.rt = rt, .weights = vae->params.weights, .depth = 3, .centred = !c->causal};
    if (c->timestep) DIT_TRY(scale_timestep(vae, &timestep));
    DIT_TRY(load_statistics(vae));
    DIT_TRY(vae_load_conv(&l, c->latent_channels, c->widths[0], kernel, &m->conv_in, "decoder.conv_in.conv"));
    DIT_TRY(load_middle(&l, c, timestep, &m->middle));
    m->noisy = c->noise[0];
    for (int i = 0; i < c->stages; i++) {
        DIT_TRY(load_stage(&l, c, i, timestep, &m->stages[i]));
        m->noisy = m->noisy || c->noise[i + 1];
    }
    DIT_TRY(load_last(&l, m, c->widths[c->stages - 1] / c->factors[c->stages - 1], timestep));
    if (!vae->params.encoder) return DIT_OK;
    return ltx_load_encoder(&l, &vae->params.config, c->spatial, c->temporal, &m->encoder);
}

static dit_status ltx_allocate(dit_vae *vae)
{
    ltx *m = vae->state;
    return m->noisy ? dit_arena_host(&vae->params.rt->step, m->noise.floats, &m->noise.values) : DIT_OK;
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static vae_tensor upsample(const ltx_walk *w, ltx_stage *stage, vae_tensor x)
{
    int a = vae_other_slot(x.slot, -1);
    vae_tensor y = vae_conv_forward(&w->walk, &stage->up, VAE_CONV_PLAIN, x, a);
    if (stage->has_around) vae_linear_add(&w->walk, &stage->around, x, y);
    return vae_spread_channels(&w->walk, y, CELL, CELL, CELL - 1, vae_other_slot(a, -1));
}

static dit_status walk_decoder(ltx_walk *w, vae_tensor x, vae_planes image)
{
    dit_vae *vae = w->vae;
    ltx *m = vae->state;
    x = vae_conv_forward(&w->walk, &m->conv_in, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    DIT_TRY(vae_tap(vae, x, "decoder.conv_in"));
    x = ltx_chain_forward(w, &m->middle, x);
    DIT_TRY(vae_tap(vae, x, "decoder.mid_block"));
    for (int i = 0; i < m->c.stages; i++) {
        ltx_stage *stage = &m->stages[i];
        if (stage->has_in) x = ltx_resnet_forward(w, &stage->in, x);
        if (stage->scales) x = upsample(w, stage, x);
        x = ltx_chain_forward(w, &stage->chain, x);
        DIT_TRY(vae_tap(vae, x, "decoder.up_block_%d", i));
    }
    x = ltx_norm_forward(w, m->modulation, x, x.slot);
    x = vae_conv_forward(&w->walk, &m->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    DIT_TRY(w->status);
    return vae_patches_to_planes(w->walk.memory, x, m->c.patch, vae_band_of(vae, image), 0);
}

static dit_status ltx_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    ltx *m = vae->state;
    bool shared = vae->bands.comm;
    int64_t rows = shared ? vae->bands.rows : size.height;
    ltx_walk w = {
        .walk = {.memory = &vae->memory, .bands = &vae->bands, .relay = &vae->relay}, .vae = vae, .noise = &m->noise};
    w.eps = (float)m->c.eps;
    vae_tensor x = {0, size.frames, rows, size.width, m->c.latent_channels, shared};
    if (shared && latents.data) latents.data += vae->bands.first * latents.row;
    DIT_TRY(vae_from_planes(w.walk.memory, latents, 0, x));
    return walk_decoder(&w, x, image);
}

static dit_status ltx_encode(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar)
{
    ltx *m = vae->state;
    const dit_vae_facts *facts = &vae->facts;
    ltx_walk w = {.walk = {.memory = &vae->memory}, .vae = vae, .eps = (float)m->c.eps};
    const vae_extents clip = {dit_vae_output_frames(facts, size.frames), size.height * facts->spatial,
                              size.width * facts->spatial};
    return ltx_walk_encoder(&w, &m->encoder, image, clip, mean, logvar);
}

const dit_vae_class dit_vae_autoencoder_kl_ltx_video = {
    .class_name = "AutoencoderKLLTXVideo",
    .decoder = DIT_ROWS_LTX,
    .read_facts = ltx_read_facts,
    .load = ltx_load,
    .decode = ltx_decode,
    .encode = ltx_encode,
    .allocate = ltx_allocate,
};
