/* HunyuanVideo 1.5: a token refiner for the text, double-stream blocks, joint attention with masked text, rotary
 * positions of the video in time and space.
 * Source: parameter names and arithmetic of diffusers 0.42.1 HunyuanVideo15Transformer3DModel (Tencent, HunyuanVideo 1.5).
 *
 * Both streams live in one buffer, [batch, text rows + video rows, C] with the text first. The text is three texts: the
 * refined prompt, glyphs that ByT5 embeds, and tokens of a picture, each with a vector of its kind added. The library
 * sorts masked rows behind the others; attention does not see the order, and nobody reads a masked row, so here all
 * rows stay where they are. A model of text alone (task_type t2v) has the picture's rows, too, and all of them masked.
 *
 * The refiner attends over the whole prompt and sees the timestep, so the first stage's ranks refine all of it at every
 * step, with all heads, and then take their own rows.
 */
#include "engine/models/token_refiner.h"

#include <math.h>
#include <string.h>

enum { AXES = 3 };
enum { KIND_PROMPT, KIND_GLYPHS, KIND_PICTURE, KINDS };
static const float EPS = 1e-6f, NORM_EPS = 1e-5f;

typedef struct {
    int64_t layers, refiners, H, D, in_channels, out_channels, text_dim, glyph_dim, image_dim, patch, patch_t;
    int64_t glyphs, picture;   /* tokens of ByT5, of a picture                                */
    int64_t glyph_width;       /* inner width of the projection of the former                  */
    int64_t inner, axes[AXES]; /* width of an MLP; of a head's rotary parts: time, row, column */
    double mlp_ratio, theta;
    bool of_picture; /* a picture is a condition; else its rows are masked */
} hv15_config;

/* Norm, linear layers around GELU. A picture's has two of them, and a norm behind. */
typedef struct {
    dit_linear layers[3];
    const float *norm_weight[2], *norm_bias[2];
} hv15_projection;

typedef struct {
    hv15_config c;
    joint j;
    int64_t B, St, T;    /* batch; tokens of the prompt; rows of all texts          */
    embed_combined time; /* of the blocks: the timestep alone                       */
    token_refiner refiner;
    hv15_projection glyphs, picture;
    dit_linear x_embedder, norm_out, proj_out;
    joint_block *blocks;
    const float *kinds;     /* [KINDS, C]                                           */
    float *cosines, *sines; /* [video rows, D] image's life                         */
    float *ids;             /* [video rows, 3]                                      */
    float *joint_bias;      /* [B, T] on the logits                                 */
    float *given[2];        /* [B, glyphs or picture, their widths]: scratch        */
    float *constant;        /* [B, T, C]: kinds, and the texts that no step changes */
    float *texts;           /* [B, T, C] of a step                                  */
} hv15;

/* ---- config ------------------------------------------------------------------------------------------------------ */

/* The last three keys are ours: the library has their defaults as constants, of the pipelines and of the class. */
static const dit_config_field fields[] = {
    DIT_CONFIG_INT(hv15_config, layers, "num_layers", 54, 0, 1000),
    DIT_CONFIG_INT(hv15_config, refiners, "num_refiner_layers", 2, 0, 1000),
    DIT_CONFIG_INT(hv15_config, H, "num_attention_heads", 16, 1, 1024),
    DIT_CONFIG_INT(hv15_config, D, "attention_head_dim", 128, 1, 1024),
    DIT_CONFIG_INT(hv15_config, in_channels, "in_channels", 65, 1, 4096),
    DIT_CONFIG_INT(hv15_config, out_channels, "out_channels", 32, 1, 4096),
    DIT_CONFIG_INT(hv15_config, text_dim, "text_embed_dim", 3584, 1, 65536),
    DIT_CONFIG_INT(hv15_config, glyph_dim, "text_embed_2_dim", 1472, 1, 65536),
    DIT_CONFIG_INT(hv15_config, image_dim, "image_embed_dim", 1152, 1, 65536),
    DIT_CONFIG_INT(hv15_config, patch, "patch_size", 1, 1, 16),
    DIT_CONFIG_INT(hv15_config, patch_t, "patch_size_t", 1, 1, 16),
    DIT_CONFIG_NUMBER(hv15_config, mlp_ratio, "mlp_ratio", 4, 1, 64),
    DIT_CONFIG_NUMBER(hv15_config, theta, "rope_theta", 256, 1, 1e9),
    DIT_CONFIG_INT(hv15_config, glyphs, "glyph_tokens", 256, 1, 4096),
    DIT_CONFIG_INT(hv15_config, picture, "picture_tokens", 729, 1, 4096),
    DIT_CONFIG_INT(hv15_config, glyph_width, "glyph_width", 2048, 1, 65536),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"qk_norm", "rms_norm"},
    {"use_meanflow", "false"},
    {0},
};

static dit_status read_task(const dit_config *config, hv15_config *c)
{
    const char *task = "i2v";
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "task_type", &task));
    c->of_picture = strcmp(task, "t2v") != 0;
    if (!c->of_picture || strcmp(task, "i2v") == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "task_type \"%s\" is neither t2v nor i2v", task);
}

static dit_status read_config(const dit_config *config, hv15_config *c)
{
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(read_task(config, c));
    c->inner = (int64_t)((double)(c->H * c->D) * c->mlp_ratio);
    if (c->in_channels < c->out_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "in_channels %lld below out_channels %lld", (long long)c->in_channels,
                        (long long)c->out_channels);
    return embed_read_rope_widths(config, "rope_axes_dim", AXES, (const int64_t[]){16, 56, 56}, c->D, c->axes);
}

static dit_status hv15_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    hv15_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D;
    sizes->blocks[0] = c.layers;
    sizes->text_beside = c.glyphs + c.picture;
    facts->mlp_ratio = (int64_t)ceil(c.mlp_ratio);
    facts->latent = (dit_latent){
        .channels = c.out_channels, .vae_spatial = 16, .vae_temporal = 4, .patch_t = c.patch_t, .patch = c.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static int64_t token_cells(const hv15_config *c)
{
    return c->patch_t * c->patch * c->patch;
}

static dit_status load_projections(const dit_scope *s, hv15 *m)
{
    dit_scope glyphs = scope_under(s, "context_embedder_2"), picture = scope_under(s, "image_embedder");
    const hv15_config *c = &m->c;
    int64_t C = m->j.C;
    DIT_TRY(scope_affine(&glyphs, "norm", c->glyph_dim, &m->glyphs.norm_weight[0], &m->glyphs.norm_bias[0]));
    DIT_TRY(scope_linear(&glyphs, "linear_1", c->glyph_width, c->glyph_dim, &m->glyphs.layers[0]));
    DIT_TRY(scope_linear(&glyphs, "linear_2", c->glyph_width, c->glyph_width, &m->glyphs.layers[1]));
    DIT_TRY(scope_linear(&glyphs, "linear_3", C, c->glyph_width, &m->glyphs.layers[2]));
    DIT_TRY(scope_affine(&picture, "norm_in", c->image_dim, &m->picture.norm_weight[0], &m->picture.norm_bias[0]));
    DIT_TRY(scope_linear(&picture, "linear_1", c->image_dim, c->image_dim, &m->picture.layers[0]));
    DIT_TRY(scope_linear(&picture, "linear_2", C, c->image_dim, &m->picture.layers[1]));
    DIT_TRY(scope_affine(&picture, "norm_out", C, &m->picture.norm_weight[1], &m->picture.norm_bias[1]));
    return scope_matrix(s, "cond_type_embed.weight", KINDS, C, DIT_INIT_TABLE, &m->kinds);
}

static dit_status load_weights(const dit_model_params *params, hv15 *m)
{
    dit_scope s = scope_of(params, "%s", ""), time = scope_under(&s, "time_embed");
    int64_t C = m->j.C, cells = token_cells(&m->c);
    if (params->stage.first) {
        DIT_TRY(token_refiner_load(params, &m->j, &m->refiner));
        DIT_TRY(load_projections(&s, m));
        DIT_TRY(scope_linear(&s, "x_embedder.proj", C, m->c.in_channels * cells, &m->x_embedder));
    }
    DIT_TRY(embed_combined_create(&time, &m->time));
    DIT_TRY(joint_load_blocks(params, &m->j, m->c.layers, &m->blocks));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "norm_out.linear", JOINT_LAST_CHUNKS * C, C, &m->norm_out));
    return scope_linear(&s, "proj_out", m->c.out_channels * cells, C, &m->proj_out);
}

static dit_status make_buffers(const dit_model_params *params, hv15 *m)
{
    dit_arena *image = &params->rt->image, *step = &params->rt->step;
    int64_t n = params->partition.image_count, texts = m->B * m->T;
    int64_t wide = m->c.image_dim > m->c.glyph_width ? m->c.image_dim : m->c.glyph_width;
    int64_t most = m->c.glyphs > m->c.picture ? m->c.glyphs : m->c.picture;
    if (m->c.glyph_dim > wide) wide = m->c.glyph_dim;
    int64_t given = params->stage.first ? m->B * most * wide : 0;
    const dit_buffer buffers[] = {
        {image, &m->cosines, n * m->c.D, DIT_BUFFER_FP32},
        {image, &m->sines, n * m->c.D, DIT_BUFFER_FP32},
        {image, &m->ids, n * AXES, DIT_BUFFER_HOST},
        {image, &m->joint_bias, texts, DIT_BUFFER_HOST},
        {image, &m->constant, params->stage.first ? texts * m->j.C : 0, DIT_BUFFER_ACTIVATIONS},
        {image, &m->given[0], given, DIT_BUFFER_ACTIVATIONS},
        {image, &m->given[1], given, DIT_BUFFER_ACTIVATIONS},
        {step, &m->texts, params->stage.first ? texts * m->j.C : 0, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    DIT_TRY(token_refiner_take(params, &m->refiner));
    m->j.cosines[JOINT_IMAGE] = m->cosines, m->j.sines[JOINT_IMAGE] = m->sines;
    return DIT_OK;
}

static void state_needs(const hv15 *m, dit_model *model)
{
    const dit_partition *part = &model->params.partition;
    const hv15_config *c = &m->c;
    dit_condition_need *needs = model->needs;
    needs[DIT_CONDITION_TEXT].elements = m->St * c->text_dim;
    needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = m->St, .optional = true};
    needs[DIT_CONDITION_TEXT_2].elements = c->glyphs * c->glyph_dim;
    needs[DIT_CONDITION_TEXT_2_MASK] = (dit_condition_need){.elements = c->glyphs, .optional = true};
    needs[DIT_CONDITION_IMAGE].elements = c->of_picture ? c->picture * c->image_dim : 0;
    needs[DIT_CONDITION_LATENT] = (dit_condition_need){
        .elements = part->image_tokens * (c->in_channels - c->out_channels) * token_cells(c), .later = !c->of_picture};
}

static dit_status hv15_create(const dit_model_params *params, dit_model *model)
{
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(hv15), &state));
    hv15 *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->B = params->partition.batch, m->T = params->partition.text_tokens;
    m->St = m->T - m->c.glyphs - m->c.picture;
    m->j = (joint){.H = m->c.H, .D = m->c.D, .inner = m->c.inner, .eps = EPS, .qk_norm = true};
    DIT_TRY(joint_create(model, &m->j));
    m->time = (embed_combined){.batch = m->B, .width = m->j.C, .unit = 1.0f};
    m->refiner = (token_refiner){.count = m->c.refiners,
                                 .H = m->c.H,
                                 .C = m->j.C,
                                 .text_dim = m->c.text_dim,
                                 .B = m->B,
                                 .St = m->St,
                                 .eps = EPS,
                                 .time_text = m->time};
    m->refiner.time_text.text_dim = m->c.text_dim;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params, m));
    m->j.activated = m->time.activated;
    model->input_channels = m->c.in_channels * token_cells(&m->c);
    model->output_channels = m->c.out_channels * token_cells(&m->c);
    model->linspace_sigmas = true;
    model->time_embedding = m->time.embedded;
    state_needs(m, model);
    return joint_create_policy(params, m->j.heads, m->c.D, 1, &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

/* A row of text counts where its mask keeps it; of a picture, where there is one. */
static bool is_kept(const hv15 *m, const dit_condition *condition, int64_t b, int64_t row)
{
    const float *glyphs = condition->at[DIT_CONDITION_TEXT_2_MASK];
    if (row < m->St) return token_refiner_keeps(&m->refiner, b, row);
    row -= m->St;
    return row < m->c.glyphs ? !glyphs || glyphs[b * m->c.glyphs + row] != 0.0f : m->c.of_picture;
}

/* Hides the masked keys of the texts from all rows. */
static dit_status hide_masked(dit_model *model, const dit_condition *condition)
{
    const hv15 *m = model->state;
    for (int64_t b = 0; b < m->B; b++)
        for (int64_t row = 0; row < m->T; row++)
            m->joint_bias[b * m->T + row] = is_kept(m, condition, b, row) ? 0.0f : -INFINITY;
    return dit_attention_set_text_bias(model->attention[0], m->joint_bias, m->T);
}

/* Returns the rows of one text in [B, T, C]. */
static dit_rows rows_of_kind(const hv15 *m, float *texts, int kind)
{
    const int64_t counts[KINDS] = {m->St, m->c.glyphs, m->c.picture};
    int64_t first = 0;
    for (int i = 0; i < kind; i++) first += counts[i];
    return rows_part(rows_dense(texts, m->B, m->T, m->j.C), first, counts[kind]);
}

/* to = the kind's vector in every row. */
static void fill_kind(dit_runtime *rt, const hv15 *m, int kind, dit_rows to)
{
    dit_rows row = rows_dense((float *)m->kinds + kind * m->j.C, to.batch, to.rows, to.cols);
    row.ld = row.stride = 0; /* repeats one row */
    layer_copy(rt, row, to);
}

/* texts += linear_3(gelu(linear_2(gelu(linear_1(norm(x)))))). */
static void project_glyphs(dit_runtime *rt, const hv15 *m, const float *x)
{
    const hv15_projection *p = &m->glyphs;
    int64_t B = m->B, rows = m->c.glyphs, width = m->c.glyph_dim;
    dit_rows normed = rows_dense(m->given[0], B, rows, width);
    dit_rows wide = rows_dense(m->given[1], B, rows, m->c.glyph_width);
    dit_rows again = rows_dense(m->given[0], B, rows, m->c.glyph_width);
    layer_norm(rt, rows_dense((float *)x, B, rows, width), normed,
               &(dit_layer_norm){.eps = NORM_EPS, .weight = p->norm_weight[0], .bias = p->norm_bias[0]});
    layer_linear(rt, &p->layers[0], normed, wide, DIT_ACT_GELU_ERF);
    layer_linear(rt, &p->layers[1], wide, again, DIT_ACT_GELU_ERF);
    layer_linear_add(rt, &p->layers[2], again, rows_of_kind(m, m->constant, KIND_GLYPHS), NULL, 0);
}

/* texts += norm(linear_2(gelu(linear_1(norm(x))))). */
static void project_picture(dit_runtime *rt, const hv15 *m, const float *x)
{
    const hv15_projection *p = &m->picture;
    int64_t B = m->B, rows = m->c.picture, width = m->c.image_dim, C = m->j.C;
    dit_rows normed = rows_dense(m->given[0], B, rows, width), wide = rows_dense(m->given[1], B, rows, width);
    dit_rows texts = rows_of_kind(m, m->texts, KIND_PICTURE), to = rows_of_kind(m, m->constant, KIND_PICTURE);
    layer_norm(rt, rows_dense((float *)x, B, rows, width), normed,
               &(dit_layer_norm){.eps = NORM_EPS, .weight = p->norm_weight[0], .bias = p->norm_bias[0]});
    layer_linear(rt, &p->layers[0], normed, wide, DIT_ACT_GELU_ERF);
    layer_linear(rt, &p->layers[1], wide, texts, DIT_ACT_NONE);
    layer_norm(rt, texts, texts,
               &(dit_layer_norm){.eps = NORM_EPS, .weight = p->norm_weight[1], .bias = p->norm_bias[1]});
    for (int64_t b = 0; b < B; b++)
        layer_add(rt, rows_entry(texts, b).data, rows_entry(to, b).data, rows * C, rows_entry(to, b).data);
}

static void prepare_texts(dit_runtime *rt, hv15 *m, const dit_condition *condition)
{
    for (int kind = 0; kind < KINDS; kind++) fill_kind(rt, m, kind, rows_of_kind(m, m->constant, kind));
    token_refiner_prepare(rt, &m->refiner, condition->at[DIT_CONDITION_TEXT]);
    project_glyphs(rt, m, condition->at[DIT_CONDITION_TEXT_2]);
    if (m->c.of_picture) project_picture(rt, m, condition->at[DIT_CONDITION_IMAGE]);
}

static dit_status hv15_prepare(dit_model *model, const dit_condition *condition)
{
    hv15 *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    DIT_TRY(
        token_refiner_read(rt, &m->refiner, condition->at[DIT_CONDITION_TEXT], condition->at[DIT_CONDITION_TEXT_MASK]));
    DIT_TRY(hide_masked(model, condition));
    embed_grid_ids(rt, part, &model->params.latent, m->ids);
    embed_rope(rt, m->ids, part->image_count, AXES, m->c.axes, m->c.theta, m->cosines, m->sines);
    DIT_TRY(embed_put_rope(rt, m->cosines, m->sines, part->image_count * m->c.D));
    DIT_TRY(embed_tap_rope(model, DIT_LAYOUT_IMAGE, m->cosines, m->sines, m->c.D));
    if (model->params.stage.first) prepare_texts(rt, m, condition);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status hv15_begin(dit_model *model, const float *timestep)
{
    hv15 *m = model->state;
    dit_runtime *rt = model->params.rt;
    if (model->params.stage.first) embed_combined_step(rt, &m->refiner.time_text, timestep);
    embed_combined_step(rt, &m->time, timestep);
    return embed_tap_combined(model, &m->time, "aux.time_embed");
}

/* Makes the text's rows: the whole prompt goes through the refiner, whichever rows of the texts this rank holds. */
static dit_status embed_text(dit_model *model)
{
    hv15 *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    int64_t C = m->j.C, prompt = m->St * C;
    dit_rows texts = rows_dense(m->texts, m->B, m->T, C);
    DIT_TRY(token_refiner_run(model, &m->refiner));
    layer_copy(rt, rows_dense(m->constant, m->B, m->T, C), texts);
    for (int64_t b = 0; b < m->B; b++)
        layer_add(rt, rows_entry(texts, b).data, m->refiner.text + b * prompt, prompt, rows_entry(texts, b).data);
    layer_copy(rt, rows_part(texts, part->text_begin, part->text_count), joint_x(&m->j, JOINT_TEXT));
    return DIT_OK;
}

static dit_status hv15_embed(dit_model *model, const float *latents)
{
    hv15 *m = model->state;
    dit_rows video = joint_x(&m->j, JOINT_IMAGE);
    layer_linear(model->params.rt, &m->x_embedder, rows_dense((float *)latents, m->B, video.rows, m->x_embedder.k),
                 video, DIT_ACT_NONE);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, video, "aux.x_embedder"));
    return model->window.text ? embed_text(model) : DIT_OK;
}

static dit_status hv15_attention_input(dit_model *model, float *out)
{
    const hv15 *m = model->state;
    joint_attention_input(model->params.rt, &m->j, &m->blocks[0].image, out);
    return DIT_OK;
}

static dit_status hv15_block(dit_model *model, int64_t index)
{
    const hv15 *m = model->state;
    DIT_TRY(joint_double_block(model, &m->j, &m->blocks[index], false));
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, joint_x(&m->j, JOINT_IMAGE), "block_%lld", (long long)index);
}

static dit_status hv15_head(dit_model *model, float *output)
{
    hv15 *m = model->state;
    joint_head(model->params.rt, &m->j, &m->norm_out, &m->proj_out, output);
    return DIT_OK;
}

const dit_model_ops dit_model_hunyuan_video15 = {
    .class_name = "HunyuanVideo15Transformer3DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = hv15_read_facts,
    .create = hv15_create,
    .prepare = hv15_prepare,
    .begin = hv15_begin,
    .embed = hv15_embed,
    .attention_input = hv15_attention_input,
    .block = hv15_block,
    .head = hv15_head,
};
