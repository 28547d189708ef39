/* PixArt-alpha and PixArt-sigma: self-attention with one shared modulation (adaLN-single), cross-attention to the text.
 * Source: Chen et al., PixArt-alpha (arXiv:2310.00426); parameter names and arithmetic of diffusers 0.33.1
 * PixArtTransformer2DModel. The text's K and V of all blocks are made once per image: the prompt does not change.
 */
#include "engine/models/embed.h"
#include "engine/models/layers.h"

#include <math.h>
#include <string.h>

enum { SINUSOID = 256 };
enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP, MODULATIONS };

typedef struct {
    int64_t layers, H, D, patch, in_channels, out_channels, text_dim, cross_dim, sample_size;
    double eps, interpolation_scale;
    bool micro_conditions;
} pixart_config;

typedef struct {
    dit_linear qkv, out, cross_q, cross_kv, cross_out;
    dit_mlp mlp;
    const float *table; /* [6, C]                                 */
    float *text_kv;     /* [batch, text_tokens, 2C], image's life */
} pixart_block;

typedef struct {
    pixart_config c;
    int64_t C, B, n, text_tokens, size_dim;
    dit_linear patch_proj, modulation, proj_out;
    embed_mlp timestep_mlp, resolution_mlp, aspect_mlp, caption_mlp;
    const float *table; /* [2, C]: shift, scale of the head */
    pixart_block *blocks;
    float *position;                                 /* [image_count, C], image's life       */
    float *text_bias;                                /* [batch, text_tokens] additive        */
    const float *bias;                               /* the same, or NULL without a mask     */
    float *size_embed;                               /* [batch, C]: resolution and aspect    */
    float *x, *normed, *attended;                    /* [batch, image_count, C]              */
    float *wide;                                     /* [batch, image_count, 4C]: qkv or MLP */
    float *text, *text_hidden;                       /* [batch, text_tokens, C]              */
    float *sinusoid, *hidden, *embedded, *activated; /* [3 batch, 256 or C]                  */
    float *modulated, *gates;                        /* [batch, 6C] of the step; of a block  */
} pixart;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(pixart_config, layers, "num_layers", 28, 1, 1000),
    DIT_CONFIG_INT(pixart_config, H, "num_attention_heads", 16, 1, 1024),
    DIT_CONFIG_INT(pixart_config, D, "attention_head_dim", 72, 1, 1024),
    DIT_CONFIG_INT(pixart_config, patch, "patch_size", 2, 1, 16),
    DIT_CONFIG_INT(pixart_config, in_channels, "in_channels", 4, 1, 256),
    DIT_CONFIG_INT(pixart_config, out_channels, "out_channels", 0, 1, 256),
    DIT_CONFIG_INT(pixart_config, text_dim, "caption_channels", 0, 1, 65536),
    DIT_CONFIG_INT(pixart_config, cross_dim, "cross_attention_dim", 0, 1, 65536),
    DIT_CONFIG_INT(pixart_config, sample_size, "sample_size", 128, 1, 4096),
    DIT_CONFIG_NUMBER(pixart_config, eps, "norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_NUMBER(pixart_config, interpolation_scale, "interpolation_scale", 0, 1e-3, 1e3),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"activation_fn", "gelu-approximate"},
    {"norm_type", "ada_norm_single"},
    {"attention_type", "default"},
    {"norm_elementwise_affine", "false"},
    {"double_self_attention", "false"},
    {"attention_bias", "true"},
    {0},
};

static dit_status read_config(const dit_config *config, pixart_config *c)
{
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    int64_t C = c->H * c->D;
    if (c->out_channels == 0) c->out_channels = c->in_channels;
    if (c->text_dim == 0) c->text_dim = C;
    if (c->cross_dim == 0) c->cross_dim = C;
    if (c->interpolation_scale == 0)
        c->interpolation_scale = c->sample_size / 64 > 1 ? (double)(c->sample_size / 64) : 1;
    c->micro_conditions = c->sample_size == 128;
    DIT_TRY(dit_json_optional_bool(config->doc, config->object, config->pointer, "use_additional_conditions",
                                   &c->micro_conditions));
    if (c->cross_dim != C)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cross_attention_dim %lld differs from the hidden size %lld",
                        (long long)c->cross_dim, (long long)C);
    if (c->out_channels < c->in_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "out_channels %lld below in_channels %lld", (long long)c->out_channels,
                        (long long)c->in_channels);
    return DIT_OK;
}

static dit_status pixart_read_facts(const dit_config *config, dit_facts *facts)
{
    pixart_config c;
    DIT_TRY(read_config(config, &c));
    facts->layers = c.layers;
    facts->heads = c.H, facts->head_dim = c.D;
    facts->guidance_branches = 2;
    facts->latent =
        (dit_latent){.channels = c.in_channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = c.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_block(const dit_model_params *params, const pixart *m, int64_t index, pixart_block *block)
{
    dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)index);
    int64_t C = m->C;
    DIT_TRY(scope_fused(&s, (const char *const[]){"attn1.to_q", "attn1.to_k", "attn1.to_v", NULL}, C, C, &block->qkv));
    DIT_TRY(scope_linear(&s, "attn1.to_out.0", C, C, &block->out));
    DIT_TRY(scope_linear(&s, "attn2.to_q", C, C, &block->cross_q));
    DIT_TRY(scope_fused(&s, (const char *const[]){"attn2.to_k", "attn2.to_v", NULL}, C, C, &block->cross_kv));
    DIT_TRY(scope_linear(&s, "attn2.to_out.0", C, C, &block->cross_out));
    DIT_TRY(scope_mlp(&s, "ff", C, 4 * C, &block->mlp));
    return scope_matrix(&s, "scale_shift_table", MODULATIONS, C, DIT_INIT_TABLE, &block->table);
}

static dit_status load_weights(const dit_model_params *params, pixart *m)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->C, cells = m->c.patch * m->c.patch;
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    DIT_TRY(scope_linear(&s, "pos_embed.proj", C, m->c.in_channels * cells, &m->patch_proj));
    DIT_TRY(embed_mlp_load(&s, "adaln_single.emb.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->timestep_mlp));
    if (m->c.micro_conditions) {
        m->size_dim = C / 3;
        DIT_TRY(embed_mlp_load(&s, "adaln_single.emb.resolution_embedder", SINUSOID, m->size_dim, m->size_dim,
                               DIT_ACT_SILU, &m->resolution_mlp));
        DIT_TRY(embed_mlp_load(&s, "adaln_single.emb.aspect_ratio_embedder", SINUSOID, m->size_dim, m->size_dim,
                               DIT_ACT_SILU, &m->aspect_mlp));
    }
    DIT_TRY(scope_linear(&s, "adaln_single.linear", MODULATIONS * C, C, &m->modulation));
    DIT_TRY(embed_mlp_load(&s, "caption_projection", m->c.text_dim, C, C, DIT_ACT_GELU_TANH, &m->caption_mlp));
    for (int64_t i = 0; i < m->c.layers; i++) DIT_TRY(load_block(params, m, i, &m->blocks[i]));
    DIT_TRY(scope_head(&s, "proj_out", m->c.out_channels, cells, C, &m->proj_out));
    return scope_matrix(&s, "scale_shift_table", 2, C, DIT_INIT_TABLE, &m->table);
}

static dit_status make_buffers(dit_runtime *rt, pixart *m)
{
    int64_t C = m->C, B = m->B, rows = B * m->n, text_rows = B * m->text_tokens;
    const dit_buffer buffers[] = {
        {&rt->image, &m->position, m->n * C},        {&rt->image, &m->text_bias, text_rows},
        {&rt->image, &m->size_embed, B * C},         {&rt->step, &m->x, rows * C},
        {&rt->step, &m->normed, rows * C},           {&rt->step, &m->attended, rows * C},
        {&rt->step, &m->wide, rows * 4 * C},         {&rt->step, &m->text, text_rows * C},
        {&rt->step, &m->text_hidden, text_rows * C}, {&rt->step, &m->sinusoid, 3 * B * SINUSOID},
        {&rt->step, &m->hidden, 3 * B * C},          {&rt->step, &m->embedded, B * C},
        {&rt->step, &m->activated, 3 * B * C},       {&rt->step, &m->modulated, B * MODULATIONS * C},
        {&rt->step, &m->gates, B * MODULATIONS * C},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    for (int64_t i = 0; i < m->c.layers; i++)
        DIT_TRY(dit_arena_floats(&rt->image, text_rows * 2 * C, &m->blocks[i].text_kv));
    return DIT_OK;
}

static void state_needs(const pixart *m, dit_model *model)
{
    dit_condition_need *needs = model->needs;
    needs[DIT_CONDITION_TEXT].elements = m->text_tokens * m->c.text_dim;
    needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = m->text_tokens, .optional = true};
    needs[DIT_CONDITION_RESOLUTION].elements = m->c.micro_conditions ? 2 : 0;
    needs[DIT_CONDITION_ASPECT_RATIO].elements = m->c.micro_conditions ? 1 : 0;
}

static dit_status pixart_create(const dit_model_params *params, dit_model *model)
{
    dit_runtime *rt = params->rt;
    const dit_partition *part = &params->partition;
    const dit_latent *latent = &params->latent;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(pixart), &state));
    pixart *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->C = m->c.H * m->c.D, m->B = part->batch, m->n = part->image_count, m->text_tokens = part->text_tokens;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(rt, m));
    embed_sincos_2d(latent->height / m->c.patch, latent->width / m->c.patch, m->C,
                    (double)(m->c.sample_size / m->c.patch), m->c.interpolation_scale, part->segment_begin,
                    part->segment_count, m->position);
    model->input_channels = m->c.in_channels * m->c.patch * m->c.patch;
    model->output_channels = m->c.out_channels * m->c.patch * m->c.patch;
    state_needs(m, model);
    return dit_attention_create(rt, params->attention,
                                &(dit_attention_shape){.B = m->B, .H = m->c.H, .D = m->c.D, .tokens = m->n},
                                &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

/* cat(embed(height), embed(width), embed(aspect)), C/3 channels each; added to the timestep embedding of every step */
static void embed_sizes(dit_runtime *rt, pixart *m, const dit_condition *condition)
{
    size_t pair = (size_t)(2 * m->size_dim) * sizeof(float), single = (size_t)m->size_dim * sizeof(float);
    embed_timestep(condition->at[DIT_CONDITION_RESOLUTION], 2 * m->B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->resolution_mlp, m->sinusoid, 2 * m->B, m->hidden, m->activated);
    for (int64_t b = 0; b < m->B; b++) memcpy(m->size_embed + b * m->C, m->activated + b * 2 * m->size_dim, pair);
    embed_timestep(condition->at[DIT_CONDITION_ASPECT_RATIO], m->B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->aspect_mlp, m->sinusoid, m->B, m->hidden, m->activated);
    for (int64_t b = 0; b < m->B; b++)
        memcpy(m->size_embed + b * m->C + 2 * m->size_dim, m->activated + b * m->size_dim, single);
}

static dit_status pixart_prepare(dit_model *model, const dit_condition *condition)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    const float *mask = condition->at[DIT_CONDITION_TEXT_MASK];
    int64_t text_rows = m->B * m->text_tokens;
    m->bias = mask ? m->text_bias : NULL;
    for (int64_t i = 0; mask && i < text_rows; i++) m->text_bias[i] = (1.0f - mask[i]) * -10000.0f;
    if (m->c.micro_conditions) embed_sizes(rt, m, condition);
    embed_mlp_run(rt, &m->caption_mlp, condition->at[DIT_CONDITION_TEXT], text_rows, m->text_hidden, m->text);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->text, m->B, m->text_tokens, m->C),
                         "aux.caption_projection"));
    for (int64_t i = 0; i < m->c.layers; i++)
        embed_linear(rt, &m->blocks[i].cross_kv, m->text, text_rows, m->blocks[i].text_kv);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status forward_embed(dit_model *model, const dit_forward_args *args)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows x = rows_dense(m->x, m->B, m->n, m->C);
    layer_copy_entries(rt, m->position, x);
    layer_linear_add(rt, &m->patch_proj, rows_dense((float *)args->latents, m->B, m->n, m->patch_proj.k), x, NULL, 0);
    embed_timestep(args->timestep, m->B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->timestep_mlp, m->sinusoid, m->B, m->hidden, m->embedded);
    if (m->c.micro_conditions) layer_add(rt, m->embedded, m->size_embed, m->B * m->C, m->embedded);
    embed_activate(rt, DIT_ACT_SILU, m->embedded, m->B * m->C, m->activated);
    embed_linear(rt, &m->modulation, m->activated, m->B, m->modulated);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "aux.pos_embed"));
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->modulated, m->B, 1, MODULATIONS * m->C),
                         "aux.adaln_single.0"));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->embedded, m->B, 1, m->C), "aux.adaln_single.1");
}

static dit_layer_norm modulated_norm(const pixart *m, int shift, int scale)
{
    return (dit_layer_norm){.eps = (float)m->c.eps,
                            .shift = m->gates + shift * m->C,
                            .scale = m->gates + scale * m->C,
                            .modulation_stride = MODULATIONS * m->C};
}

static dit_status forward_block(dit_model *model, int64_t index)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    const pixart_block *block = &m->blocks[index];
    int64_t C = m->C, stride = MODULATIONS * C;
    dit_rows x = rows_dense(m->x, m->B, m->n, C), normed = rows_dense(m->normed, m->B, m->n, C);
    dit_rows attended = rows_dense(m->attended, m->B, m->n, C), qkv = rows_dense(m->wide, m->B, m->n, 3 * C);
    dit_rows text = rows_dense(block->text_kv, m->B, m->text_tokens, 2 * C);
    dit_layer_norm before_attention = modulated_norm(m, SHIFT_MSA, SCALE_MSA);
    dit_layer_norm before_mlp = modulated_norm(m, SHIFT_MLP, SCALE_MLP);
    layer_modulation(m->modulated, block->table, m->B, stride, m->gates);

    layer_norm(rt, x, normed, &before_attention);
    layer_linear(rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    DIT_TRY(layer_sequence_attention(model->attention[0], rows_columns(qkv, 0, C), rows_columns(qkv, C, C),
                                     rows_columns(qkv, 2 * C, C), attended));
    if (index == 0) DIT_TRY(dit_tap_linear(model, DIT_LAYOUT_IMAGE, &block->out, attended, "aux.block_0.attn1"));
    layer_linear_add(rt, &block->out, attended, x, m->gates + GATE_MSA * C, stride);

    layer_linear(rt, &block->cross_q, x, normed, DIT_ACT_NONE); /* the stream is not normalised here */
    layer_local_attention(rt, m->c.H, normed, rows_columns(text, 0, C), rows_columns(text, C, C), m->bias, attended);
    if (index == 0) DIT_TRY(dit_tap_linear(model, DIT_LAYOUT_IMAGE, &block->cross_out, attended, "aux.block_0.attn2"));
    layer_linear_add(rt, &block->cross_out, attended, x, NULL, 0);

    layer_norm(rt, x, normed, &before_mlp);
    layer_mlp_add(rt, &block->mlp, normed, rows_dense(m->wide, m->B, m->n, 4 * C), x, m->gates + GATE_MLP * C, stride);
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "block_%lld", (long long)index);
}

/* The head modulates by the embedding itself, not by its projection. */
static void forward_head(dit_model *model, float *output)
{
    pixart *m = model->state;
    int64_t C = m->C;
    dit_rows x = rows_dense(m->x, m->B, m->n, C), normed = rows_dense(m->normed, m->B, m->n, C);
    float *shift = m->gates, *scale = m->gates + m->B * C;
    layer_modulation(m->embedded, m->table, m->B, C, shift);
    layer_modulation(m->embedded, m->table + C, m->B, C, scale);
    layer_norm(model->params.rt, x, normed,
               &(dit_layer_norm){.eps = (float)m->c.eps, .shift = shift, .scale = scale, .modulation_stride = C});
    embed_linear(model->params.rt, &m->proj_out, m->normed, m->B * m->n, output);
}

static dit_status pixart_forward(dit_model *model, const dit_forward_args *args)
{
    pixart *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TIMED(rt, DIT_TIME_EMBED, DIT_TRY(forward_embed(model, args)));
    DIT_TIMED(rt, DIT_TIME_BLOCKS, for (int64_t i = 0; i < m->c.layers; i++) DIT_TRY(forward_block(model, i)));
    DIT_TIMED(rt, DIT_TIME_HEAD, forward_head(model, args->output));
    return DIT_OK;
}

const dit_model_ops dit_model_pixart = {
    .class_name = "PixArtTransformer2DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = pixart_read_facts,
    .create = pixart_create,
    .prepare = pixart_prepare,
    .forward = pixart_forward,
};
