#include "engine/text/pictures/grid.h"

#include <stdlib.h>
#include <string.h>

/* Lists the merged patches of the window that begins at a row and a column; returns how many there are. */
static int64_t add_window(const text_grid *grid, int64_t row, int64_t column, int64_t side, int64_t *cells)
{
    int64_t rows = grid->height / grid->merge, columns = grid->width / grid->merge, count = 0;
    for (int64_t y = row; y < row + side && y < rows; y++)
        for (int64_t x = column; x < column + side && x < columns; x++) cells[count++] = y * columns + x;
    return count;
}

dit_status text_grid_make(int64_t height, int64_t width, int64_t merge, int64_t side, text_grid *out)
{
    *out = (text_grid){.height = height, .width = width, .merge = merge};
    if (height < 1 || width < 1 || height % merge || width % merge)
        return DIT_FAIL(DIT_ERR_SHAPE, "a picture of %lld x %lld patches, of which %lld x %lld become one",
                        (long long)width, (long long)height, (long long)merge, (long long)merge);
    int64_t rows = height / merge, columns = width / merge, placed = 0;
    out->cells = malloc((size_t)(rows * columns) * sizeof *out->cells);
    out->windows = malloc((size_t)(rows * columns) * sizeof *out->windows); /* none is empty */
    if (!out->cells || !out->windows) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the order of patches");
    for (int64_t y = 0; y < rows; y += side)
        for (int64_t x = 0; x < columns; x += side) {
            int64_t count = add_window(out, y, x, side, out->cells + placed);
            out->windows[out->window_count++] = count;
            placed += count;
        }
    return DIT_OK;
}

void text_grid_release(text_grid *grid)
{
    free(grid->cells);
    free(grid->windows);
    *grid = (text_grid){0};
}

void text_grid_at(const text_grid *grid, int64_t token, int64_t *row, int64_t *column)
{
    int64_t merge = grid->merge, columns = grid->width / merge, cell = grid->cells[token / (merge * merge)];
    *row = cell / columns * merge + token % (merge * merge) / merge;
    *column = cell % columns * merge + token % merge;
}

void text_grid_place(const text_grid *grid, const float *planes, int64_t patch, int64_t copies, float *rows)
{
    int64_t tokens = grid->height * grid->width, across = grid->width * patch, plane = tokens * patch * patch;
    for (int64_t token = 0; token < tokens; token++) {
        int64_t row, column;
        text_grid_at(grid, token, &row, &column);
        for (int64_t i = 0; i < 3 * copies * patch; i++) { /* colour, copy, line */
            const float *line = planes + i / (copies * patch) * plane + (row * patch + i % patch) * across;
            memcpy(rows, line + column * patch, (size_t)patch * sizeof *rows);
            rows += patch;
        }
    }
}

void text_grid_restore(const text_grid *grid, const float *from, int64_t cols, float *to)
{
    int64_t cells = grid->height * grid->width / (grid->merge * grid->merge);
    for (int64_t i = 0; i < cells; i++) memcpy(to + grid->cells[i] * cols, from + i * cols, (size_t)cols * sizeof *to);
}
