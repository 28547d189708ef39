/* Embeddings that several architectures share. Computed at set-up or on [batch] vectors, never on a hot path. */
#ifndef DIT_ENGINE_EMBED_H
#define DIT_ENGINE_EMBED_H

#include "engine/weights.h"

/* Sinusoid of diffusers' Timesteps(dim, flip_sin_to_cos=True, downscale_freq_shift=0): out [count, dim] = [cos | sin].
 * Everything in float32 and in the library's order, because t * freq is rounded before cos and sin (golden/NOTES.md).
 */
void embed_timestep(const float *t, int64_t count, int64_t dim, float *out);

/* 2-D sine-cosine table of diffusers' get_2d_sincos_pos_embed for tokens [first, first+count) of a grid: out [count,
 * dim]; the first half of the channels encodes the column, the second the row, each [sin | cos]. Frequencies in double.
 */
void embed_sincos_2d(int64_t grid_height, int64_t grid_width, int64_t dim, double base_size, double interpolation_scale,
                     int64_t first, int64_t count, float *out);

/* Rotary tables for positions ids [count, axes]: out cos and sin [count, sum(dims)], each value twice (interleaved
 * pairs), theta 10000, frequencies in double. Source: diffusers FluxPosEmbed. */
void embed_rope(const float *ids, int64_t count, int axes, const int64_t *dims, double theta, float *cosines,
                float *sines);

/* Linear, activation, Linear: TimestepEmbedding, PixArtAlphaTextProjection. */
typedef struct {
    dit_linear first, second;
    dit_activation activation;
} embed_mlp;
/* Loads `prefix`.linear_1 [hidden, in] and .linear_2 [out, hidden]. */
dit_status embed_mlp_load(dit_runtime *rt, const dit_weights *weights, const char *prefix, int64_t in, int64_t hidden,
                          int64_t out, dit_activation activation, embed_mlp *mlp);
/* y [rows, out] = mlp(x [rows, in]); `hidden` [rows, hidden] is scratch. */
void embed_mlp_run(dit_runtime *rt, const embed_mlp *mlp, const float *x, int64_t rows, float *hidden, float *y);

/* y [rows, n] = x [rows, k] W^T + b, dense. */
void embed_linear(dit_runtime *rt, const dit_linear *linear, const float *x, int64_t rows, float *y);
/* y = activation(x) over `elements`. */
void embed_activate(dit_runtime *rt, dit_activation activation, const float *x, int64_t elements, float *y);

#endif
