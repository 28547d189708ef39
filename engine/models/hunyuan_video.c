/* HunyuanVideo: a token refiner for the text, double-stream blocks, single-stream blocks, joint attention with masked
 * text, rotary positions of the video in time and space.
 * Source: parameter names and arithmetic of diffusers 0.33.1 HunyuanVideoTransformer3DModel (Tencent, HunyuanVideo).
 *
 * Both streams live in one buffer, [batch, text rows + video rows, C] with the text first. The refiner attends over the
 * whole text and sees the timestep, so every rank refines all of it at every step, with all heads, and then takes its
 * own rows.
 */
#include "engine/models/token_refiner.h"

#include <math.h>

enum { AXES = 3 };
static const float EPS = 1e-6f;

typedef struct {
    int64_t doubles, singles, refiners, H, D, in_channels, out_channels, text_dim, pooled_dim, patch, patch_t;
    int64_t inner, axes[AXES]; /* width of an MLP; of a head's rotary parts: time, row, column */
    double mlp_ratio, theta;
    bool guidance_embeds;
} hunyuan_config;

typedef struct {
    hunyuan_config c;
    joint j;
    int64_t B, St;            /* batch; whole text                                */
    embed_combined time_text; /* of the blocks: timestep, pooled text, guidance   */
    token_refiner refiner;
    dit_linear x_embedder, norm_out, proj_out;
    joint_block *doubles;
    joint_stream *singles;
    float *cosines, *sines; /* [video rows, D] image's life                     */
    float *ids;             /* [video rows, 3]                                  */
    float *joint_bias;      /* [batch, St] on the logits                        */
} hunyuan;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(hunyuan_config, doubles, "num_layers", 20, 0, 1000),
    DIT_CONFIG_INT(hunyuan_config, singles, "num_single_layers", 40, 0, 1000),
    DIT_CONFIG_INT(hunyuan_config, refiners, "num_refiner_layers", 2, 0, 1000),
    DIT_CONFIG_INT(hunyuan_config, H, "num_attention_heads", 24, 1, 1024),
    DIT_CONFIG_INT(hunyuan_config, D, "attention_head_dim", 128, 1, 1024),
    DIT_CONFIG_INT(hunyuan_config, in_channels, "in_channels", 16, 1, 4096),
    DIT_CONFIG_INT(hunyuan_config, out_channels, "out_channels", 16, 1, 4096),
    DIT_CONFIG_INT(hunyuan_config, text_dim, "text_embed_dim", 4096, 1, 65536),
    DIT_CONFIG_INT(hunyuan_config, pooled_dim, "pooled_projection_dim", 768, 1, 65536),
    DIT_CONFIG_INT(hunyuan_config, patch, "patch_size", 2, 1, 16),
    DIT_CONFIG_INT(hunyuan_config, patch_t, "patch_size_t", 1, 1, 16),
    DIT_CONFIG_NUMBER(hunyuan_config, mlp_ratio, "mlp_ratio", 4, 1, 64),
    DIT_CONFIG_NUMBER(hunyuan_config, theta, "rope_theta", 256, 1, 1e9),
    DIT_CONFIG_BOOL(hunyuan_config, guidance_embeds, "guidance_embeds", true),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"qk_norm", "rms_norm"},
    {"image_condition_type", "null"},
    {0},
};

static dit_status read_config(const dit_config *config, hunyuan_config *c)
{
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    c->inner = (int64_t)((double)(c->H * c->D) * c->mlp_ratio);
    if (c->out_channels != c->in_channels)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "out_channels %lld differ from in_channels %lld: only text to video is implemented",
                        (long long)c->out_channels, (long long)c->in_channels);
    return embed_read_rope_widths(config, "rope_axes_dim", 3, (const int64_t[]){16, 56, 56}, c->D, c->axes);
}

static dit_status hunyuan_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    hunyuan_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D;
    sizes->blocks[0] = c.doubles, sizes->blocks[1] = c.singles;
    facts->mlp_ratio = (int64_t)ceil(c.mlp_ratio);
    facts->latent = (dit_latent){
        .channels = c.in_channels, .vae_spatial = 8, .vae_temporal = 4, .patch_t = c.patch_t, .patch = c.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_weights(const dit_model_params *params, hunyuan *m)
{
    dit_scope s = scope_of(params, "%s", ""), time_text = scope_under(&s, "time_text_embed");
    int64_t C = m->j.C, token = m->c.patch_t * m->c.patch * m->c.patch;
    if (params->stage.first) {
        DIT_TRY(token_refiner_load(params, &m->j, &m->refiner));
        DIT_TRY(scope_linear(&s, "x_embedder.proj", C, m->c.in_channels * token, &m->x_embedder));
    }
    DIT_TRY(embed_combined_create(&time_text, &m->time_text));
    DIT_TRY(joint_load_blocks(params, &m->j, m->c.doubles, &m->doubles));
    DIT_TRY(joint_load_singles(params, &m->j, m->c.doubles, m->c.singles, &m->singles));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "norm_out.linear", JOINT_LAST_CHUNKS * C, C, &m->norm_out));
    return scope_linear(&s, "proj_out", m->c.out_channels * token, C, &m->proj_out);
}

static dit_status make_buffers(const dit_model_params *params, hunyuan *m)
{
    dit_arena *image = &params->rt->image;
    int64_t n = params->partition.image_count;
    const dit_buffer buffers[] = {
        {image, &m->cosines, n * m->c.D, DIT_BUFFER_FP32},
        {image, &m->sines, n * m->c.D, DIT_BUFFER_FP32},
        {image, &m->ids, n * AXES, DIT_BUFFER_HOST},
        {image, &m->joint_bias, m->B * m->St, DIT_BUFFER_HOST},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    DIT_TRY(token_refiner_take(params, &m->refiner));
    m->j.cosines[JOINT_IMAGE] = m->cosines, m->j.sines[JOINT_IMAGE] = m->sines;
    return DIT_OK;
}

static void state_needs(const hunyuan *m, dit_model *model)
{
    dit_condition_need *needs = model->needs;
    needs[DIT_CONDITION_TEXT].elements = m->St * m->c.text_dim;
    needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = m->St, .optional = true};
    needs[DIT_CONDITION_POOLED].elements = m->c.pooled_dim;
    needs[DIT_CONDITION_GUIDANCE] = (dit_condition_need){.elements = m->c.guidance_embeds ? 1 : 0, .scale = 1000.0f};
}

static dit_status hunyuan_create(const dit_model_params *params, dit_model *model)
{
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(hunyuan), &state));
    hunyuan *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->B = params->partition.batch, m->St = params->partition.text_tokens;
    m->j = (joint){.H = m->c.H, .D = m->c.D, .inner = m->c.inner, .eps = EPS, .qk_norm = true};
    DIT_TRY(joint_create(model, &m->j));
    m->time_text = (embed_combined){.batch = m->B, .text_dim = m->c.text_dim, .width = m->j.C, .unit = 1.0f};
    m->refiner = (token_refiner){.count = m->c.refiners,
                                 .H = m->c.H,
                                 .C = m->j.C,
                                 .text_dim = m->c.text_dim,
                                 .B = m->B,
                                 .St = m->St,
                                 .eps = EPS,
                                 .padding_sees_first = true,
                                 .time_text = m->time_text};
    m->time_text.text_dim = m->c.pooled_dim, m->time_text.guided = m->c.guidance_embeds;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params, m));
    m->j.activated = m->time_text.activated;
    int64_t token = m->c.patch_t * m->c.patch * m->c.patch;
    model->input_channels = m->c.in_channels * token;
    model->output_channels = m->c.out_channels * token;
    model->linspace_sigmas = true;
    model->sensitive_embedding = m->c.guidance_embeds;
    state_needs(m, model);
    return joint_create_policy(params, m->j.heads, m->c.D, 1, &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

/* Blocks see as many leading text keys as the mask keeps, which only ever cuts the end of a prompt. */
static dit_status hide_masked(dit_model *model)
{
    const hunyuan *m = model->state;
    for (int64_t b = 0; b < m->B; b++) {
        int64_t kept = 0;
        for (int64_t i = 0; i < m->St; i++) kept += token_refiner_keeps(&m->refiner, b, i);
        for (int64_t i = 0; i < m->St; i++) m->joint_bias[b * m->St + i] = i < kept ? 0.0f : -INFINITY;
    }
    return dit_attention_set_text_bias(model->attention[0], m->joint_bias, m->St);
}

static dit_status hunyuan_prepare(dit_model *model, const dit_condition *condition)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    const float *text = condition->at[DIT_CONDITION_TEXT];
    DIT_TRY(token_refiner_read(rt, &m->refiner, text, condition->at[DIT_CONDITION_TEXT_MASK]));
    DIT_TRY(hide_masked(model));
    embed_grid_ids(rt, &model->params.partition, &model->params.latent, m->ids);
    embed_rope(rt, m->ids, model->params.partition.image_count, AXES, m->c.axes, m->c.theta, m->cosines, m->sines);
    DIT_TRY(embed_put_rope(rt, m->cosines, m->sines, model->params.partition.image_count * m->c.D));
    DIT_TRY(embed_tap_rope(model, DIT_LAYOUT_IMAGE, m->cosines, m->sines, m->c.D));
    if (model->params.stage.first) token_refiner_prepare(rt, &m->refiner, text);
    embed_combined_prepare(rt, &m->time_text, condition->at[DIT_CONDITION_POOLED],
                           condition->at[DIT_CONDITION_GUIDANCE]);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status hunyuan_begin(dit_model *model, const float *timestep)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    if (model->params.stage.first) embed_combined_step(rt, &m->refiner.time_text, timestep);
    embed_combined_step(rt, &m->time_text, timestep);
    return embed_tap_combined(model, &m->time_text, "aux.time_text_embed.0");
}

/* Makes the text's rows: the whole text goes through the refiner, whichever rows of it this rank holds. */
static dit_status embed_text(dit_model *model)
{
    hunyuan *m = model->state;
    const dit_partition *part = &model->params.partition;
    dit_rows text = rows_dense(m->refiner.text, m->B, m->St, m->j.C);
    DIT_TRY(token_refiner_run(model, &m->refiner));
    layer_copy(model->params.rt, rows_part(text, part->text_begin, part->text_count), joint_x(&m->j, JOINT_TEXT));
    return DIT_OK;
}

static dit_status hunyuan_embed(dit_model *model, const float *latents)
{
    hunyuan *m = model->state;
    dit_rows video = joint_x(&m->j, JOINT_IMAGE);
    layer_linear(model->params.rt, &m->x_embedder, rows_dense((float *)latents, m->B, video.rows, m->x_embedder.k),
                 video, DIT_ACT_NONE);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, video, "aux.x_embedder"));
    return model->window.text ? embed_text(model) : DIT_OK;
}

static dit_status forward_double(dit_model *model, int64_t index)
{
    const hunyuan *m = model->state;
    DIT_TRY(joint_double_block(model, &m->j, &m->doubles[index], false));
    return joint_tap(model, m->j.x, m->j.C, "block", index);
}

static dit_status forward_single(dit_model *model, int64_t index)
{
    const hunyuan *m = model->state;
    const joint *j = &m->j;
    DIT_TRY(joint_attend_single(model, j, &m->singles[index]));
    DIT_TRY(joint_tap_attended_raw(model, j));
    DIT_TRY(joint_add_parallel(model->params.rt, j, &m->singles[index]));
    return joint_tap(model, j->x, j->C, "single_block", index);
}

static dit_status hunyuan_attention_input(dit_model *model, float *out)
{
    const hunyuan *m = model->state;
    const joint_stream *first = m->c.doubles ? &m->doubles[0].image : &m->singles[0];
    joint_attention_input(model->params.rt, &m->j, first, out);
    return DIT_OK;
}

static dit_status hunyuan_block(dit_model *model, int64_t index)
{
    int64_t doubles = ((const hunyuan *)model->state)->c.doubles;
    return index < doubles ? forward_double(model, index) : forward_single(model, index - doubles);
}

static dit_status hunyuan_head(dit_model *model, float *output)
{
    hunyuan *m = model->state;
    joint_head(model->params.rt, &m->j, &m->norm_out, &m->proj_out, output);
    return DIT_OK;
}

const dit_model_ops dit_model_hunyuan_video = {
    .class_name = "HunyuanVideoTransformer3DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = hunyuan_read_facts,
    .create = hunyuan_create,
    .prepare = hunyuan_prepare,
    .begin = hunyuan_begin,
    .embed = hunyuan_embed,
    .attention_input = hunyuan_attention_input,
    .block = hunyuan_block,
    .head = hunyuan_head,
};
