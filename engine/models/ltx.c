/* LTX-Video, text to video: self-attention over all frames with rotary positions that are fractions of a clip of 20 seconds
 * and 2048 pixels, cross-attention to masked text, one modulation of the timestep, shifted by a table per block. All norms of
 * the stream but the last are RMS norms.
 * Source: HaCohen et al., LTX-Video: Realtime Video Latent Diffusion (arXiv:2501.00103); parameter names and arithmetic of
 * diffusers 0.42.1 LTXVideoTransformer3DModel. The text's K and V of all blocks are made once per clip.
 */
#include "engine/models/crossed.h"

#include <math.h>

enum { AXES = 3, SINUSOID = 256, MLP_RATIO = 4 };
static const float HEADS_EPS = 1e-5f, LAST_EPS = 1e-6f;

typedef struct {
    int64_t layers, H, D, in_channels, out_channels, text_dim, cross_dim;
    double eps;
    bool first_apart; /* the first latent frame is one frame long; a key of ours: LTXConditionPipeline has it so */
} ltx_config;

typedef struct {
    crossed_block s;
    dit_linear qkv, cross_q, cross_kv;
    const float *norm_q, *norm_k, *cross_norm_q, *cross_norm_k; /* [A]: over all heads together  */
    float *text_kv; /* [batch, text tokens, 2A] K, normalised, and V of the text, in rt->image   */
} ltx_block;

typedef struct {
    ltx_config c;
    crossed s;
    int64_t T; /* text tokens               */
    int64_t H; /* heads of this tensor rank */
    dit_linear proj_in, proj_out;
    embed_mlp caption_mlp;
    ltx_block *blocks;
    float *cosines, *sines;    /* [image_count, A]: every head has angles of its own */
    float *text_bias;          /* [batch, T]: 0 or -10000                            */
    const float *bias;         /* text_bias, or NULL without a mask                  */
    float *text, *text_hidden; /* [batch, T, C]                                      */
} ltx;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(ltx_config, layers, "num_layers", 28, 1, 1000),
    DIT_CONFIG_INT(ltx_config, H, "num_attention_heads", 32, 1, 1024),
    DIT_CONFIG_INT(ltx_config, D, "attention_head_dim", 64, 2, 1024),
    DIT_CONFIG_INT(ltx_config, in_channels, "in_channels", 128, 1, 4096),
    DIT_CONFIG_INT(ltx_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(ltx_config, text_dim, "caption_channels", 4096, 1, 65536),
    DIT_CONFIG_INT(ltx_config, cross_dim, "cross_attention_dim", 2048, 1, 65536),
    DIT_CONFIG_NUMBER(ltx_config, eps, "norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_BOOL(ltx_config, first_apart, "first_frame_apart", false),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"activation_fn", "gelu-approximate"},
    {"qk_norm", "rms_norm_across_heads"},
    {"norm_elementwise_affine", "false"},
    {"attention_bias", "true"},
    {"attention_out_bias", "true"},
    {"patch_size", "1"},
    {"patch_size_t", "1"},
    {0},
};

static dit_status read_config(const dit_config *config, ltx_config *c)
{
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    int64_t C = c->H * c->D;
    if (c->out_channels == 0) c->out_channels = c->in_channels;
    if (c->D % 2)
        return DIT_FAIL(DIT_ERR_SHAPE, "attention_head_dim %lld is odd, but positions rotate pairs", (long long)c->D);
    if (c->cross_dim != C)
        return DIT_FAIL(DIT_ERR_SHAPE, "cross_attention_dim %lld differs from the hidden size %lld, which captions get",
                        (long long)c->cross_dim, (long long)C);
    if (c->out_channels != c->in_channels)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "out_channels %lld differ from in_channels %lld",
                        (long long)c->out_channels, (long long)c->in_channels);
    return DIT_OK;
}

static dit_status ltx_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    ltx_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D, sizes->blocks[0] = c.layers;
    facts->latent =
        (dit_latent){.channels = c.in_channels, .vae_spatial = 32, .vae_temporal = 8, .patch_t = 1, .patch = 1};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_self_attention(const dit_scope *s, int64_t C, ltx_block *block)
{
    DIT_TRY(scope_shared(s, (const char *const[]){"attn1.to_q", "attn1.to_k", "attn1.to_v", NULL}, C, C, &block->qkv));
    DIT_TRY(scope_slice(s, "attn1.norm_q.weight", C, DIT_INIT_NORM, &block->norm_q));
    DIT_TRY(scope_slice(s, "attn1.norm_k.weight", C, DIT_INIT_NORM, &block->norm_k));
    return scope_joined(s, "attn1.to_out.0", C, C, 0, &block->s.out);
}

static dit_status load_cross_attention(const dit_scope *s, const ltx *m, ltx_block *block)
{
    int64_t C = m->s.C;
    DIT_TRY(scope_shared(s, (const char *const[]){"attn2.to_q", NULL}, C, C, &block->cross_q));
    DIT_TRY(scope_slice(s, "attn2.norm_q.weight", C, DIT_INIT_NORM, &block->cross_norm_q));
    DIT_TRY(scope_shared(s, (const char *const[]){"attn2.to_k", "attn2.to_v", NULL}, C, C, &block->cross_kv));
    DIT_TRY(scope_slice(s, "attn2.norm_k.weight", C, DIT_INIT_NORM, &block->cross_norm_k));
    DIT_TRY(scope_joined(s, "attn2.to_out.0", C, C, 0, &block->s.cross_out));
    return dit_arena_activations(&s->rt->image, m->s.B * m->T * 2 * m->s.A, &block->text_kv);
}

static dit_status load_blocks(const dit_model_params *params, ltx *m)
{
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    for (int64_t i = 0; i < m->c.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        DIT_TRY(load_self_attention(&s, m->s.C, &m->blocks[i]));
        DIT_TRY(load_cross_attention(&s, m, &m->blocks[i]));
        DIT_TRY(scope_mlp(&s, "ff", m->s.C, MLP_RATIO * m->s.C, &m->blocks[i].s.mlp));
        DIT_TRY(
            scope_matrix(&s, "scale_shift_table", CROSSED_MODULATIONS, m->s.C, DIT_INIT_TABLE, &m->blocks[i].s.table));
    }
    return DIT_OK;
}

static dit_status load_weights(const dit_model_params *params, ltx *m)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->s.C;
    if (params->stage.first) DIT_TRY(scope_linear(&s, "proj_in", C, m->c.in_channels, &m->proj_in));
    DIT_TRY(embed_mlp_load(&s, "time_embed.emb.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->s.timestep_mlp));
    DIT_TRY(scope_linear(&s, "time_embed.linear", CROSSED_MODULATIONS * C, C, &m->s.modulation));
    DIT_TRY(embed_mlp_load(&s, "caption_projection", m->c.text_dim, C, C, DIT_ACT_GELU_TANH, &m->caption_mlp));
    DIT_TRY(load_blocks(params, m));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "proj_out", m->c.out_channels, C, &m->proj_out));
    return scope_matrix(&s, "scale_shift_table", 2, C, DIT_INIT_TABLE, &m->s.table);
}

static dit_status make_buffers(dit_model *model, ltx *m)
{
    dit_runtime *rt = model->params.rt;
    int64_t C = m->s.C, B = m->s.B, rows = B * m->s.n, text_rows = B * m->T;
    DIT_TRY(dit_tp_reserve(rt, rows * C, rows > text_rows ? rows : text_rows));
    const dit_buffer buffers[] = {
        {&rt->image, &m->cosines, m->s.n * m->s.A, DIT_BUFFER_FP32},
        {&rt->image, &m->sines, m->s.n * m->s.A, DIT_BUFFER_FP32},
        {&rt->image, &m->text_bias, text_rows, DIT_BUFFER_FP32},
        {&rt->step, &m->text, text_rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->text_hidden, text_rows * C, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(crossed_take(model, &m->s));
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

static void state_needs(const ltx *m, dit_model *model)
{
    model->needs[DIT_CONDITION_TEXT].elements = m->T * m->c.text_dim;
    model->needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = m->T, .optional = true};
    model->needs[DIT_CONDITION_ROPE_SCALE].elements = AXES;
}

static dit_status ltx_create(const dit_model_params *params, dit_model *model)
{
    dit_runtime *rt = params->rt;
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(ltx), &state));
    ltx *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->T = part->text_tokens, m->H = dit_tp_count(rt, m->c.H);
    m->s = (crossed){.B = part->batch,
                     .C = m->c.H * m->c.D,
                     .n = part->image_count,
                     .A = m->H * m->c.D,
                     .inner = dit_tp_count(rt, MLP_RATIO * m->c.H * m->c.D),
                     .frequencies = SINUSOID,
                     .norm = DIT_NORM_RMS,
                     .eps = (float)m->c.eps,
                     .last_eps = LAST_EPS};
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(model, m));
    state_needs(m, model);
    model->input_channels = m->c.in_channels, model->output_channels = m->c.out_channels;
    model->linspace_sigmas = !m->c.first_apart, model->quadratic_sigmas = m->c.first_apart; /* as its pipeline */
    return dit_attention_create(
        rt, params->attention,
        &(dit_attention_shape){
            .B = m->s.B, .H = m->H, .D = m->c.D, .calls = params->stage.blocks.count, .tokens = m->s.n},
        &model->attention[0]);
}

/* ---- once per clip ----------------------------------------------------------------------------------------------- */

/* Where a token lies in a clip of 20 seconds and 2048 x 2048 pixels, from -1 to 1, in the library's float32. */
static void place_token(const float ids[AXES], const float scale[AXES], float place[AXES])
{
    static const float base[AXES] = {20.0f, 2048.0f, 2048.0f};
    for (int axis = 0; axis < AXES; axis++) place[axis] = ids[axis] * scale[axis] / base[axis] * 2.0f - 1.0f;
}

/* Returns entry `index` of a float32 linspace(0, 1, count), computed from its nearer end with one rounding: angles go up to
 * 15,700, where a last bit of the exponent would turn a pair by 0.01. */
static float spread(int64_t index, int64_t count)
{
    if (count == 1) return 0.0f;
    float step = 1.0f / (float)(count - 1);
    return index < count / 2 ? step * (float)index : fmaf(-step, (float)(count - 1 - index), 1.0f);
}

/* Fills a token's table of this rank's columns [first, first + A) of C. Frequencies go from pi / 2 to 10000 pi / 2. Each has a
 * pair of columns for time, then one for the row, then one for the column; what C / 2 is more than a multiple of three stands
 * in front and is not rotated. */
static void rotate_token(const ltx *m, int64_t first, const float place[AXES], float *cosines, float *sines)
{
    static const float half_pi = (float)(3.14159265358979323846 / 2);
    int64_t frequencies = m->s.C / (2 * AXES), idle = m->s.C / 2 % AXES;
    for (int64_t i = 0; i < m->s.A; i += 2) {
        int64_t pair = (first + i) / 2 - idle;
        float angle = 0;
        if (pair >= 0) angle = (float)pow(10000.0, spread(pair / AXES, frequencies)) * half_pi * place[pair % AXES];
        cosines[i] = cosines[i + 1] = (float)cos((double)angle);
        sines[i] = sines[i + 1] = (float)sin((double)angle);
    }
}

/* Returns where a latent frame begins, in latent frames: where the first one is one frame long, the others follow it. */
static float frame_begin(const ltx *m, int64_t temporal, int64_t frame)
{
    if (!m->c.first_apart || frame == 0) return (float)frame;
    return (float)(frame * temporal - (temporal - 1)) / (float)temporal;
}

static dit_status place_tokens(dit_model *model, const float *scale)
{
    const dit_latent *latent = &model->params.latent;
    const dit_partition *part = &model->params.partition;
    ltx *m = model->state;
    dit_runtime *rt = model->params.rt;
    const int64_t rows = dit_runtime_values(rt, m->s.n), first = share_begin(dit_tp_share(rt), m->c.H) * m->c.D;
    for (int64_t row = 0; row < rows; row++) {
        int64_t token = dit_partition_token(part, row), plane = latent->height * latent->width;
        const float ids[AXES] = {frame_begin(m, latent->vae_temporal, token / plane),
                                 (float)(token / latent->width % latent->height), (float)(token % latent->width)};
        float place[AXES];
        place_token(ids, scale, place);
        rotate_token(m, first, place, m->cosines + row * m->s.A, m->sines + row * m->s.A);
    }
    DIT_TRY(embed_put_rope(rt, m->cosines, m->sines, m->s.n * m->s.A));
    return m->s.A < m->s.C ? DIT_OK : embed_tap_rope(model, DIT_LAYOUT_IMAGE, m->cosines, m->sines, m->s.C);
}

static dit_status make_bias(dit_runtime *rt, ltx *m, const float *mask)
{
    int64_t rows = m->s.B * m->T;
    m->bias = mask ? m->text_bias : NULL;
    if (!mask) return DIT_OK;
    for (int64_t i = 0; i < rows; i++) m->text_bias[i] = (1.0f - mask[i]) * -10000.0f;
    return dit_runtime_upload(rt, m->text_bias, rows);
}

/* Makes K, normalised, and V of the text for one block. */
static dit_status remember(dit_runtime *rt, const ltx *m, const ltx_block *block)
{
    dit_rows kv = rows_dense(block->text_kv, m->s.B, m->T, 2 * m->s.A);
    layer_linear(rt, &block->cross_kv, rows_dense(m->text, m->s.B, m->T, m->s.C), kv, DIT_ACT_NONE);
    return layer_joined_norm(rt, rows_columns(kv, 0, m->s.A), HEADS_EPS, block->cross_norm_k);
}

static dit_status ltx_prepare(dit_model *model, const dit_condition *condition)
{
    ltx *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TRY(place_tokens(model, condition->at[DIT_CONDITION_ROPE_SCALE]));
    DIT_TRY(make_bias(rt, m, condition->at[DIT_CONDITION_TEXT_MASK]));
    embed_mlp_run(rt, &m->caption_mlp, condition->at[DIT_CONDITION_TEXT], m->s.B * m->T, m->text_hidden, m->text);
    for (int64_t i = 0; i < m->c.layers; i++)
        if (dit_stage_has(&model->params, i)) DIT_TRY(remember(rt, m, &m->blocks[i]));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->text, m->s.B, m->T, m->s.C), "aux.caption_projection");
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status ltx_begin(dit_model *model, const float *timestep)
{
    const ltx *m = model->state;
    int64_t B = m->s.B, C = m->s.C;
    crossed_begin(model->params.rt, &m->s, timestep);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->s.modulated, B, 1, CROSSED_MODULATIONS * C),
                         "aux.time_embed.0"));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->s.embedded, B, 1, C), "aux.time_embed.1");
}

static dit_status ltx_embed(dit_model *model, const float *latents)
{
    ltx *m = model->state;
    dit_rows x = rows_window(model, m->s.x, m->s.C);
    layer_linear(model->params.rt, &m->proj_in, rows_window(model, (float *)latents, m->proj_in.k), x, DIT_ACT_NONE);
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "aux.proj_in");
}

static dit_status ltx_attention_input(dit_model *model, float *out)
{
    const ltx *m = model->state;
    crossed_norm(model->params.rt, &m->s, &m->blocks[0].s, rows_window(model, m->s.x, m->s.C),
                 rows_window(model, out, m->s.C));
    return DIT_OK;
}

/* Normalises and rotates all heads of q or k as if they were one. */
static dit_status norm_heads(dit_model *model, const float *weight, dit_rows x)
{
    const ltx *m = model->state;
    int64_t first = model->window.first * m->s.A;
    DIT_TRY(layer_joined_norm(model->params.rt, x, HEADS_EPS, weight));
    layer_head_norm(model->params.rt, x,
                    &(dit_head_norm){.H = 1, .D = m->s.A, .cos = m->cosines + first, .sin = m->sines + first});
    return DIT_OK;
}

static dit_status self_attention(dit_model *model, int64_t index, dit_rows x, dit_rows out)
{
    const ltx *m = model->state;
    const ltx_block *block = &m->blocks[index];
    dit_runtime *rt = model->params.rt;
    int64_t A = m->s.A;
    dit_rows normed = rows_window(model, m->s.normed, m->s.C), qkv = rows_window(model, m->s.wide, 3 * A);
    dit_rows q = rows_columns(qkv, 0, A), k = rows_columns(qkv, A, A), v = rows_columns(qkv, 2 * A, A);
    crossed_norm(rt, &m->s, &block->s, x, normed);
    layer_linear(rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    DIT_TRY(norm_heads(model, block->norm_q, q));
    DIT_TRY(norm_heads(model, block->norm_k, k));
    DIT_TRY(dit_tap_keys(model, k, v, 0));
    return layer_sequence_attention(model->attention[0], q, k, v, out);
}

/* The stream is not normalised for the queries. */
static dit_status cross_attention(dit_model *model, int64_t index, dit_rows x, dit_rows out)
{
    const ltx *m = model->state;
    const ltx_block *block = &m->blocks[index];
    dit_runtime *rt = model->params.rt;
    dit_rows q = rows_window(model, m->s.wide, m->s.A), kv = rows_dense(block->text_kv, m->s.B, m->T, 2 * m->s.A);
    layer_linear(rt, &block->cross_q, x, q, DIT_ACT_NONE);
    DIT_TRY(layer_joined_norm(rt, q, HEADS_EPS, block->cross_norm_q));
    layer_local_attention(rt, m->H, q, rows_columns(kv, 0, m->s.A), rows_columns(kv, m->s.A, m->s.A), m->bias, out);
    return DIT_OK;
}

static dit_status ltx_forward_block(dit_model *model, int64_t index)
{
    const ltx *m = model->state;
    return crossed_forward(model, &m->s, &m->blocks[index].s, index, self_attention, cross_attention);
}

static dit_status ltx_head(dit_model *model, float *output)
{
    const ltx *m = model->state;
    crossed_head(model, &m->s, &m->proj_out, output);
    return DIT_OK;
}

const dit_model_ops dit_model_ltx = {
    .class_name = "LTXVideoTransformer3DModel",
    .layout = DIT_LATENT_PACKED,
    .read_facts = ltx_read_facts,
    .create = ltx_create,
    .prepare = ltx_prepare,
    .begin = ltx_begin,
    .embed = ltx_embed,
    .attention_input = ltx_attention_input,
    .block = ltx_forward_block,
    .head = ltx_head,
};
