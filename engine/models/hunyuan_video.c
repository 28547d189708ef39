/* HunyuanVideo: a token refiner for the text, double-stream blocks, single-stream blocks, joint attention with masked
 * text, rotary positions of the video in time and space.
 * Source: parameter names and arithmetic of diffusers 0.33.1 HunyuanVideoTransformer3DModel (Tencent, HunyuanVideo).
 *
 * Both streams live in one buffer, [batch, text rows + video rows, C] with the text first. The refiner attends over the
 * whole text and sees the timestep, so every rank refines all of it at every step and then takes its own rows.
 */
#include "engine/models/embed.h"
#include "engine/models/layers.h"

#include <math.h>
#include <string.h>

enum { SINUSOID = 256, AXES = 3, REFINER_RATIO = 4 };
enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP, MODULATIONS };
enum { SINGLE_SHIFT, SINGLE_SCALE, SINGLE_GATE, SINGLE_MODULATIONS };
enum { REFINER_GATE_MSA, REFINER_GATE_MLP, REFINER_MODULATIONS };
enum { TEXT, VIDEO, STREAMS };
static const float EPS = 1e-6f;

typedef struct {
    dit_linear modulation, qkv, out;
    dit_mlp mlp;
    const float *norm_weight[2], *norm_bias[2]; /* [C] before attention, before the MLP */
} hunyuan_refiner;

/* One stream of a double block: TEXT or VIDEO. */
typedef struct {
    dit_linear modulation, qkv, out;
    dit_mlp mlp;
    const float *norm_q, *norm_k; /* [D] */
} hunyuan_stream;

typedef struct {
    dit_linear modulation, qkv, mlp_in, out;
    const float *norm_q, *norm_k;
} hunyuan_single;

typedef struct {
    int64_t doubles, singles, refiners, H, D, in_channels, out_channels, text_dim, pooled_dim, patch, patch_t;
    int64_t inner, axes[AXES]; /* width of an MLP; of a head's rotary parts: time, row, column */
    double mlp_ratio, theta;
    bool guidance_embeds;
} hunyuan_config;

typedef struct {
    hunyuan_config c;
    int64_t C, B, St, T, n, rows; /* hidden; batch; whole text; local text rows, video rows, and their sum */
    dit_linear x_embedder, text_in, norm_out, proj_out;
    embed_mlp timestep_mlp, guidance_mlp, pooled_mlp; /* of the blocks                                       */
    embed_mlp refiner_timestep_mlp, refiner_text_mlp; /* of the refiner, whose pooled text is the mean token */
    hunyuan_refiner *refiners;
    hunyuan_stream (*doubles)[STREAMS];
    hunyuan_single *singles;
    const float *mask;                         /* [batch, St] of the condition, or NULL: all tokens count */
    float *cosines, *sines;                    /* [n, D] image's life                                     */
    float *ids;                                /* [n, 3]                                                  */
    float *joint_bias, *refiner_bias;          /* [batch, St] on the logits                               */
    float *mean;                               /* [batch, text_dim] mean token                            */
    float *pooled_embed, *refiner_embed;       /* [batch, C]: what steps share of both embeddings         */
    float *projected;                          /* [batch, St, C]: text before the refiner                 */
    float *text, *text_normed, *text_attended; /* [batch, St, C]                                          */
    float *text_wide;                          /* [batch, St, 4C]: q, k, v, or MLP                        */
    float *x, *normed;                         /* [batch, rows, C]                                        */
    float *wide;                               /* [batch, rows, C + inner]: [attention | MLP]             */
    float *qkv;                                /* [batch, rows, 3C]                                       */
    float *sinusoid, *hidden, *temb;           /* [batch, 256 or C]                                       */
    float *activated, *refiner_activated;      /* [batch, C]                                              */
    float *modulation[STREAMS];                /* [batch, 6C]                                             */
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
    static const int64_t standard[AXES] = {16, 56, 56};
    int count;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(dit_config_read_ints(config, "rope_axes_dim", 0, 4096, AXES, c->axes, &count));
    if (count < 0) memcpy(c->axes, standard, sizeof standard), count = AXES;
    c->inner = (int64_t)((double)(c->H * c->D) * c->mlp_ratio);
    if (c->out_channels != c->in_channels)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "out_channels %lld differ from in_channels %lld: text to video is built",
                        (long long)c->out_channels, (long long)c->in_channels);
    int64_t sum = c->axes[0] + c->axes[1] + c->axes[2];
    if (count != AXES || sum != c->D || c->axes[0] % 2 || c->axes[1] % 2 || c->axes[2] % 2)
        return DIT_FAIL(DIT_ERR_SHAPE, "rope_axes_dim: three even widths that sum to attention_head_dim %lld expected",
                        (long long)c->D);
    return DIT_OK;
}

static dit_status hunyuan_read_facts(const dit_config *config, dit_facts *facts)
{
    hunyuan_config c;
    DIT_TRY(read_config(config, &c));
    facts->layers = c.doubles + c.singles;
    facts->heads = c.H, facts->head_dim = c.D;
    facts->joint = true;
    facts->guidance_branches = 1;
    facts->mlp_ratio = (int64_t)ceil(c.mlp_ratio);
    facts->latent = (dit_latent){
        .channels = c.in_channels, .vae_spatial = 8, .vae_temporal = 4, .patch_t = c.patch_t, .patch = c.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* What a double block calls the layers of its streams. */
static const struct {
    const char *modulation, *qkv[4], *out, *mlp, *norm_q, *norm_k;
} stream_names[STREAMS] = {
    [TEXT] = {"norm1_context.linear",
              {"attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"},
              "attn.to_add_out",
              "ff_context",
              "attn.norm_added_q.weight",
              "attn.norm_added_k.weight"},
    [VIDEO] = {"norm1.linear",
               {"attn.to_q", "attn.to_k", "attn.to_v"},
               "attn.to_out.0",
               "ff",
               "attn.norm_q.weight",
               "attn.norm_k.weight"},
};

static dit_status load_stream(const dit_scope *s, const hunyuan *m, int which, hunyuan_stream *stream)
{
    int64_t C = m->C;
    DIT_TRY(scope_linear(s, stream_names[which].modulation, MODULATIONS * C, C, &stream->modulation));
    DIT_TRY(scope_fused(s, stream_names[which].qkv, C, C, &stream->qkv));
    DIT_TRY(scope_linear(s, stream_names[which].out, C, C, &stream->out));
    DIT_TRY(scope_mlp(s, stream_names[which].mlp, C, m->c.inner, &stream->mlp));
    DIT_TRY(scope_vector(s, stream_names[which].norm_q, m->c.D, DIT_INIT_NORM, &stream->norm_q));
    return scope_vector(s, stream_names[which].norm_k, m->c.D, DIT_INIT_NORM, &stream->norm_k);
}

static dit_status load_single(const dit_scope *s, const hunyuan *m, hunyuan_single *block)
{
    int64_t C = m->C, inner = m->c.inner;
    DIT_TRY(scope_linear(s, "norm.linear", SINGLE_MODULATIONS * C, C, &block->modulation));
    DIT_TRY(scope_fused(s, stream_names[VIDEO].qkv, C, C, &block->qkv));
    DIT_TRY(scope_linear(s, "proj_mlp", inner, C, &block->mlp_in));
    DIT_TRY(scope_linear(s, "proj_out", C, C + inner, &block->out));
    DIT_TRY(scope_vector(s, "attn.norm_q.weight", m->c.D, DIT_INIT_NORM, &block->norm_q));
    return scope_vector(s, "attn.norm_k.weight", m->c.D, DIT_INIT_NORM, &block->norm_k);
}

static dit_status load_refiner(const dit_scope *s, const hunyuan *m, hunyuan_refiner *block)
{
    int64_t C = m->C;
    DIT_TRY(scope_affine(s, "norm1", C, &block->norm_weight[0], &block->norm_bias[0]));
    DIT_TRY(scope_affine(s, "norm2", C, &block->norm_weight[1], &block->norm_bias[1]));
    DIT_TRY(scope_fused(s, stream_names[VIDEO].qkv, C, C, &block->qkv));
    DIT_TRY(scope_linear(s, "attn.to_out.0", C, C, &block->out));
    DIT_TRY(scope_mlp(s, "ff", C, REFINER_RATIO * C, &block->mlp));
    block->mlp.activation = DIT_ACT_SILU;
    return scope_linear(s, "norm_out.linear", REFINER_MODULATIONS * C, C, &block->modulation);
}

static dit_status load_embedders(const dit_scope *s, hunyuan *m)
{
    int64_t C = m->C, token = m->c.patch_t * m->c.patch * m->c.patch;
    DIT_TRY(scope_linear(s, "x_embedder.proj", C, m->c.in_channels * token, &m->x_embedder));
    DIT_TRY(scope_linear(s, "context_embedder.proj_in", C, m->c.text_dim, &m->text_in));
    DIT_TRY(embed_mlp_load(s, "context_embedder.time_text_embed.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU,
                           &m->refiner_timestep_mlp));
    DIT_TRY(embed_mlp_load(s, "context_embedder.time_text_embed.text_embedder", m->c.text_dim, C, C, DIT_ACT_SILU,
                           &m->refiner_text_mlp));
    DIT_TRY(embed_mlp_load(s, "time_text_embed.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->timestep_mlp));
    DIT_TRY(embed_mlp_load(s, "time_text_embed.text_embedder", m->c.pooled_dim, C, C, DIT_ACT_SILU, &m->pooled_mlp));
    if (m->c.guidance_embeds)
        DIT_TRY(embed_mlp_load(s, "time_text_embed.guidance_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->guidance_mlp));
    DIT_TRY(scope_linear(s, "norm_out.linear", 2 * C, C, &m->norm_out));
    return scope_linear(s, "proj_out", m->c.out_channels * token, C, &m->proj_out);
}

static dit_status load_weights(const dit_model_params *params, hunyuan *m)
{
    dit_arena *arena = &params->rt->run;
    dit_scope s = scope_of(params, "%s", "");
    void *memory;
    DIT_TRY(dit_arena_alloc(arena, m->c.refiners * (int64_t)sizeof *m->refiners, &memory));
    m->refiners = memory;
    DIT_TRY(dit_arena_alloc(arena, m->c.doubles * (int64_t)sizeof *m->doubles, &memory));
    m->doubles = memory;
    DIT_TRY(dit_arena_alloc(arena, m->c.singles * (int64_t)sizeof *m->singles, &memory));
    m->singles = memory;
    DIT_TRY(load_embedders(&s, m));
    for (int64_t i = 0; i < m->c.refiners; i++) {
        s = scope_of(params, "context_embedder.token_refiner.refiner_blocks.%lld.", (long long)i);
        DIT_TRY(load_refiner(&s, m, &m->refiners[i]));
    }
    for (int64_t i = 0; i < m->c.doubles; i++) {
        s = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        for (int which = 0; which < STREAMS; which++) DIT_TRY(load_stream(&s, m, which, &m->doubles[i][which]));
    }
    for (int64_t i = 0; i < m->c.singles; i++) {
        s = scope_of(params, "single_transformer_blocks.%lld.", (long long)i);
        DIT_TRY(load_single(&s, m, &m->singles[i]));
    }
    return DIT_OK;
}

static dit_status make_buffers(dit_runtime *rt, hunyuan *m)
{
    int64_t C = m->C, B = m->B, rows = B * m->rows, text = B * m->St;
    const dit_buffer buffers[] = {
        {&rt->image, &m->cosines, m->n * m->c.D},
        {&rt->image, &m->sines, m->n * m->c.D},
        {&rt->image, &m->ids, m->n * AXES},
        {&rt->image, &m->joint_bias, text},
        {&rt->image, &m->refiner_bias, text},
        {&rt->image, &m->mean, B * m->c.text_dim},
        {&rt->image, &m->pooled_embed, B * C},
        {&rt->image, &m->refiner_embed, B * C},
        {&rt->image, &m->projected, text * C},
        {&rt->step, &m->text, text * C},
        {&rt->step, &m->text_normed, text * C},
        {&rt->step, &m->text_attended, text * C},
        {&rt->step, &m->text_wide, text * REFINER_RATIO * C},
        {&rt->step, &m->x, rows * C},
        {&rt->step, &m->normed, rows * C},
        {&rt->step, &m->wide, rows * (C + m->c.inner)},
        {&rt->step, &m->qkv, rows * 3 * C},
        {&rt->step, &m->sinusoid, B * SINUSOID},
        {&rt->step, &m->hidden, B * C},
        {&rt->step, &m->temb, B * C},
        {&rt->step, &m->activated, B * C},
        {&rt->step, &m->refiner_activated, B * C},
        {&rt->step, &m->modulation[TEXT], B * MODULATIONS * C},
        {&rt->step, &m->modulation[VIDEO], B * MODULATIONS * C},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
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
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(hunyuan), &state));
    hunyuan *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->C = m->c.H * m->c.D, m->B = part->batch, m->St = part->text_tokens;
    m->T = part->text_count, m->n = part->image_count, m->rows = m->T + m->n;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params->rt, m));
    model->input_channels = m->x_embedder.k;
    model->output_channels = m->proj_out.n;
    model->linspace_sigmas = true;
    model->sensitive_embedding = m->c.guidance_embeds;
    state_needs(m, model);
    return dit_attention_create(params->rt, params->attention,
                                &(dit_attention_shape){.B = m->B,
                                                       .H = m->c.H,
                                                       .D = m->c.D,
                                                       .tokens = m->rows,
                                                       .text = m->T,
                                                       .replicated = part->text_replicated,
                                                       .text_bias = true},
                                &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

static bool is_kept(const hunyuan *m, int64_t b, int64_t token)
{
    return !m->mask || m->mask[b * m->St + token] != 0.0f;
}

/* In the blocks as many leading text keys count as the mask keeps: it only ever ends a prompt. In the refiner the first
 * key always counts, so that a row of padding has something to attend to. The mean token is of what is kept. */
static void read_mask(hunyuan *m, const float *text)
{
    for (int64_t b = 0; b < m->B; b++) {
        int64_t kept = 0;
        for (int64_t i = 0; i < m->St; i++) {
            m->refiner_bias[b * m->St + i] = i == 0 || is_kept(m, b, i) ? 0.0f : -INFINITY;
            kept += is_kept(m, b, i);
        }
        for (int64_t i = 0; i < m->St; i++) m->joint_bias[b * m->St + i] = i < kept ? 0.0f : -INFINITY;
        for (int64_t channel = 0; channel < m->c.text_dim; channel++) {
            double sum = 0;
            for (int64_t i = 0; i < m->St; i++)
                if (is_kept(m, b, i)) sum += (double)text[(b * m->St + i) * m->c.text_dim + channel];
            m->mean[b * m->c.text_dim + channel] = kept ? (float)(sum / (double)kept) : 0.0f;
        }
    }
}

/* The rotary table of the video; text has no positions. */
static dit_status place_tokens(dit_model *model)
{
    hunyuan *m = model->state;
    dit_shards shards = {.layout = DIT_LAYOUT_IMAGE, .data = m->cosines, .cols = m->c.D, .ld = m->c.D};
    embed_grid_ids(&model->params.partition, &model->params.latent, m->ids);
    embed_rope(m->ids, m->n, AXES, m->c.axes, m->c.theta, m->cosines, m->sines);
    DIT_TRY(dit_model_tap(model, &shards, "aux.rope.0"));
    shards.data = m->sines;
    return dit_model_tap(model, &shards, "aux.rope.1");
}

static dit_status hunyuan_prepare(dit_model *model, const dit_condition *condition)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    const float *text = condition->at[DIT_CONDITION_TEXT];
    int64_t B = m->B, C = m->C;
    m->mask = condition->at[DIT_CONDITION_TEXT_MASK];
    read_mask(m, text);
    dit_attention_set_text_bias(model->attention[0], m->joint_bias, m->St);
    DIT_TRY(place_tokens(model));
    embed_linear(rt, &m->text_in, text, B * m->St, m->projected);
    embed_mlp_run(rt, &m->refiner_text_mlp, m->mean, B, m->hidden, m->refiner_embed);
    embed_mlp_run(rt, &m->pooled_mlp, condition->at[DIT_CONDITION_POOLED], B, m->hidden, m->pooled_embed);
    if (!m->c.guidance_embeds) return DIT_OK;
    embed_timestep(condition->at[DIT_CONDITION_GUIDANCE], B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->guidance_mlp, m->sinusoid, B, m->hidden, m->temb);
    layer_add(rt, m->temb, m->pooled_embed, B * C, m->pooled_embed);
    return DIT_OK;
}

/* ---- token refiner ----------------------------------------------------------------------------------------------- */

/* Rows of padding see the first key alone: their attention is its value. */
static void attend_padding(dit_runtime *rt, const hunyuan *m, dit_rows v, dit_rows attended)
{
    for (int64_t b = 0; b < m->B; b++) {
        dit_rows first = rows_part(rows_entry(v, b), 0, 1);
        first.ld = 0; /* the same row again and again */
        for (int64_t begin = 0, end; begin < m->St; begin = end + 1) {
            for (end = begin; end < m->St && !is_kept(m, b, end);) end++;
            if (end > begin) layer_copy(rt, first, rows_part(rows_entry(attended, b), begin, end - begin));
        }
    }
}

static dit_status refine(dit_model *model, int64_t index)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    const hunyuan_refiner *block = &m->refiners[index];
    int64_t B = m->B, C = m->C, stride = REFINER_MODULATIONS * C;
    dit_rows text = rows_dense(m->text, B, m->St, C), normed = rows_dense(m->text_normed, B, m->St, C);
    dit_rows attended = rows_dense(m->text_attended, B, m->St, C), qkv = rows_dense(m->text_wide, B, m->St, 3 * C);
    dit_rows q = rows_columns(qkv, 0, C), k = rows_columns(qkv, C, C), v = rows_columns(qkv, 2 * C, C);
    dit_layer_norm norm = {.eps = EPS, .weight = block->norm_weight[0], .bias = block->norm_bias[0]};
    const float *gates = m->modulation[TEXT];
    embed_linear(rt, &block->modulation, m->refiner_activated, B, m->modulation[TEXT]);

    layer_norm(rt, text, normed, &norm);
    layer_linear(rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    layer_local_attention(rt, m->c.H, q, k, v, m->refiner_bias, attended);
    attend_padding(rt, m, v, attended);
    layer_linear_add(rt, &block->out, attended, text, gates + REFINER_GATE_MSA * C, stride);

    norm.weight = block->norm_weight[1], norm.bias = block->norm_bias[1];
    layer_norm(rt, text, normed, &norm);
    layer_mlp_add(rt, &block->mlp, normed, rows_dense(m->text_wide, B, m->St, REFINER_RATIO * C), text,
                  gates + REFINER_GATE_MLP * C, stride);
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, text, "aux.refiner_block_%lld", (long long)index);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* The rows of one stream in a joint buffer [batch, rows, cols]. */
static dit_rows stream_of(const hunyuan *m, int which, float *buffer, int64_t cols)
{
    dit_rows joint = rows_dense(buffer, m->B, m->rows, cols);
    return which == TEXT ? rows_part(joint, 0, m->T) : rows_part(joint, m->T, m->n);
}

/* activated = silu(mlp(sinusoid) + shared), all [batch, C]; leaves the sum in temb. */
static void embed_step(dit_runtime *rt, hunyuan *m, const embed_mlp *mlp, const float *shared, float *activated)
{
    embed_mlp_run(rt, mlp, m->sinusoid, m->B, m->hidden, m->temb);
    layer_add(rt, m->temb, shared, m->B * m->C, m->temb);
    embed_activate(rt, DIT_ACT_SILU, m->temb, m->B * m->C, activated);
}

static dit_status forward_embed(dit_model *model, const dit_forward_args *args)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = m->B, C = m->C;
    dit_rows text = rows_dense(m->text, B, m->St, C), video = stream_of(m, VIDEO, m->x, C);
    embed_timestep(args->timestep, B, SINUSOID, m->sinusoid);
    embed_step(rt, m, &m->refiner_timestep_mlp, m->refiner_embed, m->refiner_activated);
    embed_step(rt, m, &m->timestep_mlp, m->pooled_embed, m->activated);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(m->temb, B, 1, C), "aux.time_text_embed.0"));
    layer_linear(rt, &m->x_embedder, rows_dense((float *)args->latents, B, m->n, m->x_embedder.k), video, DIT_ACT_NONE);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, video, "aux.x_embedder"));
    layer_copy(rt, rows_dense(m->projected, B, m->St, C), text);
    for (int64_t i = 0; i < m->c.refiners; i++) DIT_TRY(refine(model, i));
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_GLOBAL, text, "aux.context_embedder"));
    layer_copy(rt, rows_part(text, model->params.partition.text_begin, m->T), stream_of(m, TEXT, m->x, C));
    return DIT_OK;
}

/* RMS norm of q and k per head, and rotary positions of the video's. */
static void norm_and_rotate(dit_model *model, int which, const float *norm_q, const float *norm_k)
{
    const hunyuan *m = model->state;
    dit_rows qkv = stream_of(m, which, m->qkv, 3 * m->C);
    dit_head_norm norm = {.H = m->c.H,
                          .D = m->c.D,
                          .kind = DIT_NORM_RMS,
                          .eps = EPS,
                          .weight = norm_q,
                          .cos = which == VIDEO ? m->cosines : NULL,
                          .sin = which == VIDEO ? m->sines : NULL};
    layer_head_norm(model->params.rt, rows_columns(qkv, 0, m->C), &norm);
    norm.weight = norm_k;
    layer_head_norm(model->params.rt, rows_columns(qkv, m->C, m->C), &norm);
}

/* Both streams attend to both; the result is the first C columns of `wide`. */
static dit_status attend(dit_model *model)
{
    const hunyuan *m = model->state;
    int64_t C = m->C;
    dit_rows qkv = rows_dense(m->qkv, m->B, m->rows, 3 * C), wide = rows_dense(m->wide, m->B, m->rows, C + m->c.inner);
    return layer_sequence_attention(model->attention[0], rows_columns(qkv, 0, C), rows_columns(qkv, C, C),
                                    rows_columns(qkv, 2 * C, C), rows_columns(wide, 0, C));
}

static dit_layer_norm modulated_norm(const hunyuan *m, const float *modulation, int chunks, int shift, int scale)
{
    return (dit_layer_norm){.eps = EPS,
                            .shift = modulation + shift * m->C,
                            .scale = modulation + scale * m->C,
                            .modulation_stride = chunks * m->C};
}

static void before_attention(dit_model *model, const hunyuan_stream *weights, int which)
{
    const hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows normed = stream_of(m, which, m->normed, m->C);
    dit_layer_norm norm = modulated_norm(m, m->modulation[which], MODULATIONS, SHIFT_MSA, SCALE_MSA);
    embed_linear(rt, &weights->modulation, m->activated, m->B, m->modulation[which]);
    layer_norm(rt, stream_of(m, which, m->x, m->C), normed, &norm);
    layer_linear(rt, &weights->qkv, normed, stream_of(m, which, m->qkv, 3 * m->C), DIT_ACT_NONE);
    norm_and_rotate(model, which, weights->norm_q, weights->norm_k);
}

static void after_attention(dit_model *model, const hunyuan_stream *weights, int which)
{
    const hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t C = m->C, stride = MODULATIONS * C;
    const float *modulation = m->modulation[which];
    dit_rows x = stream_of(m, which, m->x, C), normed = stream_of(m, which, m->normed, C);
    dit_rows wide = stream_of(m, which, m->wide, C + m->c.inner);
    dit_layer_norm norm = modulated_norm(m, modulation, MODULATIONS, SHIFT_MLP, SCALE_MLP);
    layer_linear_add(rt, &weights->out, rows_columns(wide, 0, C), x, modulation + GATE_MSA * C, stride);
    layer_norm(rt, x, normed, &norm);
    layer_mlp_add(rt, &weights->mlp, normed, rows_columns(wide, C, m->c.inner), x, modulation + GATE_MLP * C, stride);
}

/* Taps both streams as they leave a block: "block_0", "block_0_context". */
static dit_status tap_block(dit_model *model, const char *kind, int64_t index)
{
    const hunyuan *m = model->state;
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, stream_of(m, VIDEO, m->x, m->C), "%s_%lld", kind, (long long)index));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, stream_of(m, TEXT, m->x, m->C), "%s_%lld_context", kind,
                        (long long)index);
}

static dit_status forward_double(dit_model *model, int64_t index)
{
    const hunyuan *m = model->state;
    const hunyuan_stream *streams = m->doubles[index];
    for (int which = 0; which < STREAMS; which++) before_attention(model, &streams[which], which);
    DIT_TRY(attend(model));
    for (int which = 0; which < STREAMS; which++) after_attention(model, &streams[which], which);
    return tap_block(model, "block", index);
}

/* [attention | gelu(mlp)] lies in one buffer, so that the output projection reads it in one pass. */
static dit_status forward_single(dit_model *model, int64_t index)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    const hunyuan_single *block = &m->singles[index];
    int64_t B = m->B, C = m->C, inner = m->c.inner;
    float *modulation = m->modulation[VIDEO];
    dit_rows x = rows_dense(m->x, B, m->rows, C), normed = rows_dense(m->normed, B, m->rows, C);
    dit_rows wide = rows_dense(m->wide, B, m->rows, C + inner);
    dit_layer_norm norm = modulated_norm(m, modulation, SINGLE_MODULATIONS, SINGLE_SHIFT, SINGLE_SCALE);
    embed_linear(rt, &block->modulation, m->activated, B, modulation);
    layer_norm(rt, x, normed, &norm);
    layer_linear(rt, &block->qkv, normed, rows_dense(m->qkv, B, m->rows, 3 * C), DIT_ACT_NONE);
    for (int which = 0; which < STREAMS; which++) norm_and_rotate(model, which, block->norm_q, block->norm_k);
    DIT_TRY(attend(model));
    layer_linear(rt, &block->mlp_in, normed, rows_columns(wide, C, inner), DIT_ACT_GELU_TANH);
    layer_linear_add(rt, &block->out, wide, x, modulation + SINGLE_GATE * C, SINGLE_MODULATIONS * C);
    return tap_block(model, "single_block", index);
}

/* AdaLayerNormContinuous: scale, then shift. The text is dropped here. */
static void forward_head(dit_model *model, float *output)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows normed = stream_of(m, VIDEO, m->normed, m->C);
    dit_layer_norm norm = modulated_norm(m, m->modulation[VIDEO], 2, 1, 0);
    embed_linear(rt, &m->norm_out, m->activated, m->B, m->modulation[VIDEO]);
    layer_norm(rt, stream_of(m, VIDEO, m->x, m->C), normed, &norm);
    layer_linear(rt, &m->proj_out, normed, rows_dense(output, m->B, m->n, m->proj_out.n), DIT_ACT_NONE);
}

static dit_status hunyuan_forward(dit_model *model, const dit_forward_args *args)
{
    hunyuan *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TIMED(rt, DIT_TIME_EMBED, DIT_TRY(forward_embed(model, args)));
    DIT_TIMED(rt, DIT_TIME_BLOCKS, {
        for (int64_t i = 0; i < m->c.doubles; i++) DIT_TRY(forward_double(model, i));
        for (int64_t i = 0; i < m->c.singles; i++) DIT_TRY(forward_single(model, i));
    });
    DIT_TIMED(rt, DIT_TIME_HEAD, forward_head(model, args->output));
    return DIT_OK;
}

const dit_model_ops dit_model_hunyuan_video = {
    .class_name = "HunyuanVideoTransformer3DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = hunyuan_read_facts,
    .create = hunyuan_create,
    .prepare = hunyuan_prepare,
    .forward = hunyuan_forward,
};
