/* Cases for qk_norm_rope: the norm of each head, then the rotary embedding of pairs, in place. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t rows, H, D;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: weight, cos, sin, bias; cos and sin come from no angles, but each value stands twice, as in real tables */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    int64_t angles = dit_case_entries(run->c) * s->rows * s->D;
    DIT_TRY(dit_case_fill(run, 0, s->D, 1, 0.3f));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_FP32, 1, angles, 0, 1));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_FP32, 2, angles, 0, 1));
    DIT_TRY(dit_case_fill(run, 3, s->D, 0.5f, 1));
    for (int64_t i = 0; i + 1 < angles; i += 2) {
        float angle = run->in[1][i];
        run->in[1][i] = run->in[1][i + 1] = cosf(angle);
        run->in[2][i] = run->in[2][i + 1] = sinf(angle);
    }
    int64_t ld = dit_case_stride(run->c, s->H * s->D);
    return dit_case_outputs(run, dit_case_entries(run->c) * dit_case_entry_stride(run->c, s->rows, ld), 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    dit_qk_norm_rope_args args = {.rows = s->rows, .H = s->H, .D = s->D, .x = to->out, .eps = 1e-6f};
    args.ldx = dit_case_stride(c, s->H * s->D);
    args.kind = c->flags & RMS ? DIT_NORM_RMS : DIT_NORM_LAYER;
    args.weight = c->flags & NORMED ? run->in[0] : NULL;
    args.bias = c->flags & BIAS ? run->in[3] : NULL;
    args.cos = c->flags & ROPE ? run->in[1] : NULL;
    args.sin = c->flags & ROPE ? run->in[2] : NULL;
    int64_t stride = dit_case_entry_stride(c, s->rows, args.ldx);
    dit_entries apart = {s->rows, stride, stride, s->rows * s->D};
    if (to->table->entries && dit_case_entries(c) > 1) args.entries = apart, args.rows *= dit_case_entries(c);
    for (int64_t done = 0; done < dit_case_entries(c) * apart.rows; done += args.rows) {
        to->table->qk_norm_rope(run->pool, &args);
        args.x += apart.x;
        if (args.cos) args.cos += apart.vector, args.sin += apart.vector;
    }
}

#define QK(rows, H, D, flags)                                                                                          \
    {                                                                                                                  \
        DIT_OPERATOR_QK_NORM_ROPE, {rows, H, D}, flags                                                                 \
    }

static const dit_kernel_case checked[] = {
    QK(1, 1, 2, NORMED | RMS | ROPE),
    QK(5, 3, 18, NORMED | RMS | ROPE | STRIDED),
    QK(9, 2, 72, NORMED | RMS),
    QK(200, 4, 88, ROPE | STRIDED),
    QK(3, 2, 1, NORMED | BIAS),
    QK(7, 3, 40, NORMED),
    QK(33, 2, 88, NORMED | BIAS | ROPE | STRIDED),
    QK(33, 2, 88, NORMED | RMS | ROPE | STRIDED | ENTRIES),
    QK(1536, 24, 128, NORMED | RMS | ROPE | STRIDED | TIMED),
    QK(4608, 24, 128, NORMED | RMS | ROPE | ON_DEVICE),
};

static const dit_kernel_case core[] = {
    QK(512, 16, 72, NORMED),
    QK(512, 16, 72, NORMED | RMS),
    QK(512, 16, 72, ROPE),
};

static const dit_kernel_case device[] = {
    QK(16384, 24, 128, NORMED),
    QK(16384, 24, 128, NORMED | RMS),
    QK(16384, 24, 128, ROPE),
};

static const dit_kernel_case few[] = {
    QK(64, 2, 64, NORMED),
    QK(64, 2, 64, NORMED | RMS),
    QK(64, 2, 64, ROPE),
};

const dit_operator_cases dit_cases_qk_norm_rope = {
    .name = "qk_norm_rope",
    .sizes = {{"rows", NULL}, {"H", NULL}, {"D", NULL}},
    .tolerance = 5e-7, /* up to five roundings; pairs cancel */
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
