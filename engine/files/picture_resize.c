#include "engine/files/picture_resize.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_EDGE = 1 << 20, WEIGHT_BITS = 32 - 8 - 2, CHANNELS = 3, LANCZOS_LOBES = 3 };

/* For every place of the result: the first place of the source that it is a sum of, how many, and their weights. */
typedef struct {
    int64_t taps; /* room for weights of each place */
    int64_t *first, *count;
    int32_t *weight; /* [places, taps], in units of 2^-22 */
} resampling;

static double sinc(double x)
{
    return x == 0 ? 1 : sin(x * M_PI) / (x * M_PI);
}

static double lanczos(double x)
{
    return x >= -LANCZOS_LOBES && x < LANCZOS_LOBES ? sinc(x) * sinc(x / LANCZOS_LOBES) : 0;
}

static double bilinear(double x)
{
    return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

/* Keys' cubic with a = -1/2. */
static double bicubic(double x)
{
    const double a = -0.5, t = fabs(x);
    if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? (((t - 5) * t + 8) * t - 4) * a : 0;
}

typedef struct {
    double (*weight)(double x);
    double support;
} filter;
static const filter filters[DIT_RESIZE_COUNT] = {
    [DIT_RESIZE_LANCZOS] = {lanczos, LANCZOS_LOBES},
    [DIT_RESIZE_BILINEAR] = {bilinear, 1},
    [DIT_RESIZE_BICUBIC] = {bicubic, 2},
};

static void release(resampling *r)
{
    free(r->first);
    free(r->count);
    free(r->weight);
}

/* The weights of one place, which lie around `center`; `scratch` holds them before they are rounded. */
static void weigh(resampling *r, const filter *f, int64_t place, double center, double scale, int64_t size,
                  double *scratch)
{
    double support = f->support * scale;
    int64_t first = (int64_t)(center - support + 0.5), end = (int64_t)(center + support + 0.5);
    double sum = 0, narrow = 1.0 / scale;
    if (first < 0) first = 0;
    if (end > size) end = size;
    for (int64_t i = first; i < end; i++) sum += scratch[i - first] = f->weight(((double)i - center + 0.5) * narrow);
    for (int64_t i = first; i < end; i++) {
        double weight = (sum != 0 ? scratch[i - first] / sum : scratch[i - first]) * (1 << WEIGHT_BITS);
        r->weight[place * r->taps + i - first] = (int32_t)(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
    r->first[place] = first;
    r->count[place] = end - first;
}

static dit_status plan(const filter *f, int64_t size, int64_t places, resampling *r)
{
    double step = (double)size / (double)places, scale = step < 1 ? 1 : step, support = f->support * scale;
    *r = (resampling){.taps = (int64_t)ceil(support) * 2 + 1};
    size_t wanted = (size_t)places;
    r->first = malloc(wanted * sizeof *r->first);
    r->count = malloc(wanted * sizeof *r->count);
    r->weight = malloc(wanted * (size_t)r->taps * sizeof *r->weight);
    double *scratch = malloc((size_t)r->taps * sizeof *scratch);
    bool there = r->first && r->count && r->weight && scratch;
    for (int64_t i = 0; there && i < places; i++) weigh(r, f, i, ((double)i + 0.5) * step, scale, size, scratch);
    free(scratch);
    if (there) return DIT_OK;
    release(r);
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory to resize a picture");
}

/* One level: the weighted sum of `count` levels that lie `stride` bytes apart, rounded and clamped. */
static uint8_t weighted(const uint8_t *from, int64_t stride, const int32_t *weight, int64_t count)
{
    int32_t sum = 1 << (WEIGHT_BITS - 1);
    for (int64_t i = 0; i < count; i++) sum += from[i * stride] * weight[i];
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* Resamples lines [outer, size, inner] bytes to [outer, places, inner]. */
static dit_status resample(const filter *f, const uint8_t *from, int64_t outer, int64_t size, int64_t inner,
                           int64_t places, uint8_t *to)
{
    resampling r;
    if (size == places) {
        memcpy(to, from, (size_t)(outer * size * inner));
        return DIT_OK;
    }
    DIT_TRY(plan(f, size, places, &r));
    for (int64_t line = 0; line < outer; line++)
        for (int64_t place = 0; place < places; place++) {
            const uint8_t *first = from + (line * size + r.first[place]) * inner;
            for (int64_t i = 0; i < inner; i++)
                *to++ = weighted(first + i, inner, r.weight + place * r.taps, r.count[place]);
        }
    release(&r);
    return DIT_OK;
}

dit_status dit_picture_resize(dit_resize_filter by, const uint8_t *rgb, int64_t height, int64_t width,
                              int64_t to_height, int64_t to_width, uint8_t *out)
{
    const filter *f = &filters[by];
    const int64_t extents[] = {height, width, to_height, to_width};
    for (int i = 0; i < 4; i++)
        if (extents[i] < 1 || extents[i] > LONGEST_EDGE)
            return DIT_FAIL(DIT_ERR_SHAPE, "a picture of %lld x %lld pixels cannot be resized to %lld x %lld",
                            (long long)width, (long long)height, (long long)to_width, (long long)to_height);
    bool rows_first = height > to_height && height - to_height > 2 * (width - to_width);
    int64_t half = rows_first ? to_height * width : height * to_width;
    uint8_t *between = malloc((size_t)(half * CHANNELS));
    if (!between) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to resize a picture");
    dit_status st = rows_first ? resample(f, rgb, 1, height, width * CHANNELS, to_height, between)
                               : resample(f, rgb, height, width, CHANNELS, to_width, between);
    if (st == DIT_OK)
        st = rows_first ? resample(f, between, to_height, width, CHANNELS, to_width, out)
                        : resample(f, between, 1, height, to_width * CHANNELS, to_height, out);
    free(between);
    return st;
}

void dit_picture_planes(const uint8_t *rgb, int64_t height, int64_t width, float *planes)
{
    int64_t plane = height * width;
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t i = 0; i < plane; i++)
            planes[c * plane + i] = 2.0f * ((float)rgb[i * CHANNELS + c] / 255.0f) - 1.0f;
}
