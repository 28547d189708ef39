/* Cases for combine: y = sum of a[i] x[i], as in a step of a scheduler. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t elements, count;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: the latent, in fp32 as schedulers keep it, then model outputs, in the device's type */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    for (int slot = 0; slot < s->count; slot++)
        DIT_TRY(dit_case_fill_as(run, slot ? DIT_CASE_STORED : DIT_CASE_FP32, slot, s->elements, 0, 1));
    return dit_case_outputs(run, s->elements, 0);
}

static double bytes(const dit_kernel_case *c, dit_dtype dtype)
{
    const sizes *s = sizes_of(c);
    double latents = 2 * sizeof(float), others = (double)(s->count - 1) * (double)dit_dtype_bytes(dtype);
    return (double)s->elements * (latents + others);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const sizes *s = sizes_of(run->c);
    dit_combine_args args = {.elements = s->elements, .count = (int)s->count, .y = to->out};
    const float a[4] = {1.5f, -0.5f, 0.25f, 2.0f};
    for (int j = 0; j < args.count; j++) args.x[j] = run->in[j], args.a[j] = a[j];
    to->table->combine(run->pool, &args);
}

#define COMBINE(elements, count, flags)                                                                                \
    {                                                                                                                  \
        DIT_OPERATOR_COMBINE, {elements, count}, flags                                                                 \
    }

static const dit_kernel_case checked[] = {
    COMBINE(1, 1, 0),           COMBINE(1001, 4, 0), COMBINE(70000, 3, 0), COMBINE(4 * 128 * 128, 3, TIMED),
    COMBINE(4 << 20, 3, TIMED),
};

static const dit_kernel_case core[] = {
    COMBINE(16, 1, 0),      COMBINE(1 << 12, 2, 0), COMBINE(1 << 14, 2, 0), COMBINE(1 << 16, 2, 0),
    COMBINE(3 << 16, 2, 0), COMBINE(1 << 19, 2, 0), COMBINE(1 << 20, 2, 0), COMBINE(1 << 21, 2, 0),
    COMBINE(1 << 22, 2, 0), COMBINE(1 << 23, 2, 0), COMBINE(1 << 19, 1, 0), COMBINE(1 << 19, 3, 0),
};

static const dit_kernel_case device[] = {
    COMBINE(1 << 10, 1, 0), COMBINE(1 << 18, 2, 0), COMBINE(1 << 19, 2, 0), COMBINE(1 << 20, 2, 0),
    COMBINE(1 << 21, 2, 0), COMBINE(1 << 22, 2, 0), COMBINE(1 << 23, 2, 0), COMBINE(1 << 24, 2, 0),
    COMBINE(1 << 25, 2, 0), COMBINE(1 << 26, 2, 0), COMBINE(1 << 24, 1, 0), COMBINE(1 << 24, 3, 0),
};

static const dit_kernel_case few[] = {
    COMBINE(64, 1, 0),      COMBINE(1 << 12, 2, 0), COMBINE(1 << 14, 2, 0),
    COMBINE(1 << 16, 2, 0), COMBINE(1 << 12, 1, 0), COMBINE(1 << 12, 3, 0),
};

const dit_operator_cases dit_cases_combine = {
    .name = "combine",
    .sizes = {{"elements", "n"}, {"count", "k"}},
    .tolerance = 3e-7, /* one rounding per term; terms cancel */
    .fp32_out = true,
    .bytes = bytes,
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
