#include "engine/tensor.h"

#include <math.h>

enum { GRAIN_ROWS = 16, ADDED = 4 };

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
        DIT_TRY(dit_arena_floats(&rt->comm_arena, elements, &rt->tensor.partial));
        DIT_TRY(dit_arena_floats(&rt->comm_arena, elements, &rt->tensor.sum));
        rt->tensor.elements = elements;
    }
    if (rows > rt->tensor.rows) {
        void *memory;
        DIT_TRY(dit_arena_alloc(&rt->comm_arena, (1 + of) * rows * (int64_t)sizeof(double), &memory));
        rt->tensor.squares = memory;
        rt->tensor.gathered = rt->tensor.squares + rows;
        rt->tensor.rows = rows;
    }
    return DIT_OK;
}

/* Runs over the rows with all threads, as an operator does. */
static void run_rows(dit_runtime *rt, const char *name, int64_t rows, dit_pool_task task, void *job)
{
    int64_t began = dit_trace_begin(rt->trace);
    if (!rt->ledger.counting_only) dit_pool_run(rt->pool, rows, GRAIN_ROWS, task, job);
    dit_trace_end(rt->trace, DIT_TRACE_COMPUTE, name, began);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* The first four blocks at once, then the sum so far and three more. */
static void add_blocks(void *context, const float *blocks, int size, int64_t count, float *sum)
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
        return DIT_FAIL(DIT_ERR_INTERNAL, "a sum of %lld elements, reserved are %lld", (long long)elements,
                        (long long)rt->tensor.elements);
    return dit_comm_sum(rt->comm[DIT_AXIS_TENSOR], rt->tensor.partial, elements, rt->tensor.sum, add_blocks, rt);
}

typedef struct {
    const float *sum, *bias, *gate;
    float *y;
    int64_t cols, ld;
} add_job;

static void add_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const add_job *job = context;
    const float *bias = job->bias, *gate = job->gate;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *sum = job->sum + row * job->cols;
        float *y = job->y + row * job->ld;
        for (int64_t c = 0; c < job->cols; c++) {
            float value = bias ? sum[c] + bias[c] : sum[c];
            y[c] += gate ? gate[c] * value : value;
        }
    }
}

void dit_tp_add(dit_runtime *rt, const float *sum, int64_t rows, int64_t cols, const float *bias, const float *gate,
                float *y, int64_t ld)
{
    add_job job = {sum, bias, gate, y, cols, ld};
    rt->flops.other += dit_elementwise_work(rows * cols, 2, 1, 1 + !!bias + !!gate).flops;
    run_rows(rt, "add", rows, add_rows, &job);
}

/* ---- norm -------------------------------------------------------------------------------------------------------- */

typedef struct {
    const dit_tp_norm_args *args;
    double *squares;
    double cols; /* over the whole group */
} norm_job;

static float *row_of(const dit_tp_norm_args *args, int64_t row)
{
    return args->x + row / args->rows * args->stride + row % args->rows * args->ld;
}

static void square_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const norm_job *job = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const float *x = row_of(job->args, row);
        double sum = 0;
        for (int64_t c = 0; c < job->args->cols; c++) sum += (double)x[c] * (double)x[c];
        job->squares[row] = sum;
    }
}

static void scale_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const norm_job *job = context;
    const float *weight = job->args->weight;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        float *x = row_of(job->args, row);
        float scale = (float)(1.0 / sqrt(job->squares[row] / job->cols + (double)job->args->eps));
        for (int64_t c = 0; c < job->args->cols; c++) x[c] = x[c] * scale * weight[c];
    }
}

dit_status dit_tp_norm(dit_runtime *rt, const dit_tp_norm_args *args)
{
    int64_t rows = args->batch * args->rows, of = dit_tp_share(rt).of;
    norm_job job = {args, rt->tensor.squares, (double)(args->cols * of)};
    if (rows > rt->tensor.rows)
        return DIT_FAIL(DIT_ERR_INTERNAL, "squares of %lld rows, reserved are %lld", (long long)rows,
                        (long long)rt->tensor.rows);
    rt->flops.other += dit_elementwise_work(rows * args->cols, 1, 1, 4).flops;
    run_rows(rt, "norm", rows, square_rows, &job);
    DIT_TRY(dit_comm_all_reduce(rt->comm[DIT_AXIS_TENSOR], rt->tensor.squares, rows, rt->tensor.gathered));
    run_rows(rt, "norm", rows, scale_rows, &job);
    return DIT_OK;
}
