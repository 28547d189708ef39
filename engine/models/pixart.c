/* PixArt-alpha and PixArt-sigma: self-attention with one shared modulation (adaLN-single), cross-attention to the text;
 * PixArt-alpha at 1024 pixels also embeds the size of the image.
 * Source: Chen et al., PixArt-alpha (arXiv:2310.00426); parameter names and arithmetic of diffusers 0.33.1
 * PixArtTransformer2DModel. The text's K and V of all blocks are made once per image: the prompt does not change.
 */
#include "engine/models/adaln.h"

enum { SINUSOID = 256 };

typedef struct {
    adaln_config common;
    int64_t layers, cross_dim;
    bool micro_conditions;
} pixart_config;

typedef struct {
    pixart_config c;
    adaln common;
    adaln_block *blocks;
    int64_t size_dim; /* C / 3 */
    embed_mlp resolution_mlp, aspect_mlp;
    float *size_embed;                       /* [batch, C] resolution and aspect, in rt->image  */
    float *sinusoid, *hidden, *size_numbers; /* [2 batch, 256 or C / 3]                         */
} pixart;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(pixart_config, layers, "num_layers", 28, 1, 1000),
    DIT_CONFIG_INT(pixart_config, common.H, "num_attention_heads", 16, 1, 1024),
    DIT_CONFIG_INT(pixart_config, common.D, "attention_head_dim", 72, 1, 1024),
    DIT_CONFIG_INT(pixart_config, common.patch, "patch_size", 2, 1, 16),
    DIT_CONFIG_INT(pixart_config, common.in_channels, "in_channels", 4, 1, 256),
    DIT_CONFIG_INT(pixart_config, common.out_channels, "out_channels", 0, 1, 256),
    DIT_CONFIG_INT(pixart_config, common.text_dim, "caption_channels", 0, 1, 65536),
    DIT_CONFIG_INT(pixart_config, cross_dim, "cross_attention_dim", 0, 1, 65536),
    DIT_CONFIG_INT(pixart_config, common.sample_size, "sample_size", 128, 1, 4096),
    DIT_CONFIG_NUMBER(pixart_config, common.eps, "norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_NUMBER(pixart_config, common.interpolation_scale, "interpolation_scale", 0, 1e-3, 1e3),
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
    adaln_config *common = &c->common;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    int64_t C = common->H * common->D;
    if (common->out_channels == 0) common->out_channels = common->in_channels;
    if (common->text_dim == 0) common->text_dim = C;
    if (c->cross_dim == 0) c->cross_dim = C;
    if (common->interpolation_scale == 0)
        common->interpolation_scale = common->sample_size / 64 > 1 ? (double)(common->sample_size / 64) : 1;
    c->micro_conditions = common->sample_size == 128;
    DIT_TRY(dit_json_optional_bool(config->doc, config->object, config->pointer, "use_additional_conditions",
                                   &c->micro_conditions));
    if (c->cross_dim != C)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cross_attention_dim %lld differs from the hidden size %lld",
                        (long long)c->cross_dim, (long long)C);
    if (common->out_channels < common->in_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "out_channels %lld below in_channels %lld", (long long)common->out_channels,
                        (long long)common->in_channels);
    return DIT_OK;
}

static dit_status pixart_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    pixart_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.common.H, sizes->head_dim = c.common.D, sizes->blocks[0] = c.layers;
    facts->latent = (dit_latent){
        .channels = c.common.in_channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = c.common.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_sizes(const dit_model_params *params, pixart *m)
{
    dit_scope s = scope_of(params, "%s", "adaln_single.emb.");
    int64_t B = m->common.B, third = m->common.C / 3;
    dit_runtime *rt = params->rt;
    m->size_dim = third;
    DIT_TRY(embed_mlp_load(&s, "resolution_embedder", SINUSOID, third, third, DIT_ACT_SILU, &m->resolution_mlp));
    DIT_TRY(embed_mlp_load(&s, "aspect_ratio_embedder", SINUSOID, third, third, DIT_ACT_SILU, &m->aspect_mlp));
    const dit_buffer buffers[] = {
        {&rt->image, &m->size_embed, B * m->common.C, DIT_BUFFER_FP32},
        {&rt->step, &m->sinusoid, 2 * B * SINUSOID, DIT_BUFFER_FP32},
        {&rt->step, &m->hidden, 2 * B * third, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->size_numbers, 2 * B * third, DIT_BUFFER_FP32},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

static dit_status load_blocks(const dit_model_params *params, pixart *m)
{
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    for (int64_t i = 0; i < m->c.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        DIT_TRY(adaln_load_block(&s, &m->common, i, true, &m->blocks[i]));
    }
    return DIT_OK;
}

static void state_needs(const pixart *m, dit_model *model)
{
    dit_condition_need *needs = model->needs;
    int64_t text_tokens = m->common.text_tokens;
    needs[DIT_CONDITION_TEXT].elements = text_tokens * m->common.c.text_dim;
    needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = text_tokens, .optional = true};
    needs[DIT_CONDITION_RESOLUTION].elements = m->c.micro_conditions ? 2 : 0;
    needs[DIT_CONDITION_ASPECT_RATIO].elements = m->c.micro_conditions ? 1 : 0;
}

static dit_status pixart_create(const dit_model_params *params, dit_model *model)
{
    dit_runtime *rt = params->rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(pixart), &state));
    pixart *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->common.c = m->c.common;
    DIT_TRY(adaln_create(model, &m->common));
    DIT_TRY(load_blocks(params, m));
    if (m->c.micro_conditions) DIT_TRY(load_sizes(params, m));
    int64_t cells = m->common.c.patch * m->common.c.patch;
    model->input_channels = m->common.c.in_channels * cells;
    model->output_channels = m->common.c.out_channels * cells;
    state_needs(m, model);
    return dit_attention_create(rt, params->attention,
                                &(dit_attention_shape){.B = m->common.B,
                                                       .H = m->common.H,
                                                       .D = m->common.c.D,
                                                       .calls = params->stage.blocks.count,
                                                       .tokens = m->common.view->image_count},
                                &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

/* Embeds cat(height, width, aspect), C/3 channels each; every step adds it to its timestep embedding. */
static void embed_sizes(dit_runtime *rt, pixart *m, const dit_condition *condition)
{
    int64_t B = m->common.B, C = m->common.C, single = m->size_dim, pair = 2 * single;
    embed_timestep(rt, condition->at[DIT_CONDITION_RESOLUTION], 2 * B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->resolution_mlp, m->sinusoid, 2 * B, m->hidden, m->size_numbers);
    for (int64_t b = 0; b < B; b++) dit_runtime_copy(rt, m->size_numbers + b * pair, pair, m->size_embed + b * C);
    embed_timestep(rt, condition->at[DIT_CONDITION_ASPECT_RATIO], B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->aspect_mlp, m->sinusoid, B, m->hidden, m->size_numbers);
    for (int64_t b = 0; b < B; b++)
        dit_runtime_copy(rt, m->size_numbers + b * single, single, m->size_embed + b * C + pair);
}

static dit_status pixart_prepare(dit_model *model, const dit_condition *condition)
{
    pixart *m = model->state;
    if (m->c.micro_conditions) embed_sizes(model->params.rt, m, condition);
    return adaln_prepare(model, &m->common, m->blocks, m->c.layers, condition);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status pixart_attention_input(dit_model *model, float *out)
{
    pixart *m = model->state;
    adaln_norm(model->params.rt, &m->common, &m->blocks[0], rows_window(model, out, m->common.C));
    return DIT_OK;
}

static dit_status pixart_block(dit_model *model, int64_t index)
{
    pixart *m = model->state;
    return adaln_block_forward(model, &m->common, &m->blocks[index]);
}

static dit_status pixart_begin(dit_model *model, const float *timestep)
{
    pixart *m = model->state;
    return adaln_begin(model, &m->common, timestep, m->c.micro_conditions ? m->size_embed : NULL);
}

static dit_status pixart_embed(dit_model *model, const float *latents)
{
    return adaln_embed(model, &((pixart *)model->state)->common, latents);
}

static dit_status pixart_head(dit_model *model, float *output)
{
    adaln_head(model->params.rt, &((pixart *)model->state)->common, output);
    return DIT_OK;
}

const dit_model_ops dit_model_pixart = {
    .class_name = "PixArtTransformer2DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = pixart_read_facts,
    .create = pixart_create,
    .prepare = pixart_prepare,
    .begin = pixart_begin,
    .embed = pixart_embed,
    .attention_input = pixart_attention_input,
    .block = pixart_block,
    .head = pixart_head,
};
