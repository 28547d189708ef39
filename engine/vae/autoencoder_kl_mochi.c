/* AutoencoderKLMochi: the causal video VAE of Mochi 1 with 8 x 8 pixels and 6 frames a latent. Decoder only.
 * Source: Genmo, Mochi 1 preview; parameter names and arithmetic of AutoencoderKLMochi of diffusers 0.42.1.
 *
 * Convolutions look back two frames, and what lies outside of a frame, or before the first one, repeats what is nearest.
 * Norms see one frame each. So a clip may be decoded in chunks, as CogVideoX's is, with the result of one piece, and ranks
 * share it by rows or by frames. There is no attention, and a shared decode is cut at the latents. Stages end with a linear
 * layer whose channels are spread over cells of frames, rows and columns. Each latent becomes as many frames as all stages
 * together make; the first ones of the clip, all but one, are dropped.
 */
#include "engine/vae/vae_impl.h"

#include <stdio.h>
#include <string.h>

enum { MAX_STAGES = 7, GROUPS = 32, SPACE = 2 /* of every stage */ };
static const float NORM_EPS = 1e-5f;

typedef struct {
    int64_t out_channels, latent_channels;
    double scaling_factor;
    int stages;                     /* that are spread over cells; widths are one more, layers two */
    int64_t widths[MAX_STAGES + 1]; /* in the decoder's order: the coarsest first               */
    int64_t layers[MAX_STAGES + 2]; /* residual blocks: first, of each stage, last              */
    int64_t times[MAX_STAGES];      /* frames of a cell                                         */
} mochi_config;

typedef struct {
    vae_resnet *resnets;
    int64_t count, time;
    dit_linear spread; /* not of the last */
} mochi_stage;

typedef struct {
    mochi_config c;
    dit_linear conv_in, proj_out;
    mochi_stage stages[MAX_STAGES + 2]; /* block_in, up_blocks, block_out */
} mochi;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(mochi_config, out_channels, "out_channels", 3, 1, 64),
    DIT_CONFIG_INT(mochi_config, latent_channels, "latent_channels", 12, 1, DIT_VAE_STATISTICS),
    DIT_CONFIG_NUMBER(mochi_config, scaling_factor, "scaling_factor", 1, 1e-6, 1e6),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {{"act_fn", "silu"}, {0}};

/* The statistics of the published latents, which a config may leave out. */
enum { PUBLISHED = 12 };
static const double published_mean[PUBLISHED] = {-0.06730895953510081,  -0.038011381506090416, -0.07477820912866141,
                                                 -0.05565264470995561,  0.012767231469026969,  -0.04703542746246419,
                                                 0.043896967884726704,  -0.09346305707025976,  -0.09918314763016893,
                                                 -0.008729793427399178, -0.011931556316503654, -0.0321993391887285};
static const double published_std[PUBLISHED] = {0.9263795028493863, 0.9248894543193766, 0.9393059390890617,
                                                0.959253732819592,  0.8244560132752793, 0.917259975397747,
                                                0.9294154431013696, 1.3720942357788521, 0.881393668867029,
                                                0.9168315692124348, 0.9185249279345552, 0.9274757570805041};

/* Reads a list from fine to coarse into `out`, from coarse to fine; an absent one leaves `out`. */
static dit_status read_reversed(const dit_config *config, const char *key, int64_t least, int count, int64_t *out)
{
    int64_t list[MAX_STAGES + 2];
    int length = -1;
    DIT_TRY(dit_config_read_ints(config, key, least, 16384, MAX_STAGES + 2, list, &length));
    if (length < 0) return DIT_OK;
    if (length != count)
        return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE, "%s has %d entries; %d go with %s", key,
                             length, count, "decoder_block_out_channels");
    for (int i = 0; i < count; i++) out[i] = list[count - 1 - i];
    return DIT_OK;
}

static dit_status read_stages(const dit_config *config, mochi_config *c)
{
    int64_t widths[MAX_STAGES + 1], spaces[MAX_STAGES] = {SPACE, SPACE, SPACE, SPACE, SPACE, SPACE, SPACE};
    int count = -1;
    DIT_TRY(dit_config_read_ints(config, "decoder_block_out_channels", 1, 16384, MAX_STAGES + 1, widths, &count));
    c->stages = count < 0 ? 3 : count - 1;
    if (c->stages < 0) return DIT_FAIL(DIT_ERR_SHAPE, "decoder_block_out_channels is empty: a VAE has a stage");
    for (int i = 0; i < count; i++) c->widths[i] = widths[count - 1 - i];
    DIT_TRY(read_reversed(config, "layers_per_block", 0, c->stages + 2, c->layers));
    DIT_TRY(read_reversed(config, "temporal_expansions", 1, c->stages, c->times));
    DIT_TRY(read_reversed(config, "spatial_expansions", 1, c->stages, spaces));
    for (int i = 0; i <= c->stages; i++) {
        if (c->widths[i] % GROUPS)
            return DIT_FAIL(DIT_ERR_SHAPE, "%lld channels do not divide into %d groups", (long long)c->widths[i],
                            GROUPS);
        if (i < c->stages && c->times[i] < 1)
            return DIT_FAIL(DIT_ERR_SHAPE, "temporal_expansions are needed for %d blocks", c->stages);
        if (i < c->stages && spaces[i] != SPACE)
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "spatial_expansions has %lld; only %d is implemented",
                            (long long)spaces[i], SPACE);
    }
    return DIT_OK;
}

static dit_status read_config(const dit_config *config, mochi_config *c)
{
    *c = (mochi_config){.widths = {768, 512, 256, 128}, .layers = {3, 6, 4, 3, 3}, .times = {3, 2, 1}};
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    return read_stages(config, c);
}

/* latents std / scaling_factor + mean. */
static dit_status read_statistics(const dit_config *config, const mochi_config *c, dit_vae_facts *facts)
{
    int means = -1, deviations = -1;
    DIT_TRY(
        dit_config_read_numbers(config, "latents_mean", -1e6, 1e6, DIT_VAE_STATISTICS, facts->latents_mean, &means));
    DIT_TRY(
        dit_config_read_numbers(config, "latents_std", 1e-6, 1e6, DIT_VAE_STATISTICS, facts->latents_std, &deviations));
    if (means < 0) memcpy(facts->latents_mean, published_mean, sizeof published_mean), means = PUBLISHED;
    if (deviations < 0) memcpy(facts->latents_std, published_std, sizeof published_std), deviations = PUBLISHED;
    facts->statistics = means;
    for (int i = 0; i < deviations; i++) facts->latents_std[i] /= c->scaling_factor;
    if (means == deviations && means > 0) return DIT_OK;
    return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE,
                         "latents_mean has %d values, but latents_std %d", means, deviations);
}

static dit_status mochi_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    mochi_config c;
    DIT_TRY(read_config(config, &c));
    *facts = (dit_vae_facts){.latent_channels = c.latent_channels,
                             .image_channels = c.out_channels,
                             .spatial = INT64_C(1) << c.stages,
                             .temporal = 1,
                             .one_first = true,
                             .scaling_factor = 1,
                             .tile_height_px = 256,
                             .tile_width_px = 256,
                             .tile_overlap_height = 0.25,
                             .tile_overlap_width = 0.25};
    for (int i = 0; i < c.stages; i++) facts->temporal *= c.times[i];
    return read_statistics(config, &c, facts);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Packs a layer whose rows are stored with the place in a cell fastest, with the place slowest. */
static dit_status load_spread(const vae_loader *l, int64_t in, int64_t out, int64_t places, const char *prefix,
                              dit_linear *spread)
{
    void *memory;
    int64_t rows = out * places;
    dit_arena_mark mark = dit_arena_get_mark(&l->rt->step);
    DIT_TRY(dit_arena_alloc(&l->rt->step, rows * (int64_t)sizeof(int64_t), &memory));
    int64_t *order = memory;
    for (int64_t i = 0; i < rows; i++) order[i] = i % out * places + i / out;
    const dit_linear_part part = {.prefix = prefix, .rows = rows};
    DIT_TRY(dit_weights_linear(l->rt, l->weights, &part, 1, in, order, spread));
    dit_arena_release_to(&l->rt->step, mark);
    return DIT_OK;
}

static dit_status load_stage(const vae_loader *l, const mochi_config *c, int i, mochi_stage *stage)
{
    char prefix[64], name[80];
    void *resnets;
    bool spreads = i > 0 && i <= c->stages;
    int64_t width = c->widths[i == 0 ? 0 : i - 1];
    stage->count = c->layers[i];
    if (i == 0 || !spreads)
        snprintf(prefix, sizeof prefix, "decoder.%s", i ? "block_out" : "block_in");
    else
        snprintf(prefix, sizeof prefix, "decoder.up_blocks.%d", i - 1);
    DIT_TRY(dit_arena_alloc(&l->rt->run, (stage->count + 1) * (int64_t)sizeof *stage->resnets, &resnets));
    stage->resnets = resnets;
    for (int64_t j = 0; j < stage->count; j++)
        DIT_TRY(vae_load_resnet(l, width, width, &stage->resnets[j], "%s.resnets.%lld", prefix, (long long)j));
    if (!spreads) return DIT_OK;
    stage->time = c->times[i - 1];
    snprintf(name, sizeof name, "%s.proj", prefix);
    return load_spread(l, width, c->widths[i], stage->time * SPACE * SPACE, name, &stage->spread);
}

static dit_status mochi_load(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(mochi), &state));
    mochi *m = vae->state = state;
    DIT_TRY(read_config(&vae->params.config, &m->c));
    const mochi_config *c = &m->c;
    vae_loader l = {.rt = rt, .weights = vae->params.weights, .groups = GROUPS, .depth = 3, .replicate = true};
    l.inside = ".conv", l.norm_inside = ".norm_layer", l.norm_eps = NORM_EPS, l.framewise = true;
    DIT_TRY(dit_weights_linear_named(rt, l.weights, c->widths[0], c->latent_channels, &m->conv_in, "decoder.conv_in"));
    for (int i = 0; i < c->stages + 2; i++) DIT_TRY(load_stage(&l, c, i, &m->stages[i]));
    return dit_weights_linear_named(rt, l.weights, c->out_channels, c->widths[c->stages], &m->proj_out,
                                    "decoder.proj_out");
}

/* ---- causal convolutions ----------------------------------------------------------------------------------------- */

/* Does something to every causal convolution. */
static dit_status for_each_causal(vae_relay *relay, mochi *m, vae_conv_visitor visit)
{
    for (int i = 0; i < m->c.stages + 2; i++)
        DIT_TRY(vae_resnets_visit(relay, m->stages[i].resnets, m->stages[i].count, visit));
    return DIT_OK;
}

static dit_status mochi_allocate(dit_vae *vae)
{
    return for_each_causal(&vae->relay, vae->state, vae_conv_allocate);
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static vae_tensor activate(const vae_walk *walk, vae_tensor x)
{
    float *data = vae_tensor_data(walk->memory, &x);
    int64_t values = vae_tensor_positions(&x) * x.channels;
    if (!walk->memory->planning) ops_activate(walk->memory->rt, &(dit_activate_args){values, data, data, DIT_ACT_SILU});
    return x;
}

/* Decodes the chunk of `x.frames` latent frames that begins at `first`. */
static dit_status decode_chunk(dit_vae *vae, const vae_walk *walk, vae_source latents, int64_t first, vae_tensor x,
                               vae_planes image)
{
    mochi *m = vae->state;
    const int64_t temporal = vae->facts.temporal, frame = first ? (first - 1) * temporal + 1 : 0;
    DIT_TRY(vae_from_planes(walk->memory, latents, first, x));
    x = vae_linear_forward(walk, &m->conv_in, x, vae_other_slot(x.slot, -1));
    DIT_TRY(vae_tap(vae, x, "decoder.conv_in"));
    for (int i = 0; i < m->c.stages + 2; i++) {
        mochi_stage *stage = &m->stages[i];
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(walk, &stage->resnets[j], x);
        if (stage->time) {
            x = vae_linear_forward(walk, &stage->spread, x, vae_other_slot(x.slot, -1));
            x = vae_spread_channels(walk, x, stage->time, SPACE, 0, vae_other_slot(x.slot, -1));
        }
        DIT_TRY(vae_tap(vae, x, "decoder.block_%d", i));
    }
    x = vae_linear_forward(walk, &m->proj_out, activate(walk, x), vae_other_slot(x.slot, -1));
    const vae_seam seam = {.skip = first ? 0 : temporal - 1};
    return vae_blend_planes(walk->memory, x, 0, x.channels, seam, vae_band_of(vae, image), frame);
}

static dit_status mochi_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    mochi *m = vae->state;
    bool shared = vae->bands.comm;
    int64_t rows = shared ? vae->bands.rows : size.height, frames;
    vae_walk walk = {.memory = &vae->memory, .bands = &vae->bands, .relay = &vae->relay};
    if (shared && latents.data) latents.data += vae->bands.first * latents.row;
    DIT_TRY(for_each_causal(&vae->relay, m, vae_conv_forget));
    for (int64_t first = 0; first < size.frames; first += frames, walk.chunk++) {
        frames = dit_chunk_latents(DIT_ROWS_MOCHI, size.frames, first);
        vae_tensor x = {0, frames, rows, size.width, m->c.latent_channels, shared};
        walk.keep = first + frames < size.frames;
        if (vae->memory.planning || vae_relay_is_own(&vae->relay, walk.chunk))
            DIT_TRY(decode_chunk(vae, &walk, latents, first, x, image));
    }
    return for_each_causal(&vae->relay, m, vae_conv_settle);
}

const dit_vae_class dit_vae_autoencoder_kl_mochi = {
    .class_name = "AutoencoderKLMochi",
    .decoder = DIT_ROWS_MOCHI,
    .read_facts = mochi_read_facts,
    .load = mochi_load,
    .decode = mochi_decode,
    .allocate = mochi_allocate,
};
