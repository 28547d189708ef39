/* Sana: self-attention is linear (attention/linear.c), one shared modulation and cross-attention to the text as PixArt has, and
 * a feed-forward network with a depthwise 3 x 3 convolution between gated halves (GLUMBConv):
 *
 *   u = silu(W1 x + b1); [value | gate] = conv(u); x += g W2 (value silu(gate))
 *
 * Positions come from the convolutions, unless interpolation_scale asks for a table. Ranks of a sequence hold whole rows of
 * tokens and show each other the rows next to theirs; tensor ranks share the channels of values and gates alike.
 * Source: Xie et al., SANA (arXiv:2410.10629); parameter names and arithmetic of diffusers 0.42.1 SanaTransformer2DModel.
 */
#include "engine/models/adaln.h"
#include "engine/models/halo.h"

enum { TAPS = 9 };

typedef struct {
    adaln_config common;
    int64_t layers, cross_dim;
    double mlp_ratio;
    bool attention_bias;
} sana_config;

/* Halves of the convolution: values, then gates. */
enum { VALUE, GATE, HALVES };
typedef struct {
    dit_linear in; /* [value | gate] */
    const float *weight[HALVES], *bias[HALVES];
    dit_joined out;
} feed_forward;

typedef struct {
    sana_config c;
    adaln common;
    adaln_block *blocks;
    feed_forward *networks;
    dit_halo halo;
    float *wide, *convolved; /* [batch, n, 2 inner] */
} sana;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(sana_config, layers, "num_layers", 20, 1, 1000),
    DIT_CONFIG_INT(sana_config, common.H, "num_attention_heads", 70, 1, 1024),
    DIT_CONFIG_INT(sana_config, common.D, "attention_head_dim", 32, 1, 1024),
    DIT_CONFIG_INT(sana_config, common.cross_H, "num_cross_attention_heads", 20, 1, 1024),
    DIT_CONFIG_INT(sana_config, common.cross_D, "cross_attention_head_dim", 112, 1, 1024),
    DIT_CONFIG_INT(sana_config, cross_dim, "cross_attention_dim", 2240, 1, 65536),
    DIT_CONFIG_INT(sana_config, common.patch, "patch_size", 1, 1, 16),
    DIT_CONFIG_INT(sana_config, common.in_channels, "in_channels", 32, 1, 1024),
    DIT_CONFIG_INT(sana_config, common.out_channels, "out_channels", 0, 1, 1024),
    DIT_CONFIG_INT(sana_config, common.text_dim, "caption_channels", 2304, 1, 65536),
    DIT_CONFIG_INT(sana_config, common.sample_size, "sample_size", 32, 1, 4096),
    DIT_CONFIG_NUMBER(sana_config, common.eps, "norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_NUMBER(sana_config, common.interpolation_scale, "interpolation_scale", 0, 1e-3, 1e3),
    DIT_CONFIG_NUMBER(sana_config, mlp_ratio, "mlp_ratio", 2.5, 0.01, 100),
    DIT_CONFIG_BOOL(sana_config, attention_bias, "attention_bias", false),
    DIT_CONFIG_END,
};

/* The last two are of Sana-Sprint and Sana 1.5. */
static const dit_config_only only[] = {
    {"norm_elementwise_affine", "false"},
    {"timestep_scale", "1"},
    {"guidance_embeds", "false"},
    {"qk_norm", "null"},
    {0},
};

static dit_status read_config(const dit_config *config, sana_config *c)
{
    adaln_config *common = &c->common;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    int64_t C = common->H * common->D;
    if (common->out_channels == 0) common->out_channels = common->in_channels;
    common->patch_name = "patch_embed", common->time_name = "time_embed";
    common->unplaced = common->interpolation_scale == 0;
    common->normed_text = true;
    common->unbiased = !c->attention_bias;
    common->inner = (int64_t)(c->mlp_ratio * (double)C);
    if (common->inner < 1)
        return DIT_FAIL(DIT_ERR_SHAPE, "mlp_ratio %g leaves a width of 0 of %lld", c->mlp_ratio, (long long)C);
    if (c->cross_dim != C)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cross_attention_dim %lld differs from the hidden size %lld",
                        (long long)c->cross_dim, (long long)C);
    return DIT_OK;
}

static dit_status sana_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    sana_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.common.H, sizes->head_dim = c.common.D, sizes->blocks[0] = c.layers;
    sizes->convolved = c.common.inner;
    facts->latent = (dit_latent){
        .channels = c.common.in_channels, .vae_spatial = 32, .vae_temporal = 1, .patch_t = 1, .patch = c.common.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Loads this rank's channels of one half. */
static dit_status load_half(const dit_scope *scope, int64_t inner, int half, feed_forward *f)
{
    dit_scope s = *scope;
    s.share = (dit_share){half * scope->share.of + scope->share.index, HALVES * scope->share.of};
    DIT_TRY(scope_rows(&s, "conv_depth.weight", HALVES * inner, TAPS, DIT_INIT_LINEAR, &f->weight[half]));
    return scope_slice(&s, "conv_depth.bias", HALVES * inner, DIT_INIT_BIAS, &f->bias[half]);
}

static dit_status load_network(const dit_scope *block, const sana *m, feed_forward *f)
{
    int64_t C = m->common.C, inner = m->c.common.inner;
    dit_scope s = scope_under(block, "ff"), plain = s;
    dit_weights unbiased = *s.weights;
    unbiased.without_biases = true, plain.weights = &unbiased;
    DIT_TRY(scope_groups(&s, "conv_inverted", HALVES * inner, 0, inner, HALVES, C, &f->in));
    for (int half = 0; half < HALVES; half++) DIT_TRY(load_half(&s, inner, half, f));
    return scope_joined(&plain, "conv_point", C, inner, 0, &f->out);
}

static dit_status load_blocks(const dit_model_params *params, sana *m)
{
    void *blocks, *networks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->networks, &networks));
    m->blocks = blocks, m->networks = networks;
    for (int64_t i = 0; i < m->c.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        DIT_TRY(adaln_load_block(&s, &m->common, i, true, &m->blocks[i]));
        DIT_TRY(load_network(&s, m, &m->networks[i]));
    }
    return DIT_OK;
}

/* Rows of pixels are whole on every rank: base/legality.c. */
static dit_status make_buffers(dit_runtime *rt, sana *m, const dit_latent *latent)
{
    int64_t wide = HALVES * m->common.inner, rows = m->common.B * m->common.view->image_count;
    const dit_buffer buffers[] = {
        {&rt->step, &m->wide, rows * wide, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->convolved, rows * wide, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    return dit_halo_create(rt, m->common.B, latent->width / m->c.common.patch * wide, &m->halo);
}

static dit_status check_heads(const dit_runtime *rt, const sana_config *c)
{
    int64_t tensor = dit_tp_share(rt).of;
    if (c->common.cross_H % tensor == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS,
                                   "%lld heads of cross-attention not divisible by tensor_degree %lld",
                                   (long long)c->common.cross_H, (long long)tensor),
                          "choose a tensor_degree that divides num_cross_attention_heads");
}

static dit_status run_network(dit_model *model, int64_t index, dit_rows normed, dit_rows x, const float *gate,
                              int64_t gate_stride);

static dit_status sana_create(const dit_model_params *params, dit_model *model)
{
    dit_runtime *rt = params->rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(sana), &state));
    sana *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    DIT_TRY(check_heads(rt, &m->c));
    m->common.c = m->c.common, m->common.feed_forward = run_network;
    DIT_TRY(adaln_create(model, &m->common));
    DIT_TRY(load_blocks(params, m));
    DIT_TRY(make_buffers(rt, m, &params->latent));
    int64_t cells = m->c.common.patch * m->c.common.patch, text_tokens = m->common.text_tokens;
    model->input_channels = m->c.common.in_channels * cells;
    model->output_channels = m->c.common.out_channels * cells;
    model->needs[DIT_CONDITION_TEXT].elements = text_tokens * m->c.common.text_dim;
    model->needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = text_tokens, .optional = true};
    return dit_attention_create(rt, params->attention,
                                &(dit_attention_shape){.B = m->common.B,
                                                       .H = m->common.H,
                                                       .D = m->common.c.D,
                                                       .calls = params->stage.blocks.count,
                                                       .tokens = m->common.view->image_count,
                                                       .linear = true},
                                &model->attention[0]);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status sana_prepare(dit_model *model, const dit_condition *condition)
{
    sana *m = model->state;
    return adaln_prepare(model, &m->common, m->blocks, m->c.layers, condition);
}

static dit_status sana_attention_input(dit_model *model, float *out)
{
    sana *m = model->state;
    adaln_norm(model->params.rt, &m->common, &m->blocks[0], rows_window(model, out, m->common.C));
    return DIT_OK;
}

/* convolved = [value | gate] of wide, both [batch, n, 2 inner]. */
static dit_status convolve(dit_model *model, sana *m, const feed_forward *f)
{
    const dit_partition *view = m->common.view;
    int64_t inner = m->common.inner, width = model->params.latent.width / m->c.common.patch;
    const float *above, *below;
    dit_depthwise_args args = {
        .batch = view->batch, .height = view->image_count / width, .width = width, .C = inner, .kernel = 3};
    args.ldx = args.ld_edge = args.ldy = HALVES * inner;
    DIT_TRY(dit_halo_exchange(&m->halo, m->wide, view->batch, args.height, &above, &below));
    for (int half = 0; half < HALVES; half++) {
        args.x = m->wide + half * inner, args.y = m->convolved + half * inner;
        args.above = above ? above + half * inner : NULL, args.below = below ? below + half * inner : NULL;
        args.weight = f->weight[half], args.bias = f->bias[half];
        ops_depthwise(model->params.rt, &args);
    }
    return DIT_OK;
}

static dit_status run_network(dit_model *model, int64_t index, dit_rows normed, dit_rows x, const float *gate,
                              int64_t gate_stride)
{
    sana *m = model->state;
    dit_runtime *rt = model->params.rt;
    const feed_forward *f = &m->networks[index];
    const module_at at = {index, DIT_MODULE_MLP, MODULE_IMAGE};
    int64_t inner = m->common.inner;
    dit_rows convolved = rows_dense(m->convolved, x.batch, x.rows, HALVES * inner);
    dit_rows value = rows_columns(convolved, 0, inner), gates = rows_columns(convolved, inner, inner);
    if (!module_is_taken(model, at.kind)) {
        layer_linear(rt, &f->in, normed, rows_dense(m->wide, x.batch, x.rows, HALVES * inner), DIT_ACT_SILU);
        DIT_TRY(convolve(model, m, f));
        layer_gate(rt, gates, value, DIT_ACT_SILU);
    }
    return module_add(model, at, &f->out, gates, x, gate, gate_stride);
}

static dit_status sana_block(dit_model *model, int64_t index)
{
    sana *m = model->state;
    return adaln_block_forward(model, &m->common, &m->blocks[index]);
}

static dit_status sana_begin(dit_model *model, const float *timestep)
{
    return adaln_begin(model, &((sana *)model->state)->common, timestep, NULL);
}

static dit_status sana_embed(dit_model *model, const float *latents)
{
    return adaln_embed(model, &((sana *)model->state)->common, latents);
}

static dit_status sana_head(dit_model *model, float *output)
{
    adaln_head(model->params.rt, &((sana *)model->state)->common, output);
    return DIT_OK;
}

const dit_model_ops dit_model_sana = {
    .class_name = "SanaTransformer2DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = sana_read_facts,
    .create = sana_create,
    .prepare = sana_prepare,
    .begin = sana_begin,
    .embed = sana_embed,
    .attention_input = sana_attention_input,
    .block = sana_block,
    .head = sana_head,
};
