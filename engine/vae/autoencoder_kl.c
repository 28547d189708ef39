/* AutoencoderKL: the image VAE of Stable Diffusion, PixArt, SD3, FLUX, HunyuanDiT and Latte, decoder and encoder; and
 * AutoencoderKLFlux2, whose latents are normed by the statistics of patches that its file has.
 * Source: Rombach et al., arXiv:2112.10752; parameter names and arithmetic of diffusers 0.33.1 AutoencoderKL and 0.42.1
 * AutoencoderKLFlux2. Frames of a video are decoded one by one, as images.
 */
#include "engine/vae/vae_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_STAGES = 8, MID_RESNETS = 2, MAX_HEAD = 2048 /* one head as wide as the channels */ };

typedef struct {
    int64_t in_channels, out_channels, latent_channels, layers, groups, sample_size;
    double scaling_factor, shift_factor, norm_eps;
    bool normed_patches; /* is FLUX.2's */
    bool quant, post_quant, mid_attention;
    int64_t widths[MAX_STAGES];
    int stages;
} kl_config;

/* One resolution: residual blocks, then a change of resolution, except in the last stage. */
typedef struct {
    vae_resnet *resnets;
    int64_t count;
    bool has_resample;
    vae_conv resample;
} kl_stage;

/* Decoder or encoder. */
typedef struct {
    vae_conv conv_in, conv_out;
    vae_resnet mid[MID_RESNETS];
    bool has_attention;
    vae_attention attention;
    kl_stage stages[MAX_STAGES];
    int stage_count;
    vae_norm norm_out;
} kl_coder;

typedef struct {
    kl_config c;
    kl_coder decoder, encoder;
    dit_linear quant, post_quant;
} kl;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(kl_config, in_channels, "in_channels", 3, 1, 64),
    DIT_CONFIG_INT(kl_config, out_channels, "out_channels", 3, 1, 64),
    DIT_CONFIG_INT(kl_config, latent_channels, "latent_channels", 4, 1, 1024),
    DIT_CONFIG_INT(kl_config, layers, "layers_per_block", 1, 1, 64),
    DIT_CONFIG_INT(kl_config, groups, "norm_num_groups", 32, 1, 4096),
    DIT_CONFIG_INT(kl_config, sample_size, "sample_size", 32, 1, 65536),
    DIT_CONFIG_NUMBER(kl_config, scaling_factor, "scaling_factor", 0.18215, 1e-6, 1e6),
    DIT_CONFIG_NUMBER(kl_config, shift_factor, "shift_factor", 0, -1e6, 1e6),
    DIT_CONFIG_BOOL(kl_config, quant, "use_quant_conv", true),
    DIT_CONFIG_BOOL(kl_config, post_quant, "use_post_quant_conv", true),
    DIT_CONFIG_BOOL(kl_config, mid_attention, "mid_block_add_attention", true),
    DIT_CONFIG_END,
};

extern const dit_vae_class dit_vae_autoencoder_kl_flux2;

static const dit_config_only only[] = {
    {"act_fn", "silu"},
    {"latents_mean", "null"},
    {"latents_std", "null"},
    {0},
};

/* What AutoencoderKLFlux2 has besides, or by another default. */
static const dit_config_field flux2_fields[] = {
    DIT_CONFIG_INT(kl_config, latent_channels, "latent_channels", 32, 1, 1024),
    DIT_CONFIG_INT(kl_config, layers, "layers_per_block", 2, 1, 64),
    DIT_CONFIG_INT(kl_config, sample_size, "sample_size", 1024, 1, 65536),
    DIT_CONFIG_NUMBER(kl_config, norm_eps, "batch_norm_eps", 1e-4, 0, 1),
    DIT_CONFIG_END,
};

static const dit_config_only flux2_only[] = {
    {"patch_size", "[2,2]"},
    {"decoder_block_out_channels", "null"},
    {0},
};

static dit_status read_flux2(const dit_config *config, kl_config *c)
{
    DIT_TRY(dit_config_require_only(config, flux2_only));
    DIT_TRY(dit_config_read(config, flux2_fields, c));
    const int64_t widths[] = {128, 256, 512, 512};
    memcpy(c->widths, widths, sizeof widths);
    c->stages = (int)(sizeof widths / sizeof *widths);
    c->normed_patches = true;
    return DIT_OK;
}

static dit_status read_config(const dit_config *config, kl_config *c)
{
    *c = (kl_config){.widths = {64}, .stages = 1};
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    const char *name;
    DIT_TRY(dit_json_require_string(config->doc, config->object, config->pointer, "_class_name", &name));
    if (strcmp(name, dit_vae_autoencoder_kl_flux2.class_name) == 0) DIT_TRY(read_flux2(config, c));
    DIT_TRY(vae_read_stages(config, "DownEncoderBlock2D", "UpDecoderBlock2D", MAX_STAGES, c->widths, &c->stages));
    if (!c->mid_attention || c->widths[c->stages - 1] <= MAX_HEAD) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention over %lld channels: up to %d are implemented",
                    (long long)c->widths[c->stages - 1], MAX_HEAD);
}

static dit_status kl_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    kl_config c;
    DIT_TRY(read_config(config, &c));
    *facts = (dit_vae_facts){.latent_channels = c.latent_channels,
                             .image_channels = c.out_channels,
                             .spatial = INT64_C(1) << (c.stages - 1),
                             .temporal = 1,
                             .normed_patches = c.normed_patches,
                             .scaling_factor = c.scaling_factor,
                             .shift_factor = c.shift_factor,
                             .tile_height_px = c.sample_size,
                             .tile_width_px = c.sample_size,
                             .tile_overlap_height = 0.25,
                             .tile_overlap_width = 0.25};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_stage(const vae_loader *l, const char *prefix, const char *resample, int64_t in, int64_t out,
                             kl_stage *stage)
{
    static const int64_t kernel[3] = {1, 3, 3};
    void *resnets;
    DIT_TRY(dit_arena_alloc(&l->rt->run, stage->count * (int64_t)sizeof *stage->resnets, &resnets));
    stage->resnets = resnets;
    for (int64_t i = 0; i < stage->count; i++)
        DIT_TRY(vae_load_resnet(l, i ? out : in, out, &stage->resnets[i], "%s.resnets.%lld", prefix, (long long)i));
    if (!stage->has_resample) return DIT_OK;
    return vae_load_conv(l, out, out, kernel, &stage->resample, "%s.%s.0.conv", prefix, resample);
}

static dit_status load_middle(const vae_loader *l, const char *side, int64_t width, kl_coder *coder)
{
    char name[64];
    for (int i = 0; i < MID_RESNETS; i++)
        DIT_TRY(vae_load_resnet(l, width, width, &coder->mid[i], "%s.mid_block.resnets.%d", side, i));
    if (!coder->has_attention) return DIT_OK;
    snprintf(name, sizeof name, "%s.mid_block.attentions.0", side);
    return vae_load_attention(l, width, &coder->attention, name);
}

static dit_status load_decoder(const vae_loader *l, const kl_config *c, kl_coder *coder)
{
    char prefix[64];
    int64_t width = c->widths[c->stages - 1];
    *coder = (kl_coder){.stage_count = c->stages, .has_attention = c->mid_attention};
    DIT_TRY(vae_load_causal_conv(l, c->latent_channels, width, &coder->conv_in, "decoder.conv_in"));
    DIT_TRY(load_middle(l, "decoder", width, coder));
    for (int i = 0; i < c->stages; i++) {
        int64_t out = c->widths[c->stages - 1 - i];
        coder->stages[i] = (kl_stage){.count = c->layers + 1, .has_resample = i + 1 < c->stages};
        snprintf(prefix, sizeof prefix, "decoder.up_blocks.%d", i);
        DIT_TRY(load_stage(l, prefix, "upsamplers", width, out, &coder->stages[i]));
        width = out;
    }
    DIT_TRY(vae_load_norm(l, width, &coder->norm_out, "decoder.conv_norm_out"));
    return vae_load_causal_conv(l, width, c->out_channels, &coder->conv_out, "decoder.conv_out");
}

static dit_status load_encoder(const vae_loader *l, const kl_config *c, kl_coder *coder)
{
    char prefix[64];
    int64_t width = c->widths[0];
    *coder = (kl_coder){.stage_count = c->stages, .has_attention = c->mid_attention};
    DIT_TRY(vae_load_causal_conv(l, c->in_channels, width, &coder->conv_in, "encoder.conv_in"));
    for (int i = 0; i < c->stages; i++) {
        coder->stages[i] = (kl_stage){.count = c->layers, .has_resample = i + 1 < c->stages};
        snprintf(prefix, sizeof prefix, "encoder.down_blocks.%d", i);
        DIT_TRY(load_stage(l, prefix, "downsamplers", width, c->widths[i], &coder->stages[i]));
        width = c->widths[i];
    }
    DIT_TRY(load_middle(l, "encoder", width, coder));
    DIT_TRY(vae_load_norm(l, width, &coder->norm_out, "encoder.conv_norm_out"));
    return vae_load_causal_conv(l, width, 2 * c->latent_channels, &coder->conv_out, "encoder.conv_out");
}

/* Reads mean and variance of each value of a patch of 2 x 2 cells, channels slowest. */
static dit_status load_statistics(dit_vae *vae, const kl_config *c)
{
    dit_runtime *rt = vae->params.rt;
    const int64_t values = 4 * c->latent_channels;
    if (!c->normed_patches) return DIT_OK;
    DIT_TRY(dit_arena_host(&rt->run, values, &vae->patch_mean));
    DIT_TRY(dit_arena_host(&rt->run, values, &vae->patch_deviation));
    DIT_TRY(dit_weights_read(rt, vae->params.weights, "bn.running_mean", 1, &values, DIT_INIT_BIAS, vae->patch_mean));
    DIT_TRY(
        dit_weights_read(rt, vae->params.weights, "bn.running_var", 1, &values, DIT_INIT_NORM, vae->patch_deviation));
    for (int64_t i = 0; i < dit_runtime_values(rt, values); i++)
        vae->patch_deviation[i] = sqrtf(vae->patch_deviation[i] + (float)c->norm_eps);
    return DIT_OK;
}

static dit_status kl_load(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(kl), &state));
    kl *m = vae->state = state;
    DIT_TRY(read_config(&vae->params.config, &m->c));
    const kl_config *c = &m->c;
    DIT_TRY(load_statistics(vae, c));
    vae_loader l = {.rt = rt, .weights = vae->params.weights, .groups = c->groups, .depth = 1};
    if (c->post_quant)
        DIT_TRY(dit_weights_linear_named(rt, l.weights, c->latent_channels, c->latent_channels, &m->post_quant,
                                         "post_quant_conv"));
    DIT_TRY(load_decoder(&l, c, &m->decoder));
    if (!vae->params.encoder) return DIT_OK;
    if (c->quant)
        DIT_TRY(dit_weights_linear_named(rt, l.weights, 2 * c->latent_channels, 2 * c->latent_channels, &m->quant,
                                         "quant_conv"));
    return load_encoder(&l, c, &m->encoder);
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static vae_tensor walk_stage(const vae_walk *walk, kl_stage *stage, vae_conv_kind resample, vae_tensor x)
{
    for (int64_t i = 0; i < stage->count; i++) x = vae_resnet_forward(walk, &stage->resnets[i], x);
    if (!stage->has_resample) return x;
    return vae_conv_forward(walk, &stage->resample, resample, x, vae_other_slot(x.slot, -1));
}

static vae_tensor walk_head(const vae_walk *walk, kl_coder *coder, vae_tensor x)
{
    x = vae_norm_forward(walk, &coder->norm_out, DIT_ACT_SILU, x, x.slot);
    return vae_conv_forward(walk, &coder->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
}

static dit_status walk_decoder_middle(dit_vae *vae, const vae_walk *walk, kl_coder *coder, vae_tensor *x)
{
    DIT_TRY(vae_tap(vae, *x, "decoder.conv_in"));
    *x = vae_resnet_forward(walk, &coder->mid[0], *x);
    if (coder->has_attention) {
        *x = vae_attention_forward(walk, &coder->attention, *x);
        DIT_TRY(vae_tap(vae, *x, "decoder.mid_attn"));
    }
    *x = vae_resnet_forward(walk, &coder->mid[1], *x);
    return vae_tap(vae, *x, "decoder.mid_block");
}

static dit_status decode_frame(dit_vae *vae, vae_source latents, int64_t frame, vae_extents size, vae_planes image)
{
    kl *m = vae->state;
    vae_walk walk = {.memory = &vae->memory, .bands = &vae->bands};
    vae_tensor x = {0, 1, size.height, size.width, m->c.latent_channels, false};
    DIT_TRY(vae_from_planes(walk.memory, latents, frame, x));
    if (m->c.post_quant) {
        x = vae_linear_forward(&walk, &m->post_quant, x, 1);
        DIT_TRY(vae_tap(vae, x, "post_quant_conv"));
    }
    x = vae_conv_forward(&walk, &m->decoder.conv_in, VAE_CONV_PLAIN, x, 2);
    DIT_TRY(walk_decoder_middle(vae, &walk, &m->decoder, &x));
    x = vae_take_band(&walk, x); /* layers before this are small, and their attention sees all rows */
    for (int i = 0; i < m->decoder.stage_count; i++) {
        x = walk_stage(&walk, &m->decoder.stages[i], VAE_CONV_UP, x);
        DIT_TRY(vae_tap(vae, x, "decoder.up_block_%d", i));
    }
    x = walk_head(&walk, &m->decoder, x);
    return vae_to_planes(walk.memory, x, 0, x.channels, vae_band_of(vae, image), frame);
}

static dit_status kl_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    for (int64_t frame = 0; frame < size.frames; frame++) DIT_TRY(decode_frame(vae, latents, frame, size, image));
    return DIT_OK;
}

static dit_status encode_frame(dit_vae *vae, vae_source image, int64_t frame, vae_extents size, vae_planes mean,
                               vae_planes logvar)
{
    kl *m = vae->state;
    kl_coder *coder = &m->encoder;
    vae_walk walk = {.memory = &vae->memory};
    int64_t spatial = vae->facts.spatial;
    vae_tensor x = {0, 1, size.height * spatial, size.width * spatial, m->c.in_channels, false};
    DIT_TRY(vae_from_planes(walk.memory, image, frame, x));
    x = vae_conv_forward(&walk, &coder->conv_in, VAE_CONV_PLAIN, x, 1);
    for (int i = 0; i < coder->stage_count; i++) x = walk_stage(&walk, &coder->stages[i], VAE_CONV_DOWN, x);
    x = vae_resnet_forward(&walk, &coder->mid[0], x);
    if (coder->has_attention) x = vae_attention_forward(&walk, &coder->attention, x);
    x = vae_resnet_forward(&walk, &coder->mid[1], x);
    x = walk_head(&walk, coder, x);
    if (m->c.quant) x = vae_linear_forward(&walk, &m->quant, x, vae_other_slot(x.slot, -1));
    DIT_TRY(vae_to_planes(walk.memory, x, 0, m->c.latent_channels, mean, frame));
    return vae_to_planes(walk.memory, x, m->c.latent_channels, m->c.latent_channels, logvar, frame);
}

static dit_status kl_encode(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar)
{
    for (int64_t frame = 0; frame < size.frames; frame++) DIT_TRY(encode_frame(vae, image, frame, size, mean, logvar));
    return DIT_OK;
}

const dit_vae_class dit_vae_autoencoder_kl = {
    .class_name = "AutoencoderKL",
    .decoder = DIT_ROWS_KL,
    .read_facts = kl_read_facts,
    .load = kl_load,
    .decode = kl_decode,
    .encode = kl_encode,
};

const dit_vae_class dit_vae_autoencoder_kl_flux2 = {
    .class_name = "AutoencoderKLFlux2",
    .decoder = DIT_ROWS_KL,
    .read_facts = kl_read_facts,
    .load = kl_load,
    .decode = kl_decode,
    .encode = kl_encode,
};
