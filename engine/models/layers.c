#include "engine/models/layers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 256, MAX_FUSED = 8 };

/* ---- views ------------------------------------------------------------------------------------------------------- */

dit_rows rows_dense(float *data, int64_t batch, int64_t rows, int64_t cols)
{
    return (dit_rows){data, batch, rows, cols, cols, rows * cols};
}

dit_rows rows_window(const dit_model *model, float *data, int64_t cols)
{
    return rows_dense(data, model->view.batch, model->view.image_count, cols);
}

dit_rows rows_part(dit_rows x, int64_t first, int64_t count)
{
    x.data += first * x.ld;
    x.rows = count;
    return x;
}

dit_rows rows_columns(dit_rows x, int64_t first, int64_t count)
{
    x.data += first;
    x.cols = count;
    return x;
}

dit_rows rows_entry(dit_rows x, int64_t entry)
{
    x.data += entry * x.stride;
    x.batch = 1;
    return x;
}

/* Joins batch entries that follow each other without a gap to one long entry. */
static dit_rows rows_joined(dit_rows x)
{
    x.rows *= x.batch;
    x.stride = x.rows * x.ld;
    x.batch = 1;
    return x;
}

static bool is_joined(dit_rows x)
{
    return x.batch == 1 || x.stride == x.rows * x.ld;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Calls of an operator that a model asks for over batch entries: one for all of them where the backend takes entries, so
 * that threads wait at one end instead of many, else one for each. */
typedef struct {
    int64_t calls, rows; /* rows of a call */
    dit_entries entries;
} entry_calls;

static entry_calls calls_of(const dit_runtime *rt, dit_rows x, dit_rows y, int64_t vector)
{
    if (!x.rows) return (entry_calls){0};
    if (!rt->kernels->entries) return (entry_calls){.calls = x.batch, .rows = x.rows};
    return (entry_calls){.calls = 1, .rows = x.batch * x.rows, .entries = {x.rows, x.stride, y.stride, vector}};
}

static void linear_entries(dit_runtime *rt, const dit_linear *linear, dit_rows x, dit_rows y, dit_activation activation,
                           bool add, const float *gate, int64_t gate_stride)
{
    if (is_joined(x) && is_joined(y) && !gate) x = rows_joined(x), y = rows_joined(y);
    entry_calls entries = calls_of(rt, x, y, gate_stride);
    for (int64_t b = 0; b < entries.calls; b++) {
        dit_rows from = rows_entry(x, b), to = rows_entry(y, b);
        ops_linear(rt, &(dit_linear_args){.weights = linear,
                                          .rows = entries.rows,
                                          .entries = entries.entries,
                                          .x = from.data,
                                          .ldx = from.ld,
                                          .y = to.data,
                                          .ldy = to.ld,
                                          .activation = activation,
                                          .residual = add ? to.data : NULL,
                                          .gate = gate ? gate + b * gate_stride : NULL});
    }
}

void layer_linear(dit_runtime *rt, const dit_linear *linear, dit_rows x, dit_rows y, dit_activation activation)
{
    linear_entries(rt, linear, x, y, activation, false, NULL, 0);
}

void layer_linear_add(dit_runtime *rt, const dit_linear *linear, dit_rows x, dit_rows y, const float *gate,
                      int64_t gate_stride)
{
    linear_entries(rt, linear, x, y, DIT_ACT_NONE, true, gate, gate_stride);
}

dit_status layer_joined_add(dit_runtime *rt, const dit_joined *joined, dit_rows x, dit_rows y, const float *gate,
                            int64_t gate_stride)
{
    return layer_joined_add_gated(rt, joined, x, y, &(layer_gates){.of = gate, .stride = gate_stride});
}

void layer_add_gated(dit_runtime *rt, const float *output, const float *bias, dit_rows y, const layer_gates *gates)
{
    int64_t held = gates->held, rest = y.rows - held;
    for (int64_t b = 0; b < y.batch; b++) {
        const float *from = output + b * y.rows * y.cols;
        float *to = rows_entry(y, b).data;
        if (held) dit_tp_add(rt, from, held, y.cols, bias, gates->of_held, to, y.ld);
        if (rest)
            dit_tp_add(rt, from + held * y.cols, rest, y.cols, bias, gates->of ? gates->of + b * gates->stride : NULL,
                       to + held * y.ld, y.ld);
    }
}

dit_status layer_joined_add_gated(dit_runtime *rt, const dit_joined *joined, dit_rows x, dit_rows y,
                                  const layer_gates *gates)
{
    int64_t held = gates->held, rest = y.rows - held, elements = y.batch * y.rows * y.cols;
    if (!y.rows) return DIT_OK; /* a window without text */
    if (!joined->summed) {
        layer_linear_add(rt, &joined->linear, rows_part(x, 0, held), rows_part(y, 0, held), gates->of_held, 0);
        layer_linear_add(rt, &joined->linear, rows_part(x, held, rest), rows_part(y, held, rest), gates->of,
                         gates->stride);
        return DIT_OK;
    }
    DIT_TRY(dit_tp_reserve(rt, elements, 0));
    layer_linear(rt, &joined->linear, x, rows_dense(rt->tensor.partial, y.batch, y.rows, y.cols), DIT_ACT_NONE);
    DIT_TRY(dit_tp_sum(rt, elements));
    layer_add_gated(rt, rt->tensor.sum, joined->bias, y, gates);
    return DIT_OK;
}

dit_status layer_joined_product(dit_runtime *rt, const dit_joined *joined, dit_rows x, float *y)
{
    int64_t elements = x.batch * x.rows * joined->linear.n;
    bool summed = joined->summed;
    if (summed) DIT_TRY(dit_tp_reserve(rt, elements, 0));
    layer_linear(rt, &joined->linear, x, rows_dense(summed ? rt->tensor.partial : y, x.batch, x.rows, joined->linear.n),
                 DIT_ACT_NONE);
    if (!summed) return DIT_OK;
    DIT_TRY(dit_tp_sum(rt, elements));
    ops_combine(rt, &(dit_combine_args){.elements = elements, .count = 1, .x = {rt->tensor.sum}, .a = {1}, .y = y});
    return DIT_OK;
}

dit_status layer_mlp_add(dit_runtime *rt, const dit_mlp *mlp, dit_rows x, dit_rows hidden, dit_rows y,
                         const float *gate, int64_t gate_stride)
{
    layer_linear(rt, &mlp->in, x, hidden, mlp->activation);
    return layer_joined_add(rt, &mlp->out, hidden, y, gate, gate_stride);
}

void layer_gate(dit_runtime *rt, dit_rows gate, dit_rows value, dit_activation activation)
{
    if (is_joined(gate)) gate = rows_joined(gate), value = rows_joined(value);
    for (int64_t b = 0; b < gate.batch && gate.rows; b++)
        ops_multiply(rt, &(dit_multiply_args){.rows = gate.rows,
                                              .cols = gate.cols,
                                              .x = rows_entry(gate, b).data,
                                              .factor = rows_entry(value, b).data,
                                              .ldx = gate.ld,
                                              .ld_factor = value.ld,
                                              .y = rows_entry(gate, b).data,
                                              .ldy = gate.ld,
                                              .activation = activation});
}

void layer_norm(dit_runtime *rt, dit_rows x, dit_rows y, const dit_layer_norm *norm)
{
    if (is_joined(x) && is_joined(y) && !norm->shift && !norm->scale) x = rows_joined(x), y = rows_joined(y);
    entry_calls entries = calls_of(rt, x, y, norm->modulation_stride);
    for (int64_t b = 0; b < entries.calls; b++) {
        dit_rows from = rows_entry(x, b), to = rows_entry(y, b);
        int64_t at = b * norm->modulation_stride;
        ops_norm(rt, &(dit_norm_args){.rows = entries.rows,
                                      .entries = entries.entries,
                                      .C = from.cols,
                                      .x = from.data,
                                      .ldx = from.ld,
                                      .y = to.data,
                                      .ldy = to.ld,
                                      .kind = norm->kind,
                                      .eps = norm->eps,
                                      .weight = norm->weight,
                                      .bias = norm->bias,
                                      .scale = norm->scale ? norm->scale + at : NULL,
                                      .shift = norm->shift ? norm->shift + at : NULL});
    }
}

void layer_normed_add(dit_runtime *rt, const float *output, float *scratch, const dit_layer_norm *norm, dit_rows y,
                      const float *gate, int64_t gate_stride)
{
    int64_t entry = y.rows * y.cols;
    layer_norm(rt, rows_dense((float *)output, y.batch, y.rows, y.cols), rows_dense(scratch, y.batch, y.rows, y.cols),
               norm);
    for (int64_t b = 0; b < y.batch && y.rows; b++)
        dit_tp_add(rt, scratch + b * entry, y.rows, y.cols, NULL, gate ? gate + b * gate_stride : NULL,
                   rows_entry(y, b).data, y.ld);
}

dit_status layer_joined_norm(dit_runtime *rt, dit_rows x, float eps, const float *weight)
{
    if (dit_tp_share(rt).of > 1)
        return dit_tp_norm(rt, &(dit_tp_norm_args){.x = x.data,
                                                   .batch = x.batch,
                                                   .rows = x.rows,
                                                   .cols = x.cols,
                                                   .ld = x.ld,
                                                   .stride = x.stride,
                                                   .weight = weight,
                                                   .eps = eps});
    layer_norm(rt, x, x, &(dit_layer_norm){.kind = DIT_NORM_RMS, .eps = eps, .weight = weight});
    return DIT_OK;
}

void layer_head_norm(dit_runtime *rt, dit_rows x, const dit_head_norm *norm)
{
    if (!norm->weight && !norm->cos) return;
    if (is_joined(x) && !norm->cos) x = rows_joined(x);
    entry_calls entries = calls_of(rt, x, x, norm->rotary_stride);
    for (int64_t b = 0; b < entries.calls; b++)
        ops_qk_norm_rope(rt, &(dit_qk_norm_rope_args){.rows = entries.rows,
                                                      .entries = entries.entries,
                                                      .H = norm->H,
                                                      .D = norm->D,
                                                      .x = rows_entry(x, b).data,
                                                      .ldx = x.ld,
                                                      .kind = norm->kind,
                                                      .eps = norm->eps,
                                                      .weight = norm->weight,
                                                      .bias = norm->bias,
                                                      .cos = norm->cos ? norm->cos + b * norm->rotary_stride : NULL,
                                                      .sin = norm->sin ? norm->sin + b * norm->rotary_stride : NULL});
}

void layer_local_attention(dit_runtime *rt, int64_t H, dit_rows q, dit_rows k, dit_rows v, const float *bias,
                           dit_rows out)
{
    int64_t D = q.cols / H;
    ops_attention(rt, &(dit_attention_args){.B = q.batch,
                                            .H = H,
                                            .Sq = q.rows,
                                            .Sk = k.rows,
                                            .D = D,
                                            .q = q.data,
                                            .k = k.data,
                                            .v = v.data,
                                            .ldq = q.ld,
                                            .ldk = k.ld,
                                            .ldv = v.ld,
                                            .batch_q = q.stride,
                                            .batch_k = k.stride,
                                            .batch_v = v.stride,
                                            .bias = bias,
                                            .scale = 1.0f / sqrtf((float)D),
                                            .out = out.data,
                                            .ldo = out.ld,
                                            .batch_o = out.stride});
}

dit_status layer_sequence_attention(dit_attention *attention, dit_rows q, dit_rows k, dit_rows v, dit_rows out)
{
    const dit_guest *guest = dit_attention_guest(attention);
    const dit_attention_io io = {.q = q.data,
                                 .k = k.data,
                                 .v = v.data,
                                 .ld = q.ld,
                                 .batch = q.stride,
                                 .out = out.data,
                                 .ldo = out.ld,
                                 .batch_o = out.stride};
    dit_guest_at_attention(guest, true);
    DIT_TRY(dit_attention_forward(attention, &io));
    dit_guest_at_attention(guest, false);
    return DIT_OK;
}

void layer_copy(dit_runtime *rt, dit_rows x, dit_rows y)
{
    ops_copy(rt, &(dit_copy_args){.n0 = y.batch,
                                  .n1 = y.rows,
                                  .n2 = 1,
                                  .inner = y.cols,
                                  .src = x.data,
                                  .src_stride = {x.stride, x.ld, x.cols},
                                  .dst = y.data,
                                  .dst_stride = {y.stride, y.ld, y.cols}});
}

/* From the last head on, so that none is overwritten before it is read. */
void layer_spread_heads(dit_runtime *rt, dit_rows from, dit_rows to, int64_t D, int64_t group, int64_t first)
{
    for (int64_t h = to.cols / D - 1; h >= 0; h--) {
        dit_rows source = rows_columns(from, (first + h) / group * D, D), head = rows_columns(to, h * D, D);
        if (source.data != head.data) layer_copy(rt, source, head);
    }
}

void layer_copy_entries(dit_runtime *rt, const float *x, dit_rows y)
{
    layer_copy(rt, (dit_rows){(float *)x, y.batch, y.rows, y.cols, y.cols, 0}, y);
}

void layer_modulation(dit_runtime *rt, const float *modulated, const float *table, int64_t batch, int64_t width,
                      float *out)
{
    for (int64_t b = 0; b < batch; b++) dit_runtime_add(rt, modulated + b * width, table, width, out + b * width);
}

void layer_add(dit_runtime *rt, const float *a, const float *b, int64_t elements, float *y)
{
    ops_combine(rt, &(dit_combine_args){.elements = elements, .count = 2, .x = {a, b}, .a = {1.0f, 1.0f}, .y = y});
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

dit_scope scope_of(const dit_model_params *params, const char *format, ...)
{
    dit_scope scope = {.rt = params->rt, .weights = params->weights, .share = dit_tp_share(params->rt)};
    va_list args;
    va_start(args, format);
    vsnprintf(scope.prefix, sizeof scope.prefix, format, args);
    va_end(args);
    return scope;
}

dit_scope scope_under(const dit_scope *scope, const char *name)
{
    dit_scope under = *scope;
    size_t length = strlen(under.prefix);
    snprintf(under.prefix + length, sizeof under.prefix - length, "%s.", name);
    return under;
}

dit_scope scope_whole(const dit_scope *scope)
{
    dit_scope whole = *scope;
    whole.share = (dit_share){0, 1};
    return whole;
}

static const char *full_name(const dit_scope *scope, const char *name, char out[MAX_NAME])
{
    if (snprintf(out, MAX_NAME, "%s%s", scope->prefix, name) >= MAX_NAME) out[0] = '\0'; /* no such parameter */
    return out;
}

dit_status scope_linear(const dit_scope *scope, const char *name, int64_t rows, int64_t k, dit_linear *out)
{
    return scope_fused(scope, (const char *const[]){name, NULL}, rows, k, out);
}

static dit_status load_fused(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, dit_share share,
                             dit_linear *out)
{
    char full[MAX_FUSED][MAX_NAME];
    dit_linear_part parts[MAX_FUSED];
    int count = 0;
    for (; names[count]; count++) {
        if (count == MAX_FUSED) return DIT_FAIL(DIT_ERR_INTERNAL, "more than %d fused layers", MAX_FUSED);
        parts[count] =
            (dit_linear_part){.prefix = full_name(scope, names[count], full[count]), .rows = rows, .share = share};
    }
    return dit_weights_linear(scope->rt, scope->weights, parts, count, k, NULL, out);
}

dit_status scope_fused(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, dit_linear *out)
{
    return load_fused(scope, names, rows, k, (dit_share){0, 1}, out);
}

dit_status scope_shared(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, dit_linear *out)
{
    return load_fused(scope, names, rows, k, scope->share, out);
}

dit_status scope_qkv(const dit_scope *scope, const char *const *names, int64_t rows, int64_t kv_rows, dit_range own,
                     int64_t k, dit_linear *out)
{
    enum { PARTS = 3 };
    char full[PARTS][MAX_NAME];
    dit_linear_part parts[PARTS];
    for (int i = 0; i < PARTS; i++)
        parts[i] = (dit_linear_part){
            .prefix = full_name(scope, names[i], full[i]), .rows = own.count, .first = own.first, .whole = kv_rows};
    parts[0] = (dit_linear_part){.prefix = full[0], .rows = rows, .share = scope->share};
    return dit_weights_linear(scope->rt, scope->weights, parts, PARTS, k, NULL, out);
}

dit_status scope_shared_halves(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, int count,
                               int64_t D, dit_linear *out)
{
    char full[MAX_FUSED][MAX_NAME];
    dit_linear_part parts[MAX_FUSED];
    int all = 0;
    for (; names[all]; all++) {
        if (all == MAX_FUSED) return DIT_FAIL(DIT_ERR_INTERNAL, "more than %d fused layers", MAX_FUSED);
        parts[all] = (dit_linear_part){.prefix = full_name(scope, names[all], full[all]),
                                       .rows = rows,
                                       .share = scope->share,
                                       .halves = all < count ? D : 0};
    }
    return dit_weights_linear(scope->rt, scope->weights, parts, all, k, NULL, out);
}

dit_status scope_groups(const dit_scope *scope, const char *name, int64_t whole, int64_t first, int64_t rows, int count,
                        int64_t k, dit_linear *out)
{
    char full[MAX_NAME];
    dit_linear_part parts[MAX_FUSED];
    if (count > MAX_FUSED) return DIT_FAIL(DIT_ERR_INTERNAL, "more than %d groups of outputs", MAX_FUSED);
    full_name(scope, name, full);
    for (int i = 0; i < count; i++)
        parts[i] = (dit_linear_part){
            .prefix = full, .rows = rows, .share = scope->share, .first = first + i * rows, .whole = whole};
    return dit_weights_linear(scope->rt, scope->weights, parts, count, k, NULL, out);
}

dit_status scope_joined(const dit_scope *scope, const char *name, int64_t rows, int64_t k, int64_t beside,
                        dit_joined *out)
{
    char full[MAX_NAME];
    const int64_t widths[2] = {k, beside};
    *out = (dit_joined){.summed = scope->share.of > 1};
    if (!out->summed) return scope_linear(scope, name, rows, k + beside, &out->linear);
    return dit_weights_inputs(scope->rt, scope->weights, full_name(scope, name, full), rows, widths, beside ? 2 : 1,
                              scope->share, &out->linear, &out->bias);
}

/* Gives, for each (channel, cell), where (cell, channel) has it. The caller frees it. */
static dit_status order_of_cells(int64_t channels, int64_t cells, int64_t **out)
{
    int64_t count = channels * cells, *order = malloc((size_t)count * sizeof *order);
    *out = order;
    if (!order) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld places", (long long)count);
    for (int64_t c = 0; c < channels; c++)
        for (int64_t cell = 0; cell < cells; cell++) order[c * cells + cell] = cell * channels + c;
    return DIT_OK;
}

dit_status scope_head(const dit_scope *scope, const char *name, int64_t channels, int64_t cells, int64_t k,
                      dit_linear *out)
{
    char full[MAX_NAME];
    int64_t *order;
    DIT_TRY(order_of_cells(channels, cells, &order));
    const dit_linear_part part = {.prefix = full_name(scope, name, full), .rows = channels * cells};
    dit_status st = dit_weights_linear(scope->rt, scope->weights, &part, 1, k, order, out);
    free(order);
    return st;
}

dit_status scope_patch(const dit_scope *scope, const char *name, int64_t rows, int64_t channels, int64_t cells,
                       dit_linear *out)
{
    char full[MAX_NAME];
    int64_t *order;
    DIT_TRY(order_of_cells(channels, cells, &order));
    const dit_linear_part part = {.prefix = full_name(scope, name, full), .rows = rows, .columns = order};
    dit_status st = dit_weights_linear(scope->rt, scope->weights, &part, 1, channels * cells, NULL, out);
    free(order);
    return st;
}

dit_status scope_vector(const dit_scope *scope, const char *name, int64_t elements, dit_init init, const float **out)
{
    char full[MAX_NAME];
    return dit_weights_load(scope->rt, scope->weights, full_name(scope, name, full), 1, &elements, init, out);
}

dit_status scope_slice(const dit_scope *scope, const char *name, int64_t elements, dit_init init, const float **out)
{
    char full[MAX_NAME];
    return dit_weights_slice(scope->rt, scope->weights, full_name(scope, name, full), elements, scope->share, 0, init,
                             out);
}

dit_status scope_slice_halves(const dit_scope *scope, const char *name, int64_t elements, int64_t D, dit_init init,
                              const float **out)
{
    char full[MAX_NAME];
    return dit_weights_slice(scope->rt, scope->weights, full_name(scope, name, full), elements, scope->share, D, init,
                             out);
}

dit_status scope_rows(const dit_scope *scope, const char *name, int64_t rows, int64_t cols, dit_init init,
                      const float **out)
{
    char full[MAX_NAME];
    return dit_weights_rows(scope->rt, scope->weights, full_name(scope, name, full), rows, cols, scope->share, init,
                            out);
}

dit_status scope_matrix(const dit_scope *scope, const char *name, int64_t rows, int64_t cols, dit_init init,
                        const float **out)
{
    char full[MAX_NAME];
    int64_t shape[2] = {rows, cols};
    return dit_weights_load(scope->rt, scope->weights, full_name(scope, name, full), 2, shape, init, out);
}

dit_status scope_affine(const dit_scope *scope, const char *name, int64_t elements, const float **weight,
                        const float **bias)
{
    char part[MAX_NAME];
    snprintf(part, sizeof part, "%s.weight", name);
    DIT_TRY(scope_vector(scope, part, elements, DIT_INIT_NORM, weight));
    snprintf(part, sizeof part, "%s.bias", name);
    return scope_vector(scope, part, elements, DIT_INIT_BIAS, bias);
}

dit_status scope_mlp(const dit_scope *scope, const char *name, int64_t width, int64_t inner, dit_mlp *out)
{
    char in_name[MAX_NAME], out_name[MAX_NAME];
    snprintf(in_name, sizeof in_name, "%s.net.0.proj", name);
    snprintf(out_name, sizeof out_name, "%s.net.2", name);
    out->activation = DIT_ACT_GELU_TANH;
    DIT_TRY(scope_shared(scope, (const char *const[]){in_name, NULL}, inner, width, &out->in));
    return scope_joined(scope, out_name, width, inner, 0, &out->out);
}

dit_status scope_gated_mlp(const dit_scope *scope, const char *name, int64_t width, int64_t inner, dit_mlp *out)
{
    dit_scope s = scope_under(scope, name);
    out->activation = DIT_ACT_SILU;
    DIT_TRY(scope_groups(&s, "linear_in", 2 * inner, 0, inner, 2, width, &out->in));
    return scope_joined(&s, "linear_out", width, inner, 0, &out->out);
}

/* ---- buffers and taps -------------------------------------------------------------------------------------------- */

dit_status dit_buffers_take(const dit_buffer *buffers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const dit_buffer *b = &buffers[i];
        switch (b->kind) {
        case DIT_BUFFER_ACTIVATIONS: DIT_TRY(dit_arena_activations(b->arena, b->count, b->at)); break;
        case DIT_BUFFER_FP32: DIT_TRY(dit_arena_fp32(b->arena, b->count, b->at)); break;
        case DIT_BUFFER_HOST: DIT_TRY(dit_arena_host(b->arena, b->count, b->at)); break;
        }
    }
    return DIT_OK;
}

static dit_status tap_rows(dit_model *model, dit_layout layout, dit_rows rows, const char *name)
{
    return model->params.tap->take(model->params.tap, name,
                                   &(dit_shards){.layout = layout,
                                                 .data = rows.data,
                                                 .rows = rows.rows,
                                                 .cols = rows.cols,
                                                 .ld = rows.ld,
                                                 .batch_stride = rows.stride,
                                                 .batched = true});
}

dit_status dit_tap_rows(dit_model *model, dit_layout layout, dit_rows rows, const char *format, ...)
{
    char name[128];
    va_list args;
    if (!model->params.tap || !model->params.tap->take) return DIT_OK;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return tap_rows(model, layout, rows, name);
}

/* *y = what layer_joined_add would add, from rt->step. */
static dit_status joined_alone(dit_runtime *rt, const dit_joined *joined, dit_rows x, dit_rows *y)
{
    int64_t elements = x.batch * x.rows * joined->linear.n;
    *y = rows_dense(NULL, x.batch, x.rows, joined->linear.n);
    DIT_TRY(dit_arena_fp32(&rt->step, elements, &y->data));
    memset(y->data, 0, (size_t)elements * sizeof *y->data);
    DIT_TRY(dit_runtime_upload(rt, y->data, elements));
    return layer_joined_add(rt, joined, x, *y, NULL, 0);
}

dit_status dit_tap_joined(dit_model *model, dit_layout layout, const dit_joined *joined, dit_rows x, const char *format,
                          ...)
{
    char name[128];
    va_list args;
    if (!model->params.tap || !model->params.tap->take) return DIT_OK;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    dit_rows out;
    dit_arena *step = &model->params.rt->step;
    dit_arena_mark mark = dit_arena_get_mark(step);
    dit_status st = joined_alone(model->params.rt, joined, x, &out);
    if (st == DIT_OK) st = tap_rows(model, layout, out, name);
    dit_arena_release_to(step, mark);
    return st;
}

static bool takes_layers(const dit_model *model)
{
    return model->params.tap && model->params.tap->take_layer;
}

dit_status dit_tap_layer_rows(dit_model *model, dit_tap_point point, dit_rows rows, int64_t text)
{
    if (!takes_layers(model)) return DIT_OK;
    return model->params.tap->take_layer(model->params.tap, &(dit_tap_layer){.layer = model->layer,
                                                                             .point = point,
                                                                             .data = rows.data,
                                                                             .batch = rows.batch,
                                                                             .rows = rows.rows,
                                                                             .cols = rows.cols,
                                                                             .ld = rows.ld,
                                                                             .stride = rows.stride,
                                                                             .text = text});
}

dit_status dit_tap_keys(dit_model *model, dit_rows k, dit_rows v, int64_t text)
{
    DIT_TRY(dit_tap_layer_rows(model, DIT_TAP_K, k, text));
    return dit_tap_layer_rows(model, DIT_TAP_V, v, text);
}

dit_status dit_tap_attended(dit_model *model, const dit_joined *joined, dit_rows x, int64_t text)
{
    if (!takes_layers(model)) return DIT_OK;
    dit_rows out;
    dit_arena *step = &model->params.rt->step;
    dit_arena_mark mark = dit_arena_get_mark(step);
    dit_status st = joined_alone(model->params.rt, joined, x, &out);
    if (st == DIT_OK) st = dit_tap_layer_rows(model, DIT_TAP_ATTENTION, out, text);
    dit_arena_release_to(step, mark);
    return st;
}

/* [of][batch, rows, cols] of all tensor ranks as [batch, rows, of cols]. */
static dit_status gather_heads(dit_runtime *rt, dit_rows rows, float *own, float *all, dit_rows *out)
{
    dit_share share = dit_tp_share(rt);
    int64_t elements = rows.batch * rows.rows * rows.cols;
    layer_copy(rt, rows, rows_dense(own, rows.batch, rows.rows, rows.cols));
    DIT_TRY(dit_comm_all_gather(rt->comm[DIT_AXIS_TENSOR], own, all, elements * (int64_t)sizeof *own));
    *out = rows_dense(all + share.of * elements, rows.batch, rows.rows, share.of * rows.cols);
    for (int64_t i = 0; i < share.of; i++)
        layer_copy(rt, rows_dense(all + i * elements, rows.batch, rows.rows, rows.cols),
                   rows_columns(*out, i * rows.cols, rows.cols));
    return DIT_OK;
}

dit_status dit_tap_heads(dit_model *model, dit_layout layout, dit_rows rows, const char *format, ...)
{
    char name[128];
    va_list args;
    int64_t elements = rows.batch * rows.rows * rows.cols, of = dit_tp_share(model->params.rt).of;
    if (!model->params.tap || !model->params.tap->take) return DIT_OK;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    dit_arena *step = &model->params.rt->step;
    dit_arena_mark mark = dit_arena_get_mark(step);
    float *memory;
    dit_status st = dit_arena_fp32(step, (1 + 2 * of) * elements, &memory);
    if (st == DIT_OK) st = gather_heads(model->params.rt, rows, memory, memory + elements, &rows);
    if (st == DIT_OK) st = tap_rows(model, layout, rows, name);
    dit_arena_release_to(step, mark);
    return st;
}
