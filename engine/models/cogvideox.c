/* CogVideoX (2B, 5B, 1.5): expert adaptive LayerNorm. Text and video share every weight - attention, MLP, norms - and
 * differ only in how each block shifts, scales and gates them.
 * Source: Yang et al., CogVideoX (arXiv:2408.06072), figure 4; parameter names and arithmetic of diffusers 0.33.1
 * CogVideoXTransformer3DModel and CogVideoXPipeline.
 *
 * Both streams live in one buffer, [batch, text rows + video rows, C] with the text first. Positions: a sine-cosine
 * table that is added to the video tokens (2B), or a rotation of their q and k (5B, 1.5).
 */
#include "engine/models/embed.h"
#include "engine/models/joint.h"

#include <stdio.h>

enum { AXES = 3, VAE_SPATIAL = 8 };
enum { SHIFT, SCALE, GATE, TEXT_SHIFT, TEXT_SCALE, TEXT_GATE, MODULATIONS };
enum { HEAD_SHIFT, HEAD_SCALE, HEAD_MODULATIONS };
static const float HEAD_NORM_EPS = 1e-6f;

typedef struct {
    int64_t layers, H, D, channels, out_channels, text_dim, time_dim, patch, patch_t, vae_temporal;
    int64_t sample_height, sample_width; /* cells of the video that the model was trained on */
    double eps, spatial_scale, temporal_scale;
    bool rotary, patch_bias;
} cogvideox_config;

/* LayerNorm with parameters; in blocks and in the head a modulation by the timestep follows. */
typedef struct {
    dit_linear modulation;      /* of silu(timestep embedding) */
    const float *weight, *bias; /* [C]; per head [D]           */
} cogvideox_norm;

typedef struct {
    cogvideox_norm before_attention, before_mlp, q, k;
    dit_linear qkv;
    dit_joined out;
    dit_mlp mlp;
} cogvideox_block;

typedef struct {
    cogvideox_config c;
    int64_t C, B, T, n, rows; /* hidden; batch; local text rows, video rows, and their sum */
    int64_t H, A, inner;      /* of this tensor rank: heads, their width, that of an MLP    */
    dit_linear patch_proj, text_proj, proj_out;
    embed_mlp timestep_mlp;
    cogvideox_norm norm_final, norm_out;
    cogvideox_block *blocks;
    float *position;                      /* [n, C] table of 2B, image's life            */
    float *cosines, *sines;               /* [n, D] image's life                         */
    float *ids;                           /* [n, 3]: frame, row, column                  */
    float *context;                       /* [batch, T, C]: projected text, image's life */
    float *x, *normed, *attended;         /* [batch, rows, C]; attended A                */
    float *wide;                          /* [batch, rows, 3A or inner]: qkv or MLP      */
    float *sinusoid;                      /* [batch, C]                                  */
    float *hidden, *embedded, *activated; /* [batch, time_dim]                           */
    float *modulation;                    /* [batch, 6C] of a block                      */
} cogvideox;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(cogvideox_config, layers, "num_layers", 30, 1, 1000),
    DIT_CONFIG_INT(cogvideox_config, H, "num_attention_heads", 30, 1, 1024),
    DIT_CONFIG_INT(cogvideox_config, D, "attention_head_dim", 64, 1, 1024),
    DIT_CONFIG_INT(cogvideox_config, channels, "in_channels", 16, 1, 256),
    DIT_CONFIG_INT(cogvideox_config, out_channels, "out_channels", 16, 1, 256),
    DIT_CONFIG_INT(cogvideox_config, text_dim, "text_embed_dim", 4096, 1, 65536),
    DIT_CONFIG_INT(cogvideox_config, time_dim, "time_embed_dim", 512, 1, 65536),
    DIT_CONFIG_INT(cogvideox_config, patch, "patch_size", 2, 1, 16),
    DIT_CONFIG_INT(cogvideox_config, patch_t, "patch_size_t", 0, 1, 16), /* absent, 0: before 1.5 */
    DIT_CONFIG_INT(cogvideox_config, vae_temporal, "temporal_compression_ratio", 4, 1, 64),
    DIT_CONFIG_INT(cogvideox_config, sample_height, "sample_height", 60, 1, 4096),
    DIT_CONFIG_INT(cogvideox_config, sample_width, "sample_width", 90, 1, 4096),
    DIT_CONFIG_NUMBER(cogvideox_config, eps, "norm_eps", 1e-5, 0, 1),
    DIT_CONFIG_NUMBER(cogvideox_config, spatial_scale, "spatial_interpolation_scale", 1.875, 1e-3, 1e3),
    DIT_CONFIG_NUMBER(cogvideox_config, temporal_scale, "temporal_interpolation_scale", 1, 1e-3, 1e3),
    DIT_CONFIG_BOOL(cogvideox_config, rotary, "use_rotary_positional_embeddings", false),
    DIT_CONFIG_BOOL(cogvideox_config, patch_bias, "patch_bias", true),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"activation_fn", "gelu-approximate"},
    {"timestep_activation_fn", "silu"},
    {"norm_elementwise_affine", "true"},
    {"attention_bias", "true"},
    {"flip_sin_to_cos", "true"},
    {"freq_shift", "0"},
    {"ofs_embed_dim", "null"},
    {"use_learned_positional_embeddings", "false"},
    {0},
};

static dit_status read_config(const dit_config *config, cogvideox_config *c)
{
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    int64_t C = c->H * c->D;
    if (c->channels != c->out_channels)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "in_channels %lld, out_channels %lld: only text to video is implemented",
                        (long long)c->channels, (long long)c->out_channels);
    if (!c->patch_bias && !c->patch_t) /* the linear embedding of 1.5 always has a bias */
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "patch_bias false without patch_size_t is not implemented");
    if (c->rotary ? c->D % 16 : C % 16)
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "%s %lld is not a multiple of 16: positions in time take 1/4, rows and columns "
                        "3/8 of it, each in pairs",
                        c->rotary ? "attention_head_dim" : "the hidden size", (long long)(c->rotary ? c->D : C));
    if (c->sample_height < c->patch || c->sample_width < c->patch)
        return DIT_FAIL(DIT_ERR_SHAPE, "sample %lldx%lld is smaller than patch_size %lld", (long long)c->sample_width,
                        (long long)c->sample_height, (long long)c->patch);
    return DIT_OK;
}

static int64_t token_channels(const cogvideox_config *c)
{
    return c->channels * (c->patch_t ? c->patch_t : 1) * c->patch * c->patch;
}

static dit_status cogvideox_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    cogvideox_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D, sizes->blocks[0] = c.layers;
    sizes->time_width = c.time_dim;
    facts->latent = (dit_latent){.channels = c.channels,
                                 .vae_spatial = VAE_SPATIAL,
                                 .vae_temporal = c.vae_temporal,
                                 .patch_t = c.patch_t ? c.patch_t : 1,
                                 .patch = c.patch};
    return DIT_OK;
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Makes the table of 2B: a quarter of the channels for the frame, then 3/8 for the column and 3/8 for the row, on a
 * float32 grid. */
static dit_status place_table(cogvideox *m, const dit_model_params *params)
{
    int64_t in_time = m->C / 4, in_space = 3 * m->C / 8;
    float spatial = (float)m->c.spatial_scale, temporal = (float)m->c.temporal_scale;
    embed_grid_ids(params->rt, &params->partition, &params->latent, m->ids);
    const int64_t rows = dit_runtime_values(params->rt, m->n);
    for (int64_t row = 0; row < rows; row++) {
        const float *place = m->ids + row * AXES;
        float *channels = m->position + row * m->C;
        embed_sincos_1d(params->rt, place[0] / temporal, in_time, channels);
        embed_sincos_1d(params->rt, place[2] / spatial, in_space, channels + in_time);
        embed_sincos_1d(params->rt, place[1] / spatial, in_space, channels + in_time + in_space);
    }
    return dit_runtime_upload(params->rt, m->position, m->n * m->C);
}

/* Makes the rotation. 5B fits the video into that of the training; 1.5 counts from 0 whatever the size. */
static void place_rotation(cogvideox *m, const dit_model_params *params)
{
    const dit_latent *latent = &params->latent;
    const int64_t widths[AXES] = {m->c.D / 4, 3 * m->c.D / 8, 3 * m->c.D / 8};
    const int64_t grid[2] = {latent->height / m->c.patch, latent->width / m->c.patch};
    const int64_t base[2] = {m->c.sample_height / m->c.patch, m->c.sample_width / m->c.patch};
    embed_grid_ids(params->rt, &params->partition, latent, m->ids);
    const int64_t rows = m->c.patch_t ? 0 : dit_runtime_values(params->rt, m->n);
    for (int64_t row = 0; row < rows; row++) {
        float *place = m->ids + row * AXES + 1;
        embed_fitted_position(grid, base, (int64_t)place[0], (int64_t)place[1], place);
    }
    embed_rope(params->rt, m->ids, m->n, AXES, widths, 10000.0, m->cosines, m->sines);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Loads `name`.linear and `name`.norm. */
static dit_status load_adaptive_norm(const dit_scope *s, const cogvideox *m, const char *name, int modulations,
                                     cogvideox_norm *norm)
{
    char part[64];
    snprintf(part, sizeof part, "%s.linear", name);
    DIT_TRY(scope_linear(s, part, modulations * m->C, m->c.time_dim, &norm->modulation));
    snprintf(part, sizeof part, "%s.norm", name);
    return scope_affine(s, part, m->C, &norm->weight, &norm->bias);
}

static dit_status load_block(const dit_scope *s, const cogvideox *m, cogvideox_block *block)
{
    int64_t C = m->C;
    DIT_TRY(load_adaptive_norm(s, m, "norm1", MODULATIONS, &block->before_attention));
    DIT_TRY(scope_shared(s, (const char *const[]){"attn1.to_q", "attn1.to_k", "attn1.to_v", NULL}, C, C, &block->qkv));
    DIT_TRY(scope_affine(s, "attn1.norm_q", m->c.D, &block->q.weight, &block->q.bias));
    DIT_TRY(scope_affine(s, "attn1.norm_k", m->c.D, &block->k.weight, &block->k.bias));
    DIT_TRY(scope_joined(s, "attn1.to_out.0", C, C, 0, &block->out));
    DIT_TRY(load_adaptive_norm(s, m, "norm2", MODULATIONS, &block->before_mlp));
    return scope_mlp(s, "ff", C, 4 * C, &block->mlp);
}

static dit_status load_weights(const dit_model_params *params, cogvideox *m)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->C, E = m->c.time_dim;
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    if (params->stage.first) {
        DIT_TRY(scope_linear(&s, "patch_embed.proj", C, token_channels(&m->c), &m->patch_proj));
        DIT_TRY(scope_linear(&s, "patch_embed.text_proj", C, m->c.text_dim, &m->text_proj));
    }
    DIT_TRY(embed_mlp_load(&s, "time_embedding", C, E, E, DIT_ACT_SILU, &m->timestep_mlp));
    for (int64_t i = 0; i < m->c.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope block = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        DIT_TRY(load_block(&block, m, &m->blocks[i]));
    }
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_affine(&s, "norm_final", C, &m->norm_final.weight, &m->norm_final.bias));
    DIT_TRY(load_adaptive_norm(&s, m, "norm_out", HEAD_MODULATIONS, &m->norm_out));
    return scope_linear(&s, "proj_out", token_channels(&m->c), C, &m->proj_out);
}

static dit_status make_buffers(dit_runtime *rt, cogvideox *m)
{
    int64_t C = m->C, B = m->B, rows = B * m->rows, E = m->c.time_dim;
    DIT_TRY(dit_tp_reserve(rt, rows * C, 0));
    int64_t rotated = m->c.rotary ? m->n : 0, placed = m->c.rotary ? 0 : m->n;
    const dit_buffer buffers[] = {
        {&rt->image, &m->position, placed * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->image, &m->cosines, rotated * m->c.D, DIT_BUFFER_FP32},
        {&rt->image, &m->sines, rotated * m->c.D, DIT_BUFFER_FP32},
        {&rt->image, &m->ids, m->n * AXES, DIT_BUFFER_HOST},
        {&rt->image, &m->context, B * m->T * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->x, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->normed, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->attended, rows * m->A, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->wide, rows * (m->inner > 3 * m->A ? m->inner : 3 * m->A), DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->sinusoid, B * C, DIT_BUFFER_FP32},
        {&rt->step, &m->hidden, B * E, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->embedded, B * E, DIT_BUFFER_FP32},
        {&rt->step, &m->activated, B * E, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->modulation, B * MODULATIONS * C, DIT_BUFFER_FP32},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

static void state_needs(const cogvideox *m, dit_model *model)
{
    const dit_partition *part = &model->params.partition;
    int64_t table = m->c.rotary ? part->image_tokens * m->c.D : 0;
    model->needs[DIT_CONDITION_TEXT].elements = part->text_tokens * m->c.text_dim;
    model->needs[DIT_CONDITION_ROPE_COS] = (dit_condition_need){.elements = table, .optional = true};
    model->needs[DIT_CONDITION_ROPE_SIN] = (dit_condition_need){.elements = table, .optional = true};
}

static dit_status cogvideox_create(const dit_model_params *params, dit_model *model)
{
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(cogvideox), &state));
    cogvideox *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->C = m->c.H * m->c.D, m->B = part->batch;
    m->H = dit_tp_count(params->rt, m->c.H), m->A = m->H * m->c.D, m->inner = dit_tp_count(params->rt, 4 * m->C);
    m->T = part->text_count, m->n = part->image_count, m->rows = m->T + m->n;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params->rt, m));
    if (!m->c.rotary) DIT_TRY(place_table(m, params));
    model->input_channels = model->output_channels = token_channels(&m->c);
    model->time_embedding = m->embedded;
    model->stream = m->x, model->width = m->C;
    state_needs(m, model);
    return joint_create_policy(params, m->H, m->c.D, 0, &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

static dit_status cogvideox_prepare(dit_model *model, const dit_condition *condition)
{
    cogvideox *m = model->state;
    const dit_partition *part = &model->params.partition;
    const float *cosines = condition->at[DIT_CONDITION_ROPE_COS], *sines = condition->at[DIT_CONDITION_ROPE_SIN];
    if (model->params.stage.first)
        joint_project_text(model->params.rt, part, &m->text_proj, condition->at[DIT_CONDITION_TEXT], m->context);
    if (cosines && sines) {
        dit_partition_take(part, cosines, m->c.D, m->cosines);
        dit_partition_take(part, sines, m->c.D, m->sines);
    } else if (m->c.rotary) {
        place_rotation(m, &model->params);
    }
    return m->c.rotary ? embed_put_rope(model->params.rt, m->cosines, m->sines, m->n * m->c.D) : DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status cogvideox_begin(dit_model *model, const float *timestep)
{
    cogvideox *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = m->B, E = m->c.time_dim;
    embed_timestep(rt, timestep, B, m->C, m->sinusoid);
    embed_mlp_run(rt, &m->timestep_mlp, m->sinusoid, B, m->hidden, m->embedded);
    embed_activate(rt, DIT_ACT_SILU, m->embedded, B * E, m->activated);
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->embedded, B, 1, E), "aux.time_embedding");
}

static dit_status cogvideox_embed(dit_model *model, const float *given)
{
    cogvideox *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows x = joint_rows(&model->view, JOINT_BOTH, m->x, m->C),
             video = joint_rows(&model->view, JOINT_IMAGE, m->x, m->C);
    dit_rows text = joint_rows(&model->view, JOINT_TEXT, m->x, m->C);
    dit_rows latents = rows_dense((float *)given, m->B, video.rows, m->patch_proj.k);
    layer_copy(rt, rows_dense(m->context, m->B, text.rows, m->C), text);
    if (m->c.rotary) {
        layer_linear(rt, &m->patch_proj, latents, video, DIT_ACT_NONE);
    } else {
        layer_copy_entries(rt, m->position + model->window.first * m->C, video);
        layer_linear_add(rt, &m->patch_proj, latents, video, NULL, 0);
    }
    return dit_tap_rows(model, DIT_LAYOUT_JOINT, x, "aux.patch_embed");
}

/* The modulation stays: its gates are used later. */
static void modulate(dit_model *model, const cogvideox_norm *norm)
{
    const cogvideox *m = model->state;
    embed_linear(model->params.rt, &norm->modulation, m->activated, m->B, m->modulation);
}

/* normed = norm(x), each stream with its own shift and scale. */
static void norm_streams(dit_model *model, const cogvideox_norm *norm)
{
    static const int shift[JOINT_STREAMS] = {[JOINT_TEXT] = TEXT_SHIFT, [JOINT_IMAGE] = SHIFT};
    static const int scale[JOINT_STREAMS] = {[JOINT_TEXT] = TEXT_SCALE, [JOINT_IMAGE] = SCALE};
    const cogvideox *m = model->state;
    const dit_partition *part = &model->view;
    modulate(model, norm);
    for (joint_part stream = JOINT_TEXT; stream < JOINT_STREAMS; stream++)
        layer_norm(model->params.rt, joint_rows(part, stream, m->x, m->C), joint_rows(part, stream, m->normed, m->C),
                   &(dit_layer_norm){.eps = (float)m->c.eps,
                                     .weight = norm->weight,
                                     .bias = norm->bias,
                                     .shift = m->modulation + shift[stream] * m->C,
                                     .scale = m->modulation + scale[stream] * m->C,
                                     .modulation_stride = MODULATIONS * m->C});
}

/* x += gate * joined(y), each stream with its own gate; y [batch, rows, k]: the end of a block's module. */
static dit_status add_streams(dit_model *model, int64_t index, dit_module kind, const dit_joined *joined, float *y)
{
    static const int gate[JOINT_STREAMS] = {[JOINT_TEXT] = TEXT_GATE, [JOINT_IMAGE] = GATE};
    const cogvideox *m = model->state;
    const dit_partition *part = &model->view;
    for (joint_part stream = JOINT_TEXT; stream < JOINT_STREAMS; stream++)
        DIT_TRY(module_add(model, (module_at){index, kind, stream == JOINT_TEXT ? MODULE_TEXT : MODULE_IMAGE}, joined,
                           joint_rows(part, stream, y, joined->linear.k), joint_rows(part, stream, m->x, m->C),
                           m->modulation + gate[stream] * m->C, MODULATIONS * m->C));
    return DIT_OK;
}

/* Normalises every head of q or k, the A columns of qkv from `column` on, and rotates those of the video. */
static void norm_heads(dit_model *model, const cogvideox_norm *norm, int64_t column)
{
    const cogvideox *m = model->state;
    for (joint_part stream = JOINT_TEXT; stream < JOINT_STREAMS; stream++) {
        bool rotated = m->c.rotary && stream == JOINT_IMAGE;
        dit_rows qkv = joint_rows(&model->view, stream, m->wide, 3 * m->A);
        layer_head_norm(model->params.rt, rows_columns(qkv, column, m->A),
                        &(dit_head_norm){.H = m->H,
                                         .D = m->c.D,
                                         .kind = DIT_NORM_LAYER,
                                         .eps = HEAD_NORM_EPS,
                                         .weight = norm->weight,
                                         .bias = norm->bias,
                                         .cos = rotated ? m->cosines + model->window.first * m->c.D : NULL,
                                         .sin = rotated ? m->sines + model->window.first * m->c.D : NULL});
    }
}

static dit_status tap_attention(dit_model *model, const cogvideox_block *block)
{
    const cogvideox *m = model->state;
    const dit_partition *part = &model->view;
    DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->out, joint_rows(part, JOINT_IMAGE, m->attended, m->A),
                           "aux.block_0.attn1.0"));
    return dit_tap_joined(model, DIT_LAYOUT_TEXT, &block->out, joint_rows(part, JOINT_TEXT, m->attended, m->A),
                          "aux.block_0.attn1.1");
}

static dit_status cogvideox_attention_input(dit_model *model, float *out)
{
    const cogvideox *m = model->state;
    norm_streams(model, &m->blocks[0].before_attention);
    layer_copy(model->params.rt, joint_rows(&model->view, JOINT_IMAGE, m->normed, m->C), rows_window(model, out, m->C));
    return DIT_OK;
}

static dit_status self_attention(dit_model *model, const cogvideox_block *block)
{
    const cogvideox *m = model->state;
    const dit_partition *part = &model->view;
    int64_t A = m->A;
    dit_rows normed = joint_rows(part, JOINT_BOTH, m->normed, m->C);
    dit_rows qkv = joint_rows(part, JOINT_BOTH, m->wide, 3 * A);
    norm_streams(model, &block->before_attention);
    layer_linear(model->params.rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    norm_heads(model, &block->q, 0);
    norm_heads(model, &block->k, A);
    DIT_TRY(dit_tap_keys(model, rows_columns(qkv, A, A), rows_columns(qkv, 2 * A, A), part->text_count));
    return layer_sequence_attention(model->attention[0], rows_columns(qkv, 0, A), rows_columns(qkv, A, A),
                                    rows_columns(qkv, 2 * A, A), joint_rows(part, JOINT_BOTH, m->attended, A));
}

static void widen(dit_model *model, const cogvideox_block *block)
{
    const cogvideox *m = model->state;
    const dit_partition *part = &model->view;
    norm_streams(model, &block->before_mlp);
    layer_linear(model->params.rt, &block->mlp.in, joint_rows(part, JOINT_BOTH, m->normed, m->C),
                 joint_rows(part, JOINT_BOTH, m->wide, m->inner), block->mlp.activation);
}

static dit_status cogvideox_forward_block(dit_model *model, int64_t index)
{
    const cogvideox *m = model->state;
    const cogvideox_block *block = &m->blocks[index];
    if (module_is_taken(model, DIT_MODULE_ATTENTION))
        modulate(model, &block->before_attention);
    else
        DIT_TRY(self_attention(model, block));
    if (index == 0) DIT_TRY(tap_attention(model, block));
    DIT_TRY(dit_tap_attended(model, &block->out, joint_rows(&model->view, JOINT_BOTH, m->attended, m->A),
                             model->view.text_count));
    DIT_TRY(add_streams(model, index, DIT_MODULE_ATTENTION, &block->out, m->attended));

    if (module_is_taken(model, DIT_MODULE_MLP))
        modulate(model, &block->before_mlp);
    else
        widen(model, block);
    DIT_TRY(add_streams(model, index, DIT_MODULE_MLP, &block->mlp.out, m->wide));
    return joint_tap(model, m->x, m->C, "block", index);
}

/* Applies two norms in a row, the second one modulated. The text is dropped here. */
static dit_status cogvideox_head(dit_model *model, float *output)
{
    cogvideox *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->view;
    dit_rows video = joint_rows(part, JOINT_IMAGE, m->x, m->C);
    dit_rows normed = joint_rows(part, JOINT_IMAGE, m->normed, m->C);
    dit_layer_norm norm = {.eps = (float)m->c.eps, .weight = m->norm_final.weight, .bias = m->norm_final.bias};
    layer_norm(rt, video, normed, &norm);
    embed_linear(rt, &m->norm_out.modulation, m->activated, m->B, m->modulation);
    norm.weight = m->norm_out.weight, norm.bias = m->norm_out.bias;
    norm.shift = m->modulation + HEAD_SHIFT * m->C, norm.scale = m->modulation + HEAD_SCALE * m->C;
    norm.modulation_stride = HEAD_MODULATIONS * m->C;
    layer_norm(rt, normed, normed, &norm);
    layer_linear(rt, &m->proj_out, normed, rows_dense(output, m->B, normed.rows, m->proj_out.n), DIT_ACT_NONE);
    return DIT_OK;
}

const dit_model_ops dit_model_cogvideox = {
    .class_name = "CogVideoXTransformer3DModel",
    .layout = DIT_LATENT_FCHW,
    .read_facts = cogvideox_read_facts,
    .create = cogvideox_create,
    .prepare = cogvideox_prepare,
    .begin = cogvideox_begin,
    .embed = cogvideox_embed,
    .attention_input = cogvideox_attention_input,
    .block = cogvideox_forward_block,
    .head = cogvideox_head,
};
