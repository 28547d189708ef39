/* The backend that computes nothing and tells what it was asked for. Packing takes address space as the counting
 * backend's, and remembers how many matrices were packed together. */
#include "kernels/cost/operator.h"

static struct {
    void (*call)(void *context, const dit_cost_op *op);
    void *context;
} hook;

void dit_cost_set_hook(void (*call)(void *context, const dit_cost_op *op), void *context)
{
    hook.call = call;
    hook.context = context;
}

static void tell(const dit_cost_op *op)
{
    if (hook.call) hook.call(hook.context, op);
}

/* dit_linear.plan points at its number of pieces. */
static const int piece_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
enum { PIECES_MAX = sizeof piece_counts / sizeof piece_counts[0] - 1 };

static dit_status cost_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                                   const float *const *bias, const int64_t *rows, dit_linear *out)
{
    DIT_TRY(dit_kernels_counting()->linear_pack(pool, arena, k, pieces, w, bias, rows, out));
    out->plan = &piece_counts[pieces < PIECES_MAX ? pieces : PIECES_MAX];
    return DIT_OK;
}

static int pieces_of(const dit_linear *weights)
{
    const int *pieces = weights->plan;
    return pieces ? *pieces : 1;
}

static void cost_linear(dit_pool *pool, const dit_linear_args *a)
{
    dit_work work = dit_linear_work(a->rows, a->weights->n, a->weights->k);
    (void)pool;
    tell(&(dit_cost_op){.kind = DIT_COST_OP_LINEAR,
                        .flops = work.flops,
                        .bytes = work.bytes,
                        .rows = a->rows,
                        .n = a->weights->n,
                        .k = a->weights->k,
                        .pieces = pieces_of(a->weights),
                        .elements = a->rows * a->weights->n,
                        .activation = a->activation != DIT_ACT_NONE,
                        .residual = a->residual != NULL,
                        .gate = a->gate != NULL});
}

/* Of the keys, those that query `row` sees; positions ascend. */
static double seen_by(const dit_attention_args *a, int64_t row)
{
    int64_t least = 0, most = a->Sk;
    while (least < most) {
        int64_t middle = (least + most) / 2;
        if (a->k_position[middle] <= a->q_position[row])
            least = middle + 1;
        else
            most = middle;
    }
    return (double)least / (double)a->Sk;
}

/* By how much what queries see rises over all of them, as it does over the last quarter. */
static double unevenness(const dit_attention_args *a)
{
    int64_t last = a->Sq - 1, before = a->Sq * 3 / 4;
    if (!a->q_position || !a->k_position || a->Sk <= 0 || before >= last) return 0;
    double rise = (seen_by(a, last) - seen_by(a, before)) * (double)a->Sq / (double)(last - before);
    return rise < 1 ? rise : 1;
}

static void cost_attention(dit_pool *pool, const dit_attention_args *a)
{
    dit_work work = dit_attention_args_work(a), all = dit_attention_work(a->B, a->H, a->Sq, a->Sk, a->D);
    double seen = all.flops > 0 ? work.flops / all.flops : 0;
    (void)pool;
    tell(&(dit_cost_op){
        .kind = DIT_COST_OP_ATTENTION,
        .flops = work.flops,
        .bytes = work.bytes,
        .attention = {.B = a->B, .H = a->H, .Sq = a->Sq, .Sk = a->Sk, .D = a->D, .seen = seen, .uneven = unevenness(a)},
        .elements = a->B * a->H * a->Sq * a->D});
}

/* Of calls that only pass over their elements. */
static void tell_elementwise(dit_cost_op op, int reads, int writes, double flops_per_element)
{
    dit_work work = dit_elementwise_work(op.elements, reads, writes, flops_per_element);
    op.flops = work.flops;
    op.bytes = work.bytes;
    tell(&op);
}

static void cost_attention_merge(dit_pool *pool, const dit_merge_args *a)
{
    (void)pool;
    tell_elementwise((dit_cost_op){.kind = DIT_COST_OP_MERGE, .elements = a->B * a->S * a->H * a->D}, 2, 1, 3);
}

static void cost_norm(dit_pool *pool, const dit_norm_args *a)
{
    (void)pool;
    tell_elementwise(
        (dit_cost_op){
            .kind = DIT_COST_OP_NORM, .elements = a->rows * a->C, .norm = a->kind, .modulation = a->scale || a->shift},
        1, 1, 8);
}

static void cost_qk_norm_rope(dit_pool *pool, const dit_qk_norm_rope_args *a)
{
    (void)pool;
    tell_elementwise((dit_cost_op){.kind = DIT_COST_OP_QK_NORM_ROPE,
                                   .elements = a->rows * a->H * a->D,
                                   .norm = a->kind,
                                   .normed = a->weight != NULL,
                                   .rotary = a->cos != NULL},
                     1, 1, 7);
}

static void cost_copy(dit_pool *pool, const dit_copy_args *a)
{
    (void)pool;
    tell_elementwise((dit_cost_op){.kind = DIT_COST_OP_COPY, .elements = a->n0 * a->n1 * a->n2 * a->inner}, 1, 1, 0);
}

static void cost_combine(dit_pool *pool, const dit_combine_args *a)
{
    (void)pool;
    tell_elementwise((dit_cost_op){.kind = DIT_COST_OP_COMBINE, .elements = a->elements, .operands = a->count},
                     a->count, 1, 2.0 * a->count);
}

static void cost_activate(dit_pool *pool, const dit_activate_args *a)
{
    (void)pool;
    tell_elementwise((dit_cost_op){.kind = DIT_COST_OP_ACTIVATE, .elements = a->elements, .activation = true}, 1, 1, 8);
}

static void cost_conv(dit_pool *pool, const dit_conv_args *a)
{
    dit_work work = dit_conv_work(a);
    int64_t positions = a->out[0] * a->out[1] * a->out[2];
    (void)pool;
    tell(&(dit_cost_op){.kind = DIT_COST_OP_CONV,
                        .flops = work.flops,
                        .bytes = work.bytes,
                        .rows = positions,
                        .n = a->weights->n,
                        .k = a->weights->k,
                        .input_elements = a->frames * a->height * a->width * a->channels,
                        .elements = positions * a->weights->n,
                        .activation = a->activation != DIT_ACT_NONE,
                        .residual = a->residual != NULL});
}

static int64_t group_elements(const dit_group_norm_args *a)
{
    return a->batch * a->frames * a->height * a->width * a->C;
}

static void cost_group_norm(dit_pool *pool, const dit_group_norm_args *a)
{
    (void)pool;
    if (!a->moments) /* its own moments first, another kernel */
        tell_elementwise((dit_cost_op){.kind = DIT_COST_OP_GROUP_MOMENTS, .elements = group_elements(a)}, 1, 0, 3);
    tell_elementwise((dit_cost_op){.kind = DIT_COST_OP_GROUP_NORM,
                                   .elements = group_elements(a),
                                   .modulation = a->scale != NULL,
                                   .activation = a->activation != DIT_ACT_NONE},
                     1, 1, 8);
}

static void cost_group_moments(dit_pool *pool, const dit_group_norm_args *a)
{
    (void)pool;
    tell_elementwise((dit_cost_op){.kind = DIT_COST_OP_GROUP_MOMENTS, .elements = group_elements(a)}, 1, 0, 3);
}

/* Not told: published stacks make the sinusoid of a step once, and what a stack does around the sums of tensor ranks is
 * in its profile's all-reduce. */
#define COST_NOTHING(name, args_type)                                                                                  \
    static void name(dit_pool *pool, const args_type *args)                                                            \
    {                                                                                                                  \
        (void)pool;                                                                                                    \
        (void)args;                                                                                                    \
    }
COST_NOTHING(cost_timestep, dit_timestep_args)
COST_NOTHING(cost_gated_add, dit_gated_add_args)
COST_NOTHING(cost_row_norm, dit_row_norm_args)

static const dit_kernels cost_table = {
    .name = "cost",
    .linear_pack = cost_linear_pack,
    .linear = cost_linear,
    .attention = cost_attention,
    .attention_merge = cost_attention_merge,
    .norm = cost_norm,
    .qk_norm_rope = cost_qk_norm_rope,
    .copy = cost_copy,
    .combine = cost_combine,
    .activate = cost_activate,
    .conv = cost_conv,
    .group_norm = cost_group_norm,
    .group_moments = cost_group_moments,
    .timestep = cost_timestep,
    .gated_add = cost_gated_add,
    .row_squares = cost_row_norm,
    .row_scale = cost_row_norm,
};

const dit_kernels *dit_kernels_cost(void)
{
    return &cost_table;
}
