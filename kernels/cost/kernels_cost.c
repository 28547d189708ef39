/* The backend that computes nothing and reports each call to a hook. Packing takes address space, as in the counting
 * backend, and remembers how many matrices were packed together. */
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

/* ---- what is told of a call beside its operator and its work; whether it is told at all -------------------------- */

static bool describe_linear(const dit_linear_args *a, dit_cost_op *op)
{
    op->rows = a->rows;
    op->n = a->weights->n;
    op->k = a->weights->k;
    op->pieces = pieces_of(a->weights);
    op->elements = a->rows * a->weights->n;
    op->activation = a->activation != DIT_ACT_NONE;
    op->residual = a->residual != NULL;
    op->gate = a->gate != NULL;
    return true;
}

/* Returns the share of the keys that query `row` sees. */
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

/* Returns by how much the share of keys that queries see rises from the first query to the last, extrapolated from its
 * rise over the last quarter of them. */
static double unevenness(const dit_attention_args *a)
{
    int64_t last = a->Sq - 1, before = a->Sq * 3 / 4;
    if (!a->q_position || !a->k_position || a->mask || a->Sk <= 0 || before >= last) return 0;
    double rise = (seen_by(a, last) - seen_by(a, before)) * (double)a->Sq / (double)(last - before);
    return rise < 1 ? rise : 1;
}

static bool describe_attention(const dit_attention_args *a, dit_cost_op *op)
{
    dit_attention_args all = *a;
    all.q_position = all.k_position = NULL, all.mask = NULL;
    double flops = dit_attention_work(&all).flops;
    op->attention = (dit_cost_attention){.B = a->B, .H = a->H, .Sq = a->Sq, .Sk = a->Sk, .D = a->D};
    op->attention.seen = flops > 0 ? op->flops / flops : 0;
    op->attention.uneven = unevenness(a);
    op->elements = a->B * a->H * a->Sq * a->D;
    return true;
}

static bool describe_attention_merge(const dit_merge_args *a, dit_cost_op *op)
{
    op->elements = a->B * a->S * a->H * a->D;
    return true;
}

static bool describe_norm(const dit_norm_args *a, dit_cost_op *op)
{
    op->elements = a->rows * a->C;
    op->norm = a->kind;
    op->modulation = a->scale || a->shift;
    return true;
}

static bool describe_qk_norm_rope(const dit_qk_norm_rope_args *a, dit_cost_op *op)
{
    op->elements = a->rows * a->H * a->D;
    op->norm = a->kind;
    op->normed = a->weight != NULL;
    op->rotary = a->cos != NULL;
    return true;
}

static bool describe_combine(const dit_combine_args *a, dit_cost_op *op)
{
    op->elements = a->elements;
    op->operands = a->count;
    return true;
}

static bool describe_activate(const dit_activate_args *a, dit_cost_op *op)
{
    op->elements = a->elements;
    op->activation = true;
    return true;
}

static bool describe_conv(const dit_conv_args *a, dit_cost_op *op)
{
    op->rows = a->out[0] * a->out[1] * a->out[2];
    op->n = a->weights->n;
    op->k = a->weights->k;
    op->axes = a->kernel[0] > 1 ? 3 : 2;
    op->input_elements = a->frames * a->height * a->width * a->channels;
    op->elements = op->rows * a->weights->n;
    op->activation = a->activation != DIT_ACT_NONE;
    op->residual = a->residual != NULL;
    return true;
}

static bool describe_group_moments(const dit_group_norm_args *a, dit_cost_op *op)
{
    op->elements = a->batch * a->frames * a->height * a->width * a->C;
    return true;
}

/* Describes a group norm. If it computes its own moments, they are reported first, as a call of group_moments. */
static bool describe_group_norm(const dit_group_norm_args *a, dit_cost_op *op)
{
    if (!a->moments) {
        dit_work work = dit_group_moments_work(a);
        dit_cost_op moments = {.kind = DIT_COST_OP_GROUP_MOMENTS, .flops = work.flops, .bytes = work.bytes};
        describe_group_moments(a, &moments);
        tell(&moments);
        op->flops -= work.flops;
    }
    op->elements = a->batch * a->frames * a->height * a->width * a->C;
    op->modulation = a->scale != NULL;
    op->activation = a->activation != DIT_ACT_NONE;
    return true;
}

/* Describes operators of the column `pass`: one kernel that moves the bytes of the operator's work. */
static bool describe_pass(const void *args, dit_cost_op *op)
{
    (void)args;
    op->elements = (int64_t)(op->bytes / (2 * sizeof(float)));
    return true;
}

/* Reports nothing, for operators of the column `nothing`: published stacks make the sinusoid of a step once, and what
 * they compute around the sums of tensor ranks is in their profile's all-reduce. */
static bool describe_nothing(const void *args, dit_cost_op *op)
{
    (void)args;
    (void)op;
    return false;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define COST_OPERATOR(ID, name, args_type, cpu, cases, cost, ...)                                                      \
    static void cost_##name(dit_pool *pool, const args_type *args)                                                     \
    {                                                                                                                  \
        dit_work work = dit_##name##_work(args);                                                                       \
        dit_cost_op op = {.kind = DIT_COST_OP_##ID, .flops = work.flops, .bytes = work.bytes};                         \
        (void)pool;                                                                                                    \
        if (describe_##cost(args, &op)) tell(&op);                                                                     \
    }
DIT_OPERATOR_LIST(COST_OPERATOR)

static const dit_kernels cost_table = {.name = "cost",
                                       .linear_pack = cost_linear_pack,
#define COST_ENTRY(ID, name, ...) .name = cost_##name,
                                       DIT_OPERATOR_LIST(COST_ENTRY)};

const dit_kernels *dit_kernels_cost(void)
{
    return &cost_table;
}
