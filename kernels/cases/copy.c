/* Cases for copy: rows of `inner` floats, whose two outer indices are exchanged as around an all-to-all. */
#include "kernels/cases/cases_impl.h"

#include <string.h>

typedef struct {
    int64_t n0, n1, n2, inner;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: src */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    int64_t floats = s->n0 * s->n1 * s->n2 * dit_case_stride(run->c, s->inner);
    DIT_TRY(dit_case_fill(run, 0, floats, 0, 1));
    return dit_case_outputs(run, floats, 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const sizes *s = sizes_of(run->c);
    int64_t row = dit_case_stride(run->c, s->inner);
    dit_copy_args args = {.n0 = s->n0, .n1 = s->n1, .n2 = s->n2, .inner = s->inner, .src = run->in[0], .dst = to->out};
    memcpy(args.src_stride, (int64_t[3]){s->n1 * s->n2 * row, s->n2 * row, row}, sizeof args.src_stride);
    memcpy(args.dst_stride, (int64_t[3]){s->n1 * s->n2 * row, row, s->n1 * row}, sizeof args.dst_stride);
    to->table->copy(run->pool, &args);
}

#define COPY(n0, n1, n2, inner, flags)                                                                                 \
    {                                                                                                                  \
        DIT_OPERATOR_COPY, {n0, n1, n2, inner}, flags                                                                  \
    }

static const dit_kernel_case checked[] = {
    COPY(1, 1, 1, 1, 0),
    COPY(2, 3, 5, 7, STRIDED),
    COPY(4, 64, 8, 72, STRIDED),
    COPY(2, 1024, 8, 72, STRIDED | TIMED),
    COPY(4, 1152, 6, 128, ON_DEVICE),
    COPY(1, 4608, 24, 128, ON_DEVICE),
};

/* Some fit a cache, some fit none. */
static const dit_kernel_case core[] = {
    COPY(1, 8, 64, 64, 0),
    COPY(1, 16, 512, 64, 0),
};

static const dit_kernel_case device[] = {
    COPY(1, 24, 8192, 128, 0),
};

static const dit_kernel_case few[] = {
    COPY(1, 2, 64, 64, 0),
};

const dit_operator_cases dit_cases_copy = {
    .name = "copy",
    .sizes = {{"n0", "B"}, {"n1", "H"}, {"n2", "Sq"}, {"inner", "D"}},
    .tolerance = 0, /* moves bits */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
            [DIT_CASES_CORE] = DIT_CASES(core),
            [DIT_CASES_DEVICE] = DIT_CASES(device),
            [DIT_CASES_FEW] = DIT_CASES(few),
        },
};
