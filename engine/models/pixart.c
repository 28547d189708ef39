/* PixArt-alpha and PixArt-sigma: self-attention with one shared modulation (adaLN-single), cross-attention to the text.
 * Source: Chen et al., PixArt-alpha (arXiv:2310.00426); parameter names and arithmetic of diffusers 0.33.1
 * PixArtTransformer2DModel. The text's K and V of all blocks are made once per image: the prompt does not change.
 */
#include "engine/models/embed.h"
#include "engine/models/model.h"

#include <math.h>
#include <string.h>

enum { SINUSOID = 256 };
enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP, MODULATIONS };

typedef struct {
    dit_linear qkv, out, cross_q, cross_kv, cross_out, mlp_in, mlp_out;
    const float *table; /* [6, C]                                 */
    float *text_kv;     /* [batch, text_tokens, 2C], image's life */
} pixart_block;

typedef struct {
    int64_t C, H, D, layers, patch, in_channels, out_channels, text_dim, size_dim;
    float eps;
    bool micro_conditions;
    dit_linear patch_proj, modulation, proj_out;
    embed_mlp timestep_mlp, resolution_mlp, aspect_mlp, caption_mlp;
    const float *table; /* [2, C]: shift, scale of the head */
    pixart_block *blocks;
    float *position; /* [image_count, C], image's life */
    /* image */
    float *text_bias;  /* [batch, text_tokens] additive, or NULL */
    float *size_embed; /* [batch, C]: resolution and aspect      */
    bool masked;
    const dit_condition *condition;
    /* step; rows = batch * image_count */
    float *x, *normed, *attended;                    /* [rows, C]              */
    float *wide;                                     /* [rows, 4C]: qkv or MLP */
    float *text, *text_hidden;                       /* [batch * text_tokens, C] */
    float *sinusoid, *hidden, *embedded, *activated; /* [batch, 256 or C]; sinusoid also [3 batch, 256] */
    float *modulated;                                /* [batch, 6C] of the step */
    float *gates;                                    /* [batch, 6C] of a block  */
    float *tap_buffer;                               /* [rows, C] or NULL       */
} pixart;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static dit_status pixart_read_facts(const dit_json *doc, const cJSON *config, const char *at, dit_facts *facts)
{
    DIT_TRY(dit_json_require_int(doc, config, at, "num_layers", 1, 1000, &facts->layers));
    DIT_TRY(dit_json_require_int(doc, config, at, "num_attention_heads", 1, 1024, &facts->heads));
    DIT_TRY(dit_json_require_int(doc, config, at, "attention_head_dim", 1, 1024, &facts->head_dim));
    facts->joint = false;
    facts->guidance_branches = 2;
    facts->mlp_ratio = 4;
    return DIT_OK;
}

/* Values that change the numbers and that this file does not compute are refused, not ignored. */
static dit_status check_config(const dit_model_params *params)
{
    static const struct {
        const char *key, *value;
    } expected[] = {
        {"activation_fn", "gelu-approximate"}, {"norm_type", "ada_norm_single"}, {"attention_type", "default"}};
    bool affine = false, double_self = false;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *value = expected[i].value;
        DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, expected[i].key, &value));
        if (strcmp(value, expected[i].value) != 0)
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s \"%s\": only \"%s\" is built", expected[i].key, value,
                            expected[i].value);
    }
    DIT_TRY(dit_json_optional_bool(params->doc, params->config, params->pointer, "norm_elementwise_affine", &affine));
    DIT_TRY(
        dit_json_optional_bool(params->doc, params->config, params->pointer, "double_self_attention", &double_self));
    if (affine || double_self)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "norm_elementwise_affine and double_self_attention are not built");
    return DIT_OK;
}

static dit_status read_config(const dit_model_params *params, pixart *m, double *base_size, double *interpolation_scale)
{
    const dit_json *doc = params->doc;
    const cJSON *config = params->config;
    const char *at = params->pointer;
    int64_t sample_size = 128, cross_dim;
    double eps = 1e-6;
    DIT_TRY(check_config(params));
    m->patch = 2, m->in_channels = 4;
    m->H = params->rt->facts.heads, m->D = params->rt->facts.head_dim, m->C = m->H * m->D;
    m->layers = params->rt->facts.layers;
    m->text_dim = cross_dim = m->C;
    DIT_TRY(dit_json_optional_int(doc, config, at, "sample_size", 1, 4096, &sample_size));
    DIT_TRY(dit_json_optional_int(doc, config, at, "patch_size", 1, 16, &m->patch));
    DIT_TRY(dit_json_optional_int(doc, config, at, "in_channels", 1, 256, &m->in_channels));
    m->out_channels = m->in_channels;
    DIT_TRY(dit_json_optional_int(doc, config, at, "out_channels", 1, 256, &m->out_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "caption_channels", 1, 65536, &m->text_dim));
    DIT_TRY(dit_json_optional_int(doc, config, at, "cross_attention_dim", 1, 65536, &cross_dim));
    DIT_TRY(dit_json_optional_number(doc, config, at, "norm_eps", 0, 1, &eps));
    if (cross_dim != m->C)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cross_attention_dim %lld differs from the hidden size %lld",
                        (long long)cross_dim, (long long)m->C);
    if (m->out_channels < m->in_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "out_channels %lld below in_channels %lld", (long long)m->out_channels,
                        (long long)m->in_channels);
    m->eps = (float)eps;
    m->micro_conditions = sample_size == 128;
    DIT_TRY(dit_json_optional_bool(doc, config, at, "use_additional_conditions", &m->micro_conditions));
    *base_size = (double)(sample_size / m->patch);
    *interpolation_scale = sample_size / 64 > 1 ? (double)(sample_size / 64) : 1.0;
    DIT_TRY(dit_json_optional_number(doc, config, at, "interpolation_scale", 1e-3, 1e3, interpolation_scale));
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_block(const dit_model_params *params, pixart *m, int64_t index)
{
    dit_runtime *rt = params->rt;
    const dit_weights *w = params->weights;
    pixart_block *block = &m->blocks[index];
    int64_t C = m->C, shape[2] = {MODULATIONS, C};
    char name[6][96];
    static const char *const parts[6] = {"attn1.to_q", "attn1.to_k", "attn1.to_v",
                                         "attn2.to_k", "attn2.to_v", "scale_shift_table"};
    for (int i = 0; i < 6; i++)
        snprintf(name[i], sizeof name[i], "transformer_blocks.%lld.%s", (long long)index, parts[i]);
    DIT_TRY(dit_weights_linear(rt, w, (dit_linear_part[]){{name[0], C}, {name[1], C}, {name[2], C}}, 3, C, NULL,
                               &block->qkv));
    DIT_TRY(dit_weights_linear(rt, w, (dit_linear_part[]){{name[3], C}, {name[4], C}}, 2, C, NULL, &block->cross_kv));
    DIT_TRY(dit_weights_load(rt, w, name[5], 2, shape, DIT_INIT_TABLE, &block->table));
#define BLOCK_LINEAR(rows, k, out, text)                                                                               \
    DIT_TRY(dit_weights_linear_named(rt, w, rows, k, out, "transformer_blocks.%lld." text, (long long)index))
    BLOCK_LINEAR(C, C, &block->out, "attn1.to_out.0");
    BLOCK_LINEAR(C, C, &block->cross_q, "attn2.to_q");
    BLOCK_LINEAR(C, C, &block->cross_out, "attn2.to_out.0");
    BLOCK_LINEAR(4 * C, C, &block->mlp_in, "ff.net.0.proj");
    BLOCK_LINEAR(C, 4 * C, &block->mlp_out, "ff.net.2");
#undef BLOCK_LINEAR
    return DIT_OK;
}

/* proj_out gives (dy, dx, c), c fastest; latents live as (c, dy, dx): the rows change places once, at load. */
static dit_status load_head(const dit_model_params *params, pixart *m)
{
    int64_t area = m->patch * m->patch, rows = area * m->out_channels, shape[2] = {2, m->C};
    dit_arena_mark mark = dit_arena_get_mark(&params->rt->step);
    void *memory;
    DIT_TRY(dit_arena_alloc(&params->rt->step, rows * (int64_t)sizeof(int64_t), &memory));
    int64_t *order = memory;
    for (int64_t c = 0; c < m->out_channels; c++)
        for (int64_t p = 0; p < area; p++) order[c * area + p] = p * m->out_channels + c;
    dit_status st = dit_weights_linear(params->rt, params->weights, &(dit_linear_part){"proj_out", rows}, 1, m->C,
                                       order, &m->proj_out);
    dit_arena_release_to(&params->rt->step, mark);
    if (st != DIT_OK) return st;
    return dit_weights_load(params->rt, params->weights, "scale_shift_table", 2, shape, DIT_INIT_TABLE, &m->table);
}

static dit_status load_weights(const dit_model_params *params, pixart *m)
{
    dit_runtime *rt = params->rt;
    const dit_weights *w = params->weights;
    int64_t C = m->C;
    void *blocks;
    DIT_TRY(dit_arena_alloc(&rt->run, m->layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    DIT_TRY(dit_weights_linear_named(rt, w, C, m->in_channels * m->patch * m->patch, &m->patch_proj, "pos_embed.proj"));
    DIT_TRY(
        embed_mlp_load(rt, w, "adaln_single.emb.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->timestep_mlp));
    if (m->micro_conditions) {
        m->size_dim = C / 3;
        DIT_TRY(embed_mlp_load(rt, w, "adaln_single.emb.resolution_embedder", SINUSOID, m->size_dim, m->size_dim,
                               DIT_ACT_SILU, &m->resolution_mlp));
        DIT_TRY(embed_mlp_load(rt, w, "adaln_single.emb.aspect_ratio_embedder", SINUSOID, m->size_dim, m->size_dim,
                               DIT_ACT_SILU, &m->aspect_mlp));
    }
    DIT_TRY(dit_weights_linear_named(rt, w, MODULATIONS * C, C, &m->modulation, "adaln_single.linear"));
    DIT_TRY(embed_mlp_load(rt, w, "caption_projection", m->text_dim, C, C, DIT_ACT_GELU_TANH, &m->caption_mlp));
    for (int64_t i = 0; i < m->layers; i++) DIT_TRY(load_block(params, m, i));
    return load_head(params, m);
}

static dit_status make_buffers(const dit_model_params *params, pixart *m)
{
    dit_runtime *rt = params->rt;
    const dit_partition *part = &params->partition;
    int64_t C = m->C, B = part->batch, rows = B * part->image_count, text_rows = B * part->text_tokens;
    struct {
        dit_arena *arena;
        float **at;
        int64_t count;
    } buffers[] = {
        {&rt->image, &m->position, part->image_count * C},
        {&rt->image, &m->text_bias, text_rows},
        {&rt->image, &m->size_embed, B * C},
        {&rt->step, &m->x, rows * C},
        {&rt->step, &m->normed, rows * C},
        {&rt->step, &m->attended, rows * C},
        {&rt->step, &m->wide, rows * 4 * C},
        {&rt->step, &m->text, text_rows * C},
        {&rt->step, &m->text_hidden, text_rows * C},
        {&rt->step, &m->sinusoid, 3 * B * SINUSOID},
        {&rt->step, &m->hidden, 3 * B * C},
        {&rt->step, &m->embedded, B * C},
        {&rt->step, &m->activated, 3 * B * C},
        {&rt->step, &m->modulated, B * MODULATIONS * C},
        {&rt->step, &m->gates, B * MODULATIONS * C},
    };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        DIT_TRY(dit_arena_floats(buffers[i].arena, buffers[i].count, buffers[i].at));
    if (params->tap) DIT_TRY(dit_arena_floats(&rt->step, rows * C, &m->tap_buffer));
    for (int64_t i = 0; i < m->layers; i++)
        DIT_TRY(dit_arena_floats(&rt->image, text_rows * 2 * C, &m->blocks[i].text_kv));
    return DIT_OK;
}

static dit_status pixart_create(const dit_model_params *params, dit_model *model)
{
    dit_runtime *rt = params->rt;
    const dit_partition *part = &params->partition;
    double base_size = 0, interpolation_scale = 1;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(pixart), &state));
    pixart *m = model->state = state;
    DIT_TRY(read_config(params, m, &base_size, &interpolation_scale));
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params, m));
    embed_sincos_2d(params->grid_height, params->grid_width, m->C, base_size, interpolation_scale, part->image_begin,
                    part->image_count, m->position);
    model->input_channels = m->in_channels * m->patch * m->patch;
    model->output_channels = m->out_channels * m->patch * m->patch;
    model->text_dim = m->text_dim;
    model->wants_resolution = m->micro_conditions;
    return dit_attention_create(
        rt, params->attention,
        &(dit_attention_shape){.B = part->batch, .H = m->H, .D = m->D, .tokens = part->image_count}, &model->attention);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

/* cat(embed(height), embed(width), embed(aspect)) of C/3 channels each, added to the timestep embedding of every step
 */
static void embed_sizes(dit_runtime *rt, pixart *m, const dit_condition *condition, int64_t B)
{
    embed_timestep(condition->resolution, 2 * B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->resolution_mlp, m->sinusoid, 2 * B, m->hidden, m->activated);
    for (int64_t b = 0; b < B; b++)
        memcpy(m->size_embed + b * m->C, m->activated + b * 2 * m->size_dim, (size_t)(2 * m->size_dim) * sizeof(float));
    embed_timestep(condition->aspect_ratio, B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->aspect_mlp, m->sinusoid, B, m->hidden, m->activated);
    for (int64_t b = 0; b < B; b++)
        memcpy(m->size_embed + b * m->C + 2 * m->size_dim, m->activated + b * m->size_dim,
               (size_t)m->size_dim * sizeof(float));
}

static dit_status pixart_prepare(dit_model *model, const dit_condition *condition)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = model->params.partition.batch, St = model->params.partition.text_tokens;
    m->masked = condition->text_mask != NULL;
    if (m->masked)
        for (int64_t i = 0; i < B * St; i++) m->text_bias[i] = (1.0f - condition->text_mask[i]) * -10000.0f;
    if (m->micro_conditions && (!condition->resolution || !condition->aspect_ratio))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "this PixArt takes resolution and aspect_ratio, none were given");
    if (m->micro_conditions) embed_sizes(rt, m, condition, B);
    embed_mlp_run(rt, &m->caption_mlp, condition->text, B * St, m->text_hidden, m->text);
    DIT_TRY(dit_model_tap(model,
                          &(dit_shards){.layout = DIT_LAYOUT_GLOBAL,
                                        .data = m->text,
                                        .rows = St,
                                        .cols = m->C,
                                        .ld = m->C,
                                        .batch_stride = St * m->C,
                                        .batched = true},
                          "aux.caption_projection"));
    for (int64_t i = 0; i < m->layers; i++)
        embed_linear(rt, &m->blocks[i].cross_kv, m->text, B * St, m->blocks[i].text_kv);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status tap_rows(dit_model *model, const float *data, int64_t cols, const char *name)
{
    int64_t rows = model->params.partition.image_count;
    return dit_model_tap(model,
                         &(dit_shards){.layout = DIT_LAYOUT_IMAGE,
                                       .data = data,
                                       .cols = cols,
                                       .ld = cols,
                                       .batch_stride = rows * cols,
                                       .batched = true},
                         "%s", name);
}

static dit_status tap_vector(dit_model *model, const float *data, int64_t cols, const char *name)
{
    return dit_model_tap(model,
                         &(dit_shards){.layout = DIT_LAYOUT_GLOBAL,
                                       .data = data,
                                       .rows = 1,
                                       .cols = cols,
                                       .ld = cols,
                                       .batch_stride = cols,
                                       .batched = true},
                         "%s", name);
}

static dit_status forward_embed(dit_model *model, const dit_forward_args *args)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    int64_t C = m->C, B = part->batch, n = part->image_count;
    for (int64_t b = 0; b < B; b++) /* x = position + patches W^T + bias: the table enters as the residual */
        memcpy(m->x + b * n * C, m->position, (size_t)(n * C) * sizeof(float));
    ops_linear(rt, &(dit_linear_args){.weights = &m->patch_proj,
                                      .rows = B * n,
                                      .x = args->latents,
                                      .ldx = m->patch_proj.k,
                                      .y = m->x,
                                      .ldy = C,
                                      .residual = m->x});
    embed_timestep(args->timestep, B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->timestep_mlp, m->sinusoid, B, m->hidden, m->embedded);
    if (m->micro_conditions)
        ops_combine(
            rt,
            &(dit_combine_args){
                .elements = B * C, .count = 2, .x = {m->embedded, m->size_embed}, .a = {1.0f, 1.0f}, .y = m->embedded});
    embed_activate(rt, DIT_ACT_SILU, m->embedded, B * C, m->activated);
    embed_linear(rt, &m->modulation, m->activated, B, m->modulated);
    DIT_TRY(tap_rows(model, m->x, C, "aux.pos_embed"));
    DIT_TRY(tap_vector(model, m->modulated, MODULATIONS * C, "aux.adaln_single.0"));
    return tap_vector(model, m->embedded, C, "aux.adaln_single.1");
}

static void norm_rows(dit_runtime *rt, const pixart *m, const float *x, int64_t rows, const float *shift,
                      const float *scale, float *y)
{
    ops_norm(rt, &(dit_norm_args){.rows = rows,
                                  .C = m->C,
                                  .x = x,
                                  .ldx = m->C,
                                  .y = y,
                                  .ldy = m->C,
                                  .eps = m->eps,
                                  .scale = scale,
                                  .shift = shift});
}

/* x += gate * (input W^T + b), per batch entry because gates are; gate NULL: one. Tapped before the gate. */
static dit_status project_back(dit_model *model, const dit_linear *linear, const float *input, int64_t which_gate,
                               const char *tap_name)
{
    pixart *m = model->state;
    int64_t B = model->params.partition.batch, n = model->params.partition.image_count, C = m->C;
    if (tap_name && model->params.tap) {
        embed_linear(model->params.rt, linear, input, B * n, m->tap_buffer);
        DIT_TRY(tap_rows(model, m->tap_buffer, C, tap_name));
    }
    for (int64_t b = 0; b < B; b++) {
        float *x = m->x + b * n * C;
        ops_linear(model->params.rt,
                   &(dit_linear_args){.weights = linear,
                                      .rows = n,
                                      .x = input + b * n * linear->k,
                                      .ldx = linear->k,
                                      .y = x,
                                      .ldy = C,
                                      .residual = x,
                                      .gate = which_gate < 0 ? NULL : m->gates + (b * MODULATIONS + which_gate) * C});
    }
    return DIT_OK;
}

static dit_status self_attention(dit_model *model, const pixart_block *block, bool first)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = model->params.partition.batch, n = model->params.partition.image_count, C = m->C;
    for (int64_t b = 0; b < B; b++) {
        const float *mod = m->gates + b * MODULATIONS * C;
        norm_rows(rt, m, m->x + b * n * C, n, mod + SHIFT_MSA * C, mod + SCALE_MSA * C, m->normed + b * n * C);
    }
    embed_linear(rt, &block->qkv, m->normed, B * n, m->wide);
    DIT_TRY(dit_attention_forward(model->attention, &(dit_attention_io){.q = m->wide,
                                                                        .k = m->wide + C,
                                                                        .v = m->wide + 2 * C,
                                                                        .ld = 3 * C,
                                                                        .batch = n * 3 * C,
                                                                        .out = m->attended,
                                                                        .ldo = C,
                                                                        .batch_o = n * C}));
    return project_back(model, &block->out, m->attended, GATE_MSA, first ? "aux.block_0.attn1" : NULL);
}

static dit_status cross_attention(dit_model *model, const pixart_block *block, bool first)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = model->params.partition.batch, n = model->params.partition.image_count, C = m->C;
    int64_t St = model->params.partition.text_tokens;
    embed_linear(rt, &block->cross_q, m->x, B * n, m->normed); /* the stream is not normalised here */
    ops_attention(rt, &(dit_attention_args){.B = B,
                                            .H = m->H,
                                            .Sq = n,
                                            .Sk = St,
                                            .D = m->D,
                                            .q = m->normed,
                                            .ldq = C,
                                            .batch_q = n * C,
                                            .k = block->text_kv,
                                            .v = block->text_kv + C,
                                            .ldk = 2 * C,
                                            .ldv = 2 * C,
                                            .batch_k = St * 2 * C,
                                            .batch_v = St * 2 * C,
                                            .bias = m->masked ? m->text_bias : NULL,
                                            .scale = 1.0f / sqrtf((float)m->D),
                                            .out = m->attended,
                                            .ldo = C,
                                            .batch_o = n * C});
    return project_back(model, &block->cross_out, m->attended, -1, first ? "aux.block_0.attn2" : NULL);
}

static dit_status mlp(dit_model *model, const pixart_block *block)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = model->params.partition.batch, n = model->params.partition.image_count, C = m->C;
    for (int64_t b = 0; b < B; b++) {
        const float *mod = m->gates + b * MODULATIONS * C;
        norm_rows(rt, m, m->x + b * n * C, n, mod + SHIFT_MLP * C, mod + SCALE_MLP * C, m->normed + b * n * C);
    }
    ops_linear(rt, &(dit_linear_args){.weights = &block->mlp_in,
                                      .rows = B * n,
                                      .x = m->normed,
                                      .ldx = C,
                                      .y = m->wide,
                                      .ldy = 4 * C,
                                      .activation = DIT_ACT_GELU_TANH});
    return project_back(model, &block->mlp_out, m->wide, GATE_MLP, NULL);
}

static dit_status forward_block(dit_model *model, int64_t index)
{
    pixart *m = model->state;
    const pixart_block *block = &m->blocks[index];
    int64_t B = model->params.partition.batch, width = MODULATIONS * m->C;
    char name[32];
    for (int64_t b = 0; b < B; b++)
        for (int64_t i = 0; i < width; i++) m->gates[b * width + i] = m->modulated[b * width + i] + block->table[i];
    DIT_TRY(self_attention(model, block, index == 0));
    DIT_TRY(cross_attention(model, block, index == 0));
    DIT_TRY(mlp(model, block));
    snprintf(name, sizeof name, "block_%lld", (long long)index);
    return tap_rows(model, m->x, m->C, name);
}

/* The head modulates by the embedding itself, not by its projection. */
static void forward_head(dit_model *model, float *output)
{
    pixart *m = model->state;
    int64_t B = model->params.partition.batch, n = model->params.partition.image_count, C = m->C;
    for (int64_t b = 0; b < B; b++) {
        float *shift = m->gates, *scale = m->gates + C;
        for (int64_t i = 0; i < C; i++) {
            shift[i] = m->table[i] + m->embedded[b * C + i];
            scale[i] = m->table[C + i] + m->embedded[b * C + i];
        }
        norm_rows(model->params.rt, m, m->x + b * n * C, n, shift, scale, m->normed + b * n * C);
    }
    embed_linear(model->params.rt, &m->proj_out, m->normed, B * n, output);
}

static dit_status pixart_forward(dit_model *model, const dit_forward_args *args)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TIMED(rt, DIT_TIME_EMBED, DIT_TRY(forward_embed(model, args)));
    DIT_TIMED(rt, DIT_TIME_BLOCKS, for (int64_t i = 0; i < m->layers; i++) DIT_TRY(forward_block(model, i)));
    DIT_TIMED(rt, DIT_TIME_HEAD, forward_head(model, args->output));
    return DIT_OK;
}

const dit_model_ops dit_model_pixart = {
    .class_name = "PixArtTransformer2DModel",
    .read_facts = pixart_read_facts,
    .create = pixart_create,
    .prepare = pixart_prepare,
    .forward = pixart_forward,
};
