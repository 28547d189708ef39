/* Cases for linear: y = residual + gate * activation(x W^T + b). */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t rows, n, k;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

static int64_t depth(const dit_kernel_case *c)
{
    return sizes_of(c)->k;
}

static int64_t rows(const dit_kernel_case *c)
{
    return sizes_of(c)->rows;
}

/* One row is limited by the bandwidth of the weights. */
static bool is_thin(const dit_kernel_case *c)
{
    return sizes_of(c)->rows == 1;
}

/* in: x, W, b, gate */
static dit_status prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    bool bias = c->flags & BIAS;
    int64_t entries = dit_case_entries(c);
    DIT_TRY(dit_case_fill(run, 0, entries * dit_case_entry_stride(c, s->rows, dit_case_stride(c, s->k)), 0, 1));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_PACKED, 1, s->n * s->k, 0, 1 / sqrtf((float)s->k)));
    DIT_TRY(dit_case_fill_as(run, DIT_CASE_PACKED, 2, s->n, 0, 1));
    DIT_TRY(dit_case_fill_as(run, dit_case_aside(c), 3, entries * s->n, 0, 1));
    /* packed in two pieces, as fused projections are */
    int64_t pieces[2] = {s->n / 3, s->n - s->n / 3};
    const float *w[2] = {run->in[1], run->in[1] + pieces[0] * s->k};
    const float *b[2] = {bias ? run->in[2] : NULL, bias ? run->in[2] + pieces[0] : NULL};
    DIT_TRY(dit_case_pack(run, s->k, 2, w, b, pieces));
    return dit_case_outputs(run, entries * dit_case_entry_stride(c, s->rows, dit_case_stride(c, s->n)), 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const dit_kernel_case *c = run->c;
    int64_t ldx = dit_case_stride(c, sizes_of(c)->k), ldy = dit_case_stride(c, sizes_of(c)->n);
    dit_linear_args args = {.weights = to->weights, .rows = to->count, .x = run->in[0] + to->first * ldx, .ldx = ldx};
    args.y = to->out + to->first * ldy;
    args.ldy = ldy;
    args.activation = dit_case_activation(c);
    args.residual = c->flags & RESIDUAL ? args.y : NULL;
    args.gate = c->flags & GATE ? run->in[3] : NULL;
    dit_entries apart = {args.rows, dit_case_entry_stride(c, args.rows, ldx), dit_case_entry_stride(c, args.rows, ldy),
                         sizes_of(c)->n};
    if (to->table->entries && dit_case_entries(c) > 1) args.entries = apart, args.rows *= dit_case_entries(c);
    for (int64_t done = 0; done < dit_case_entries(c) * apart.rows; done += args.rows) {
        to->table->linear(run->pool, &args);
        args.x += apart.x;
        args.y += apart.y;
        if (args.residual) args.residual = args.y;
        if (args.gate) args.gate += apart.vector;
    }
}

#define LINEAR(rows, n, k, flags)                                                                                      \
    {                                                                                                                  \
        DIT_OPERATOR_LINEAR, {rows, n, k}, flags                                                                       \
    }

/* The first cases are awkward on purpose: sizes around the tile (8 x 48 and 6 x 16), odd strides, every epilogue. The
 * last ones have sizes of real models. */
static const dit_kernel_case checked[] = {
    LINEAR(1, 1, 1, 0),
    LINEAR(1, 216, 40, BIAS),
    LINEAR(3, 47, 5, BIAS | GELU),
    LINEAR(7, 48, 17, BIAS | SILU | STRIDED),
    LINEAR(8, 49, 64, RESIDUAL),
    LINEAR(9, 96, 100, BIAS | GATED | STRIDED),
    LINEAR(13, 97, 33, BIAS | GELU),
    LINEAR(17, 130, 513, BIAS | SILU | GATED),
    LINEAR(145, 144, 511, BIAS | GELU | GATED),
    LINEAR(290, 50, 1025, BIAS),
    LINEAR(64, 432, 144, BIAS | GELU | STRIDED),
    LINEAR(31, 16, 4608, BIAS | RESIDUAL),
    LINEAR(2, 700, 256, BIAS | SILU),
    LINEAR(11, 70, 96, BIAS | ERF | GATED),
    LINEAR(1, 33, 20, BIAS | ENTRIES),
    LINEAR(16, 130, 513, BIAS | SILU | GATED | STRIDED | ENTRIES),
    LINEAR(64, 50, 1025, GATED | ENTRIES),
    LINEAR(145, 97, 33, BIAS | GELU | RESIDUAL | ENTRIES),
    LINEAR(1, 6912, 1152, BIAS | TIMED),
    LINEAR(120, 2304, 1152, BIAS | LARGE),
    LINEAR(256, 3456, 1152, BIAS | LARGE),
    LINEAR(256, 1152, 1152, BIAS | GATED | LARGE),
    LINEAR(256, 4608, 1152, BIAS | GELU | LARGE),
    LINEAR(256, 1152, 4608, BIAS | GATED | LARGE),
    LINEAR(1024, 3456, 1152, BIAS | LARGE),
    LINEAR(1024, 1152, 1152, BIAS | GATED | LARGE),
    LINEAR(1024, 4608, 1152, BIAS | GELU | LARGE),
    LINEAR(1024, 1152, 4608, BIAS | GATED | LARGE),
    LINEAR(4096, 3456, 1152, BIAS | LARGE),
    LINEAR(4096, 1152, 1152, BIAS | GATED | LARGE),
    LINEAR(4096, 4608, 1152, BIAS | GELU | LARGE),
    LINEAR(4096, 1152, 4608, BIAS | GATED | LARGE),
    LINEAR(1536, 9216, 3072, BIAS | LARGE),
    LINEAR(1024, 3072, 3072, BIAS | GATED | LARGE),
    LINEAR(512, 3072, 15360, BIAS | GATED | LARGE),
    LINEAR(4608, 9216, 3072, BIAS | LARGE | ON_DEVICE),
    LINEAR(4608, 3072, 3072, BIAS | GATED | LARGE | ON_DEVICE),
    LINEAR(4608, 12288, 3072, BIAS | GELU | LARGE | ON_DEVICE),
    LINEAR(4608, 3072, 12288, BIAS | GATED | LARGE | ON_DEVICE),
    LINEAR(4608, 3072, 15360, BIAS | GATED | LARGE | ON_DEVICE),
};

/* From products over one patch to products over a whole image; short ones (k 64) with each epilogue. */
static const dit_kernel_case core[] = {
    LINEAR(1, 6912, 1152, BIAS),
    LINEAR(1, 1152, 256, BIAS),
    LINEAR(16, 1152, 1152, BIAS),
    LINEAR(32, 384, 384, BIAS),
    LINEAR(64, 576, 576, BIAS),
    LINEAR(64, 1152, 1152, BIAS),
    LINEAR(77, 1536, 1536, BIAS),
    LINEAR(120, 2304, 1152, BIAS),
    LINEAR(128, 3456, 1152, BIAS),
    LINEAR(256, 512, 512, BIAS),
    LINEAR(256, 1152, 1152, BIAS),
    LINEAR(256, 4608, 1152, BIAS),
    LINEAR(256, 1152, 4608, BIAS),
    LINEAR(512, 576, 576, BIAS),
    LINEAR(512, 1536, 512, BIAS),
    LINEAR(512, 2304, 576, BIAS),
    LINEAR(1024, 512, 2048, BIAS),
    LINEAR(1024, 1152, 1152, BIAS),
    LINEAR(1024, 3072, 768, BIAS),
    LINEAR(2048, 1152, 1152, BIAS),
    LINEAR(512, 1152, 64, BIAS),
    LINEAR(512, 1152, 64, BIAS | GELU),
    LINEAR(512, 1152, 64, BIAS | RESIDUAL),
    LINEAR(512, 1152, 64, BIAS | GATED),
};

static const dit_kernel_case device[] = {
    LINEAR(1, 3072, 256, BIAS),
    LINEAR(1, 18432, 3072, BIAS),
    LINEAR(128, 3072, 3072, BIAS),
    LINEAR(256, 1152, 1152, BIAS),
    LINEAR(256, 3072, 3072, BIAS),
    LINEAR(512, 1536, 1536, BIAS),
    LINEAR(512, 3072, 12288, BIAS),
    LINEAR(1024, 1152, 4608, BIAS),
    LINEAR(1024, 3072, 3072, BIAS),
    LINEAR(2048, 1536, 6144, BIAS),
    LINEAR(2048, 9216, 3072, BIAS),
    LINEAR(4096, 1152, 1152, BIAS),
    LINEAR(4096, 4608, 1152, BIAS),
    LINEAR(4096, 3072, 3072, BIAS),
    LINEAR(4096, 12288, 3072, BIAS),
    LINEAR(4608, 3072, 15360, BIAS),
    LINEAR(8192, 8192, 8192, BIAS),
    LINEAR(16384, 3072, 3072, BIAS),
    LINEAR(16384, 3072, 64, BIAS),
    LINEAR(16384, 3072, 64, BIAS | GELU),
    LINEAR(16384, 3072, 64, BIAS | RESIDUAL),
    LINEAR(16384, 3072, 64, BIAS | GATED),
};

static const dit_kernel_case few[] = {
    LINEAR(1, 64, 32, BIAS),
    LINEAR(64, 64, 32, BIAS),
    LINEAR(64, 64, 128, BIAS),
    LINEAR(128, 128, 256, BIAS),
    LINEAR(64, 128, 64, BIAS),
    LINEAR(64, 128, 64, BIAS | GELU),
    LINEAR(64, 128, 64, BIAS | RESIDUAL),
    LINEAR(64, 128, 64, BIAS | GATED),
};

const dit_operator_cases dit_cases_linear = {
    .name = "linear",
    .sizes = {{"rows", NULL}, {"n", NULL}, {"k", NULL}},
    .tolerance = 1e-6, /* a sum restarts after 512 products: about u * sqrt(512) / 2; measured 4e-7 */
    .compute_bound = true,
    .depth = depth,
    .rows = rows,
    .is_thin = is_thin,
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
