/* Cases for gated_add: y += gate * (x + bias). */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t rows, C;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: x, bias, gate */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    DIT_TRY(dit_case_fill(run, 0, s->rows * s->C, 0, 1));
    DIT_TRY(dit_case_fill(run, 1, s->C, 0, 1));
    DIT_TRY(dit_case_fill(run, 2, s->C, 0, 1));
    return dit_case_outputs(run, s->rows * dit_case_stride(run->c, s->C), 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    dit_gated_add_args args = {.rows = s->rows, .cols = s->C, .x = run->in[0], .ldx = s->C, .y = to->out};
    args.ldy = dit_case_stride(c, s->C);
    args.bias = c->flags & BIAS ? run->in[1] : NULL;
    args.gate = c->flags & GATE ? run->in[2] : NULL;
    to->table->gated_add(run->pool, &args);
}

#define GATED_ADD(rows, C, flags)                                                                                      \
    {                                                                                                                  \
        DIT_OPERATOR_GATED_ADD, {rows, C}, flags                                                                       \
    }

static const dit_kernel_case checked[] = {
    GATED_ADD(1, 1, 0),
    GATED_ADD(5, 65, BIAS | STRIDED),
    GATED_ADD(17, 130, GATE),
    GATED_ADD(40, 1152, BIAS | GATE | STRIDED),
    GATED_ADD(1536, 3072, BIAS | GATE | TIMED),
};

const dit_operator_cases dit_cases_gated_add = {
    .name = "gated_add",
    .sizes = {{"rows", NULL}, {"C", NULL}},
    .tolerance = 3e-7, /* up to three roundings; terms cancel */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
