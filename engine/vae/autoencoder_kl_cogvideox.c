/* AutoencoderKLCogVideoX: the causal 3-D video VAE of CogVideoX, decoder and encoder.
 * Source: Yang et al., arXiv:2408.06072; parameter names and arithmetic of diffusers 0.33.1 AutoencoderKLCogVideoX.
 *
 * Two latent frames are decoded at a time; with an odd number the first chunk has three. Convolutions look back two
 * frames: into the chunk before, whose last two frames they keep, or at the first frame, repeated. The latents scale
 * and shift every norm. Group norms see one chunk. No layer but the norms sees more than three rows, so a shared decode
 * is cut before the first convolution.
 *
 * Eight frames are encoded at a time, and what is over goes with the first ones. Norms of the encoder see a chunk, too, and no
 * latents; where time shortens, pairs of frames become their mean, and a first frame of an odd number stays.
 */
#include "engine/vae/vae_impl.h"

#include <stdio.h>
#include <string.h>

enum { MAX_STAGES = 8, MID_RESNETS = 2, ENCODED = 8 };

typedef struct {
    int64_t in_channels, out_channels, latent_channels, layers, groups, sample_height, sample_width, temporal;
    double scaling_factor, shift_factor;
    bool quant, post_quant;
    int64_t widths[MAX_STAGES];
    int stages;
} cog_config;

typedef struct {
    vae_resnet *resnets;
    int64_t count;
    bool has_resample, in_time;
    vae_conv resample;
} cog_stage;

/* Decoder or encoder. */
typedef struct {
    dit_linear quant; /* before the decoder, behind the encoder */
    vae_conv conv_in, conv_out;
    vae_resnet mid[MID_RESNETS];
    cog_stage stages[MAX_STAGES];
    vae_norm norm_out;
} cog_coder;

typedef struct {
    cog_config c;
    cog_coder decoder, encoder;
} cog;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(cog_config, in_channels, "in_channels", 3, 1, 64),
    DIT_CONFIG_INT(cog_config, out_channels, "out_channels", 3, 1, 64),
    DIT_CONFIG_INT(cog_config, latent_channels, "latent_channels", 16, 1, 1024),
    DIT_CONFIG_INT(cog_config, layers, "layers_per_block", 3, 1, 64),
    DIT_CONFIG_INT(cog_config, groups, "norm_num_groups", 32, 1, 4096),
    DIT_CONFIG_INT(cog_config, sample_height, "sample_height", 480, 1, 65536),
    DIT_CONFIG_INT(cog_config, sample_width, "sample_width", 720, 1, 65536),
    DIT_CONFIG_INT(cog_config, temporal, "temporal_compression_ratio", 4, 1, 128),
    DIT_CONFIG_NUMBER(cog_config, scaling_factor, "scaling_factor", 1.15258426, 1e-6, 1e6),
    DIT_CONFIG_NUMBER(cog_config, shift_factor, "shift_factor", 0, -1e6, 1e6),
    DIT_CONFIG_BOOL(cog_config, quant, "use_quant_conv", false),
    DIT_CONFIG_BOOL(cog_config, post_quant, "use_post_quant_conv", false),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"act_fn", "silu"},
    {"latents_mean", "null"},
    {"latents_std", "null"},
    {0},
};

/* Returns how many stages double the frames. */
static int doublings(int64_t temporal)
{
    int levels = 0;
    while (temporal >> (levels + 1)) levels++;
    return levels;
}

static dit_status read_config(const dit_config *config, cog_config *c)
{
    *c = (cog_config){.widths = {128, 256, 256, 512}, .stages = 4};
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(vae_read_stages(config, "CogVideoXDownBlock3D", "CogVideoXUpBlock3D", MAX_STAGES, c->widths, &c->stages));
    if (INT64_C(1) << doublings(c->temporal) == c->temporal && doublings(c->temporal) < c->stages) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                    "temporal_compression_ratio %lld: only powers of two up to %lld are implemented for %d stages",
                    (long long)c->temporal, 1LL << (c->stages - 1), c->stages);
}

static dit_status cog_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    cog_config c;
    DIT_TRY(read_config(config, &c));
    *facts = (dit_vae_facts){.latent_channels = c.latent_channels,
                             .image_channels = c.out_channels,
                             .spatial = INT64_C(1) << (c.stages - 1),
                             .temporal = c.temporal,
                             .scaling_factor = c.scaling_factor,
                             .shift_factor = c.shift_factor,
                             .tile_height_px = c.sample_height / 2,
                             .tile_width_px = c.sample_width / 2,
                             .tile_overlap_height = 1.0 / 6,
                             .tile_overlap_width = 1.0 / 5};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Loads stage `index` of a coder, from `prefix`, "decoder.up" or "encoder.down". */
static dit_status load_stage(const vae_loader *l, const char *prefix, int index, int64_t in, int64_t out,
                             cog_stage *stage)
{
    static const int64_t kernel[3] = {1, 3, 3};
    const char *way = strchr(prefix, '.') + 1;
    void *resnets;
    DIT_TRY(dit_arena_alloc(&l->rt->run, stage->count * (int64_t)sizeof *stage->resnets, &resnets));
    stage->resnets = resnets;
    for (int64_t i = 0; i < stage->count; i++)
        DIT_TRY(vae_load_resnet(l, i ? out : in, out, &stage->resnets[i], "%s_blocks.%d.resnets.%lld", prefix, index,
                                (long long)i));
    if (!stage->has_resample) return DIT_OK;
    return vae_load_conv(l, out, out, kernel, &stage->resample, "%s_blocks.%d.%ssamplers.0.conv", prefix, index, way);
}

static dit_status load_middle(const vae_loader *l, const char *side, int64_t width, cog_coder *coder)
{
    for (int i = 0; i < MID_RESNETS; i++)
        DIT_TRY(vae_load_resnet(l, width, width, &coder->mid[i], "%s.mid_block.resnets.%d", side, i));
    return DIT_OK;
}

static dit_status load_decoder(const vae_loader *l, const cog_config *c, cog_coder *coder)
{
    int64_t width = c->widths[c->stages - 1], z = c->latent_channels;
    if (c->post_quant) DIT_TRY(dit_weights_linear_named(l->rt, l->weights, z, z, &coder->quant, "post_quant_conv"));
    DIT_TRY(vae_load_causal_conv(l, z, width, &coder->conv_in, "decoder.conv_in"));
    DIT_TRY(load_middle(l, "decoder", width, coder));
    for (int i = 0; i < c->stages; i++) {
        int64_t out = c->widths[c->stages - 1 - i];
        coder->stages[i] = (cog_stage){.count = c->layers + 1, .has_resample = i + 1 < c->stages};
        coder->stages[i].in_time = i < doublings(c->temporal);
        DIT_TRY(load_stage(l, "decoder.up", i, width, out, &coder->stages[i]));
        width = out;
    }
    DIT_TRY(vae_load_norm(l, width, &coder->norm_out, "decoder.norm_out"));
    return vae_load_causal_conv(l, width, c->out_channels, &coder->conv_out, "decoder.conv_out");
}

static dit_status load_encoder(const vae_loader *l, const cog_config *c, cog_coder *coder)
{
    int64_t width = c->widths[0], moments = 2 * c->latent_channels;
    DIT_TRY(vae_load_causal_conv(l, c->in_channels, width, &coder->conv_in, "encoder.conv_in"));
    for (int i = 0; i < c->stages; i++) {
        coder->stages[i] = (cog_stage){.count = c->layers, .has_resample = i + 1 < c->stages};
        coder->stages[i].in_time = i < doublings(c->temporal);
        DIT_TRY(load_stage(l, "encoder.down", i, width, c->widths[i], &coder->stages[i]));
        width = c->widths[i];
    }
    DIT_TRY(load_middle(l, "encoder", width, coder));
    DIT_TRY(vae_load_norm(l, width, &coder->norm_out, "encoder.norm_out"));
    DIT_TRY(vae_load_causal_conv(l, width, moments, &coder->conv_out, "encoder.conv_out"));
    return c->quant ? dit_weights_linear_named(l->rt, l->weights, moments, moments, &coder->quant, "quant_conv")
                    : DIT_OK;
}

static dit_status cog_load(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(cog), &state));
    cog *m = vae->state = state;
    DIT_TRY(read_config(&vae->params.config, &m->c));
    vae_loader l = {.rt = rt, .weights = vae->params.weights, .groups = m->c.groups, .depth = 3};
    l.condition = m->c.latent_channels, l.inside = ".conv";
    DIT_TRY(load_decoder(&l, &m->c, &m->decoder));
    l.condition = 0;
    return vae->params.encoder ? load_encoder(&l, &m->c, &m->encoder) : DIT_OK;
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

/* Does something to every causal convolution of a coder. */
static dit_status for_each_causal(vae_relay *relay, cog_coder *coder, vae_conv_visitor visit)
{
    DIT_TRY(visit(relay, &coder->conv_in));
    DIT_TRY(visit(relay, &coder->conv_out));
    DIT_TRY(vae_resnets_visit(relay, coder->mid, MID_RESNETS, visit));
    for (int i = 0; i < MAX_STAGES; i++)
        DIT_TRY(vae_resnets_visit(relay, coder->stages[i].resnets, coder->stages[i].count, visit));
    return DIT_OK;
}

static dit_status cog_allocate(dit_vae *vae)
{
    cog *m = vae->state;
    DIT_TRY(for_each_causal(&vae->relay, &m->decoder, vae_conv_allocate));
    return for_each_causal(&vae->relay, &m->encoder, vae_conv_allocate);
}

/* Upsamples: doubles space (nearest) and, in some stages, time (with an odd number of frames the first stays single),
 * then runs a 2-D convolution. The convolution runs before time is doubled, because equal frames stay equal. */
static vae_tensor upsample(const vae_walk *walk, cog_stage *stage, vae_tensor x)
{
    vae_tensor y = vae_conv_forward(walk, &stage->resample, VAE_CONV_UP, x, vae_other_slot(x.slot, -1));
    return stage->in_time ? vae_double_frames(walk, y, y.frames % 2, vae_other_slot(y.slot, -1)) : y;
}

/* Where a chunk lies: its number, its first latent frame, and the first frame that it becomes. */
typedef struct {
    int64_t number, first, image_frame;
    bool keep; /* another one follows */
} cog_chunk;

static dit_status decode_chunk(dit_vae *vae, vae_source latents, const cog_chunk *chunk, vae_tensor z, vae_planes image)
{
    cog *m = vae->state;
    cog_coder *coder = &m->decoder;
    int64_t first = chunk->first;
    vae_walk walk = {.memory = &vae->memory, .bands = &vae->bands, .relay = &vae->relay, .latent = z};
    walk.chunk = chunk->number, walk.keep = chunk->keep;
    DIT_TRY(vae_from_planes(walk.memory, latents, first, z));
    if (m->c.post_quant) { /* its output conditions the norms, too */
        vae_tensor plain = z;
        plain.slot = 0;
        DIT_TRY(vae_from_planes(walk.memory, latents, first, plain));
        vae_linear_forward(&walk, &coder->quant, plain, z.slot);
        DIT_TRY(vae_tap(vae, z, "post_quant_conv"));
    }
    vae_tensor x = vae_conv_forward(&walk, &coder->conv_in, VAE_CONV_PLAIN, z, 0);
    DIT_TRY(vae_tap(vae, x, "decoder.conv_in"));
    for (int i = 0; i < MID_RESNETS; i++) x = vae_resnet_forward(&walk, &coder->mid[i], x);
    DIT_TRY(vae_tap(vae, x, "decoder.mid_block"));
    for (int i = 0; i < m->c.stages; i++) {
        cog_stage *stage = &coder->stages[i];
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(&walk, &stage->resnets[j], x);
        if (stage->has_resample) x = upsample(&walk, stage, x);
        DIT_TRY(vae_tap(vae, x, "decoder.up_block_%d", i));
    }
    x = vae_norm_forward(&walk, &coder->norm_out, DIT_ACT_SILU, x, x.slot);
    x = vae_conv_forward(&walk, &coder->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    return vae_to_planes(walk.memory, x, 0, x.channels, vae_band_of(vae, image), chunk->image_frame);
}

static dit_status cog_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    cog *m = vae->state;
    bool shared = vae->bands.comm;
    int64_t rows = shared ? vae->bands.rows : size.height;
    const dit_rows_facts facts = {
        .decoder = DIT_ROWS_COGVIDEOX, .temporal = vae->facts.temporal, .frames = size.frames};
    cog_chunk chunk = {0};
    if (shared && latents.data) latents.data += vae->bands.first * latents.row;
    DIT_TRY(for_each_causal(&vae->relay, &m->decoder, vae_conv_forget));
    for (; chunk.first < size.frames; chunk.number++) {
        int64_t frames = dit_chunk_latents(facts.decoder, size.frames, chunk.first);
        vae_tensor z = {VAE_SLOT_LATENT, frames, rows, size.width, m->c.latent_channels, shared};
        chunk.keep = chunk.first + frames < size.frames;
        if (vae->memory.planning || vae_relay_is_own(&vae->relay, chunk.number))
            DIT_TRY(decode_chunk(vae, latents, &chunk, z, image));
        chunk.image_frame += dit_chunk_frames(&facts, chunk.first);
        chunk.first += frames;
    }
    return for_each_causal(&vae->relay, &m->decoder, vae_conv_settle);
}

/* Halves time in some stages, then space. */
static vae_tensor downsample(const vae_walk *walk, cog_stage *stage, vae_tensor x)
{
    if (stage->in_time) x = vae_mean_frames(walk, x, vae_other_slot(x.slot, -1));
    return vae_conv_forward(walk, &stage->resample, VAE_CONV_DOWN, x, vae_other_slot(x.slot, -1));
}

/* Encodes x, whose pixels are in its slot. *first: the latent frame that it begins with, which becomes the next one's. */
static dit_status encode_chunk(dit_vae *vae, bool keep, vae_tensor x, vae_planes mean, vae_planes logvar,
                               int64_t *first)
{
    cog *m = vae->state;
    cog_coder *coder = &m->encoder;
    int64_t z = m->c.latent_channels;
    vae_walk walk = {.memory = &vae->memory, .keep = keep};
    x = vae_conv_forward(&walk, &coder->conv_in, VAE_CONV_PLAIN, x, 1);
    for (int i = 0; i < m->c.stages; i++) {
        cog_stage *stage = &coder->stages[i];
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(&walk, &stage->resnets[j], x);
        if (stage->has_resample) x = downsample(&walk, stage, x);
    }
    for (int i = 0; i < MID_RESNETS; i++) x = vae_resnet_forward(&walk, &coder->mid[i], x);
    x = vae_norm_forward(&walk, &coder->norm_out, DIT_ACT_SILU, x, x.slot);
    x = vae_conv_forward(&walk, &coder->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    if (m->c.quant) x = vae_linear_forward(&walk, &coder->quant, x, vae_other_slot(x.slot, -1));
    DIT_TRY(vae_to_planes(walk.memory, x, 0, z, mean, *first));
    DIT_TRY(vae_to_planes(walk.memory, x, z, z, logvar, *first));
    *first += x.frames;
    return DIT_OK;
}

static dit_status cog_encode(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar)
{
    cog *m = vae->state;
    int64_t frames = dit_vae_output_frames(&vae->facts, size.frames), over = frames % ENCODED, latent = 0;
    int64_t spatial = vae->facts.spatial, count;
    DIT_TRY(for_each_causal(&vae->relay, &m->encoder, vae_conv_forget));
    for (int64_t first = 0; first < frames; first += count) {
        count = first ? ENCODED : ENCODED + over;
        if (count > frames) count = frames;
        vae_tensor x = {0, count, size.height * spatial, size.width * spatial, m->c.in_channels, false};
        DIT_TRY(vae_from_planes(&vae->memory, image, first, x));
        DIT_TRY(encode_chunk(vae, first + count < frames, x, mean, logvar, &latent));
    }
    return DIT_OK;
}

const dit_vae_class dit_vae_autoencoder_kl_cogvideox = {
    .class_name = "AutoencoderKLCogVideoX",
    .decoder = DIT_ROWS_COGVIDEOX,
    .read_facts = cog_read_facts,
    .load = cog_load,
    .decode = cog_decode,
    .encode = cog_encode,
    .allocate = cog_allocate,
};
