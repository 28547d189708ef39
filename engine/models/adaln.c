#include "engine/models/adaln.h"

enum { SINUSOID = 256, MLP_RATIO = 4 };
static const float TEXT_EPS = 1e-5f;
enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP, MODULATIONS };

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_weights(const dit_model_params *params, adaln *a)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = a->C, cells = a->c.patch * a->c.patch;
    dit_scope patches = scope_under(&s, a->c.patch_name ? a->c.patch_name : "pos_embed");
    dit_scope time = scope_under(&s, a->c.time_name ? a->c.time_name : "adaln_single");
    if (params->stage.first) DIT_TRY(scope_linear(&patches, "proj", C, a->c.in_channels * cells, &a->patch_proj));
    DIT_TRY(embed_mlp_load(&time, "emb.timestep_embedder", SINUSOID, C, C, DIT_ACT_SILU, &a->timestep_mlp));
    DIT_TRY(scope_linear(&time, "linear", MODULATIONS * C, C, &a->modulation));
    if (a->c.normed_text) DIT_TRY(scope_vector(&s, "caption_norm.weight", C, DIT_INIT_NORM, &a->text_norm));
    DIT_TRY(embed_mlp_load(&s, "caption_projection", a->c.text_dim, C, C, DIT_ACT_GELU_TANH, &a->caption_mlp));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_head(&s, "proj_out", a->c.out_channels, cells, C, &a->proj_out));
    return scope_matrix(&s, "scale_shift_table", 2, C, DIT_INIT_TABLE, &a->table);
}

static dit_status make_buffers(dit_runtime *rt, adaln *a)
{
    int64_t C = a->C, B = a->B, n = a->view->image_count, rows = B * n, text_rows = B * a->text_tokens;
    int64_t wide = a->inner > 3 * a->A ? a->inner : 3 * a->A;
    int64_t attended = a->cross_A > a->A ? a->cross_A : a->A, normed = a->cross_A > C ? a->cross_A : C;
    DIT_TRY(dit_tp_reserve(rt, rows * C, 0));
    const dit_buffer buffers[] = {
        {&rt->image, &a->position, a->c.unplaced ? 0 : n / a->segments * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->image, &a->text_bias, text_rows, DIT_BUFFER_FP32},
        {&rt->step, &a->x, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &a->normed, rows * normed, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &a->attended, rows * attended, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &a->wide, rows * wide, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &a->text, text_rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &a->text_hidden, text_rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &a->sinusoid, B * SINUSOID, DIT_BUFFER_FP32},
        {&rt->step, &a->hidden, B * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &a->embedded, B * C, DIT_BUFFER_FP32},
        {&rt->step, &a->activated, B * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &a->modulated, B * MODULATIONS * C, DIT_BUFFER_FP32},
        {&rt->step, &a->gates, B * MODULATIONS * C, DIT_BUFFER_FP32},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

/* Makes the table of positions. */
static dit_status place_patches(const dit_model_params *params, const adaln *a)
{
    const dit_partition *part = &params->partition;
    const dit_latent *latent = &params->latent;
    for (int64_t i = 0; i < dit_partition_runs(part) / part->segments; i++) { /* the same in every frame */
        dit_run run = dit_partition_run(part, i);
        embed_sincos_2d(params->rt, latent->height / a->c.patch, latent->width / a->c.patch, a->C,
                        (double)(a->c.sample_size / a->c.patch), a->c.interpolation_scale,
                        run.token % part->segment_tokens, run.count, a->position + run.row * a->C);
    }
    return dit_runtime_upload(params->rt, a->position, a->view->image_count / a->segments * a->C);
}

dit_status adaln_create(dit_model *model, adaln *a)
{
    const dit_model_params *params = &model->params;
    const dit_partition *part = &params->partition;
    if (!a->c.cross_H) a->c.cross_H = a->c.H, a->c.cross_D = a->c.D;
    a->C = a->c.H * a->c.D, a->B = part->batch, a->view = &model->view;
    a->H = dit_tp_count(params->rt, a->c.H), a->A = a->H * a->c.D;
    bool whole = params->rt->parallel.habits.cross_attention_whole;
    a->cross_H = whole ? a->c.cross_H : dit_tp_count(params->rt, a->c.cross_H), a->cross_A = a->cross_H * a->c.cross_D;
    a->inner = dit_tp_count(params->rt, a->c.inner ? a->c.inner : MLP_RATIO * a->C);
    a->segments = part->segments, a->text_tokens = part->text_tokens;
    DIT_TRY(load_weights(params, a));
    DIT_TRY(make_buffers(params->rt, a));
    model->stream = a->x, model->width = a->C, model->time_embedding = a->embedded;
    return a->c.unplaced ? DIT_OK : place_patches(params, a);
}

dit_status adaln_load_block(const dit_scope *scope, const adaln *a, int64_t index, bool text, adaln_block *block)
{
    static const char *const qkv[] = {"attn1.to_q", "attn1.to_k", "attn1.to_v", NULL};
    static const char *const cross_kv[] = {"attn2.to_k", "attn2.to_v", NULL};
    int64_t C = a->C, cross = a->c.cross_H * a->c.cross_D;
    dit_weights unbiased = *scope->weights;
    dit_scope plain = *scope;
    if (a->c.unbiased) unbiased.without_biases = true, plain.weights = &unbiased;
    block->text_kv = NULL, block->index = index;
    DIT_TRY(scope_shared(&plain, qkv, C, C, &block->qkv));
    DIT_TRY(scope_joined(scope, "attn1.to_out.0", C, C, 0, &block->out));
    if (!a->c.inner) DIT_TRY(scope_mlp(scope, "ff", C, MLP_RATIO * C, &block->mlp));
    DIT_TRY(scope_matrix(scope, "scale_shift_table", MODULATIONS, C, DIT_INIT_TABLE, &block->table));
    if (!text) return DIT_OK;
    dit_scope to_text = a->cross_H == a->c.cross_H ? scope_whole(scope) : *scope;
    DIT_TRY(scope_shared(&to_text, (const char *const[]){"attn2.to_q", NULL}, cross, C, &block->cross_q));
    DIT_TRY(scope_shared(&to_text, cross_kv, cross, C, &block->cross_kv));
    DIT_TRY(scope_joined(&to_text, "attn2.to_out.0", C, cross, 0, &block->cross_out));
    return dit_arena_activations(&scope->rt->image, a->B * a->text_tokens * 2 * a->cross_A, &block->text_kv);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

dit_status adaln_prepare(dit_model *model, adaln *a, adaln_block *blocks, int64_t count, const dit_condition *condition)
{
    dit_runtime *rt = model->params.rt;
    const float *mask = condition->at[DIT_CONDITION_TEXT_MASK];
    int64_t text_rows = a->B * a->text_tokens;
    a->bias = mask ? a->text_bias : NULL;
    for (int64_t i = 0; mask && i < text_rows; i++) a->text_bias[i] = (1.0f - mask[i]) * -10000.0f;
    if (mask) DIT_TRY(dit_runtime_upload(rt, a->text_bias, text_rows));
    embed_mlp_run(rt, &a->caption_mlp, condition->at[DIT_CONDITION_TEXT], text_rows, a->text_hidden, a->text);
    dit_rows text = rows_dense(a->text, a->B, a->text_tokens, a->C);
    if (a->text_norm)
        layer_norm(rt, text, text, &(dit_layer_norm){.kind = DIT_NORM_RMS, .eps = TEXT_EPS, .weight = a->text_norm});
    for (int64_t i = 0; i < count; i++)
        if (dit_stage_has(&model->params, i))
            embed_linear(rt, &blocks[i].cross_kv, a->text, text_rows, blocks[i].text_kv);
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, text, "aux.caption_projection");
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Returns the batch rows before those of the window, which has the positive branch alone or all. */
static int64_t without(const adaln *a)
{
    return a->B - a->view->batch;
}

dit_status adaln_begin(dit_model *model, adaln *a, const float *timestep, const float *added)
{
    dit_runtime *rt = model->params.rt;
    int64_t B = a->view->batch, C = a->C;
    if (added) added += without(a) * C;
    embed_timestep(rt, timestep, B, SINUSOID, a->sinusoid);
    embed_mlp_run(rt, &a->timestep_mlp, a->sinusoid, B, a->hidden, a->embedded);
    if (added) layer_add(rt, a->embedded, added, B * C, a->embedded);
    embed_activate(rt, DIT_ACT_SILU, a->embedded, B * C, a->activated);
    embed_linear(rt, &a->modulation, a->activated, B, a->modulated);
    DIT_TRY(
        dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(a->modulated, B, 1, MODULATIONS * C), "aux.adaln_single.0"));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(a->embedded, B, 1, C), "aux.adaln_single.1");
}

dit_status adaln_embed(dit_model *model, adaln *a, const float *latents)
{
    dit_runtime *rt = model->params.rt;
    int64_t n = a->view->image_count;
    dit_rows x = rows_dense(a->x, a->view->batch, n, a->C);
    if (a->c.unplaced) {
        layer_linear(rt, &a->patch_proj, rows_dense((float *)latents, a->view->batch, n, a->patch_proj.k), x,
                     DIT_ACT_NONE);
        return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "aux.pos_embed");
    }
    layer_copy_entries(rt, a->position + model->window.first * a->C,
                       rows_dense(a->x, a->view->batch * a->segments, n / a->segments, a->C));
    layer_linear_add(rt, &a->patch_proj, rows_dense((float *)latents, a->view->batch, n, a->patch_proj.k), x, NULL, 0);
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "aux.pos_embed");
}

static dit_layer_norm modulated_norm(const adaln *a, int shift, int scale)
{
    return (dit_layer_norm){.eps = (float)a->c.eps,
                            .shift = a->gates + shift * a->C,
                            .scale = a->gates + scale * a->C,
                            .modulation_stride = MODULATIONS * a->C};
}

void adaln_modulate(dit_runtime *rt, adaln *a, const adaln_block *block)
{
    layer_modulation(rt, a->modulated, block->table, a->view->batch, MODULATIONS * a->C, a->gates);
}

void adaln_norm(dit_runtime *rt, adaln *a, const adaln_block *block, dit_rows y)
{
    dit_layer_norm norm = modulated_norm(a, SHIFT_MSA, SCALE_MSA);
    adaln_modulate(rt, a, block);
    layer_norm(rt, rows_dense(a->x, a->view->batch, a->view->image_count, a->C), y, &norm);
}

dit_rows adaln_before_attention(dit_runtime *rt, adaln *a, const adaln_block *block)
{
    dit_rows normed = rows_dense(a->normed, a->view->batch, a->view->image_count, a->C),
             qkv = rows_dense(a->wide, a->view->batch, a->view->image_count, 3 * a->A);
    adaln_norm(rt, a, block, normed);
    layer_linear(rt, &block->qkv, normed, qkv, DIT_ACT_NONE);
    return qkv;
}

/* The stream is not normalised for the queries. */
static void attend_to_text(dit_runtime *rt, const adaln *a, const adaln_block *block, dit_rows x, dit_rows attended)
{
    int64_t A = a->cross_A;
    dit_rows query = rows_dense(a->normed, a->view->batch, a->view->image_count, A);
    int64_t before = without(a) * a->text_tokens;
    dit_rows text = rows_dense(block->text_kv + before * 2 * A, a->view->batch, a->text_tokens, 2 * A);
    const float *bias = a->bias ? a->bias + before : NULL;
    layer_linear(rt, &block->cross_q, x, query, DIT_ACT_NONE);
    layer_local_attention(rt, a->cross_H, query, rows_columns(text, 0, A), rows_columns(text, A, A), bias, attended);
}

static dit_status cross_attention(dit_model *model, adaln *a, const adaln_block *block, bool tapped)
{
    const module_at at = {block->index, DIT_MODULE_CROSS, MODULE_IMAGE};
    dit_rows x = rows_dense(a->x, a->view->batch, a->view->image_count, a->C);
    dit_rows attended = rows_dense(a->attended, a->view->batch, a->view->image_count, a->cross_A);
    if (!module_is_taken(model, at.kind)) attend_to_text(model->params.rt, a, block, x, attended);
    if (tapped) DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->cross_out, attended, "aux.block_0.attn2"));
    return module_add(model, at, &block->cross_out, attended, x, NULL, 0);
}

dit_status adaln_after_attention(dit_model *model, adaln *a, const adaln_block *block, dit_module kind, bool tapped)
{
    const module_at attention = {block->index, kind, MODULE_IMAGE};
    const module_at mlp = {block->index, DIT_MODULE_MLP, kind == DIT_MODULE_TEMPORAL ? MODULE_SECOND : MODULE_IMAGE};
    int64_t C = a->C, stride = MODULATIONS * C;
    dit_rows x = rows_dense(a->x, a->view->batch, a->view->image_count, C),
             normed = rows_dense(a->normed, a->view->batch, a->view->image_count, C);
    dit_rows attended = rows_dense(a->attended, a->view->batch, a->view->image_count, a->A);
    dit_layer_norm norm = modulated_norm(a, SHIFT_MLP, SCALE_MLP);
    if (tapped) DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->out, attended, "aux.block_0.attn1"));
    DIT_TRY(dit_tap_attended(model, &block->out, attended, 0));
    DIT_TRY(module_add(model, attention, &block->out, attended, x, a->gates + GATE_MSA * C, stride));
    if (block->text_kv) DIT_TRY(cross_attention(model, a, block, tapped));
    if (!module_is_taken(model, mlp.kind)) layer_norm(model->params.rt, x, normed, &norm);
    if (a->feed_forward) return a->feed_forward(model, block->index, normed, x, a->gates + GATE_MLP * C, stride);
    return module_add_mlp(model, mlp, &block->mlp, normed,
                          rows_dense(a->wide, a->view->batch, a->view->image_count, a->inner), x,
                          a->gates + GATE_MLP * C, stride);
}

static dit_status attend_to_all(dit_model *model, adaln *a, const adaln_block *block)
{
    int64_t A = a->A;
    dit_rows qkv = adaln_before_attention(model->params.rt, a, block);
    DIT_TRY(dit_tap_keys(model, rows_columns(qkv, A, A), rows_columns(qkv, 2 * A, A), 0));
    return layer_sequence_attention(model->attention[0], rows_columns(qkv, 0, A), rows_columns(qkv, A, A),
                                    rows_columns(qkv, 2 * A, A),
                                    rows_dense(a->attended, a->view->batch, a->view->image_count, A));
}

dit_status adaln_block_forward(dit_model *model, adaln *a, const adaln_block *block)
{
    if (module_is_taken(model, DIT_MODULE_ATTENTION))
        adaln_modulate(model->params.rt, a, block);
    else
        DIT_TRY(attend_to_all(model, a, block));
    DIT_TRY(adaln_after_attention(model, a, block, DIT_MODULE_ATTENTION, block->index == 0));
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, rows_dense(a->x, a->view->batch, a->view->image_count, a->C),
                        "block_%lld", (long long)block->index);
}

/* The head modulates by the embedding itself, not by its projection. */
void adaln_head(dit_runtime *rt, adaln *a, float *output)
{
    int64_t C = a->C;
    dit_rows normed = rows_dense(a->normed, a->view->batch, a->view->image_count, C);
    float *shift = a->gates, *scale = a->gates + a->view->batch * C;
    layer_modulation(rt, a->embedded, a->table, a->view->batch, C, shift);
    layer_modulation(rt, a->embedded, a->table + C, a->view->batch, C, scale);
    layer_norm(rt, rows_dense(a->x, a->view->batch, a->view->image_count, C), normed,
               &(dit_layer_norm){.eps = 1e-6f, .shift = shift, .scale = scale, .modulation_stride = C});
    layer_linear(rt, &a->proj_out, normed, rows_dense(output, a->view->batch, a->view->image_count, a->proj_out.n),
                 DIT_ACT_NONE);
}
