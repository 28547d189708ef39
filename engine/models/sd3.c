/* SD3 and SD3.5: image and text streams with their own weights, joint attention in every block (MM-DiT); in
 * SD3.5-medium the first blocks attend a second time over the image alone. Source: Esser et al., Scaling Rectified Flow
 * Transformers (arXiv:2403.03206), figure 2; parameter names and arithmetic of diffusers 0.33.1 SD3Transformer2DModel.
 *
 * Both streams live in one buffer, [batch, text rows + image rows, C] with the text first. The last block reads the
 * text but does not write it.
 */
#include "engine/models/embed.h"
#include "engine/models/joint.h"

#include <string.h>

/* The image's modulation in a dual block has three more chunks, for the second attention. */
enum { SHIFT_SECOND = JOINT_CHUNKS, SCALE_SECOND, GATE_SECOND, DUAL_CHUNKS };
_Static_assert((int)DUAL_CHUNKS <= (int)JOINT_MAX_CHUNKS, "the blocks' buffer holds the modulation");

typedef struct {
    joint_block streams;    /* the text of the last block has neither attention.out nor mlp */
    joint_attention second; /* in dual blocks: over the image alone                         */
    bool dual, last;
} sd3_block;

typedef struct {
    int64_t layers, H, D, patch, in_channels, out_channels, text_dim, context_dim, pooled_dim, sample_size, max_grid;
    bool qk_norm;
} sd3_config;

typedef struct {
    sd3_config c;
    joint j;
    embed_combined time_text; /* timestep, pooled text */
    dit_linear patch_proj, context_embedder, norm_out, proj_out;
    sd3_block *blocks;
    float *position; /* [image rows, C], image's life                  */
    float *context;  /* [batch, text rows, C] projected text, the same */
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
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "qk_norm", &qk_norm));
    if (qk_norm && strcmp(qk_norm, "rms_norm") != 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "qk_norm \"%s\" is not implemented", qk_norm),
                              "implemented: null (SD3) and \"rms_norm\" (SD3.5)");
    c->qk_norm = qk_norm != NULL;
    return check_config(c);
}

static dit_status sd3_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    sd3_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D, sizes->blocks[0] = c.layers;
    facts->latent =
        (dit_latent){.channels = c.in_channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = c.patch};
    return dit_config_read_ints(config, "dual_attention_layers", 0, 10000, DIT_MAX_DUAL, sizes->dual,
                                &sizes->dual_count);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_block(const dit_model_params *params, const sd3 *m, int64_t index, sd3_block *block)
{
    dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)index);
    block->dual = dit_facts_blocks(&params->rt->facts, index, 1).image_layers > 0;
    block->last = index == m->c.layers - 1;
    block->streams.image.index = block->streams.text.index = index;
    DIT_TRY(joint_load_stream(&s, &m->j, JOINT_IMAGE, block->dual ? DUAL_CHUNKS : JOINT_CHUNKS, &block->streams.image));
    DIT_TRY(
        joint_load_stream(&s, &m->j, JOINT_TEXT, block->last ? JOINT_LAST_CHUNKS : JOINT_CHUNKS, &block->streams.text));
    return block->dual ? joint_load_attention(&s, &m->j, "attn2", JOINT_IMAGE, true, &block->second) : DIT_OK;
}

static dit_status load_weights(const dit_model_params *params, sd3 *m)
{
    dit_scope s = scope_of(params, "%s", ""), time_text = scope_under(&s, "time_text_embed");
    int64_t C = m->j.C, cells = m->c.patch * m->c.patch;
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    if (params->stage.first) {
        DIT_TRY(scope_linear(&s, "pos_embed.proj", C, m->c.in_channels * cells, &m->patch_proj));
        DIT_TRY(scope_linear(&s, "context_embedder", C, m->c.text_dim, &m->context_embedder));
    }
    DIT_TRY(embed_combined_create(&time_text, &m->time_text));
    for (int64_t i = 0; i < m->c.layers; i++)
        if (dit_stage_has(params, i)) DIT_TRY(load_block(params, m, i, &m->blocks[i]));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "norm_out.linear", JOINT_LAST_CHUNKS * C, C, &m->norm_out));
    return scope_head(&s, "proj_out", m->c.out_channels, cells, C, &m->proj_out);
}

static dit_status make_buffers(const dit_model_params *params, sd3 *m)
{
    const dit_partition *part = &params->partition;
    int64_t embedded = params->stage.first ? m->j.C : 0;
    const dit_buffer buffers[] = {
        {&params->rt->image, &m->position, part->image_count * embedded, DIT_BUFFER_ACTIVATIONS},
        {&params->rt->image, &m->context, part->batch * part->text_count * embedded, DIT_BUFFER_ACTIVATIONS},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

/* Makes the positions: a table for max_grid x max_grid tokens, cropped about its centre. Weight files hold it, and only
 * this rank's rows are read (SD3.5-medium's whole table is 900 MB). Without a file it is what the library
 * initialises. */
static dit_status place_tokens(const dit_model_params *params, sd3 *m)
{
    const dit_safetensors *file = params->weights->saved ? NULL : params->weights->file;
    int64_t height = params->latent.height / m->c.patch, width = params->latent.width / m->c.patch;
    int64_t C = m->j.C, max = m->c.max_grid, top = (max - height) / 2, left = (max - width) / 2;
    dit_tensor_view table;
    if (height > max || width > max)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION,
                                       "%lld x %lld tokens do not fit the position table of %lld x %lld",
                                       (long long)height, (long long)width, (long long)max, (long long)max),
                              "choose a smaller height_px or width_px");
    if (file) DIT_TRY(dit_safetensors_require(file, "pos_embed.pos_embed", 3, (int64_t[]){1, max * max, C}, &table));
    for (int64_t row = 0; row < params->partition.image_count; row++) {
        int64_t token = dit_partition_token(&params->partition, row);
        int64_t entry = (top + token / width) * max + left + token % width;
        float *position = m->position + row * C;
        if (file)
            DIT_TRY(dit_tensor_read(&table, entry * C, C, position));
        else
            embed_sincos_2d(params->rt, max, max, C, (double)(m->c.sample_size / m->c.patch), 1.0, entry, 1, position);
    }
    return dit_runtime_upload(params->rt, m->position, params->partition.image_count * C);
}

static dit_status make_policies(const dit_model_params *params, const sd3 *m, dit_model *model)
{
    dit_attention_shape image = {
        .B = params->partition.batch, .H = m->j.heads, .D = m->c.D, .tokens = params->partition.image_count};
    DIT_TRY(joint_create_policy(params, m->j.heads, m->c.D, 0, &model->attention[0]));
    for (int64_t i = 0; i < m->c.layers; i++) image.calls += m->blocks[i].dual; /* of the stage */
    return image.calls ? dit_attention_create(params->rt, params->attention, &image, &model->attention[1]) : DIT_OK;
}

static dit_status sd3_create(const dit_model_params *params, dit_model *model)
{
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(sd3), &state));
    sd3 *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->j = (joint){.H = m->c.H, .D = m->c.D, .inner = 4 * m->c.H * m->c.D, .eps = 1e-6f, .qk_norm = m->c.qk_norm};
    DIT_TRY(joint_create(model, &m->j));
    m->time_text = (embed_combined){.batch = part->batch, .text_dim = m->c.pooled_dim, .width = m->j.C, .unit = 1.0f};
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params, m));
    if (params->stage.first) DIT_TRY(place_tokens(params, m));
    m->j.activated = m->time_text.activated;
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
    if (model->params.stage.first)
        joint_project_text(rt, &model->params.partition, &m->context_embedder, condition->at[DIT_CONDITION_TEXT],
                           m->context);
    embed_combined_prepare(rt, &m->time_text, condition->at[DIT_CONDITION_POOLED], NULL);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status sd3_begin(dit_model *model, const float *timestep)
{
    sd3 *m = model->state;
    embed_combined_step(model->params.rt, &m->time_text, timestep);
    return embed_tap_combined(model, &m->time_text, "aux.time_text_embed");
}

static dit_status sd3_embed(dit_model *model, const float *latents)
{
    sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows text = joint_x(&m->j, JOINT_TEXT), image = joint_x(&m->j, JOINT_IMAGE);
    layer_copy(rt, rows_dense(m->context, text.batch, text.rows, text.cols), text);
    layer_copy_entries(rt, m->position + model->window.first * m->j.C, image);
    layer_linear_add(rt, &m->patch_proj, rows_dense((float *)latents, image.batch, image.rows, m->patch_proj.k), image,
                     NULL, 0);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image, "aux.pos_embed"));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, text, "aux.context_embedder");
}

/* Returns [batch, image rows, A], in the memory of the norm. */
static dit_rows second_attended(const joint *j)
{
    return rows_columns(joint_normed(j, JOINT_IMAGE), 0, j->A);
}

/* Lets the image attend to itself, from the block input that the joint attention has, too; the result replaces
 * `normed`. */
static dit_status second_attention(dit_model *model, const sd3_block *block)
{
    const sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    joint_norm(rt, &m->j, &block->streams.image, SHIFT_SECOND, SCALE_SECOND);
    joint_project(rt, &m->j, &block->second, JOINT_IMAGE);
    return joint_attend(model->attention[1], &m->j, JOINT_IMAGE, second_attended(&m->j));
}

static dit_status tap_attention(dit_model *model, const sd3_block *block)
{
    const sd3 *m = model->state;
    if (block->dual)
        DIT_TRY(
            dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->second.out, second_attended(&m->j), "aux.block_0.attn2"));
    return joint_tap_attention(model, &m->j, &block->streams);
}

static dit_status tap_block(dit_model *model, const sd3_block *block, int64_t index)
{
    const joint *j = &((const sd3 *)model->state)->j;
    if (!block->last) return joint_tap(model, j->x, j->C, "block", index);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_TEXT, joint_normed(j, JOINT_TEXT), "aux.last_block.norm1_context"));
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, joint_x(j, JOINT_IMAGE), "block_%lld", (long long)index);
}

static dit_status sd3_attention_input(dit_model *model, float *out)
{
    const sd3 *m = model->state;
    joint_attention_input(model->params.rt, &m->j, &m->blocks[0].streams.image, out);
    return DIT_OK;
}

static dit_status sd3_forward_block(dit_model *model, int64_t index)
{
    sd3 *m = model->state;
    dit_runtime *rt = model->params.rt;
    const joint *j = &m->j;
    const sd3_block *block = &m->blocks[index];
    const joint_stream *image = &block->streams.image, *text = &block->streams.text;
    DIT_TRY(joint_attend_double(model, j, &block->streams));
    if (block->dual && !module_is_taken(model, DIT_MODULE_ATTENTION)) DIT_TRY(second_attention(model, block));
    if (index == 0) DIT_TRY(tap_attention(model, block));
    DIT_TRY(joint_tap_attended(model, j, &block->streams));

    DIT_TRY(joint_add_attention(j, image));
    if (block->dual)
        DIT_TRY(joint_add(j, image, DIT_MODULE_ATTENTION, true, &block->second.out, second_attended(j), GATE_SECOND));
    DIT_TRY(joint_add_mlp(rt, j, image));
    if (!block->last) {
        DIT_TRY(joint_add_attention(j, text));
        DIT_TRY(joint_add_mlp(rt, j, text));
    }
    return tap_block(model, block, index);
}

static dit_status sd3_head(dit_model *model, float *output)
{
    sd3 *m = model->state;
    joint_head(model->params.rt, &m->j, &m->norm_out, &m->proj_out, output);
    return DIT_OK;
}

const dit_model_ops dit_model_sd3 = {
    .class_name = "SD3Transformer2DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = sd3_read_facts,
    .create = sd3_create,
    .prepare = sd3_prepare,
    .begin = sd3_begin,
    .embed = sd3_embed,
    .attention_input = sd3_attention_input,
    .block = sd3_forward_block,
    .head = sd3_head,
};
