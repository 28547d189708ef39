/* Cases for depthwise: whole images, and bands with the rows next to them. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t height, width, C, B;
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
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_FP32, 1, 9 * s->C, 0, 0.4f));
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
    args.weight = run->in[1], args.ld_edge = ld;
    if (run->c->flags & BIAS) args.bias = run->in[2];
    if (run->c->flags & BAND) args.above = run->in[3], args.below = run->in[3] + s->B * s->width * ld;
    to->table->depthwise(run->pool, &args);
}

#define DEPTHWISE(height, width, C, B, flags)                                                                          \
    {                                                                                                                  \
        DIT_OPERATOR_DEPTHWISE, {height, width, C, B}, flags                                                           \
    }

static const dit_kernel_case checked[] = {
    DEPTHWISE(1, 1, 1, 1, BIAS),         DEPTHWISE(3, 5, 21, 2, BIAS | STRIDED),
    DEPTHWISE(1, 4, 33, 2, BIAS | BAND), DEPTHWISE(6, 3, 64, 1, BIAS | BAND | STRIDED),
    DEPTHWISE(2, 7, 48, 3, 0),           DEPTHWISE(32, 32, 5600, 1, BIAS | TIMED),
};

const dit_operator_cases dit_cases_depthwise = {
    .name = "depthwise",
    .sizes = {{"height", NULL}, {"width", NULL}, {"C", NULL}, {"B", NULL}},
    .tolerance = 3e-7, /* nine products and their sum in fp32 */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
