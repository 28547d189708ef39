/* FLUX.2 (dev, klein): double-stream blocks, then single-stream blocks, with SwiGLU and one modulation for all blocks of a
 * kind; no biases; rotary positions on four axes.
 * Source: parameter names and arithmetic of diffusers 0.42.1 Flux2Transformer2DModel (Black Forest Labs, FLUX.2).
 *
 * Both streams live in one buffer, [batch, text rows + image rows, C] with the text first, so the concatenation before
 * the single blocks costs nothing.
 */
#include "engine/models/embed.h"
#include "engine/models/joint.h"

#include <string.h>

enum { AXES = 4, PACK = 2 };

typedef struct {
    int64_t doubles, singles, H, D, in_channels, out_channels, text_dim, sinusoid, theta, patch, axes[AXES];
    double mlp_ratio, eps;
    bool guidance_embeds;
} flux2_config;

typedef struct {
    flux2_config c;
    joint j;
    embed_combined time;                       /* timestep, guidance */
    dit_weights weights;                       /* without biases */
    dit_linear modulations[JOINT_STREAMS + 1]; /* of text, image, both; all blocks share them */
    float *shared[JOINT_STREAMS + 1];          /* [batch, chunks C] of a step                 */
    dit_linear x_embedder, context_embedder, norm_out, proj_out;
    joint_block *doubles;
    joint_stream *singles;
    float *cosines, *sines; /* [text + image rows, D] image's life  */
    float *ids;             /* [text + image rows, 3]               */
    float *context;         /* [batch, text rows, C] projected text */
} flux2;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(flux2_config, doubles, "num_layers", 8, 0, 1000),
    DIT_CONFIG_INT(flux2_config, singles, "num_single_layers", 48, 0, 1000),
    DIT_CONFIG_INT(flux2_config, H, "num_attention_heads", 48, 1, 1024),
    DIT_CONFIG_INT(flux2_config, D, "attention_head_dim", 128, 1, 1024),
    DIT_CONFIG_INT(flux2_config, in_channels, "in_channels", 128, 1, 4096),
    DIT_CONFIG_INT(flux2_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(flux2_config, text_dim, "joint_attention_dim", 15360, 1, 65536),
    DIT_CONFIG_INT(flux2_config, sinusoid, "timestep_guidance_channels", 256, 1, 4096),
    DIT_CONFIG_INT(flux2_config, theta, "rope_theta", 2000, 1, 1000000000),
    DIT_CONFIG_NUMBER(flux2_config, mlp_ratio, "mlp_ratio", 3.0, 0.01, 100),
    DIT_CONFIG_NUMBER(flux2_config, eps, "eps", 1e-6, 0, 1),
    DIT_CONFIG_INT(flux2_config, patch, "patch_size", 1, 1, 16),
    DIT_CONFIG_BOOL(flux2_config, guidance_embeds, "guidance_embeds", true),
    DIT_CONFIG_END,
};

static dit_status read_axes(const dit_config *config, flux2_config *c)
{
    int count;
    int64_t sum = 0;
    DIT_TRY(dit_config_read_ints(config, "axes_dims_rope", 0, 4096, AXES, c->axes, &count));
    for (int axis = 0; axis < AXES && count < 0; axis++) c->axes[axis] = 32;
    bool even = count < 0 || count == AXES;
    for (int axis = 0; axis < AXES && even; axis++) sum += c->axes[axis], even = c->axes[axis] % 2 == 0;
    if (even && sum == c->D) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "axes_dims_rope must be four even widths that add up to attention_head_dim %lld",
                    (long long)c->D);
}

static dit_status read_config(const dit_config *config, flux2_config *c)
{
    DIT_TRY(dit_config_read(config, fields, c));
    if (c->out_channels == 0) c->out_channels = c->in_channels;
    if (c->patch != 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "patch_size %lld: FLUX.2 takes packed latents, with patch_size 1",
                        (long long)c->patch);
    if (c->in_channels % (PACK * PACK))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "in_channels %lld is not a multiple of 4, as patches of 2x2 need",
                        (long long)c->in_channels);
    if (c->sinusoid != 256)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "timestep_guidance_channels %lld: only 256 is built",
                        (long long)c->sinusoid);
    return read_axes(config, c);
}

static dit_status flux2_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    flux2_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D;
    sizes->blocks[0] = c.doubles, sizes->blocks[1] = c.singles;
    facts->latent = (dit_latent){
        .channels = c.in_channels / (PACK * PACK), .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = PACK};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static const joint_stream_names stream_names[JOINT_STREAMS] = {
    [JOINT_TEXT] = {NULL, "ff_context"},
    [JOINT_IMAGE] = {NULL, "ff"},
};
static const struct {
    const char *name;
    int chunks;
} modulations[JOINT_STREAMS + 1] = {
    [JOINT_TEXT] = {"double_stream_modulation_txt.linear", JOINT_CHUNKS},
    [JOINT_IMAGE] = {"double_stream_modulation_img.linear", JOINT_CHUNKS},
    [JOINT_BOTH] = {"single_stream_modulation.linear", JOINT_SINGLE_CHUNKS},
};

static dit_status load_weights(const dit_model_params *params, flux2 *m)
{
    dit_scope s = scope_of(params, "%s", ""), time = scope_under(&s, "time_guidance_embed");
    int64_t C = m->j.C;
    if (params->stage.first) {
        DIT_TRY(scope_linear(&s, "x_embedder", C, m->c.in_channels, &m->x_embedder));
        DIT_TRY(scope_linear(&s, "context_embedder", C, m->c.text_dim, &m->context_embedder));
    }
    DIT_TRY(embed_combined_create(&time, &m->time));
    for (int i = 0; i <= JOINT_STREAMS; i++)
        DIT_TRY(scope_linear(&s, modulations[i].name, modulations[i].chunks * C, C, &m->modulations[i]));
    DIT_TRY(joint_load_blocks(params, &m->j, m->c.doubles, &m->doubles));
    DIT_TRY(joint_load_singles(params, &m->j, m->c.doubles, m->c.singles, &m->singles));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "norm_out.linear", JOINT_LAST_CHUNKS * C, C, &m->norm_out));
    return scope_linear(&s, "proj_out", m->c.out_channels, C, &m->proj_out);
}

static dit_status make_buffers(const dit_model_params *params, flux2 *m)
{
    dit_arena *image = &params->rt->image;
    const dit_partition *part = &params->partition;
    int64_t T = part->text_count, rows = T + part->image_count, D = m->c.D;
    const dit_buffer buffers[] = {
        {image, &m->cosines, rows * D, DIT_BUFFER_FP32},
        {image, &m->sines, rows * D, DIT_BUFFER_FP32},
        {image, &m->ids, rows * AXES, DIT_BUFFER_HOST},
        {image, &m->context, part->batch * T * m->j.C, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    m->j.cosines[JOINT_TEXT] = m->cosines, m->j.cosines[JOINT_IMAGE] = m->cosines + T * D;
    m->j.sines[JOINT_TEXT] = m->sines, m->j.sines[JOINT_IMAGE] = m->sines + T * D;
    return DIT_OK;
}

/* What all blocks of a kind are modulated by. */
static dit_status make_shared(const dit_model_params *params, flux2 *m, int64_t C)
{
    for (int i = 0; i <= JOINT_STREAMS; i++) {
        int64_t count = params->partition.batch * modulations[i].chunks * C;
        DIT_TRY(dit_buffers_take(&(dit_buffer){&params->rt->step, &m->shared[i], count, DIT_BUFFER_FP32}, 1));
        m->j.shared[i] = m->shared[i];
    }
    return DIT_OK;
}

/* Returns mu of the dynamic shift: linear in the image's tokens at 200 steps and at 10, and in the steps between; above
 * 4,300 tokens that of 200 steps. Source: diffusers' Flux2Pipeline, whose numbers these are. */
static double flux2_shift(int64_t image_tokens, int64_t steps)
{
    const double tokens = (double)image_tokens;
    double most = 0.00016927 * tokens + 0.45666666, least = 8.73809524e-05 * tokens + 1.89833333;
    double slope = (most - least) / 190.0;
    return image_tokens > 4300 ? most : slope * (double)steps + most - 200.0 * slope;
}

static void state_needs(const flux2 *m, dit_model *model)
{
    const dit_partition *part = &model->params.partition;
    dit_condition_need *needs = model->needs;
    needs[DIT_CONDITION_TEXT].elements = part->text_tokens * m->c.text_dim;
    needs[DIT_CONDITION_GUIDANCE].elements = m->c.guidance_embeds ? 1 : 0;
    needs[DIT_CONDITION_IMAGE_IDS] = (dit_condition_need){.elements = part->image_tokens * AXES, .optional = true};
    needs[DIT_CONDITION_TEXT_IDS] = (dit_condition_need){.elements = part->text_tokens * AXES, .optional = true};
}

static dit_status flux2_create(const dit_model_params *params, dit_model *model)
{
    void *state;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(flux2), &state));
    flux2 *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    dit_model_params plain = *params;
    m->weights = *params->weights, m->weights.without_biases = true;
    plain.weights = &m->weights;
    int64_t C = m->c.H * m->c.D;
    m->j = (joint){.H = m->c.H,
                   .D = m->c.D,
                   .inner = (int64_t)((double)C * m->c.mlp_ratio),
                   .eps = (float)m->c.eps,
                   .qk_norm = true,
                   .gated = true,
                   .stream_names = stream_names};
    DIT_TRY(make_shared(params, m, C));
    DIT_TRY(joint_create(model, &m->j));
    m->time = (embed_combined){
        .batch = params->partition.batch, .width = m->j.C, .unit = 1000.0f, .guided = m->c.guidance_embeds};
    DIT_TRY(load_weights(&plain, m));
    DIT_TRY(make_buffers(params, m));
    m->j.activated = m->time.activated;
    model->input_channels = m->c.in_channels;
    model->output_channels = m->c.out_channels;
    model->timestep_divisor = 1000.0f;
    model->linspace_sigmas = true;
    model->shift = flux2_shift;
    model->sensitive_embedding = m->c.guidance_embeds;
    state_needs(m, model);
    return joint_create_policy(params, m->j.heads, m->c.D, false, &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

static void place_ids(const dit_model *model, const dit_condition *condition)
{
    const flux2 *m = model->state;
    const dit_partition *part = &model->params.partition;
    const float *text_ids = condition->at[DIT_CONDITION_TEXT_IDS], *image_ids = condition->at[DIT_CONDITION_IMAGE_IDS];
    int64_t grid_width = model->params.latent.width / PACK;
    for (int64_t i = 0; i < part->text_count * AXES; i++)
        m->ids[i] = text_ids               ? text_ids[part->text_begin * AXES + i]
                    : i % AXES == AXES - 1 ? (float)(part->text_begin + i / AXES)
                                           : 0.0f;
    const int64_t rows = dit_runtime_values(model->params.rt, part->image_count);
    for (int64_t row = 0; row < rows; row++) {
        int64_t token = dit_partition_token(part, row);
        const float own[AXES] = {0.0f, (float)(token / grid_width), (float)(token % grid_width), 0.0f};
        memcpy(m->ids + (part->text_count + row) * AXES, image_ids ? image_ids + token * AXES : own, sizeof own);
    }
}

static dit_status flux2_prepare(dit_model *model, const dit_condition *condition)
{
    flux2 *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    place_ids(model, condition);
    int64_t rows = part->text_count + part->image_count;
    embed_rope(rt, m->ids, rows, AXES, m->c.axes, (double)m->c.theta, m->cosines, m->sines);
    DIT_TRY(embed_put_rope(rt, m->cosines, m->sines, rows * m->c.D));
    DIT_TRY(embed_tap_rope(model, DIT_LAYOUT_JOINT, m->cosines, m->sines, m->c.D));
    if (model->params.stage.first)
        joint_project_text(rt, part, &m->context_embedder, condition->at[DIT_CONDITION_TEXT], m->context);
    embed_combined_prepare(rt, &m->time, NULL, condition->at[DIT_CONDITION_GUIDANCE]);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status flux2_begin(dit_model *model, const float *timestep)
{
    flux2 *m = model->state;
    embed_combined_step(model->params.rt, &m->time, timestep);
    for (int i = 0; i <= JOINT_STREAMS; i++)
        embed_linear(model->params.rt, &m->modulations[i], m->time.activated, m->time.batch, m->shared[i]);
    return embed_tap_combined(model, &m->time, "aux.time_guidance_embed");
}

static dit_status flux2_embed(dit_model *model, const float *latents)
{
    flux2 *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows text = joint_x(&m->j, JOINT_TEXT), image = joint_x(&m->j, JOINT_IMAGE);
    layer_copy(rt, rows_dense(m->context, text.batch, text.rows, text.cols), text);
    layer_linear(rt, &m->x_embedder, rows_dense((float *)latents, image.batch, image.rows, m->c.in_channels), image,
                 DIT_ACT_NONE);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image, "aux.x_embedder"));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, text, "aux.context_embedder");
}

static dit_status forward_double(dit_model *model, int64_t index)
{
    const flux2 *m = model->state;
    DIT_TRY(joint_double_block(model, &m->j, &m->doubles[index], index == 0));
    return joint_tap(model, m->j.x, m->j.C, "block", index);
}

static dit_status forward_single(dit_model *model, int64_t index)
{
    const flux2 *m = model->state;
    const joint *j = &m->j;
    dit_rows attended = joint_attended(j, JOINT_BOTH);
    DIT_TRY(joint_attend_single(model, j, &m->singles[index]));
    DIT_TRY(joint_tap_attended_raw(model, j));
    if (index == 0) DIT_TRY(dit_tap_heads(model, DIT_LAYOUT_JOINT, attended, "aux.single_block_0.attn"));
    DIT_TRY(joint_add_parallel(model->params.rt, j, &m->singles[index]));
    return dit_tap_rows(model, DIT_LAYOUT_JOINT, joint_x(j, JOINT_BOTH), "single_block_%lld", (long long)index);
}

static dit_status flux2_attention_input(dit_model *model, float *out)
{
    const flux2 *m = model->state;
    const joint_stream *first = m->c.doubles ? &m->doubles[0].image : &m->singles[0];
    joint_attention_input(model->params.rt, &m->j, first, out);
    return DIT_OK;
}

static dit_status flux2_block(dit_model *model, int64_t index)
{
    int64_t doubles = ((const flux2 *)model->state)->c.doubles;
    return index < doubles ? forward_double(model, index) : forward_single(model, index - doubles);
}

static dit_status flux2_head(dit_model *model, float *output)
{
    flux2 *m = model->state;
    joint_head(model->params.rt, &m->j, &m->norm_out, &m->proj_out, output);
    return DIT_OK;
}

const dit_model_ops dit_model_flux2 = {
    .class_name = "Flux2Transformer2DModel",
    .layout = DIT_LATENT_PACKED,
    .read_facts = flux2_read_facts,
    .create = flux2_create,
    .prepare = flux2_prepare,
    .begin = flux2_begin,
    .embed = flux2_embed,
    .attention_input = flux2_attention_input,
    .block = flux2_block,
    .head = flux2_head,
};
