/* Shortcut: the way around a whole stage of Wan 2.2's VAE, without parameters. On the way up each place of the finer grid takes
 * channels of its cell, on the way down a channel is the mean of values of its cell. Both are sums of selections, a linear layer for
 * each place in a cell, so that every backend has them.
 * Source: diffusers 0.35.2, DupUp3D and AvgDown3D. */
#ifndef DIT_ENGINE_VAE_SHORTCUT_H
#define DIT_ENGINE_VAE_SHORTCUT_H

#include "engine/vae/layers.h"

enum { VAE_CELL = 8 }; /* places of a cell of two frames, two rows and two columns */

typedef struct {
    dit_linear place[VAE_CELL]; /* time slowest, columns fastest; weights of ones, or of parts of a mean */
    int64_t out, time, space;   /* channels of the result; how many frames, rows and columns a cell has: 1 or 2 */
    bool down;
} vae_shortcut;

/* Makes the layers in rt->run. Errors: DIT_ERR_SHAPE for widths that do not share a cell evenly; DIT_ERR_MEMORY. */
dit_status vae_make_shortcut(const vae_loader *l, int64_t in, int64_t out, int64_t time, int64_t space, bool down,
                             vae_shortcut *shortcut);
/* Keeps x in VAE_SLOT_LATENT until the end of the stage. */
vae_tensor vae_shortcut_keep(const vae_walk *walk, vae_tensor x);
/* y += the kept x, brought to y's grid. `begins`: the first chunk of a clip, whose one frame stands for a cell in time. */
void vae_shortcut_add(const vae_walk *walk, const vae_shortcut *shortcut, vae_tensor kept, bool begins, vae_tensor y);
/* Brings x down to the grid of cells, into slot `to`, by a shortcut that leads down; no frame of the first cell is missing. Where
 * the result has all values of a cell, they become channels, the place fastest. */
vae_tensor vae_shortcut_reduce(const vae_walk *walk, const vae_shortcut *shortcut, vae_tensor x, int to);

/* Makes layers as vae_make_shortcut does on the way down, of cells whose values stand with the place slowest: `time` frames of 2 x 2.
 * They become `out` channels, each the mean of values that follow each other; where there are twice as many, they stand twice. */
dit_status vae_make_cells(const vae_loader *l, int64_t in, int64_t out, int64_t time, vae_shortcut *cells);
/* Brings frames of x, from `first` on, to `count` frames of y, from `at` on; adds to them, or with `fresh` replaces them. */
void vae_cells_bring(const vae_walk *walk, const vae_shortcut *cells, vae_tensor x, int64_t first, bool fresh,
                     vae_tensor y, int64_t at, int64_t count);

#endif
