#include "engine/models/modules.h"

bool module_is_taken(const dit_model *model, dit_module kind)
{
    return model->modules && dit_module_in(model->modules->taken, kind);
}

static bool is_watched(const dit_model *model, dit_module kind)
{
    return model->modules && dit_module_in(model->modules->watched, kind);
}

dit_status module_add(dit_model *model, module_at at, const dit_joined *joined, dit_rows from, dit_rows x,
                      const float *gate, int64_t gate_stride)
{
    dit_runtime *rt = model->params.rt;
    struct dit_module_watch *watch = model->modules;
    int64_t entry = x.rows * x.cols, elements = x.batch * entry;
    const float *output;
    if (!is_watched(model, at.kind)) return layer_joined_add(rt, joined, from, x, gate, gate_stride);
    if (!x.rows) return DIT_OK; /* a rank without text */
    if (!module_is_taken(model, at.kind))
        DIT_TRY(layer_joined_product(rt, joined, from, watch->place(watch, &at, elements)));
    DIT_TRY(watch->settle(watch, &at, elements, &output));
    for (int64_t b = 0; b < x.batch; b++)
        dit_tp_add(rt, output + b * entry, x.rows, x.cols, joined->bias, gate ? gate + b * gate_stride : NULL,
                   rows_entry(x, b).data, x.ld);
    return DIT_OK;
}

dit_status module_add_normed(dit_model *model, module_at at, const dit_joined *joined, dit_rows from, float *scratch,
                             const dit_layer_norm *norm, dit_rows x, const float *gate, int64_t gate_stride)
{
    dit_runtime *rt = model->params.rt;
    struct dit_module_watch *watch = model->modules;
    int64_t elements = x.batch * x.rows * x.cols;
    bool watched = is_watched(model, at.kind);
    const float *output = scratch;
    if (!x.rows) return DIT_OK; /* a rank or a window without text */
    if (!module_is_taken(model, at.kind))
        DIT_TRY(layer_joined_product(rt, joined, from, watched ? watch->place(watch, &at, elements) : scratch));
    if (watched) DIT_TRY(watch->settle(watch, &at, elements, &output));
    layer_normed_add(rt, output, scratch, norm, x, gate, gate_stride);
    return DIT_OK;
}

dit_status module_add_mlp(dit_model *model, module_at at, const dit_mlp *mlp, dit_rows normed, dit_rows hidden,
                          dit_rows x, const float *gate, int64_t gate_stride)
{
    if (!module_is_taken(model, at.kind)) layer_linear(model->params.rt, &mlp->in, normed, hidden, mlp->activation);
    return module_add(model, at, &mlp->out, hidden, x, gate, gate_stride);
}
