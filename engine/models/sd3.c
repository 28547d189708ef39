/* SD3 and SD3.5: image and text streams with their own weights, joint attention in every block (MM-DiT); in
 * SD3.5-medium the first blocks attend a second time over the image alone. Source: Esser et al., Scaling Rectified Flow
 * Transformers (arXiv:2403.03206), figure 2; parameter names and arithmetic of diffusers 0.33.1 SD3Transformer2DModel.
 *
 * Both streams live in one buffer, [batch, text rows + image rows, C] with the text first. The last block reads the
 * text but does not write it.
 */
#include "engine/models/embed.h"
#include "engine/models/layers.h"

#include <string.h>

enum { SINUSOID = 256, MAX_DUAL = 256 };
enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP, MODULATIONS };
enum { SHIFT_SECOND = MODULATIONS, SCALE_SECOND, GATE_SECOND, DUAL_MODULATIONS };
enum { CONTINUOUS_SCALE, CONTINUOUS_SHIFT, CONTINUOUS_MODULATIONS };
static const float EPS = 1e-6f;

typedef struct {
    dit_linear qkv, out;
    const float *norm_q, *norm_k; /* [D]; NULL in SD3 */
} sd3_attention;

/* One stream of a block. The text of the last block has neither attention.out nor mlp. */
typedef struct {
    dit_linear modulation;
    sd3_attention attention;
    dit_mlp mlp;
} sd3_stream;

typedef struct {
    sd3_stream text, image;
    sd3_attention second; /* of dual blocks: the image alone */
    bool dual, last;
} sd3_block;

typedef struct {
    int64_t layers, H, D, patch, in_channels, out_channels, text_dim, context_dim, pooled_dim, sample_size, max_grid;
    int64_t dual[MAX_DUAL];
    int duals; /* entries of dual; at most 0: none */
    bool qk_norm;
} sd3_config;

typedef struct {
    sd3_config c;
    int64_t C, B, T, n, rows; /* hidden; batch; local text rows, image rows, and their sum */
    dit_linear patch_proj, context_embedder, norm_out, proj_out;
    embed_mlp timestep_mlp, text_mlp;
    sd3_block *blocks;
    float *position;                             /* [n, C], image's life                                   */
    float *pooled_embed;                         /* [batch, C]: pooled text, constant over steps           */
    float *context;                              /* [batch, T, C]: projected text                          */
    float *x, *normed, *attended;                /* [batch, rows, C]                                       */
    float *wide;                                 /* [batch, rows, 4C]: q, k, v, later the MLP's inner rows */
    float *sinusoid, *hidden, *temb, *activated; /* [batch, 256 or C]                                      */
    float *image_modulation, *text_modulation;   /* [batch, 9C], [batch, 6C]                               */
} sd3;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(sd3_config, layers, "num_layers", 18, 1, 1000),
    DIT_CONFIG_INT(sd3_config, H, "num_attention_heads", 18, 1, 1024),
    DIT_CONFIG_INT(sd3_config, D, "attention_head_dim", 64, 1, 1024),
    DIT_CONFIG_INT(sd3_config, patch, "patch_size", 2, 1, 16),
    DIT_CONFIG_INT(sd3_config, in_channels, "in_channels", 16, 1, 256),
    DIT_CONFIG_INT(sd3_config, out_channels, "out_channels", 16, 1, 256),
    DIT_CONFIG_INT(sd3_config, text_dim, "joint_attention_dim", 4096, 1, 65536),
    DIT_CONFIG_INT(sd3_config, context_dim, "caption_projection_dim", 1152, 1, 65536),
    DIT_CONFIG_INT(sd3_config, pooled_dim, "pooled_projection_dim", 2048, 1, 65536),
    DIT_CONFIG_INT(sd3_config, sample_size, "sample_size", 128, 1, 4096),
    DIT_CONFIG_INT(sd3_config, max_grid, "pos_embed_max_size", 96, 1, 4096),
    DIT_CONFIG_END,
};

static dit_status check_config(const sd3_config *c)
{
    int64_t C = c->H * c->D;
    if (c->context_dim != C)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "caption_projection_dim %lld differs from the hidden size %lld",
                        (long long)c->context_dim, (long long)C);
    if (C % 4)
        return DIT_FAIL(DIT_ERR_SHAPE, "hidden size %lld: the position table needs a multiple of 4", (long long)C);
    if (c->sample_size < c->patch)
        return DIT_FAIL(DIT_ERR_SHAPE, "sample_size %lld is below patch_size %lld", (long long)c->sample_size,
                        (long long)c->patch);
    if (c->out_channels < c->in_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "out_channels %lld below in_channels %lld", (long long)c->out_channels,
                        (long long)c->in_channels);
    return DIT_OK;
}

static dit_status read_config(const dit_config *config, sd3_config *c)
{
    const char *qk_norm = NULL;
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(dit_config_read_ints(config, "dual_attention_layers", 0, 10000, MAX_DUAL, c->dual, &c->duals));
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "qk_norm", &qk_norm));
    if (qk_norm && strcmp(qk_norm, "rms_norm") != 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "qk_norm \"%s\" is not built", qk_norm),
                              "built: null (SD3) and \"rms_norm\" (SD3.5)");
    c->qk_norm = qk_norm != NULL;
    return check_config(c);
}

static bool is_dual(const sd3_config *c, int64_t layer)
{
    for (int i = 0; i < c->duals; i++)
        if (c->dual[i] == layer) return true;
    return false;
}

static dit_status sd3_read_facts(const dit_config *config, dit_facts *facts)
{
    sd3_config c;
    DIT_TRY(read_config(config, &c));
    facts->layers = c.layers;
    for (int64_t i = 0; i < c.layers; i++) facts->image_layers += is_dual(&c, i);
    facts->heads = c.H, facts->head_dim = c.D;
    facts->joint = true;
    facts->guidance_branches = 2;
    facts->latent =
        (dit_latent){.channels = c.in_channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = c.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* What an attention's parameters are called, under "attn." or "attn2.". */
typedef struct {
    const char *qkv[4], *out, *norm_q, *norm_k;
} attention_names;
static const attention_names image_names = {
    {"to_q", "to_k", "to_v", NULL}, "to_out.0", "norm_q.weight", "norm_k.weight"};
static const attention_names text_names = {
    {"add_q_proj", "add_k_proj", "add_v_proj", NULL}, "to_add_out", "norm_added_q.weight", "norm_added_k.weight"};

static dit_status load_attention(const dit_scope *s, const sd3 *m, const attention_names *names, bool has_out,
                                 sd3_attention *attention)
{
    DIT_TRY(scope_fused(s, names->qkv, m->C, m->C, &attention->qkv));
    if (has_out) DIT_TRY(scope_linear(s, names->out, m->C, m->C, &attention->out));
    if (!m->c.qk_norm) return DIT_OK;
    DIT_TRY(scope_vector(s, names->norm_q, m->c.D, DIT_INIT_NORM, &attention->norm_q));
    return scope_vector(s, names->norm_k, m->c.D, DIT_INIT_NORM, &attention->norm_k);
}

static dit_status load_block(const dit_model_params *params, const sd3 *m, int64_t index, sd3_block *block)
{
    dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)index);
    dit_scope joint = scope_of(params, "%sattn.", s.prefix), second = scope_of(params, "%sattn2.", s.prefix);
    int64_t C = m->C;
    block->dual = is_dual(&m->c, index);
    block->last = index == m->c.layers - 1;
    DIT_TRY(scope_linear(&s, "norm1.linear", (block->dual ? DUAL_MODULATIONS : MODULATIONS) * C, C,
                         &block->image.modulation));
    DIT_TRY(scope_linear(&s, "norm1_context.linear", (block->last ? CONTINUOUS_MODULATIONS : MODULATIONS) * C, C,
                         &block->text.modulation));
    DIT_TRY(load_attention(&joint, m, &image_names, true, &block->image.attention));
    DIT_TRY(load_attention(&joint, m, &text_names, !block->last, &block->text.attention));
    if (block->dual) DIT_TRY(load_attention(&second, m, &image_names, true, &block->second));
    DIT_TRY(scope_mlp(&s, "ff", C, 4 * C, &block->image.mlp));
    return block->last ? DIT_OK : scope_mlp(&s, "ff_context", C, 4 * C, &block->text.mlp);
}

static dit_status load_weights(const dit_model_params *params, sd3 *m)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->C, cells = m->c.patch * m->c.patch;
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    DIT_TRY(scope_linear(&s, "pos_embed.proj", C, m->c.in_channels * cells, &m->patch_proj));
    DIT_TRY(scope_linear(&s, "context_embedder", C, m->c.text_dim, &m->context_embedder));
    DIT_TRY(embed_mlp_load(&s, "time_text_embed.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->timestep_mlp));
    DIT_TRY(embed_mlp_load(&s, "time_text_embed.text_embedder", m->c.pooled_dim, C, C, DIT_ACT_SILU, &m->text_mlp));
    for (int64_t i = 0; i < m->c.layers; i++) DIT_TRY(load_block(params, m, i, &m->blocks[i]));
    DIT_TRY(scope_linear(&s, "norm_out.linear", CONTINUOUS_MODULATIONS * C, C, &m->norm_out));
    return scope_head(&s, "proj_out", m->c.out_channels, cells, C, &m->proj_out);
}

static dit_status make_buffers(dit_runtime *rt, sd3 *m)
{
    int64_t C = m->C, B = m->B, rows = B * m->rows;
    const dit_buffer buffers[] = {
        {&rt->image, &m->position, m->n * C},
        {&rt->image, &m->pooled_embed, B * C},
        {&rt->image, &m->context, B * m->T * C},
        {&rt->step, &m->x, rows * C},
        {&rt->step, &m->normed, rows * C},
        {&rt->step, &m->attended, rows * C},
        {&rt->step, &m->wide, rows * 4 * C},
        {&rt->step, &m->sinusoid, B * SINUSOID},
        {&rt->step, &m->hidden, B * C},
        {&rt->step, &m->temb, B * C},
        {&rt->step, &m->activated, B * C},
        {&rt->step, &m->image_modulation, B * DUAL_MODULATIONS * C},
        {&rt->step, &m->text_modulation, B * MODULATIONS * C},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

/* The table is made for max_grid x max_grid tokens and cropped about its centre. Weight files hold it; of theirs only
 * this rank's rows are read (SD3.5-medium's whole table is 900 MB). Without a file: as the library initialises it. */
static dit_status place_tokens(const dit_model_params *params, sd3 *m)
{
    const dit_safetensors *file = params->weights->file;
    int64_t height = params->latent.height / m->c.patch, width = params->latent.width / m->c.patch;
    int64_t max = m->c.max_grid, top = (max - height) / 2, left = (max - width) / 2;
    dit_tensor_view table;
    if (height > max || width > max)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION,
                                       "%lld x %lld tokens do not fit the position table of %lld x %lld",
                                       (long long)height, (long long)width, (long long)max, (long long)max),
                              "choose a smaller height_px or width_px");
    if (file) DIT_TRY(dit_safetensors_require(file, "pos_embed.pos_embed", 3, (int64_t[]){1, max * max, m->C}, &table));
    for (int64_t row = 0; row < m->n; row++) {
        int64_t token = dit_partition_token(&params->partition, row);
        int64_t entry = (top + token / width) * max + left + token % width;
        if (file)
            DIT_TRY(dit_tensor_read(&table, entry * m->C, m->C, m->position + row * m->C));
        else
            embed_sincos_2d(max, max, m->C, (double)(m->c.sample_size / m->c.patch), 1.0, entry, 1,
                            m->position + row * m->C);
    }
    return DIT_OK;
}

static dit_status make_policies(const dit_model_params *params, const sd3 *m, dit_model *model)
{
    const dit_partition *part = &params->partition;
    dit_attention_shape shape = {
        .B = m->B, .H = m->c.H, .D = m->c.D, .tokens = m->rows, .text = m->T, .replicated = part->text_replicated};
    bool any = false;
    DIT_TRY(dit_attention_create(params->rt, params->attention, &shape, &model->attention[0]));
    for (int64_t i = 0; i < m->c.layers; i++) any = any || m->blocks[i].dual;
    if (!any) return DIT_OK;
    shape = (dit_attention_shape){.B = m->B, .H = m->c.H, .D = m->c.D, .tokens = m->n};
    return dit_attention_create(params->rt, params->attention, &shape, &model->attention[1]);
}

static dit_status sd3_create(const dit_model_params *params, dit_model *model)
{
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(sd3), &state));
    sd3 *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->C = m->c.H * m->c.D, m->B = part->batch;
    m->T = part->text_count, m->n = part->image_count, m->rows = m->T + m->n;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params->rt, m));
    DIT_TRY(place_tokens(params, m));
    model->input_channels = m->c.in_channels * m->c.patch * m->c.patch;
    model->output_channels = m->c.out_channels * m->c.patch * m->c.patch;
    model->needs[DIT_CONDITION_TEXT].elements = part->text_tokens * m->c.text_dim;
    model->needs[DIT_CONDITION_POOLED].elements = m->c.pooled_dim;
    return make_policies(params, m, model);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

static dit_status sd3_prepare(dit_model *model, const dit_condition *condition)
{
    sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    dit_rows text = rows_dense((float *)condition->at[DIT_CONDITION_TEXT], m->B, part->text_tokens, m->c.text_dim);
    layer_linear(rt, &m->context_embedder, rows_part(text, part->text_begin, m->T),
                 rows_dense(m->context, m->B, m->T, m->C), DIT_ACT_NONE);
    embed_mlp_run(rt, &m->text_mlp, condition->at[DIT_CONDITION_POOLED], m->B, m->hidden, m->pooled_embed);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_rows joint_rows(const sd3 *m, float *buffer, int64_t cols)
{
    return rows_dense(buffer, m->B, m->rows, cols);
}

static dit_rows text_rows(const sd3 *m, float *buffer, int64_t cols)
{
    return rows_part(joint_rows(m, buffer, cols), 0, m->T);
}

static dit_rows image_rows(const sd3 *m, float *buffer, int64_t cols)
{
    return rows_part(joint_rows(m, buffer, cols), m->T, m->n);
}

static dit_status forward_embed(dit_model *model, const dit_forward_args *args)
{
    sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = m->B, C = m->C;
    dit_rows image = image_rows(m, m->x, C), text = text_rows(m, m->x, C);
    layer_copy(rt, rows_dense(m->context, B, m->T, C), text);
    layer_copy_entries(rt, m->position, image);
    layer_linear_add(rt, &m->patch_proj, rows_dense((float *)args->latents, B, m->n, m->patch_proj.k), image, NULL, 0);
    embed_timestep(args->timestep, B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->timestep_mlp, m->sinusoid, B, m->hidden, m->temb);
    layer_add(rt, m->temb, m->pooled_embed, B * C, m->temb);
    embed_activate(rt, DIT_ACT_SILU, m->temb, B * C, m->activated);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image, "aux.pos_embed"));
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_TEXT, text, "aux.context_embedder"));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->temb, B, 1, C), "aux.time_text_embed");
}

/* The modulation of one stream in one block: [batch, chunks of C]. */
typedef struct {
    float *at;
    int64_t C, stride;
} sd3_modulation;

static sd3_modulation modulate(dit_model *model, const dit_linear *linear, float *buffer)
{
    const sd3 *m = model->state;
    embed_linear(model->params.rt, linear, m->activated, m->B, buffer);
    return (sd3_modulation){buffer, m->C, linear->n};
}

static const float *chunk(const sd3_modulation *modulation, int index)
{
    return modulation->at + index * modulation->C;
}

static void modulated_norm(dit_runtime *rt, dit_rows x, dit_rows y, const sd3_modulation *modulation, int shift,
                           int scale)
{
    layer_norm(rt, x, y,
               &(dit_layer_norm){.eps = EPS,
                                 .shift = chunk(modulation, shift),
                                 .scale = chunk(modulation, scale),
                                 .modulation_stride = modulation->stride});
}

static void project_qkv(dit_model *model, const sd3_attention *attention, dit_rows x, dit_rows qkv)
{
    const sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_head_norm norm = {.H = m->c.H, .D = m->c.D, .kind = DIT_NORM_RMS, .eps = EPS, .weight = attention->norm_q};
    layer_linear(rt, &attention->qkv, x, qkv, DIT_ACT_NONE);
    layer_head_norm(rt, rows_columns(qkv, 0, m->C), &norm);
    norm.weight = attention->norm_k;
    layer_head_norm(rt, rows_columns(qkv, m->C, m->C), &norm);
}

static dit_status attend(dit_attention *policy, int64_t C, dit_rows qkv, dit_rows out)
{
    return layer_sequence_attention(policy, rows_columns(qkv, 0, C), rows_columns(qkv, C, C),
                                    rows_columns(qkv, 2 * C, C), out);
}

static dit_status joint_attention(dit_model *model, const sd3_block *block, const sd3_modulation *image,
                                  const sd3_modulation *text)
{
    const sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t C = m->C;
    dit_rows text_normed = text_rows(m, m->normed, C), image_normed = image_rows(m, m->normed, C);
    modulated_norm(rt, image_rows(m, m->x, C), image_normed, image, SHIFT_MSA, SCALE_MSA);
    modulated_norm(rt, text_rows(m, m->x, C), text_normed, text, block->last ? CONTINUOUS_SHIFT : SHIFT_MSA,
                   block->last ? CONTINUOUS_SCALE : SCALE_MSA);
    if (block->last) DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_TEXT, text_normed, "aux.last_block.norm1_context"));
    project_qkv(model, &block->image.attention, image_normed, image_rows(m, m->wide, 3 * C));
    project_qkv(model, &block->text.attention, text_normed, text_rows(m, m->wide, 3 * C));
    return attend(model->attention[0], C, joint_rows(m, m->wide, 3 * C), joint_rows(m, m->attended, C));
}

/* The image stream attends to itself, from the same block input as the joint attention; the result replaces `normed`.
 */
static dit_status second_attention(dit_model *model, const sd3_block *block, const sd3_modulation *image)
{
    const sd3 *m = model->state;
    dit_rows normed = image_rows(m, m->normed, m->C), qkv = image_rows(m, m->wide, 3 * m->C);
    modulated_norm(model->params.rt, image_rows(m, m->x, m->C), normed, image, SHIFT_SECOND, SCALE_SECOND);
    project_qkv(model, &block->second, normed, qkv);
    return attend(model->attention[1], m->C, qkv, normed);
}

/* x += gate * MLP(norm(x)), with `normed` and `wide` the same rows of those buffers. */
static void stream_mlp(dit_model *model, const dit_mlp *mlp, const sd3_modulation *modulation, dit_rows x,
                       dit_rows normed, dit_rows wide)
{
    modulated_norm(model->params.rt, x, normed, modulation, SHIFT_MLP, SCALE_MLP);
    layer_mlp_add(model->params.rt, mlp, normed, wide, x, chunk(modulation, GATE_MLP), modulation->stride);
}

static dit_status image_update(dit_model *model, const sd3_block *block, const sd3_modulation *image, bool first_block)
{
    const sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t C = m->C;
    const dit_linear *out = &block->image.attention.out, *second = &block->second.out;
    dit_rows x = image_rows(m, m->x, C), attended = image_rows(m, m->attended, C), normed = image_rows(m, m->normed, C);
    if (block->dual) DIT_TRY(second_attention(model, block, image));
    if (first_block) DIT_TRY(dit_tap_linear(model, DIT_LAYOUT_IMAGE, out, attended, "aux.block_0.attn.0"));
    layer_linear_add(rt, out, attended, x, chunk(image, GATE_MSA), image->stride);
    if (block->dual) {
        if (first_block) DIT_TRY(dit_tap_linear(model, DIT_LAYOUT_IMAGE, second, normed, "aux.block_0.attn2"));
        layer_linear_add(rt, second, normed, x, chunk(image, GATE_SECOND), image->stride);
    }
    stream_mlp(model, &block->image.mlp, image, x, normed, image_rows(m, m->wide, 4 * C));
    return DIT_OK;
}

static dit_status text_update(dit_model *model, const sd3_block *block, const sd3_modulation *text, bool first_block)
{
    const sd3 *m = model->state;
    int64_t C = m->C;
    const dit_linear *out = &block->text.attention.out;
    dit_rows x = text_rows(m, m->x, C), attended = text_rows(m, m->attended, C);
    if (first_block) DIT_TRY(dit_tap_linear(model, DIT_LAYOUT_TEXT, out, attended, "aux.block_0.attn.1"));
    layer_linear_add(model->params.rt, out, attended, x, chunk(text, GATE_MSA), text->stride);
    stream_mlp(model, &block->text.mlp, text, x, text_rows(m, m->normed, C), text_rows(m, m->wide, 4 * C));
    return DIT_OK;
}

static dit_status forward_block(dit_model *model, int64_t index)
{
    sd3 *m = model->state;
    const sd3_block *block = &m->blocks[index];
    sd3_modulation image = modulate(model, &block->image.modulation, m->image_modulation);
    sd3_modulation text = modulate(model, &block->text.modulation, m->text_modulation);
    DIT_TRY(joint_attention(model, block, &image, &text));
    DIT_TRY(image_update(model, block, &image, index == 0));
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image_rows(m, m->x, m->C), "block_%lld", (long long)index));
    if (block->last) return DIT_OK;
    DIT_TRY(text_update(model, block, &text, index == 0));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, text_rows(m, m->x, m->C), "block_%lld_context", (long long)index);
}

static void forward_head(dit_model *model, float *output)
{
    sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows x = image_rows(m, m->x, m->C), normed = image_rows(m, m->normed, m->C);
    sd3_modulation modulation = modulate(model, &m->norm_out, m->image_modulation);
    modulated_norm(rt, x, normed, &modulation, CONTINUOUS_SHIFT, CONTINUOUS_SCALE);
    layer_linear(rt, &m->proj_out, normed, rows_dense(output, m->B, m->n, m->proj_out.n), DIT_ACT_NONE);
}

static dit_status sd3_forward(dit_model *model, const dit_forward_args *args)
{
    sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TIMED(rt, DIT_TIME_EMBED, DIT_TRY(forward_embed(model, args)));
    DIT_TIMED(rt, DIT_TIME_BLOCKS, for (int64_t i = 0; i < m->c.layers; i++) DIT_TRY(forward_block(model, i)));
    DIT_TIMED(rt, DIT_TIME_HEAD, forward_head(model, args->output));
    return DIT_OK;
}

const dit_model_ops dit_model_sd3 = {
    .class_name = "SD3Transformer2DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = sd3_read_facts,
    .create = sd3_create,
    .prepare = sd3_prepare,
    .forward = sd3_forward,
};
