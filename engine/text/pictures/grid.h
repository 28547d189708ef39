/* Grid: the patches of a picture of any size, in the order in which an encoder with windows has them.
 * Source: transformers 5.23.0, vision_utils.py (get_vision_window_index, get_vision_position_ids) and Qwen2VLImageProcessor. */
#ifndef DIT_ENGINE_TEXT_GRID_H
#define DIT_ENGINE_TEXT_GRID_H

#include "base/status.h"
#include <stdint.h>

/* A picture's patches in the order in which the encoder has them: window by window, in each merged patch by merged patch. */
typedef struct {
    int64_t height, width, merge; /* in patches; patches of a merged one's side */
    int64_t *cells;               /* [height width / merge^2]: which merged patch, counted line by line, stands there */
    int64_t *windows;             /* [window_count] merged patches of each */
    int64_t window_count;
} text_grid;

/* Orders a picture's patches. `side`: of a window, in merged patches. text_grid_release frees what it makes, and accepts a
 * zeroed one. Errors: DIT_ERR_SHAPE for extents that are no multiple of `merge`; DIT_ERR_MEMORY. */
dit_status text_grid_make(int64_t height, int64_t width, int64_t merge, int64_t side, text_grid *out);
void text_grid_release(text_grid *grid);
/* Gives row and column of the patch that stands at `token`. */
void text_grid_at(const text_grid *grid, int64_t token, int64_t *row, int64_t *column);
/* Lays planes [3, height patch, width patch] out as rows of patches, each with `copies` of every colour's pixels. */
void text_grid_place(const text_grid *grid, const float *planes, int64_t patch, int64_t copies, float *rows);
/* Gives every merged patch its place in the picture again: to[cells[i]] = from[i], rows of `cols` values. */
void text_grid_restore(const text_grid *grid, const float *from, int64_t cols, float *to);

#endif
