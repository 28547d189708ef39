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
    return module_add_gated(model, at, joined, from, x, &(layer_gates){.of = gate, .stride = gate_stride});
}

dit_status module_add_gated(dit_model *model, module_at at, const dit_joined *joined, dit_rows from, dit_rows x,
                            const layer_gates *gates)
{
    dit_runtime *rt = model->params.rt;
    struct dit_module_watch *watch = model->modules;
    int64_t elements = x.batch * x.rows * x.cols;
    const float *output;
    if (!is_watched(model, at.kind)) return layer_joined_add_gated(rt, joined, from, x, gates);
    if (!x.rows) return DIT_OK; /* a rank without text */
    if (!module_is_taken(model, at.kind))
        DIT_TRY(layer_joined_product(rt, joined, from, watch->place(watch, &at, elements)));
    DIT_TRY(watch->settle(watch, &at, elements, &output));
    layer_add_gated(rt, output, joined->bias, x, gates);
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
    return module_add_mlp_gated(model, at, mlp, normed, hidden, x, &(layer_gates){.of = gate, .stride = gate_stride});
}

dit_status module_add_mlp_gated(dit_model *model, module_at at, const dit_mlp *mlp, dit_rows normed, dit_rows hidden,
                                dit_rows x, const layer_gates *gates)
{
    if (!module_is_taken(model, at.kind)) layer_linear(model->params.rt, &mlp->in, normed, hidden, mlp->activation);
    return module_add_gated(model, at, &mlp->out, hidden, x, gates);
}
