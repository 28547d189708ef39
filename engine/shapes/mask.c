#include "engine/shapes/mask.h"

enum { EDGE = DIT_PICTURE_EDGE };

int dit_mask_count(const dit_mask *mask)
{
    int count = 0;
    for (int y = 0; y < EDGE; y++) count += __builtin_popcount(mask->rows[y]);
    return count;
}

void dit_mask_centre(const dit_mask *mask, float *x, float *y)
{
    int64_t sum_x = 0, sum_y = 0, count = 0;
    for (int row = 0; row < EDGE; row++) {
        for (int column = 0; column < EDGE; column++) {
            if (!dit_mask_has(mask, row * EDGE + column)) continue;
            sum_x += column, sum_y += row, count++;
        }
    }
    *x = (float)sum_x / (float)count + 0.5f;
    *y = (float)sum_y / (float)count + 0.5f;
}

int dit_mask_neighbours(const dit_mask *mask, int pixel)
{
    int count = 0, x = pixel % EDGE, y = pixel / EDGE;
    for (int row = y > 0 ? y - 1 : 0; row <= y + 1 && row < EDGE; row++) {
        uint32_t three = (x > 0 ? mask->rows[row] >> (x - 1) : mask->rows[row] << 1) & 7;
        count += __builtin_popcount(three);
    }
    return count - dit_mask_has(mask, pixel);
}

/* The pixels of row y and those that touch it, of all rows around. */
static uint32_t row_around(const dit_mask *mask, int y)
{
    uint32_t near = mask->rows[y] | (y > 0 ? mask->rows[y - 1] : 0) | (y < EDGE - 1 ? mask->rows[y + 1] : 0);
    return near | near << 1 | near >> 1;
}

void dit_mask_grow(const dit_mask *whole, dit_mask *part)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (int y = 0; y < EDGE; y++) {
            uint32_t wide = row_around(part, y) & whole->rows[y];
            grown = grown || wide != part->rows[y];
            part->rows[y] = wide;
        }
    }
}

void dit_mask_widen(dit_mask *mask)
{
    dit_mask before = *mask;
    for (int y = 0; y < EDGE; y++) mask->rows[y] = row_around(&before, y);
}
