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
#include "engine/runtime/stored.h"
#include "engine/runtime/tensor_parallel.h"
#include "engine/runtime/weight_catalogue.h"

typedef struct {
    const dit_safetensors *file; /* NULL: seeded */
    dit_stored *stored;          /* NULL: the file is read as it is mapped; else past the page cache */
    uint64_t seed;
    bool saved;          /* the file has the parameters of a seed, and no tables that follow from a config */
    bool without_biases; /* seeded linear layers have none; a file says itself which it has */
} dit_weights;

/* Where a linear layer's rows come from: a share of `prefix`.weight [rows, k] and `prefix`.bias [rows]. A zeroed share
 * means all rows. */
typedef struct {
    const char *prefix;
    int64_t rows;
    dit_share share;
    const int64_t *columns; /* NULL: as stored; or for each packed column the stored one */
    int64_t first,
        whole;      /* the rows are those from `first` on of a parameter that has `whole`; whole 0: it has `rows` */
    int64_t halves; /* 0: as stored; D: the rows of every head of D are its two halves, interleaved */
} dit_linear_part;

/* Makes elements [first, first + elements) of a seeded parameter; fan_in is its last extent. */
void dit_weights_fill(dit_pool *pool, uint64_t seed, const char *name, int64_t first, int64_t elements, int64_t fan_in,
                      dit_init init, float *out);
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
/* Reads a share of the one-dimensional parameter `name` into rt->run; halves: as in dit_linear_part. */
dit_status dit_weights_slice(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t elements,
                             dit_share share, int64_t halves, dit_init init, const float **out);
/* Reads a share of the rows of the matrix `name` [rows, cols] into rt->run, as it is stored; it may have more dimensions. */
dit_status dit_weights_rows(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t rows, int64_t cols,
                            dit_share share, dit_init init, const float **out);
/* Packs one layer by its prefix (printf). */
dit_status dit_weights_linear_named(dit_runtime *rt, const dit_weights *weights, int64_t rows, int64_t k,
                                    dit_linear *out, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* ---- weights that come again ------------------------------------------------------------------------------------- */

enum { DIT_CALL_PARTS = 8, DIT_CALL_NAME = 256, DIT_CALL_GROUPS = 4 };
typedef enum { DIT_CALL_LOAD, DIT_CALL_LINEAR, DIT_CALL_INPUTS, DIT_CALL_SLICE, DIT_CALL_ROWS } dit_weight_call_kind;

/* One call of the functions above, which can be made again. `at` is where it put its weights. */
typedef struct {
    dit_weight_call_kind kind;
    dit_weights weights;
    const char *name; /* or prefix; of a linear layer the parts have them */
    int rank;
    int64_t shape[DIT_TENSOR_MAX_RANK];
    dit_init init;
    dit_share share;
    int count; /* of parts or groups */
    int64_t k, halves, widths[DIT_CALL_GROUPS];
    dit_linear_part parts[DIT_CALL_PARTS];
    const float *at;
} dit_weight_call;
/* Makes a call again on another runtime, whose run arena must give equal addresses: weights come back to where they were.
 * Errors: those of the call; DIT_ERR_INTERNAL where addresses differ. */
dit_status dit_weights_repeat(dit_runtime *rt, const dit_weight_call *call);

/* Who takes weights away from a runtime that loads them (weight_stream.h). */
typedef struct dit_weight_taker dit_weight_taker;
struct dit_weight_taker {
    /* Returns the runtime that loads `name`, or NULL: the one that was asked. */
    dit_runtime *(*target)(dit_weight_taker *taker, const char *name);
    /* Tells what the target has loaded. Strings of the call are copied. */
    dit_status (*note)(dit_weight_taker *taker, const dit_weight_call *call);
};

#endif
