/* Cases for timestep: the sinusoid of diffusion times. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t rows, C;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: t */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    DIT_TRY(dit_case_fill(run, 0, s->rows, 500, 300));
    return dit_case_outputs(run, s->rows * s->C, 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const sizes *s = sizes_of(run->c);
    dit_timestep_args args = {.count = s->rows, .dim = s->C, .t = run->in[0], .unit = 1.0f, .y = to->out};
    if (run->c->flags & MODULATE) args.unit = 1000.0f;
    to->table->timestep(run->pool, &args);
}

#define TIMESTEP(rows, C, flags)                                                                                       \
    {                                                                                                                  \
        DIT_OPERATOR_TIMESTEP, {rows, C}, flags                                                                        \
    }

static const dit_kernel_case checked[] = {
    TIMESTEP(1, 256, 0),
    TIMESTEP(3, 7, 0),
    TIMESTEP(4, 256, MODULATE),
};

const dit_operator_cases dit_cases_timestep = {
    .name = "timestep",
    .sizes = {{"rows", NULL}, {"C", NULL}},
    .tolerance = 3e-7, /* cosine and sine of 1 or 2 ulp; angles are rounded alike everywhere */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
