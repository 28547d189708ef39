#include "engine/files/picture_fit.h"

#include <string.h>

/* One axis: `from` pixels are resized to `resized`, of which those from `first` on are kept. */
typedef struct {
    int64_t from, resized, first;
} fit_axis;

/* The two pixels that a kept one lies between, and the share of the second. */
static float place(const fit_axis *axis, int64_t at, int64_t *low, int64_t *high)
{
    float scale = (float)axis->from / (float)axis->resized;
    float middle = scale * ((float)(axis->first + at) + 0.5f) - 0.5f;
    if (middle < 0) middle = 0;
    *low = (int64_t)middle < axis->from ? (int64_t)middle : axis->from - 1;
    *high = *low + 1 < axis->from ? *low + 1 : *low;
    return middle - (float)*low;
}

static void fit_plane(const float *plane, const fit_axis *down, const fit_axis *across, int64_t to_height,
                      int64_t to_width, float *out)
{
    int64_t top, bottom, left, right;
    for (int64_t y = 0; y < to_height; y++) {
        float below = place(down, y, &top, &bottom);
        const float *upper = plane + top * across->from, *lower = plane + bottom * across->from;
        for (int64_t x = 0; x < to_width; x++) {
            float beside = place(across, x, &left, &right);
            float above = upper[left] * (1 - beside) + upper[right] * beside;
            float under = lower[left] * (1 - beside) + lower[right] * beside;
            out[y * to_width + x] = above * (1 - below) + under * below;
        }
    }
}

void dit_picture_fit(const float *planes, int64_t count, int64_t height, int64_t width, int64_t to_height,
                     int64_t to_width, float *out)
{
    size_t floats = (size_t)(height * width);
    if (height == to_height && width == to_width) {
        memcpy(out, planes, (size_t)count * floats * sizeof *out);
        return;
    }
    double tall = (double)to_height / (double)height, wide = (double)to_width / (double)width;
    double ratio = tall > wide ? tall : wide;
    fit_axis down = {height, (int64_t)((double)height * ratio), 0},
             across = {width, (int64_t)((double)width * ratio), 0};
    if (down.resized < to_height) down.resized = to_height; /* a product may round to just below */
    if (across.resized < to_width) across.resized = to_width;
    down.first = (down.resized - to_height) / 2, across.first = (across.resized - to_width) / 2;
    for (int64_t i = 0; i < count; i++)
        fit_plane(planes + (size_t)i * floats, &down, &across, to_height, to_width, out + i * to_height * to_width);
}
