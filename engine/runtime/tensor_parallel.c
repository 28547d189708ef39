#include "engine/runtime/tensor_parallel.h"

enum { ADDED = 4 };

dit_share dit_tp_share(const dit_runtime *rt)
{
    return (dit_share){rt->coordinates[DIT_AXIS_TENSOR], dit_comm_size(rt->comm[DIT_AXIS_TENSOR])};
}

int64_t dit_tp_count(const dit_runtime *rt, int64_t count)
{
    return share_count(dit_tp_share(rt), count);
}

dit_status dit_tp_reserve(dit_runtime *rt, int64_t elements, int64_t rows)
{
    int64_t of = dit_tp_share(rt).of;
    if (of == 1) return DIT_OK;
    if (elements > rt->tensor.elements) {
        DIT_TRY(dit_arena_activations(&rt->comm_arena, elements, &rt->tensor.partial));
        DIT_TRY(dit_arena_activations(&rt->comm_arena, elements, &rt->tensor.sum));
        rt->tensor.elements = elements;
    }
    if (rows > rt->tensor.rows) {
        void *memory;
        DIT_TRY(dit_arena_array(&rt->comm_arena, (1 + of) * rows, DIT_DTYPE_FP64, &memory));
        rt->tensor.squares = memory;
        rt->tensor.gathered = rt->tensor.squares + rows;
        rt->tensor.rows = rows;
    }
    return DIT_OK;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* The first four blocks at once, then the sum so far and three more at a time. */
void dit_tp_add_blocks(void *context, const float *blocks, int size, int64_t count, float *sum)
{
    for (int next = 0; next < size;) {
        dit_combine_args args = {.elements = count, .a = {1.0f, 1.0f, 1.0f, 1.0f}, .y = sum};
        if (next) args.x[args.count++] = sum;
        while (next < size && args.count < ADDED) args.x[args.count++] = blocks + next++ * count;
        ops_combine(context, &args);
    }
}

dit_status dit_tp_sum(dit_runtime *rt, int64_t elements)
{
    if (elements > rt->tensor.elements || elements % dit_tp_share(rt).of)
        return DIT_FAIL(DIT_ERR_INTERNAL, "a sum has %lld elements, but only %lld are reserved", (long long)elements,
                        (long long)rt->tensor.elements);
    return dit_comm_sum(rt->comm[DIT_AXIS_TENSOR], rt->tensor.partial, elements, rt->tensor.sum, dit_tp_add_blocks, rt);
}

void dit_tp_add(dit_runtime *rt, const float *sum, int64_t rows, int64_t cols, const float *bias, const float *gate,
                float *y, int64_t ld)
{
    ops_gated_add(
        rt, &(dit_gated_add_args){
                .rows = rows, .cols = cols, .x = sum, .ldx = cols, .bias = bias, .gate = gate, .y = y, .ldy = ld});
}

/* ---- norm -------------------------------------------------------------------------------------------------------- */

dit_status dit_tp_norm(dit_runtime *rt, const dit_tp_norm_args *args)
{
    int64_t rows = args->batch * args->rows, of = dit_tp_share(rt).of;
    if (rows > rt->tensor.rows)
        return DIT_FAIL(DIT_ERR_INTERNAL, "squares have %lld rows, but only %lld are reserved", (long long)rows,
                        (long long)rt->tensor.rows);
    dit_row_norm_args halves = {.batch = args->batch,
                                .rows = args->rows,
                                .cols = args->cols,
                                .x = args->x,
                                .ld = args->ld,
                                .stride = args->stride,
                                .squares = rt->tensor.squares,
                                .ranks = of,
                                .total_cols = args->cols * of,
                                .eps = args->eps,
                                .weight = args->weight};
    ops_row_squares(rt, &halves);
    DIT_TRY(dit_comm_gather_terms(rt->comm[DIT_AXIS_TENSOR], rt->tensor.squares, rows, rt->tensor.gathered));
    halves.squares = rt->tensor.gathered;
    ops_row_scale(rt, &halves);
    return DIT_OK;
}
