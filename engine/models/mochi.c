/* Mochi 1: joint attention of a wide video stream and a narrow text stream, rotary positions whose frequencies are learned
 * for every head, RMS norms before and behind every module and of each head, gates through tanh, text pooled by attention. The text of the
 * last block is not written.
 * Source: Genmo, Mochi 1 (github genmoai/mochi); parameter names and arithmetic of diffusers 0.42.1
 * MochiTransformer3DModel. Rows of text lie in the buffers of the video's width and use their first columns; the rest is zero.
 */
#include "engine/models/embed.h"
#include "engine/models/joint.h"

#include <math.h>
#include <string.h>

enum { AXES = 3, POOL_HEADS = 8 };
enum { SCALE, GATE, SCALE_MLP, GATE_MLP, CHUNKS };
static const float EPS = 1e-6f, HEADS_EPS = 1e-5f;
static const double BASE_AREA = 192.0 * 192.0; /* patches, to which positions are stretched */

typedef struct {
    int64_t layers, H, D, in_channels, out_channels, patch, text_width, text_dim, time_dim;
} mochi_config;

/* The layers of one stream of a block; the last text has no out, in and down, and its modulation is a scale. */
typedef struct {
    dit_linear modulation, qkv, in; /* in: [value | gate] of a SwiGLU */
    dit_joined out, down;
    const float *norm_q, *norm_k; /* [D] RMS norm per head */
} mochi_stream;

typedef struct {
    mochi_stream stream[JOINT_STREAMS];
} mochi_block;

typedef struct {
    dit_linear to_kv, to_q, to_out;
    float *mean;                  /* [batch, text_dim] of the kept tokens                         */
    float *bias;                  /* [batch, 1 + T]: 0 or -INFINITY; the mean comes first         */
    float *rows, *kv, *q, *found; /* [batch, 1 + T, text_dim or twice it]; [batch, text_dim]      */
    float *pooled;                /* [batch, C]                                                   */
} mochi_pool;

typedef struct {
    mochi_config c;
    const dit_partition *view;
    int64_t C, B, T;                  /* hidden; batch; text tokens                              */
    int64_t width[JOINT_STREAMS];     /* of a stream                                             */
    int64_t inner[JOINT_STREAMS];     /* of its MLPs                                             */
    int64_t heads, A;                 /* of this tensor rank                                     */
    int64_t own_inner[JOINT_STREAMS]; /* of this tensor rank                                     */
    int64_t wide_cols;                /* attended, then qkv or an MLP's value and gate           */
    dit_linear patch_proj, caption, head_modulation, head;
    embed_mlp time;
    mochi_pool pool;
    mochi_block *blocks;
    float *frequencies;                              /* [3, H, D / 2], host                                     */
    float *cosines, *sines;                          /* [image_count, A]: every head has angles of its own      */
    float *joint_bias;                               /* [batch, T], host                                        */
    float *context;                                  /* [batch, this rank's text rows, C], in rt->image         */
    float *sinusoid, *hidden, *embedded, *activated; /* [batch, time_dim or C]                    */
    float *x, *normed, *wide;                        /* [batch, rows, C or wide_cols]             */
    float *modulation[JOINT_STREAMS];                /* [batch, 4 width]                          */
} mochi;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(mochi_config, layers, "num_layers", 48, 1, 1000),
    DIT_CONFIG_INT(mochi_config, H, "num_attention_heads", 24, 1, 1024),
    DIT_CONFIG_INT(mochi_config, D, "attention_head_dim", 128, 2, 1024),
    DIT_CONFIG_INT(mochi_config, in_channels, "in_channels", 12, 1, 4096),
    DIT_CONFIG_INT(mochi_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(mochi_config, patch, "patch_size", 2, 1, 16),
    DIT_CONFIG_INT(mochi_config, text_width, "pooled_projection_dim", 1536, 1, 65536),
    DIT_CONFIG_INT(mochi_config, text_dim, "text_embed_dim", 4096, 1, 65536),
    DIT_CONFIG_INT(mochi_config, time_dim, "time_embed_dim", 256, 2, 65536),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"activation_fn", "swiglu"},
    {"qk_norm", "rms_norm"},
    {0},
};

static dit_status read_config(const dit_config *config, mochi_config *c)
{
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    int64_t C = c->H * c->D;
    if (c->out_channels == 0) c->out_channels = c->in_channels;
    if (c->D % 2)
        return DIT_FAIL(DIT_ERR_SHAPE, "attention_head_dim %lld is odd, but positions rotate pairs", (long long)c->D);
    if (c->text_dim % POOL_HEADS)
        return DIT_FAIL(DIT_ERR_SHAPE, "text_embed_dim %lld is not divisible by %d, the heads that pool the text",
                        (long long)c->text_dim, POOL_HEADS);
    if (c->text_width > C)
        return DIT_FAIL(
            DIT_ERR_UNSUPPORTED,
            "pooled_projection_dim %lld above the hidden size %lld: the text lies in rows of the video's width",
            (long long)c->text_width, (long long)C);
    if (c->out_channels != c->in_channels)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "out_channels %lld differ from in_channels %lld",
                        (long long)c->out_channels, (long long)c->in_channels);
    return DIT_OK;
}

static dit_status mochi_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    mochi_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D, sizes->blocks[0] = c.layers, sizes->text_width = c.text_width;
    facts->latent =
        (dit_latent){.channels = c.in_channels, .vae_spatial = 8, .vae_temporal = 6, .patch_t = 1, .patch = c.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* The norm behind a product sees its bias as well, so the part of one tensor rank has it. */
static dit_status load_product(const dit_scope *s, const char *name, int64_t rows, int64_t k, dit_joined *out)
{
    DIT_TRY(scope_joined(s, name, rows, k, 0, out));
    if (out->summed && s->share.index == 0) out->linear.bias = out->bias;
    out->bias = NULL;
    return DIT_OK;
}

static dit_status load_stream(const dit_scope *s, const mochi *m, joint_part part, bool last, mochi_stream *stream)
{
    static const struct {
        const char *modulation, *last_modulation, *qkv[4], *norm_q, *norm_k, *out, *in, *down;
    } names[JOINT_STREAMS] = {
        [JOINT_TEXT] = {"norm1_context.linear",
                        "norm1_context.linear_1",
                        {"attn1.add_q_proj", "attn1.add_k_proj", "attn1.add_v_proj", NULL},
                        "attn1.norm_added_q.weight",
                        "attn1.norm_added_k.weight",
                        "attn1.to_add_out",
                        "ff_context.net.0.proj",
                        "ff_context.net.2"},
        [JOINT_IMAGE] = {"norm1.linear",
                         NULL,
                         {"attn1.to_q", "attn1.to_k", "attn1.to_v", NULL},
                         "attn1.norm_q.weight",
                         "attn1.norm_k.weight",
                         "attn1.to_out.0",
                         "ff.net.0.proj",
                         "ff.net.2"},
    };
    int64_t C = m->C, width = m->width[part], inner = m->inner[part];
    bool drops = last && part == JOINT_TEXT;
    dit_weights unbiased = *s->weights;
    dit_scope plain = *s;
    unbiased.without_biases = true, plain.weights = &unbiased;
    DIT_TRY(scope_shared(&plain, names[part].qkv, C, width, &stream->qkv));
    DIT_TRY(scope_vector(s, names[part].norm_q, m->c.D, DIT_INIT_NORM, &stream->norm_q));
    DIT_TRY(scope_vector(s, names[part].norm_k, m->c.D, DIT_INIT_NORM, &stream->norm_k));
    if (drops) return scope_linear(s, names[part].last_modulation, width, C, &stream->modulation);
    DIT_TRY(scope_linear(s, names[part].modulation, CHUNKS * width, C, &stream->modulation));
    DIT_TRY(load_product(s, names[part].out, width, C, &stream->out));
    DIT_TRY(scope_groups(&plain, names[part].in, 2 * inner, 0, inner, 2, width, &stream->in));
    return load_product(&plain, names[part].down, width, inner, &stream->down);
}

static dit_status load_blocks(const dit_model_params *params, mochi *m)
{
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof *m->blocks, &blocks));
    m->blocks = blocks;
    for (int64_t i = 0; i < m->c.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        for (joint_part part = JOINT_TEXT; part < JOINT_STREAMS; part++)
            DIT_TRY(load_stream(&s, m, part, i == m->c.layers - 1, &m->blocks[i].stream[part]));
    }
    return DIT_OK;
}

static dit_status load_embeddings(const dit_model_params *params, mochi *m)
{
    dit_scope s = scope_of(params, "time_embed.");
    int64_t C = m->C, dim = m->c.text_dim;
    DIT_TRY(embed_mlp_load(&s, "timestep_embedder", m->c.time_dim, C, C, DIT_ACT_SILU, &m->time));
    DIT_TRY(scope_linear(&s, "pooler.to_kv", 2 * dim, dim, &m->pool.to_kv));
    DIT_TRY(scope_linear(&s, "pooler.to_q", dim, dim, &m->pool.to_q));
    DIT_TRY(scope_linear(&s, "pooler.to_out", C, dim, &m->pool.to_out));
    return params->stage.first ? scope_linear(&s, "caption_proj", m->c.text_width, dim, &m->caption) : DIT_OK;
}

static dit_status load_weights(const dit_model_params *params, mochi *m)
{
    dit_scope s = scope_of(params, "%s", "");
    const int64_t cells = m->c.patch * m->c.patch, shape[AXES] = {AXES, m->c.H, m->c.D / 2};
    DIT_TRY(load_embeddings(params, m));
    if (params->stage.first)
        DIT_TRY(scope_linear(&s, "patch_embed.proj", m->C, m->c.in_channels * cells, &m->patch_proj));
    DIT_TRY(dit_arena_host(&params->rt->run, AXES * m->C / 2, &m->frequencies));
    DIT_TRY(
        dit_weights_read(params->rt, params->weights, "pos_frequencies", AXES, shape, DIT_INIT_TABLE, m->frequencies));
    DIT_TRY(load_blocks(params, m));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "norm_out.linear", JOINT_LAST_CHUNKS * m->C, m->C, &m->head_modulation));
    return scope_head(&s, "proj_out", m->c.out_channels, cells, m->C, &m->head);
}

static dit_status make_pool_buffers(dit_runtime *rt, const mochi *m, mochi_pool *pool)
{
    int64_t B = m->B, rows = B * (1 + m->T), dim = m->c.text_dim;
    const dit_buffer buffers[] = {
        {&rt->image, &pool->mean, B * dim, DIT_BUFFER_ACTIVATIONS},
        {&rt->image, &pool->bias, rows, DIT_BUFFER_FP32},
        {&rt->image, &pool->rows, rows * dim, DIT_BUFFER_ACTIVATIONS},
        {&rt->image, &pool->kv, rows * 2 * dim, DIT_BUFFER_ACTIVATIONS},
        {&rt->image, &pool->q, B * dim, DIT_BUFFER_ACTIVATIONS},
        {&rt->image, &pool->found, B * dim, DIT_BUFFER_ACTIVATIONS},
        {&rt->image, &pool->pooled, B * m->C, DIT_BUFFER_FP32},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

static dit_status make_buffers(dit_runtime *rt, mochi *m)
{
    int64_t C = m->C, B = m->B, n = m->view->image_count, rows = B * (m->view->text_count + n);
    DIT_TRY(dit_tp_reserve(rt, rows * C, 0));
    const dit_buffer buffers[] = {
        {&rt->image, &m->cosines, n * m->A, DIT_BUFFER_FP32},
        {&rt->image, &m->sines, n * m->A, DIT_BUFFER_FP32},
        {&rt->image, &m->joint_bias, B * m->T, DIT_BUFFER_HOST},
        {&rt->image, &m->context, B * m->view->text_count * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->sinusoid, B * m->c.time_dim, DIT_BUFFER_FP32},
        {&rt->step, &m->hidden, B * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->embedded, B * C, DIT_BUFFER_FP32},
        {&rt->step, &m->activated, B * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->x, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->normed, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->wide, rows * m->wide_cols, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &m->modulation[JOINT_TEXT], B * CHUNKS * m->width[JOINT_TEXT], DIT_BUFFER_FP32},
        {&rt->step, &m->modulation[JOINT_IMAGE], B * CHUNKS * C, DIT_BUFFER_FP32},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    return make_pool_buffers(rt, m, &m->pool);
}

static void set_widths(dit_runtime *rt, mochi *m)
{
    m->C = m->c.H * m->c.D;
    m->width[JOINT_TEXT] = m->c.text_width, m->width[JOINT_IMAGE] = m->C;
    m->heads = dit_tp_count(rt, m->c.H), m->A = m->heads * m->c.D;
    int64_t beside = 3 * m->A;
    for (joint_part part = JOINT_TEXT; part < JOINT_STREAMS; part++) {
        m->inner[part] = 8 * m->width[part] / 3;
        m->own_inner[part] = dit_tp_count(rt, m->inner[part]);
        if (2 * m->own_inner[part] > beside) beside = 2 * m->own_inner[part];
    }
    m->wide_cols = m->A + beside;
}

static dit_status mochi_create(const dit_model_params *params, dit_model *model)
{
    dit_runtime *rt = params->rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(mochi), &state));
    mochi *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->view = &model->view, m->B = params->partition.batch, m->T = params->partition.text_tokens;
    set_widths(rt, m);
    if (m->c.text_width % dit_tp_share(rt).of)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "pooled_projection_dim %lld is not divisible by tensor_degree %lld",
                        (long long)m->c.text_width, (long long)dit_tp_share(rt).of);
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(rt, m));
    model->input_channels = m->c.in_channels * m->c.patch * m->c.patch;
    model->output_channels = m->c.out_channels * m->c.patch * m->c.patch;
    model->stream = m->x, model->width = m->C;
    model->quadratic_sigmas = true;
    model->needs[DIT_CONDITION_TEXT].elements = m->T * m->c.text_dim;
    model->needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = m->T, .optional = true};
    return joint_create_policy(params, m->heads, m->c.D, 1, &model->attention[0]);
}

/* ---- once per clip ----------------------------------------------------------------------------------------------- */

/* Returns the middle of part `index` of `count` equal parts of [-count scale / 2, count scale / 2], between two entries of the
 * library's float32 linspace, which is computed from its nearer end. */
static float middle_of_part(int64_t index, int64_t count, double scale)
{
    float first = (float)(-(double)count * scale / 2), last = (float)((double)count * scale / 2);
    float step = (last - first) / (float)count, edges[2];
    for (int64_t i = 0; i < 2; i++) {
        int64_t at = index + i;
        edges[i] = at < (count + 1) / 2 ? fmaf(step, (float)at, first) : fmaf(-step, (float)(count - at), last);
    }
    return (edges[0] + edges[1]) / 2;
}

static void rotate_token(const mochi *m, int64_t first, const float place[AXES], float *cosines, float *sines)
{
    int64_t pairs = m->C / 2;
    for (int64_t i = 0; i < m->A; i += 2) {
        const float *frequency = m->frequencies + (first + i) / 2;
        float angle = place[0] * frequency[0] + place[1] * frequency[pairs] + place[2] * frequency[2 * pairs];
        cosines[i] = cosines[i + 1] = (float)cos((double)angle);
        sines[i] = sines[i + 1] = (float)sin((double)angle);
    }
}

/* Positions of rows and columns are stretched so that a frame of any size has the area of the base. */
static dit_status place_tokens(dit_model *model)
{
    const dit_partition *part = &model->params.partition;
    mochi *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t height = model->params.latent.height / m->c.patch, width = model->params.latent.width / m->c.patch;
    double scale = sqrt(BASE_AREA / (double)(height * width));
    const int64_t rows = dit_runtime_values(rt, part->image_count);
    const int64_t first = share_begin(dit_tp_share(rt), m->c.H) * m->c.D;
    for (int64_t row = 0; row < rows; row++) {
        int64_t token = dit_partition_token(part, row);
        const float place[AXES] = {(float)(token / (height * width)),
                                   middle_of_part(token / width % height, height, scale),
                                   middle_of_part(token % width, width, scale)};
        rotate_token(m, first, place, m->cosines + row * m->A, m->sines + row * m->A);
    }
    return embed_put_rope(rt, m->cosines, m->sines, part->image_count * m->A);
}

/* Gives how many leading tokens the mask keeps. The library moves what is kept behind a hole; tokenizers leave none. */
static dit_status count_kept(const mochi *m, const float *mask, int64_t b, int64_t *kept)
{
    const float *row = mask ? mask + b * m->T : NULL;
    for (*kept = 0; *kept < m->T && (!row || row[*kept] != 0.0f);) ++*kept;
    for (int64_t i = *kept; i < m->T; i++)
        if (row[i] != 0.0f)
            return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                            "the mask of text %lld keeps token %lld behind a hidden one: only ends may be hidden",
                            (long long)b, (long long)i);
    return DIT_OK;
}

static dit_status read_mask(dit_model *model, const float *mask, const float *text)
{
    mochi *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t dim = m->c.text_dim, T = m->T, kept = 0;
    for (int64_t b = 0; b < m->B; b++) {
        DIT_TRY(count_kept(m, mask, b, &kept));
        m->pool.bias[b * (1 + T)] = 0.0f;
        for (int64_t i = 0; i < T; i++)
            m->joint_bias[b * T + i] = m->pool.bias[b * (1 + T) + 1 + i] = i < kept ? 0.0f : -INFINITY;
        for (int64_t channel = 0; channel < dit_runtime_values(rt, dim); channel++) {
            double sum = 0;
            for (int64_t i = 0; i < kept; i++) sum += (double)text[(b * T + i) * dim + channel];
            m->pool.mean[b * dim + channel] = kept ? (float)(sum / (double)kept) : 0.0f;
        }
    }
    DIT_TRY(dit_runtime_upload(rt, m->pool.bias, m->B * (1 + T)));
    DIT_TRY(dit_runtime_upload(rt, m->pool.mean, m->B * dim));
    return dit_attention_set_text_bias(model->attention[0], m->joint_bias, T);
}

/* The mean of the kept tokens asks all of them, and itself. */
static void pool_text(dit_runtime *rt, const mochi *m, const float *text)
{
    const mochi_pool *pool = &m->pool;
    int64_t B = m->B, T = m->T, dim = m->c.text_dim;
    dit_rows rows = rows_dense(pool->rows, B, 1 + T, dim), mean = rows_dense(pool->mean, B, 1, dim);
    dit_rows kv = rows_dense(pool->kv, B, 1 + T, 2 * dim), q = rows_dense(pool->q, B, 1, dim);
    dit_rows found = rows_dense(pool->found, B, 1, dim);
    layer_copy(rt, mean, rows_part(rows, 0, 1));
    layer_copy(rt, rows_dense((float *)text, B, T, dim), rows_part(rows, 1, T));
    layer_linear(rt, &pool->to_kv, rows, kv, DIT_ACT_NONE);
    layer_linear(rt, &pool->to_q, mean, q, DIT_ACT_NONE);
    layer_local_attention(rt, POOL_HEADS, q, rows_columns(kv, 0, dim), rows_columns(kv, dim, dim), pool->bias, found);
    embed_linear(rt, &pool->to_out, pool->found, B, pool->pooled);
}

/* Projects this rank's rows of text into the first columns of rows that are as wide as the video's. */
static dit_status project_text(const dit_model *model, const float *text)
{
    const mochi *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    dit_rows whole = rows_dense((float *)text, m->B, m->T, m->c.text_dim);
    dit_rows context = rows_dense(m->context, m->B, part->text_count, m->C);
    int64_t elements = m->B * part->text_count * m->C;
    memset(m->context, 0, (size_t)dit_runtime_values(rt, elements) * sizeof *m->context);
    DIT_TRY(dit_runtime_upload(rt, m->context, elements));
    layer_linear(rt, &m->caption, rows_part(whole, part->text_begin, part->text_count),
                 rows_columns(context, 0, m->width[JOINT_TEXT]), DIT_ACT_NONE);
    return DIT_OK;
}

static dit_status mochi_prepare(dit_model *model, const dit_condition *condition)
{
    mochi *m = model->state;
    dit_runtime *rt = model->params.rt;
    const float *text = condition->at[DIT_CONDITION_TEXT];
    DIT_TRY(place_tokens(model));
    DIT_TRY(read_mask(model, condition->at[DIT_CONDITION_TEXT_MASK], text));
    pool_text(rt, m, text);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->pool.pooled, m->B, 1, m->C), "aux.pooler"));
    return model->params.stage.first ? project_text(model, text) : DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_rows stream_of(const mochi *m, joint_part part)
{
    return rows_columns(joint_rows(m->view, part, m->x, m->C), 0, m->width[part]);
}

static dit_rows normed_of(const mochi *m, joint_part part)
{
    return rows_columns(joint_rows(m->view, part, m->normed, m->C), 0, m->width[part]);
}

static dit_rows wide_columns(const mochi *m, joint_part part, int64_t first, int64_t count)
{
    return rows_columns(joint_rows(m->view, part, m->wide, m->wide_cols), first, count);
}

static dit_status mochi_begin(dit_model *model, const float *timestep)
{
    mochi *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = m->B, C = m->C;
    embed_timestep(rt, timestep, B, m->c.time_dim, m->sinusoid);
    embed_mlp_run(rt, &m->time, m->sinusoid, B, m->hidden, m->embedded);
    layer_add(rt, m->embedded, m->pool.pooled, B * C, m->embedded);
    embed_activate(rt, DIT_ACT_SILU, m->embedded, B * C, m->activated);
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->embedded, B, 1, C), "aux.time_embed.0");
}

static dit_status mochi_embed(dit_model *model, const float *latents)
{
    mochi *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows text = joint_rows(m->view, JOINT_TEXT, m->x, m->C), image = stream_of(m, JOINT_IMAGE);
    layer_copy(rt, rows_dense(m->context, text.batch, text.rows, m->C), text);
    layer_linear(rt, &m->patch_proj, rows_window(model, (float *)latents, m->patch_proj.k), image, DIT_ACT_NONE);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image, "aux.patch_embed"));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, stream_of(m, JOINT_TEXT), "aux.time_embed.1");
}

/* Makes a stream's scales and the tanh of its gates, which are valid until the next block. */
static void modulate(dit_runtime *rt, const mochi *m, const mochi_stream *stream, joint_part part)
{
    int64_t width = m->width[part], all = stream->modulation.n;
    embed_linear(rt, &stream->modulation, m->activated, m->B, m->modulation[part]);
    for (int64_t b = 0; b < m->B && all == CHUNKS * width; b++)
        for (int chunk = GATE; chunk < CHUNKS; chunk += GATE_MLP - GATE) {
            float *gate = m->modulation[part] + b * all + chunk * width;
            embed_activate(rt, DIT_ACT_TANH, gate, width, gate);
        }
}

static void scaled_norm(dit_runtime *rt, const mochi *m, const mochi_stream *stream, joint_part part, int chunk,
                        dit_rows y)
{
    layer_norm(rt, stream_of(m, part), y,
               &(dit_layer_norm){.kind = DIT_NORM_RMS,
                                 .eps = EPS,
                                 .scale = m->modulation[part] + chunk * m->width[part],
                                 .modulation_stride = stream->modulation.n});
}

static dit_status mochi_attention_input(dit_model *model, float *out)
{
    const mochi *m = model->state;
    const mochi_stream *image = &m->blocks[0].stream[JOINT_IMAGE];
    modulate(model->params.rt, m, image, JOINT_IMAGE);
    scaled_norm(model->params.rt, m, image, JOINT_IMAGE, SCALE, rows_window(model, out, m->C));
    return DIT_OK;
}

/* Normalises each head of q or k; those of the video are then rotated, all heads of a row as if they were one. */
static void norm_heads(dit_model *model, const mochi *m, joint_part part, const float *weight, dit_rows x)
{
    int64_t first = model->window.first * m->A;
    layer_head_norm(
        model->params.rt, x,
        &(dit_head_norm){.H = m->heads, .D = m->c.D, .kind = DIT_NORM_RMS, .eps = HEADS_EPS, .weight = weight});
    if (part == JOINT_IMAGE)
        layer_head_norm(model->params.rt, x,
                        &(dit_head_norm){.H = 1, .D = m->A, .cos = m->cosines + first, .sin = m->sines + first});
}

static dit_status attend(dit_model *model, const mochi *m, const mochi_block *block)
{
    int64_t A = m->A;
    dit_rows q = wide_columns(m, JOINT_BOTH, A, A), k = wide_columns(m, JOINT_BOTH, 2 * A, A),
             v = wide_columns(m, JOINT_BOTH, 3 * A, A);
    for (joint_part part = JOINT_TEXT; part < JOINT_STREAMS; part++) {
        scaled_norm(model->params.rt, m, &block->stream[part], part, SCALE, normed_of(m, part));
        layer_linear(model->params.rt, &block->stream[part].qkv, normed_of(m, part), wide_columns(m, part, A, 3 * A),
                     DIT_ACT_NONE);
        norm_heads(model, m, part, block->stream[part].norm_q, wide_columns(m, part, A, A));
        norm_heads(model, m, part, block->stream[part].norm_k, wide_columns(m, part, 2 * A, A));
    }
    DIT_TRY(dit_tap_keys(model, k, v, m->view->text_count));
    return layer_sequence_attention(model->attention[0], q, k, v, wide_columns(m, JOINT_BOTH, 0, A));
}

/* x += tanh(gate) * norm(joined(from)). */
static dit_status add(dit_model *model, module_at at, const dit_joined *joined, dit_rows from, joint_part part,
                      int chunk)
{
    const mochi *m = model->state;
    const dit_layer_norm norm = {.kind = DIT_NORM_RMS, .eps = EPS};
    at.output = part == JOINT_TEXT ? MODULE_TEXT : MODULE_IMAGE;
    return module_add_normed(model, at, joined, from, m->normed, &norm, stream_of(m, part),
                             m->modulation[part] + chunk * m->width[part], CHUNKS * m->width[part]);
}

static dit_status add_attention(dit_model *model, const mochi_block *block, int64_t index, joint_part part)
{
    const mochi *m = model->state;
    const dit_joined *out = &block->stream[part].out;
    dit_rows attended = wide_columns(m, part, 0, m->A);
    if (part == JOINT_IMAGE && index == 0)
        DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, out, attended, "aux.block_0.attn1.0"));
    if (part == JOINT_IMAGE) DIT_TRY(dit_tap_attended(model, out, attended, 0));
    return add(model, (module_at){.block = index, .kind = DIT_MODULE_ATTENTION}, out, attended, part, GATE);
}

static dit_status add_mlp(dit_model *model, const mochi_block *block, int64_t index, joint_part part)
{
    const mochi *m = model->state;
    dit_runtime *rt = model->params.rt;
    const mochi_stream *stream = &block->stream[part];
    int64_t own = m->own_inner[part];
    dit_rows value = wide_columns(m, part, m->A, own), gate = wide_columns(m, part, m->A + own, own);
    if (!module_is_taken(model, DIT_MODULE_MLP)) {
        scaled_norm(rt, m, stream, part, SCALE_MLP, normed_of(m, part));
        layer_linear(rt, &stream->in, normed_of(m, part), wide_columns(m, part, m->A, 2 * own), DIT_ACT_NONE);
        layer_gate(rt, gate, value, DIT_ACT_SILU);
    }
    return add(model, (module_at){.block = index, .kind = DIT_MODULE_MLP}, &stream->down, gate, part, GATE_MLP);
}

static dit_status mochi_forward_block(dit_model *model, int64_t index)
{
    const mochi *m = model->state;
    const mochi_block *block = &m->blocks[index];
    joint_part first = index == m->c.layers - 1 ? JOINT_IMAGE : JOINT_TEXT; /* of the streams that are written */
    for (joint_part part = JOINT_TEXT; part < JOINT_STREAMS; part++)
        modulate(model->params.rt, m, &block->stream[part], part);
    if (!module_is_taken(model, DIT_MODULE_ATTENTION)) DIT_TRY(attend(model, m, block));
    for (joint_part part = first; part < JOINT_STREAMS; part++) DIT_TRY(add_attention(model, block, index, part));
    for (joint_part part = first; part < JOINT_STREAMS; part++) DIT_TRY(add_mlp(model, block, index, part));
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, stream_of(m, JOINT_IMAGE), "block_%lld", (long long)index));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, stream_of(m, JOINT_TEXT), "block_%lld_context", (long long)index);
}

static dit_status mochi_head(dit_model *model, float *output)
{
    const mochi *m = model->state;
    dit_runtime *rt = model->params.rt;
    float *modulation = m->modulation[JOINT_IMAGE];
    dit_rows normed = normed_of(m, JOINT_IMAGE);
    embed_linear(rt, &m->head_modulation, m->activated, m->B, modulation);
    layer_norm(rt, stream_of(m, JOINT_IMAGE), normed,
               &(dit_layer_norm){.eps = EPS,
                                 .shift = modulation + JOINT_LAST_SHIFT * m->C,
                                 .scale = modulation + JOINT_LAST_SCALE * m->C,
                                 .modulation_stride = JOINT_LAST_CHUNKS * m->C});
    layer_linear(rt, &m->head, normed, rows_window(model, output, m->head.n), DIT_ACT_NONE);
    return DIT_OK;
}

const dit_model_ops dit_model_mochi = {
    .class_name = "MochiTransformer3DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = mochi_read_facts,
    .create = mochi_create,
    .prepare = mochi_prepare,
    .begin = mochi_begin,
    .embed = mochi_embed,
    .attention_input = mochi_attention_input,
    .block = mochi_forward_block,
    .head = mochi_head,
};
