/* Weights: parameters by diffusers' names, from safetensors or from seeded random numbers.
 *
 * Seeded: every element is a function of (seed, parameter name, index in the whole tensor), so a shard is generated
 * without the rest and every rank count gives the same model. Scales keep activations near 1: linear weights have
 * variance 1/fan_in, biases deviation 0.02, norms are 1 + 0.1 n, modulation tables have deviation C^-1/2.
 */
#ifndef DIT_ENGINE_WEIGHTS_H
#define DIT_ENGINE_WEIGHTS_H

#include "engine/runtime/runtime.h"
#include "base/safetensors.h"
#include "engine/runtime/tensor_parallel.h"

typedef struct {
    const dit_safetensors *file; /* NULL: seeded */
    uint64_t seed;
    bool without_biases; /* seeded linear layers have none; a file says itself which it has */
} dit_weights;

typedef enum { DIT_INIT_LINEAR, DIT_INIT_BIAS, DIT_INIT_NORM, DIT_INIT_TABLE } dit_init;

/* Where a linear layer's rows come from: a share of `prefix`.weight [rows, k] and `prefix`.bias [rows]. A zeroed share
 * means all rows. */
typedef struct {
    const char *prefix;
    int64_t rows;
    dit_share share;
    const int64_t *columns; /* NULL: as stored; or for each packed column the stored one */
    int64_t first,
        whole; /* the rows are those from `first` on of a parameter that has `whole`; whole 0: it has `rows` */
} dit_linear_part;

/* Reads the whole parameter `name` of the given shape into out (caller's, fp32).
 * Errors: DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE, DIT_ERR_NONFINITE. */
dit_status dit_weights_read(dit_runtime *rt, const dit_weights *weights, const char *name, int rank,
                            const int64_t *shape, dit_init init, float *out);
/* Reads rows `rows[i]` of the matrix `name` [shape[0], shape[1]] into out [count, shape[1]], which is the caller's: a
 * table of embeddings is not read whole. The rows must be below shape[0]. Errors: as dit_weights_read. */
dit_status dit_weights_read_rows(dit_runtime *rt, const dit_weights *weights, const char *name, const int64_t shape[2],
                                 const int32_t *rows, int64_t count, dit_init init, float *out);
/* Reads a whole parameter into memory of rt->run. */
dit_status dit_weights_load(dit_runtime *rt, const dit_weights *weights, const char *name, int rank,
                            const int64_t *shape, dit_init init, const float **out);
/* Packs `parts` layers with the same input, stacked along their outputs, into rt->run. `order` (NULL: as stored) lists
 * for each packed row the stored row. A part without a bias in the file gets none; all parts must agree.
 * Weights may be stored with more dimensions (a patch convolution [rows, c, p, p] is [rows, c p p]). */
dit_status dit_weights_linear(dit_runtime *rt, const dit_weights *weights, const dit_linear_part *parts, int count,
                              int64_t k, const int64_t *order, dit_linear *out);
/* Packs a share of the inputs of `prefix`.weight [rows, k]. The inputs are `count` groups (at most 4) of widths[i]
 * columns, which add up to k; a share has its part of each group, one after the other. `prefix`.bias [rows] is not
 * packed but returned whole (NULL: there is none). */
dit_status dit_weights_inputs(dit_runtime *rt, const dit_weights *weights, const char *prefix, int64_t rows,
                              const int64_t *widths, int count, dit_share share, dit_linear *out, const float **bias);
/* Reads a share of the one-dimensional parameter `name` into rt->run. */
dit_status dit_weights_slice(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t elements,
                             dit_share share, dit_init init, const float **out);
/* Packs one layer by its prefix (printf). */
dit_status dit_weights_linear_named(dit_runtime *rt, const dit_weights *weights, int64_t rows, int64_t k,
                                    dit_linear *out, const char *format, ...) __attribute__((format(printf, 6, 7)));

#endif
