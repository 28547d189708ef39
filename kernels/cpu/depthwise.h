/* Depthwise convolution: a thread takes a vector of channels of one batch entry over all pixels, with the weights of each channel
 * at hand, those of a kernel of 3 in registers. */
#ifndef DIT_KERNELS_CPU_DEPTHWISE_H
#define DIT_KERNELS_CPU_DEPTHWISE_H

#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

enum { DEPTHWISE_KERNEL = 7, DEPTHWISE_TAPS = DEPTHWISE_KERNEL * DEPTHWISE_KERNEL }; /* the widest */

/* Rows of u around one of y, from the channel on; a row is NULL where zeros are read. */
typedef struct {
    const float *row[DEPTHWISE_KERNEL];
    int64_t ld[DEPTHWISE_KERNEL];
} depthwise_rows;

static depthwise_rows depthwise_rows_of(const dit_depthwise_args *a, int64_t b, int64_t y, int64_t c)
{
    depthwise_rows rows;
    for (int i = 0; i < a->kernel; i++) {
        int64_t at = y + i - a->kernel / 2;
        const float *edge = at < 0 ? a->above : a->below;
        bool inside = at >= 0 && at < a->height;
        rows.ld[i] = inside ? a->ldx : a->ld_edge;
        rows.row[i] = edge ? edge + b * a->width * a->ld_edge + c : NULL;
        if (inside) rows.row[i] = a->x + (b * a->height + at) * a->width * a->ldx + c;
    }
    return rows;
}

DIT_INLINE vf depthwise_pixel(const dit_depthwise_args *a, int kernel, const depthwise_rows *rows, int64_t x,
                              const vf *weight, vf sum, int64_t left)
{
    for (int i = 0; i < kernel; i++) {
        const float *u = rows->row[i];
        for (int j = 0; j < kernel && u; j++) {
            int64_t at = x + j - kernel / 2;
            if (at >= 0 && at < a->width)
                sum = vf_fma(weight[i * kernel + j], vf_load_next(u + at * rows->ld[i], left), sum);
        }
    }
    return sum;
}

/* Channels [c, c + left) of a batch entry, at most a vector of them. */
DIT_INLINE void depthwise_channels(const dit_depthwise_args *a, int kernel, int64_t b, int64_t c, int64_t left)
{
    int taps = kernel * kernel;
    float lanes[DEPTHWISE_TAPS][VF_LANES] = {{0}};
    vf weight[DEPTHWISE_TAPS], bias = a->bias ? vf_load_next(a->bias + c, left) : vf_zero();
    for (int64_t i = 0; i < left && i < VF_LANES; i++)
        for (int tap = 0; tap < taps; tap++) lanes[tap][i] = a->weight[(c + i) * taps + tap];
    for (int tap = 0; tap < taps; tap++) weight[tap] = vf_load(lanes[tap]);
    for (int64_t y = 0; y < a->height; y++) {
        depthwise_rows rows = depthwise_rows_of(a, b, y, c);
        float *out = a->y + (b * a->height + y) * a->width * a->ldy + c;
        for (int64_t x = 0; x < a->width; x++)
            vf_store_next(out + x * a->ldy, depthwise_pixel(a, kernel, &rows, x, weight, bias, left), left);
    }
}

static void depthwise_vectors(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_depthwise_args *a = context;
    int64_t vectors = (a->C + VF_LANES - 1) / VF_LANES;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t c = i % vectors * VF_LANES;
        if (a->kernel == 3 && a->C - c >= VF_LANES)
            depthwise_channels(a, 3, i / vectors, c, VF_LANES);
        else
            depthwise_channels(a, (int)a->kernel, i / vectors, c, a->C - c);
    }
}

static void cpu_depthwise(dit_pool *pool, const dit_depthwise_args *args)
{
    int64_t vectors = (args->C + VF_LANES - 1) / VF_LANES;
    dit_pool_run(pool, args->batch * vectors, 4, depthwise_vectors, (void *)args);
}

#endif
