/* Embeddings that several architectures share. They are computed at set-up or on [batch] vectors, never on a hot
 * path. */
#ifndef DIT_ENGINE_EMBED_H
#define DIT_ENGINE_EMBED_H

#include "engine/models/layers.h"

/* Computes the sinusoid of t [count], out [count, dim]: dit_timestep_args with unit 1. */
void embed_timestep(dit_runtime *rt, const float *t, int64_t count, int64_t dim, float *out);

/* Tables of positions. Where rt's memory is only counted, nothing reads them and they are not written: it would take
 * longer than everything else. */

/* Computes the 2-D sine-cosine table of diffusers' get_2d_sincos_pos_embed for tokens [first, first+count) of a grid:
 * out [count, dim]. The first half of the channels encodes the column, the second the row, each [sin | cos].
 * Frequencies are in double. */
void embed_sincos_2d(const dit_runtime *rt, int64_t grid_height, int64_t grid_width, int64_t dim, double base_size,
                     double interpolation_scale, int64_t first, int64_t count, float *out);
/* Computes [sin | cos] of one coordinate over `dim` channels, omega_i = 10000^(-i / (dim / 2)), in double. */
void embed_sincos_1d(const dit_runtime *rt, double position, int64_t dim, float *out);

/* Computes rotary tables for positions ids [count, axes]: cos and sin [count, sum(dims)], each value twice (interleaved
 * pairs), frequencies theta^(-i / dim) in double. Source: diffusers get_1d_rotary_pos_embed. */
void embed_rope(const dit_runtime *rt, const float *ids, int64_t count, int axes, const int64_t *dims, double theta,
                float *cosines, float *sines);
/* The same with angles that are rounded to float32 before cosine and sine, as Z-Image's library does. */
void embed_rope_rounded(const dit_runtime *rt, const float *ids, int64_t count, int axes, const int64_t *dims,
                        double theta, float *cosines, float *sines);
/* Uploads both tables, of `elements` elements each. */
dit_status embed_put_rope(dit_runtime *rt, const float *cosines, const float *sines, int64_t elements);
/* Reads `key` of a config: even widths of all axes that add up to a head's D; without it `usual` [axes]. Errors:
 * DIT_ERR_SHAPE, DIT_ERR_JSON_*. */
dit_status embed_read_rope_widths(const dit_config *config, const char *key, int axes, const int64_t *usual, int64_t D,
                                  int64_t *widths);
/* Taps both tables [rows, D] as "aux.rope.0" and "aux.rope.1". */
dit_status embed_tap_rope(dit_model *model, dit_layout layout, const float *cosines, const float *sines, int64_t D);
/* Computes the positions of this rank's image tokens on the latent's grid: ids [image_count, 3] = frame, row, column,
 * in patches. `latent` has its extents. */
void embed_grid_ids(const dit_runtime *rt, const dit_partition *part, const dit_latent *latent, float *ids);

/* Computes where a cell of a grid lies in a base grid: the grid is fitted into the base, keeping its shape, and
 * centred; its cells are spread evenly over the area that it covers. Sizes are {rows, columns}; position[0] is the
 * row's. Float32 in the library's order. Source: diffusers get_resize_crop_region_for_grid, linspace of
 * get_3d_rotary_pos_embed. */
void embed_fitted_position(const int64_t grid[2], const int64_t base[2], int64_t row, int64_t column,
                           float position[2]);

/* Linear, activation, Linear: TimestepEmbedding, PixArtAlphaTextProjection. */
typedef struct {
    dit_linear first, second;
    dit_activation activation;
} embed_mlp;
/* Loads `name`.linear_1 [hidden, in] and .linear_2 [out, hidden] of the scope. */
dit_status embed_mlp_load(const dit_scope *scope, const char *name, int64_t in, int64_t hidden, int64_t out,
                          dit_activation activation, embed_mlp *mlp);
/* y [rows, out] = mlp(x [rows, in]); `hidden` [rows, hidden] is scratch. */
void embed_mlp_run(dit_runtime *rt, const embed_mlp *mlp, const float *x, int64_t rows, float *hidden, float *y);

/* y [rows, n] = x [rows, k] W^T + b, dense. */
void embed_linear(dit_runtime *rt, const dit_linear *linear, const float *x, int64_t rows, float *y);
/* y = activation(x) over `elements`. */
void embed_activate(dit_runtime *rt, dit_activation activation, const float *x, int64_t elements, float *y);

/* The embedding that modulates the blocks of FLUX, SD3, HunyuanVideo and Qwen-Image: the sum of MLPs of the timestep, of the
 * pooled text and, in distilled models, of the guidance. Source: diffusers CombinedTimestepTextProjEmbeddings and its
 * sibling with guidance, QwenTimestepProjEmbeddings. The model sets the first group of members. */
typedef struct {
    int64_t batch, text_dim, width; /* text_dim 0: there is no pooled text                    */
    float unit;                     /* multiplies timestep and guidance, in float32, before the sinusoid */
    float scale;                    /* multiplies the angles of the sinusoid; 0: nothing does             */
    bool guided;                    /* the model takes a guidance */

    embed_mlp timestep, text, guidance;
    float *constant;          /* [batch, width] sum of text and guidance, in rt->image       */
    float *embedded;          /* [batch, width] the sum of a step                            */
    float *activated;         /* [batch, width] silu(embedded)                              */
    float *sinusoid, *hidden; /* scratch */
} embed_combined;
/* Loads timestep_embedder, text_embedder, guidance_embedder of the scope and makes the buffers. */
dit_status embed_combined_create(const dit_scope *scope, embed_combined *combined);
/* Embeds text [batch, text_dim] and, if guided, guidance [batch]; once per image. */
void embed_combined_prepare(dit_runtime *rt, const embed_combined *combined, const float *text, const float *guidance);
/* Sets embedded and activated for timestep [batch]; once per step. */
void embed_combined_step(dit_runtime *rt, const embed_combined *combined, const float *timestep);
/* Taps embedded under `name`. */
dit_status embed_tap_combined(dit_model *model, const embed_combined *combined, const char *name);

#endif
