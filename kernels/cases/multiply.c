/* Cases for multiply: y = activation(x) * factor. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t rows, C;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: x and factor side by side, as one projection gives them */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    DIT_TRY(dit_case_fill(run, 0, s->rows * 2 * dit_case_stride(run->c, s->C), 0, 2));
    return dit_case_outputs(run, s->rows * dit_case_stride(run->c, s->C), 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    int64_t ld = dit_case_stride(c, s->C);
    dit_multiply_args args = {.rows = s->rows, .cols = s->C, .ldx = 2 * ld, .ld_factor = 2 * ld, .ldy = ld};
    args.x = run->in[0];
    args.factor = run->in[0] + s->C;
    args.y = to->out;
    args.activation = dit_case_activation(c);
    to->table->multiply(run->pool, &args);
}

#define MULTIPLY(rows, C, flags)                                                                                       \
    {                                                                                                                  \
        DIT_OPERATOR_MULTIPLY, {rows, C}, flags                                                                        \
    }

static const dit_kernel_case checked[] = {
    MULTIPLY(1, 1, 0),        MULTIPLY(5, 65, GELU | STRIDED),
    MULTIPLY(17, 130, SILU),  MULTIPLY(40, 1152, ERF | STRIDED),
    MULTIPLY(77, 1000, GELU), MULTIPLY(512, 10240, GELU | TIMED),
};

const dit_operator_cases dit_cases_multiply = {
    .name = "multiply",
    .sizes = {{"rows", NULL}, {"C", NULL}},
    .tolerance = 4e-7, /* that of activate, and the product's rounding */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
