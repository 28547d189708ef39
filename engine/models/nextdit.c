#include "engine/models/nextdit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SINUSOID = 256 };
/* Chunks of a modulation. */
enum { SCALE, GATE, SCALE_MLP, GATE_MLP, CHUNKS };
/* Text biases of the policy. */
enum { MAIN_BIAS, REFINER_BIAS, BIASES };
static const float QK_EPS = 1e-5f, HEAD_EPS = 1e-6f;

/* True if this rank runs the first main layer, where the text comes in. */
static bool takes_text(const dit_model_params *params, const nextdit *n)
{
    return dit_stage_covers(params, n->refiners);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Of a block only the modulation has a bias. */
static dit_status load_block(const dit_scope *s, const nextdit *n, bool modulated, nextdit_block *block)
{
    const nextdit_names *names = &n->names;
    const char *in[] = {names->gate, names->value, NULL};
    int64_t C = n->j.C;
    dit_weights unbiased = *s->weights;
    dit_scope plain = *s;
    char name[64];
    unbiased.without_biases = true, plain.weights = &unbiased;
    DIT_TRY(joint_load_attention(&plain, &n->j, names->attention, JOINT_IMAGE, true, &block->attention));
    DIT_TRY(scope_shared(&plain, in, n->inner, C, &block->in));
    DIT_TRY(scope_joined(&plain, names->down, C, n->inner, 0, &block->down));
    for (int i = 0; i < NEXTDIT_NORMS; i++) {
        bool renamed = i == NEXTDIT_BEFORE && !modulated && names->unmodulated_norm;
        snprintf(name, sizeof name, "%s.weight", renamed ? names->unmodulated_norm : names->norms[i]);
        DIT_TRY(scope_vector(s, name, C, DIT_INIT_NORM, &block->norms[i]));
    }
    return modulated ? scope_linear(s, names->modulation, CHUNKS * C, n->condition_width, &block->modulation) : DIT_OK;
}

static dit_status take_blocks(const dit_model_params *params, int64_t count, nextdit_block **out)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&params->rt->run, count * (int64_t)sizeof **out, &memory));
    *out = memory;
    return DIT_OK;
}

static dit_status load_blocks(const dit_model_params *params, nextdit *n)
{
    DIT_TRY(take_blocks(params, n->refiners + n->layers, &n->blocks));
    for (int64_t i = 0; i < n->refiners + n->layers; i++) {
        bool refines = i < n->refiners;
        if (!dit_stage_has(params, i)) continue;
        dit_scope s = scope_of(params, "%s.%lld.", refines ? "noise_refiner" : "layers",
                               (long long)(refines ? i : i - n->refiners));
        DIT_TRY(load_block(&s, n, true, &n->blocks[i]));
    }
    return DIT_OK;
}

/* The text's refiners see all of the text, so every rank that needs it runs them with all heads. */
static dit_status load_text(const dit_model_params *params, nextdit *n)
{
    dit_scope s = scope_of(params, "%s", "");
    DIT_TRY(scope_vector(&s, n->names.text_norm, n->text_dim, DIT_INIT_NORM, &n->text_norm));
    DIT_TRY(scope_linear(&s, n->names.text_in, n->j.C, n->text_dim, &n->text_in));
    if (n->names.text_padding)
        DIT_TRY(scope_matrix(&s, n->names.text_padding, 1, n->j.C, DIT_INIT_TABLE, &n->text_padding));
    DIT_TRY(take_blocks(params, n->refiners, &n->text_blocks));
    for (int64_t i = 0; i < n->refiners; i++) {
        s = scope_of(params, "context_refiner.%lld.", (long long)i);
        s = scope_whole(&s);
        DIT_TRY(load_block(&s, n, false, &n->text_blocks[i]));
    }
    return DIT_OK;
}

/* Loads what rows of text are while the image is refined: its padding, or zeros, which nobody sees. */
static dit_status load_image_padding(const dit_scope *s, nextdit *n)
{
    float *zeros;
    if (n->names.image_padding)
        return scope_matrix(s, n->names.image_padding, 1, n->j.C, DIT_INIT_TABLE, &n->image_padding);
    DIT_TRY(dit_arena_fp32(&s->rt->run, n->j.C, &zeros));
    n->image_padding = zeros;
    if (!s->rt->ledger.counting_only) memset(zeros, 0, (size_t)n->j.C * sizeof *zeros);
    return dit_runtime_upload(s->rt, zeros, n->j.C);
}

static dit_status load_weights(const dit_model_params *params, nextdit *n)
{
    dit_scope s = scope_of(params, "%s", "");
    const nextdit_names *names = &n->names;
    int64_t C = n->j.C, cells = n->patch * n->patch;
    n->time.activation = DIT_ACT_SILU;
    DIT_TRY(scope_linear(&s, names->time[0], n->time_width, SINUSOID, &n->time.first));
    DIT_TRY(scope_linear(&s, names->time[1], n->condition_width, n->time_width, &n->time.second));
    if (params->stage.first) {
        DIT_TRY(scope_patch(&s, names->image_in, C, n->channels, cells, &n->image_in));
        DIT_TRY(load_image_padding(&s, n));
    }
    if (takes_text(params, n)) DIT_TRY(load_text(params, n));
    DIT_TRY(load_blocks(params, n));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, names->head_scale, C, n->condition_width, &n->head_scale));
    return scope_head(&s, names->head, n->channels, cells, C, &n->head);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static dit_status take_shared_buffers(const dit_model_params *params, nextdit *n)
{
    dit_arena *image = &params->rt->image, *step = &params->rt->step;
    const dit_partition *part = &params->partition;
    int64_t B = part->batch, T = part->text_tokens, rows = part->image_count, D = n->D;
    const dit_buffer buffers[] = {
        {image, &n->cosines[JOINT_TEXT], B * T * D, DIT_BUFFER_FP32},
        {image, &n->sines[JOINT_TEXT], B * T * D, DIT_BUFFER_FP32},
        {image, &n->cosines[JOINT_IMAGE], B * rows * D, DIT_BUFFER_FP32},
        {image, &n->sines[JOINT_IMAGE], B * rows * D, DIT_BUFFER_FP32},
        {image, &n->ids, (T > rows ? T : rows) * NEXTDIT_AXES, DIT_BUFFER_HOST},
        {image, &n->bias[MAIN_BIAS], B * T, DIT_BUFFER_HOST},
        {image, &n->bias[REFINER_BIAS], B * T, DIT_BUFFER_HOST},
        {step, &n->sinusoid, B * SINUSOID, DIT_BUFFER_FP32},
        {step, &n->hidden, B * n->time_width, DIT_BUFFER_ACTIVATIONS},
        {step, &n->embedded, B * n->condition_width, DIT_BUFFER_ACTIVATIONS},
        {step, &n->activated, B * n->condition_width, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    n->j.cosines[JOINT_TEXT] = n->cosines[JOINT_TEXT] + part->text_begin * D;
    n->j.sines[JOINT_TEXT] = n->sines[JOINT_TEXT] + part->text_begin * D;
    n->j.cosines[JOINT_IMAGE] = n->cosines[JOINT_IMAGE], n->j.sines[JOINT_IMAGE] = n->sines[JOINT_IMAGE];
    n->j.rotary_stride[JOINT_TEXT] = T * D, n->j.rotary_stride[JOINT_IMAGE] = rows * D;
    return DIT_OK;
}

static dit_status take_text_buffers(const dit_model_params *params, nextdit *n)
{
    dit_arena *image = &params->rt->image;
    int64_t B = params->partition.batch, C = n->j.C, rows = B * n->captions;
    int64_t wide = 2 * n->inner > 3 * C ? 2 * n->inner : 3 * C;
    const dit_buffer buffers[] = {
        {image, &n->text_bias, rows, DIT_BUFFER_FP32},
        {image, &n->normed_text, B * n->St * n->text_dim, DIT_BUFFER_ACTIVATIONS},
        {image, &n->projected, B * n->St * C, DIT_BUFFER_ACTIVATIONS},
        {image, &n->text, rows * C, DIT_BUFFER_ACTIVATIONS},
        {image, &n->text_normed, rows * C, DIT_BUFFER_ACTIVATIONS},
        {image, &n->text_attended, rows * C, DIT_BUFFER_ACTIVATIONS},
        {image, &n->text_wide, rows * wide, DIT_BUFFER_ACTIVATIONS},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

dit_status nextdit_create(const dit_model_params *params, dit_model *model, const nextdit *settings)
{
    dit_runtime *rt = params->rt;
    const dit_facts *facts = &rt->facts;
    const dit_partition *part = &params->partition;
    int64_t own_inner = dit_tp_count(rt, settings->inner), multiple = facts->text_multiple;
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(nextdit), &memory));
    nextdit *n = model->state = memory;
    *n = *settings;
    n->St = facts->text_tokens;
    n->captions = part->text_tokens - (facts->image_tokens % multiple ? multiple : 0);
    n->j = (joint){.H = n->H, .D = n->D, .kv_heads = n->kv_heads, .eps = QK_EPS, .qk_norm = n->qk_norm};
    n->j.inner = 2 * own_inner * dit_tp_share(rt).of; /* room for the rank's gate and value */
    DIT_TRY(joint_create(model, &n->j));
    DIT_TRY(dit_arena_alloc(&rt->run, part->batch * (int64_t)sizeof *n->shown, &memory));
    n->shown = memory;
    DIT_TRY(load_weights(params, n));
    DIT_TRY(take_shared_buffers(params, n));
    if (takes_text(params, n)) DIT_TRY(take_text_buffers(params, n));
    model->timestep_divisor = 1000.0f;
    model->towards_image = model->linspace_sigmas = true;
    model->input_channels = model->output_channels = n->channels * n->patch * n->patch;
    model->needs[DIT_CONDITION_TEXT].elements = n->St * n->text_dim;
    model->needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = n->St, .optional = true};
    return joint_create_policy(params, n->j.heads, n->D, BIASES, &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

static bool is_kept(const nextdit *n, const float *mask, int64_t b, int64_t token)
{
    return !mask || mask[b * n->St + token] != 0.0f;
}

/* Counts the rows of a text that others see: its kept tokens, filled up. */
static int64_t count_shown(const dit_runtime *rt, const nextdit *n, const float *mask, int64_t b)
{
    int64_t kept = 0, multiple = rt->facts.text_multiple;
    for (int64_t i = 0; i < n->St; i++) kept += is_kept(n, mask, b, i);
    return (kept + multiple - 1) / multiple * multiple;
}

/* Makes the tables of the rows in ids. */
static void rotate(const dit_runtime *rt, const nextdit *n, int64_t rows, float *cosines, float *sines)
{
    (n->rounds_angles ? embed_rope_rounded : embed_rope)(rt, n->ids, rows, NEXTDIT_AXES, n->axes, n->theta, cosines,
                                                         sines);
}

/* The text's positions count in time, and the image follows as one frame behind them. What fills up the image is at 0, 0,
 * 0. Rows that are not shown are not rotated but zeroed. */
static void place_text(const dit_runtime *rt, const dit_partition *part, const nextdit *n, int64_t b)
{
    int64_t D = n->D, rows = dit_runtime_values(rt, part->text_tokens);
    float *cosines = n->cosines[JOINT_TEXT] + b * part->text_tokens * D;
    float *sines = n->sines[JOINT_TEXT] + b * part->text_tokens * D;
    for (int64_t i = 0; i < rows; i++) {
        float *id = n->ids + i * NEXTDIT_AXES;
        id[0] = i < n->captions ? (float)(n->first_position + i) : 0.0f;
        id[1] = id[2] = 0.0f;
    }
    rotate(rt, n, part->text_tokens, cosines, sines);
    for (int64_t i = n->shown[b]; i < n->captions && i < rows; i++) {
        memset(cosines + i * D, 0, (size_t)D * sizeof *cosines);
        memset(sines + i * D, 0, (size_t)D * sizeof *sines);
    }
}

static void place_image(const dit_model *model, const nextdit *n, int64_t b)
{
    const dit_partition *part = &model->params.partition;
    const dit_runtime *rt = model->params.rt;
    int64_t entry = b * part->image_count * n->D;
    embed_grid_ids(rt, part, &model->params.latent, n->ids);
    for (int64_t i = 0; i < dit_runtime_values(rt, part->image_count); i++)
        n->ids[i * NEXTDIT_AXES] = (float)(n->first_position + n->shown[b]);
    rotate(rt, n, part->image_count, n->cosines[JOINT_IMAGE] + entry, n->sines[JOINT_IMAGE] + entry);
}

/* Sets the biases of entry b: a text is seen where it is shown, by main layers alone; so many rows of the image's padding
 * as it takes are seen by all. In the text's refiners the first key counts where nothing is shown, so that no row is
 * without any. */
static void hide_rows(const dit_model *model, const nextdit *n, const float *mask, int64_t b)
{
    const dit_facts *facts = &model->params.rt->facts;
    int64_t T = model->params.partition.text_tokens, rest = facts->image_tokens % facts->text_multiple;
    int64_t seen = n->captions + (rest ? facts->text_multiple - rest : 0);
    for (int64_t i = 0; i < T; i++) {
        bool caption = i < n->captions;
        n->bias[MAIN_BIAS][b * T + i] = i < n->shown[b] || (!caption && i < seen) ? 0.0f : -INFINITY;
        n->bias[REFINER_BIAS][b * T + i] = !caption && i < seen ? 0.0f : -INFINITY;
    }
    for (int64_t i = 0; i < n->captions && n->text_bias; i++) {
        bool seen_by_text = n->keeps_places ? is_kept(n, mask, b, i) : i < n->shown[b];
        n->text_bias[b * n->captions + i] = seen_by_text || (!n->shown[b] && i == 0) ? 0.0f : -INFINITY;
    }
}

static dit_status place(dit_model *model, const float *mask)
{
    const nextdit *n = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    int64_t T = part->text_tokens, D = n->D, B = part->batch;
    for (int64_t b = 0; b < B; b++) {
        n->shown[b] = count_shown(rt, n, mask, b);
        place_text(rt, part, n, b);
        place_image(model, n, b);
        hide_rows(model, n, mask, b);
    }
    DIT_TRY(embed_put_rope(rt, n->cosines[JOINT_TEXT], n->sines[JOINT_TEXT], B * T * D));
    DIT_TRY(embed_put_rope(rt, n->cosines[JOINT_IMAGE], n->sines[JOINT_IMAGE], B * part->image_count * D));
    for (int i = 0; i < BIASES; i++) {
        dit_attention_use_text_bias(model->attention[0], i);
        DIT_TRY(dit_attention_set_text_bias(model->attention[0], n->bias[i], T));
    }
    return n->text_bias ? dit_runtime_upload(rt, n->text_bias, B * n->captions) : DIT_OK;
}

/* Returns one row, repeated. */
static dit_rows repeated(const float *row, int64_t batch, int64_t rows, int64_t cols)
{
    return (dit_rows){(float *)row, batch, rows, cols, 0, 0};
}

/* Copies the tokens of entry b of `projected` to the text: all, or the kept ones, one behind the other; the rest is
 * padding. */
static void gather_text(dit_runtime *rt, const nextdit *n, const float *mask, int64_t b)
{
    int64_t C = n->j.C, filled = 0;
    dit_rows from = rows_dense(n->projected + b * n->St * C, 1, n->St, C);
    dit_rows to = rows_dense(n->text + b * n->captions * C, 1, n->captions, C);
    if (n->keeps_places) mask = NULL;
    for (int64_t begin = 0, end; begin < n->St; begin = end + 1) {
        for (end = begin; end < n->St && is_kept(n, mask, b, end);) end++;
        if (end > begin) layer_copy(rt, rows_part(from, begin, end - begin), rows_part(to, filled, end - begin));
        filled += end - begin;
    }
    if (filled < n->captions)
        layer_copy(rt, repeated(n->text_padding, 1, n->captions - filled, C),
                   rows_part(to, filled, n->captions - filled));
}

static dit_layer_norm plain_norm(const nextdit *n, const nextdit_block *block, int which)
{
    return (dit_layer_norm){.kind = DIT_NORM_RMS, .eps = n->norm_eps, .weight = block->norms[which]};
}

/* Lets the text attend to itself, into text_attended. */
static void attend_text(dit_runtime *rt, const nextdit *n, const nextdit_block *block, int64_t B, int64_t T)
{
    int64_t C = n->j.C, kv = n->j.kv_heads * n->D, group = n->H / n->j.kv_heads;
    dit_rows wide = rows_dense(n->text_wide, B, n->captions, 3 * C), q = rows_columns(wide, 0, C);
    dit_rows few_k = rows_columns(wide, C, kv), k = rows_columns(wide, C, C), v = rows_columns(wide, 2 * C, C);
    dit_head_norm heads = {.H = n->H, .D = n->D, .kind = DIT_NORM_RMS, .eps = QK_EPS};
    heads.cos = n->cosines[JOINT_TEXT], heads.sin = n->sines[JOINT_TEXT], heads.rotary_stride = T * n->D;
    layer_linear(rt, &block->attention.qkv, rows_dense(n->text_normed, B, n->captions, C),
                 rows_columns(wide, 0, C + 2 * kv), DIT_ACT_NONE);
    heads.weight = block->attention.norm_q;
    layer_head_norm(rt, q, &heads);
    heads.weight = block->attention.norm_k, heads.H = n->j.kv_heads;
    layer_head_norm(rt, few_k, &heads);
    layer_spread_heads(rt, rows_columns(wide, C + kv, kv), v, n->D, group, 0);
    layer_spread_heads(rt, few_k, k, n->D, group, 0);
    layer_local_attention(rt, n->H, q, k, v, n->text_bias, rows_dense(n->text_attended, B, n->captions, C));
}

static dit_status refine_text(dit_model *model, const nextdit *n, int64_t index)
{
    dit_runtime *rt = model->params.rt;
    const nextdit_block *block = &n->text_blocks[index];
    int64_t B = model->params.partition.batch, C = n->j.C, rows = n->captions;
    dit_rows text = rows_dense(n->text, B, rows, C), normed = rows_dense(n->text_normed, B, rows, C);
    dit_rows wide = rows_dense(n->text_wide, B, rows, 2 * n->inner), gate = rows_columns(wide, 0, n->inner);
    dit_layer_norm norm = plain_norm(n, block, NEXTDIT_BEFORE);
    layer_norm(rt, text, normed, &norm);
    attend_text(rt, n, block, B, model->params.partition.text_tokens);
    norm = plain_norm(n, block, NEXTDIT_BEHIND);
    DIT_TRY(layer_joined_product(rt, &block->attention.out, rows_dense(n->text_attended, B, rows, C), normed.data));
    layer_normed_add(rt, normed.data, normed.data, &norm, text, NULL, 0);

    norm = plain_norm(n, block, NEXTDIT_BEFORE_MLP);
    layer_norm(rt, text, normed, &norm);
    layer_linear(rt, &block->in, normed, wide, DIT_ACT_NONE);
    layer_gate(rt, gate, rows_columns(wide, n->inner, n->inner), DIT_ACT_SILU);
    norm = plain_norm(n, block, NEXTDIT_BEHIND_MLP);
    DIT_TRY(layer_joined_product(rt, &block->down, gate, normed.data));
    layer_normed_add(rt, normed.data, normed.data, &norm, text, NULL, 0);
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, text, "aux.context_refiner_%lld", (long long)index);
}

dit_status nextdit_prepare(dit_model *model, const dit_condition *condition)
{
    nextdit *n = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = model->params.partition.batch;
    const float *mask = condition->at[DIT_CONDITION_TEXT_MASK];
    dit_rows normed = rows_dense(n->normed_text, B, n->St, n->text_dim);
    DIT_TRY(place(model, mask));
    if (!takes_text(&model->params, n)) return DIT_OK;
    layer_norm(rt, rows_dense((float *)condition->at[DIT_CONDITION_TEXT], B, n->St, n->text_dim), normed,
               &(dit_layer_norm){.kind = DIT_NORM_RMS, .eps = n->norm_eps, .weight = n->text_norm});
    layer_linear(rt, &n->text_in, normed, rows_dense(n->projected, B, n->St, n->j.C), DIT_ACT_NONE);
    for (int64_t b = 0; b < B; b++) gather_text(rt, n, mask, b);
    for (int64_t i = 0; i < n->refiners; i++) DIT_TRY(refine_text(model, n, i));
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

dit_status nextdit_begin(dit_model *model, const float *timestep)
{
    const nextdit *n = model->state;
    dit_runtime *rt = model->params.rt;
    int64_t B = model->params.partition.batch;
    ops_timestep(
        rt, &(dit_timestep_args){.count = B, .dim = SINUSOID, .t = timestep, .unit = n->time_unit, .y = n->sinusoid});
    embed_mlp_run(rt, &n->time, n->sinusoid, B, n->hidden, n->embedded);
    embed_activate(rt, DIT_ACT_SILU, n->embedded, B * n->condition_width, n->activated);
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(n->embedded, B, 1, n->condition_width), "aux.t_embedder");
}

/* Rows of text are the image's padding, whatever they will be later. */
dit_status nextdit_embed(dit_model *model, const float *latents)
{
    const nextdit *n = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows text = joint_x(&n->j, JOINT_TEXT), image = joint_x(&n->j, JOINT_IMAGE);
    layer_copy(rt, repeated(n->image_padding, text.batch, text.rows, text.cols), text);
    layer_linear(rt, &n->image_in, rows_dense((float *)latents, image.batch, image.rows, n->image_in.k), image,
                 DIT_ACT_NONE);
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, image, "aux.x_embedder");
}

static float *modulation_of(const nextdit *n, int chunk)
{
    return n->j.modulation[JOINT_IMAGE] + chunk * n->j.C;
}

/* Makes the block's scales and the tanh of its gates. */
static void modulate(dit_model *model, const nextdit *n, const nextdit_block *block)
{
    dit_runtime *rt = model->params.rt;
    int64_t B = model->view.batch, C = n->j.C;
    embed_linear(rt, &block->modulation, n->activates_condition ? n->activated : n->embedded, B,
                 modulation_of(n, SCALE));
    for (int64_t b = 0; b < B; b++)
        for (int chunk = GATE; chunk < CHUNKS; chunk += GATE_MLP - GATE) {
            float *gate = modulation_of(n, chunk) + b * CHUNKS * C;
            embed_activate(rt, DIT_ACT_TANH, gate, C, gate);
        }
}

static dit_layer_norm scaled_norm(const nextdit *n, const nextdit_block *block, int which, int chunk)
{
    dit_layer_norm norm = plain_norm(n, block, which);
    norm.scale = modulation_of(n, chunk), norm.modulation_stride = CHUNKS * n->j.C;
    return norm;
}

dit_status nextdit_attention_input(dit_model *model, float *out)
{
    const nextdit *n = model->state;
    dit_rows image = joint_x(&n->j, JOINT_IMAGE);
    dit_layer_norm norm = scaled_norm(n, &n->blocks[0], NEXTDIT_BEFORE, SCALE);
    modulate(model, n, &n->blocks[0]);
    layer_norm(model->params.rt, image, rows_dense(out, image.batch, image.rows, image.cols), &norm);
    return DIT_OK;
}

/* Puts the refined text where the image's refiners had rows that nobody saw. */
static void enter_text(dit_model *model, const nextdit *n)
{
    const dit_partition *part = &model->params.partition;
    int64_t count =
        n->captions - part->text_begin < part->text_count ? n->captions - part->text_begin : part->text_count;
    if (!model->window.text || count < 1) return;
    dit_rows text = rows_dense(n->text, part->batch, n->captions, n->j.C);
    layer_copy(model->params.rt, rows_part(text, part->text_begin, count),
               rows_part(joint_x(&n->j, JOINT_TEXT), 0, count));
}

static dit_status attend(dit_model *model, const nextdit *n, const nextdit_block *block)
{
    const joint *j = &n->j;
    dit_layer_norm norm = scaled_norm(n, block, NEXTDIT_BEFORE, SCALE);
    if (module_is_taken(model, DIT_MODULE_ATTENTION)) return DIT_OK;
    layer_norm(model->params.rt, joint_x(j, JOINT_BOTH), joint_normed(j, JOINT_BOTH), &norm);
    joint_project(model->params.rt, j, &block->attention, JOINT_BOTH);
    DIT_TRY(joint_tap_keys(model, j));
    DIT_TRY(joint_attend(model->attention[0], j, JOINT_BOTH, joint_attended(j, JOINT_BOTH)));
    return dit_tap_attended(model, &block->attention.out, joint_attended(j, JOINT_BOTH), j->view->text_count);
}

static dit_rows feed_forward(dit_model *model, const nextdit *n, const nextdit_block *block)
{
    const joint *j = &n->j;
    dit_runtime *rt = model->params.rt;
    int64_t own = j->own_inner / 2;
    dit_rows wide = rows_columns(joint_rows(j->view, JOINT_BOTH, j->wide, j->wide_cols), j->A, 2 * own);
    dit_rows gate = rows_columns(wide, 0, own);
    dit_layer_norm norm = scaled_norm(n, block, NEXTDIT_BEFORE_MLP, SCALE_MLP);
    if (module_is_taken(model, DIT_MODULE_MLP)) return gate;
    layer_norm(rt, joint_x(j, JOINT_BOTH), joint_normed(j, JOINT_BOTH), &norm);
    layer_linear(rt, &block->in, joint_normed(j, JOINT_BOTH), wide, DIT_ACT_NONE);
    layer_gate(rt, gate, rows_columns(wide, own, own), DIT_ACT_SILU);
    return gate;
}

/* x += tanh(gate) * norm(joined(from)). */
static dit_status add(dit_model *model, const nextdit *n, module_at at, const dit_joined *joined, dit_rows from,
                      int which, int chunk)
{
    const joint *j = &n->j;
    dit_layer_norm norm = plain_norm(n, &n->blocks[at.block], which);
    return module_add_normed(model, at, joined, from, joint_normed(j, JOINT_BOTH).data, &norm, joint_x(j, JOINT_BOTH),
                             modulation_of(n, chunk), CHUNKS * j->C);
}

dit_status nextdit_forward_block(dit_model *model, int64_t index)
{
    const nextdit *n = model->state;
    const nextdit_block *block = &n->blocks[index];
    bool refines = index < n->refiners;
    if (index == n->refiners) enter_text(model, n);
    dit_attention_use_text_bias(model->attention[0], refines ? REFINER_BIAS : MAIN_BIAS);
    modulate(model, n, block);
    DIT_TRY(attend(model, n, block));
    DIT_TRY(add(model, n, (module_at){index, DIT_MODULE_ATTENTION, MODULE_IMAGE}, &block->attention.out,
                joint_attended(&n->j, JOINT_BOTH), NEXTDIT_BEHIND, GATE));
    dit_rows hidden = feed_forward(model, n, block);
    DIT_TRY(add(model, n, (module_at){index, DIT_MODULE_MLP, MODULE_IMAGE}, &block->down, hidden, NEXTDIT_BEHIND_MLP,
                GATE_MLP));
    return joint_tap(model, n->j.x, n->j.C, refines ? "aux.noise_refiner" : "block",
                     refines ? index : index - n->refiners);
}

dit_status nextdit_head(dit_model *model, float *output)
{
    const nextdit *n = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows normed = joint_normed(&n->j, JOINT_IMAGE);
    embed_linear(rt, &n->head_scale, n->activated, normed.batch, modulation_of(n, 0));
    layer_norm(rt, joint_x(&n->j, JOINT_IMAGE), normed,
               &(dit_layer_norm){.eps = HEAD_EPS, .scale = modulation_of(n, 0), .modulation_stride = n->j.C});
    layer_linear(rt, &n->head, normed, rows_dense(output, normed.batch, normed.rows, n->head.n), DIT_ACT_NONE);
    return DIT_OK;
}
