/* Convolution over time, height and width on channels-last data, as a sum over taps. */
#include "kernels/ref/ref.h"

/* Returns a pixel of the rows above or below x. Upsampling repeats these rows, too. */
static const float *edge_at(const dit_conv_args *a, int64_t t, int64_t y, int64_t x)
{
    const float *edge = y < 0 ? a->above : a->below;
    if (!edge || y < -a->up || y >= (a->height + 1) * a->up || (t < 0 && !a->front)) return NULL;
    return edge + ((t + a->padding[0]) * a->width + x / a->up) * a->channels;
}

/* Returns the coordinate inside of [0, extent) that is nearest. */
static int64_t nearest(int64_t at, int64_t extent)
{
    return at < 0 ? 0 : at < extent ? at : extent - 1;
}

/* Returns a pixel of the upsampled and padded input, or NULL where it is zero. */
static const float *input_at(const dit_conv_args *a, int64_t t, int64_t y, int64_t x)
{
    int64_t frame = a->height * a->width * a->channels;
    if (a->replicate) x = nearest(x, a->width * a->up);
    if (a->replicate && !(y < 0 ? a->above : a->below)) y = nearest(y, a->height * a->up);
    if (x < 0 || x >= a->width * a->up || t >= a->frames) return NULL;
    if (y < 0 || y >= a->height * a->up) return edge_at(a, t, y, x);
    const float *plane = a->x + t * frame;
    if (t < 0) {
        if (!a->front) return NULL;
        plane = a->front + (t + a->padding[0]) * a->front_frame;
    }
    return plane + (y / a->up * a->width + x / a->up) * a->channels;
}

static double sum_of_taps(const dit_conv_args *a, const float *w, int64_t t, int64_t y, int64_t x)
{
    double sum = 0;
    for (int64_t dt = 0; dt < a->kernel[0]; dt++)
        for (int64_t dy = 0; dy < a->kernel[1]; dy++)
            for (int64_t dx = 0; dx < a->kernel[2]; dx++, w += a->channels) {
                const float *u = input_at(a, t * a->stride[0] - a->padding[0] + dt,
                                          y * a->stride[1] - a->padding[1] + dy, x * a->stride[2] - a->padding[2] + dx);
                for (int64_t c = 0; u && c < a->channels; c++) sum += (double)w[c] * u[c];
            }
    return sum;
}

static void conv_positions(void *context, int64_t begin, int64_t end, int worker)
{
    const dit_conv_args *a = context;
    const dit_linear *w = a->weights;
    (void)worker;
    for (int64_t at = begin; at < end; at++) {
        int64_t x = at % a->out[2], y = at / a->out[2] % a->out[1], t = at / a->out[2] / a->out[1];
        for (int64_t j = 0; j < w->n; j++) {
            double value = sum_of_taps(a, w->packed + j * w->k, t, y, x) + (w->bias ? w->bias[j] : 0.0);
            value = dit_ref_activation(value, a->activation);
            if (a->residual) value += a->residual[at * w->n + j];
            a->y[at * w->n + j] = (float)value;
        }
    }
}

void dit_ref_conv(dit_pool *pool, const dit_conv_args *args)
{
    dit_pool_run(pool, args->out[0] * args->out[1] * args->out[2], 1, conv_positions, (void *)args);
}

/* Counts all taps, also those on padding, as the field does. x, W, b and the residual are read once, y is written once.
 */
dit_work dit_conv_work(const dit_conv_args *a)
{
    double positions = (double)a->out[0] * (double)a->out[1] * (double)a->out[2];
    double n = (double)a->weights->n, k = (double)a->weights->k;
    double input = (double)a->frames * (double)a->height * (double)a->width * (double)a->channels;
    return (dit_work){.flops = 2 * positions * n * k,
                      .bytes = sizeof(float) * (input + n * k + n + positions * n * (a->residual ? 2 : 1))};
}
