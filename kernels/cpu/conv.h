/* Convolution as the linear layer of cpu/linear.h, with rows of x that are gathered when they are needed.
 *
 * A job takes a block of output positions. For each cut of the taps and channels it copies the input pixels that the
 * cut reads into dense rows (zeros for padding, repeated addresses for upsampling), then runs the panels of all output
 * channels over them. No more of the im2col matrix ever exists. Channels are contiguous, so a tap of a position is one
 * copy; every panel reads it, which makes it cheap from about 100 output channels on.
 */
#ifndef DIT_KERNELS_CPU_CONV_H
#define DIT_KERNELS_CPU_CONV_H

#include "kernels/cpu/linear.h"

/* CONV_WIDTH: floats of y that a job makes of one position, at most. CONV_ROW_PADDING: floats between gathered rows,
 * because rows a power of two apart would share cache sets. */
enum { CONV_WIDTH = 768, CONV_ROWS_MIN = 48, CONV_ROW_PADDING = 16 };

typedef struct {
    const dit_conv_args *args;
    dit_linear_args linear; /* its x is never read: rows are gathered */
    linear_plan plan;
    int64_t ldx; /* of gathered rows */
} conv_plan;

/* Returns a pixel of the rows above or below x. Upsampling repeats these rows, too. */
static const float *conv_edge(const dit_conv_args *a, int64_t t, int64_t y, int64_t x)
{
    const float *edge = y < 0 ? a->above : a->below;
    if (!edge || y < -a->up || y >= (a->height + 1) * a->up) return NULL;
    return edge + ((t + a->padding[0]) * a->width + x / a->up) * a->channels;
}

/* Returns the coordinate inside of [0, extent) that is nearest. */
static int64_t conv_nearest(int64_t at, int64_t extent)
{
    return at < 0 ? 0 : at < extent ? at : extent - 1;
}

/* Returns a pixel of the upsampled and padded input, or NULL where it is zero. */
static const float *conv_input(const dit_conv_args *a, int64_t t, int64_t y, int64_t x)
{
    if (a->replicate) {
        x = conv_nearest(x, a->width * a->up);
        if (!(y < 0 ? a->above : a->below)) y = conv_nearest(y, a->height * a->up);
    }
    if (x < 0 || x >= a->width * a->up || t >= a->frames) return NULL;
    if (t < 0 && !a->front) return NULL;
    if (y < 0 || y >= a->height * a->up) return conv_edge(a, t, y, x);
    const float *frame =
        t < 0 ? a->front + (t + a->padding[0]) * a->front_frame : a->x + t * a->height * a->width * a->channels;
    if (a->up == 2) return frame + (y / 2 * a->width + x / 2) * a->channels;
    return frame + (y * a->width + x) * a->channels;
}

/* Gathers taps and channels [k0, k0 + depth) of one output position. */
static void conv_gather_row(const dit_conv_args *a, int64_t position, int64_t k0, int64_t depth, float *row)
{
    int64_t x = position % a->out[2], y = position / a->out[2] % a->out[1], t = position / (a->out[2] * a->out[1]);
    int64_t tap = k0 / a->channels, channel = k0 % a->channels;
    while (depth > 0) {
        int64_t dx = tap % a->kernel[2], dy = tap / a->kernel[2] % a->kernel[1];
        int64_t dt = tap / (a->kernel[2] * a->kernel[1]), count = linear_min(a->channels - channel, depth);
        const float *from = conv_input(a, t * a->stride[0] - a->padding[0] + dt, y * a->stride[1] - a->padding[1] + dy,
                                       x * a->stride[2] - a->padding[2] + dx);
        if (from)
            memcpy(row, from + channel, (size_t)count * sizeof(float));
        else
            memset(row, 0, (size_t)count * sizeof(float));
        row += count;
        depth -= count;
        channel = 0;
        tap++;
    }
}

static void conv_job(void *context, int64_t begin, int64_t end, int worker)
{
    const conv_plan *conv = context;
    const linear_plan *plan = &conv->plan;
    int64_t groups = linear_ceil_div(plan->panels, plan->panels_per_job), k = conv->linear.weights->k;
    float *gathered = dit_pool_scratch(plan->pool, worker), *sums = gathered + plan->rows_per_job * conv->ldx;
    for (int64_t job = begin; job < end; job++) {
        int64_t first = job % groups * plan->panels_per_job;
        linear_rows rows = {.entries = 1, .begin = job / groups * plan->rows_per_job, .x = gathered, .ldx = conv->ldx};
        rows.count = linear_min(plan->rows_per_job, conv->linear.rows - rows.begin);
        for (int64_t k0 = 0; k0 < k; k0 += plan->depth) {
            int64_t depth = linear_min(plan->depth, k - k0);
            for (int64_t i = 0; i < rows.count; i++)
                conv_gather_row(conv->args, rows.begin + i, k0, depth, gathered + i * conv->ldx);
            linear_cut(plan, &rows, first, linear_min(first + plan->panels_per_job, plan->panels), k0, sums);
        }
    }
}

/* Runs the convolution. The depth of a cut depends on k alone, so a position's bits do not depend on the others. */
static void cpu_conv(dit_pool *pool, const dit_conv_args *args)
{
    const dit_linear *w = args->weights;
    int64_t rows = args->out[0] * args->out[1] * args->out[2], wanted;
    conv_plan conv = {.args = args};
    if (rows == 0) return;
    conv.linear = (dit_linear_args){.weights = w, .rows = rows, .y = args->y, .ldy = w->n};
    conv.linear.activation = args->activation;
    conv.linear.residual = args->residual;
    linear_plan *plan = &conv.plan;
    *plan = (linear_plan){.args = &conv.linear, .pool = pool};
    plan->panels = linear_ceil_div(w->n, TILE_WIDTH);
    plan->panels_per_job = linear_min(plan->panels, CONV_WIDTH / TILE_WIDTH);
    plan->depth = linear_ceil_div(w->k, linear_ceil_div(w->k, LINEAR_DEPTH));
    wanted = linear_min((int64_t)LINEAR_JOBS_PER_THREAD * dit_pool_threads(pool), linear_ceil_div(rows, CONV_ROWS_MIN));
    plan->row_blocks = linear_ceil_div(rows, LINEAR_ROWS);
    if (plan->row_blocks < wanted) plan->row_blocks = wanted;
    plan->rows_per_job = linear_ceil_div(linear_ceil_div(rows, plan->row_blocks), TILE_ROWS) * TILE_ROWS;
    plan->row_blocks = linear_ceil_div(rows, plan->rows_per_job);
    conv.ldx = plan->depth + CONV_ROW_PADDING;
    dit_pool_run(pool, plan->row_blocks * linear_ceil_div(plan->panels, plan->panels_per_job), 1, conv_job, &conv);
}

#endif
