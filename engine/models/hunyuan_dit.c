/* HunyuanDiT 1.1 and 1.2: self-attention and cross-attention with normalised, rotated heads, and long skips from the
 * first half of the blocks to the second. There are no gates: the timestep only shifts the first norm of a block.
 * Source: Li et al., Hunyuan-DiT (arXiv:2405.08748); parameter names and arithmetic of diffusers 0.33.1
 * HunyuanDiT2DModel.
 *
 * The text is the tokens of two encoders in a row; masked tokens are replaced by learned padding instead of being
 * hidden. The text's K and V of all blocks are made once per image, and so is the sum that is added to the timestep
 * embedding: text summary, sizes, style.
 */
#include "engine/models/embed.h"
#include "engine/models/modules.h"

#include <math.h>

enum { SINUSOID = 256, AXES = 2, SIZES = 6, POOL_HEADS = 8, EXTRA_RATIO = 4, TEXT_RATIO = 4, BASE_CELLS = 512 / 8 };
static const float EPS = 1e-6f;

typedef struct {
    int64_t layers, H, D, hidden, patch, in_channels, text_dim, text_dim_2, pooled_dim, text_len, text_len_2;
    double mlp_ratio;
    bool learn_sigma, size_conditions;
} hunyuan_config;

typedef struct {
    dit_layer_norm norm_skip, norm1, norm2, norm3;
    dit_head_norm norm_q, norm_k, cross_norm_q, cross_norm_k;
    dit_linear skip, shift, qkv, cross_q, cross_kv;
    dit_joined out, cross_out;
    dit_mlp mlp;
    float *text_kv; /* [batch, text tokens, 2A], image's life */
} hunyuan_block;

/* One query, the mean token, over all tokens of the second encoder. */
typedef struct {
    const float *positions; /* [1 + text_len_2, text_dim_2] */
    dit_linear q, kv, out;
} hunyuan_pooler;

typedef struct {
    hunyuan_config c;
    int64_t C, B, n, text_tokens, inner, extra_dim; /* extra_dim: [pooled | sizes | style]                      */
    int64_t H, A, own_inner;                        /* of this tensor rank: heads, their width, that of an MLP  */
    dit_linear patch_proj, norm_out, proj_out;
    embed_mlp timestep_mlp, extra_mlp, text_mlp;
    hunyuan_pooler pooler;
    const float *style;   /* [1, C]                                                    */
    const float *padding; /* [text tokens, text_dim]                                   */
    hunyuan_block *blocks;
    float *cosines, *sines;                      /* [image_count, D], image's life                            */
    float *extra;                                /* [batch, C]: added to the timestep embedding of every step */
    float *text, *text_hidden;                   /* [batch, text tokens, text_dim], hidden rows of the second */
    float *pool_tokens, *pool_kv;                /* [batch, 1 + text_len_2, text_dim_2], twice as wide        */
    float *pool_query, *pooled;                  /* [batch, text_dim_2]                                       */
    float *extra_in;                             /* [batch, extra_dim]                                        */
    float *skips;                                /* [layers / 2 - 1, batch, image_count, C]                   */
    float *x, *normed, *attended;                /* [batch, image_count, C]; attended A                       */
    float *wide;                                 /* [batch, image_count, qkv or MLP]                          */
    float *sinusoid, *hidden, *temb, *activated; /* [batch, 6 x 256 or 4C]                                    */
    float *modulation;                           /* [batch, 2C]: of a block, of the head                      */
} hunyuan;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(hunyuan_config, layers, "num_layers", 28, 2, 1000),
    DIT_CONFIG_INT(hunyuan_config, H, "num_attention_heads", 16, 1, 1024),
    DIT_CONFIG_INT(hunyuan_config, D, "attention_head_dim", 88, 1, 1024),
    DIT_CONFIG_INT(hunyuan_config, hidden, "hidden_size", 1152, 1, 1 << 20),
    DIT_CONFIG_INT(hunyuan_config, patch, "patch_size", NAN, 1, 16),
    DIT_CONFIG_INT(hunyuan_config, in_channels, "in_channels", NAN, 1, 256),
    DIT_CONFIG_INT(hunyuan_config, text_dim, "cross_attention_dim", 1024, 1, 65536),
    DIT_CONFIG_INT(hunyuan_config, text_dim_2, "cross_attention_dim_t5", 2048, 1, 65536),
    DIT_CONFIG_INT(hunyuan_config, pooled_dim, "pooled_projection_dim", 1024, 1, 65536),
    DIT_CONFIG_INT(hunyuan_config, text_len, "text_len", 77, 1, 65536),
    DIT_CONFIG_INT(hunyuan_config, text_len_2, "text_len_t5", 256, 1, 65536),
    DIT_CONFIG_NUMBER(hunyuan_config, mlp_ratio, "mlp_ratio", 4.0, 0.1, 64),
    DIT_CONFIG_BOOL(hunyuan_config, learn_sigma, "learn_sigma", true),
    DIT_CONFIG_BOOL(hunyuan_config, size_conditions, "use_style_cond_and_image_meta_size", true),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"activation_fn", "gelu-approximate"},
    {"norm_type", "layer_norm"},
    {0},
};

static dit_status read_config(const dit_config *config, hunyuan_config *c)
{
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    if (c->hidden != c->H * c->D)
        return DIT_FAIL(DIT_ERR_SHAPE, "hidden_size %lld is not num_attention_heads %lld x attention_head_dim %lld",
                        (long long)c->hidden, (long long)c->H, (long long)c->D);
    if (c->D % (2 * AXES))
        return DIT_FAIL(DIT_ERR_SHAPE, "attention_head_dim %lld: rotary pairs of two axes need a multiple of 4",
                        (long long)c->D);
    if (c->layers % 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE,
                                       "num_layers %lld is odd, but every skip needs a block that takes it",
                                       (long long)c->layers),
                              "cut the model to an even number of blocks");
    if (c->text_dim_2 % POOL_HEADS)
        return DIT_FAIL(DIT_ERR_SHAPE, "cross_attention_dim_t5 %lld is not divisible by the pooler's %d heads",
                        (long long)c->text_dim_2, POOL_HEADS);
    return DIT_OK;
}

static dit_status hunyuan_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    hunyuan_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D, sizes->blocks[0] = c.layers;
    facts->text_tokens = c.text_len + c.text_len_2;
    facts->mlp_ratio = (int64_t)ceil(c.mlp_ratio);
    facts->latent =
        (dit_latent){.channels = c.in_channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = c.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_norm(const dit_scope *s, const char *name, int64_t width, dit_layer_norm *norm)
{
    norm->eps = EPS;
    return scope_affine(s, name, width, &norm->weight, &norm->bias);
}

static dit_status load_head_norm(const dit_scope *s, const char *name, const hunyuan *m, dit_head_norm *norm)
{
    *norm = (dit_head_norm){.H = m->H, .D = m->c.D, .eps = EPS};
    return scope_affine(s, name, m->c.D, &norm->weight, &norm->bias);
}

static dit_status load_self_attention(const dit_scope *s, const hunyuan *m, hunyuan_block *block)
{
    int64_t C = m->C;
    DIT_TRY(load_norm(s, "norm1.norm", C, &block->norm1));
    DIT_TRY(scope_linear(s, "norm1.linear", C, C, &block->shift));
    DIT_TRY(scope_shared(s, (const char *const[]){"attn1.to_q", "attn1.to_k", "attn1.to_v", NULL}, C, C, &block->qkv));
    DIT_TRY(load_head_norm(s, "attn1.norm_q", m, &block->norm_q));
    DIT_TRY(load_head_norm(s, "attn1.norm_k", m, &block->norm_k));
    return scope_joined(s, "attn1.to_out.0", C, C, 0, &block->out);
}

static dit_status load_cross_attention(const dit_scope *s, const hunyuan *m, hunyuan_block *block)
{
    int64_t C = m->C;
    DIT_TRY(load_norm(s, "norm2", C, &block->norm2));
    DIT_TRY(scope_shared(s, (const char *const[]){"attn2.to_q", NULL}, C, C, &block->cross_q));
    DIT_TRY(
        scope_shared(s, (const char *const[]){"attn2.to_k", "attn2.to_v", NULL}, C, m->c.text_dim, &block->cross_kv));
    DIT_TRY(load_head_norm(s, "attn2.norm_q", m, &block->cross_norm_q));
    DIT_TRY(load_head_norm(s, "attn2.norm_k", m, &block->cross_norm_k));
    return scope_joined(s, "attn2.to_out.0", C, C, 0, &block->cross_out);
}

static dit_status load_block(const dit_model_params *params, const hunyuan *m, int64_t index, hunyuan_block *block)
{
    dit_scope s = scope_of(params, "blocks.%lld.", (long long)index);
    int64_t C = m->C;
    if (index > m->c.layers / 2) {
        DIT_TRY(load_norm(&s, "skip_norm", 2 * C, &block->norm_skip));
        DIT_TRY(scope_linear(&s, "skip_linear", C, 2 * C, &block->skip));
    }
    DIT_TRY(load_self_attention(&s, m, block));
    DIT_TRY(load_cross_attention(&s, m, block));
    DIT_TRY(load_norm(&s, "norm3", C, &block->norm3));
    return scope_mlp(&s, "ff", C, m->inner, &block->mlp);
}

static dit_status load_conditioning(const dit_scope *s, hunyuan *m)
{
    const hunyuan_config *c = &m->c;
    int64_t C = m->C, E = c->text_dim_2;
    static const char *const kv[] = {"time_extra_emb.pooler.k_proj", "time_extra_emb.pooler.v_proj", NULL};
    DIT_TRY(embed_mlp_load(s, "text_embedder", E, TEXT_RATIO * E, c->text_dim, DIT_ACT_SILU, &m->text_mlp));
    DIT_TRY(scope_matrix(s, "text_embedding_padding", m->text_tokens, c->text_dim, DIT_INIT_TABLE, &m->padding));
    DIT_TRY(embed_mlp_load(s, "time_extra_emb.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->timestep_mlp));
    DIT_TRY(scope_matrix(s, "time_extra_emb.pooler.positional_embedding", 1 + c->text_len_2, E, DIT_INIT_TABLE,
                         &m->pooler.positions));
    DIT_TRY(scope_linear(s, "time_extra_emb.pooler.q_proj", E, E, &m->pooler.q));
    DIT_TRY(scope_fused(s, kv, E, E, &m->pooler.kv));
    DIT_TRY(scope_linear(s, "time_extra_emb.pooler.c_proj", c->pooled_dim, E, &m->pooler.out));
    if (c->size_conditions)
        DIT_TRY(scope_matrix(s, "time_extra_emb.style_embedder.weight", 1, C, DIT_INIT_TABLE, &m->style));
    return embed_mlp_load(s, "time_extra_emb.extra_embedder", m->extra_dim, EXTRA_RATIO * C, C, DIT_ACT_SILU,
                          &m->extra_mlp);
}

static dit_status load_weights(const dit_model_params *params, hunyuan *m)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->C, cells = m->c.patch * m->c.patch;
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    if (params->stage.first) DIT_TRY(scope_linear(&s, "pos_embed.proj", C, m->c.in_channels * cells, &m->patch_proj));
    DIT_TRY(load_conditioning(&s, m));
    for (int64_t i = 0; i < m->c.layers; i++)
        if (dit_stage_has(params, i)) DIT_TRY(load_block(params, m, i, &m->blocks[i]));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "norm_out.linear", 2 * C, C, &m->norm_out));
    return scope_head(&s, "proj_out", m->c.in_channels * (m->c.learn_sigma ? 2 : 1), cells, C, &m->proj_out);
}

static dit_status make_buffers(const dit_model_params *params, hunyuan *m)
{
    dit_runtime *rt = params->rt;
    int64_t C = m->C, B = m->B, rows = B * m->n, text_rows = B * m->text_tokens, E = m->c.text_dim_2;
    int64_t pool_rows = B * (1 + m->c.text_len_2), wide = 2 * C; /* of a skip */
    if (wide < 3 * m->A) wide = 3 * m->A;
    if (wide < m->own_inner) wide = m->own_inner;
    DIT_TRY(dit_tp_reserve(rt, rows * C, 0));
    const dit_buffer buffers[] = {
        {&rt->image, &m->cosines, m->n * m->c.D, DIT_BUFFER_FP32},
        {&rt->image, &m->sines, m->n * m->c.D, DIT_BUFFER_FP32},
        {&rt->image, &m->extra, B * C, DIT_BUFFER_FP32},
        {&rt->step, &m->text, text_rows * m->c.text_dim, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->text_hidden, B * m->c.text_len_2 * TEXT_RATIO * E, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->pool_tokens, pool_rows * E, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->pool_kv, pool_rows * 2 * E, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->pool_query, B * E, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->pooled, B * E, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->extra_in, B * m->extra_dim, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->skips, (m->c.layers / 2 - 1) * rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->x, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->normed, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->attended, rows * m->A, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->wide, rows * wide, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->sinusoid, B * SIZES * SINUSOID, DIT_BUFFER_FP32},
        {&rt->step, &m->hidden, B * EXTRA_RATIO * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->temb, B * C, DIT_BUFFER_FP32},
        {&rt->step, &m->activated, B * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->modulation, B * 2 * C, DIT_BUFFER_FP32},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    for (int64_t i = 0; i < m->c.layers; i++)
        if (dit_stage_has(params, i))
            DIT_TRY(dit_arena_activations(&rt->image, text_rows * 2 * m->A, &m->blocks[i].text_kv));
    return DIT_OK;
}

static void state_needs(const hunyuan *m, dit_model *model)
{
    const hunyuan_config *c = &m->c;
    dit_condition_need *needs = model->needs;
    int64_t table = model->params.partition.image_tokens * c->D;
    needs[DIT_CONDITION_TEXT].elements = c->text_len * c->text_dim;
    needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = c->text_len, .optional = true};
    needs[DIT_CONDITION_TEXT_2].elements = c->text_len_2 * c->text_dim_2;
    needs[DIT_CONDITION_TEXT_2_MASK] = (dit_condition_need){.elements = c->text_len_2, .optional = true};
    needs[DIT_CONDITION_META_SIZE].elements = c->size_conditions ? SIZES : 0;
    needs[DIT_CONDITION_STYLE].elements = c->size_conditions ? 1 : 0;
    needs[DIT_CONDITION_ROPE_COS] = (dit_condition_need){.elements = table, .optional = true};
    needs[DIT_CONDITION_ROPE_SIN] = (dit_condition_need){.elements = table, .optional = true};
}

static dit_status hunyuan_create(const dit_model_params *params, dit_model *model)
{
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(hunyuan), &state));
    hunyuan *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->C = m->c.hidden, m->B = part->batch, m->n = part->image_count;
    m->text_tokens = m->c.text_len + m->c.text_len_2;
    m->inner = (int64_t)((double)m->C * m->c.mlp_ratio);
    m->H = dit_tp_count(params->rt, m->c.H), m->A = m->H * m->c.D, m->own_inner = dit_tp_count(params->rt, m->inner);
    m->extra_dim = m->c.pooled_dim + (m->c.size_conditions ? SIZES * SINUSOID + m->C : 0);
    if (part->text_tokens != m->text_tokens)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "text tokens %lld, but the config has text_len %lld + %lld",
                                       (long long)part->text_tokens, (long long)m->c.text_len,
                                       (long long)m->c.text_len_2),
                              "this architecture's text has one length; correct text.tokens of the model file");
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params, m));
    int64_t cells = m->c.patch * m->c.patch;
    model->input_channels = m->c.in_channels * cells;
    model->output_channels = m->c.in_channels * (m->c.learn_sigma ? 2 : 1) * cells;
    model->stream = m->x, model->width = m->C;
    model->skips = m->skips;
    state_needs(m, model);
    return dit_attention_create(
        params->rt, params->attention,
        &(dit_attention_shape){.B = m->B, .H = m->H, .D = m->c.D, .calls = params->stage.blocks.count, .tokens = m->n},
        &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

/* True where the pipeline, which counts on 8 pixels a latent, makes a table of one position: it serves all tokens. So it is
 * with the VAE of one pixel a latent and pictures below 32 pixels. */
static bool is_one_position(const dit_latent *latent, int64_t patch)
{
    enum { CELL_PX = 8 };
    int64_t pixels = CELL_PX * patch;
    return latent->height * latent->vae_spatial / pixels == 1 && latent->width * latent->vae_spatial / pixels == 1;
}

/* Makes the rotation: the first half of a head by column, the second by row, with the run's grid fitted into that of
 * 512 x 512 pixels. */
static dit_status place_tokens(const dit_model *model, const dit_condition *condition)
{
    const hunyuan *m = model->state;
    const dit_partition *part = &model->params.partition;
    const dit_latent *latent = &model->params.latent;
    const float *cosines = condition->at[DIT_CONDITION_ROPE_COS], *sines = condition->at[DIT_CONDITION_ROPE_SIN];
    const bool one = is_one_position(latent, m->c.patch);
    const int64_t own[2] = {latent->height / m->c.patch, latent->width / m->c.patch}, single[2] = {1, 1};
    const int64_t *grid = one ? single : own;
    const int64_t base[2] = {BASE_CELLS / m->c.patch, BASE_CELLS / m->c.patch}, dims[AXES] = {m->c.D / 2, m->c.D / 2};
    if (cosines && sines) {
        dit_partition_take(part, cosines, m->c.D, m->cosines);
        dit_partition_take(part, sines, m->c.D, m->sines);
    }
    const int64_t rows = cosines && sines ? 0 : dit_runtime_values(model->params.rt, m->n);
    for (int64_t row = 0; row < rows; row++) {
        int64_t token = one ? 0 : dit_partition_token(part, row);
        float position[2];
        embed_fitted_position(grid, base, token / grid[1], token % grid[1], position);
        const float ids[AXES] = {position[1], position[0]};
        embed_rope(model->params.rt, ids, 1, AXES, dims, 10000.0, m->cosines + row * m->c.D, m->sines + row * m->c.D);
    }
    return embed_put_rope(model->params.rt, m->cosines, m->sines, m->n * m->c.D);
}

static void pad_masked(dit_runtime *rt, const hunyuan *m, const float *mask, int64_t first, int64_t count)
{
    dit_rows text = rows_dense(m->text, m->B, m->text_tokens, m->c.text_dim);
    dit_rows padding = rows_dense((float *)m->padding, 1, m->text_tokens, m->c.text_dim);
    for (int64_t i = 0; mask && i < m->B * count; i++) {
        int64_t row = first + i % count;
        if (mask[i] == 0) layer_copy(rt, rows_part(padding, row, 1), rows_part(rows_entry(text, i / count), row, 1));
    }
}

/* Makes the text [first encoder | projected second encoder], padded, and its K and V for every block. */
static dit_status project_text(dit_model *model, const dit_condition *condition)
{
    const hunyuan *m = model->state;
    const hunyuan_config *c = &m->c;
    dit_runtime *rt = model->params.rt;
    int64_t B = m->B, A = m->A, E = c->text_dim_2;
    dit_rows text = rows_dense(m->text, B, m->text_tokens, c->text_dim);
    dit_rows second = rows_dense((float *)condition->at[DIT_CONDITION_TEXT_2], B, c->text_len_2, E);
    dit_rows hidden = rows_dense(m->text_hidden, B, c->text_len_2, TEXT_RATIO * E);
    dit_rows projected = rows_part(text, c->text_len, c->text_len_2);
    layer_copy(rt, rows_dense((float *)condition->at[DIT_CONDITION_TEXT], B, c->text_len, c->text_dim),
               rows_part(text, 0, c->text_len));
    layer_linear(rt, &m->text_mlp.first, second, hidden, m->text_mlp.activation);
    layer_linear(rt, &m->text_mlp.second, hidden, projected, DIT_ACT_NONE);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, projected, "aux.text_embedder"));
    pad_masked(rt, m, condition->at[DIT_CONDITION_TEXT_MASK], 0, c->text_len);
    pad_masked(rt, m, condition->at[DIT_CONDITION_TEXT_2_MASK], c->text_len, c->text_len_2);
    for (int64_t i = 0; i < c->layers; i++) {
        if (!dit_stage_has(&model->params, i)) continue;
        dit_rows kv = rows_dense(m->blocks[i].text_kv, B, m->text_tokens, 2 * A);
        layer_linear(rt, &m->blocks[i].cross_kv, text, kv, DIT_ACT_NONE);
        layer_head_norm(rt, rows_columns(kv, 0, A), &m->blocks[i].cross_norm_k);
    }
    return DIT_OK;
}

/* Makes row 0 of every batch entry the mean of the text [batch, rows after it, cols], on the host. */
static dit_status place_mean(dit_runtime *rt, const float *text, dit_rows tokens)
{
    int64_t rows = tokens.rows - 1;
    for (int64_t b = 0; b < tokens.batch; b++) {
        float *mean = tokens.data + b * tokens.stride;
        for (int64_t c = 0; c < dit_runtime_values(rt, tokens.cols); c++) {
            double sum = 0;
            for (int64_t row = 0; row < rows; row++) sum += text[(b * rows + row) * tokens.cols + c];
            mean[c] = (float)(sum / (double)rows);
        }
        DIT_TRY(dit_runtime_upload(rt, mean, tokens.cols));
    }
    return DIT_OK;
}

/* Lets the mean token attend to itself and to all tokens, also masked ones, into the first columns of `extra_in`. */
static dit_status pool_text(dit_runtime *rt, const hunyuan *m, const float *text)
{
    int64_t B = m->B, E = m->c.text_dim_2, L = m->c.text_len_2;
    dit_rows tokens = rows_dense(m->pool_tokens, B, 1 + L, E), kv = rows_dense(m->pool_kv, B, 1 + L, 2 * E);
    dit_rows query = rows_dense(m->pool_query, B, 1, E), pooled = rows_dense(m->pooled, B, 1, E);
    layer_copy(rt, rows_dense((float *)text, B, L, E), rows_part(tokens, 1, L));
    DIT_TRY(place_mean(rt, text, tokens));
    for (int64_t b = 0; b < B; b++) {
        float *entry = rows_entry(tokens, b).data;
        layer_add(rt, entry, m->pooler.positions, (1 + L) * E, entry);
    }
    layer_linear(rt, &m->pooler.q, rows_part(tokens, 0, 1), query, DIT_ACT_NONE);
    layer_linear(rt, &m->pooler.kv, tokens, kv, DIT_ACT_NONE);
    layer_local_attention(rt, POOL_HEADS, query, rows_columns(kv, 0, E), rows_columns(kv, E, E), NULL, pooled);
    layer_linear(rt, &m->pooler.out, rows_dense(m->pooled, 1, B, E),
                 rows_columns(rows_dense(m->extra_in, 1, B, m->extra_dim), 0, m->c.pooled_dim), DIT_ACT_NONE);
    return DIT_OK;
}

static dit_status embed_sizes(dit_runtime *rt, const hunyuan *m, const dit_condition *condition)
{
    int64_t B = m->B, width = SIZES * SINUSOID;
    const float *style = condition->at[DIT_CONDITION_STYLE];
    dit_rows extra_in = rows_dense(m->extra_in, 1, B, m->extra_dim);
    dit_rows style_table = {.data = (float *)m->style, .batch = 1, .rows = B, .cols = m->C}; /* ld 0: one row for all */
    for (int64_t b = 0; b < B; b++)
        if (style[b] != 0)
            return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "style %g of batch row %lld: the only style is 0",
                                           (double)style[b], (long long)b),
                                  "set style to 0");
    embed_timestep(rt, condition->at[DIT_CONDITION_META_SIZE], B * SIZES, SINUSOID, m->sinusoid);
    layer_copy(rt, rows_dense(m->sinusoid, 1, B, width), rows_columns(extra_in, m->c.pooled_dim, width));
    layer_copy(rt, style_table, rows_columns(extra_in, m->c.pooled_dim + width, m->C));
    return DIT_OK;
}

static dit_status hunyuan_prepare(dit_model *model, const dit_condition *condition)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TRY(place_tokens(model, condition));
    DIT_TRY(project_text(model, condition));
    DIT_TRY(pool_text(rt, m, condition->at[DIT_CONDITION_TEXT_2]));
    if (m->c.size_conditions) DIT_TRY(embed_sizes(rt, m, condition));
    embed_mlp_run(rt, &m->extra_mlp, m->extra_in, m->B, m->hidden, m->extra);
    dit_rows pooled = {m->extra_in, m->B, 1, m->c.pooled_dim, m->extra_dim, m->extra_dim};
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, pooled, "aux.pooler");
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status hunyuan_begin(dit_model *model, const float *timestep)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = m->B, C = m->C;
    embed_timestep(rt, timestep, B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->timestep_mlp, m->sinusoid, B, m->hidden, m->temb);
    layer_add(rt, m->temb, m->extra, B * C, m->temb);
    embed_activate(rt, DIT_ACT_SILU, m->temb, B * C, m->activated);
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->temb, B, 1, C), "aux.time_extra_emb");
}

static dit_status hunyuan_embed(dit_model *model, const float *latents)
{
    hunyuan *m = model->state;
    dit_rows x = rows_window(model, m->x, m->C);
    layer_linear(model->params.rt, &m->patch_proj, rows_window(model, (float *)latents, m->patch_proj.k), x,
                 DIT_ACT_NONE);
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "aux.pos_embed");
}

/* Returns the stored output that a block takes: the last one stored is the first one taken. */
static dit_rows skip_rows(const dit_model *model, int64_t slot)
{
    const hunyuan *m = model->state;
    return rows_window(model, m->skips + slot * dit_model_skip_elements(model), m->C);
}

static void take_skip(dit_model *model, int64_t index)
{
    const hunyuan *m = model->state;
    const hunyuan_block *block = &m->blocks[index];
    dit_runtime *rt = model->params.rt;
    dit_rows x = rows_window(model, m->x, m->C), both = rows_window(model, m->wide, 2 * m->C);
    layer_copy(rt, x, rows_columns(both, 0, m->C));
    layer_copy(rt, skip_rows(model, m->c.layers - 1 - index), rows_columns(both, m->C, m->C));
    layer_norm(rt, both, both, &block->norm_skip);
    layer_linear(rt, &block->skip, both, x, DIT_ACT_NONE);
}

/* Normalises heads, then rotates them by the positions of this rank's tokens. */
static void norm_and_rotate(dit_model *model, dit_rows x, dit_head_norm norm)
{
    const hunyuan *m = model->state;
    norm.cos = m->cosines + model->window.first * m->c.D, norm.sin = m->sines + model->window.first * m->c.D;
    layer_head_norm(model->params.rt, x, &norm);
}

/* Normalises the stream and shifts it by the timestep. */
static void norm_before_attention(const dit_model *model, int64_t index, dit_rows y)
{
    const hunyuan *m = model->state;
    dit_layer_norm norm1 = m->blocks[index].norm1;
    norm1.shift = m->modulation, norm1.modulation_stride = m->C;
    embed_linear(model->params.rt, &m->blocks[index].shift, m->activated, m->B, m->modulation);
    layer_norm(model->params.rt, rows_window(model, m->x, m->C), y, &norm1);
}

static dit_status hunyuan_attention_input(dit_model *model, float *out)
{
    norm_before_attention(model, 0, rows_window(model, out, ((const hunyuan *)model->state)->C));
    return DIT_OK;
}

static dit_status attend_to_image(dit_model *model, int64_t index)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    const hunyuan_block *block = &m->blocks[index];
    int64_t C = m->C, A = m->A;
    dit_rows normed = rows_window(model, m->normed, C);
    dit_rows attended = rows_window(model, m->attended, A), qkv = rows_window(model, m->wide, 3 * A);
    norm_before_attention(model, index, normed);
    layer_linear(rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    norm_and_rotate(model, rows_columns(qkv, 0, A), block->norm_q);
    norm_and_rotate(model, rows_columns(qkv, A, A), block->norm_k);
    DIT_TRY(dit_tap_keys(model, rows_columns(qkv, A, A), rows_columns(qkv, 2 * A, A), 0));
    return layer_sequence_attention(model->attention[0], rows_columns(qkv, 0, A), rows_columns(qkv, A, A),
                                    rows_columns(qkv, 2 * A, A), attended);
}

static dit_status self_attention(dit_model *model, int64_t index)
{
    hunyuan *m = model->state;
    const hunyuan_block *block = &m->blocks[index];
    const module_at at = {index, DIT_MODULE_ATTENTION, MODULE_IMAGE};
    dit_rows attended = rows_window(model, m->attended, m->A);
    if (!module_is_taken(model, at.kind)) DIT_TRY(attend_to_image(model, index));
    if (index == 0) DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->out, attended, "aux.block_0.attn1"));
    DIT_TRY(dit_tap_attended(model, &block->out, attended, 0));
    return module_add(model, at, &block->out, attended, rows_window(model, m->x, m->C), NULL, 0);
}

/* The text has no positions: only the queries are rotated. */
static void attend_to_text(dit_model *model, int64_t index)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    const hunyuan_block *block = &m->blocks[index];
    int64_t C = m->C, A = m->A;
    dit_rows x = rows_window(model, m->x, C), normed = rows_window(model, m->normed, C);
    dit_rows attended = rows_window(model, m->attended, A), query = rows_window(model, m->wide, A);
    dit_rows text = rows_dense(block->text_kv, m->B, m->text_tokens, 2 * A);
    layer_norm(rt, x, normed, &block->norm2);
    layer_linear(rt, &block->cross_q, normed, query, DIT_ACT_NONE);
    norm_and_rotate(model, query, block->cross_norm_q);
    layer_local_attention(rt, m->H, query, rows_columns(text, 0, A), rows_columns(text, A, A), NULL, attended);
}

static dit_status cross_attention(dit_model *model, int64_t index)
{
    hunyuan *m = model->state;
    const hunyuan_block *block = &m->blocks[index];
    const module_at at = {index, DIT_MODULE_CROSS, MODULE_IMAGE};
    dit_rows attended = rows_window(model, m->attended, m->A);
    if (!module_is_taken(model, at.kind)) attend_to_text(model, index);
    if (index == 0) DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->cross_out, attended, "aux.block_0.attn2"));
    return module_add(model, at, &block->cross_out, attended, rows_window(model, m->x, m->C), NULL, 0);
}

static dit_status hunyuan_forward_block(dit_model *model, int64_t index)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    const hunyuan_block *block = &m->blocks[index];
    int64_t half = m->c.layers / 2;
    dit_rows x = rows_window(model, m->x, m->C), normed = rows_window(model, m->normed, m->C);
    if (index > half) take_skip(model, index);
    DIT_TRY(self_attention(model, index));
    DIT_TRY(cross_attention(model, index));
    if (!module_is_taken(model, DIT_MODULE_MLP)) layer_norm(rt, x, normed, &block->norm3);
    DIT_TRY(module_add_mlp(model, (module_at){index, DIT_MODULE_MLP, MODULE_IMAGE}, &block->mlp, normed,
                           rows_window(model, m->wide, m->own_inner), x, NULL, 0));
    if (index < half - 1) layer_copy(rt, x, skip_rows(model, index));
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "block_%lld", (long long)index);
}

/* AdaLayerNormContinuous: scale, then shift. */
static dit_status hunyuan_head(dit_model *model, float *output)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows normed = rows_window(model, m->normed, m->C);
    dit_layer_norm norm = {
        .eps = EPS, .scale = m->modulation, .shift = m->modulation + m->C, .modulation_stride = 2 * m->C};
    embed_linear(rt, &m->norm_out, m->activated, m->B, m->modulation);
    layer_norm(rt, rows_window(model, m->x, m->C), normed, &norm);
    layer_linear(rt, &m->proj_out, normed, rows_window(model, output, m->proj_out.n), DIT_ACT_NONE);
    return DIT_OK;
}

const dit_model_ops dit_model_hunyuan_dit = {
    .class_name = "HunyuanDiT2DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = hunyuan_read_facts,
    .create = hunyuan_create,
    .prepare = hunyuan_prepare,
    .begin = hunyuan_begin,
    .embed = hunyuan_embed,
    .attention_input = hunyuan_attention_input,
    .block = hunyuan_forward_block,
    .head = hunyuan_head,
};
