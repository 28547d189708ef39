/* Modules: how a block adds the output of an attention or an MLP to the stream, so that a cache may keep it.
 *
 * A block asks module_is_taken() whether this step takes the outputs of a kind from elsewhere; then it computes nothing
 * towards them. It ends each module with module_add(). Without anybody who watches, that is layer_joined_add() with its
 * fused epilogue. Else the output is made apart, before bias of tensor ranks and gate, goes through whoever watches, and
 * is then added with this step's gate:
 *
 *     x += gate * (watched(joined(from)) + bias)
 *
 * engine/cache/modules.c keeps and reuses outputs; engine/sampling/module_oracle.c replaces them.
 */
#ifndef DIT_ENGINE_MODULES_H
#define DIT_ENGINE_MODULES_H

#include "base/module.h"
#include "engine/models/layers.h"

/* Which output of a block: those of image rows or of all rows, those of text rows, and the image rows' second ones. */
enum { MODULE_IMAGE, MODULE_TEXT, MODULE_SECOND, MODULE_OUTPUTS };
typedef struct {
    int64_t block; /* of the whole model */
    dit_module kind;
    int output;
} module_at;

/* Whoever watches outputs: the first member of a larger struct. */
struct dit_module_watch {
    dit_module_set watched; /* kinds whose outputs go through it in this step                            */
    dit_module_set taken;   /* those of them that are not computed                                       */
    /* Returns where an output of `elements` floats, dense, is to be computed; the address must not depend on the step where
     * forwards are recorded. */
    float *(*place)(struct dit_module_watch *self, const module_at *at, int64_t elements);
    /* Tells that it lies there, or, of a kind that is taken, that it is wanted. *out: what is added instead of it. */
    dit_status (*settle)(struct dit_module_watch *self, const module_at *at, int64_t elements, const float **out);
};

/* True if blocks must not compute modules of this kind, but only call module_add. */
bool module_is_taken(const dit_model *model, dit_module kind);
/* x += gate * joined(from), or what is kept of it; a kind that is taken reads no `from`. gate [x.cols] of batch entry b at gate +
 * b * gate_stride, NULL: ones. Collective over the tensor ranks, unless the kind is taken. */
dit_status module_add(dit_model *model, module_at at, const dit_joined *joined, dit_rows from, dit_rows x,
                      const float *gate, int64_t gate_stride);
/* The same with gates that differ between rows. */
dit_status module_add_gated(dit_model *model, module_at at, const dit_joined *joined, dit_rows from, dit_rows x,
                            const layer_gates *gates);
/* x += gate * norm(joined(from)) in the same way; the output that is kept is that before the norm. `scratch` has [batch,
 * x.rows, x.cols] activations. */
dit_status module_add_normed(dit_model *model, module_at at, const dit_joined *joined, dit_rows from, float *scratch,
                             const dit_layer_norm *norm, dit_rows x, const float *gate, int64_t gate_stride);
/* x += gate * MLP(normed) in the same way; hidden: as of layer_mlp_add. */
dit_status module_add_mlp(dit_model *model, module_at at, const dit_mlp *mlp, dit_rows normed, dit_rows hidden,
                          dit_rows x, const float *gate, int64_t gate_stride);
/* The same with gates that differ between rows. */
dit_status module_add_mlp_gated(dit_model *model, module_at at, const dit_mlp *mlp, dit_rows normed, dit_rows hidden,
                                dit_rows x, const layer_gates *gates);

#endif
