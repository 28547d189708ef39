/* AutoencoderKLHunyuanVideo15: the causal video VAE of HunyuanVideo 1.5 with 16 x 16 pixels and 4 frames a latent.
 * Source: Tencent, HunyuanVideo 1.5; parameter names and arithmetic of AutoencoderKLHunyuanVideo15 of diffusers 0.42.1.
 *
 * Attention in the middle sees all positions of its own frame and of the frames before, so the middle block is decoded of all
 * frames at once. What follows looks back two frames and norms see one position each: there the clip is walked one latent frame
 * after the other, as if all were decoded together, and convolutions keep their last frames. The first latent frame is one frame.
 *
 * An upsampling is a convolution whose channels are spread over cells of frames, rows and columns, plus a selection of its
 * input's channels, which repeat. The first frame has cells of rows and columns alone, and every other part of its channels is
 * dropped. Before the first frame it repeats; edges of the image repeat, too. A shared decode is cut after the middle block.
 *
 * The encoder sees the whole clip. Its cells become channels, beside means of its input's channels. */
#include "engine/vae/shortcut.h"
#include "engine/vae/vae_impl.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_STAGES = 8,
    MID_RESNETS = 2,
    CELL = 2,       /* frames, rows and columns of a cell       */
    MAX_HEAD = 2048 /* one head as wide as the channels         */
};

typedef struct {
    int64_t in_channels, out_channels, latent_channels, layers, spatial, temporal;
    double scaling_factor;
    bool match, match_down; /* what changes resolution leads to the next stage's channels */
    int stages, ups, times;
    int64_t widths[MAX_STAGES]; /* in the decoder's order: the coarsest first */
} hv15_config;

typedef struct {
    vae_resnet *resnets;
    int64_t count;
    bool in_space, in_time;
    vae_conv up;
    dit_linear around, around_first; /* selections for all frames, but where time is doubled not the first one */
} hv15_stage;

/* A stage of the encoder; what changes resolution behind it sees the first frame apart where it halves time. */
typedef struct {
    vae_resnet *resnets;
    int64_t count;
    bool in_space, in_time;
    vae_conv down;
    vae_shortcut fold, mean, fold_first, mean_first; /* of what `down` gives, and around it */
} hv15_down;

typedef struct {
    vae_conv conv_in, conv_out;
    hv15_down stages[MAX_STAGES];
    vae_resnet mid[MID_RESNETS];
    vae_attention attention;
    vae_norm norm_out;
    vae_shortcut around_out;
} hv15_encoder;

typedef struct {
    hv15_config c;
    hv15_encoder encoder; /* loaded where it was asked for */
    vae_conv conv_in, conv_out;
    dit_linear around_in;
    vae_resnet mid[MID_RESNETS];
    vae_attention attention;
    hv15_stage stages[MAX_STAGES];
    vae_norm norm_out;
    int32_t *frame_of; /* of each position of all frames of a tile */
} hv15;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(hv15_config, in_channels, "in_channels", 3, 1, 64),
    DIT_CONFIG_INT(hv15_config, out_channels, "out_channels", 3, 1, 64),
    DIT_CONFIG_INT(hv15_config, latent_channels, "latent_channels", 32, 1, 1024),
    DIT_CONFIG_INT(hv15_config, layers, "layers_per_block", 2, 1, 64),
    DIT_CONFIG_INT(hv15_config, spatial, "spatial_compression_ratio", 16, 1, 256),
    DIT_CONFIG_INT(hv15_config, temporal, "temporal_compression_ratio", 4, 1, 256),
    DIT_CONFIG_NUMBER(hv15_config, scaling_factor, "scaling_factor", 1.03682, 1e-6, 1e6),
    DIT_CONFIG_BOOL(hv15_config, match, "upsample_match_channel", true),
    DIT_CONFIG_BOOL(hv15_config, match_down, "downsample_match_channel", true),
    DIT_CONFIG_END,
};

/* Returns the channels behind the upsampling of stage i. */
static int64_t width_after(const hv15_config *c, int i)
{
    return c->match ? c->widths[i + 1] : c->widths[i];
}

static int64_t places_of(const hv15_config *c, int i)
{
    return i < c->times ? CELL * CELL * CELL : CELL * CELL;
}

/* Checks that channels can be led around the first convolution and the upsamplings, as the library does it. */
static dit_status check_widths(const hv15_config *c)
{
    if (c->widths[0] % c->latent_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld channels of the first block are not a multiple of latent_channels %lld",
                        (long long)c->widths[0], (long long)c->latent_channels);
    for (int i = 0; i < c->ups; i++) {
        int64_t in = c->widths[i], out = width_after(c, i), all = places_of(c, i) * out;
        bool halves = i >= c->times || (in % (CELL * CELL * CELL) == 0 && all / in % CELL == 0);
        if (all % in || !halves)
            return DIT_FAIL(DIT_ERR_SHAPE, "block %d of the decoder: %lld channels cannot be led around to %lld", i,
                            (long long)in, (long long)out);
    }
    return DIT_OK;
}

static dit_status read_config(const dit_config *config, hv15_config *c)
{
    int64_t widths[MAX_STAGES] = {128, 256, 512, 1024, 1024};
    *c = (hv15_config){.stages = 5};
    DIT_TRY(dit_config_read(config, fields, c));
    int count = -1;
    DIT_TRY(dit_config_read_ints(config, "block_out_channels", 1, 16384, MAX_STAGES, widths, &count));
    if (count == 0) return DIT_FAIL(DIT_ERR_SHAPE, "block_out_channels is empty: a VAE has at least one stage");
    if (count > 0) c->stages = count;
    for (int i = 0; i < c->stages; i++) c->widths[i] = widths[c->stages - 1 - i];
    while (c->spatial >> (c->ups + 1)) c->ups++;
    while (c->temporal >> (c->times + 1)) c->times++;
    if (c->spatial != INT64_C(1) << c->ups || c->temporal != INT64_C(1) << c->times || c->times > c->ups ||
        c->ups >= c->stages)
        return DIT_FAIL(
            DIT_ERR_UNSUPPORTED,
            "spatial_compression_ratio %lld and temporal_compression_ratio %lld with %d stages: only powers "
            "of two are implemented, the latter up to the former, and a stage more than it doubles",
            (long long)c->spatial, (long long)c->temporal, c->stages);
    if (c->widths[0] > MAX_HEAD)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention over %lld channels: up to %d are implemented",
                        (long long)c->widths[0], MAX_HEAD);
    return check_widths(c);
}

static dit_status hv15_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    hv15_config c;
    DIT_TRY(read_config(config, &c));
    *facts = (dit_vae_facts){.latent_channels = c.latent_channels,
                             .image_channels = c.out_channels,
                             .spatial = c.spatial,
                             .temporal = c.temporal,
                             .one_first = true,
                             .scaling_factor = c.scaling_factor,
                             .tile_height_px = 256,
                             .tile_width_px = 256,
                             .tile_overlap_height = 0.25,
                             .tile_overlap_width = 0.25};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Makes a layer that gives row i of each of `places` parts of `part` rows the channel i / repeats of the same part of the input;
 * rows from `kept` on are zeros. */
static dit_status make_selection(const vae_loader *l, int64_t in, int64_t places, int64_t part, int64_t kept,
                                 dit_linear *out)
{
    float *weights;
    dit_runtime *rt = l->rt;
    const int64_t rows = places * part, repeats = places * kept / in;
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    DIT_TRY(dit_arena_host(&rt->step, rows * in, &weights));
    for (int64_t i = 0; i < dit_runtime_values(rt, rows * in); i++) {
        int64_t row = i / in, at = row / part * kept + row % part;
        weights[i] = row % part < kept && i % in == at / repeats ? 1.0f : 0.0f;
    }
    DIT_TRY(rt->kernels->linear_pack(rt->pool, &rt->run, in, 1, (const float *const[]){weights}, NULL, &rows, out));
    dit_arena_release_to(&rt->step, mark);
    return DIT_OK;
}

static dit_status load_upsampling(const vae_loader *l, const hv15_config *c, int i, hv15_stage *stage)
{
    static const int64_t kernel[3] = {3, 3, 3};
    int64_t in = c->widths[i], out = width_after(c, i), places = places_of(c, i);
    DIT_TRY(vae_load_conv(l, in, places * out, kernel, &stage->up, "decoder.up_blocks.%d.upsamplers.0.conv.conv", i));
    DIT_TRY(make_selection(l, in, places, out, out, &stage->around));
    return stage->in_time ? make_selection(l, in, CELL * CELL, CELL * out, out, &stage->around_first) : DIT_OK;
}

static dit_status load_stage(const vae_loader *l, const hv15_config *c, int i, hv15_stage *stage)
{
    void *resnets;
    int64_t in = i ? width_after(c, i - 1) : c->widths[0];
    if (i > c->ups) in = c->widths[i - 1];
    *stage = (hv15_stage){.count = c->layers + 1, .in_space = i < c->ups, .in_time = i < c->times};
    DIT_TRY(dit_arena_alloc(&l->rt->run, stage->count * (int64_t)sizeof *stage->resnets, &resnets));
    stage->resnets = resnets;
    for (int64_t j = 0; j < stage->count; j++)
        DIT_TRY(vae_load_resnet(l, j ? c->widths[i] : in, c->widths[i], &stage->resnets[j],
                                "decoder.up_blocks.%d.resnets.%lld", i, (long long)j));
    return stage->in_space ? load_upsampling(l, c, i, stage) : DIT_OK;
}

static dit_status load_middle(const vae_loader *l, const char *side, int64_t width, vae_resnet *mid,
                              vae_attention *attention)
{
    char at[48], q[64], k[64], v[64];
    snprintf(at, sizeof at, "%s.mid_block.attentions.0", side);
    snprintf(q, sizeof q, "%s.to_q", at), snprintf(k, sizeof k, "%s.to_k", at), snprintf(v, sizeof v, "%s.to_v", at);
    const dit_linear_part parts[3] = {
        {.prefix = q, .rows = width}, {.prefix = k, .rows = width}, {.prefix = v, .rows = width}};
    for (int i = 0; i < MID_RESNETS; i++)
        DIT_TRY(vae_load_resnet(l, width, width, &mid[i], "%s.mid_block.resnets.%d", side, i));
    DIT_TRY(dit_weights_linear(l->rt, l->weights, parts, 3, width, NULL, &attention->qkv));
    DIT_TRY(dit_weights_linear_named(l->rt, l->weights, width, width, &attention->out, "%s.proj_out", at));
    snprintf(q, sizeof q, "%s.norm", at);
    return vae_load_norm(l, width, &attention->norm, q);
}

/* Loads what halves space, and time in the coarser stages, behind stage i of the encoder. */
static dit_status load_down(const vae_loader *l, int i, int64_t in, int64_t out, hv15_down *stage)
{
    static const int64_t kernel[3] = {3, 3, 3};
    int64_t time = stage->in_time ? CELL : 1, each = out / (CELL * CELL * time);
    if (!each || out % (CELL * CELL * time))
        return DIT_FAIL(DIT_ERR_SHAPE, "block %d of the encoder: %lld channels are no whole number of cells", i,
                        (long long)out);
    DIT_TRY(vae_load_conv(l, in, each, kernel, &stage->down, "encoder.down_blocks.%d.downsamplers.0.conv.conv", i));
    DIT_TRY(vae_make_cells(l, each, out, time, &stage->fold));
    DIT_TRY(vae_make_cells(l, in, out, time, &stage->mean));
    if (!stage->in_time) return DIT_OK;
    DIT_TRY(vae_make_cells(l, each, out, 1, &stage->fold_first));
    return vae_make_cells(l, in, out, 1, &stage->mean_first);
}

/* Loads the encoder, whose stages go from fine to coarse. */
static dit_status load_encoder(const vae_loader *l, const hv15_config *c, hv15_encoder *e)
{
    int64_t width = c->widths[c->stages - 1], moments = 2 * c->latent_channels;
    DIT_TRY(vae_load_causal_conv(l, c->in_channels, width, &e->conv_in, "encoder.conv_in"));
    for (int i = 0; i < c->stages; i++) {
        hv15_down *stage = &e->stages[i];
        int64_t out = c->widths[c->stages - 1 - i], next = out;
        void *resnets;
        *stage = (hv15_down){.count = c->layers, .in_space = i < c->ups};
        stage->in_time = stage->in_space && i >= c->ups - c->times;
        DIT_TRY(dit_arena_alloc(&l->rt->run, stage->count * (int64_t)sizeof *stage->resnets, &resnets));
        stage->resnets = resnets;
        for (int64_t j = 0; j < stage->count; j++)
            DIT_TRY(vae_load_resnet(l, j ? out : width, out, &stage->resnets[j], "encoder.down_blocks.%d.resnets.%lld",
                                    i, (long long)j));
        if (stage->in_space && c->match_down) next = c->widths[c->stages - 2 - i];
        if (stage->in_space) DIT_TRY(load_down(l, i, out, next, stage));
        width = next;
    }
    DIT_TRY(load_middle(l, "encoder", width, e->mid, &e->attention));
    DIT_TRY(vae_load_norm(l, width, &e->norm_out, "encoder.norm_out"));
    DIT_TRY(vae_make_shortcut(l, width, moments, 1, 1, true, &e->around_out));
    return vae_load_causal_conv(l, width, moments, &e->conv_out, "encoder.conv_out");
}

static dit_status hv15_load(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(hv15), &state));
    hv15 *m = vae->state = state;
    DIT_TRY(read_config(&vae->params.config, &m->c));
    const hv15_config *c = &m->c;
    const vae_loader l = {.rt = rt, .weights = vae->params.weights, .depth = 3, .replicate = true, .inside = ".conv"};
    int64_t width = c->widths[0], last = c->widths[c->stages - 1];
    DIT_TRY(vae_load_causal_conv(&l, c->latent_channels, width, &m->conv_in, "decoder.conv_in"));
    DIT_TRY(make_selection(&l, c->latent_channels, 1, width, width, &m->around_in));
    DIT_TRY(load_middle(&l, "decoder", width, m->mid, &m->attention));
    for (int i = 0; i < c->stages; i++) DIT_TRY(load_stage(&l, c, i, &m->stages[i]));
    DIT_TRY(vae_load_norm(&l, last, &m->norm_out, "decoder.norm_out"));
    DIT_TRY(vae_load_causal_conv(&l, last, c->out_channels, &m->conv_out, "decoder.conv_out"));
    return vae->params.encoder ? load_encoder(&l, c, &m->encoder) : DIT_OK;
}

/* ---- causal convolutions ----------------------------------------------------------------------------------------- */

/* Does something to every convolution that keeps frames: those behind the middle block. */
static dit_status for_each_causal(vae_relay *relay, hv15 *m, vae_conv_visitor visit)
{
    for (int i = 0; i < m->c.stages; i++) {
        hv15_stage *stage = &m->stages[i];
        DIT_TRY(vae_resnets_visit(relay, stage->resnets, stage->count, visit));
        if (stage->in_space) DIT_TRY(visit(relay, &stage->up));
    }
    return visit(relay, &m->conv_out);
}

static dit_status hv15_allocate(dit_vae *vae)
{
    hv15 *m = vae->state;
    void *memory;
    DIT_TRY(for_each_causal(&vae->relay, m, vae_conv_allocate));
    const dit_vae_params *p = &vae->params;
    int64_t area = p->encoder ? p->height * p->width : vae->tile.height * vae->tile.width, positions = p->frames * area;
    DIT_TRY(dit_arena_array(&vae->params.rt->step, positions, DIT_DTYPE_INT32, &memory));
    m->frame_of = memory;
    return DIT_OK;
}

/* Says which frame each position belongs to. Counting reads this, too. */
static dit_status place_frames(dit_vae *vae, vae_extents size)
{
    hv15 *m = vae->state;
    int64_t area = size.height * size.width;
    if (!m->frame_of) return DIT_OK; /* memory is being planned */
    for (int64_t i = 0; i < size.frames * area; i++) m->frame_of[i] = (int32_t)(i / area);
    return dit_runtime_upload(vae->params.rt, m->frame_of, size.frames * area);
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

/* Copies frames of x into another slot. */
static vae_tensor copy_frames(const vae_walk *walk, vae_tensor x, int64_t first, int64_t frames, int to)
{
    vae_memory *m = walk->memory;
    vae_tensor y = x;
    y.slot = to, y.frames = frames;
    int64_t frame = x.height * x.width * x.channels;
    float *into = vae_tensor_data(m, &y);
    const float *from = vae_tensor_data(m, &x);
    if (!m->planning) dit_runtime_copy(m->rt, from + first * frame, frames * frame, into);
    return y;
}

/* Keeps the first half of the channels. */
static vae_tensor halve_channels(const vae_walk *walk, vae_tensor x, int to)
{
    vae_memory *m = walk->memory;
    vae_tensor y = x;
    y.slot = to, y.channels /= CELL;
    dit_copy_args args = {.n0 = 1, .n1 = 1, .n2 = vae_tensor_positions(&x), .inner = y.channels};
    args.src_stride[2] = x.channels, args.dst_stride[2] = y.channels;
    args.dst = vae_tensor_data(m, &y), args.src = vae_tensor_data(m, &x);
    if (!m->planning) ops_copy(m->rt, &args);
    return y;
}

/* `begins`: x is the first frame of the clip. */
static vae_tensor upsample(const vae_walk *walk, hv15_stage *stage, bool begins, vae_tensor x)
{
    int a = vae_other_slot(x.slot, -1), b = vae_other_slot(a, -1);
    bool single = stage->in_time && begins;
    vae_tensor y = vae_conv_forward(walk, &stage->up, VAE_CONV_PLAIN, x, a);
    vae_linear_add(walk, single ? &stage->around_first : &stage->around, x, y);
    y = vae_spread_channels(walk, y, stage->in_time && !begins ? CELL : 1, CELL, 0, b);
    return single ? halve_channels(walk, y, a) : y;
}

/* Decodes all frames up to the end of the middle block, and keeps them beside the slots of the walk. */
static dit_status walk_middle(dit_vae *vae, vae_source latents, vae_extents size, vae_tensor *out)
{
    hv15 *m = vae->state;
    vae_walk walk = {.memory = &vae->memory, .frame_of = m->frame_of};
    /* While memory is planned there are no positions yet, but the attention shall plan for all of them. */
    static const int32_t nowhere[1];
    if (!walk.frame_of) walk.frame_of = nowhere;
    vae_tensor x = {0, size.frames, size.height, size.width, m->c.latent_channels, false};
    DIT_TRY(vae_from_planes(walk.memory, latents, 0, x));
    vae_tensor y = vae_conv_forward(&walk, &m->conv_in, VAE_CONV_PLAIN, x, 1);
    vae_linear_add(&walk, &m->around_in, x, y);
    DIT_TRY(vae_tap(vae, y, "decoder.conv_in"));
    y = vae_resnet_forward(&walk, &m->mid[0], y);
    y = vae_attention_forward(&walk, &m->attention, y);
    y = vae_resnet_forward(&walk, &m->mid[1], y);
    DIT_TRY(vae_tap(vae, y, "decoder.mid_block"));
    *out = copy_frames(&walk, y, 0, size.frames, VAE_SLOT_LATENT);
    return DIT_OK;
}

static dit_status decode_frame(dit_vae *vae, vae_tensor middle, int64_t frame, vae_planes image)
{
    hv15 *m = vae->state;
    vae_walk walk = {.memory = &vae->memory, .bands = &vae->bands, .relay = &vae->relay};
    walk.chunk = frame, walk.keep = frame + 1 < middle.frames;
    vae_tensor x = vae_take_band(&walk, copy_frames(&walk, middle, frame, 1, 0));
    for (int i = 0; i < m->c.stages; i++) {
        hv15_stage *stage = &m->stages[i];
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(&walk, &stage->resnets[j], x);
        if (stage->in_space) x = upsample(&walk, stage, frame == 0, x);
        DIT_TRY(vae_tap(vae, x, "decoder.up_block_%d", i));
    }
    x = vae_norm_forward(&walk, &m->norm_out, DIT_ACT_SILU, x, x.slot);
    x = vae_conv_forward(&walk, &m->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    return vae_to_planes(walk.memory, x, 0, x.channels, vae_band_of(vae, image),
                         frame ? (frame - 1) * m->c.temporal + 1 : 0);
}

static dit_status hv15_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    hv15 *m = vae->state;
    vae_tensor middle;
    DIT_TRY(place_frames(vae, size));
    DIT_TRY(walk_middle(vae, latents, size, &middle));
    DIT_TRY(for_each_causal(&vae->relay, m, vae_conv_forget));
    for (int64_t frame = 0; frame < size.frames; frame++)
        if (vae->memory.planning || vae_relay_is_own(&vae->relay, frame))
            DIT_TRY(decode_frame(vae, middle, frame, image));
    return for_each_causal(&vae->relay, m, vae_conv_settle);
}

/* Halves space, and in some stages time: each two frames behind the first one, which stands alone. */
static vae_tensor downsample(const vae_walk *walk, hv15_down *stage, vae_tensor x)
{
    int a = vae_other_slot(x.slot, -1), b = vae_other_slot(x.slot, a);
    int64_t single = stage->in_time, frames = stage->in_time ? x.frames / CELL : x.frames;
    vae_tensor h = vae_conv_forward(walk, &stage->down, VAE_CONV_PLAIN, x, a);
    vae_tensor y = {b, single + frames, x.height / CELL, x.width / CELL, stage->fold.out, x.band};
    if (single) vae_cells_bring(walk, &stage->fold_first, h, 0, true, y, 0, 1);
    if (single) vae_cells_bring(walk, &stage->mean_first, x, 0, false, y, 0, 1);
    vae_cells_bring(walk, &stage->fold, h, single, true, y, single, frames);
    vae_cells_bring(walk, &stage->mean, x, single, false, y, single, frames);
    return y;
}

static dit_status hv15_encode(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar)
{
    static const int32_t nowhere[1]; /* as in walk_middle */
    hv15 *m = vae->state;
    hv15_encoder *e = &m->encoder;
    vae_walk walk = {.memory = &vae->memory, .frame_of = m->frame_of ? m->frame_of : nowhere};
    int64_t spatial = m->c.spatial, z = m->c.latent_channels;
    DIT_TRY(place_frames(vae, size));
    vae_tensor x = {0,
                    dit_vae_output_frames(&vae->facts, size.frames),
                    size.height * spatial,
                    size.width * spatial,
                    m->c.in_channels,
                    false};
    DIT_TRY(vae_from_planes(walk.memory, image, 0, x));
    x = vae_conv_forward(&walk, &e->conv_in, VAE_CONV_PLAIN, x, 1);
    for (int i = 0; i < m->c.stages; i++) {
        hv15_down *stage = &e->stages[i];
        for (int64_t j = 0; j < stage->count; j++) x = vae_resnet_forward(&walk, &stage->resnets[j], x);
        if (stage->in_space) x = downsample(&walk, stage, x);
    }
    x = vae_resnet_forward(&walk, &e->mid[0], x);
    x = vae_attention_forward(&walk, &e->attention, x);
    x = vae_resnet_forward(&walk, &e->mid[1], x);
    int a = vae_other_slot(x.slot, -1);
    vae_tensor y = vae_norm_forward(&walk, &e->norm_out, DIT_ACT_SILU, x, a);
    y = vae_conv_forward(&walk, &e->conv_out, VAE_CONV_PLAIN, y, vae_other_slot(x.slot, a));
    vae_shortcut_add(&walk, &e->around_out, x, false, y);
    DIT_TRY(vae_to_planes(walk.memory, y, 0, z, mean, 0));
    return vae_to_planes(walk.memory, y, z, z, logvar, 0);
}

const dit_vae_class dit_vae_autoencoder_kl_hunyuan_video15 = {
    .class_name = "AutoencoderKLHunyuanVideo15",
    .decoder = DIT_ROWS_HUNYUAN15,
    .read_facts = hv15_read_facts,
    .load = hv15_load,
    .decode = hv15_decode,
    .encode = hv15_encode,
    .allocate = hv15_allocate,
};
