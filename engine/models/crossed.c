#include "engine/models/crossed.h"

enum { SHIFT_MSA, SCALE_MSA, GATE_MSA, SHIFT_MLP, SCALE_MLP, GATE_MLP };

dit_status crossed_hold(dit_model *model, bool beside)
{
    const dit_runtime *rt = model->params.rt;
    if (!rt->facts.held_tokens) return DIT_OK;
    if (beside)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "a clip of this model takes its first frame beside the latents, not in place of them");
    model->needs[DIT_CONDITION_FIRST_FRAME].elements = rt->facts.image_tokens * rt->facts.token_channels;
    return DIT_OK;
}

/* ---- what the step says ------------------------------------------------------------------------------------------ */

/* Takes what the rows that are held need: as the step's, but of one time for all batch entries and all steps. */
static dit_status take_held(dit_model *model, crossed_held *h, int64_t C)
{
    dit_runtime *rt = model->params.rt;
    const dit_buffer buffers[] = {
        {&rt->image, &h->time, 1, DIT_BUFFER_FP32},
        {&rt->image, &h->embedded, C, DIT_BUFFER_FP32},
        {&rt->image, &h->modulated, CROSSED_MODULATIONS * C, DIT_BUFFER_FP32},
        {&rt->step, &h->gates, CROSSED_MODULATIONS * C, DIT_BUFFER_FP32},
    };
    h->rows = model->params.partition.held_count;
    return h->rows ? dit_buffers_take(buffers, sizeof buffers / sizeof *buffers) : DIT_OK;
}

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
    DIT_TRY(take_held(model, &s->held, C));
    model->stream = s->x, model->width = C, model->time_embedding = s->embedded;
    return DIT_OK;
}

/* Makes the embeddings of `count` timesteps and their modulations. */
static void embed_times(dit_runtime *rt, const crossed *s, const float *times, int64_t count, float *embedded,
                        float *modulated)
{
    embed_timestep(rt, times, count, s->frequencies, s->sinusoid);
    embed_mlp_run(rt, &s->timestep_mlp, s->sinusoid, count, s->hidden, embedded);
    embed_activate(rt, DIT_ACT_SILU, embedded, count * s->C, s->activated);
    embed_linear(rt, &s->modulation, s->activated, count, modulated);
}

dit_status crossed_prepare(dit_runtime *rt, const crossed *s)
{
    const crossed_held *h = &s->held;
    if (!h->rows) return DIT_OK;
    if (!rt->ledger.counting_only) *h->time = 0;
    DIT_TRY(dit_runtime_upload(rt, h->time, 1));
    embed_times(rt, s, h->time, 1, h->embedded, h->modulated);
    return DIT_OK;
}

void crossed_begin(dit_runtime *rt, const crossed *s, const float *timestep)
{
    embed_times(rt, s, timestep, s->B, s->embedded, s->modulated);
}

/* Returns how many of the window's rows are held: its first ones. */
static int64_t held_rows(const dit_model *model, const crossed *s)
{
    int64_t held = s->held.rows - model->window.first, rows = model->view.image_count;
    return held < 0 ? 0 : held < rows ? held : rows;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* y = norm(x), shifted and scaled by vectors number `shift` and `scale` of [6, C], those of the rows. */
static void norm_rows(const dit_model *model, const crossed *s, float eps, dit_norm_kind kind, int shift, int scale,
                      dit_rows x, dit_rows y)
{
    dit_runtime *rt = model->params.rt;
    int64_t C = s->C, held = held_rows(model, s), rest = x.rows - held;
    dit_layer_norm norm = {.kind = kind,
                           .eps = eps,
                           .shift = s->gates + shift * C,
                           .scale = s->gates + scale * C,
                           .modulation_stride = CROSSED_MODULATIONS * C};
    if (rest) layer_norm(rt, rows_part(x, held, rest), rows_part(y, held, rest), &norm);
    if (!held) return;
    norm.shift = s->held.gates + shift * C, norm.scale = s->held.gates + scale * C, norm.modulation_stride = 0;
    layer_norm(rt, rows_part(x, 0, held), rows_part(y, 0, held), &norm);
}

/* Modulates by the block's table; the gates are valid until the next call. */
static void modulate(dit_runtime *rt, const crossed *s, const crossed_block *block)
{
    int64_t width = CROSSED_MODULATIONS * s->C;
    layer_modulation(rt, s->modulated, block->table, s->B, width, s->gates);
    if (s->held.rows) layer_modulation(rt, s->held.modulated, block->table, 1, width, s->held.gates);
}

void crossed_norm(const dit_model *model, const crossed *s, const crossed_block *block, dit_rows x, dit_rows y)
{
    modulate(model->params.rt, s, block);
    norm_rows(model, s, s->eps, s->norm, SHIFT_MSA, SCALE_MSA, x, y);
}

/* Returns vectors number `gate` of [6, C]. */
static layer_gates gates_of(const dit_model *model, const crossed *s, int gate)
{
    int64_t held = held_rows(model, s);
    return (layer_gates){.of = s->gates + gate * s->C,
                         .stride = CROSSED_MODULATIONS * s->C,
                         .held = held,
                         .of_held = held ? s->held.gates + gate * s->C : NULL};
}

dit_status crossed_forward(dit_model *model, const crossed *s, const crossed_block *block, int64_t index,
                           crossed_attention self_attention, crossed_attention cross_attention)
{
    dit_runtime *rt = model->params.rt;
    dit_rows x = rows_window(model, s->x, s->C), normed = rows_window(model, s->normed, s->C);
    dit_rows attended = rows_window(model, s->attended, s->A);
    const layer_gates after_attention = gates_of(model, s, GATE_MSA), after_mlp = gates_of(model, s, GATE_MLP);

    if (module_is_taken(model, DIT_MODULE_ATTENTION))
        modulate(rt, s, block);
    else
        DIT_TRY(self_attention(model, index, x, attended));
    if (index == 0) DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->out, attended, "aux.block_0.attn1"));
    DIT_TRY(dit_tap_attended(model, &block->out, attended, 0));
    DIT_TRY(module_add_gated(model, (module_at){index, DIT_MODULE_ATTENTION, MODULE_IMAGE}, &block->out, attended, x,
                             &after_attention));

    if (!module_is_taken(model, DIT_MODULE_CROSS)) DIT_TRY(cross_attention(model, index, x, attended));
    if (index == 0) DIT_TRY(dit_tap_joined(model, DIT_LAYOUT_IMAGE, &block->cross_out, attended, "aux.block_0.attn2"));
    DIT_TRY(
        module_add(model, (module_at){index, DIT_MODULE_CROSS, MODULE_IMAGE}, &block->cross_out, attended, x, NULL, 0));

    if (!module_is_taken(model, DIT_MODULE_MLP)) norm_rows(model, s, s->eps, s->norm, SHIFT_MLP, SCALE_MLP, x, normed);
    DIT_TRY(module_add_mlp_gated(model, (module_at){index, DIT_MODULE_MLP, MODULE_IMAGE}, &block->mlp, normed,
                                 rows_window(model, s->wide, s->inner), x, &after_mlp));
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, x, "block_%lld", (long long)index);
}

void crossed_head(dit_model *model, const crossed *s, const dit_linear *proj_out, float *output)
{
    enum { SHIFT, SCALE };
    dit_runtime *rt = model->params.rt;
    int64_t C = s->C;
    dit_rows x = rows_window(model, s->x, C), normed = rows_window(model, s->normed, C);
    for (int64_t b = 0; b < s->B; b++)
        for (int which = SHIFT; which <= SCALE; which++)
            layer_modulation(rt, s->embedded + b * C, s->table + which * C, 1, C,
                             s->gates + (b * CROSSED_MODULATIONS + which) * C);
    for (int which = SHIFT; which <= SCALE && s->held.rows; which++)
        layer_modulation(rt, s->held.embedded, s->table + which * C, 1, C, s->held.gates + which * C);
    norm_rows(model, s, s->last_eps, DIT_NORM_LAYER, SHIFT, SCALE, x, normed);
    embed_linear(rt, proj_out, s->normed, x.batch * x.rows, output);
}
