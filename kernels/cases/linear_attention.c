/* Cases for linear_state and linear_attention, one after the other. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t S, H, D, B;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: q, k and v side by side, as one projection gives them; own: the state */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    int64_t C = s->H * s->D;
    DIT_TRY(dit_case_fill(run, 0, s->B * s->S * 3 * dit_case_stride(run->c, C), 0.2f, 1));
    DIT_TRY(dit_arena_array(run->room, s->B * s->H * s->D * (s->D + 1), DIT_DTYPE_FP32, &run->own[0]));
    return dit_case_outputs(run, s->B * s->S * dit_case_stride(run->c, C), 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const sizes *s = sizes_of(run->c);
    int64_t C = s->H * s->D, ld = dit_case_stride(run->c, C), row = 3 * ld;
    dit_linear_attention_args args = {.B = s->B, .H = s->H, .S = s->S, .D = s->D, .eps = 1e-15f};
    args.q = run->in[0], args.k = run->in[0] + C, args.v = run->in[0] + 2 * C;
    args.ldq = args.ldk = args.ldv = row;
    args.batch_q = args.batch_k = args.batch_v = s->S * row;
    args.state = run->own[0];
    args.out = to->out, args.ldo = ld, args.batch_o = s->S * ld;
    to->table->linear_state(run->pool, &args);
    to->table->linear_attention(run->pool, &args);
}

static int64_t depth(const dit_kernel_case *c)
{
    return sizes_of(c)->S;
}

#define LINEAR_ATTENTION(S, H, D, B, flags)                                                                            \
    {                                                                                                                  \
        DIT_OPERATOR_LINEAR_STATE, {S, H, D, B}, flags                                                                 \
    }

static const dit_kernel_case checked[] = {
    LINEAR_ATTENTION(2, 1, 1, 1, 0),     LINEAR_ATTENTION(3, 2, 5, 2, STRIDED),
    LINEAR_ATTENTION(77, 3, 32, 2, 0),   LINEAR_ATTENTION(300, 2, 24, 1, STRIDED),
    LINEAR_ATTENTION(1030, 2, 40, 1, 0), LINEAR_ATTENTION(1024, 70, 32, 1, TIMED),
};

const dit_operator_cases dit_cases_linear_attention = {
    .name = "linear_attention",
    .sizes = {{"S", NULL}, {"H", NULL}, {"D", NULL}, {"B", NULL}},
    .tolerance = 2e-6, /* two sums one after the other; values cancel where keys do not */
    .compute_bound = true,
    .depth = depth,
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
