/* Cases for depthwise: whole images, and bands with the rows next to them. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t height, width, C, B, kernel;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: x; weight; bias; the rows above and below */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    int64_t ld = dit_case_stride(run->c, s->C), row = s->B * s->width * ld;
    DIT_TRY(dit_case_fill(run, 0, s->height * row, 0, 1));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_FP32, 1, s->kernel * s->kernel * s->C, 0, 0.3f));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_FP32, 2, s->C, 0, 0.5f));
    DIT_TRY(dit_case_fill(run, 3, 2 * row, 0, 1));
    return dit_case_outputs(run, s->height * row, 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const sizes *s = sizes_of(run->c);
    int64_t ld = dit_case_stride(run->c, s->C);
    dit_depthwise_args args = {.batch = s->B, .height = s->height, .width = s->width, .C = s->C};
    args.x = run->in[0], args.ldx = ld, args.y = to->out, args.ldy = ld;
    args.kernel = s->kernel, args.weight = run->in[1], args.ld_edge = ld;
    if (run->c->flags & BIAS) args.bias = run->in[2];
    if (run->c->flags & BAND) args.above = run->in[3], args.below = run->in[3] + s->B * s->width * ld;
    to->table->depthwise(run->pool, &args);
}

#define DEPTHWISE(height, width, C, B, kernel, flags)                                                                  \
    {                                                                                                                  \
        DIT_OPERATOR_DEPTHWISE, {height, width, C, B, kernel}, flags                                                   \
    }

static const dit_kernel_case checked[] = {
    DEPTHWISE(1, 1, 1, 1, 3, BIAS),         DEPTHWISE(3, 5, 21, 2, 3, BIAS | STRIDED),
    DEPTHWISE(1, 4, 33, 2, 3, BIAS | BAND), DEPTHWISE(6, 3, 64, 1, 3, BIAS | BAND | STRIDED),
    DEPTHWISE(2, 7, 48, 3, 3, 0),           DEPTHWISE(5, 6, 40, 2, 5, BIAS),
    DEPTHWISE(4, 9, 17, 1, 7, STRIDED),     DEPTHWISE(32, 32, 5600, 1, 3, BIAS | TIMED),
    DEPTHWISE(32, 32, 3072, 1, 5, TIMED),
};

const dit_operator_cases dit_cases_depthwise = {
    .name = "depthwise",
    .sizes = {{"height", NULL}, {"width", NULL}, {"C", NULL}, {"B", NULL}, {"kernel", NULL}},
    .tolerance = 4e-7, /* 49 products and their sum in fp32 */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
