/* Cases for attention: out = softmax(scale q k^T + mask) v per head, with causal masks, groups of heads, caps and lse. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t kv_group; /* query heads that share a key head; 0: one */
    int64_t B, H, Sq, Sk, D;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

static int64_t depth(const dit_kernel_case *c)
{
    const sizes *s = sizes_of(c);
    return s->D > s->Sk ? s->D : s->Sk;
}

static int64_t rows(const dit_kernel_case *c)
{
    return sizes_of(c)->Sq;
}

static int64_t batches(const dit_kernel_case *c)
{
    return sizes_of(c)->B;
}

/* Tells whether q, k and v lie in one [tokens, 3 C] projection. */
static bool is_fused(const dit_kernel_case *c)
{
    return c->flags & (FUSED | STRIDED);
}

/* Returns the distance of tokens. */
static int64_t ld_of(const dit_kernel_case *c)
{
    return sizes_of(c)->H * sizes_of(c)->D * (is_fused(c) ? 3 : 1);
}

static int64_t tokens_of(const dit_kernel_case *c)
{
    const sizes *s = sizes_of(c);
    return s->Sq > s->Sk ? s->Sq : s->Sk;
}

/* Fills own[0] with the positions of Sq queries, then of Sk keys. Queries are spread over the keys. With as many keys
 * as queries, a query sees the keys up to its own; else keys begin two positions later, and the first queries see
 * none. */
static dit_status position_tokens(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    DIT_TRY(dit_arena_array(run->room, s->Sq + s->Sk, DIT_DTYPE_INT32, &run->own[0]));
    dit_case_note(run, run->own[0], s->Sq + s->Sk, DIT_DTYPE_INT32, true);
    int32_t *queries = run->own[0], *keys = queries + s->Sq;
    for (int64_t i = 0; i < s->Sq; i++) queries[i] = (int32_t)(i * s->Sk / s->Sq);
    for (int64_t i = 0; i < s->Sk; i++) keys[i] = (int32_t)(i + (s->Sq == s->Sk ? 0 : 2));
    return DIT_OK;
}

/* Builds own[1], the mask over the tokens of the keys. */
static dit_status build_mask(dit_case_run *run)
{
    DIT_TRY(dit_arena_alloc(run->room, (int64_t)sizeof(dit_mask), &run->own[1]));
    dit_mask_build(dit_case_mask(run->c), sizes_of(run->c)->Sk, run->own[1]);
    return DIT_OK;
}

static dit_status fill_mask(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    DIT_TRY(dit_case_fill_as(run, dit_case_aside(run->c), 3, s->B * s->Sk, 0, 1));
    for (int64_t i = 0; i < s->B * s->Sk; i++) {
        run->in[3][i] = i % s->Sk && run->in[3][i] > 0.5f ? -10000.0f : 0;
        if (run->c->flags & DIT_CASE_HIDDEN && i % s->Sk < s->Sk - 9) run->in[3][i] = -INFINITY;
    }
    return DIT_OK;
}

/* in: q (or q, k, v together), k, v, mask, biases of distances */
static dit_status prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    int64_t floats = s->B * tokens_of(c) * ld_of(c);
    if (c->flags & CAUSAL || dit_case_mask(c)) DIT_TRY(position_tokens(run));
    if (dit_case_mask(c)) DIT_TRY(build_mask(run));
    DIT_TRY(dit_case_fill(run, 0, floats, 0, 1.5f));
    DIT_TRY(dit_case_fill(run, 1, floats, 0, 1.5f));
    DIT_TRY(dit_case_fill(run, 2, floats, 0, 1));
    DIT_TRY(fill_mask(run));
    if (c->flags & RELATIVE) DIT_TRY(dit_case_fill_as(run, DIT_CASE_FP32, 4, s->H * (s->Sq + s->Sk), 0, 2));
    return dit_case_outputs(run, s->B * s->Sq * dit_case_stride(c, s->H * s->D),
                            c->flags & LSE ? s->B * s->H * s->Sq : 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    const int32_t *positions = run->own[0];
    bool fused = is_fused(c);
    int64_t ld = ld_of(c), ldo = dit_case_stride(c, s->H * s->D), width = s->H * s->D;
    dit_attention_args args = {
        .B = s->B, .H = s->H, .Sq = to->count, .Sk = s->Sk, .D = s->D, .ldq = ld, .ldk = ld, .ldv = ld};
    args.q = run->in[0] + to->first * ld;
    args.k = fused ? run->in[0] + width : run->in[1];
    args.v = fused ? run->in[0] + 2 * width : run->in[2];
    args.batch_q = args.batch_k = args.batch_v = tokens_of(c) * ld;
    args.bias = c->flags & MASK ? run->in[3] : NULL;
    args.kv_group = s->kv_group;
    if (positions) args.q_position = positions + to->first, args.k_position = positions + s->Sq;
    args.mask = run->own[1];
    args.scale = 1 / sqrtf((float)s->D);
    args.cap = c->flags & CAPPED ? 1.5f : 0;
    if (c->flags & RELATIVE) args.relative = run->in[4] + to->first, args.ld_relative = s->Sq + s->Sk;
    args.out = to->out + to->first * ldo;
    args.ldo = ldo;
    args.batch_o = s->Sq * ldo;
    args.lse = run->lse_floats ? dit_case_lse_of(run, to->out) : NULL;
    to->table->attention(run->pool, &args);
}

#define ATTENTION(B, H, Sq, Sk, D, flags)                                                                              \
    {                                                                                                                  \
        DIT_OPERATOR_ATTENTION, {0, B, H, Sq, Sk, D}, flags                                                            \
    }
/* Queries see what DIT_MASK_kind says. */
#define MASKED(B, H, Sq, Sk, D, flags, kind)                                                                           \
    ATTENTION(B, H, Sq, Sk, D, (flags) | (unsigned)DIT_MASK_##kind << DIT_CASE_SEEN)
_Static_assert(DIT_MASK_COUNT <= 16, "the kind of a mask has four bits");
#define GROUPED(B, H, group, Sq, Sk, D, flags)                                                                         \
    {                                                                                                                  \
        DIT_OPERATOR_ATTENTION, {group, B, H, Sq, Sk, D}, flags                                                        \
    }

static const dit_kernel_case checked[] = {
    ATTENTION(1, 1, 1, 1, 8, LSE),
    ATTENTION(1, 2, 3, 5, 12, LSE | STRIDED),
    ATTENTION(2, 3, 47, 33, 18, LSE | MASK),
    ATTENTION(1, 2, 48, 191, 64, LSE),
    ATTENTION(1, 2, 49, 192, 72, LSE | STRIDED),
    ATTENTION(2, 2, 65, 193, 72, LSE | MASK | STRIDED),
    ATTENTION(1, 1, 100, 400, 128, LSE),
    ATTENTION(1, 3, 7, 120, 88, MASK),
    ATTENTION(1, 1, 33, 50, 512, LSE),
    ATTENTION(1, 2, 500, 77, 13, LSE | STRIDED),
    ATTENTION(2, 2, 50, 201, 24, LSE | HIDDEN),
    ATTENTION(1, 2, 49, 400, 64, LSE | HIDDEN | STRIDED),
    ATTENTION(1, 1, 1, 1, 8, LSE | CAUSAL),
    ATTENTION(2, 2, 47, 33, 18, LSE | CAUSAL | STRIDED),
    ATTENTION(1, 2, 49, 400, 64, LSE | CAUSAL | STRIDED),
    ATTENTION(2, 1, 500, 77, 13, LSE | CAUSAL | MASK),
    ATTENTION(1, 2, 401, 401, 40, LSE | CAUSAL),
    ATTENTION(1, 1, 700, 700, 24, LSE | CAUSAL | HIDDEN),
    ATTENTION(1, 2, 1, 7, 8, LSE | RELATIVE),
    ATTENTION(2, 3, 47, 33, 18, LSE | RELATIVE | STRIDED),
    ATTENTION(2, 2, 65, 193, 64, LSE | MASK | RELATIVE | STRIDED),
    ATTENTION(1, 2, 401, 401, 40, LSE | CAUSAL | RELATIVE),
    GROUPED(2, 6, 3, 50, 70, 24, LSE),
    GROUPED(1, 8, 8, 96, 200, 40, LSE | CAUSAL | STRIDED),
    ATTENTION(1, 2, 1, 7, 8, LSE | CAPPED),
    ATTENTION(2, 3, 47, 33, 18, LSE | CAPPED | STRIDED),
    ATTENTION(2, 2, 65, 193, 64, LSE | MASK | CAPPED | RELATIVE | STRIDED),
    ATTENTION(2, 2, 50, 201, 24, LSE | CAPPED | HIDDEN),
    GROUPED(1, 4, 2, 100, 100, 40, LSE | CAUSAL | CAPPED),
    MASKED(2, 2, 47, 33, 18, LSE | STRIDED, WINDOW),
    MASKED(1, 2, 401, 401, 40, LSE, DOCUMENTS_CAUSAL),
    MASKED(1, 1, 700, 700, 24, LSE | STRIDED, GLOBAL_WINDOW),
    MASKED(1, 2, 500, 77, 13, LSE | MASK, BLOCK_CAUSAL),
    ATTENTION(1, 16, 256, 256, 72, FUSED | LARGE),
    ATTENTION(2, 4, 96, 32, 24, FUSED | LARGE),
    ATTENTION(1, 16, 1024, 1024, 72, FUSED | LARGE),
    ATTENTION(1, 16, 4096, 4096, 72, FUSED | LARGE),
    ATTENTION(1, 16, 1024, 120, 72, MASK | LARGE),
    ATTENTION(1, 64, 512, 512, 64, MASK | RELATIVE | FUSED | LARGE),
    ATTENTION(1, 24, 1024, 1024, 64, FUSED | LARGE),
    ATTENTION(1, 24, 1024, 1024, 128, FUSED | LARGE),
    ATTENTION(1, 24, 4608, 4608, 128, FUSED | LARGE),
    ATTENTION(1, 24, 8704, 8704, 128, FUSED | LARGE | ON_DEVICE),
    ATTENTION(1, 24, 16896, 16896, 128, FUSED | LARGE | ON_DEVICE),
    ATTENTION(1, 48, 17776, 17776, 64, FUSED | LARGE | ON_DEVICE),
    ATTENTION(1, 24, 4608, 4608, 128, LARGE | ON_DEVICE),
    ATTENTION(2, 16, 4096, 4096, 72, FUSED | LARGE | ON_DEVICE),
    ATTENTION(1, 16, 1024, 1024, 64, CAUSAL | LARGE),
    ATTENTION(1, 8, 4096, 4096, 64, CAUSAL | LARGE),
    ATTENTION(1, 8, 4096, 4096, 128, LARGE),
    MASKED(1, 8, 4096, 4096, 128, LARGE, WINDOW),
    MASKED(1, 8, 4096, 4096, 128, LARGE, WINDOW_CAUSAL),
    MASKED(1, 8, 4096, 4096, 128, LARGE, DOCUMENTS),
    MASKED(1, 8, 4096, 4096, 128, LARGE, DOCUMENTS_CAUSAL),
    MASKED(1, 8, 4096, 4096, 128, LARGE, SHARED_QUESTION),
    MASKED(1, 8, 4096, 4096, 128, LARGE, GLOBAL_WINDOW),
    MASKED(1, 8, 4096, 4096, 128, LARGE, BLOCK_CAUSAL),
};

/* Key counts from one rank of a ring upwards, with the heads that models have. */
static const dit_kernel_case core[] = {
    ATTENTION(1, 64, 64, 64, 64, STRIDED),     ATTENTION(1, 32, 128, 128, 64, STRIDED),
    ATTENTION(1, 16, 256, 256, 64, STRIDED),   ATTENTION(1, 8, 512, 512, 64, STRIDED),
    ATTENTION(1, 4, 1024, 1024, 64, STRIDED),  ATTENTION(1, 2, 2048, 2048, 64, STRIDED),
    ATTENTION(1, 64, 64, 64, 72, STRIDED),     ATTENTION(1, 32, 128, 128, 72, STRIDED),
    ATTENTION(1, 16, 256, 256, 72, STRIDED),   ATTENTION(1, 8, 512, 512, 72, STRIDED),
    ATTENTION(1, 4, 1024, 1024, 72, STRIDED),  ATTENTION(1, 2, 2048, 2048, 72, STRIDED),
    ATTENTION(1, 64, 64, 64, 128, STRIDED),    ATTENTION(1, 32, 128, 128, 128, STRIDED),
    ATTENTION(1, 16, 256, 256, 128, STRIDED),  ATTENTION(1, 8, 512, 512, 128, STRIDED),
    ATTENTION(1, 4, 1024, 1024, 128, STRIDED), ATTENTION(1, 2, 2048, 2048, 128, STRIDED),
};

/* q, k and v lie apart, and there are enough heads to keep the whole accelerator busy. */
static const dit_kernel_case device[] = {
    ATTENTION(1, 128, 512, 512, 64, 0),   ATTENTION(1, 64, 1024, 1024, 64, 0),  ATTENTION(1, 32, 2048, 2048, 64, 0),
    ATTENTION(1, 24, 4096, 4096, 64, 0),  ATTENTION(1, 24, 8192, 8192, 64, 0),  ATTENTION(1, 24, 16384, 16384, 64, 0),
    ATTENTION(1, 128, 512, 512, 72, 0),   ATTENTION(1, 64, 1024, 1024, 72, 0),  ATTENTION(1, 32, 2048, 2048, 72, 0),
    ATTENTION(1, 24, 4096, 4096, 72, 0),  ATTENTION(1, 24, 8192, 8192, 72, 0),  ATTENTION(1, 24, 16384, 16384, 72, 0),
    ATTENTION(1, 128, 512, 512, 128, 0),  ATTENTION(1, 64, 1024, 1024, 128, 0), ATTENTION(1, 32, 2048, 2048, 128, 0),
    ATTENTION(1, 24, 4096, 4096, 128, 0), ATTENTION(1, 24, 8192, 8192, 128, 0), ATTENTION(1, 24, 16384, 16384, 128, 0),
};

static const dit_kernel_case few[] = {
    ATTENTION(1, 2, 64, 64, 64, 0),
    ATTENTION(1, 2, 128, 128, 64, 0),
};

const dit_operator_cases dit_cases_attention = {
    .name = "attention",
    .sizes = {{"kv_group", "k"}, {"B", NULL}, {"H", NULL}, {"Sq", NULL}, {"Sk", NULL}, {"D", NULL}},
    .tolerance = 2e-6, /* two products, and errors of logits enter through exponentials: measured 9e-7 */
    .compute_bound = true,
    /* The reference gets the same rounded operands. Kernels in bf16 add thousands of exponentials to base 2, each right
     * to 2^-22. */
    .lse_tolerance = 2e-5,
    .depth = depth,
    .rows = rows,
    .batches = batches,
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
