/* FLUX.1 (dev, schnell): double-stream blocks, then single-stream blocks, joint attention, rotary positions.
 * Source: parameter names and arithmetic of diffusers 0.33.1 FluxTransformer2DModel (Black Forest Labs, FLUX.1).
 *
 * Both streams live in one buffer, [batch, text rows + image rows, C] with the text first, so the concatenation before
 * the single blocks costs nothing.
 */
#include "engine/models/embed.h"
#include "engine/models/model.h"

#include <math.h>
#include <string.h>

enum { SINUSOID = 256, AXES = 3 };
enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP, MODULATIONS };
enum { SINGLE_SHIFT, SINGLE_SCALE, SINGLE_GATE, SINGLE_MODULATIONS };

/* One stream of a double block. */
typedef struct {
    dit_linear modulation, qkv, out, mlp_in, mlp_out;
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
    int64_t C, H, D, double_layers, single_layers, in_channels, out_channels, text_dim, pooled_dim, axes_dims[AXES];
    bool guidance_embeds;
    dit_linear x_embedder, context_embedder, norm_out, proj_out;
    embed_mlp timestep_mlp, guidance_mlp, text_mlp;
    flux_double *doubles;
    flux_single *singles;
    int64_t T, n, rows;                          /* local text rows, image rows, and their sum                 */
    float *cosines, *sines;                      /* [rows, D] image's life                                     */
    float *ids;                                  /* [rows, 3]                                                  */
    float *pooled_embed;                         /* [batch, C]: pooled text and guidance, constant over steps  */
    float *context;                              /* [batch, T, C]: projected text                              */
    float *x, *normed;                           /* [batch, rows, C]                                           */
    float *wide;                                 /* [batch, rows, 5C]: qkv, or MLP, or [attention | MLP]       */
    float *qkv;                                  /* [batch, rows, 3C]                                          */
    float *attended;                             /* [batch, rows, C]                                           */
    float *sinusoid, *hidden, *temb, *activated; /* [batch, 256 or C]                       */
    float *modulation[2];                        /* [batch, 6C]: image, text                                   */
    float *tap_buffer;                           /* [batch, rows, C] or NULL                                   */
} flux;

/* ---- config and loading ------------------------------------------------------------------------------------------ */

static dit_status flux_read_facts(const dit_json *doc, const cJSON *config, const char *at, dit_facts *facts)
{
    int64_t doubles = 19, singles = 38;
    facts->heads = 24, facts->head_dim = 128;
    DIT_TRY(dit_json_optional_int(doc, config, at, "num_layers", 0, 1000, &doubles));
    DIT_TRY(dit_json_optional_int(doc, config, at, "num_single_layers", 0, 1000, &singles));
    DIT_TRY(dit_json_optional_int(doc, config, at, "num_attention_heads", 1, 1024, &facts->heads));
    DIT_TRY(dit_json_optional_int(doc, config, at, "attention_head_dim", 1, 1024, &facts->head_dim));
    facts->layers = doubles + singles;
    facts->joint = true;
    facts->guidance_branches = 1;
    facts->mlp_ratio = 4;
    return DIT_OK;
}

static dit_status read_axes(const dit_model_params *params, flux *m)
{
    const cJSON *axes = NULL;
    const int64_t standard[AXES] = {16, 56, 56};
    int64_t sum = 0;
    DIT_TRY(dit_json_optional_array(params->doc, params->config, params->pointer, "axes_dims_rope", &axes));
    if (axes && cJSON_GetArraySize(axes) != AXES)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "axes_dims_rope has %d entries, FLUX has %d", cJSON_GetArraySize(axes),
                        AXES);
    for (int i = 0; i < AXES; i++) {
        const cJSON *entry = axes ? cJSON_GetArrayItem(axes, i) : NULL;
        if (entry && (!cJSON_IsNumber(entry) || entry->valuedouble < 0 || entry->valuedouble > 4096))
            return dit_json_fail(params->doc, params->pointer, DIT_ERR_JSON_VALUE, "axes_dims_rope[%d] is no width", i);
        m->axes_dims[i] = entry ? (int64_t)entry->valuedouble : standard[i];
        if (m->axes_dims[i] % 2) return DIT_FAIL(DIT_ERR_SHAPE, "axes_dims_rope[%d] is odd", i);
        sum += m->axes_dims[i];
    }
    if (sum != m->D)
        return DIT_FAIL(DIT_ERR_SHAPE, "axes_dims_rope sum to %lld, attention_head_dim is %lld", (long long)sum,
                        (long long)m->D);
    return DIT_OK;
}

static dit_status read_config(const dit_model_params *params, flux *m)
{
    const dit_json *doc = params->doc;
    const cJSON *config = params->config;
    const char *at = params->pointer;
    int64_t patch = 1;
    m->H = params->rt->facts.heads, m->D = params->rt->facts.head_dim, m->C = m->H * m->D;
    m->double_layers = 19, m->single_layers = 38, m->in_channels = 64, m->text_dim = 4096, m->pooled_dim = 768;
    DIT_TRY(dit_json_optional_int(doc, config, at, "num_layers", 0, 1000, &m->double_layers));
    DIT_TRY(dit_json_optional_int(doc, config, at, "num_single_layers", 0, 1000, &m->single_layers));
    DIT_TRY(dit_json_optional_int(doc, config, at, "in_channels", 1, 4096, &m->in_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "joint_attention_dim", 1, 65536, &m->text_dim));
    DIT_TRY(dit_json_optional_int(doc, config, at, "pooled_projection_dim", 1, 65536, &m->pooled_dim));
    DIT_TRY(dit_json_optional_int(doc, config, at, "patch_size", 1, 16, &patch));
    DIT_TRY(dit_json_optional_bool(doc, config, at, "guidance_embeds", &m->guidance_embeds));
    m->out_channels = m->in_channels;
    DIT_TRY(dit_json_optional_int(doc, config, at, "out_channels", 1, 4096, &m->out_channels));
    if (patch != 1) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "patch_size %lld: FLUX latents come packed", (long long)patch);
    return read_axes(params, m);
}

static dit_status load_stream(const dit_model_params *params, const flux *m, int64_t index, bool text,
                              flux_stream *stream)
{
    static const char *const names[2][8] = {
        {"norm1.linear", "attn.to_q", "attn.to_k", "attn.to_v", "attn.to_out.0", "ff.net.0.proj", "ff.net.2",
         "attn.norm_"},
        {"norm1_context.linear", "attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj", "attn.to_add_out",
         "ff_context.net.0.proj", "ff_context.net.2", "attn.norm_added_"},
    };
    dit_runtime *rt = params->rt;
    const dit_weights *w = params->weights;
    int64_t C = m->C;
    char full[8][96], norm[112];
    for (int i = 0; i < 8; i++)
        snprintf(full[i], sizeof full[i], "transformer_blocks.%lld.%s", (long long)index, names[text][i]);
    DIT_TRY(dit_weights_linear(rt, w, &(dit_linear_part){full[0], MODULATIONS * C}, 1, C, NULL, &stream->modulation));
    DIT_TRY(dit_weights_linear(rt, w, (dit_linear_part[]){{full[1], C}, {full[2], C}, {full[3], C}}, 3, C, NULL,
                               &stream->qkv));
    DIT_TRY(dit_weights_linear(rt, w, &(dit_linear_part){full[4], C}, 1, C, NULL, &stream->out));
    DIT_TRY(dit_weights_linear(rt, w, &(dit_linear_part){full[5], 4 * C}, 1, C, NULL, &stream->mlp_in));
    DIT_TRY(dit_weights_linear(rt, w, &(dit_linear_part){full[6], C}, 1, 4 * C, NULL, &stream->mlp_out));
    snprintf(norm, sizeof norm, "%sq.weight", full[7]);
    DIT_TRY(dit_weights_load(rt, w, norm, 1, &m->D, DIT_INIT_NORM, &stream->norm_q));
    snprintf(norm, sizeof norm, "%sk.weight", full[7]);
    return dit_weights_load(rt, w, norm, 1, &m->D, DIT_INIT_NORM, &stream->norm_k);
}

static dit_status load_single(const dit_model_params *params, const flux *m, int64_t index, flux_single *block)
{
    static const char *const names[8] = {"norm.linear", "attn.to_q", "attn.to_k",          "attn.to_v",
                                         "proj_mlp",    "proj_out",  "attn.norm_q.weight", "attn.norm_k.weight"};
    dit_runtime *rt = params->rt;
    const dit_weights *w = params->weights;
    int64_t C = m->C;
    char full[8][96];
    for (int i = 0; i < 8; i++)
        snprintf(full[i], sizeof full[i], "single_transformer_blocks.%lld.%s", (long long)index, names[i]);
    DIT_TRY(
        dit_weights_linear(rt, w, &(dit_linear_part){full[0], SINGLE_MODULATIONS * C}, 1, C, NULL, &block->modulation));
    DIT_TRY(dit_weights_linear(rt, w, (dit_linear_part[]){{full[1], C}, {full[2], C}, {full[3], C}}, 3, C, NULL,
                               &block->qkv));
    DIT_TRY(dit_weights_linear(rt, w, &(dit_linear_part){full[4], 4 * C}, 1, C, NULL, &block->mlp_in));
    DIT_TRY(dit_weights_linear(rt, w, &(dit_linear_part){full[5], C}, 1, 5 * C, NULL, &block->out));
    DIT_TRY(dit_weights_load(rt, w, full[6], 1, &m->D, DIT_INIT_NORM, &block->norm_q));
    return dit_weights_load(rt, w, full[7], 1, &m->D, DIT_INIT_NORM, &block->norm_k);
}

static dit_status load_weights(const dit_model_params *params, flux *m)
{
    dit_runtime *rt = params->rt;
    const dit_weights *w = params->weights;
    int64_t C = m->C;
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->run, m->double_layers * (int64_t)sizeof *m->doubles, &memory));
    m->doubles = memory;
    DIT_TRY(dit_arena_alloc(&rt->run, m->single_layers * (int64_t)sizeof *m->singles, &memory));
    m->singles = memory;
    DIT_TRY(dit_weights_linear_named(rt, w, C, m->in_channels, &m->x_embedder, "x_embedder"));
    DIT_TRY(dit_weights_linear_named(rt, w, C, m->text_dim, &m->context_embedder, "context_embedder"));
    DIT_TRY(embed_mlp_load(rt, w, "time_text_embed.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->timestep_mlp));
    if (m->guidance_embeds)
        DIT_TRY(
            embed_mlp_load(rt, w, "time_text_embed.guidance_embedder", SINUSOID, C, C, DIT_ACT_SILU, &m->guidance_mlp));
    DIT_TRY(embed_mlp_load(rt, w, "time_text_embed.text_embedder", m->pooled_dim, C, C, DIT_ACT_SILU, &m->text_mlp));
    for (int64_t i = 0; i < m->double_layers; i++) {
        DIT_TRY(load_stream(params, m, i, false, &m->doubles[i].image));
        DIT_TRY(load_stream(params, m, i, true, &m->doubles[i].text));
    }
    for (int64_t i = 0; i < m->single_layers; i++) DIT_TRY(load_single(params, m, i, &m->singles[i]));
    DIT_TRY(dit_weights_linear_named(rt, w, 2 * C, C, &m->norm_out, "norm_out.linear"));
    return dit_weights_linear_named(rt, w, m->out_channels, C, &m->proj_out, "proj_out");
}

static dit_status make_buffers(const dit_model_params *params, flux *m)
{
    dit_runtime *rt = params->rt;
    int64_t C = m->C, B = params->partition.batch, rows = B * m->rows;
    struct {
        dit_arena *arena;
        float **at;
        int64_t count;
    } buffers[] = {
        {&rt->image, &m->cosines, m->rows * m->D},
        {&rt->image, &m->sines, m->rows * m->D},
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
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        DIT_TRY(dit_arena_floats(buffers[i].arena, buffers[i].count, buffers[i].at));
    return params->tap ? dit_arena_floats(&rt->step, rows * C, &m->tap_buffer) : DIT_OK;
}

static dit_status flux_create(const dit_model_params *params, dit_model *model)
{
    const dit_partition *part = &params->partition;
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(flux), &state));
    flux *m = model->state = state;
    DIT_TRY(read_config(params, m));
    m->T = part->text_count, m->n = part->image_count, m->rows = m->T + m->n;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params, m));
    model->input_channels = m->in_channels;
    model->output_channels = m->out_channels;
    model->text_dim = m->text_dim;
    model->pooled_dim = m->pooled_dim;
    model->wants_guidance = m->guidance_embeds;
    model->timestep_divisor = 1000.0f;
    model->linspace_sigmas = true;
    return dit_attention_create(
        params->rt, params->attention,
        &(dit_attention_shape){
            .B = part->batch, .H = m->H, .D = m->D, .tokens = m->rows, .replicated = part->text_replicated ? m->T : 0},
        &model->attention);
}

/* ---- taps -------------------------------------------------------------------------------------------------------- */

/* A stream inside a [batch, rows, C] buffer. */
static dit_status tap_stream(dit_model *model, dit_layout layout, const float *joint, const char *name)
{
    const flux *m = model->state;
    const float *data = joint + (layout == DIT_LAYOUT_IMAGE ? m->T * m->C : 0);
    return dit_model_tap(
        model,
        &(dit_shards){
            .layout = layout, .data = data, .cols = m->C, .ld = m->C, .batch_stride = m->rows * m->C, .batched = true},
        "%s", name);
}

static dit_status tap_tables(dit_model *model)
{
    const flux *m = model->state;
    dit_shards shards = {.layout = DIT_LAYOUT_JOINT, .data = m->cosines, .cols = m->D, .ld = m->D};
    DIT_TRY(dit_model_tap(model, &shards, "aux.rope.0"));
    shards.data = m->sines;
    return dit_model_tap(model, &shards, "aux.rope.1");
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

static void place_ids(const dit_model *model, const dit_condition *condition)
{
    const flux *m = model->state;
    const dit_partition *part = &model->params.partition;
    for (int64_t row = 0; row < m->T; row++)
        for (int axis = 0; axis < AXES; axis++)
            m->ids[row * AXES + axis] =
                condition->text_ids ? condition->text_ids[(part->text_begin + row) * AXES + axis] : 0.0f;
    for (int64_t row = 0; row < m->n; row++) {
        int64_t token = part->image_begin + row;
        float *id = m->ids + (m->T + row) * AXES;
        if (condition->image_ids) {
            memcpy(id, condition->image_ids + token * AXES, AXES * sizeof *id);
        } else {
            id[0] = 0.0f;
            id[1] = (float)(token / model->params.grid_width);
            id[2] = (float)(token % model->params.grid_width);
        }
    }
}

static dit_status flux_prepare(dit_model *model, const dit_condition *condition)
{
    flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    int64_t B = part->batch, C = m->C;
    if (!condition->pooled || (m->guidance_embeds && !condition->guidance))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "this FLUX takes pooled text%s",
                        m->guidance_embeds ? " and guidance" : "");
    place_ids(model, condition);
    embed_rope(m->ids, m->rows, AXES, m->axes_dims, 10000.0, m->cosines, m->sines);
    DIT_TRY(tap_tables(model));
    for (int64_t b = 0; b < B; b++)
        embed_linear(rt, &m->context_embedder,
                     condition->text + (b * part->text_tokens + part->text_begin) * m->text_dim, m->T,
                     m->context + b * m->T * C);
    embed_mlp_run(rt, &m->text_mlp, condition->pooled, B, m->hidden, m->pooled_embed);
    if (!m->guidance_embeds) return DIT_OK;
    for (int64_t b = 0; b < B; b++) m->activated[b] = condition->guidance[b] * 1000.0f;
    embed_timestep(m->activated, B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->guidance_mlp, m->sinusoid, B, m->hidden, m->temb);
    ops_combine(
        rt,
        &(dit_combine_args){
            .elements = B * C, .count = 2, .x = {m->temb, m->pooled_embed}, .a = {1.0f, 1.0f}, .y = m->pooled_embed});
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status forward_embed(dit_model *model, const dit_forward_args *args)
{
    flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = model->params.partition.batch, C = m->C;
    for (int64_t b = 0; b < B; b++) {
        float *x = m->x + b * m->rows * C;
        memcpy(x, m->context + b * m->T * C, (size_t)(m->T * C) * sizeof *x);
        embed_linear(rt, &m->x_embedder, args->latents + b * m->n * m->in_channels, m->n, x + m->T * C);
        m->temb[b] = args->timestep[b] * 1000.0f; /* float32 product, as the library rounds it */
    }
    embed_timestep(m->temb, B, SINUSOID, m->sinusoid);
    embed_mlp_run(rt, &m->timestep_mlp, m->sinusoid, B, m->hidden, m->temb);
    ops_combine(rt,
                &(dit_combine_args){
                    .elements = B * C, .count = 2, .x = {m->temb, m->pooled_embed}, .a = {1.0f, 1.0f}, .y = m->temb});
    embed_activate(rt, DIT_ACT_SILU, m->temb, B * C, m->activated);
    DIT_TRY(tap_stream(model, DIT_LAYOUT_IMAGE, m->x, "aux.x_embedder"));
    DIT_TRY(tap_stream(model, DIT_LAYOUT_TEXT, m->x, "aux.context_embedder"));
    return dit_model_tap(model,
                         &(dit_shards){.layout = DIT_LAYOUT_GLOBAL,
                                       .data = m->temb,
                                       .rows = 1,
                                       .cols = C,
                                       .ld = C,
                                       .batch_stride = C,
                                       .batched = true},
                         "aux.time_text_embed");
}

/* normed rows [first, first+count) of entry b from the stream, by shift and scale */
static void norm_rows(dit_model *model, int64_t b, int64_t first, int64_t count, const float *shift, const float *scale)
{
    const flux *m = model->state;
    int64_t at = (b * m->rows + first) * m->C;
    ops_norm(model->params.rt, &(dit_norm_args){.rows = count,
                                                .C = m->C,
                                                .x = m->x + at,
                                                .ldx = m->C,
                                                .y = m->normed + at,
                                                .ldy = m->C,
                                                .eps = 1e-6f,
                                                .scale = scale,
                                                .shift = shift});
}

/* RMS norm and rotary positions on q and k of rows [first, first+count) */
static void norm_and_rotate(dit_model *model, int64_t b, int64_t first, int64_t count, const float *norm_q,
                            const float *norm_k)
{
    const flux *m = model->state;
    float *qkv = m->qkv + (b * m->rows + first) * 3 * m->C;
    dit_qk_norm_rope_args args = {.kind = DIT_NORM_RMS,
                                  .rows = count,
                                  .H = m->H,
                                  .D = m->D,
                                  .x = qkv,
                                  .ldx = 3 * m->C,
                                  .weight = norm_q,
                                  .eps = 1e-6f,
                                  .cos = m->cosines + first * m->D,
                                  .sin = m->sines + first * m->D};
    ops_qk_norm_rope(model->params.rt, &args);
    args.x = qkv + m->C;
    args.weight = norm_k;
    ops_qk_norm_rope(model->params.rt, &args);
}

static dit_status attend(dit_model *model, float *out, int64_t ldo)
{
    const flux *m = model->state;
    int64_t C = m->C;
    return dit_attention_forward(model->attention, &(dit_attention_io){.q = m->qkv,
                                                                       .k = m->qkv + C,
                                                                       .v = m->qkv + 2 * C,
                                                                       .ld = 3 * C,
                                                                       .batch = m->rows * 3 * C,
                                                                       .out = out,
                                                                       .ldo = ldo,
                                                                       .batch_o = m->rows * ldo});
}

/* One linear layer over rows [first, first+count) of entry b; x and y are whole [batch, rows, *] buffers. */
static void linear_rows(dit_model *model, const dit_linear *linear, int64_t b, int64_t first, int64_t count,
                        const float *x, int64_t ldx, float *y, int64_t ldy, dit_activation activation,
                        const float *gate)
{
    const flux *m = model->state;
    int64_t row = b * m->rows + first;
    ops_linear(model->params.rt, &(dit_linear_args){.weights = linear,
                                                    .rows = count,
                                                    .x = x + row * ldx,
                                                    .ldx = ldx,
                                                    .y = y + row * ldy,
                                                    .ldy = ldy,
                                                    .activation = activation,
                                                    .residual = gate ? y + row * ldy : NULL,
                                                    .gate = gate});
}

/* A stream of a double block: its rows of the joint buffer, its weights, its modulation [batch, 6C]. */
typedef struct {
    const flux_stream *weights;
    int64_t first, count;
    float *modulation;
    const char *tap;
} stream_view;

static void double_before_attention(dit_model *model, const stream_view *s)
{
    const flux *m = model->state;
    int64_t C = m->C, B = model->params.partition.batch;
    embed_linear(model->params.rt, &s->weights->modulation, m->activated, B, s->modulation);
    for (int64_t b = 0; b < B; b++) {
        const float *mod = s->modulation + b * MODULATIONS * C;
        norm_rows(model, b, s->first, s->count, mod + SHIFT_MSA * C, mod + SCALE_MSA * C);
        linear_rows(model, &s->weights->qkv, b, s->first, s->count, m->normed, C, m->qkv, 3 * C, DIT_ACT_NONE, NULL);
        norm_and_rotate(model, b, s->first, s->count, s->weights->norm_q, s->weights->norm_k);
    }
}

static dit_status double_after_attention(dit_model *model, const stream_view *s, bool first_block)
{
    const flux *m = model->state;
    int64_t C = m->C, B = model->params.partition.batch;
    if (first_block && model->params.tap) {
        for (int64_t b = 0; b < B; b++)
            linear_rows(model, &s->weights->out, b, s->first, s->count, m->attended, C, m->tap_buffer, C, DIT_ACT_NONE,
                        NULL);
        DIT_TRY(tap_stream(model, s->first ? DIT_LAYOUT_IMAGE : DIT_LAYOUT_TEXT, m->tap_buffer, s->tap));
    }
    for (int64_t b = 0; b < B; b++) {
        const float *mod = s->modulation + b * MODULATIONS * C;
        linear_rows(model, &s->weights->out, b, s->first, s->count, m->attended, C, m->x, C, DIT_ACT_NONE,
                    mod + GATE_MSA * C);
        norm_rows(model, b, s->first, s->count, mod + SHIFT_MLP * C, mod + SCALE_MLP * C);
        linear_rows(model, &s->weights->mlp_in, b, s->first, s->count, m->normed, C, m->wide, 4 * C, DIT_ACT_GELU_TANH,
                    NULL);
        linear_rows(model, &s->weights->mlp_out, b, s->first, s->count, m->wide, 4 * C, m->x, C, DIT_ACT_NONE,
                    mod + GATE_MLP * C);
    }
    return DIT_OK;
}

static dit_status forward_double(dit_model *model, int64_t index)
{
    flux *m = model->state;
    const flux_double *block = &m->doubles[index];
    stream_view image = {&block->image, m->T, m->n, m->modulation[0], "aux.block_0.attn.0"};
    stream_view text = {&block->text, 0, m->T, m->modulation[1], "aux.block_0.attn.1"};
    char name[48];
    double_before_attention(model, &image);
    double_before_attention(model, &text);
    DIT_TRY(attend(model, m->attended, m->C));
    DIT_TRY(double_after_attention(model, &image, index == 0));
    DIT_TRY(double_after_attention(model, &text, index == 0));
    snprintf(name, sizeof name, "block_%lld", (long long)index);
    DIT_TRY(tap_stream(model, DIT_LAYOUT_IMAGE, m->x, name));
    snprintf(name, sizeof name, "block_%lld_context", (long long)index);
    return tap_stream(model, DIT_LAYOUT_TEXT, m->x, name);
}

/* [attention | gelu(mlp)] lies in one buffer of width 5C, so that the output projection reads it in one pass. */
static dit_status forward_single(dit_model *model, int64_t index)
{
    flux *m = model->state;
    const flux_single *block = &m->singles[index];
    int64_t C = m->C, B = model->params.partition.batch;
    char name[48];
    embed_linear(model->params.rt, &block->modulation, m->activated, B, m->modulation[0]);
    for (int64_t b = 0; b < B; b++) {
        const float *mod = m->modulation[0] + b * SINGLE_MODULATIONS * C;
        norm_rows(model, b, 0, m->rows, mod + SINGLE_SHIFT * C, mod + SINGLE_SCALE * C);
    }
    embed_linear(model->params.rt, &block->qkv, m->normed, B * m->rows, m->qkv);
    for (int64_t b = 0; b < B; b++) norm_and_rotate(model, b, 0, m->rows, block->norm_q, block->norm_k);
    DIT_TRY(attend(model, m->wide, 5 * C));
    if (index == 0)
        DIT_TRY(dit_model_tap(model,
                              &(dit_shards){.layout = DIT_LAYOUT_JOINT,
                                            .data = m->wide,
                                            .cols = C,
                                            .ld = 5 * C,
                                            .batch_stride = m->rows * 5 * C,
                                            .batched = true},
                              "aux.single_block_0.attn"));
    ops_linear(model->params.rt, &(dit_linear_args){.weights = &block->mlp_in,
                                                    .rows = B * m->rows,
                                                    .x = m->normed,
                                                    .ldx = C,
                                                    .y = m->wide + C,
                                                    .ldy = 5 * C,
                                                    .activation = DIT_ACT_GELU_TANH});
    for (int64_t b = 0; b < B; b++)
        linear_rows(model, &block->out, b, 0, m->rows, m->wide, 5 * C, m->x, C, DIT_ACT_NONE,
                    m->modulation[0] + (b * SINGLE_MODULATIONS + SINGLE_GATE) * C);
    snprintf(name, sizeof name, "single_block_%lld", (long long)index);
    return tap_stream(model, DIT_LAYOUT_JOINT, m->x, name);
}

/* AdaLayerNormContinuous: scale, then shift. The text is dropped here. */
static void forward_head(dit_model *model, float *output)
{
    flux *m = model->state;
    int64_t C = m->C, B = model->params.partition.batch;
    embed_linear(model->params.rt, &m->norm_out, m->activated, B, m->modulation[0]);
    for (int64_t b = 0; b < B; b++) {
        const float *mod = m->modulation[0] + b * 2 * C;
        norm_rows(model, b, m->T, m->n, mod + C, mod);
        embed_linear(model->params.rt, &m->proj_out, m->normed + (b * m->rows + m->T) * C, m->n,
                     output + b * m->n * m->out_channels);
    }
}

static dit_status flux_forward(dit_model *model, const dit_forward_args *args)
{
    flux *m = model->state;
    dit_runtime *rt = model->params.rt;
    DIT_TIMED(rt, DIT_TIME_EMBED, DIT_TRY(forward_embed(model, args)));
    DIT_TIMED(rt, DIT_TIME_BLOCKS, {
        for (int64_t i = 0; i < m->double_layers; i++) DIT_TRY(forward_double(model, i));
        for (int64_t i = 0; i < m->single_layers; i++) DIT_TRY(forward_single(model, i));
    });
    DIT_TIMED(rt, DIT_TIME_HEAD, forward_head(model, args->output));
    return DIT_OK;
}

const dit_model_ops dit_model_flux = {
    .class_name = "FluxTransformer2DModel",
    .read_facts = flux_read_facts,
    .create = flux_create,
    .prepare = flux_prepare,
    .forward = flux_forward,
};
