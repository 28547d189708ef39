#include "engine/models/crossed.h"

enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP };

dit_status crossed_take(dit_model *model, crossed *s)
{
    dit_runtime *rt = model->params.rt;
    int64_t C = s->C, B = s->B, rows = B * s->n, wide = s->inner > 3 * s->A ? s->inner : 3 * s->A;
    const dit_buffer buffers[] = {
        {&rt->step, &s->x, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &s->normed, rows * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &s->attended, rows * s->A, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &s->wide, rows * wide, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &s->sinusoid, B * s->frequencies, DIT_BUFFER_FP32},
        {&rt->step, &s->hidden, B * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &s->embedded, B * C, DIT_BUFFER_FP32},
        {&rt->step, &s->activated, B * C, DIT_BUFFER_ACTIVATIONS},
        {&rt->step, &s->modulated, B * CROSSED_MODULATIONS * C, DIT_BUFFER_FP32},
        {&rt->step, &s->gates, B * CROSSED_MODULATIONS * C, DIT_BUFFER_FP32},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    model->stream = s->x, model->width = C, model->time_embedding = s->embedded;
    return DIT_OK;
}

void crossed_begin(dit_runtime *rt, const crossed *s, const float *timestep)
{
    embed_timestep(rt, timestep, s->B, s->frequencies, s->sinusoid);
    embed_mlp_run(rt, &s->timestep_mlp, s->sinusoid, s->B, s->hidden, s->embedded);
    embed_activate(rt, DIT_ACT_SILU, s->embedded, s->B * s->C, s->activated);
    embed_linear(rt, &s->modulation, s->activated, s->B, s->modulated);
}

static dit_layer_norm modulated_norm(const crossed *s, int shift, int scale)
{
    return (dit_layer_norm){.kind = s->norm,
                            .eps = s->eps,
                            .shift = s->gates + shift * s->C,
                            .scale = s->gates + scale * s->C,
                            .modulation_stride = CROSSED_MODULATIONS * s->C};
}

/* Modulates by the block's table; the gates are valid until the next call. */
static void modulate(dit_runtime *rt, const crossed *s, const crossed_block *block)
{
    layer_modulation(rt, s->modulated, block->table, s->B, CROSSED_MODULATIONS * s->C, s->gates);
}

void crossed_norm(dit_runtime *rt, const crossed *s, const crossed_block *block, dit_rows x, dit_rows y)
{
    dit_layer_norm norm = modulated_norm(s, SHIFT_MSA, SCALE_MSA);
    modulate(rt, s, block);
    layer_norm(rt, x, y, &norm);
}

dit_status crossed_forward(dit_model *model, const crossed *s, const crossed_block *block, int64_t index,
                           crossed_attention self_attention, crossed_attention cross_attention)
{
    dit_runtime *rt = model->params.rt;
    int64_t C = s->C, stride = CROSSED_MODULATIONS * C;
    dit_rows x = rows_window(model, s->x, C), normed = rows_window(model, s->normed, C);
    dit_rows attended = rows_window(model, s->attended, s->A);
    dit_layer_norm before_mlp = modulated_norm(s, SHIFT_MLP, SCALE_MLP);

    if (module_is_taken(model, DIT_MODULE_ATTENTION))
        modulate(rt, s, block);
    else
        DIT_TRY(self_attention(model, index, x, attended));
    if (index == 0) DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->out, attended, "aux.block_0.attn1"));
    DIT_TRY(dit_tap_attended(model, &block->out, attended, 0));
    DIT_TRY(module_add(model, (module_at){index, DIT_MODULE_ATTENTION, MODULE_IMAGE}, &block->out, attended, x,
                       s->gates + GATE_MSA * C, stride));

    if (!module_is_taken(model, DIT_MODULE_CROSS)) DIT_TRY(cross_attention(model, index, x, attended));
    if (index == 0) DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->cross_out, attended, "aux.block_0.attn2"));
    DIT_TRY(
        module_add(model, (module_at){index, DIT_MODULE_CROSS, MODULE_IMAGE}, &block->cross_out, attended, x, NULL, 0));

    if (!module_is_taken(model, DIT_MODULE_MLP)) layer_norm(rt, x, normed, &before_mlp);
    DIT_TRY(module_add_mlp(model, (module_at){index, DIT_MODULE_MLP, MODULE_IMAGE}, &block->mlp, normed,
                           rows_window(model, s->wide, s->inner), x, s->gates + GATE_MLP * C, stride));
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "block_%lld", (long long)index);
}

void crossed_head(dit_model *model, const crossed *s, const dit_linear *proj_out, float *output)
{
    dit_runtime *rt = model->params.rt;
    int64_t C = s->C;
    dit_rows x = rows_window(model, s->x, C), normed = rows_window(model, s->normed, C);
    float *shift = s->gates, *scale = s->gates + s->B * C;
    layer_modulation(rt, s->embedded, s->table, s->B, C, shift);
    layer_modulation(rt, s->embedded, s->table + C, s->B, C, scale);
    layer_norm(rt, x, normed,
               &(dit_layer_norm){.eps = s->last_eps, .shift = shift, .scale = scale, .modulation_stride = C});
    embed_linear(rt, proj_out, s->normed, x.batch * x.rows, output);
}
