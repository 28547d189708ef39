/* FLUX.1 (dev, schnell): double-stream blocks, then single-stream blocks, joint attention, rotary positions.
 * Source: parameter names and arithmetic of diffusers 0.33.1 FluxTransformer2DModel (Black Forest Labs, FLUX.1).
 *
 * Both streams live in one buffer, [batch, text rows + image rows, C] with the text first, so the concatenation before
 * the single blocks costs nothing.
 */
#include "engine/models/embed.h"
#include "engine/models/layers.h"

#include <string.h>

enum { SINUSOID = 256, AXES = 3, PACK = 2 };
enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP, MODULATIONS };
enum { SINGLE_SHIFT, SINGLE_SCALE, SINGLE_GATE, SINGLE_MODULATIONS };
static const float EPS = 1e-6f;

/* One stream of a double block. */
typedef struct {
    dit_linear modulation, qkv, out;
    dit_mlp mlp;
    const float *norm_q, *norm_k; /* [D] */
} flux_stream;

typedef struct {
    flux_stream text, image;
} flux_double;

typedef struct {
    dit_linear modulation, qkv, mlp_in, out;
    const float *norm_q, *norm_k;
} flux_single;

typedef struct {
    int64_t doubles, singles, H, D, in_channels, out_channels, text_dim, pooled_dim, patch, axes[AXES];
    bool guidance_embeds;
} flux_config;

typedef struct {
    flux_config c;
    int64_t C, B, T, n, rows; /* hidden; batch; local text rows, image rows, and their sum */
    dit_linear x_embedder, context_embedder, norm_out, proj_out;
    embed_mlp timestep_mlp, guidance_mlp, text_mlp;
    flux_double *doubles;
    flux_single *singles;
    float *cosines, *sines;                      /* [rows, D] image's life                                    */
    float *ids;                                  /* [rows, 3]                                                 */
    float *pooled_embed;                         /* [batch, C]: pooled text and guidance, constant over steps */
    float *context;                              /* [batch, T, C]: projected text                             */
    float *x, *normed, *attended;                /* [batch, rows, C]                                          */
    float *wide;                                 /* [batch, rows, 5C]: MLP, or [attention | MLP]              */
    float *qkv;                                  /* [batch, rows, 3C]                                         */
    float *sinusoid, *hidden, *temb, *activated; /* [batch, 256 or C]                                         */
    float *modulation[2];                        /* [batch, 6C]: image, text                                  */
} flux;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(flux_config, doubles, "num_layers", 19, 0, 1000),
    DIT_CONFIG_INT(flux_config, singles, "num_single_layers", 38, 0, 1000),
    DIT_CONFIG_INT(flux_config, H, "num_attention_heads", 24, 1, 1024),
    DIT_CONFIG_INT(flux_config, D, "attention_head_dim", 128, 1, 1024),
    DIT_CONFIG_INT(flux_config, in_channels, "in_channels", 64, 1, 4096),
    DIT_CONFIG_INT(flux_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(flux_config, text_dim, "joint_attention_dim", 4096, 1, 65536),
    DIT_CONFIG_INT(flux_config, pooled_dim, "pooled_projection_dim", 768, 1, 65536),
    DIT_CONFIG_INT(flux_config, patch, "patch_size", 1, 1, 16),
    DIT_CONFIG_BOOL(flux_config, guidance_embeds, "guidance_embeds", false),
    DIT_CONFIG_END,
};

static dit_status read_config(const dit_config *config, flux_config *c)
{
    static const int64_t standard[AXES] = {16, 56, 56};
    int count;
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(dit_config_read_ints(config, "axes_dims_rope", 0, 4096, AXES, c->axes, &count));
    if (count < 0) memcpy(c->axes, standard, sizeof standard), count = AXES;
    if (c->out_channels == 0) c->out_channels = c->in_channels;
    if (c->patch != 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "patch_size %lld: FLUX latents come packed", (long long)c->patch);
    if (c->in_channels % (PACK * PACK))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "in_channels %lld is not in patches of 2x2", (long long)c->in_channels);
    int64_t sum = c->axes[0] + c->axes[1] + c->axes[2];
    if (count != AXES || sum != c->D || c->axes[0] % 2 || c->axes[1] % 2 || c->axes[2] % 2)
        return DIT_FAIL(DIT_ERR_SHAPE, "axes_dims_rope: three even widths that sum to attention_head_dim %lld expected",
                        (long long)c->D);
    return DIT_OK;
}

static dit_status flux_read_facts(const dit_config *config, dit_facts *facts)
{
    flux_config c;
    DIT_TRY(read_config(config, &c));
    facts->layers = c.doubles + c.singles;
    facts->heads = c.H, facts->head_dim = c.D;
    facts->joint = true;
    facts->guidance_branches = 1;
    facts->latent = (dit_latent){
        .channels = c.in_channels / (PACK * PACK), .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = PACK};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_image_stream(const dit_scope *s, const flux *m, flux_stream *stream)
{
    int64_t C = m->C;
    DIT_TRY(scope_linear(s, "norm1.linear", MODULATIONS * C, C, &stream->modulation));
    DIT_TRY(scope_fused(s, (const char *const[]){"attn.to_q", "attn.to_k", "attn.to_v", NULL}, C, C, &stream->qkv));
    DIT_TRY(scope_linear(s, "attn.to_out.0", C, C, &stream->out));
    DIT_TRY(scope_mlp(s, "ff", C, 4 * C, &stream->mlp));
    DIT_TRY(scope_vector(s, "attn.norm_q.weight", m->c.D, DIT_INIT_NORM, &stream->norm_q));
    return scope_vector(s, "attn.norm_k.weight", m->c.D, DIT_INIT_NORM, &stream->norm_k);
}

static dit_status load_text_stream(const dit_scope *s, const flux *m, flux_stream *stream)
{
    static const char *const qkv[] = {"attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj", NULL};
    int64_t C = m->C;
    DIT_TRY(scope_linear(s, "norm1_context.linear", MODULATIONS * C, C, &stream->modulation));
    DIT_TRY(scope_fused(s, qkv, C, C, &stream->qkv));
    DIT_TRY(scope_linear(s, "attn.to_add_out", C, C, &stream->out));
    DIT_TRY(scope_mlp(s, "ff_context", C, 4 * C, &stream->mlp));
    DIT_TRY(scope_vector(s, "attn.norm_added_q.weight", m->c.D, DIT_INIT_NORM, &stream->norm_q));
    return scope_vector(s, "attn.norm_added_k.weight", m->c.D, DIT_INIT_NORM, &stream->norm_k);
}

static dit_status load_single(const dit_scope *s, const flux *m, flux_single *block)
{
    int64_t C = m->C;
    DIT_TRY(scope_linear(s, "norm.linear", SINGLE_MODULATIONS * C, C, &block->modulation));
    DIT_TRY(scope_fused(s, (const char *const[]){"attn.to_q", "attn.to_k", "attn.to_v", NULL}, C, C, &block->qkv));
    DIT_TRY(scope_linear(s, "proj_mlp", 4 * C, C, &block->mlp_in));
    DIT_TRY(scope_linear(s, "proj_out", C, 5 * C, &block->out));
    DIT_TRY(scope_vector(s, "attn.norm_q.weight", m->c.D, DIT_INIT_NORM, &block->norm_q));
    return scope_vector(s, "attn.norm_k.weight", m->c.D, DIT_INIT_NORM, &block->norm_k);
}

static dit_status load_weights(const dit_model_params *params, flux *m)
{
    dit_runtime *rt = params->rt;
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->C;
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->run, m->c.doubles * (int64_t)sizeof *m->doubles, &memory));
    m->doubles = memory;
    DIT_TRY(dit_arena_alloc(&rt->run, m->c.singles * (int64_t)sizeof *m->singles, &memory));
    m->singles = memory;
    DIT_TRY(scope_linear(&s, "x_embedder", C, m->c.in_channels, &m->x_embedder));
    DIT_TRY(scope_linear(&s, "context_embedder", C, m->c.text_dim, &m->context_embedder));
    DIT_TRY(embed_mlp_load(&s, "time_text_embed.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->timestep_mlp));
    if (m->c.guidance_embeds)
        DIT_TRY(
            embed_mlp_load(&s, "time_text_embed.guidance_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->guidance_mlp));
    DIT_TRY(embed_mlp_load(&s, "time_text_embed.text_embedder", m->c.pooled_dim, C, C, DIT_ACT_SILU, &m->text_mlp));
    for (int64_t i = 0; i < m->c.doubles; i++) {
        dit_scope block = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        DIT_TRY(load_image_stream(&block, m, &m->doubles[i].image));
        DIT_TRY(load_text_stream(&block, m, &m->doubles[i].text));
    }
    for (int64_t i = 0; i < m->c.singles; i++) {
        dit_scope block = scope_of(params, "single_transformer_blocks.%lld.", (long long)i);
        DIT_TRY(load_single(&block, m, &m->singles[i]));
    }
    DIT_TRY(scope_linear(&s, "norm_out.linear", 2 * C, C, &m->norm_out));
    return scope_linear(&s, "proj_out", m->c.out_channels, C, &m->proj_out);
}

static dit_status make_buffers(dit_runtime *rt, flux *m)
{
    int64_t C = m->C, B = m->B, rows = B * m->rows;
    const dit_buffer buffers[] = {
        {&rt->image, &m->cosines, m->rows * m->c.D},
        {&rt->image, &m->sines, m->rows * m->c.D},
        {&rt->image, &m->ids, m->rows * AXES},
        {&rt->image, &m->pooled_embed, B * C},
        {&rt->image, &m->context, B * m->T * C},
        {&rt->step, &m->x, rows * C},
        {&rt->step, &m->normed, rows * C},
        {&rt->step, &m->wide, rows * 5 * C},
        {&rt->step, &m->qkv, rows * 3 * C},
        {&rt->step, &m->attended, rows * C},
        {&rt->step, &m->sinusoid, B * SINUSOID},
        {&rt->step, &m->hidden, B * C},
        {&rt->step, &m->temb, B * C},
        {&rt->step, &m->activated, B * C},
        {&rt->step, &m->modulation[0], B * MODULATIONS * C},
        {&rt->step, &m->modulation[1], B * MODULATIONS * C},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

static void state_needs(const flux *m, dit_model *model)
{
    const dit_partition *part = &model->params.partition;
    dit_condition_need *needs = model->needs;
    needs[DIT_CONDITION_TEXT].elements = part->text_tokens * m->c.text_dim;
    needs[DIT_CONDITION_POOLED].elements = m->c.pooled_dim;
    needs[DIT_CONDITION_GUIDANCE].elements = m->c.guidance_embeds ? 1 : 0;
    needs[DIT_CONDITION_IMAGE_IDS] = (dit_condition_need){.elements = part->image_tokens * AXES, .optional = true};
    needs[DIT_CONDITION_TEXT_IDS] = (dit_condition_need){.elements = part->text_tokens * AXES, .optional = true};
}

static dit_status flux_create(const dit_model_params *params, dit_model *model)
{
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(flux), &state));
    flux *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->C = m->c.H * m->c.D, m->B = part->batch;
    m->T = part->text_count, m->n = part->image_count, m->rows = m->T + m->n;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params->rt, m));
    model->input_channels = m->c.in_channels;
    model->output_channels = m->c.out_channels;
    model->timestep_divisor = 1000.0f;
    model->linspace_sigmas = true;
    model->sensitive_embedding = m->c.guidance_embeds;
    state_needs(m, model);
    return dit_attention_create(
        params->rt, params->attention,
        &(dit_attention_shape){
            .B = m->B, .H = m->c.H, .D = m->c.D, .tokens = m->rows, .text = m->T, .replicated = part->text_replicated},
        &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

static void place_ids(const dit_model *model, const dit_condition *condition)
{
    const flux *m = model->state;
    const dit_partition *part = &model->params.partition;
    const float *text_ids = condition->at[DIT_CONDITION_TEXT_IDS], *image_ids = condition->at[DIT_CONDITION_IMAGE_IDS];
    int64_t grid_width = model->params.latent.width / PACK;
    for (int64_t i = 0; i < m->T * AXES; i++) m->ids[i] = text_ids ? text_ids[part->text_begin * AXES + i] : 0.0f;
    for (int64_t row = 0; row < m->n; row++) {
        int64_t token = dit_partition_token(part, row);
        const float own[AXES] = {0.0f, (float)(token / grid_width), (float)(token % grid_width)};
        memcpy(m->ids + (m->T + row) * AXES, image_ids ? image_ids + token * AXES : own, sizeof own);
    }
}

static dit_status tap_tables(dit_model *model)
{
    const flux *m = model->state;
    dit_shards shards = {.layout = DIT_LAYOUT_JOINT, .data = m->cosines, .cols = m->c.D, .ld = m->c.D};
    DIT_TRY(dit_model_tap(model, &shards, "aux.rope.0"));
    shards.data = m->sines;
    return dit_model_tap(model, &shards, "aux.rope.1");
}

static dit_status flux_prepare(dit_model *model, const dit_condition *condition)
{
    flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    int64_t B = m->B, C = m->C;
    const float *text = condition->at[DIT_CONDITION_TEXT], *guidance = condition->at[DIT_CONDITION_GUIDANCE];
    place_ids(model, condition);
    embed_rope(m->ids, m->rows, AXES, m->c.axes, 10000.0, m->cosines, m->sines);
    DIT_TRY(tap_tables(model));
    dit_rows whole = rows_dense((float *)text, B, part->text_tokens, m->c.text_dim);
    layer_linear(rt, &m->context_embedder, rows_part(whole, part->text_begin, m->T), rows_dense(m->context, B, m->T, C),
                 DIT_ACT_NONE);
    embed_mlp_run(rt, &m->text_mlp, condition->at[DIT_CONDITION_POOLED], B, m->hidden, m->pooled_embed);
    if (!m->c.guidance_embeds) return DIT_OK;
    for (int64_t b = 0; b < B; b++) m->activated[b] = guidance[b] * 1000.0f;
    embed_timestep(m->activated, B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->guidance_mlp, m->sinusoid, B, m->hidden, m->temb);
    layer_add(rt, m->temb, m->pooled_embed, B * C, m->pooled_embed);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_rows text_of(const flux *m, dit_rows joint)
{
    return rows_part(joint, 0, m->T);
}

static dit_rows image_of(const flux *m, dit_rows joint)
{
    return rows_part(joint, m->T, m->n);
}

static dit_status forward_embed(dit_model *model, const dit_forward_args *args)
{
    flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = m->B, C = m->C;
    dit_rows x = rows_dense(m->x, B, m->rows, C),
             latents = rows_dense((float *)args->latents, B, m->n, m->c.in_channels);
    layer_copy(rt, rows_dense(m->context, B, m->T, C), text_of(m, x));
    layer_linear(rt, &m->x_embedder, latents, image_of(m, x), DIT_ACT_NONE);
    for (int64_t b = 0; b < B; b++)
        m->temb[b] = args->timestep[b] * 1000.0f; /* float32 product, as the library rounds it */
    embed_timestep(m->temb, B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->timestep_mlp, m->sinusoid, B, m->hidden, m->temb);
    layer_add(rt, m->temb, m->pooled_embed, B * C, m->temb);
    embed_activate(rt, DIT_ACT_SILU, m->temb, B * C, m->activated);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image_of(m, x), "aux.x_embedder"));
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_TEXT, text_of(m, x), "aux.context_embedder"));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->temb, B, 1, C), "aux.time_text_embed");
}

/* RMS norm and rotary positions on q and k of the rows that start at joint row `first`. */
static void norm_and_rotate(dit_model *model, dit_rows qkv, int64_t first, const float *norm_q, const float *norm_k)
{
    const flux *m = model->state;
    dit_head_norm norm = {.H = m->c.H,
                          .D = m->c.D,
                          .kind = DIT_NORM_RMS,
                          .eps = EPS,
                          .weight = norm_q,
                          .cos = m->cosines + first * m->c.D,
                          .sin = m->sines + first * m->c.D};
    layer_head_norm(model->params.rt, rows_columns(qkv, 0, m->C), &norm);
    norm.weight = norm_k;
    layer_head_norm(model->params.rt, rows_columns(qkv, m->C, m->C), &norm);
}

static dit_status attend(dit_model *model, dit_rows out)
{
    const flux *m = model->state;
    dit_rows qkv = rows_dense(m->qkv, m->B, m->rows, 3 * m->C);
    return layer_sequence_attention(model->attention[0], rows_columns(qkv, 0, m->C), rows_columns(qkv, m->C, m->C),
                                    rows_columns(qkv, 2 * m->C, m->C), out);
}

/* A stream of a double block: its rows of the joint buffers, its weights, its modulation [batch, 6C]. */
typedef struct {
    const flux_stream *weights;
    int64_t first, count;
    float *modulation;
    dit_layout layout;
    const char *tap;
} stream_view;

static dit_rows stream_rows(const flux *m, const stream_view *s, float *buffer, int64_t cols)
{
    return rows_part(rows_dense(buffer, m->B, m->rows, cols), s->first, s->count);
}

static dit_layer_norm modulated_norm(const flux *m, const float *modulation, int chunks, int shift, int scale)
{
    return (dit_layer_norm){.eps = EPS,
                            .shift = modulation + shift * m->C,
                            .scale = modulation + scale * m->C,
                            .modulation_stride = chunks * m->C};
}

static void double_before_attention(dit_model *model, const stream_view *s)
{
    const flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows normed = stream_rows(m, s, m->normed, m->C), qkv = stream_rows(m, s, m->qkv, 3 * m->C);
    dit_layer_norm norm = modulated_norm(m, s->modulation, MODULATIONS, SHIFT_MSA, SCALE_MSA);
    embed_linear(rt, &s->weights->modulation, m->activated, m->B, s->modulation);
    layer_norm(rt, stream_rows(m, s, m->x, m->C), normed, &norm);
    layer_linear(rt, &s->weights->qkv, normed, qkv, DIT_ACT_NONE);
    norm_and_rotate(model, qkv, s->first, s->weights->norm_q, s->weights->norm_k);
}

static dit_status double_after_attention(dit_model *model, const stream_view *s, bool first_block)
{
    const flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t C = m->C, stride = MODULATIONS * C;
    dit_rows x = stream_rows(m, s, m->x, C), attended = stream_rows(m, s, m->attended, C);
    dit_rows normed = stream_rows(m, s, m->normed, C);
    dit_layer_norm norm = modulated_norm(m, s->modulation, MODULATIONS, SHIFT_MLP, SCALE_MLP);
    if (first_block) DIT_TRY(dit_tap_linear(model, s->layout, &s->weights->out, attended, "%s", s->tap));
    layer_linear_add(rt, &s->weights->out, attended, x, s->modulation + GATE_MSA * C, stride);
    layer_norm(rt, x, normed, &norm);
    layer_mlp_add(rt, &s->weights->mlp, normed, stream_rows(m, s, m->wide, 4 * C), x, s->modulation + GATE_MLP * C,
                  stride);
    return DIT_OK;
}

static dit_status forward_double(dit_model *model, int64_t index)
{
    flux *m = model->state;
    const flux_double *block = &m->doubles[index];
    stream_view image = {&block->image, m->T, m->n, m->modulation[0], DIT_LAYOUT_IMAGE, "aux.block_0.attn.0"};
    stream_view text = {&block->text, 0, m->T, m->modulation[1], DIT_LAYOUT_TEXT, "aux.block_0.attn.1"};
    dit_rows x = rows_dense(m->x, m->B, m->rows, m->C);
    double_before_attention(model, &image);
    double_before_attention(model, &text);
    DIT_TRY(attend(model, rows_dense(m->attended, m->B, m->rows, m->C)));
    DIT_TRY(double_after_attention(model, &image, index == 0));
    DIT_TRY(double_after_attention(model, &text, index == 0));
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image_of(m, x), "block_%lld", (long long)index));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, text_of(m, x), "block_%lld_context", (long long)index);
}

/* [attention | gelu(mlp)] lies in one buffer of width 5C, so that the output projection reads it in one pass. */
static dit_status forward_single(dit_model *model, int64_t index)
{
    flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    const flux_single *block = &m->singles[index];
    int64_t B = m->B, C = m->C, stride = SINGLE_MODULATIONS * C;
    float *modulation = m->modulation[0];
    dit_rows x = rows_dense(m->x, B, m->rows, C), normed = rows_dense(m->normed, B, m->rows, C);
    dit_rows qkv = rows_dense(m->qkv, B, m->rows, 3 * C), wide = rows_dense(m->wide, B, m->rows, 5 * C);
    dit_layer_norm norm = modulated_norm(m, modulation, SINGLE_MODULATIONS, SINGLE_SHIFT, SINGLE_SCALE);
    embed_linear(rt, &block->modulation, m->activated, B, modulation);
    layer_norm(rt, x, normed, &norm);
    layer_linear(rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    norm_and_rotate(model, qkv, 0, block->norm_q, block->norm_k);
    DIT_TRY(attend(model, rows_columns(wide, 0, C)));
    if (index == 0) DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_JOINT, rows_columns(wide, 0, C), "aux.single_block_0.attn"));
    layer_linear(rt, &block->mlp_in, normed, rows_columns(wide, C, 4 * C), DIT_ACT_GELU_TANH);
    layer_linear_add(rt, &block->out, wide, x, modulation + SINGLE_GATE * C, stride);
    return dit_tap_rows(model, DIT_LAYOUT_JOINT, x, "single_block_%lld", (long long)index);
}

/* AdaLayerNormContinuous: scale, then shift. The text is dropped here. */
static void forward_head(dit_model *model, float *output)
{
    flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows image = image_of(m, rows_dense(m->x, m->B, m->rows, m->C));
    dit_rows normed = image_of(m, rows_dense(m->normed, m->B, m->rows, m->C));
    dit_layer_norm norm = modulated_norm(m, m->modulation[0], 2, 1, 0);
    embed_linear(rt, &m->norm_out, m->activated, m->B, m->modulation[0]);
    layer_norm(rt, image, normed, &norm);
    layer_linear(rt, &m->proj_out, normed, rows_dense(output, m->B, m->n, m->c.out_channels), DIT_ACT_NONE);
}

static dit_status flux_forward(dit_model *model, const dit_forward_args *args)
{
    flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TIMED(rt, DIT_TIME_EMBED, DIT_TRY(forward_embed(model, args)));
    DIT_TIMED(rt, DIT_TIME_BLOCKS, {
        for (int64_t i = 0; i < m->c.doubles; i++) DIT_TRY(forward_double(model, i));
        for (int64_t i = 0; i < m->c.singles; i++) DIT_TRY(forward_single(model, i));
    });
    DIT_TIMED(rt, DIT_TIME_HEAD, forward_head(model, args->output));
    return DIT_OK;
}

const dit_model_ops dit_model_flux = {
    .class_name = "FluxTransformer2DModel",
    .layout = DIT_LATENT_PACKED,
    .read_facts = flux_read_facts,
    .create = flux_create,
    .prepare = flux_prepare,
    .forward = flux_forward,
};
