/* Layers: the vocabulary in which transformers are written - rows of activations and what is done to them.
 *
 * A `dit_rows` is a view: [batch, rows, cols] with rows `ld` floats apart and batch entries `stride` floats apart, so
 * that q inside a fused projection or the image part of a joint sequence is a view and not a copy. Vectors that differ
 * by batch entry (modulations, gates) are given by their first entry and the distance between entries.
 */
#ifndef DIT_ENGINE_LAYERS_H
#define DIT_ENGINE_LAYERS_H

#include "engine/models/model.h"

typedef struct {
    float *data;
    int64_t batch, rows, cols, ld, stride;
} dit_rows;

/* Dense [batch, rows, cols]. */
dit_rows rows_dense(float *data, int64_t batch, int64_t rows, int64_t cols);
/* Dense [batch, image rows of the window, cols]. */
dit_rows rows_window(const dit_model *model, float *data, int64_t cols);
/* Rows [first, first + count) of every batch entry. */
dit_rows rows_part(dit_rows x, int64_t first, int64_t count);
/* Columns [first, first + count). */
dit_rows rows_columns(dit_rows x, int64_t first, int64_t count);
/* One batch entry. */
dit_rows rows_entry(dit_rows x, int64_t entry);

/* y = activation(x W^T + b). */
void layer_linear(dit_runtime *rt, const dit_linear *linear, dit_rows x, dit_rows y, dit_activation activation);
/* y += gate * (x W^T + b); gate [cols] of batch entry b at gate + b * gate_stride, NULL: ones. */
void layer_linear_add(dit_runtime *rt, const dit_linear *linear, dit_rows x, dit_rows y, const float *gate,
                      int64_t gate_stride);

/* A linear layer of whose inputs every tensor rank has its share: the layer is the sum of what they make of them. */
typedef struct {
    dit_linear linear; /* of this rank's inputs; with its bias only where there is one rank */
    const float *bias; /* [n], once for all ranks, or NULL                                  */
    bool summed;       /* there are other ranks                                             */
} dit_joined;
/* As layer_linear_add; the bias, the gate and y come after the sum. Collective over the tensor ranks. */
dit_status layer_joined_add(dit_runtime *rt, const dit_joined *joined, dit_rows x, dit_rows y, const float *gate,
                            int64_t gate_stride);

/* Two linear layers around an activation, as feed-forward networks have them; tensor ranks share the inner width. */
typedef struct {
    dit_linear in;
    dit_joined out;
    dit_activation activation;
} dit_mlp;
/* y += gate * (act(x W1^T + b1) W2^T + b2); hidden: view of [batch, rows, this rank's inner width]. Collective over the
 * tensor ranks. */
dit_status layer_mlp_add(dit_runtime *rt, const dit_mlp *mlp, dit_rows x, dit_rows hidden, dit_rows y,
                         const float *gate, int64_t gate_stride);

/* y = norm(x) * weight + bias, then * (1 + scale) + shift. */
typedef struct {
    dit_norm_kind kind;
    float eps;
    const float *weight, *bias; /* [cols] or NULL                                             */
    const float *shift, *scale; /* [cols] of batch entry b at + b * modulation_stride; NULL   */
    int64_t modulation_stride;
} dit_layer_norm;
void layer_norm(dit_runtime *rt, dit_rows x, dit_rows y, const dit_layer_norm *norm);
/* RMS norm in place over all heads together, of which x has this rank's: weight [x.cols]. Collective over the tensor
 * ranks. */
dit_status layer_joined_norm(dit_runtime *rt, dit_rows x, float eps, const float *weight);

/* In place on [batch, rows, H D]: norm of each head over D (where weight), then rotary positions (where cos). */
typedef struct {
    int64_t H, D;
    dit_norm_kind kind;
    float eps;
    const float *weight, *bias; /* [D]; weight NULL: no norm                                    */
    const float *cos, *sin;     /* [rows, D], the same for every batch entry; NULL: no rotation */
} dit_head_norm;
void layer_head_norm(dit_runtime *rt, dit_rows x, const dit_head_norm *norm);

/* out = attention of every row of q over all rows of k, v, which every rank holds (text, or one rank's own frames).
 * bias: [batch, k.rows] on the logits or NULL. */
void layer_local_attention(dit_runtime *rt, int64_t H, dit_rows q, dit_rows k, dit_rows v, const float *bias,
                           dit_rows out);
/* The same over the whole sequence, through the policy: q, k, v share ld and stride (parts of one projection).
 * Collective over the sequence ranks. */
dit_status layer_sequence_attention(dit_attention *attention, dit_rows q, dit_rows k, dit_rows v, dit_rows out);

/* y = x. */
void layer_copy(dit_runtime *rt, dit_rows x, dit_rows y);
/* Every batch entry of y becomes a copy of x [rows, cols], dense: a position table. */
void layer_copy_entries(dit_runtime *rt, const float *x, dit_rows y);
/* out [batch, width] = modulated [batch, width] + table [width], row by row. Small, once per block: not accounted. */
void layer_modulation(dit_runtime *rt, const float *modulated, const float *table, int64_t batch, int64_t width,
                      float *out);
/* y = a + b, elementwise over `elements`; y may be either. */
void layer_add(dit_runtime *rt, const float *a, const float *b, int64_t elements, float *y);

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Parameters under a prefix: "transformer_blocks.3."; and what share of them this tensor rank loads where they are
 * shared (scope_shared, scope_joined, scope_mlp, scope_slice). All sizes given are those of the whole parameter. */
typedef struct {
    dit_runtime *rt;
    const dit_weights *weights;
    dit_share share;
    char prefix[192];
} dit_scope;
dit_scope scope_of(const dit_model_params *params, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Parameters under `name`. of those. */
dit_scope scope_under(const dit_scope *scope, const char *name);
/* The same parameters, of which every tensor rank loads all. */
dit_scope scope_whole(const dit_scope *scope);
/* `name`.weight [rows, k] and, where it exists, `name`.bias. */
dit_status scope_linear(const dit_scope *scope, const char *name, int64_t rows, int64_t k, dit_linear *out);
/* Several layers of `rows` outputs each over the same input, as one (at most 8). names ends with NULL. */
dit_status scope_fused(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, dit_linear *out);
/* The same, each with this rank's share of its outputs: its heads. */
dit_status scope_shared(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, dit_linear *out);
/* `name` with this rank's share of its k inputs, which of `beside` > 0 are k columns and then so many more. */
dit_status scope_joined(const dit_scope *scope, const char *name, int64_t rows, int64_t k, int64_t beside,
                        dit_joined *out);
/* A projection whose stored outputs are (cell, channel), channel fastest, of `cells` cells: packed as (channel, cell),
 * the order of our tokens. */
dit_status scope_head(const dit_scope *scope, const char *name, int64_t channels, int64_t cells, int64_t k,
                      dit_linear *out);
/* `name` [elements]. */
dit_status scope_vector(const dit_scope *scope, const char *name, int64_t elements, dit_init init, const float **out);
/* This rank's share of `name` [elements]. */
dit_status scope_slice(const dit_scope *scope, const char *name, int64_t elements, dit_init init, const float **out);
/* `name` [rows, cols]. */
dit_status scope_matrix(const dit_scope *scope, const char *name, int64_t rows, int64_t cols, dit_init init,
                        const float **out);
/* `name`.weight and `name`.bias [elements] of a norm. */
dit_status scope_affine(const dit_scope *scope, const char *name, int64_t elements, const float **weight,
                        const float **bias);
/* ff.net.0.proj and ff.net.2 under `name` ("ff"), GELU-tanh, with this rank's share of the inner width. */
dit_status scope_mlp(const dit_scope *scope, const char *name, int64_t width, int64_t inner, dit_mlp *out);

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* What a buffer is for: activations, in the device's element; what must not be rounded (sums that later ones are added
 * to, angles, masks, what a whole block is multiplied by); the host's own numbers, which operators never see. */
typedef enum { DIT_BUFFER_FLOATS, DIT_BUFFER_EXACT, DIT_BUFFER_HOST } dit_buffer_kind;
typedef struct {
    dit_arena *arena;
    float **at;
    int64_t count;
    dit_buffer_kind kind;
} dit_buffer;
/* Takes each from its arena, in order. */
dit_status dit_buffers_take(const dit_buffer *buffers, size_t count);

/* ---- taps -------------------------------------------------------------------------------------------------------- */

/* Hands rows to the tap, if there is one, under a printf name. Collective when there is. */
dit_status dit_tap_rows(dit_model *model, dit_layout layout, dit_rows rows, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for what joined(x) is, which the blocks only ever add somewhere. Computed only for the tap. */
dit_status dit_tap_joined(dit_model *model, dit_layout layout, const dit_joined *joined, dit_rows x, const char *format,
                          ...) __attribute__((format(printf, 5, 6)));
/* The same for rows of which every tensor rank has its heads. */
dit_status dit_tap_heads(dit_model *model, dit_layout layout, dit_rows rows, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
