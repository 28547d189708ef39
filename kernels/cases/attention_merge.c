/* Cases for attention_merge: merges one more block of keys into the running out and lse. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t B, H, S, D;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: block_out, block_lse; in some rows the running lse is -INFINITY: nothing was merged yet */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    DIT_TRY(dit_case_fill(run, 0, s->B * s->H * s->S * s->D, 0, 1));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_FP32, 1, s->B * s->H * s->S, 3, 2));
    DIT_TRY(dit_case_outputs(run, s->B * s->S * dit_case_stride(run->c, s->H * s->D), s->B * s->H * s->S));
    for (int64_t i = 1; i < run->lse_floats; i += 3) run->initial[run->out_floats + i] = -INFINITY;
    return DIT_OK;
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const sizes *s = sizes_of(run->c);
    dit_merge_args args = {.B = s->B, .H = s->H, .S = s->S, .D = s->D, .out = to->out};
    args.lse = dit_case_lse_of(run, to->out);
    args.ldo = dit_case_stride(run->c, s->H * s->D);
    args.batch_o = s->S * args.ldo;
    args.block_out = run->in[0];
    args.block_lse = run->in[1];
    to->table->attention_merge(run->pool, &args);
}

#define MERGE(B, H, S, D, flags)                                                                                       \
    {                                                                                                                  \
        DIT_OPERATOR_ATTENTION_MERGE, {B, H, S, D}, flags                                                              \
    }

static const dit_kernel_case checked[] = {
    MERGE(1, 1, 1, 5, 0),          MERGE(2, 3, 17, 18, STRIDED),       MERGE(1, 16, 200, 72, STRIDED),
    MERGE(1, 16, 1024, 72, TIMED), MERGE(1, 24, 4608, 128, ON_DEVICE),
};

static const dit_kernel_case core[] = {
    MERGE(1, 8, 1024, 64, 0),
};

static const dit_kernel_case device[] = {
    MERGE(1, 24, 8192, 128, 0),
};

static const dit_kernel_case few[] = {
    MERGE(1, 2, 64, 64, 0),
};

const dit_operator_cases dit_cases_attention_merge = {
    .name = "attention_merge",
    .sizes = {{"B", NULL}, {"H", NULL}, {"S", "Sq"}, {"D", NULL}},
    .tolerance = 5e-7, /* two exponentials, two weights, one division */
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
