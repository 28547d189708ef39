#include "engine/models/joint.h"

#include "engine/models/embed.h"

/* ---- two streams in one buffer ----------------------------------------------------------------------------------- */

dit_rows joint_rows(const dit_partition *partition, joint_part part, float *buffer, int64_t cols)
{
    int64_t text = partition->text_count, image = partition->image_count;
    dit_rows both = rows_dense(buffer, partition->batch, text + image, cols);
    if (part == JOINT_BOTH) return both;
    return part == JOINT_TEXT ? rows_part(both, 0, text) : rows_part(both, text, image);
}

dit_status joint_create_policy(const dit_model_params *params, int64_t heads, int64_t D, int text_biases,
                               dit_attention **out)
{
    const dit_partition *partition = &params->partition;
    dit_attention_shape shape = {.B = partition->batch,
                                 .H = heads,
                                 .D = D,
                                 .calls = params->stage.blocks.count,
                                 .tokens = partition->text_count + partition->image_count,
                                 .text = partition->text_count,
                                 .replicated = partition->text_replicated,
                                 .text_biases = text_biases};
    return dit_attention_create(params->rt, params->attention, &shape, out);
}

void joint_project_text(dit_runtime *rt, const dit_partition *partition, const dit_linear *linear, const float *text,
                        float *out)
{
    dit_rows whole = rows_dense((float *)text, partition->batch, partition->text_tokens, linear->k);
    layer_linear(rt, linear, rows_part(whole, partition->text_begin, partition->text_count),
                 rows_dense(out, partition->batch, partition->text_count, linear->n), DIT_ACT_NONE);
}

dit_status joint_tap(dit_model *model, float *x, int64_t C, const char *kind, int64_t index)
{
    const dit_partition *partition = &model->view;
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, joint_rows(partition, JOINT_IMAGE, x, C), "%s_%lld", kind,
                         (long long)index));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, joint_rows(partition, JOINT_TEXT, x, C), "%s_%lld_context", kind,
                        (long long)index);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

dit_range joint_kv_heads(const joint *j, dit_share share)
{
    int64_t group = j->H / j->kv_heads, begin = share_begin(share, j->H), end = begin + share_count(share, j->H);
    return (dit_range){begin / group, (end + group - 1) / group - begin / group};
}

dit_status joint_create(dit_model *model, joint *j)
{
    dit_runtime *rt = model->params.rt;
    j->model = model, j->view = &model->view, j->window = &model->window;
    j->C = j->H * j->D;
    if (!j->kv_heads) j->kv_heads = j->H;
    j->own_kv = joint_kv_heads(j, dit_tp_share(rt));
    j->heads = dit_tp_count(rt, j->H), j->A = j->heads * j->D, j->own_inner = dit_tp_count(rt, j->inner);
    int64_t hidden = (j->gated ? 2 : 1) * j->own_inner;
    j->wide_cols = j->A + (hidden > 3 * j->A ? hidden : 3 * j->A);
    int64_t B = j->view->batch, rows = B * (j->view->text_count + j->view->image_count);
    DIT_TRY(dit_tp_reserve(rt, rows * j->C, 0));
    const dit_buffer buffers[] = {
        {&rt->step, &j->x, rows * j->C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &j->normed, rows * j->C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &j->wide, rows * j->wide_cols, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &j->modulation[JOINT_TEXT], B * JOINT_MAX_CHUNKS * j->C, DIT_BUFFER_FP32},
        {&rt->step, &j->modulation[JOINT_IMAGE], B * JOINT_MAX_CHUNKS * j->C, DIT_BUFFER_FP32},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    model->stream = j->x, model->width = j->C;
    return DIT_OK;
}

/* The library's names for the layers of an attention over a block's two streams; they follow the attention's name. */
static const struct {
    const char *qkv[3], *out, *norm_q, *norm_k;
} names[JOINT_STREAMS] = {
    [JOINT_TEXT] = {{"add_q_proj", "add_k_proj", "add_v_proj"},
                    "to_add_out",
                    "norm_added_q.weight",
                    "norm_added_k.weight"},
    [JOINT_IMAGE] = {{"to_q", "to_k", "to_v"}, "to_out.0", "norm_q.weight", "norm_k.weight"},
};
static const joint_stream_names usual_names[JOINT_STREAMS] = {
    [JOINT_TEXT] = {"norm1_context.linear", "ff_context"},
    [JOINT_IMAGE] = {"norm1.linear", "ff"},
};

dit_status joint_load_attention(const dit_scope *block, const joint *j, const char *name, joint_part part, bool has_out,
                                joint_attention *attention)
{
    dit_scope s = scope_under(block, name);
    dit_range own = joint_kv_heads(j, s.share);
    own.first *= j->D, own.count *= j->D;
    DIT_TRY(scope_qkv(&s, names[part].qkv, j->C, j->kv_heads * j->D, own, j->C, &attention->qkv));
    if (has_out) DIT_TRY(scope_joined(&s, names[part].out, j->C, j->C, 0, &attention->out));
    if (!j->qk_norm) return DIT_OK;
    DIT_TRY(scope_vector(&s, names[part].norm_q, j->D, DIT_INIT_NORM, &attention->norm_q));
    return scope_vector(&s, names[part].norm_k, j->D, DIT_INIT_NORM, &attention->norm_k);
}

dit_status joint_load_stream(const dit_scope *block, const joint *j, joint_part part, int chunks, joint_stream *stream)
{
    bool last = chunks == JOINT_LAST_CHUNKS;
    const joint_stream_names *own = &(j->stream_names ? j->stream_names : usual_names)[part];
    stream->part = part, stream->chunks = chunks;
    if (!j->shared[part]) DIT_TRY(scope_linear(block, own->modulation, chunks * j->C, j->C, &stream->modulation));
    DIT_TRY(joint_load_attention(block, j, "attn", part, !last, &stream->attention));
    if (!last && j->gated) return scope_gated_mlp(block, own->mlp, j->C, j->inner, &stream->mlp);
    return last ? DIT_OK : scope_mlp(block, own->mlp, j->C, j->inner, &stream->mlp);
}

dit_status joint_load_blocks(const dit_model_params *params, const joint *j, int64_t count, joint_block **out)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&params->rt->run, count * (int64_t)sizeof **out, &memory));
    *out = memory;
    for (int64_t i = 0; i < count; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope s = scope_of(params, "transformer_blocks.%lld.", (long long)i);
        DIT_TRY(joint_load_stream(&s, j, JOINT_IMAGE, JOINT_CHUNKS, &(*out)[i].image));
        DIT_TRY(joint_load_stream(&s, j, JOINT_TEXT, JOINT_CHUNKS, &(*out)[i].text));
        (*out)[i].image.index = (*out)[i].text.index = i;
    }
    return DIT_OK;
}

static dit_status load_single(const dit_scope *block, const joint *j, joint_stream *stream)
{
    stream->part = JOINT_BOTH, stream->chunks = JOINT_SINGLE_CHUNKS;
    stream->mlp.activation = DIT_ACT_GELU_TANH;
    DIT_TRY(scope_linear(block, "norm.linear", JOINT_SINGLE_CHUNKS * j->C, j->C, &stream->modulation));
    DIT_TRY(joint_load_attention(block, j, "attn", JOINT_IMAGE, false, &stream->attention));
    DIT_TRY(scope_shared(block, (const char *const[]){"proj_mlp", NULL}, j->inner, j->C, &stream->mlp.in));
    return scope_joined(block, "proj_out", j->C, j->C, j->inner, &stream->attention.out);
}

/* One layer projects q, k, v and both halves of the MLP's input. */
static dit_status load_gated_single(const dit_scope *block, const joint *j, joint_stream *stream)
{
    dit_scope s = scope_under(block, "attn");
    int64_t whole = 3 * j->C + 2 * j->inner;
    stream->part = JOINT_BOTH, stream->chunks = JOINT_SINGLE_CHUNKS;
    stream->mlp.activation = DIT_ACT_SILU;
    DIT_TRY(scope_groups(&s, "to_qkv_mlp_proj", whole, 0, j->C, 3, j->C, &stream->attention.qkv));
    DIT_TRY(scope_groups(&s, "to_qkv_mlp_proj", whole, 3 * j->C, j->inner, 2, j->C, &stream->mlp.in));
    DIT_TRY(scope_vector(&s, "norm_q.weight", j->D, DIT_INIT_NORM, &stream->attention.norm_q));
    DIT_TRY(scope_vector(&s, "norm_k.weight", j->D, DIT_INIT_NORM, &stream->attention.norm_k));
    return scope_joined(&s, "to_out", j->C, j->C, j->inner, &stream->attention.out);
}

dit_status joint_load_singles(const dit_model_params *params, const joint *j, int64_t doubles, int64_t count,
                              joint_stream **out)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&params->rt->run, count * (int64_t)sizeof **out, &memory));
    *out = memory;
    for (int64_t i = 0; i < count; i++) {
        if (!dit_stage_has(params, doubles + i)) continue;
        dit_scope s = scope_of(params, "single_transformer_blocks.%lld.", (long long)i);
        DIT_TRY((j->gated ? load_gated_single : load_single)(&s, j, &(*out)[i]));
        (*out)[i].index = doubles + i;
    }
    return DIT_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

dit_rows joint_x(const joint *j, joint_part part)
{
    return joint_rows(j->view, part, j->x, j->C);
}

dit_rows joint_normed(const joint *j, joint_part part)
{
    return joint_rows(j->view, part, j->normed, j->C);
}

static dit_rows wide_columns(const joint *j, joint_part part, int64_t first, int64_t count)
{
    return rows_columns(joint_rows(j->view, part, j->wide, j->wide_cols), first, count);
}

dit_rows joint_attended(const joint *j, joint_part part)
{
    return wide_columns(j, part, 0, j->A);
}

/* Returns q, k or v: columns [index A, (index + 1) A). */
static dit_rows projected(const joint *j, joint_part part, int index)
{
    return wide_columns(j, part, (1 + index) * j->A, j->A);
}

/* Returns the buffer in which a block makes its modulation. */
static float *own_modulation(const joint *j, joint_part part)
{
    return j->modulation[part == JOINT_TEXT ? JOINT_TEXT : JOINT_IMAGE];
}

static const float *modulation_of(const joint *j, joint_part part)
{
    return j->shared[part] ? j->shared[part] : own_modulation(j, part);
}

static void modulated_norm(dit_runtime *rt, const joint *j, joint_part part, const float *modulation, int chunks,
                           int shift, int scale)
{
    layer_norm(rt, joint_x(j, part), joint_normed(j, part),
               &(dit_layer_norm){.eps = j->eps,
                                 .shift = modulation + shift * j->C,
                                 .scale = modulation + scale * j->C,
                                 .modulation_stride = chunks * j->C});
}

void joint_norm(dit_runtime *rt, const joint *j, const joint_stream *stream, int shift, int scale)
{
    modulated_norm(rt, j, stream->part, modulation_of(j, stream->part), stream->chunks, shift, scale);
}

/* Returns where the rows of the window begin in a table of a stream's positions. */
static const float *place_in(const joint *j, joint_part stream, const float *table)
{
    return table && stream == JOINT_IMAGE ? table + j->window->first * j->D : table;
}

/* Normalises and rotates each of `heads` heads of q or k; every stream has its own positions. */
static void norm_heads(dit_runtime *rt, const joint *j, joint_part part, int index, int64_t heads, const float *weight)
{
    for (joint_part stream = JOINT_TEXT; stream < JOINT_STREAMS; stream++)
        if (part == stream || part == JOINT_BOTH)
            layer_head_norm(rt, wide_columns(j, stream, (1 + index) * j->A, heads * j->D),
                            &(dit_head_norm){.H = heads,
                                             .D = j->D,
                                             .kind = DIT_NORM_RMS,
                                             .eps = j->eps,
                                             .weight = weight,
                                             .cos = place_in(j, stream, j->cosines[stream]),
                                             .sin = place_in(j, stream, j->sines[stream]),
                                             .rotary_stride = j->rotary_stride[stream]});
}

void joint_project(dit_runtime *rt, const joint *j, const joint_attention *attention, joint_part part)
{
    int64_t kv = j->own_kv.count * j->D, group = j->H / j->kv_heads;
    int64_t first = share_begin(dit_tp_share(rt), j->H) - j->own_kv.first * group; /* in the group of the first head */
    layer_linear(rt, &attention->qkv, joint_normed(j, part), wide_columns(j, part, j->A, j->A + 2 * kv), DIT_ACT_NONE);
    norm_heads(rt, j, part, 0, j->heads, attention->norm_q);
    norm_heads(rt, j, part, 1, j->own_kv.count, attention->norm_k);
    layer_spread_heads(rt, wide_columns(j, part, 2 * j->A + kv, kv), projected(j, part, 2), j->D, group, first);
    layer_spread_heads(rt, wide_columns(j, part, 2 * j->A, kv), projected(j, part, 1), j->D, group, first);
}

void joint_modulate(dit_runtime *rt, const joint *j, const joint_stream *stream)
{
    if (!j->shared[stream->part])
        embed_linear(rt, &stream->modulation, j->activated, j->view->batch, own_modulation(j, stream->part));
}

static void norm_before_attention(dit_runtime *rt, const joint *j, const joint_stream *stream)
{
    bool last = stream->chunks == JOINT_LAST_CHUNKS;
    joint_modulate(rt, j, stream);
    joint_norm(rt, j, stream, last ? JOINT_LAST_SHIFT : JOINT_SHIFT, last ? JOINT_LAST_SCALE : JOINT_SCALE);
}

void joint_attention_input(dit_runtime *rt, const joint *j, const joint_stream *stream, float *out)
{
    dit_rows image = joint_normed(j, JOINT_IMAGE);
    norm_before_attention(rt, j, stream);
    layer_copy(rt, image, rows_dense(out, image.batch, image.rows, image.cols));
}

void joint_before_attention(dit_runtime *rt, const joint *j, const joint_stream *stream)
{
    norm_before_attention(rt, j, stream);
    joint_project(rt, j, &stream->attention, stream->part);
}

dit_status joint_attend(dit_attention *policy, const joint *j, joint_part part, dit_rows out)
{
    return layer_sequence_attention(policy, projected(j, part, 0), projected(j, part, 1), projected(j, part, 2), out);
}

dit_status joint_add(const joint *j, const joint_stream *stream, dit_module kind, bool second, const dit_joined *joined,
                     dit_rows from, int gate)
{
    const module_at at = {stream->index, kind,
                          second                       ? MODULE_SECOND
                          : stream->part == JOINT_TEXT ? MODULE_TEXT
                                                       : MODULE_IMAGE};
    return module_add(j->model, at, joined, from, joint_x(j, stream->part),
                      modulation_of(j, stream->part) + gate * j->C, stream->chunks * j->C);
}

dit_status joint_add_attention(const joint *j, const joint_stream *stream)
{
    return joint_add(j, stream, DIT_MODULE_ATTENTION, false, &stream->attention.out, joint_attended(j, stream->part),
                     JOINT_GATE);
}

/* Writes the MLP's hidden rows behind the attention's: activation(in(normed)), or activation(gate) * value. */
static void make_hidden(dit_runtime *rt, const joint *j, const joint_stream *stream)
{
    int64_t inner = j->own_inner;
    dit_rows normed = joint_normed(j, stream->part), hidden = wide_columns(j, stream->part, j->A, inner);
    if (!j->gated) {
        layer_linear(rt, &stream->mlp.in, normed, hidden, stream->mlp.activation);
        return;
    }
    layer_linear(rt, &stream->mlp.in, normed, wide_columns(j, stream->part, j->A, 2 * inner), DIT_ACT_NONE);
    layer_gate(rt, hidden, wide_columns(j, stream->part, j->A + inner, inner), stream->mlp.activation);
}

dit_status joint_add_mlp(dit_runtime *rt, const joint *j, const joint_stream *stream)
{
    dit_rows hidden = wide_columns(j, stream->part, j->A, j->own_inner);
    if (!module_is_taken(j->model, DIT_MODULE_MLP)) {
        joint_norm(rt, j, stream, JOINT_SHIFT_MLP, JOINT_SCALE_MLP);
        make_hidden(rt, j, stream);
    }
    return joint_add(j, stream, DIT_MODULE_MLP, false, &stream->mlp.out, hidden, JOINT_GATE_MLP);
}

dit_status joint_add_parallel(dit_runtime *rt, const joint *j, const joint_stream *stream)
{
    joint_part part = stream->part;
    if (!module_is_taken(j->model, DIT_MODULE_FUSED)) make_hidden(rt, j, stream);
    return joint_add(j, stream, DIT_MODULE_FUSED, false, &stream->attention.out,
                     wide_columns(j, part, 0, j->A + j->own_inner), JOINT_GATE);
}

dit_status joint_tap_attention(dit_model *model, const joint *j, const joint_block *block)
{
    DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->image.attention.out, joint_attended(j, JOINT_IMAGE),
                           "aux.block_0.attn.0"));
    if (block->text.chunks == JOINT_LAST_CHUNKS) return DIT_OK;
    return dit_tap_joined(model, DIT_LAYOUT_TEXT, &block->text.attention.out, joint_attended(j, JOINT_TEXT),
                          "aux.block_0.attn.1");
}

dit_status joint_tap_keys(dit_model *model, const joint *j)
{
    return dit_tap_keys(model, projected(j, JOINT_BOTH, 1), projected(j, JOINT_BOTH, 2), j->view->text_count);
}

dit_status joint_tap_attended(dit_model *model, const joint *j, const joint_block *block)
{
    DIT_TRY(dit_tap_attended(model, &block->image.attention.out, joint_attended(j, JOINT_IMAGE), 0));
    if (block->text.chunks == JOINT_LAST_CHUNKS || !j->view->text_count) return DIT_OK;
    return dit_tap_attended(model, &block->text.attention.out, joint_attended(j, JOINT_TEXT), j->view->text_count);
}

dit_status joint_tap_attended_raw(dit_model *model, const joint *j)
{
    return dit_tap_layer_rows(model, DIT_TAP_ATTENTION, joint_attended(j, JOINT_BOTH), j->view->text_count);
}

dit_status joint_attend_double(dit_model *model, const joint *j, const joint_block *block)
{
    dit_runtime *rt = model->params.rt;
    if (module_is_taken(model, DIT_MODULE_ATTENTION)) {
        joint_modulate(rt, j, &block->image);
        joint_modulate(rt, j, &block->text);
        return DIT_OK;
    }
    joint_before_attention(rt, j, &block->image);
    joint_before_attention(rt, j, &block->text);
    DIT_TRY(joint_tap_keys(model, j));
    return joint_attend(model->attention[0], j, JOINT_BOTH, joint_attended(j, JOINT_BOTH));
}

dit_status joint_attend_single(dit_model *model, const joint *j, const joint_stream *stream)
{
    if (module_is_taken(model, DIT_MODULE_FUSED)) {
        joint_modulate(model->params.rt, j, stream);
        return DIT_OK;
    }
    joint_before_attention(model->params.rt, j, stream);
    DIT_TRY(joint_tap_keys(model, j));
    return joint_attend(model->attention[0], j, JOINT_BOTH, joint_attended(j, JOINT_BOTH));
}

dit_status joint_double_block(dit_model *model, const joint *j, const joint_block *block, bool tapped)
{
    dit_runtime *rt = model->params.rt;
    DIT_TRY(joint_attend_double(model, j, block));
    if (tapped) DIT_TRY(joint_tap_attention(model, j, block));
    DIT_TRY(joint_tap_attended(model, j, block));
    DIT_TRY(joint_add_attention(j, &block->image));
    DIT_TRY(joint_add_attention(j, &block->text));
    DIT_TRY(joint_add_mlp(rt, j, &block->image));
    return joint_add_mlp(rt, j, &block->text);
}

void joint_head(dit_runtime *rt, const joint *j, const dit_linear *modulation, const dit_linear *linear, float *output)
{
    dit_rows normed = joint_normed(j, JOINT_IMAGE);
    embed_linear(rt, modulation, j->activated, normed.batch, own_modulation(j, JOINT_IMAGE));
    modulated_norm(rt, j, JOINT_IMAGE, own_modulation(j, JOINT_IMAGE), JOINT_LAST_CHUNKS, JOINT_LAST_SHIFT,
                   JOINT_LAST_SCALE);
    layer_linear(rt, linear, normed, rows_dense(output, normed.batch, normed.rows, linear->n), DIT_ACT_NONE);
}
