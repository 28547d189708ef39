/* Layers: the vocabulary in which transformers are written: views of rows of activations, and functions on them.
 *
 * A `dit_rows` is a view: [batch, rows, cols] with rows `ld` floats apart and batch entries `stride` floats apart. So q
 * inside of a fused projection, or the image part of a joint sequence, needs no copy. A vector that differs by batch
 * entry (a modulation, a gate) is given by its first entry and the distance between entries.
 */
#ifndef DIT_ENGINE_LAYERS_H
#define DIT_ENGINE_LAYERS_H

#include "engine/models/model.h"

typedef struct {
    float *data;
    int64_t batch, rows, cols, ld, stride;
} dit_rows;

/* Returns a dense view [batch, rows, cols]. */
dit_rows rows_dense(float *data, int64_t batch, int64_t rows, int64_t cols);
/* Returns a dense view [batch, image rows of the window, cols]. */
dit_rows rows_window(const dit_model *model, float *data, int64_t cols);
/* Returns rows [first, first + count) of every batch entry. */
dit_rows rows_part(dit_rows x, int64_t first, int64_t count);
/* Returns columns [first, first + count). */
dit_rows rows_columns(dit_rows x, int64_t first, int64_t count);
/* Returns one batch entry. */
dit_rows rows_entry(dit_rows x, int64_t entry);

/* y = activation(x W^T + b). */
void layer_linear(dit_runtime *rt, const dit_linear *linear, dit_rows x, dit_rows y, dit_activation activation);
/* y += gate * (x W^T + b); gate [cols] of batch entry b at gate + b * gate_stride, NULL: ones. */
void layer_linear_add(dit_runtime *rt, const dit_linear *linear, dit_rows x, dit_rows y, const float *gate,
                      int64_t gate_stride);

/* A linear layer whose inputs the tensor ranks share: its output is the sum of the ranks' products. */
typedef struct {
    dit_linear linear; /* for this rank's inputs; it has the bias only where there is one rank */
    const float *bias; /* [n], added once for all ranks, or NULL                            */
    bool summed;       /* there are several ranks                                           */
} dit_joined;
/* Does what layer_linear_add does; bias, gate and y are applied after the sum. Collective over the tensor ranks. */
dit_status layer_joined_add(dit_runtime *rt, const dit_joined *joined, dit_rows x, dit_rows y, const float *gate,
                            int64_t gate_stride);

/* Gates of rows: [cols] of batch entry b at `of` + b * stride, NULL: ones. The first `held` rows of every entry have `of_held`
 * [cols] instead: tokens whose timestep is another (dit_partition.held_count). */
typedef struct {
    const float *of;
    int64_t stride, held;
    const float *of_held;
} layer_gates;
/* Does what layer_joined_add does, with gates that differ between rows. Collective over the tensor ranks. */
dit_status layer_joined_add_gated(dit_runtime *rt, const dit_joined *joined, dit_rows x, dit_rows y,
                                  const layer_gates *gates);
/* y += gates * (output [batch, y.rows, y.cols], dense, + bias [y.cols] or NULL). */
void layer_add_gated(dit_runtime *rt, const float *output, const float *bias, dit_rows y, const layer_gates *gates);

/* y [batch, x.rows, n], dense, = the product alone, summed over the tensor ranks: without `bias`, which is NULL where
 * there is one rank, whose product has it. Collective over the tensor ranks. */
dit_status layer_joined_product(dit_runtime *rt, const dit_joined *joined, dit_rows x, float *y);

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

/* gate = activation(gate) * value, a gated linear unit in place; both lie in one buffer. */
void layer_gate(dit_runtime *rt, dit_rows gate, dit_rows value, dit_activation activation);

/* y = norm(x) * weight + bias, then * (1 + scale) + shift. */
typedef struct {
    dit_norm_kind kind;
    float eps;
    const float *weight, *bias; /* [cols] or NULL                                             */
    const float *shift, *scale; /* [cols] of batch entry b at + b * modulation_stride; NULL   */
    int64_t modulation_stride;
} dit_layer_norm;
void layer_norm(dit_runtime *rt, dit_rows x, dit_rows y, const dit_layer_norm *norm);
/* y += gate * norm(output [batch, y.rows, y.cols], dense): a module whose output is normalised. `scratch` has the size of
 * output and may be output. */
void layer_normed_add(dit_runtime *rt, const float *output, float *scratch, const dit_layer_norm *norm, dit_rows y,
                      const float *gate, int64_t gate_stride);
/* RMS norm in place over all heads together; x and weight [x.cols] have this rank's heads. Collective over the tensor
 * ranks. */
dit_status layer_joined_norm(dit_runtime *rt, dit_rows x, float eps, const float *weight);

/* Works in place on [batch, rows, H D]: normalises each head over D (if weight), then rotates it (if cos). */
typedef struct {
    int64_t H, D;
    dit_norm_kind kind;
    float eps;
    const float *weight, *bias; /* [D]; weight NULL: no norm                                    */
    const float *cos, *sin;     /* [rows, D]; NULL: no rotation                                 */
    int64_t rotary_stride;      /* batch entries of cos and sin are so far apart; 0: all have one */
} dit_head_norm;
void layer_head_norm(dit_runtime *rt, dit_rows x, const dit_head_norm *norm);

/* out = attention of every row of q over all rows of k, v, which every rank holds (text, or one rank's own frames).
 * bias: [batch, k.rows] on the logits or NULL. */
void layer_local_attention(dit_runtime *rt, int64_t H, dit_rows q, dit_rows k, dit_rows v, const float *bias,
                           dit_rows out);
/* Attends over the whole sequence, through the policy; q, k, v share ld and stride, as parts of one projection.
 * Collective over the sequence ranks. */
dit_status layer_sequence_attention(dit_attention *attention, dit_rows q, dit_rows k, dit_rows v, dit_rows out);

/* Gives each head of `to`, D columns, the head of `from` that its group has: head h that of (first + h) / group. Both may
 * lie in one buffer if no head of `to` begins before its head of `from`. */
void layer_spread_heads(dit_runtime *rt, dit_rows from, dit_rows to, int64_t D, int64_t group, int64_t first);

/* y = x. */
void layer_copy(dit_runtime *rt, dit_rows x, dit_rows y);
/* Copies x [rows, cols], dense, into every batch entry of y: a position table. */
void layer_copy_entries(dit_runtime *rt, const float *x, dit_rows y);
/* out [batch, width] = modulated [batch, width] + table [width], row by row. Small, once per block: not accounted. */
void layer_modulation(dit_runtime *rt, const float *modulated, const float *table, int64_t batch, int64_t width,
                      float *out);
/* y = a + b, elementwise over `elements`; y may be either. */
void layer_add(dit_runtime *rt, const float *a, const float *b, int64_t elements, float *y);

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Parameters under a prefix ("transformer_blocks.3."), and the share of them that this tensor rank loads
 * (scope_shared, scope_joined, scope_mlp, scope_slice). Sizes are always those of the whole parameter. */
typedef struct {
    dit_runtime *rt;
    const dit_weights *weights;
    dit_share share;
    char prefix[192];
} dit_scope;
dit_scope scope_of(const dit_model_params *params, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the scope of the parameters under `name`. inside of a scope. */
dit_scope scope_under(const dit_scope *scope, const char *name);
/* Returns the scope of which every tensor rank loads everything. */
dit_scope scope_whole(const dit_scope *scope);
/* Loads `name`.weight [rows, k] and, where it exists, `name`.bias. */
dit_status scope_linear(const dit_scope *scope, const char *name, int64_t rows, int64_t k, dit_linear *out);
/* Loads several layers (at most 8) of `rows` outputs each over one input, as one layer. names ends with NULL. */
dit_status scope_fused(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, dit_linear *out);
/* Loads such layers, each with this rank's share of its outputs, its heads. */
dit_status scope_shared(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, dit_linear *out);
/* Loads them so, with the two halves of every head of D interleaved in the first `count`: where the library rotates entries
 * that are half a head apart, our operator rotates neighbours. Products of q and k do not see the order. */
dit_status scope_shared_halves(const dit_scope *scope, const char *const *names, int64_t rows, int64_t k, int count,
                               int64_t D, dit_linear *out);
/* Loads q, k and v as one layer: names[0] with this rank's share of its `rows` outputs, names[1] and names[2], which have
 * `kv_rows`, with those of `own`. */
dit_status scope_qkv(const dit_scope *scope, const char *const *names, int64_t rows, int64_t kv_rows, dit_range own,
                     int64_t k, dit_linear *out);
/* Loads `count` groups (at most 8) of `rows` outputs each, from output `first` on, of `name`, which has `whole`: one layer
 * with this rank's share of each group. */
dit_status scope_groups(const dit_scope *scope, const char *name, int64_t whole, int64_t first, int64_t rows, int count,
                        int64_t k, dit_linear *out);
/* Loads `name` with this rank's share of its k inputs. With `beside` > 0 the inputs are two groups, of k and of
 * `beside` columns, and the rank has its share of each. */
dit_status scope_joined(const dit_scope *scope, const char *name, int64_t rows, int64_t k, int64_t beside,
                        dit_joined *out);
/* Loads a projection whose stored outputs are (cell, channel), channel fastest, for `cells` cells, and packs it as
 * (channel, cell), the order of our tokens. */
dit_status scope_head(const dit_scope *scope, const char *name, int64_t channels, int64_t cells, int64_t k,
                      dit_linear *out);
/* Loads a projection of patches whose stored inputs are (cell, channel), channel fastest, and packs it for (channel,
 * cell). */
dit_status scope_patch(const dit_scope *scope, const char *name, int64_t rows, int64_t channels, int64_t cells,
                       dit_linear *out);
/* Loads `name` [elements]. */
dit_status scope_vector(const dit_scope *scope, const char *name, int64_t elements, dit_init init, const float **out);
/* Loads this rank's share of `name` [elements]. */
dit_status scope_slice(const dit_scope *scope, const char *name, int64_t elements, dit_init init, const float **out);
/* Loads it with the halves of every head of D interleaved. */
dit_status scope_slice_halves(const dit_scope *scope, const char *name, int64_t elements, int64_t D, dit_init init,
                              const float **out);
/* Loads this rank's share of the rows of `name` [rows, cols]. */
dit_status scope_rows(const dit_scope *scope, const char *name, int64_t rows, int64_t cols, dit_init init,
                      const float **out);
/* Loads `name` [rows, cols]. */
dit_status scope_matrix(const dit_scope *scope, const char *name, int64_t rows, int64_t cols, dit_init init,
                        const float **out);
/* Loads `name`.weight and `name`.bias [elements] of a norm. */
dit_status scope_affine(const dit_scope *scope, const char *name, int64_t elements, const float **weight,
                        const float **bias);
/* Loads ff.net.0.proj and ff.net.2 under `name` ("ff"), GELU-tanh, with this rank's share of the inner width. */
dit_status scope_mlp(const dit_scope *scope, const char *name, int64_t width, int64_t inner, dit_mlp *out);

/* Loads `name`.linear_in, whose outputs are [gate | value], and `name`.linear_out: a SwiGLU. */
dit_status scope_gated_mlp(const dit_scope *scope, const char *name, int64_t width, int64_t inner, dit_mlp *out);

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* How a buffer is stored: activations in the device's dtype; values that must not be rounded (running sums, angles,
 * masks, factors of a whole block) in fp32; and host memory that operators never see. */
typedef enum { DIT_BUFFER_ACTIVATIONS, DIT_BUFFER_FP32, DIT_BUFFER_HOST } dit_buffer_kind;
typedef struct {
    dit_arena *arena;
    float **at;
    int64_t count;
    dit_buffer_kind kind;
} dit_buffer;
/* Takes each from its arena, in order. */
dit_status dit_buffers_take(const dit_buffer *buffers, size_t count);

/* ---- taps -------------------------------------------------------------------------------------------------------- */

/* Passes rows to the tap, if there is one, under a printf name. Collective if there is a tap. */
dit_status dit_tap_rows(dit_model *model, dit_layout layout, dit_rows rows, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Taps joined(x) itself. Blocks only add it to the stream, so it is computed again for the tap. */
dit_status dit_tap_joined(dit_model *model, dit_layout layout, const dit_joined *joined, dit_rows x, const char *format,
                          ...) __attribute__((format(printf, 5, 6)));
/* Taps rows whose heads the tensor ranks share. */
dit_status dit_tap_heads(dit_model *model, dit_layout layout, dit_rows rows, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Show a point of the block that runs to a tap that takes layers; without one they do nothing. Of each batch entry's
 * rows the first `text` are joint text. */
dit_status dit_tap_layer_rows(dit_model *model, dit_tap_point point, dit_rows rows, int64_t text);
/* k, v: what self-attention takes. */
dit_status dit_tap_keys(dit_model *model, dit_rows k, dit_rows v, int64_t text);
/* joined(x), as dit_tap_joined. */
dit_status dit_tap_attended(dit_model *model, const dit_joined *joined, dit_rows x, int64_t text);

#endif
