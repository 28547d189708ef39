/* AutoencoderDC: the deep compression VAE of Sana, of 32 x 32 pixels a latent, decoder and encoder. Coarse stages are blocks of linear
 * attention over all positions and of a gated network with a depthwise convolution, fine ones are residual blocks; between two
 * stages rows and columns double, beside a way around that repeats channels, or halve beside one that takes means (shortcut.c).
 * The encoder gives one latent, not a distribution.
 * Source: Chen et al., Deep Compression Autoencoder (arXiv:2410.10733); parameter names and arithmetic of diffusers 0.42.1
 * AutoencoderDC. A decode shared by rows is cut after the last stage that has attention (base/rows.c); every rank computes what
 * stands before. Few positions, at most as wide as a head, are attended to by the same sums, which the library adds in another
 * order. */
#include "engine/vae/shortcut.h"
#include "engine/vae/vae_impl.h"

#include <stdio.h>
#include <string.h>

enum { MAX_STAGES = 8, MAX_SCALES = 2, PART_NAME = 192, NETWORK_RATIO = 4, CELL = 2 };
static const float ATTENTION_EPS = 1e-15f, NORM_EPS = 1e-5f;

typedef struct {
    int64_t out_channels, latent_channels, head;
    double scaling_factor;
    bool decodes;               /* else it is the encoder's                                        */
    bool end_shortcut, strides; /* around the coarse end; space changes by a stride, or by nearest pixels: no shuffle */
    int stages;                 /* what follows is of each, from coarse to fine; of the encoder from fine to coarse */
    int64_t widths[MAX_STAGES], layers[MAX_STAGES];
    bool attends[MAX_STAGES];
    int64_t scales[MAX_STAGES][MAX_SCALES];
    int scale_count[MAX_STAGES];
} dc_config;

typedef struct {
    const float *weight, *bias;
} dc_norm;

/* q, k and v once more, convolved: depthwise, then within heads. */
typedef struct {
    int64_t kernel;
    const float *depthwise; /* [3 C, kernel, kernel] */
    dit_linear *groups;     /* [3 C / head], head by head */
} dc_scale;

/* A residual block, or attention and a gated network. */
typedef struct {
    vae_conv conv1, conv2;
    dc_norm norm, network_norm;
    dit_linear qkv, out, in, down;
    dc_scale scale[MAX_SCALES];
    const float *channels, *channel_bias; /* of the network's depthwise convolution */
} dc_block;

typedef struct {
    vae_conv scale;    /* from the stage before; none of the first */
    vae_shortcut fold; /* of an encoder that shuffles              */
    vae_shortcut around;
    dc_block *blocks;
} dc_stage;

typedef struct {
    dc_config c;
    vae_conv conv_in, conv_out;
    vae_shortcut around_end; /* around conv_in of the decoder, conv_out of the encoder */
    dc_stage stages[MAX_STAGES];
    dc_norm norm_out;
    float *state; /* of linear attention, fp32, for the most heads of a stage */
} dc_coder;

typedef struct {
    dc_coder decoder, encoder;
} dc;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(dc_config, out_channels, "in_channels", 3, 1, 64),
    DIT_CONFIG_INT(dc_config, latent_channels, "latent_channels", 32, 1, 1024),
    DIT_CONFIG_INT(dc_config, head, "attention_head_dim", 32, 1, 1024),
    DIT_CONFIG_NUMBER(dc_config, scaling_factor, "scaling_factor", 1.0, 1e-6, 1e6),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {{"decoder_conv_act_fn", "relu"}, {0}};

static dit_status require_word(const dit_config *config, const char *key, int index, const char *only_word)
{
    const char *word;
    DIT_TRY(dit_config_word_at(config, key, index, &word));
    if (!word || strcmp(word, only_word) == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is %.80s, but only %s is implemented", key, word, only_word);
}

/* Gives the name of one of the coder's keys. */
static const char *key_of(const dc_config *c, const char *name, char out[PART_NAME])
{
    snprintf(out, PART_NAME, "%s_%s", c->decodes ? "decoder" : "encoder", name);
    return out;
}

static dit_status read_scales(const dit_config *config, int index, int count, dc_config *c, int stage)
{
    char key[PART_NAME];
    const cJSON *all = dit_json_member(config->object, key_of(c, "qkv_multiscales", key)), *item;
    const cJSON *own = all ? cJSON_GetArrayItem(all, index) : NULL;
    if (!all && index >= count / 2) c->scales[stage][c->scale_count[stage]++] = 5;
    cJSON_ArrayForEach(item, own)
    {
        double kernel = cJSON_IsNumber(item) ? item->valuedouble : 0;
        if (c->scale_count[stage] == MAX_SCALES || !(kernel == 3 || kernel == 5 || kernel == 7))
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s: at most %d kernels of 3, 5 or 7 are built", key, MAX_SCALES);
        c->scales[stage][c->scale_count[stage]++] = (int64_t)kernel;
    }
    return DIT_OK;
}

static dit_status read_stage(const dit_config *config, int index, dc_config *c)
{
    int stage = c->decodes ? c->stages - 1 - index : index;
    char key[PART_NAME];
    const char *kind;
    DIT_TRY(dit_config_word_at(config, key_of(c, "block_types", key), index, &kind));
    if (c->decodes) DIT_TRY(require_word(config, "decoder_norm_types", index, "rms_norm"));
    if (c->decodes) DIT_TRY(require_word(config, "decoder_act_fns", index, "silu"));
    c->attends[stage] = kind && strcmp(kind, "EfficientViTBlock") == 0;
    if (kind && !c->attends[stage] && strcmp(kind, "ResBlock") != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has %.80s; ResBlock and EfficientViTBlock are built", key, kind);
    if (!c->attends[stage]) return DIT_OK;
    if (c->widths[stage] % c->head)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld channels are not divisible by attention_head_dim %lld",
                        (long long)c->widths[stage], (long long)c->head);
    return read_scales(config, index, c->stages, c, stage);
}

/* Lists go from fine to coarse, and the decoder from coarse to fine. */
static dit_status read_lists(const dit_config *config, dc_config *c)
{
    int64_t widths[MAX_STAGES] = {128, 256, 512, 512, 1024, 1024}, layers[MAX_STAGES];
    char key[PART_NAME], layers_key[PART_NAME];
    int count = -1, layer_count = -1;
    for (int i = 0; i < MAX_STAGES; i++) layers[i] = c->decodes || i >= 3 ? 3 : 2;
    key_of(c, "block_out_channels", key), key_of(c, "layers_per_block", layers_key);
    DIT_TRY(dit_config_read_ints(config, key, 1, 16384, MAX_STAGES, widths, &count));
    DIT_TRY(dit_config_read_ints(config, layers_key, 1, 64, MAX_STAGES, layers, &layer_count));
    c->stages = count < 0 ? 6 : count;
    if (c->stages < 1 || (layer_count < 0 ? 6 : layer_count) != c->stages)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s has %d entries, %s %d", key, c->stages, layers_key,
                        layer_count < 0 ? 6 : layer_count);
    for (int i = 0; i < c->stages; i++) {
        int stage = c->decodes ? c->stages - 1 - i : i;
        c->widths[stage] = widths[i], c->layers[stage] = layers[i];
    }
    for (int i = 0; i < c->stages; i++) DIT_TRY(read_stage(config, i, c));
    return DIT_OK;
}

/* Reads what the config says of the decoder or of the encoder. */
static dit_status read_config(const dit_config *config, bool decodes, dc_config *c)
{
    const char *key = decodes ? "upsample_block_type" : "downsample_block_type";
    const char *shuffles = decodes ? "pixel_shuffle" : "pixel_unshuffle", *strides = decodes ? "interpolate" : "conv";
    const char *word = shuffles;
    *c = (dc_config){.decodes = decodes, .end_shortcut = true};
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(dit_json_optional_bool(config->doc, config->object, config->pointer,
                                   decodes ? "decoder_in_shortcut" : "encoder_out_shortcut", &c->end_shortcut));
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, key, &word));
    c->strides = decodes ? strcmp(word, strides) == 0 : strcmp(word, shuffles) != 0; /* as the library asks */
    if (decodes && !c->strides && strcmp(word, shuffles) != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is %.80s; %s and %s are built", key, word, shuffles, strides);
    return read_lists(config, c);
}

static dit_status dc_read_facts(const dit_config *config, dit_vae_facts *facts)
{
    dc_config c;
    DIT_TRY(read_config(config, true, &c));
    *facts = (dit_vae_facts){.latent_channels = c.latent_channels,
                             .image_channels = c.out_channels,
                             .spatial = INT64_C(1) << (c.stages - 1),
                             .temporal = 1,
                             .certain = true,
                             .scaling_factor = c.scaling_factor,
                             .tile_height_px = 512,
                             .tile_width_px = 512,
                             .tile_overlap_height = 0.125,
                             .tile_overlap_width = 0.125};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_norm(const vae_loader *l, int64_t channels, dc_norm *norm, const char *prefix, const char *name)
{
    char full[PART_NAME];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    DIT_TRY(dit_weights_load(l->rt, l->weights, full, 1, &channels, DIT_INIT_NORM, &norm->weight));
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    return dit_weights_load(l->rt, l->weights, full, 1, &channels, DIT_INIT_BIAS, &norm->bias);
}

/* Loads the layers of groups of channels, each over its own, which stand in one parameter. */
static dit_status load_groups(const vae_loader *l, int64_t channels, int64_t head, const char *prefix, dc_scale *scale)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&l->rt->run, channels / head * (int64_t)sizeof *scale->groups, &memory));
    scale->groups = memory;
    for (int64_t i = 0; i < channels / head; i++) {
        const dit_linear_part part = {.prefix = prefix, .rows = head, .first = i * head, .whole = channels};
        DIT_TRY(dit_weights_linear(l->rt, l->weights, &part, 1, head, NULL, &scale->groups[i]));
    }
    return DIT_OK;
}

static dit_status load_scale(const vae_loader *l, int64_t C, int64_t head, const char *prefix, int index,
                             dc_scale *scale)
{
    char name[PART_NAME];
    const int64_t shape[2] = {3 * C, scale->kernel * scale->kernel};
    snprintf(name, sizeof name, "%s.attn.to_qkv_multiscale.%d.proj_in.weight", prefix, index);
    DIT_TRY(dit_weights_load(l->rt, l->weights, name, 2, shape, DIT_INIT_LINEAR, &scale->depthwise));
    snprintf(name, sizeof name, "%s.attn.to_qkv_multiscale.%d.proj_out", prefix, index);
    return load_groups(l, 3 * C, head, name, scale);
}

static dit_status load_attention(const vae_loader *plain, const dc_config *c, int stage, const char *prefix,
                                 dc_block *b)
{
    static const char *const names[] = {"to_q", "to_k", "to_v"};
    char full[3][PART_NAME];
    int64_t C = c->widths[stage];
    dit_linear_part parts[3];
    for (int i = 0; i < 3; i++) {
        snprintf(full[i], PART_NAME, "%s.attn.%s", prefix, names[i]);
        parts[i] = (dit_linear_part){.prefix = full[i], .rows = C};
    }
    DIT_TRY(dit_weights_linear(plain->rt, plain->weights, parts, 3, C, NULL, &b->qkv));
    for (int i = 0; i < c->scale_count[stage]; i++) {
        b->scale[i].kernel = c->scales[stage][i];
        DIT_TRY(load_scale(plain, C, c->head, prefix, i, &b->scale[i]));
    }
    DIT_TRY(load_norm(plain, C, &b->norm, prefix, ".attn.norm_out"));
    return dit_weights_linear_named(plain->rt, plain->weights, C, (1 + c->scale_count[stage]) * C, &b->out,
                                    "%s.attn.to_out", prefix);
}

static dit_status load_network(const vae_loader *l, const vae_loader *plain, int64_t C, const char *prefix, dc_block *b)
{
    char name[PART_NAME];
    const int64_t wide = 2 * NETWORK_RATIO * C, shape[2] = {wide, 9};
    DIT_TRY(dit_weights_linear_named(l->rt, l->weights, wide, C, &b->in, "%s.conv_out.conv_inverted", prefix));
    snprintf(name, sizeof name, "%s.conv_out.conv_depth.weight", prefix);
    DIT_TRY(dit_weights_load(l->rt, l->weights, name, 2, shape, DIT_INIT_LINEAR, &b->channels));
    snprintf(name, sizeof name, "%s.conv_out.conv_depth.bias", prefix);
    DIT_TRY(dit_weights_load(l->rt, l->weights, name, 1, &wide, DIT_INIT_BIAS, &b->channel_bias));
    DIT_TRY(load_norm(l, C, &b->network_norm, prefix, ".conv_out.norm"));
    return dit_weights_linear_named(plain->rt, plain->weights, C, NETWORK_RATIO * C, &b->down, "%s.conv_out.conv_point",
                                    prefix);
}

static dit_status load_block(const vae_loader *l, const vae_loader *plain, const dc_config *c, int stage,
                             const char *prefix, dc_block *b)
{
    static const int64_t kernel[3] = {1, 3, 3};
    int64_t C = c->widths[stage];
    if (c->attends[stage]) {
        DIT_TRY(load_attention(plain, c, stage, prefix, b));
        return load_network(l, plain, C, prefix, b);
    }
    DIT_TRY(vae_load_conv(l, C, C, kernel, &b->conv1, "%s.conv1", prefix));
    DIT_TRY(vae_load_conv(plain, C, C, kernel, &b->conv2, "%s.conv2", prefix));
    return load_norm(l, C, &b->norm, prefix, ".norm");
}

/* Loads what doubles rows and columns on the way to a stage. */
static dit_status load_up(const vae_loader *l, const dc_config *c, int stage, dc_stage *s)
{
    static const int64_t kernel[3] = {1, 3, 3};
    vae_loader spread = *l;
    spread.places = c->strides ? 0 : CELL * CELL;
    int64_t in = c->widths[stage - 1], out = c->widths[stage];
    DIT_TRY(vae_load_conv(&spread, in, c->strides ? out : CELL * CELL * out, kernel, &s->scale,
                          "decoder.up_blocks.%d.0.conv", c->stages - 1 - stage));
    return vae_make_shortcut(l, in, out, 1, CELL, false, &s->around);
}

/* Loads what halves them; it is the last part of the stage before. */
static dit_status load_down(const vae_loader *l, const dc_config *c, int stage, dc_stage *s)
{
    static const int64_t kernel[3] = {1, 3, 3};
    int64_t in = c->widths[stage - 1], out = c->widths[stage], each = c->strides ? out : out / (CELL * CELL);
    if (!each || (!c->strides && out % (CELL * CELL)))
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld channels of the encoder are no whole number of cells", (long long)out);
    DIT_TRY(vae_load_conv(l, in, each, kernel, &s->scale, "encoder.down_blocks.%d.%lld.conv", stage - 1,
                          (long long)c->layers[stage - 1]));
    if (!c->strides) DIT_TRY(vae_make_shortcut(l, each, out, 1, CELL, true, &s->fold));
    return vae_make_shortcut(l, in, out, 1, CELL, true, &s->around);
}

/* The names' numbers go from fine to coarse, and of the decoder count what leads to a stage as its first part. */
static dit_status load_stage(const vae_loader *l, const vae_loader *plain, const dc_config *c, int stage, dc_stage *s)
{
    char prefix[PART_NAME / 2];
    int number = c->decodes ? c->stages - 1 - stage : stage;
    void *blocks;
    DIT_TRY(dit_arena_alloc(&l->rt->run, c->layers[stage] * (int64_t)sizeof *s->blocks, &blocks));
    s->blocks = blocks;
    if (stage > 0) DIT_TRY((c->decodes ? load_up : load_down)(l, c, stage, s));
    for (int64_t i = 0; i < c->layers[stage]; i++) {
        snprintf(prefix, sizeof prefix, c->decodes ? "decoder.up_blocks.%d.%lld" : "encoder.down_blocks.%d.%lld",
                 number, (long long)(i + (c->decodes && stage > 0)));
        DIT_TRY(load_block(l, plain, c, stage, prefix, &s->blocks[i]));
    }
    return DIT_OK;
}

static dit_status take_state(dit_runtime *rt, dc_coder *m)
{
    int64_t most = 0;
    for (int i = 0; i < m->c.stages; i++) {
        int64_t heads = m->c.attends[i] ? (1 + m->c.scale_count[i]) * m->c.widths[i] / m->c.head : 0;
        if (heads > most) most = heads;
    }
    return dit_arena_fp32(&rt->run, most * m->c.head * (m->c.head + 1), &m->state);
}

static dit_status load_decoder(const vae_loader *l, const vae_loader *plain, dc_coder *m)
{
    const dc_config *c = &m->c;
    int64_t last = c->widths[c->stages - 1];
    DIT_TRY(vae_load_causal_conv(l, c->latent_channels, c->widths[0], &m->conv_in, "decoder.conv_in"));
    if (c->end_shortcut) DIT_TRY(vae_make_shortcut(l, c->latent_channels, c->widths[0], 1, 1, false, &m->around_end));
    for (int i = 0; i < c->stages; i++) DIT_TRY(load_stage(l, plain, c, i, &m->stages[i]));
    DIT_TRY(load_norm(l, last, &m->norm_out, "decoder.norm_out", ""));
    DIT_TRY(vae_load_causal_conv(l, last, c->out_channels, &m->conv_out, "decoder.conv_out"));
    return take_state(l->rt, m);
}

static dit_status load_encoder(const vae_loader *l, const vae_loader *plain, int stages, dc_coder *m)
{
    const dc_config *c = &m->c;
    int64_t last = c->widths[c->stages - 1];
    if (c->stages != stages)
        return DIT_FAIL(DIT_ERR_SHAPE, "the encoder has %d stages, the decoder %d", c->stages, stages);
    DIT_TRY(vae_load_causal_conv(l, c->out_channels, c->widths[0], &m->conv_in, "encoder.conv_in"));
    for (int i = 0; i < c->stages; i++) DIT_TRY(load_stage(l, plain, c, i, &m->stages[i]));
    if (c->end_shortcut) DIT_TRY(vae_make_shortcut(l, last, c->latent_channels, 1, 1, true, &m->around_end));
    DIT_TRY(vae_load_causal_conv(l, last, c->latent_channels, &m->conv_out, "encoder.conv_out"));
    return take_state(l->rt, m);
}

static dit_status dc_load(dit_vae *vae)
{
    dit_runtime *rt = vae->params.rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(dc), &state));
    dc *m = vae->state = state;
    dit_weights unbiased = *vae->params.weights;
    unbiased.without_biases = true;
    const vae_loader l = {.rt = rt, .weights = vae->params.weights, .depth = 1};
    const vae_loader plain = {.rt = rt, .weights = &unbiased, .depth = 1, .unbiased = true};
    DIT_TRY(read_config(&vae->params.config, true, &m->decoder.c));
    DIT_TRY(load_decoder(&l, &plain, &m->decoder));
    if (!vae->params.encoder) return DIT_OK;
    DIT_TRY(read_config(&vae->params.config, false, &m->encoder.c));
    return load_encoder(&l, &plain, m->decoder.c.stages, &m->encoder);
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static vae_tensor in_slot(vae_tensor x, int slot, int64_t channels)
{
    x.slot = slot, x.channels = channels;
    return x;
}

static void activate(const vae_walk *walk, dit_activation activation, vae_tensor x)
{
    float *data = vae_tensor_data(walk->memory, &x);
    if (walk->memory->planning) return;
    ops_activate(walk->memory->rt, &(dit_activate_args){vae_tensor_positions(&x) * x.channels, data, data, activation});
}

static void normalise(const vae_walk *walk, const dc_norm *norm, vae_tensor x)
{
    float *data = vae_tensor_data(walk->memory, &x);
    dit_norm_args args = {.kind = DIT_NORM_RMS, .rows = vae_tensor_positions(&x), .C = x.channels, .eps = NORM_EPS};
    args.x = args.y = data, args.ldx = args.ldy = x.channels, args.weight = norm->weight, args.bias = norm->bias;
    if (!walk->memory->planning) ops_norm(walk->memory->rt, &args);
}

/* x += y. */
static void add(const vae_walk *walk, vae_tensor x, vae_tensor y)
{
    float *to = vae_tensor_data(walk->memory, &x), *more = vae_tensor_data(walk->memory, &y);
    if (walk->memory->planning) return;
    ops_combine(walk->memory->rt, &(dit_combine_args){.elements = vae_tensor_positions(&x) * x.channels,
                                                      .count = 2,
                                                      .x = {to, more},
                                                      .a = {1.0f, 1.0f},
                                                      .y = to});
}

static vae_tensor residual_block(const vae_walk *walk, dc_block *b, vae_tensor x)
{
    int first = vae_other_slot(x.slot, -1), second = vae_other_slot(x.slot, first);
    vae_tensor hidden = vae_conv_forward(walk, &b->conv1, VAE_CONV_PLAIN, x, first);
    activate(walk, DIT_ACT_SILU, hidden);
    hidden = vae_conv_forward(walk, &b->conv2, VAE_CONV_PLAIN, hidden, second);
    normalise(walk, &b->norm, hidden);
    add(walk, x, hidden);
    return x;
}

/* Rows of `all` floats at `qkv`, of which the first 3 C are q, k and v, get those of the scale `index` behind them. */
static void convolve_scale(const vae_walk *walk, const dc_scale *scale, const vae_tensor *x, int index, int64_t head,
                           float *qkv, int64_t all, float *room)
{
    dit_runtime *rt = walk->memory->rt;
    int64_t wide = 3 * x->channels;
    ops_depthwise(rt, &(dit_depthwise_args){.batch = x->frames,
                                            .height = x->height,
                                            .width = x->width,
                                            .C = wide,
                                            .kernel = scale->kernel,
                                            .x = qkv,
                                            .ldx = all,
                                            .weight = scale->depthwise,
                                            .y = room,
                                            .ldy = wide});
    for (int64_t i = 0; i < wide / head; i++)
        ops_linear(rt, &(dit_linear_args){.weights = &scale->groups[i],
                                          .rows = vae_tensor_positions(x),
                                          .x = room + i * head,
                                          .ldx = wide,
                                          .y = qkv + (1 + index) * wide + i * head,
                                          .ldy = all});
}

/* Heads have their q, k and v one behind the other: they are the batch of an attention with one head. */
static void attend(const dc_coder *m, const vae_walk *walk, const vae_tensor *x, const float *qkv, int64_t all,
                   float *out)
{
    dit_runtime *rt = walk->memory->rt;
    int64_t D = m->c.head, heads = all / (3 * D), positions = x->height * x->width;
    dit_linear_attention_args args = {
        .B = heads, .H = 1, .S = positions, .D = D, .state = m->state, .eps = ATTENTION_EPS};
    args.ldq = args.ldk = args.ldv = all, args.batch_q = args.batch_k = args.batch_v = 3 * D;
    args.ldo = heads * D, args.batch_o = D;
    args.q = qkv, args.k = qkv + D, args.v = qkv + 2 * D, args.out = out;
    ops_linear_state(rt, &args);
    ops_linear_attention(rt, &args);
}

/* x += norm(W attention(x)); x is one frame. */
static void attention(const dc_coder *m, const vae_walk *walk, const dc_block *b, int scales, vae_tensor x)
{
    vae_memory *memory = walk->memory;
    int64_t C = x.channels, all = (1 + scales) * 3 * C;
    int first = vae_other_slot(x.slot, -1), second = vae_other_slot(x.slot, first);
    vae_tensor qkv = in_slot(x, first, all), room = in_slot(x, second, 3 * C);
    vae_tensor attended = in_slot(x, second, (1 + scales) * C), out = in_slot(x, first, C);
    float *at = vae_tensor_data(memory, &qkv), *beside = vae_tensor_data(memory, &room);
    const float *from = vae_tensor_data(memory, &x);
    (void)vae_tensor_data(memory, &attended);
    if (!memory->planning) {
        ops_linear(memory->rt,
                   &(dit_linear_args){
                       .weights = &b->qkv, .rows = vae_tensor_positions(&x), .x = from, .ldx = C, .y = at, .ldy = all});
        for (int i = 0; i < scales; i++) convolve_scale(walk, &b->scale[i], &x, i, m->c.head, at, all, beside);
        attend(m, walk, &x, at, all, beside);
    }
    out = vae_linear_forward(walk, &b->out, attended, first);
    normalise(walk, &b->norm, out);
    add(walk, x, out);
}

/* x += norm(W2 (value silu(gate))) of [value | gate] = conv(silu(W1 x)). */
static void network(const vae_walk *walk, const dc_block *b, vae_tensor x)
{
    vae_memory *memory = walk->memory;
    int64_t C = x.channels, half = NETWORK_RATIO * C;
    int first = vae_other_slot(x.slot, -1), second = vae_other_slot(x.slot, first);
    vae_tensor wide = vae_linear_forward(walk, &b->in, x, first), convolved = in_slot(x, second, 2 * half);
    activate(walk, DIT_ACT_SILU, wide);
    const float *from = vae_tensor_data(memory, &wide);
    float *to = vae_tensor_data(memory, &convolved);
    vae_tensor gated = in_slot(x, first, half), out;
    float *product = vae_tensor_data(memory, &gated);
    if (!memory->planning) {
        ops_depthwise(memory->rt, &(dit_depthwise_args){.batch = x.frames,
                                                        .height = x.height,
                                                        .width = x.width,
                                                        .C = 2 * half,
                                                        .kernel = 3,
                                                        .x = from,
                                                        .ldx = 2 * half,
                                                        .weight = b->channels,
                                                        .bias = b->channel_bias,
                                                        .y = to,
                                                        .ldy = 2 * half});
        ops_multiply(memory->rt, &(dit_multiply_args){.rows = vae_tensor_positions(&x),
                                                      .cols = half,
                                                      .x = to + half,
                                                      .ldx = 2 * half,
                                                      .factor = to,
                                                      .ld_factor = 2 * half,
                                                      .y = product,
                                                      .ldy = half,
                                                      .activation = DIT_ACT_SILU});
    }
    out = vae_linear_forward(walk, &b->down, gated, second);
    normalise(walk, &b->network_norm, out);
    add(walk, x, out);
}

/* Doubles rows and columns on the way to a stage. */
static vae_tensor upsample(const dc_coder *m, const vae_walk *walk, dc_stage *s, vae_tensor x)
{
    vae_tensor kept = vae_shortcut_keep(walk, x);
    int to = vae_other_slot(x.slot, -1);
    if (m->c.strides)
        x = vae_conv_forward(walk, &s->scale, VAE_CONV_UP, x, to);
    else {
        x = vae_conv_forward(walk, &s->scale, VAE_CONV_PLAIN, x, to);
        x = vae_spread_channels(walk, x, 1, CELL, 0, vae_other_slot(to, -1));
    }
    vae_shortcut_add(walk, &s->around, kept, false, x);
    return x;
}

/* Halves them. */
static vae_tensor downsample(const dc_coder *m, const vae_walk *walk, dc_stage *s, vae_tensor x)
{
    int first = vae_other_slot(x.slot, -1), second = vae_other_slot(x.slot, first);
    vae_tensor y = vae_conv_forward(walk, &s->scale, m->c.strides ? VAE_CONV_HALVE : VAE_CONV_PLAIN, x, first);
    if (!m->c.strides) y = vae_shortcut_reduce(walk, &s->fold, y, second);
    vae_shortcut_add(walk, &s->around, x, false, y);
    return y;
}

static vae_tensor walk_stage(dc_coder *m, const vae_walk *walk, int stage, vae_tensor x)
{
    dc_stage *s = &m->stages[stage];
    if (stage > 0) x = (m->c.decodes ? upsample : downsample)(m, walk, s, x);
    for (int64_t i = 0; i < m->c.layers[stage]; i++) {
        if (!m->c.attends[stage]) {
            x = residual_block(walk, &s->blocks[i], x);
            continue;
        }
        attention(m, walk, &s->blocks[i], m->c.scale_count[stage], x);
        network(walk, &s->blocks[i], x);
    }
    return x;
}

/* How many stages, from the coarsest on, every rank computes for itself. */
static int stages_before_cut(const dc_config *c)
{
    int before = 0;
    for (int i = 0; i < c->stages; i++)
        if (c->attends[i]) before = i + 1;
    return before;
}

static dit_status decode_frame(dit_vae *vae, vae_source latents, int64_t frame, vae_extents size, vae_planes image)
{
    dc_coder *m = &((dc *)vae->state)->decoder;
    vae_walk walk = {.memory = &vae->memory, .bands = &vae->bands};
    vae_tensor x = {0, 1, size.height, size.width, m->c.latent_channels, false}, kept = x;
    DIT_TRY(vae_from_planes(walk.memory, latents, frame, x));
    if (m->c.end_shortcut) kept = vae_shortcut_keep(&walk, x);
    x = vae_conv_forward(&walk, &m->conv_in, VAE_CONV_PLAIN, x, 1);
    DIT_TRY(vae_tap(vae, x, "decoder.conv_in"));
    if (m->c.end_shortcut) vae_shortcut_add(&walk, &m->around_end, kept, false, x);
    for (int i = 0; i <= m->c.stages; i++) {
        if (i == stages_before_cut(&m->c)) x = vae_take_band(&walk, x);
        if (i == m->c.stages) break;
        x = walk_stage(m, &walk, i, x);
        DIT_TRY(vae_tap(vae, x, "decoder.up_blocks.%d", m->c.stages - 1 - i));
    }
    normalise(&walk, &m->norm_out, x);
    activate(&walk, DIT_ACT_RELU, x);
    x = vae_conv_forward(&walk, &m->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    return vae_to_planes(walk.memory, x, 0, x.channels, vae_band_of(vae, image), frame);
}

static dit_status dc_decode(dit_vae *vae, vae_source latents, vae_extents size, vae_planes image)
{
    for (int64_t frame = 0; frame < size.frames; frame++) DIT_TRY(decode_frame(vae, latents, frame, size, image));
    return DIT_OK;
}

/* The library knows no deviation: logvar says the least that a distribution may have. */
static dit_status encode_frame(dit_vae *vae, vae_source image, int64_t frame, vae_extents size, vae_planes mean,
                               vae_planes logvar)
{
    static const float CERTAIN = -30.0f;
    dc_coder *m = &((dc *)vae->state)->encoder;
    vae_walk walk = {.memory = &vae->memory};
    int64_t spatial = vae->facts.spatial, z = m->c.latent_channels;
    vae_tensor x = {0, 1, size.height * spatial, size.width * spatial, m->c.out_channels, false};
    DIT_TRY(vae_from_planes(walk.memory, image, frame, x));
    x = vae_conv_forward(&walk, &m->conv_in, VAE_CONV_PLAIN, x, 1);
    for (int i = 0; i < m->c.stages; i++) x = walk_stage(m, &walk, i, x);
    vae_tensor y = vae_conv_forward(&walk, &m->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    if (m->c.end_shortcut) vae_shortcut_add(&walk, &m->around_end, x, false, y);
    DIT_TRY(vae_to_planes(walk.memory, y, 0, z, mean, frame));
    bool there = !walk.memory->planning && !walk.memory->rt->ledger.counting_only;
    for (int64_t i = 0; i < z * size.height * size.width && there; i++)
        logvar.data[i / size.width / size.height * logvar.channel + frame * logvar.frame +
                    i / size.width % size.height * logvar.row + i % size.width] = CERTAIN;
    return DIT_OK;
}

static dit_status dc_encode(dit_vae *vae, vae_source image, vae_extents size, vae_planes mean, vae_planes logvar)
{
    for (int64_t frame = 0; frame < size.frames; frame++) DIT_TRY(encode_frame(vae, image, frame, size, mean, logvar));
    return DIT_OK;
}

const dit_vae_class dit_vae_autoencoder_dc = {
    .class_name = "AutoencoderDC",
    .decoder = DIT_ROWS_DC,
    .read_facts = dc_read_facts,
    .load = dc_load,
    .decode = dc_decode,
    .encode = dc_encode,
};
