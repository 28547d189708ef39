/* Cases for norm: LayerNorm or RMS norm of rows, with weights and modulation. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t rows, C;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: x, weight, bias, scale, shift */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    int64_t entries = dit_case_entries(run->c);
    int64_t floats = entries * dit_case_entry_stride(run->c, s->rows, dit_case_stride(run->c, s->C));
    DIT_TRY(dit_case_fill(run, 0, floats, 1, 2));
    for (int slot = 1; slot < 5; slot++)
        DIT_TRY(
            dit_case_fill_as(run, slot < 3 ? DIT_CASE_STORED : dit_case_aside(run->c), slot, entries * s->C, 0.5f, 1));
    return dit_case_outputs(run, floats, 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const dit_kernel_case *c = run->c;
    dit_norm_args args = {.rows = sizes_of(c)->rows, .C = sizes_of(c)->C, .x = run->in[0], .y = to->out, .eps = 1e-6f};
    args.kind = c->flags & RMS ? DIT_NORM_RMS : DIT_NORM_LAYER;
    args.ldx = args.ldy = dit_case_stride(c, args.C);
    if (c->flags & BIAS) args.weight = run->in[1], args.bias = run->in[2];
    if (c->flags & MODULATE) args.scale = run->in[3], args.shift = run->in[4];
    int64_t stride = dit_case_entry_stride(c, args.rows, args.ldx);
    dit_entries apart = {args.rows, stride, stride, args.C};
    if (to->table->entries && dit_case_entries(c) > 1) args.entries = apart, args.rows *= dit_case_entries(c);
    for (int64_t done = 0; done < dit_case_entries(c) * apart.rows; done += args.rows) {
        to->table->norm(run->pool, &args);
        args.x += apart.x;
        args.y += apart.y;
        if (args.scale) args.scale += apart.vector, args.shift += apart.vector;
    }
}

#define NORM(rows, C, flags)                                                                                           \
    {                                                                                                                  \
        DIT_OPERATOR_NORM, {rows, C}, flags                                                                            \
    }

static const dit_kernel_case checked[] = {
    NORM(1, 1, 0),
    NORM(3, 63, BIAS),
    NORM(5, 65, MODULATE | STRIDED),
    NORM(100, 1152, BIAS | MODULATE),
    NORM(7, 3072, MODULATE | STRIDED),
    NORM(1, 1, RMS),
    NORM(3, 63, BIAS | RMS),
    NORM(5, 65, BIAS | MODULATE | STRIDED | RMS),
    NORM(3, 16384, MODULATE | RMS),
    NORM(2, 16384, BIAS),
    NORM(7, 65, MODULATE | STRIDED | ENTRIES),
    NORM(40, 1152, BIAS | MODULATE | RMS | ENTRIES),
    NORM(4096, 1152, MODULATE | TIMED),
    NORM(1536, 3072, MODULATE | TIMED),
    NORM(1536, 3072, MODULATE | RMS | TIMED),
    NORM(4608, 3072, MODULATE | ON_DEVICE),
};

static const dit_kernel_case core[] = {
    NORM(512, 1152, 0),
    NORM(512, 1152, MODULATE),
};

static const dit_kernel_case device[] = {
    NORM(16384, 3072, 0),
    NORM(16384, 3072, MODULATE),
};

static const dit_kernel_case few[] = {
    NORM(64, 128, 0),
    NORM(64, 128, MODULATE),
};

const dit_operator_cases dit_cases_norm = {
    .name = "norm",
    .sizes = {{"rows", NULL}, {"C", "n"}},
    .tolerance = 5e-7, /* x - mean rounds to u of |x|, which is as large as the result; then three to five roundings */
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
