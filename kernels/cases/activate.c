/* Cases for activate: y = activation(x). */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t elements;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: x */
static dit_status prepare(dit_case_run *run)
{
    int64_t elements = sizes_of(run->c)->elements;
    DIT_TRY(dit_case_fill(run, 0, elements, 0, 3));
    return dit_case_outputs(run, elements, 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    dit_activate_args args = {.elements = sizes_of(run->c)->elements, .x = run->in[0], .y = to->out};
    args.activation = dit_case_activation(run->c);
    to->table->activate(run->pool, &args);
}

#define ACTIVATE(elements, flags)                                                                                      \
    {                                                                                                                  \
        DIT_OPERATOR_ACTIVATE, {elements}, flags                                                                       \
    }

static const dit_kernel_case checked[] = {
    ACTIVATE(1, GELU),
    ACTIVATE(1003, GELU),
    ACTIVATE(70001, SILU),
    ACTIVATE(50, 0),
    ACTIVATE(1, ERF),
    ACTIVATE(70003, ERF),
    ACTIVATE(20011, TANH),
    ACTIVATE(1 << 20, GELU | TIMED),
    ACTIVATE(1 << 20, ERF | TIMED),
    ACTIVATE(1 << 20, SILU | TIMED),
};

const dit_operator_cases dit_cases_activate = {
    .name = "activate",
    .sizes = {{"elements", "n"}},
    .tolerance = 3e-7, /* an exponential of 1 ulp and three or four roundings */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
