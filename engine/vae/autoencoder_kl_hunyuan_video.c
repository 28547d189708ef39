/* AutoencoderKLHunyuanVideo: the causal 3-D video VAE of HunyuanVideo, decoder and encoder.
 * Source: Kong et al., arXiv:2412.03603; parameter names and arithmetic of diffusers 0.33.1 AutoencoderKLHunyuanVideo.
 *
 * More than four latent frames are coded in tiles of five, which begin every third frame; where tiles overlap, frames are
 * blended (diffusers does so whether or not tiling is asked for). A tile knows nothing of the one before:
 * convolutions look back two frames, at the first frame of the tile, repeated. Edges of the image repeat, too. Attention
 * in the middle sees all positions of its own frame and of the frames before; group norms see the tile. A shared decode
 * is cut after the middle block.
 *
 * With tiles in space as well, time is cut inside of each of them; diffusers cuts space inside of each tile in time. Both
 * blends are sums with weights of one axis each, so that the order changes roundings only.
 */
#include "base/rows.h"
#include "engine/vae/vae_impl.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_STAGES = 8,
    MID_RESNETS = 2,
    TIME_STAGES = 2, /* before the last stage, so many change the frames */
    TEMPORAL = 1 << TIME_STAGES,
    BLEND = DIT_HUNYUAN_TILE - DIT_HUNYUAN_STEP, /* latent frames */
    MAX_HEAD = 2048                              /* one head as wide as the channels */
};

typedef struct {
    int64_t in_channels, out_channels, latent_channels, layers, groups, spatial;
    double scaling_factor;
    bool mid_attention;
    int64_t widths[MAX_STAGES];
    int stages, ups; /* the first `ups` stages double space */
} hunyuan_config;

/* Residual blocks, then a change of resolution in space, time or both, or none. */
typedef struct {
    vae_resnet *resnets;
    int64_t count;
    bool in_space, in_time;
    vae_conv resample;
} hunyuan_stage;

/* Decoder or encoder. */
typedef struct {
    vae_conv conv_in, conv_out;
    vae_resnet mid[MID_RESNETS];
    vae_attention attention;
    hunyuan_stage stages[MAX_STAGES];
    vae_norm norm_out;
} hunyuan_coder;

typedef struct {
    hunyuan_config c;
    hunyuan_coder decoder, encoder;
    dit_linear quant, post_quant;
    int32_t *frame_of; /* of each position of the largest tile */
} hunyuan;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(hunyuan_config, in_channels, "in_channels", 3, 1, 64),
    DIT_CONFIG_INT(hunyuan_config, out_channels, "out_channels", 3, 1, 64),
    DIT_CONFIG_INT(hunyuan_config, latent_channels, "latent_channels", 16, 1, 1024),
    DIT_CONFIG_INT(hunyuan_config, layers, "layers_per_block", 2, 1, 64),
    DIT_CONFIG_INT(hunyuan_config, groups, "norm_num_groups", 32, 1, 4096),
    DIT_CONFIG_INT(hunyuan_config, spatial, "spatial_compression_ratio", 8, 1, 256),
    DIT_CONFIG_NUMBER(hunyuan_config, scaling_factor, "scaling_factor", 0.476986, 1e-6, 1e6),
    DIT_CONFIG_BOOL(hunyuan_config, mid_attention, "mid_block_add_attention", true),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"act_fn", "silu"},
    {"temporal_compression_ratio", "4"},
    {0},
};

static dit_status read_config(const dit_config *config, hunyuan_config *c)
{
    *c = (hunyuan_config){.widths = {128, 256, 512, 512}, .stages = 4};
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(
        vae_read_stages(config, "HunyuanVideoDownBlock3D", "HunyuanVideoUpBlock3D", MAX_STAGES, c->widths, &c->stages));
    while (c->spatial >> (c->ups + 1)) c->ups++;
    if (c->spatial != INT64_C(1) << c->ups || c->ups > c->stages || c->stages <= TIME_STAGES)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "spatial_compression_ratio %lld with %d stages: only powers of two up to %lld, and at least "
                        "%d stages, are implemented",
                        (long long)c->spatial, c->stages, 1LL << c->stages, TIME_STAGES + 1);
    if (!c->mid_attention || c->widths[c->stages - 1] <= MAX_HEAD) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention over %lld channels: up to %d are implemented",
                    (long long)c->widths[c->stages - 1], MAX_HEAD);
}

static dit_status hunyuan_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    hunyuan_config c;
    DIT_TRY(read_config(config, &c));
    *facts = (dit_vae_facts){.latent_channels = c.latent_channels,
                             .image_channels = c.out_channels,
                             .spatial = c.spatial,
                             .temporal = TEMPORAL,
                             .one_first = true,
                             .scaling_factor = c.scaling_factor,
                             .tile_height_px = 256,
                             .tile_width_px = 256,
                             .tile_overlap_height = 0.25,
                             .tile_overlap_width = 0.25};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_stage(const vae_loader *l, const char *prefix, const char *resample, int64_t in, int64_t out,
                             hunyuan_stage *stage)
{
    static const int64_t kernel[3] = {3, 3, 3};
    void *resnets;
    DIT_TRY(dit_arena_alloc(&l->rt->run, stage->count * (int64_t)sizeof *stage->resnets, &resnets));
    stage->resnets = resnets;
    for (int64_t i = 0; i < stage->count; i++)
        DIT_TRY(vae_load_resnet(l, i ? out : in, out, &stage->resnets[i], "%s.resnets.%lld", prefix, (long long)i));
    if (!stage->in_space && !stage->in_time) return DIT_OK;
    return vae_load_conv(l, out, out, kernel, &stage->resample, "%s.%s.0.conv.conv", prefix, resample);
}

/* Where resolution changes after stage i; the encoder's stages halve what the decoder's of the same number double. */
static hunyuan_stage stage_of(const hunyuan_config *c, int i, int64_t count)
{
    bool in_time = i + 1 < c->stages && i + 1 + TIME_STAGES >= c->stages;
    return (hunyuan_stage){.count = count, .in_space = i < c->ups, .in_time = in_time};
}

static dit_status load_middle(const vae_loader *l, const hunyuan_config *c, const char *side, int64_t width,
                              hunyuan_coder *coder)
{
    char name[64];
    for (int i = 0; i < MID_RESNETS; i++)
        DIT_TRY(vae_load_resnet(l, width, width, &coder->mid[i], "%s.mid_block.resnets.%d", side, i));
    snprintf(name, sizeof name, "%s.mid_block.attentions.0", side);
    return c->mid_attention ? vae_load_attention(l, width, &coder->attention, name) : DIT_OK;
}

static dit_status load_decoder(const vae_loader *l, const hunyuan_config *c, hunyuan_coder *coder)
{
    char prefix[64];
    int64_t width = c->widths[c->stages - 1];
    DIT_TRY(vae_load_causal_conv(l, c->latent_channels, width, &coder->conv_in, "decoder.conv_in"));
    DIT_TRY(load_middle(l, c, "decoder", width, coder));
    for (int i = 0; i < c->stages; i++) {
        int64_t out = c->widths[c->stages - 1 - i];
        coder->stages[i] = stage_of(c, i, c->layers + 1);
        snprintf(prefix, sizeof prefix, "decoder.up_blocks.%d", i);
        DIT_TRY(load_stage(l, prefix, "upsamplers", width, out, &coder->stages[i]));
        width = out;
    }
    DIT_TRY(vae_load_norm(l, width, &coder->norm_out, "decoder.conv_norm_out"));
    return vae_load_causal_conv(l, width, c->out_channels, &coder->conv_out, "decoder.conv_out");
}

static dit_status load_encoder(const vae_loader *l, const hunyuan_config *c, hunyuan_coder *coder)
{
    char prefix[64];
    int64_t width = c->widths[0];
    DIT_TRY(vae_load_causal_conv(l, c->in_channels, width, &coder->conv_in, "encoder.conv_in"));
    for (int i = 0; i < c->stages; i++) {
        hunyuan_stage *stage = &coder->stages[i];
        *stage = stage_of(c, i, c->layers);
        snprintf(prefix, sizeof prefix, "encoder.down_blocks.%d", i);
        DIT_TRY(load_stage(l, prefix, "downsamplers", width, c->widths[i], stage));
        if (stage->in_time) stage->resample.step = 2;
        width = c->widths[i];
    }
    DIT_TRY(load_middle(l, c, "encoder", width, coder));
    DIT_TRY(vae_load_norm(l, width, &coder->norm_out, "encoder.conv_norm_out"));
    return vae_load_causal_conv(l, width, 2 * c->latent_channels, &coder->conv_out, "encoder.conv_out");
}

static dit_status hunyuan_load(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(hunyuan), &state));
    hunyuan *m = vae->state = state;
    DIT_TRY(read_config(&vae->params.config, &m->c));
    const hunyuan_config *c = &m->c;
    vae_loader l = {.rt = rt, .weights = vae->params.weights, .groups = c->groups, .depth = 3, .replicate = true};
    l.inside = l.shortcut_at = ".conv";
    DIT_TRY(dit_weights_linear_named(rt, l.weights, c->latent_channels, c->latent_channels, &m->post_quant,
                                     "post_quant_conv"));
    DIT_TRY(load_decoder(&l, c, &m->decoder));
    if (!vae->params.encoder) return DIT_OK;
    DIT_TRY(dit_weights_linear_named(rt, l.weights, 2 * c->latent_channels, 2 * c->latent_channels, &m->quant,
                                     "quant_conv"));
    return load_encoder(&l, c, &m->encoder);
}

/* ---- attention over time ----------------------------------------------------------------------------------------- */

static dit_status hunyuan_allocate(dit_vae *vae)
{
    hunyuan *m = vae->state;
    void *memory;
    const dit_vae_params *p = &vae->params;
    int64_t frames = dit_rows_hunyuan_tile(p->frames, 0);
    int64_t area = p->encoder ? p->height * p->width : vae->tile.height * vae->tile.width;
    if (!m->c.mid_attention) return DIT_OK;
    DIT_TRY(dit_arena_array(&p->rt->step, frames * area, DIT_DTYPE_INT32, &memory));
    m->frame_of = memory;
    return DIT_OK;
}

/* Says which frame each position belongs to. Counting reads this, too. */
static dit_status place_frames(dit_vae *vae, vae_extents size)
{
    hunyuan *m = vae->state;
    int64_t frames = dit_rows_hunyuan_tile(size.frames, 0), area = size.height * size.width;
    if (!m->frame_of) return DIT_OK; /* there is no attention, or memory is being planned */
    for (int64_t i = 0; i < frames * area; i++) m->frame_of[i] = (int32_t)(i / area);
    return dit_runtime_upload(vae->params.rt, m->frame_of, frames * area);
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

/* Doubles time (all frames but the first), then space within the convolution. */
static vae_tensor upsample(const vae_walk *walk, hunyuan_stage *stage, vae_tensor x)
{
    if (stage->in_time) x = vae_double_frames(walk, x, 1, vae_other_slot(x.slot, -1));
    return vae_conv_forward(walk, &stage->resample, stage->in_space ? VAE_CONV_UP : VAE_CONV_PLAIN, x,
                            vae_other_slot(x.slot, -1));
}

static vae_tensor walk_middle(const vae_walk *walk, const hunyuan_config *c, hunyuan_coder *coder, vae_tensor x)
{
    x = vae_resnet_forward(walk, &coder->mid[0], x);
    if (c->mid_attention) x = vae_attention_forward(walk, &coder->attention, x);
    return vae_resnet_forward(walk, &coder->mid[1], x);
}

static vae_tensor walk_head(const vae_walk *walk, hunyuan_coder *coder, vae_tensor x)
{
    x = vae_norm_forward(walk, &coder->norm_out, DIT_ACT_SILU, x, x.slot);
    return vae_conv_forward(walk, &coder->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
}

static dit_status walk_decoder(dit_vae *vae, const vae_walk *walk, vae_tensor *out)
{
    hunyuan *m = vae->state;
    hunyuan_coder *coder = &m->decoder;
    vae_tensor x = vae_linear_forward(walk, &m->post_quant, *out, 1);
    x = vae_conv_forward(walk, &coder->conv_in, VAE_CONV_PLAIN, x, 2);
    DIT_TRY(vae_tap(vae, x, "decoder.conv_in"));
    x = walk_middle(walk, &m->c, coder, x);
    DIT_TRY(vae_tap(vae, x, "decoder.mid_block"));
    x = vae_take_band(walk, x);
    for (int i = 0; i < m->c.stages; i++) {
        hunyuan_stage *stage = &coder->stages[i];
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(walk, &stage->resnets[j], x);
        if (stage->in_space || stage->in_time) x = upsample(walk, stage, x);
        DIT_TRY(vae_tap(vae, x, "decoder.up_block_%d", i));
    }
    *out = walk_head(walk, coder, x);
    return DIT_OK;
}

/* Decodes the tile in time that begins at latent frame `first`. But for the first tile, the frame of its first latent
 * frame is left out, and the next ones are blended with the tile before. */
static dit_status decode_tile(dit_vae *vae, vae_source latents, int64_t first, int64_t frames, vae_extents size,
                              vae_planes image)
{
    hunyuan *m = vae->state;
    vae_walk walk = {.memory = &vae->memory, .bands = &vae->bands, .frame_of = m->frame_of};
    vae_tensor x = {0, frames, size.height, size.width, m->c.latent_channels, false};
    vae_seam seam = {.skip = first > 0, .extent = first ? TEMPORAL * BLEND : 0};
    DIT_TRY(vae_from_planes(walk.memory, latents, first, x));
    DIT_TRY(walk_decoder(vae, &walk, &x));
    return vae_blend_planes(walk.memory, x, 0, x.channels, seam, vae_band_of(vae, image),
                            first ? first * TEMPORAL + 1 : 0);
}

static dit_status hunyuan_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    DIT_TRY(place_frames(vae, size));
    for (int64_t first = 0; first < size.frames; first += DIT_HUNYUAN_STEP) {
        int64_t frames = dit_rows_hunyuan_tile(size.frames, first);
        if (frames) DIT_TRY(decode_tile(vae, latents, first, frames, size, image));
    }
    return DIT_OK;
}

static vae_tensor walk_encoder(const vae_walk *walk, hunyuan *m, vae_tensor x)
{
    hunyuan_coder *coder = &m->encoder;
    x = vae_conv_forward(walk, &coder->conv_in, VAE_CONV_PLAIN, x, 1);
    for (int i = 0; i < m->c.stages; i++) {
        hunyuan_stage *stage = &coder->stages[i];
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(walk, &stage->resnets[j], x);
        if (stage->in_space || stage->in_time)
            x = vae_conv_forward(walk, &stage->resample, stage->in_space ? VAE_CONV_HALVE : VAE_CONV_PLAIN, x,
                                 vae_other_slot(x.slot, -1));
    }
    x = walk_head(walk, coder, walk_middle(walk, &m->c, coder, x));
    return vae_linear_forward(walk, &m->quant, x, vae_other_slot(x.slot, -1));
}

/* As decode_tile: `first` and `frames` are of latents. */
static dit_status encode_tile(dit_vae *vae, vae_source image, int64_t first, int64_t frames, vae_extents size,
                              vae_planes mean, vae_planes logvar)
{
    hunyuan *m = vae->state;
    vae_walk walk = {.memory = &vae->memory, .frame_of = m->frame_of};
    int64_t spatial = vae->facts.spatial, z = m->c.latent_channels, at = first + (first > 0);
    vae_tensor x = {0,    (frames - 1) * TEMPORAL + 1, size.height * spatial, size.width * spatial, m->c.in_channels,
                    false};
    vae_seam seam = {.skip = first > 0, .extent = first ? BLEND : 0};
    DIT_TRY(vae_from_planes(walk.memory, image, first * TEMPORAL, x));
    x = walk_encoder(&walk, m, x);
    DIT_TRY(vae_blend_planes(walk.memory, x, 0, z, seam, mean, at));
    return vae_blend_planes(walk.memory, x, z, z, seam, logvar, at);
}

static dit_status hunyuan_encode(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar)
{
    DIT_TRY(place_frames(vae, size));
    for (int64_t first = 0; first < size.frames; first += DIT_HUNYUAN_STEP) {
        int64_t frames = dit_rows_hunyuan_tile(size.frames, first);
        if (frames) DIT_TRY(encode_tile(vae, image, first, frames, size, mean, logvar));
    }
    return DIT_OK;
}

const dit_vae_class dit_vae_autoencoder_kl_hunyuan_video = {
    .class_name = "AutoencoderKLHunyuanVideo",
    .decoder = DIT_ROWS_HUNYUAN,
    .read_facts = hunyuan_read_facts,
    .load = hunyuan_load,
    .decode = hunyuan_decode,
    .encode = hunyuan_encode,
    .allocate = hunyuan_allocate,
};
