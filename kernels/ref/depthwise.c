/* y = bias + convolution of each channel by itself. */
#include "kernels/ref/ref.h"

/* The pixels of a row that may lie just outside of the band; NULL: there is none, zeros. */
static const float *row_of(const dit_depthwise_args *a, int64_t b, int64_t row, int64_t *ld)
{
    const float *edge = row < 0 ? a->above : a->below;
    bool inside = row >= 0 && row < a->height;
    *ld = inside ? a->ldx : a->ld_edge;
    if (inside) return a->x + (b * a->height + row) * a->width * a->ldx;
    return edge ? edge + b * a->width * a->ld_edge : NULL;
}

static double pixel_of(const dit_depthwise_args *a, int64_t b, int64_t row, int64_t x, int64_t c)
{
    double sum = a->bias ? (double)a->bias[c] : 0;
    int64_t kernel = a->kernel, half = kernel / 2;
    for (int64_t dr = 0; dr < kernel; dr++) {
        int64_t ld;
        const float *u = row_of(a, b, row + dr - half, &ld);
        for (int64_t dx = 0; dx < kernel && u; dx++) {
            int64_t at = x + dx - half;
            if (at >= 0 && at < a->width)
                sum += (double)a->weight[(c * kernel + dr) * kernel + dx] * (double)u[at * ld + c];
        }
    }
    return sum;
}

void dit_ref_depthwise(dit_pool *pool, const dit_depthwise_args *args)
{
    (void)pool;
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t row = 0; row < args->height; row++)
            for (int64_t x = 0; x < args->width; x++)
                for (int64_t c = 0; c < args->C; c++)
                    args->y[((b * args->height + row) * args->width + x) * args->ldy + c] =
                        (float)pixel_of(args, b, row, x, c);
}

/* A product for each weight, pixel and channel, at edges, too; it reads x and writes y. */
dit_work dit_depthwise_work(const dit_depthwise_args *args)
{
    return dit_elementwise_work(args->batch * args->height * args->width * args->C, 1, 1,
                                2 * (double)(args->kernel * args->kernel));
}
