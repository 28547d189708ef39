#include "engine/models/flux_stack.h"

#include <stdio.h>
#include <string.h>

dit_status flux_latent(int64_t patch, int64_t channels, dit_latent *out)
{
    if (patch != 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "patch_size %lld: FLUX takes packed latents, with patch_size 1",
                        (long long)patch);
    if (channels % (FLUX_PACK * FLUX_PACK))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%lld channels of a token are not a multiple of 4, as patches of 2x2 need",
                        (long long)channels);
    *out = (dit_latent){.channels = channels / (FLUX_PACK * FLUX_PACK),
                        .vae_spatial = 8,
                        .vae_temporal = 1,
                        .patch_t = 1,
                        .patch = FLUX_PACK};
    return DIT_OK;
}

/* ---- creating ---------------------------------------------------------------------------------------------------- */

static dit_status load_weights(const dit_model_params *params, flux_stack *m)
{
    dit_scope s = scope_of(params, "%s", ""), time = scope_under(&s, m->time_name);
    int64_t C = m->j.C;
    if (params->stage.first) {
        DIT_TRY(scope_linear(&s, "x_embedder", C, m->in_channels, &m->x_embedder));
        DIT_TRY(scope_linear(&s, "context_embedder", C, m->text_dim, &m->context_embedder));
    }
    DIT_TRY(embed_combined_create(&time, &m->time));
    DIT_TRY(joint_load_blocks(params, &m->j, m->doubles, &m->double_blocks));
    DIT_TRY(joint_load_singles(params, &m->j, m->doubles, m->singles, &m->single_blocks));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "norm_out.linear", JOINT_LAST_CHUNKS * C, C, &m->norm_out));
    return scope_linear(&s, "proj_out", m->out_channels, C, &m->proj_out);
}

static dit_status make_buffers(const dit_model_params *params, flux_stack *m)
{
    dit_arena *image = &params->rt->image;
    const dit_partition *part = &params->partition;
    int64_t T = part->text_count, rows = T + part->image_count, D = m->j.D;
    const dit_buffer buffers[] = {
        {image, &m->cosines, rows * D, DIT_BUFFER_FP32},
        {image, &m->sines, rows * D, DIT_BUFFER_FP32},
        {image, &m->ids, rows * m->axis_count, DIT_BUFFER_HOST},
        {image, &m->context, part->batch * T * m->j.C, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    m->j.cosines[JOINT_TEXT] = m->cosines, m->j.cosines[JOINT_IMAGE] = m->cosines + T * D;
    m->j.sines[JOINT_TEXT] = m->sines, m->j.sines[JOINT_IMAGE] = m->sines + T * D;
    return DIT_OK;
}

static void state_needs(const flux_stack *m, dit_model *model)
{
    const dit_partition *part = &model->params.partition;
    dit_condition_need *needs = model->needs;
    needs[DIT_CONDITION_TEXT].elements = part->text_tokens * m->text_dim;
    needs[DIT_CONDITION_POOLED].elements = m->time.text_dim;
    needs[DIT_CONDITION_LATENT].elements = part->image_tokens * (m->in_channels - m->out_channels);
    needs[DIT_CONDITION_REFERENCE].elements = part->reference_tokens * m->in_channels;
    needs[DIT_CONDITION_GUIDANCE].elements = m->time.guided ? 1 : 0;
    needs[DIT_CONDITION_IMAGE_IDS] =
        (dit_condition_need){.elements = part->image_tokens * m->axis_count, .optional = true};
    needs[DIT_CONDITION_TEXT_IDS] =
        (dit_condition_need){.elements = part->text_tokens * m->axis_count, .optional = true};
}

dit_status flux_stack_create(const dit_model_params *params, dit_model *model)
{
    flux_stack *m = model->state;
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params, m));
    if (params->partition.reference_tokens && m->in_channels != m->out_channels)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "a reference picture beside a condition of %lld channels",
                                       (long long)(m->in_channels - m->out_channels)),
                              "FLUX.1 Kontext takes the one, FLUX.1 Fill and Depth the other");
    m->j.activated = m->time.activated;
    model->input_channels = m->in_channels;
    model->output_channels = m->out_channels;
    model->timestep_divisor = 1000.0f;
    model->linspace_sigmas = true;
    model->sensitive_embedding = m->time.guided;
    state_needs(m, model);
    return joint_create_policy(params, m->j.heads, m->j.D, 0, &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

/* Writes the ids of an image token: its row and column, or those in its reference, which has another number before them. */
static void own_ids(const dit_model *model, int64_t token, float ids[FLUX_MAX_AXES])
{
    const dit_partition *part = &model->params.partition;
    const flux_stack *m = model->state;
    int64_t denoised = part->image_tokens - part->reference_tokens, width = model->params.latent.width / FLUX_PACK;
    int64_t row = token / width, column = token % width;
    int picture = -1;
    if (token >= denoised) picture = dit_facts_reference_at(&model->params.rt->facts, token - denoised, &row, &column);
    ids[0] = (float)(m->reference_id * (picture + 1));
    ids[1] = (float)row, ids[2] = (float)column;
}

static void place_ids(const dit_model *model, const dit_condition *condition)
{
    const flux_stack *m = model->state;
    const dit_partition *part = &model->params.partition;
    const float *text_ids = condition->at[DIT_CONDITION_TEXT_IDS], *image_ids = condition->at[DIT_CONDITION_IMAGE_IDS];
    int64_t axes = m->axis_count;
    for (int64_t i = 0; i < part->text_count * axes; i++) {
        bool numbered = m->text_is_numbered && i % axes == axes - 1;
        float own = numbered ? (float)(part->text_begin + i / axes) : 0.0f;
        m->ids[i] = text_ids ? text_ids[part->text_begin * axes + i] : own;
    }
    const int64_t rows = dit_runtime_values(model->params.rt, part->image_count);
    for (int64_t row = 0; row < rows; row++) {
        int64_t token = dit_partition_token(part, row);
        float own[FLUX_MAX_AXES] = {0};
        own_ids(model, token, own);
        memcpy(m->ids + (part->text_count + row) * axes, image_ids ? image_ids + token * axes : own,
               (size_t)axes * sizeof *own);
    }
}

dit_status flux_stack_prepare(dit_model *model, const dit_condition *condition)
{
    flux_stack *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    place_ids(model, condition);
    int64_t rows = part->text_count + part->image_count;
    embed_rope(rt, m->ids, rows, (int)m->axis_count, m->axes, m->theta, m->cosines, m->sines);
    DIT_TRY(embed_put_rope(rt, m->cosines, m->sines, rows * m->j.D));
    DIT_TRY(embed_tap_rope(model, DIT_LAYOUT_JOINT, m->cosines, m->sines, m->j.D));
    if (model->params.stage.first)
        joint_project_text(rt, part, &m->context_embedder, condition->at[DIT_CONDITION_TEXT], m->context);
    embed_combined_prepare(rt, &m->time, condition->at[DIT_CONDITION_POOLED], condition->at[DIT_CONDITION_GUIDANCE]);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

dit_status flux_stack_begin(dit_model *model, const float *timestep)
{
    flux_stack *m = model->state;
    char tap[64];
    embed_combined_step(model->params.rt, &m->time, timestep);
    snprintf(tap, sizeof tap, "aux.%s", m->time_name);
    return embed_tap_combined(model, &m->time, tap);
}

dit_status flux_stack_embed(dit_model *model, const float *latents)
{
    flux_stack *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows text = joint_x(&m->j, JOINT_TEXT), image = joint_x(&m->j, JOINT_IMAGE);
    layer_copy(rt, rows_dense(m->context, text.batch, text.rows, text.cols), text);
    layer_linear(rt, &m->x_embedder, rows_dense((float *)latents, image.batch, image.rows, m->in_channels), image,
                 DIT_ACT_NONE);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image, "aux.x_embedder"));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, text, "aux.context_embedder");
}

static dit_status forward_double(dit_model *model, int64_t index)
{
    const flux_stack *m = model->state;
    DIT_TRY(joint_double_block(model, &m->j, &m->double_blocks[index], index == 0));
    return joint_tap(model, m->j.x, m->j.C, "block", index);
}

static dit_status forward_single(dit_model *model, int64_t index)
{
    const flux_stack *m = model->state;
    const joint *j = &m->j;
    dit_rows attended = joint_attended(j, JOINT_BOTH);
    DIT_TRY(joint_attend_single(model, j, &m->single_blocks[index]));
    DIT_TRY(joint_tap_attended_raw(model, j));
    if (index == 0) DIT_TRY(dit_tap_heads(model, DIT_LAYOUT_JOINT, attended, "aux.single_block_0.attn"));
    DIT_TRY(joint_add_parallel(model->params.rt, j, &m->single_blocks[index]));
    return dit_tap_rows(model, DIT_LAYOUT_JOINT, joint_x(j, JOINT_BOTH), "single_block_%lld", (long long)index);
}

dit_status flux_stack_attention_input(dit_model *model, float *out)
{
    const flux_stack *m = model->state;
    const joint_stream *first = m->doubles ? &m->double_blocks[0].image : &m->single_blocks[0];
    joint_attention_input(model->params.rt, &m->j, first, out);
    return DIT_OK;
}

dit_status flux_stack_block(dit_model *model, int64_t index)
{
    int64_t doubles = ((const flux_stack *)model->state)->doubles;
    return index < doubles ? forward_double(model, index) : forward_single(model, index - doubles);
}

dit_status flux_stack_head(dit_model *model, float *output)
{
    flux_stack *m = model->state;
    joint_head(model->params.rt, &m->j, &m->norm_out, &m->proj_out, output);
    return DIT_OK;
}
