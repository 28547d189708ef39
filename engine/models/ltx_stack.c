#include "engine/models/ltx_stack.h"

#include <math.h>

enum { SINUSOID = 256, MLP_RATIO = 4 };
static const float LAST_EPS = 1e-6f;

static const ltx_stack *stack_of(const dit_model *model)
{
    return model->state;
}

const void *ltx_stack_own(const dit_model *model)
{
    return stack_of(model)->kind.own;
}

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

dit_status ltx_kind_check(const dit_config *config, const ltx_kind *kind, int64_t cross_dim, int64_t out_channels)
{
    int64_t C = kind->H * kind->D;
    DIT_TRY(dit_config_require_only(config, only));
    if (kind->D % 2)
        return DIT_FAIL(DIT_ERR_SHAPE, "attention_head_dim %lld is odd, but positions rotate pairs",
                        (long long)kind->D);
    if (cross_dim != C)
        return DIT_FAIL(DIT_ERR_SHAPE, "cross_attention_dim %lld differs from the hidden size %lld, which captions get",
                        (long long)cross_dim, (long long)C);
    if (out_channels && out_channels != kind->channels)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "out_channels %lld differ from in_channels %lld", (long long)out_channels,
                        (long long)kind->channels);
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_self_attention(const dit_scope *s, const ltx_stack *m, ltx_block *block)
{
    int64_t C = m->s.C, D = m->kind.halves ? m->kind.D : 0;
    DIT_TRY(scope_shared_halves(s, (const char *const[]){"attn1.to_q", "attn1.to_k", "attn1.to_v", NULL}, C, C, 2, D,
                                &block->qkv));
    DIT_TRY(scope_slice_halves(s, "attn1.norm_q.weight", C, D, DIT_INIT_NORM, &block->norm_q));
    DIT_TRY(scope_slice_halves(s, "attn1.norm_k.weight", C, D, DIT_INIT_NORM, &block->norm_k));
    return scope_joined(s, "attn1.to_out.0", C, C, 0, &block->s.out);
}

static dit_status load_cross_attention(const dit_scope *s, const ltx_stack *m, ltx_block *block)
{
    int64_t C = m->s.C;
    DIT_TRY(scope_shared(s, (const char *const[]){"attn2.to_q", NULL}, C, C, &block->cross_q));
    DIT_TRY(scope_slice(s, "attn2.norm_q.weight", C, DIT_INIT_NORM, &block->cross_norm_q));
    DIT_TRY(scope_shared(s, (const char *const[]){"attn2.to_k", "attn2.to_v", NULL}, C, C, &block->cross_kv));
    DIT_TRY(scope_slice(s, "attn2.norm_k.weight", C, DIT_INIT_NORM, &block->cross_norm_k));
    DIT_TRY(scope_joined(s, "attn2.to_out.0", C, C, 0, &block->s.cross_out));
    return dit_arena_activations(&s->rt->image, m->s.B * m->T * 2 * m->s.A, &block->text_kv);
}

static dit_status load_mlp(dit_scope s, const ltx_stack *m, ltx_block *block)
{
    dit_weights plain = *s.weights;
    plain.without_biases = true;
    if (m->kind.plain_mlp) s.weights = &plain;
    return scope_mlp(&s, "ff", m->s.C, MLP_RATIO * m->s.C, &block->s.mlp);
}

static dit_status load_blocks(const dit_model_params *params, ltx_stack *m)
{
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->kind.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    for (int64_t i = 0; i < m->kind.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        DIT_TRY(load_self_attention(&s, m, &m->blocks[i]));
        DIT_TRY(load_cross_attention(&s, m, &m->blocks[i]));
        DIT_TRY(load_mlp(s, m, &m->blocks[i]));
        DIT_TRY(
            scope_matrix(&s, "scale_shift_table", CROSSED_MODULATIONS, m->s.C, DIT_INIT_TABLE, &m->blocks[i].s.table));
    }
    return DIT_OK;
}

static dit_status load_weights(const dit_model_params *params, ltx_stack *m)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->s.C;
    if (params->stage.first) DIT_TRY(scope_linear(&s, "proj_in", C, m->kind.channels, &m->proj_in));
    DIT_TRY(embed_mlp_load(&s, "time_embed.emb.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->s.timestep_mlp));
    DIT_TRY(scope_linear(&s, "time_embed.linear", CROSSED_MODULATIONS * C, C, &m->s.modulation));
    if (!m->kind.as_wide)
        DIT_TRY(embed_mlp_load(&s, "caption_projection", m->kind.text_dim, C, C, DIT_ACT_GELU_TANH, &m->caption_mlp));
    DIT_TRY(load_blocks(params, m));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "proj_out", m->kind.channels, C, &m->proj_out));
    return scope_matrix(&s, "scale_shift_table", 2, C, DIT_INIT_TABLE, &m->s.table);
}

static dit_status make_buffers(dit_model *model, ltx_stack *m)
{
    dit_runtime *rt = model->params.rt;
    int64_t C = m->s.C, B = m->s.B, rows = B * m->s.n, text_rows = B * m->T;
    DIT_TRY(dit_tp_reserve(rt, rows * C, rows > text_rows ? rows : text_rows));
    const dit_buffer buffers[] = {
        {&rt->image, &m->cosines, m->s.n * m->s.A, DIT_BUFFER_FP32},
        {&rt->image, &m->sines, m->s.n * m->s.A, DIT_BUFFER_FP32},
        {&rt->image, &m->text_bias, text_rows, DIT_BUFFER_FP32},
        {&rt->step, &m->text, m->kind.as_wide ? 0 : text_rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->text_hidden, m->kind.as_wide ? 0 : text_rows * C, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(crossed_take(model, &m->s));
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

static void state_needs(const ltx_stack *m, dit_model *model)
{
    model->needs[DIT_CONDITION_TEXT].elements = m->T * m->kind.text_dim;
    model->needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = m->T, .optional = true};
    model->needs[m->kind.scale].elements = m->kind.scales;
}

dit_status ltx_stack_create(const dit_model_params *params, const ltx_kind *kind, dit_model *model)
{
    dit_runtime *rt = params->rt;
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(ltx_stack), &state));
    ltx_stack *m = model->state = state;
    m->kind = *kind;
    m->T = part->text_tokens, m->H = dit_tp_count(rt, m->kind.H);
    m->s = (crossed){.B = part->batch,
                     .C = m->kind.H * m->kind.D,
                     .n = part->image_count,
                     .A = m->H * m->kind.D,
                     .inner = dit_tp_count(rt, MLP_RATIO * m->kind.H * m->kind.D),
                     .frequencies = SINUSOID,
                     .norm = DIT_NORM_RMS,
                     .eps = (float)m->kind.eps,
                     .last_eps = LAST_EPS};
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(model, m));
    state_needs(m, model);
    model->input_channels = m->kind.channels, model->output_channels = m->kind.channels;
    DIT_TRY(crossed_hold(model, false));
    return dit_attention_create(
        rt, params->attention,
        &(dit_attention_shape){
            .B = m->s.B, .H = m->H, .D = m->kind.D, .calls = params->stage.blocks.count, .tokens = m->s.n},
        &model->attention[0]);
}

/* ---- once per clip ----------------------------------------------------------------------------------------------- */

float ltx_spread(int64_t index, int64_t count)
{
    if (count == 1) return 0.0f;
    float step = 1.0f / (float)(count - 1);
    return index < count / 2 ? step * (float)index : fmaf(-step, (float)(count - 1 - index), 1.0f);
}

/* Fills a token's table of this rank's columns [first, first + A) of C. Each frequency has a pair of columns for time, then one for
 * the row, then one for the column; what C / 2 is more than a multiple of three stands in front and is not rotated. */
static void rotate_token(const dit_model *model, int64_t first, const float place[LTX_AXES], float *cosines,
                         float *sines)
{
    const ltx_stack *m = model->state;
    int64_t frequencies = m->s.C / (2 * LTX_AXES), idle = m->s.C / 2 % LTX_AXES;
    for (int64_t i = 0; i < m->s.A; i += 2) {
        int64_t pair = (first + i) / 2 - idle;
        float angle = 0;
        if (pair >= 0) angle = m->kind.frequency(model, pair / LTX_AXES, frequencies) * place[pair % LTX_AXES];
        cosines[i] = cosines[i + 1] = (float)cos((double)angle);
        sines[i] = sines[i + 1] = (float)sin((double)angle);
    }
}

static dit_status place_tokens(dit_model *model, const float *told)
{
    const dit_latent *latent = &model->params.latent;
    const dit_partition *part = &model->params.partition;
    ltx_stack *m = model->state;
    dit_runtime *rt = model->params.rt;
    const int64_t rows = dit_runtime_values(rt, m->s.n), first = share_begin(dit_tp_share(rt), m->kind.H) * m->kind.D;
    for (int64_t row = 0; row < rows; row++) {
        int64_t token = dit_partition_token(part, row), plane = latent->height * latent->width;
        const int64_t cell[LTX_AXES] = {token / plane, token / latent->width % latent->height, token % latent->width};
        float place[LTX_AXES];
        m->kind.place(model, told, cell, place);
        rotate_token(model, first, place, m->cosines + row * m->s.A, m->sines + row * m->s.A);
    }
    DIT_TRY(embed_put_rope(rt, m->cosines, m->sines, m->s.n * m->s.A));
    if (m->s.A < m->s.C || m->kind.halves) return DIT_OK; /* the library's table is laid out by heads */
    return embed_tap_rope(model, DIT_LAYOUT_IMAGE, m->cosines, m->sines, m->s.C);
}

static dit_status make_bias(dit_runtime *rt, ltx_stack *m, const float *mask)
{
    int64_t rows = m->s.B * m->T;
    m->bias = mask ? m->text_bias : NULL;
    if (!mask) return DIT_OK;
    for (int64_t i = 0; i < rows; i++) m->text_bias[i] = (1.0f - mask[i]) * -10000.0f;
    return dit_runtime_upload(rt, m->text_bias, rows);
}

/* Makes K, normalised, and V of the text for one block. */
static dit_status remember(dit_runtime *rt, const ltx_stack *m, const float *text, const ltx_block *block)
{
    dit_rows kv = rows_dense(block->text_kv, m->s.B, m->T, 2 * m->s.A);
    layer_linear(rt, &block->cross_kv, rows_dense((float *)text, m->s.B, m->T, m->s.C), kv, DIT_ACT_NONE);
    return layer_joined_norm(rt, rows_columns(kv, 0, m->s.A), m->kind.heads_eps, block->cross_norm_k);
}

dit_status ltx_stack_prepare(dit_model *model, const dit_condition *condition)
{
    ltx_stack *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TRY(crossed_prepare(model->params.rt, &m->s));
    DIT_TRY(place_tokens(model, condition->at[m->kind.scale]));
    DIT_TRY(make_bias(rt, m, condition->at[DIT_CONDITION_TEXT_MASK]));
    const float *text = condition->at[DIT_CONDITION_TEXT];
    if (!m->kind.as_wide)
        embed_mlp_run(rt, &m->caption_mlp, text, m->s.B * m->T, m->text_hidden, m->text), text = m->text;
    for (int64_t i = 0; i < m->kind.layers; i++)
        if (dit_stage_has(&model->params, i)) DIT_TRY(remember(rt, m, text, &m->blocks[i]));
    if (m->kind.as_wide) return DIT_OK;
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->text, m->s.B, m->T, m->s.C), "aux.caption_projection");
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

dit_status ltx_stack_begin(dit_model *model, const float *timestep)
{
    const ltx_stack *m = model->state;
    int64_t B = m->s.B, C = m->s.C;
    crossed_begin(model->params.rt, &m->s, timestep);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->s.modulated, B, 1, CROSSED_MODULATIONS * C),
                         "aux.time_embed.0"));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->s.embedded, B, 1, C), "aux.time_embed.1");
}

dit_status ltx_stack_embed(dit_model *model, const float *latents)
{
    ltx_stack *m = model->state;
    dit_rows x = rows_window(model, m->s.x, m->s.C);
    layer_linear(model->params.rt, &m->proj_in, rows_window(model, (float *)latents, m->proj_in.k), x, DIT_ACT_NONE);
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "aux.proj_in");
}

dit_status ltx_stack_attention_input(dit_model *model, float *out)
{
    const ltx_stack *m = model->state;
    crossed_norm(model, &m->s, &m->blocks[0].s, rows_window(model, m->s.x, m->s.C), rows_window(model, out, m->s.C));
    return DIT_OK;
}

/* Normalises and rotates all heads of q or k as if they were one. */
static dit_status norm_heads(dit_model *model, const float *weight, dit_rows x)
{
    const ltx_stack *m = model->state;
    int64_t first = model->window.first * m->s.A;
    DIT_TRY(layer_joined_norm(model->params.rt, x, m->kind.heads_eps, weight));
    layer_head_norm(model->params.rt, x,
                    &(dit_head_norm){.H = 1, .D = m->s.A, .cos = m->cosines + first, .sin = m->sines + first});
    return DIT_OK;
}

static dit_status self_attention(dit_model *model, int64_t index, dit_rows x, dit_rows out)
{
    const ltx_stack *m = model->state;
    const ltx_block *block = &m->blocks[index];
    dit_runtime *rt = model->params.rt;
    int64_t A = m->s.A;
    dit_rows normed = rows_window(model, m->s.normed, m->s.C), qkv = rows_window(model, m->s.wide, 3 * A);
    dit_rows q = rows_columns(qkv, 0, A), k = rows_columns(qkv, A, A), v = rows_columns(qkv, 2 * A, A);
    crossed_norm(model, &m->s, &block->s, x, normed);
    layer_linear(rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    DIT_TRY(norm_heads(model, block->norm_q, q));
    DIT_TRY(norm_heads(model, block->norm_k, k));
    DIT_TRY(dit_tap_keys(model, k, v, 0));
    return layer_sequence_attention(model->attention[0], q, k, v, out);
}

static dit_status cross_attention(dit_model *model, int64_t index, dit_rows x, dit_rows out)
{
    const ltx_stack *m = model->state;
    const ltx_block *block = &m->blocks[index];
    dit_runtime *rt = model->params.rt;
    dit_rows q = rows_window(model, m->s.wide, m->s.A), kv = rows_dense(block->text_kv, m->s.B, m->T, 2 * m->s.A);
    if (m->kind.norms_queries) {
        dit_rows normed = rows_window(model, m->s.normed, m->s.C);
        layer_norm(rt, x, normed, &(dit_layer_norm){.kind = DIT_NORM_RMS, .eps = m->s.eps});
        x = normed;
    }
    layer_linear(rt, &block->cross_q, x, q, DIT_ACT_NONE);
    DIT_TRY(layer_joined_norm(rt, q, m->kind.heads_eps, block->cross_norm_q));
    layer_local_attention(rt, m->H, q, rows_columns(kv, 0, m->s.A), rows_columns(kv, m->s.A, m->s.A), m->bias, out);
    return DIT_OK;
}

dit_status ltx_stack_block(dit_model *model, int64_t index)
{
    const ltx_stack *m = model->state;
    return crossed_forward(model, &m->s, &m->blocks[index].s, index, self_attention, cross_attention);
}

dit_status ltx_stack_head(dit_model *model, float *output)
{
    const ltx_stack *m = model->state;
    crossed_head(model, &m->s, &m->proj_out, output);
    return DIT_OK;
}
