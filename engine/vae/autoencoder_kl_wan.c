/* AutoencoderKLWan: the causal 3-D video VAE of Wan 2.1, and the residual one of Wan 2.2, decoder and encoder; and
 * AutoencoderKLQwenImage, which is Wan 2.1's by another name.
 * Source: Wan Team, arXiv:2503.20314; parameter names and arithmetic of AutoencoderKLWan of diffusers 0.33.1, of 0.35.2 where it is residual,
 * and of AutoencoderKLQwenImage of 0.42.1.
 *
 * The first latent frame is one frame, each other one becomes `temporal` frames. One latent frame is coded at a time:
 * convolutions look back two frames, into the chunks before, or at zeros. A doubling in time is a convolution over
 * three frames with twice the channels, half of them for each of two frames; it leaves the first chunk out and does not
 * see it. Norms are RMS norms of one position, so that bands of rows exchange nothing but rows; a shared decode is cut
 * after the middle block, whose attention sees whole frames.
 *
 * The residual one has a shortcut around each stage that changes resolution (shortcut.h), keeps the channels where it doubles
 * space, and sees patches of pixels as channels.
 */
#include "engine/vae/shortcut.h"
#include "engine/vae/vae_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_STAGES = 8, MID_RESNETS = 2, COLOURS = 3, MAX_HEAD = 2048 /* one head as wide as the channels */ };

typedef struct {
    int64_t base, decoder_base, latent_channels, resnets;
    int64_t patch, in_channels,
        out_channels; /* pixels of a patch in each direction; channels of the image as the coders see it */
    bool residual;
    int64_t mult[MAX_STAGES];
    bool in_time[MAX_STAGES]; /* of the encoder's stages: it halves time after them */
    int stages;
} wan_config;

/* Residual blocks, then a change of resolution, except in the last stage. */
typedef struct {
    vae_resnet *resnets;
    int64_t count;
    bool has_resample, has_time, has_shortcut;
    vae_conv resample, time;
    vae_shortcut shortcut;
} wan_stage;

/* Decoder or encoder. */
typedef struct {
    vae_conv conv_in, conv_out;
    vae_resnet mid[MID_RESNETS];
    vae_attention attention;
    wan_stage stages[MAX_STAGES];
    vae_norm norm_out;
} wan_coder;

typedef struct {
    wan_config c;
    wan_coder decoder, encoder;
    dit_linear quant, post_quant;
} wan;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(wan_config, base, "base_dim", 96, 1, 4096),
    DIT_CONFIG_INT(wan_config, decoder_base, "decoder_base_dim", 0, 1, 4096),
    DIT_CONFIG_INT(wan_config, patch, "patch_size", 1, 1, 64),
    DIT_CONFIG_INT(wan_config, in_channels, "in_channels", 3, 1, 4096),
    DIT_CONFIG_INT(wan_config, out_channels, "out_channels", 3, 1, 4096),
    DIT_CONFIG_BOOL(wan_config, residual, "is_residual", false),
    DIT_CONFIG_INT(wan_config, latent_channels, "z_dim", 16, 1, DIT_VAE_STATISTICS),
    DIT_CONFIG_INT(wan_config, resnets, "num_res_blocks", 2, 1, 64),
    DIT_CONFIG_END,
};

/* clip_output, which Wan 2.2's configs have, is not read by the library: it always clamps. */
static const dit_config_only only[] = {{"attn_scales", "[]"}, {"input_channels", "3"}, {0}};

/* The statistics of Wan 2.1's latents, which a config may leave out. */
enum { PUBLISHED = 16 };
static const double published_mean[PUBLISHED] = {-0.7571, -0.7089, -0.9113, 0.1075,  -0.1745, 0.9653,
                                                 -0.1517, 1.5508,  0.4134,  -0.0715, 0.5517,  -0.3632,
                                                 -0.1922, -0.9497, 0.2503,  -0.2921};
static const double published_std[PUBLISHED] = {2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743,
                                                3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160};

/* Reads temperal_downsample (sic): a flag for each stage but the last. */
static dit_status read_in_time(const dit_config *config, wan_config *c)
{
    const cJSON *list = NULL, *item;
    int i = 0;
    c->in_time[1] = c->in_time[2] = true;
    DIT_TRY(dit_json_optional_array(config->doc, config->object, config->pointer, "temperal_downsample", &list));
    bool valid = (list ? cJSON_GetArraySize(list) : 3) == c->stages - 1;
    cJSON_ArrayForEach(item, list)
    {
        if (!valid) break;
        valid = cJSON_IsBool(item);
        c->in_time[i++] = cJSON_IsTrue(item);
    }
    return valid ? DIT_OK
                 : dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE,
                                 "temperal_downsample is not a list of %d booleans, one less than dim_mult has entries",
                                 c->stages - 1);
}

static dit_status read_config(const dit_config *config, wan_config *c)
{
    int count = -1;
    *c = (wan_config){.mult = {1, 2, 4, 4}, .stages = 4};
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(dit_config_read_ints(config, "dim_mult", 1, 64, MAX_STAGES, c->mult, &count));
    if (count == 0) return DIT_FAIL(DIT_ERR_SHAPE, "dim_mult is empty: a VAE has at least one stage");
    if (count > 0) c->stages = count;
    DIT_TRY(read_in_time(config, c));
    if (!c->decoder_base) c->decoder_base = c->base;
    int64_t colours = COLOURS * c->patch * c->patch, widest = c->base > c->decoder_base ? c->base : c->decoder_base;
    if (c->in_channels != colours || c->out_channels != colours)
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "in_channels %lld and out_channels %lld: patches of %lld x %lld pixels have %lld",
                        (long long)c->in_channels, (long long)c->out_channels, (long long)c->patch, (long long)c->patch,
                        (long long)colours);
    int64_t middle = widest * c->mult[c->stages - 1];
    if (middle <= MAX_HEAD) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention over %lld channels: up to %d are implemented", (long long)middle,
                    MAX_HEAD);
}

static dit_status read_statistics(const dit_config *config, dit_vae_facts *facts)
{
    int means = -1, deviations = -1;
    DIT_TRY(
        dit_config_read_numbers(config, "latents_mean", -1e6, 1e6, DIT_VAE_STATISTICS, facts->latents_mean, &means));
    DIT_TRY(
        dit_config_read_numbers(config, "latents_std", 1e-6, 1e6, DIT_VAE_STATISTICS, facts->latents_std, &deviations));
    if (means < 0) memcpy(facts->latents_mean, published_mean, sizeof published_mean), means = PUBLISHED;
    if (deviations < 0) memcpy(facts->latents_std, published_std, sizeof published_std), deviations = PUBLISHED;
    facts->statistics = means;
    if (means == deviations && means > 0) return DIT_OK;
    return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE,
                         "latents_mean has %d values, but latents_std %d", means, deviations);
}

static dit_status wan_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    wan_config c;
    DIT_TRY(read_config(config, &c));
    *facts = (dit_vae_facts){.latent_channels = c.latent_channels,
                             .image_channels = COLOURS,
                             .spatial = c.patch << (c.stages - 1),
                             .temporal = 1,
                             .one_first = true,
                             .scaling_factor = 1,
                             .tile_height_px = 256,
                             .tile_width_px = 256,
                             .tile_overlap_height = 0.25,
                             .tile_overlap_width = 0.25};
    for (int i = 0; i + 1 < c.stages; i++)
        if (c.in_time[i]) facts->temporal *= 2;
    return read_statistics(config, facts);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static const int64_t in_frames[3] = {1, 3, 3}, over_time[3] = {3, 1, 1};

static dit_status take_resnets(const vae_loader *l, int64_t count, wan_stage *stage)
{
    void *resnets;
    DIT_TRY(dit_arena_alloc(&l->rt->run, count * (int64_t)sizeof *stage->resnets, &resnets));
    stage->resnets = resnets;
    stage->count = count;
    return DIT_OK;
}

static dit_status load_middle(const vae_loader *l, const char *side, int64_t width, wan_coder *coder)
{
    char name[64];
    for (int i = 0; i < MID_RESNETS; i++)
        DIT_TRY(vae_load_resnet(l, width, width, &coder->mid[i], "%s.mid_block.resnets.%d", side, i));
    snprintf(name, sizeof name, "%s.mid_block.attentions.0.norm", side);
    DIT_TRY(vae_load_norm(l, width, &coder->attention.norm, name));
    DIT_TRY(dit_weights_linear_named(l->rt, l->weights, 3 * width, width, &coder->attention.qkv,
                                     "%s.mid_block.attentions.0.to_qkv", side));
    return dit_weights_linear_named(l->rt, l->weights, width, width, &coder->attention.out,
                                    "%s.mid_block.attentions.0.proj", side);
}

static dit_status load_ends(const vae_loader *l, const char *side, const int64_t in[2], const int64_t out[2],
                            wan_coder *coder)
{
    char name[64];
    snprintf(name, sizeof name, "%s.conv_in", side);
    DIT_TRY(vae_load_causal_conv(l, in[0], in[1], &coder->conv_in, name));
    snprintf(name, sizeof name, "%s.norm_out", side);
    DIT_TRY(vae_load_norm(l, out[0], &coder->norm_out, name));
    snprintf(name, sizeof name, "%s.conv_out", side);
    return vae_load_causal_conv(l, out[0], out[1], &coder->conv_out, name);
}

static dit_status load_decoder(const vae_loader *l, const wan_config *c, wan_coder *coder)
{
    const char *up = c->residual ? "upsampler" : "upsamplers.0";
    int64_t first = c->decoder_base * c->mult[c->stages - 1], width = first;
    for (int i = 0; i < c->stages; i++) {
        wan_stage *stage = &coder->stages[i];
        int64_t in = width, out = c->decoder_base * c->mult[c->stages - 1 - i];
        DIT_TRY(take_resnets(l, c->resnets + 1, stage));
        for (int64_t j = 0; j < stage->count; j++)
            DIT_TRY(vae_load_resnet(l, j ? out : width, out, &stage->resnets[j], "decoder.up_blocks.%d.resnets.%lld", i,
                                    (long long)j));
        stage->has_resample = i + 1 < c->stages;
        stage->has_time = stage->has_resample && c->in_time[c->stages - 2 - i];
        stage->has_shortcut = stage->has_resample && c->residual;
        width = stage->has_resample && !c->residual ? out / 2 : out;
        if (stage->has_resample)
            DIT_TRY(
                vae_load_conv(l, out, width, in_frames, &stage->resample, "decoder.up_blocks.%d.%s.resample.1", i, up));
        if (stage->has_time)
            DIT_TRY(
                vae_load_conv(l, out, 2 * out, over_time, &stage->time, "decoder.up_blocks.%d.%s.time_conv", i, up));
        stage->time.first_chunk = 1;
        if (stage->has_shortcut)
            DIT_TRY(vae_make_shortcut(l, in, out, stage->has_time ? 2 : 1, 2, false, &stage->shortcut));
    }
    return load_ends(l, "decoder", (int64_t[2]){c->latent_channels, first}, (int64_t[2]){width, c->out_channels},
                     coder);
}

/* Loads the change of resolution behind a stage of the encoder. */
static dit_status load_down(const vae_loader *l, int64_t width, const char *prefix, wan_stage *stage)
{
    if (stage->has_resample)
        DIT_TRY(vae_load_conv(l, width, width, in_frames, &stage->resample, "%s.resample.1", prefix));
    if (!stage->has_time) return DIT_OK;
    DIT_TRY(vae_load_conv(l, width, width, over_time, &stage->time, "%s.time_conv", prefix));
    stage->time.front = 1, stage->time.step = 2;
    return DIT_OK;
}

/* Loads the residual blocks of a stage of the encoder, and what follows them; the residual one has a folder for each stage, the
 * other numbers its blocks and downsamplings one after the other. */
static dit_status load_down_stage(const vae_loader *l, const wan_config *c, int i, int64_t in, int *block,
                                  wan_stage *stage)
{
    int64_t out = c->base * c->mult[i];
    char prefix[64];
    for (int64_t j = 0; j < stage->count; j++) {
        snprintf(prefix, sizeof prefix, c->residual ? "encoder.down_blocks.%d.resnets.%d" : "encoder.down_blocks.%d",
                 c->residual ? i : *block, (int)j);
        DIT_TRY(vae_load_resnet(l, j ? out : in, out, &stage->resnets[j], "%s", prefix));
        ++*block;
    }
    snprintf(prefix, sizeof prefix, c->residual ? "encoder.down_blocks.%d.downsampler" : "encoder.down_blocks.%d",
             c->residual ? i : *block);
    *block += stage->has_resample;
    DIT_TRY(load_down(l, out, prefix, stage));
    if (!c->residual) return DIT_OK;
    stage->has_shortcut = true;
    return vae_make_shortcut(l, in, out, stage->has_time ? 2 : 1, stage->has_resample ? 2 : 1, true, &stage->shortcut);
}

static dit_status load_encoder(const vae_loader *l, const wan_config *c, wan_coder *coder)
{
    int64_t width = c->base;
    int block = 0;
    for (int i = 0; i < c->stages; i++) {
        wan_stage *stage = &coder->stages[i];
        DIT_TRY(take_resnets(l, c->resnets, stage));
        stage->has_resample = i + 1 < c->stages;
        stage->has_time = stage->has_resample && c->in_time[i];
        DIT_TRY(load_down_stage(l, c, i, width, &block, stage));
        width = c->base * c->mult[i];
    }
    DIT_TRY(load_middle(l, "encoder", width, coder));
    return load_ends(l, "encoder", (int64_t[2]){c->in_channels, c->base}, (int64_t[2]){width, 2 * c->latent_channels},
                     coder);
}

static dit_status wan_load(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(wan), &state));
    wan *m = vae->state = state;
    DIT_TRY(read_config(&vae->params.config, &m->c));
    const wan_config *c = &m->c;
    int64_t z = c->latent_channels;
    vae_loader l = {.rt = rt, .weights = vae->params.weights, .depth = 3, .zeros = true};
    DIT_TRY(dit_weights_linear_named(rt, l.weights, z, z, &m->post_quant, "post_quant_conv"));
    DIT_TRY(load_middle(&l, "decoder", c->decoder_base * c->mult[c->stages - 1], &m->decoder));
    DIT_TRY(load_decoder(&l, c, &m->decoder));
    if (!vae->params.encoder) return DIT_OK;
    DIT_TRY(dit_weights_linear_named(rt, l.weights, 2 * z, 2 * z, &m->quant, "quant_conv"));
    return load_encoder(&l, c, &m->encoder);
}

/* ---- causal convolutions ----------------------------------------------------------------------------------------- */

/* Does something to every causal convolution of a coder. */
static dit_status for_each_causal(vae_relay *relay, wan_coder *coder, vae_conv_visitor visit)
{
    DIT_TRY(visit(relay, &coder->conv_in));
    DIT_TRY(visit(relay, &coder->conv_out));
    DIT_TRY(vae_resnets_visit(relay, coder->mid, MID_RESNETS, visit));
    for (int i = 0; i < MAX_STAGES; i++) {
        wan_stage *stage = &coder->stages[i];
        DIT_TRY(vae_resnets_visit(relay, stage->resnets, stage->count, visit));
        if (stage->has_time) DIT_TRY(visit(relay, &stage->time));
    }
    return DIT_OK;
}

static dit_status wan_allocate(dit_vae *vae)
{
    wan *m = vae->state;
    DIT_TRY(for_each_causal(&vae->relay, &m->decoder, vae_conv_allocate));
    return for_each_causal(&vae->relay, &m->encoder, vae_conv_allocate);
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static vae_tensor walk_middle(const vae_walk *walk, wan_coder *coder, vae_tensor x)
{
    x = vae_resnet_forward(walk, &coder->mid[0], x);
    x = vae_attention_forward(walk, &coder->attention, x);
    return vae_resnet_forward(walk, &coder->mid[1], x);
}

static vae_tensor walk_head(const vae_walk *walk, wan_coder *coder, vae_tensor x)
{
    x = vae_norm_forward(walk, &coder->norm_out, DIT_ACT_SILU, x, x.slot);
    return vae_conv_forward(walk, &coder->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
}

/* Doubles time, but in the first chunk, then space. */
static vae_tensor upsample(const vae_walk *walk, wan_stage *stage, bool begins, vae_tensor x)
{
    if (stage->has_time && !begins) {
        vae_tensor pairs = vae_conv_forward(walk, &stage->time, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
        x = vae_split_frames(walk, pairs, x.slot);
    }
    return vae_conv_forward(walk, &stage->resample, VAE_CONV_UP, x, vae_other_slot(x.slot, -1));
}

static dit_status decode_frame(dit_vae *vae, vae_source latents, int64_t frame, vae_extents size, vae_planes image)
{
    wan *m = vae->state;
    wan_coder *coder = &m->decoder;
    vae_walk walk = {.memory = &vae->memory, .bands = &vae->bands, .relay = &vae->relay};
    walk.chunk = frame, walk.keep = frame + 1 < size.frames;
    vae_tensor x = {0, 1, size.height, size.width, m->c.latent_channels, false};
    int64_t first_frame = frame ? (frame - 1) * vae->facts.temporal + 1 : 0;
    DIT_TRY(vae_from_planes(walk.memory, latents, frame, x));
    x = vae_linear_forward(&walk, &m->post_quant, x, 1);
    x = vae_conv_forward(&walk, &coder->conv_in, VAE_CONV_PLAIN, x, 2);
    DIT_TRY(vae_tap(vae, x, "decoder.conv_in"));
    x = walk_middle(&walk, coder, x);
    DIT_TRY(vae_tap(vae, x, "decoder.mid_block"));
    x = vae_take_band(&walk, x);
    for (int i = 0; i < m->c.stages; i++) {
        wan_stage *stage = &coder->stages[i];
        vae_tensor kept = stage->has_shortcut ? vae_shortcut_keep(&walk, x) : x;
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(&walk, &stage->resnets[j], x);
        if (stage->has_resample) x = upsample(&walk, stage, frame == 0, x);
        if (stage->has_shortcut) vae_shortcut_add(&walk, &stage->shortcut, kept, frame == 0, x);
        DIT_TRY(vae_tap(vae, x, "decoder.up_block_%d", i));
    }
    x = walk_head(&walk, coder, x);
    return vae_patches_to_planes(walk.memory, x, m->c.patch, vae_band_of(vae, image), first_frame);
}

static dit_status wan_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    wan *m = vae->state;
    DIT_TRY(for_each_causal(&vae->relay, &m->decoder, vae_conv_forget));
    for (int64_t frame = 0; frame < size.frames; frame++)
        if (vae->memory.planning || vae_relay_is_own(&vae->relay, frame))
            DIT_TRY(decode_frame(vae, latents, frame, size, image));
    return for_each_causal(&vae->relay, &m->decoder, vae_conv_settle);
}

/* Halves space, then time. In the first chunk time only keeps its last frame, which the next chunk sees. */
static vae_tensor downsample(const vae_walk *walk, wan_stage *stage, bool begins, vae_tensor x)
{
    x = vae_conv_forward(walk, &stage->resample, VAE_CONV_DOWN, x, vae_other_slot(x.slot, -1));
    if (!stage->has_time) return x;
    if (!begins) return vae_conv_forward(walk, &stage->time, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    vae_conv_keep(walk, &stage->time, x);
    return x;
}

static dit_status encode_frame(dit_vae *vae, vae_source image, int64_t frame, vae_extents size, vae_planes mean,
                               vae_planes logvar)
{
    wan *m = vae->state;
    wan_coder *coder = &m->encoder;
    vae_walk walk = {.memory = &vae->memory, .keep = frame + 1 < size.frames};
    int64_t patch = m->c.patch, spatial = vae->facts.spatial / patch, temporal = vae->facts.temporal,
            z = m->c.latent_channels;
    vae_tensor x = {0, frame ? temporal : 1, size.height * spatial, size.width * spatial, m->c.in_channels, false};
    DIT_TRY(vae_patches_from_planes(walk.memory, image, frame ? (frame - 1) * temporal + 1 : 0, patch, x));
    x = vae_conv_forward(&walk, &coder->conv_in, VAE_CONV_PLAIN, x, 1);
    for (int i = 0; i < m->c.stages; i++) {
        wan_stage *stage = &coder->stages[i];
        vae_tensor kept = stage->has_shortcut ? vae_shortcut_keep(&walk, x) : x;
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(&walk, &stage->resnets[j], x);
        if (stage->has_resample) x = downsample(&walk, stage, frame == 0, x);
        if (stage->has_shortcut) vae_shortcut_add(&walk, &stage->shortcut, kept, frame == 0, x);
    }
    x = walk_head(&walk, coder, walk_middle(&walk, coder, x));
    x = vae_linear_forward(&walk, &m->quant, x, vae_other_slot(x.slot, -1));
    DIT_TRY(vae_to_planes(walk.memory, x, 0, z, mean, frame));
    return vae_to_planes(walk.memory, x, z, z, logvar, frame);
}

static dit_status wan_encode(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar)
{
    wan *m = vae->state;
    DIT_TRY(for_each_causal(&vae->relay, &m->encoder, vae_conv_forget));
    for (int64_t frame = 0; frame < size.frames; frame++) DIT_TRY(encode_frame(vae, image, frame, size, mean, logvar));
    return DIT_OK;
}

#define WAN_CLASS(name)                                                                                                \
    {                                                                                                                  \
        .class_name = name, .decoder = DIT_ROWS_WAN, .clamps = true, .read_facts = wan_read_facts, .load = wan_load,   \
        .decode = wan_decode, .encode = wan_encode, .allocate = wan_allocate                                           \
    }

const dit_vae_class dit_vae_autoencoder_kl_wan = WAN_CLASS("AutoencoderKLWan");
const dit_vae_class dit_vae_autoencoder_kl_qwen_image = WAN_CLASS("AutoencoderKLQwenImage");
