/* Cases for conv: over frames, height and width; bands of an image; upsampling and downsampling. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t frames, height, width, k, n; /* k channels to n */
    int64_t taps;                        /* taps x taps pixels */
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* Returns the lines of y. A convolution can compute any of them by itself. */
static int64_t rows(const dit_kernel_case *c)
{
    int64_t height = sizes_of(c)->height;
    return c->flags & UP ? 2 * height : c->flags & DOWN ? height / 2 : height;
}

/* Three output channels are limited by the bandwidth of the input. */
static bool is_thin(const dit_kernel_case *c)
{
    return sizes_of(c)->n < 16;
}

static int64_t depth(const dit_kernel_case *c)
{
    const sizes *s = sizes_of(c);
    return (c->flags & CAUSAL ? 3 : 1) * s->taps * s->taps * s->k;
}

static dit_conv_args shape_of(const dit_kernel_case *c)
{
    const sizes *s = sizes_of(c);
    dit_conv_args args = {.frames = s->frames, .height = s->height, .width = s->width, .channels = s->k, .up = 1};
    int64_t padding = c->flags & DOWN ? 0 : s->taps / 2, stride = c->flags & DOWN ? 2 : 1;
    if (c->flags & UP) args.up = 2;
    args.replicate = c->flags & REPLICATE;
    args.kernel[0] = c->flags & CAUSAL ? 3 : 1;
    args.kernel[1] = args.kernel[2] = s->taps;
    args.stride[0] = 1;
    args.stride[1] = args.stride[2] = stride;
    args.padding[0] = args.kernel[0] - 1;
    args.padding[1] = args.padding[2] = padding;
    args.out[0] = s->frames;
    args.out[1] = rows(c);
    args.out[2] = s->width * args.up / stride;
    return args;
}

/* in: x, W, b, frames before x, rows above, rows below */
static dit_status prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    dit_conv_args shape = shape_of(c);
    int64_t k = depth(c), line = s->width * s->k;
    DIT_TRY(dit_case_fill(run, 0, s->frames * s->height * line, 0, 1));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_PACKED, 1, s->n * k, 0, 1 / sqrtf((float)k)));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_PACKED, 2, s->n, 0, 1));
    DIT_TRY(dit_case_fill(run, 3, shape.padding[0] * s->height * line, 0, 1));
    DIT_TRY(dit_case_fill(run, 4, (shape.padding[0] + s->frames) * line, 0, 1));
    DIT_TRY(dit_case_fill(run, 5, (shape.padding[0] + s->frames) * line, 0, 1));
    const float *w[1] = {run->in[1]}, *b[1] = {c->flags & BIAS ? run->in[2] : NULL};
    DIT_TRY(dit_case_pack(run, k, 1, w, b, &s->n));
    return dit_case_outputs(run, shape.out[0] * shape.out[1] * shape.out[2] * s->n, 0);
}

/* Computes lines [first, first + count) of y; a case of several frames always runs whole. */
static void call(dit_case_run *run, const dit_case_target *to)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    dit_conv_args args = shape_of(c);
    args.padding[1] -= to->first * args.stride[1];
    args.out[1] = to->count;
    args.weights = to->weights;
    args.x = run->in[0];
    args.front = c->flags & CAUSAL ? run->in[3] : NULL;
    args.front_frame = s->height * s->width * s->k;
    if (c->flags & BAND) args.above = run->in[4], args.below = run->in[5];
    args.y = to->out + to->first * args.out[2] * s->n;
    args.residual = c->flags & RESIDUAL ? args.y : NULL;
    args.activation = dit_case_activation(c);
    to->table->conv(run->pool, &args);
}

#define CONV(frames, height, width, k, n, taps, flags)                                                                 \
    {                                                                                                                  \
        DIT_OPERATOR_CONV, {frames, height, width, k, n, taps}, flags                                                  \
    }

static const dit_kernel_case checked[] = {
    CONV(1, 1, 1, 1, 1, 1, 0),
    CONV(1, 1, 1, 5, 7, 3, BIAS),
    CONV(2, 5, 7, 4, 49, 3, BIAS | SILU),
    CONV(1, 9, 11, 33, 16, 3, BIAS | RESIDUAL),
    CONV(1, 17, 13, 100, 3, 3, BIAS),
    CONV(3, 7, 10, 12, 20, 3, BIAS | DOWN),
    CONV(1, 8, 8, 600, 50, 3, BIAS | DOWN),
    CONV(1, 5, 6, 40, 24, 3, BIAS | UP),
    CONV(4, 6, 5, 10, 11, 3, BIAS | CAUSAL),
    CONV(1, 6, 5, 64, 48, 3, BIAS | CAUSAL | RESIDUAL),
    CONV(2, 3, 4, 16, 800, 3, BIAS | CAUSAL),
    CONV(1, 40, 30, 16, 100, 5, BIAS | RESIDUAL),
    CONV(2, 5, 7, 20, 9, 3, BIAS | BAND | RESIDUAL),
    CONV(3, 1, 6, 30, 11, 3, BIAS | BAND | UP),
    CONV(4, 3, 5, 10, 7, 3, BIAS | BAND | CAUSAL),
    CONV(1, 4, 3, 8, 5, 5, BIAS | BAND),
    CONV(2, 5, 7, 20, 9, 3, BIAS | REPLICATE),
    CONV(1, 1, 1, 8, 5, 5, BIAS | REPLICATE),
    CONV(2, 4, 3, 16, 50, 3, BIAS | REPLICATE | UP),
    CONV(3, 5, 4, 10, 7, 3, BIAS | REPLICATE | CAUSAL | RESIDUAL),
    CONV(3, 3, 5, 8, 7, 3, BIAS | REPLICATE | BAND | CAUSAL),
    CONV(1, 64, 64, 512, 512, 3, BIAS | LARGE),
    CONV(1, 64, 64, 512, 512, 3, BIAS | RESIDUAL | LARGE),
    CONV(1, 64, 64, 512, 512, 3, BIAS | UP | LARGE),
    CONV(1, 60, 90, 512, 512, 3, BIAS | LARGE),
    CONV(1, 128, 128, 512, 256, 3, BIAS | LARGE),
    CONV(1, 256, 256, 256, 256, 3, BIAS | LARGE),
    CONV(1, 256, 256, 256, 128, 3, BIAS | LARGE),
    CONV(1, 512, 512, 128, 128, 3, BIAS | RESIDUAL | LARGE),
    CONV(1, 512, 512, 128, 3, 3, BIAS | LARGE),
};

const dit_operator_cases dit_cases_conv = {
    .name = "conv",
    .sizes = {{"frames", NULL}, {"height", NULL}, {"width", NULL}, {"k", NULL}, {"n", NULL}, {"taps", NULL}},
    .tolerance = 1e-6, /* as a linear layer's */
    .compute_bound = true,
    .depth = depth,
    .rows = rows,
    .is_thin = is_thin,
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
