#include "engine/models/token_refiner.h"

#include <math.h>

enum { RATIO = 4 };
enum { GATE_MSA, GATE_MLP, CHUNKS };

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_block(const dit_scope *s, const joint *j, token_refiner_block *block)
{
    int64_t C = j->C;
    joint plain = *j;
    plain.qk_norm = false;
    DIT_TRY(scope_affine(s, "norm1", C, &block->norm_weight[0], &block->norm_bias[0]));
    DIT_TRY(scope_affine(s, "norm2", C, &block->norm_weight[1], &block->norm_bias[1]));
    DIT_TRY(joint_load_attention(s, &plain, "attn", JOINT_IMAGE, true, &block->attention));
    DIT_TRY(scope_mlp(s, "ff", C, RATIO * C, &block->mlp));
    block->mlp.activation = DIT_ACT_SILU;
    return scope_linear(s, "norm_out.linear", CHUNKS * C, C, &block->modulation);
}

dit_status token_refiner_load(const dit_model_params *params, const joint *j, token_refiner *r)
{
    dit_scope s = scope_of(params, "context_embedder."), block;
    dit_scope time_text = scope_under(&s, "time_text_embed");
    void *memory;
    DIT_TRY(dit_arena_alloc(&params->rt->run, r->count * (int64_t)sizeof *r->blocks, &memory));
    r->blocks = memory;
    DIT_TRY(scope_linear(&s, "proj_in", r->C, r->text_dim, &r->text_in));
    DIT_TRY(embed_combined_create(&time_text, &r->time_text));
    for (int64_t i = 0; i < r->count; i++) {
        block = scope_of(params, "context_embedder.token_refiner.refiner_blocks.%lld.", (long long)i);
        block = scope_whole(&block);
        DIT_TRY(load_block(&block, j, &r->blocks[i]));
    }
    return DIT_OK;
}

dit_status token_refiner_take(const dit_model_params *params, token_refiner *r)
{
    dit_arena *image = &params->rt->image, *step = &params->rt->step;
    int64_t text = r->B * r->St;
    const dit_buffer buffers[] = {
        {image, &r->bias, text, DIT_BUFFER_FP32},
        {image, &r->mean, r->B * r->text_dim, DIT_BUFFER_ACTIVATIONS},
        {image, &r->projected, text * r->C, DIT_BUFFER_ACTIVATIONS},
        {step, &r->text, text * r->C, DIT_BUFFER_ACTIVATIONS},
        {step, &r->text_normed, text * r->C, DIT_BUFFER_ACTIVATIONS},
        {step, &r->text_attended, text * r->C, DIT_BUFFER_ACTIVATIONS},
        {step, &r->text_wide, text * RATIO * r->C, DIT_BUFFER_ACTIVATIONS},
        {step, &r->gates, r->B * CHUNKS * r->C, DIT_BUFFER_FP32},
    };
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

bool token_refiner_keeps(const token_refiner *r, int64_t b, int64_t token)
{
    return !r->mask || r->mask[b * r->St + token] != 0.0f;
}

/* Hides masked keys of an entry. A row must have a key to attend to: the first one always counts where padding sees it,
 * and all do where none is kept. */
static void hide_masked(const token_refiner *r, int64_t b, int64_t kept)
{
    for (int64_t i = 0; i < r->St; i++) {
        bool counts = token_refiner_keeps(r, b, i) || kept == 0 || (i == 0 && r->padding_sees_first);
        r->bias[b * r->St + i] = counts ? 0.0f : -INFINITY;
    }
}

dit_status token_refiner_read(dit_runtime *rt, token_refiner *r, const float *text, const float *mask)
{
    r->mask = mask;
    for (int64_t b = 0; b < r->B; b++) {
        int64_t kept = 0;
        for (int64_t i = 0; i < r->St; i++) kept += token_refiner_keeps(r, b, i);
        hide_masked(r, b, kept);
        for (int64_t channel = 0; channel < dit_runtime_values(rt, r->text_dim); channel++) {
            double sum = 0;
            for (int64_t i = 0; i < r->St; i++)
                if (token_refiner_keeps(r, b, i)) sum += (double)text[(b * r->St + i) * r->text_dim + channel];
            r->mean[b * r->text_dim + channel] = kept ? (float)(sum / (double)kept) : 0.0f;
        }
    }
    DIT_TRY(dit_runtime_upload(rt, r->bias, r->B * r->St));
    return dit_runtime_upload(rt, r->mean, r->B * r->text_dim);
}

void token_refiner_prepare(dit_runtime *rt, token_refiner *r, const float *text)
{
    embed_linear(rt, &r->text_in, text, r->B * r->St, r->projected);
    embed_combined_prepare(rt, &r->time_text, r->mean, NULL);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* Writes the attention of padding rows: they see only the first key, so it is this key's value. */
static void attend_padding(dit_runtime *rt, const token_refiner *r, dit_rows v, dit_rows attended)
{
    for (int64_t b = 0; b < r->B && r->padding_sees_first; b++) {
        dit_rows first = rows_part(rows_entry(v, b), 0, 1);
        first.ld = 0; /* repeats one row */
        for (int64_t begin = 0, end; begin < r->St; begin = end + 1) {
            for (end = begin; end < r->St && !token_refiner_keeps(r, b, end);) end++;
            if (end > begin) layer_copy(rt, first, rows_part(rows_entry(attended, b), begin, end - begin));
        }
    }
}

static dit_status refine(dit_model *model, token_refiner *r, int64_t index)
{
    dit_runtime *rt = model->params.rt;
    const token_refiner_block *block = &r->blocks[index];
    int64_t B = r->B, C = r->C, stride = CHUNKS * C;
    dit_rows text = rows_dense(r->text, B, r->St, C), normed = rows_dense(r->text_normed, B, r->St, C);
    dit_rows attended = rows_dense(r->text_attended, B, r->St, C), qkv = rows_dense(r->text_wide, B, r->St, 3 * C);
    dit_rows q = rows_columns(qkv, 0, C), k = rows_columns(qkv, C, C), v = rows_columns(qkv, 2 * C, C);
    dit_layer_norm norm = {.eps = r->eps, .weight = block->norm_weight[0], .bias = block->norm_bias[0]};
    embed_linear(rt, &block->modulation, r->time_text.activated, B, r->gates);

    layer_norm(rt, text, normed, &norm);
    layer_linear(rt, &block->attention.qkv, normed, qkv, DIT_ACT_NONE);
    layer_local_attention(rt, r->H, q, k, v, r->bias, attended);
    attend_padding(rt, r, v, attended);
    DIT_TRY(layer_joined_add(rt, &block->attention.out, attended, text, r->gates + GATE_MSA * C, stride));

    norm.weight = block->norm_weight[1], norm.bias = block->norm_bias[1];
    layer_norm(rt, text, normed, &norm);
    DIT_TRY(layer_mlp_add(rt, &block->mlp, normed, rows_dense(r->text_wide, B, r->St, RATIO * C), text,
                          r->gates + GATE_MLP * C, stride));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, text, "aux.refiner_block_%lld", (long long)index);
}

dit_status token_refiner_run(dit_model *model, token_refiner *r)
{
    dit_rows text = rows_dense(r->text, r->B, r->St, r->C);
    layer_copy(model->params.rt, rows_dense(r->projected, r->B, r->St, r->C), text);
    for (int64_t i = 0; i < r->count; i++) DIT_TRY(refine(model, r, i));
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, text, "aux.context_embedder");
}
