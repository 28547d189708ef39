/* Wan 2.1 and 2.2, text to video and image to video: self-attention over all frames with rotary positions, cross-attention to
 * the text and, of image to video, to the first image; one modulation of the timestep, shifted by a table per block.
 * Source: Wan Team, Wan: Open and Advanced Large-Scale Video Generative Models (arXiv:2503.20314); parameter names and
 * arithmetic of diffusers 0.33.1 WanTransformer3DModel. The text's and the image's K and V of all blocks are made once
 * per video. Image to video appends the first frame's latents and a mask to the noisy latents: the input has more
 * channels than the output. That of Wan 2.2 TI2V-5B has the first frame's latents in place of noisy ones (crossed.h).
 */
#include "engine/models/crossed.h"

#include <stdio.h>
#include <string.h>

enum { AXES = 3 };
static const float IMAGE_EPS = 1e-5f;

typedef struct {
    int64_t layers, H, D, in_channels, out_channels, text_dim, image_dim, added_dim, freq_dim, inner, positions;
    int64_t patch[AXES]; /* frames, rows, columns */
    double eps;
    bool cross_norm;
} wan_config;

/* K and V of the text, or of the image, for cross-attention. */
typedef struct {
    dit_linear kv;
    const float *norm_k; /* [A]                                 */
    float *rows;         /* [batch, tokens, 2A], in rt->image    */
} wan_memory;

typedef struct {
    crossed_block s;
    dit_linear qkv, cross_q;
    wan_memory text, image;                           /* image: only with image_dim                */
    const float *norm_q, *norm_k, *cross_norm_q;      /* [A]: over all heads together */
    const float *cross_norm_weight, *cross_norm_bias; /* [C]: of the stream, or NULL  */
} wan_block;

/* LayerNorm, Linear, GELU, Linear, LayerNorm. */
typedef struct {
    const float *in_weight, *in_bias, *out_weight, *out_bias;
    dit_linear in, out;
} wan_image_embed;

typedef struct {
    wan_config c;
    crossed s;
    int64_t T, I; /* tokens of the text, of the conditioning image (0: none) */
    int64_t H;    /* heads of this tensor rank                               */
    dit_linear patch_proj, proj_out;
    embed_mlp text_mlp;
    wan_image_embed image_embed;
    wan_block *blocks;
    float *cosines, *sines, *ids;               /* [image_count, D], and [image_count, 3] they are made from */
    float *text, *text_hidden;                  /* [batch, T, C]                                             */
    float *image, *image_normed, *image_hidden; /* [batch, I, C or image_dim]                              */
} wan;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(wan_config, layers, "num_layers", 40, 1, 1000),
    DIT_CONFIG_INT(wan_config, H, "num_attention_heads", 40, 1, 1024),
    DIT_CONFIG_INT(wan_config, D, "attention_head_dim", 128, 2, 1024),
    DIT_CONFIG_INT(wan_config, in_channels, "in_channels", 16, 1, 4096),
    DIT_CONFIG_INT(wan_config, out_channels, "out_channels", 16, 1, 4096),
    DIT_CONFIG_INT(wan_config, text_dim, "text_dim", 4096, 1, 65536),
    DIT_CONFIG_INT(wan_config, image_dim, "image_dim", 0, 1, 65536),
    DIT_CONFIG_INT(wan_config, added_dim, "added_kv_proj_dim", 0, 1, 65536),
    DIT_CONFIG_INT(wan_config, freq_dim, "freq_dim", 256, 2, 65536),
    DIT_CONFIG_INT(wan_config, inner, "ffn_dim", 13824, 1, 1 << 20),
    DIT_CONFIG_INT(wan_config, positions, "rope_max_seq_len", 1024, 1, 1 << 20),
    DIT_CONFIG_NUMBER(wan_config, eps, "eps", 1e-6, 0, 1),
    DIT_CONFIG_BOOL(wan_config, cross_norm, "cross_attn_norm", true),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"qk_norm", "rms_norm_across_heads"},
    {"pos_embed_seq_len", "null"},
    {0},
};

static dit_status read_config(const dit_config *config, wan_config *c)
{
    static const int64_t standard[AXES] = {1, 2, 2};
    int count;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    memcpy(c->patch, standard, sizeof standard);
    DIT_TRY(dit_config_read_ints(config, "patch_size", 1, 64, AXES, c->patch, &count));
    if ((count >= 0 && count != AXES) || c->patch[1] != c->patch[2])
        return DIT_FAIL(
            DIT_ERR_UNSUPPORTED,
            "patch_size has %d entries, %lld rows by %lld columns; only 3 entries and square patches are implemented",
            count, (long long)c->patch[1], (long long)c->patch[2]);
    if (c->D % 2)
        return DIT_FAIL(DIT_ERR_SHAPE, "attention_head_dim %lld is odd, but positions rotate pairs", (long long)c->D);
    if (c->in_channels < c->out_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "in_channels %lld below out_channels %lld", (long long)c->in_channels,
                        (long long)c->out_channels);
    if (c->added_dim != (c->image_dim ? c->H * c->D : 0))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "added_kv_proj_dim %lld with image_dim %lld is not implemented: leave both out, or set both "
                        "with the first at %lld",
                        (long long)c->added_dim, (long long)c->image_dim, (long long)(c->H * c->D));
    return DIT_OK;
}

/* A cell has 8 pixels in a row, but 16 of the 48 channels that Wan 2.2 TI2V-5B was published with. */
static dit_status wan_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    enum { RESIDUAL_CHANNELS = 48 };
    wan_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D, sizes->blocks[0] = c.layers;
    sizes->picture = c.image_dim > 0;
    facts->latent = (dit_latent){.channels = c.out_channels,
                                 .vae_spatial = c.out_channels == RESIDUAL_CHANNELS ? 16 : 8,
                                 .vae_temporal = 4,
                                 .patch_t = c.patch[0],
                                 .patch = c.patch[1]};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Loads scale_shift_table [1, rows, C]. */
static dit_status load_table(const dit_scope *s, int64_t rows, int64_t C, const float **out)
{
    char name[sizeof s->prefix + sizeof "scale_shift_table"];
    const int64_t shape[3] = {1, rows, C};
    snprintf(name, sizeof name, "%sscale_shift_table", s->prefix);
    return dit_weights_load(s->rt, s->weights, name, 3, shape, DIT_INIT_TABLE, out);
}

static dit_status load_self_attention(const dit_scope *s, int64_t C, wan_block *block)
{
    DIT_TRY(scope_shared(s, (const char *const[]){"attn1.to_q", "attn1.to_k", "attn1.to_v", NULL}, C, C, &block->qkv));
    DIT_TRY(scope_slice(s, "attn1.norm_q.weight", C, DIT_INIT_NORM, &block->norm_q));
    DIT_TRY(scope_slice(s, "attn1.norm_k.weight", C, DIT_INIT_NORM, &block->norm_k));
    return scope_joined(s, "attn1.to_out.0", C, C, 0, &block->s.out);
}

static dit_status load_cross_attention(const dit_scope *s, const wan *m, wan_block *block)
{
    static const char *const text[] = {"attn2.to_k", "attn2.to_v", NULL};
    static const char *const image[] = {"attn2.add_k_proj", "attn2.add_v_proj", NULL};
    int64_t C = m->s.C;
    if (m->c.cross_norm) DIT_TRY(scope_affine(s, "norm2", C, &block->cross_norm_weight, &block->cross_norm_bias));
    DIT_TRY(scope_shared(s, (const char *const[]){"attn2.to_q", NULL}, C, C, &block->cross_q));
    DIT_TRY(scope_slice(s, "attn2.norm_q.weight", C, DIT_INIT_NORM, &block->cross_norm_q));
    DIT_TRY(scope_shared(s, text, C, C, &block->text.kv));
    DIT_TRY(scope_slice(s, "attn2.norm_k.weight", C, DIT_INIT_NORM, &block->text.norm_k));
    if (m->c.image_dim) {
        DIT_TRY(scope_shared(s, image, C, C, &block->image.kv));
        DIT_TRY(scope_slice(s, "attn2.norm_added_k.weight", C, DIT_INIT_NORM, &block->image.norm_k));
    }
    return scope_joined(s, "attn2.to_out.0", C, C, 0, &block->s.cross_out);
}

static dit_status load_image_embed(const dit_model_params *params, const wan *m, wan_image_embed *embed)
{
    dit_scope s = scope_of(params, "condition_embedder.image_embedder.");
    int64_t dim = m->c.image_dim, C = m->s.C;
    DIT_TRY(scope_affine(&s, "norm1", dim, &embed->in_weight, &embed->in_bias));
    DIT_TRY(scope_linear(&s, "ff.net.0.proj", dim, dim, &embed->in));
    DIT_TRY(scope_linear(&s, "ff.net.2", C, dim, &embed->out));
    return scope_affine(&s, "norm2", C, &embed->out_weight, &embed->out_bias);
}

static dit_status load_weights(const dit_model_params *params, wan *m)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->s.C, cells = m->c.patch[0] * m->c.patch[1] * m->c.patch[2];
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    if (params->stage.first) DIT_TRY(scope_linear(&s, "patch_embedding", C, m->c.in_channels * cells, &m->patch_proj));
    DIT_TRY(
        embed_mlp_load(&s, "condition_embedder.time_embedder", m->c.freq_dim, C, C, DIT_ACT_SILU, &m->s.timestep_mlp));
    DIT_TRY(scope_linear(&s, "condition_embedder.time_proj", CROSSED_MODULATIONS * C, C, &m->s.modulation));
    DIT_TRY(
        embed_mlp_load(&s, "condition_embedder.text_embedder", m->c.text_dim, C, C, DIT_ACT_GELU_TANH, &m->text_mlp));
    if (m->c.image_dim) DIT_TRY(load_image_embed(params, m, &m->image_embed));
    for (int64_t i = 0; i < m->c.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope block = scope_of(params, "blocks.%lld.", (long long)i);
        DIT_TRY(load_self_attention(&block, C, &m->blocks[i]));
        DIT_TRY(load_cross_attention(&block, m, &m->blocks[i]));
        DIT_TRY(scope_mlp(&block, "ffn", C, m->c.inner, &m->blocks[i].s.mlp));
        DIT_TRY(load_table(&block, CROSSED_MODULATIONS, C, &m->blocks[i].s.table));
    }
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_head(&s, "proj_out", m->c.out_channels, cells, C, &m->proj_out));
    return load_table(&s, 2, C, &m->s.table);
}

static dit_status make_buffers(dit_model *model, wan *m)
{
    const dit_model_params *params = &model->params;
    dit_runtime *rt = params->rt;
    int64_t C = m->s.C, B = m->s.B, rows = B * m->s.n;
    int64_t image_rows = B * m->I, most = rows > B * m->T ? rows : B * m->T;
    DIT_TRY(dit_tp_reserve(rt, rows * C, most > image_rows ? most : image_rows));
    const dit_buffer buffers[] = {
        {&rt->image, &m->cosines, params->partition.image_count * m->c.D, DIT_BUFFER_FP32},
        {&rt->image, &m->sines, params->partition.image_count * m->c.D, DIT_BUFFER_FP32},
        {&rt->image, &m->ids, params->partition.image_count * AXES, DIT_BUFFER_HOST},
        {&rt->step, &m->text, B * m->T * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->text_hidden, B * m->T * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->image, image_rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->image_normed, image_rows * m->c.image_dim, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->image_hidden, image_rows * m->c.image_dim, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(crossed_take(model, &m->s));
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    for (int64_t i = 0; i < m->c.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        DIT_TRY(dit_arena_activations(&rt->image, B * m->T * 2 * m->s.A, &m->blocks[i].text.rows));
        DIT_TRY(dit_arena_activations(&rt->image, image_rows * 2 * m->s.A, &m->blocks[i].image.rows));
    }
    return DIT_OK;
}

/* Makes the positions. The library's tables end at rope_max_seq_len. */
static dit_status place_tokens(const dit_model_params *params, wan *m)
{
    const dit_latent *latent = &params->latent;
    const int64_t cells[AXES] = {latent->frames, latent->height, latent->width}, spatial = 2 * (m->c.D / 6);
    int64_t rows = params->partition.image_count;
    for (int i = 0; i < AXES; i++)
        if (cells[i] / m->c.patch[i] > m->c.positions)
            return DIT_FAIL(DIT_ERR_SHAPE, "%lld patches along %s exceed rope_max_seq_len %lld",
                            (long long)(cells[i] / m->c.patch[i]),
                            (const char *const[AXES]){"time", "the height", "the width"}[i], (long long)m->c.positions);
    embed_grid_ids(params->rt, &params->partition, latent, m->ids);
    embed_rope(params->rt, m->ids, rows, AXES, (const int64_t[AXES]){m->c.D - 2 * spatial, spatial, spatial}, 10000.0,
               m->cosines, m->sines);
    return embed_put_rope(params->rt, m->cosines, m->sines, rows * m->c.D);
}

static dit_status wan_create(const dit_model_params *params, dit_model *model)
{
    dit_runtime *rt = params->rt;
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(wan), &state));
    wan *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->T = part->text_tokens, m->I = rt->facts.picture_tokens, m->H = dit_tp_count(rt, m->c.H);
    m->s = (crossed){.B = part->batch,
                     .C = m->c.H * m->c.D,
                     .n = part->window_count,
                     .A = m->H * m->c.D,
                     .inner = dit_tp_count(rt, m->c.inner),
                     .frequencies = m->c.freq_dim,
                     .eps = (float)m->c.eps,
                     .last_eps = (float)m->c.eps};
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(model, m));
    DIT_TRY(place_tokens(params, m));
    int64_t cells = m->c.patch[0] * m->c.patch[1] * m->c.patch[2];
    model->input_channels = m->c.in_channels * cells;
    model->output_channels = m->c.out_channels * cells;
    model->needs[DIT_CONDITION_TEXT].elements = m->T * m->c.text_dim;
    model->needs[DIT_CONDITION_IMAGE].elements = m->I * m->c.image_dim;
    model->needs[DIT_CONDITION_LATENT].elements = part->image_tokens * (m->c.in_channels - m->c.out_channels) * cells;
    DIT_TRY(crossed_hold(model, m->c.in_channels != m->c.out_channels));
    return dit_attention_create(
        rt, params->attention,
        &(dit_attention_shape){
            .B = m->s.B, .H = m->H, .D = m->c.D, .calls = params->stage.blocks.count, .tokens = m->s.n},
        &model->attention[0]);
}

/* ---- once per clip ----------------------------------------------------------------------------------------------- */

/* x = x / rms(x) * weight, over the heads of all ranks together. */
static dit_status norm_heads(dit_runtime *rt, const wan *m, const float *weight, dit_rows x)
{
    return layer_joined_norm(rt, x, (float)m->c.eps, weight);
}

/* Makes K, normalised, and V of one block for `x`, the embedded text or image. */
static dit_status remember(dit_runtime *rt, const wan *m, const wan_memory *memory, dit_rows x)
{
    dit_rows kv = rows_dense(memory->rows, x.batch, x.rows, 2 * m->s.A);
    layer_linear(rt, &memory->kv, x, kv, DIT_ACT_NONE);
    return norm_heads(rt, m, memory->norm_k, rows_columns(kv, 0, m->s.A));
}

static void embed_image(dit_runtime *rt, const wan *m, const float *condition)
{
    const wan_image_embed *embed = &m->image_embed;
    int64_t dim = m->c.image_dim;
    dit_rows given = rows_dense((float *)condition, m->s.B, m->I, dim);
    dit_rows normed = rows_dense(m->image_normed, m->s.B, m->I, dim);
    dit_rows hidden = rows_dense(m->image_hidden, m->s.B, m->I, dim);
    dit_rows image = rows_dense(m->image, m->s.B, m->I, m->s.C);
    layer_norm(rt, given, normed,
               &(dit_layer_norm){.eps = IMAGE_EPS, .weight = embed->in_weight, .bias = embed->in_bias});
    layer_linear(rt, &embed->in, normed, hidden, DIT_ACT_GELU_ERF);
    layer_linear(rt, &embed->out, hidden, image, DIT_ACT_NONE);
    layer_norm(rt, image, image,
               &(dit_layer_norm){.eps = IMAGE_EPS, .weight = embed->out_weight, .bias = embed->out_bias});
}

static dit_status wan_prepare(dit_model *model, const dit_condition *condition)
{
    wan *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TRY(crossed_prepare(rt, &m->s));
    dit_rows text = rows_dense(m->text, m->s.B, m->T, m->s.C), image = rows_dense(m->image, m->s.B, m->I, m->s.C);
    embed_mlp_run(rt, &m->text_mlp, condition->at[DIT_CONDITION_TEXT], m->s.B * m->T, m->text_hidden, m->text);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, text, "aux.condition_embedder.2"));
    for (int64_t i = 0; i < m->c.layers; i++)
        if (dit_stage_has(&model->params, i)) DIT_TRY(remember(rt, m, &m->blocks[i].text, text));
    if (!m->c.image_dim) return DIT_OK;
    embed_image(rt, m, condition->at[DIT_CONDITION_IMAGE]);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, image, "aux.condition_embedder.3"));
    for (int64_t i = 0; i < m->c.layers; i++)
        if (dit_stage_has(&model->params, i)) DIT_TRY(remember(rt, m, &m->blocks[i].image, image));
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status wan_begin(dit_model *model, const float *timestep)
{
    const wan *m = model->state;
    int64_t B = m->s.B, C = m->s.C;
    crossed_begin(model->params.rt, &m->s, timestep);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->s.embedded, B, 1, C), "aux.condition_embedder.0"));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->s.modulated, B, 1, CROSSED_MODULATIONS * C),
                        "aux.condition_embedder.1");
}

static dit_status wan_embed(dit_model *model, const float *latents)
{
    wan *m = model->state;
    dit_rows x = rows_window(model, m->s.x, m->s.C);
    layer_linear(model->params.rt, &m->patch_proj, rows_window(model, (float *)latents, m->patch_proj.k), x,
                 DIT_ACT_NONE);
    return dit_tap_rows(model, DIT_LAYOUT_PLANES, x, "aux.patch_embedding");
}

static dit_status wan_attention_input(dit_model *model, float *out)
{
    const wan *m = model->state;
    crossed_norm(model, &m->s, &m->blocks[0].s, rows_window(model, m->s.x, m->s.C), rows_window(model, out, m->s.C));
    return DIT_OK;
}

static dit_status self_attention(dit_model *model, int64_t index, dit_rows x, dit_rows out)
{
    const wan *m = model->state;
    const wan_block *block = &m->blocks[index];
    dit_runtime *rt = model->params.rt;
    int64_t A = m->s.A;
    dit_rows normed = rows_window(model, m->s.normed, m->s.C), qkv = rows_window(model, m->s.wide, 3 * A);
    dit_rows q = rows_columns(qkv, 0, A), k = rows_columns(qkv, A, A), v = rows_columns(qkv, 2 * A, A);
    dit_head_norm rotate = {.H = m->H,
                            .D = m->c.D,
                            .cos = m->cosines + model->window.first * m->c.D,
                            .sin = m->sines + model->window.first * m->c.D};
    crossed_norm(model, &m->s, &block->s, x, normed);
    layer_linear(rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    DIT_TRY(norm_heads(rt, m, block->norm_q, q));
    DIT_TRY(norm_heads(rt, m, block->norm_k, k));
    layer_head_norm(rt, q, &rotate);
    layer_head_norm(rt, k, &rotate);
    DIT_TRY(dit_tap_keys(model, k, v, 0));
    return layer_sequence_attention(model->attention[0], q, k, v, out);
}

/* Lets q attend to K and V of the text or the image. */
static void recall(dit_runtime *rt, const wan *m, const wan_memory *memory, int64_t tokens, dit_rows q, dit_rows out)
{
    dit_rows kv = rows_dense(memory->rows, m->s.B, tokens, 2 * m->s.A);
    layer_local_attention(rt, m->H, q, rows_columns(kv, 0, m->s.A), rows_columns(kv, m->s.A, m->s.A), NULL, out);
}

/* Attends to text and to image separately and adds the results. */
static dit_status cross_attention(dit_model *model, int64_t index, dit_rows x, dit_rows out)
{
    const wan *m = model->state;
    const wan_block *block = &m->blocks[index];
    dit_runtime *rt = model->params.rt;
    dit_rows normed = rows_window(model, m->s.normed, m->s.C), q = rows_window(model, m->s.wide, m->s.A);
    dit_rows recalled =
        rows_window(model, m->s.normed, m->s.A); /* the image's part overwrites the projection's input */
    if (m->c.cross_norm)
        layer_norm(rt, x, normed,
                   &(dit_layer_norm){
                       .eps = (float)m->c.eps, .weight = block->cross_norm_weight, .bias = block->cross_norm_bias});
    layer_linear(rt, &block->cross_q, m->c.cross_norm ? normed : x, q, DIT_ACT_NONE);
    DIT_TRY(norm_heads(rt, m, block->cross_norm_q, q));
    recall(rt, m, &block->text, m->T, q, out);
    if (!m->c.image_dim) return DIT_OK;
    recall(rt, m, &block->image, m->I, q, recalled);
    layer_add(rt, out.data, recalled.data, out.batch * out.rows * m->s.A, out.data);
    return DIT_OK;
}

static dit_status wan_forward_block(dit_model *model, int64_t index)
{
    const wan *m = model->state;
    return crossed_forward(model, &m->s, &m->blocks[index].s, index, self_attention, cross_attention);
}

static dit_status wan_head(dit_model *model, float *output)
{
    const wan *m = model->state;
    crossed_head(model, &m->s, &m->proj_out, output);
    return DIT_OK;
}

const dit_model_ops dit_model_wan = {
    .class_name = "WanTransformer3DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = wan_read_facts,
    .create = wan_create,
    .prepare = wan_prepare,
    .begin = wan_begin,
    .embed = wan_embed,
    .attention_input = wan_attention_input,
    .block = wan_forward_block,
    .head = wan_head,
};
