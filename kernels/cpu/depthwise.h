/* Depthwise 3 x 3 convolution: a thread takes a vector of channels of one batch entry over all pixels, with the nine weights of
 * each channel in registers. */
#ifndef DIT_KERNELS_CPU_DEPTHWISE_H
#define DIT_KERNELS_CPU_DEPTHWISE_H

#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

enum { DEPTHWISE_TAPS = 9 };

/* Three rows of u, from the channel on; a row is NULL where zeros are read. */
typedef struct {
    const float *row[3];
    int64_t ld[3];
} depthwise_rows;

static depthwise_rows depthwise_rows_of(const dit_depthwise_args *a, int64_t b, int64_t y, int64_t c)
{
    depthwise_rows rows;
    for (int i = 0; i < 3; i++) {
        int64_t at = y + i - 1;
        const float *edge = at < 0 ? a->above : a->below;
        bool inside = at >= 0 && at < a->height;
        rows.ld[i] = inside ? a->ldx : a->ld_edge;
        rows.row[i] = edge ? edge + b * a->width * a->ld_edge + c : NULL;
        if (inside) rows.row[i] = a->x + (b * a->height + at) * a->width * a->ldx + c;
    }
    return rows;
}

DIT_INLINE vf depthwise_pixel(const dit_depthwise_args *a, const depthwise_rows *rows, int64_t x, const vf *weight,
                              vf sum, int64_t left)
{
    for (int i = 0; i < 3; i++) {
        const float *u = rows->row[i] ? rows->row[i] + x * rows->ld[i] : NULL;
        if (!u) continue;
        if (x > 0) sum = vf_fma(weight[3 * i], vf_load_next(u - rows->ld[i], left), sum);
        sum = vf_fma(weight[3 * i + 1], vf_load_next(u, left), sum);
        if (x + 1 < a->width) sum = vf_fma(weight[3 * i + 2], vf_load_next(u + rows->ld[i], left), sum);
    }
    return sum;
}

/* Channels [c, c + left) of a batch entry, at most a vector of them. */
DIT_INLINE void depthwise_channels(const dit_depthwise_args *a, int64_t b, int64_t c, int64_t left)
{
    float lanes[DEPTHWISE_TAPS][VF_LANES] = {{0}};
    vf weight[DEPTHWISE_TAPS], bias = a->bias ? vf_load_next(a->bias + c, left) : vf_zero();
    for (int64_t i = 0; i < left && i < VF_LANES; i++)
        for (int tap = 0; tap < DEPTHWISE_TAPS; tap++) lanes[tap][i] = a->weight[(c + i) * DEPTHWISE_TAPS + tap];
    for (int tap = 0; tap < DEPTHWISE_TAPS; tap++) weight[tap] = vf_load(lanes[tap]);
    for (int64_t y = 0; y < a->height; y++) {
        depthwise_rows rows = depthwise_rows_of(a, b, y, c);
        float *out = a->y + (b * a->height + y) * a->width * a->ldy + c;
        for (int64_t x = 0; x < a->width; x++)
            vf_store_next(out + x * a->ldy, depthwise_pixel(a, &rows, x, weight, bias, left), left);
    }
}

static void depthwise_vectors(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_depthwise_args *a = context;
    int64_t vectors = (a->C + VF_LANES - 1) / VF_LANES;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t c = i % vectors * VF_LANES;
        if (a->C - c >= VF_LANES)
            depthwise_channels(a, i / vectors, c, VF_LANES);
        else
            depthwise_channels(a, i / vectors, c, a->C - c);
    }
}

static void cpu_depthwise(dit_pool *pool, const dit_depthwise_args *args)
{
    int64_t vectors = (args->C + VF_LANES - 1) / VF_LANES;
    dit_pool_run(pool, args->batch * vectors, 4, depthwise_vectors, (void *)args);
}

#endif
