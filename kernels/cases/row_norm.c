/* Cases for row_squares and row_scale: the two halves of an RMS norm of rows that several ranks share, and rows that
 * become as long as others. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t rows, C, ranks, B, like;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: weight; own: the squares of every rank, where the other ranks' values are made up, and those of `like` */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    int64_t count = s->ranks * s->B * s->rows;
    DIT_TRY(dit_case_fill(run, 0, s->C, 0.5f, 1));
    DIT_TRY(dit_arena_array(run->room, count, DIT_DTYPE_FP64, &run->own[0]));
    double *squares = run->own[0];
    for (int64_t i = 0; i < count; i++) squares[i] = (double)s->C * (1 + (double)(i % 7));
    if (run->device) DIT_TRY(dit_device_upload(run->device, squares, count));
    DIT_TRY(dit_arena_array(run->room, s->B * s->rows, DIT_DTYPE_FP64, &run->own[1]));
    double *like = run->own[1];
    for (int64_t i = 0; i < s->B * s->rows; i++) like[i] = (double)s->C * (2 + (double)(i % 5));
    if (run->device) DIT_TRY(dit_device_upload(run->device, like, s->B * s->rows));
    return dit_case_outputs(run, s->B * s->rows * dit_case_stride(run->c, s->C), 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const sizes *s = sizes_of(run->c);
    int64_t ld = dit_case_stride(run->c, s->C);
    dit_row_norm_args args = {.batch = s->B, .rows = s->rows, .cols = s->C, .x = to->out, .ld = ld};
    args.stride = s->rows * ld;
    args.squares = run->own[0];
    args.ranks = s->ranks, args.total_cols = s->ranks * s->C;
    args.eps = 1e-6f;
    args.weight = s->like ? NULL : run->in[0];
    args.like = s->like ? run->own[1] : NULL;
    to->table->row_squares(run->pool, &args);
    to->table->row_scale(run->pool, &args);
}

#define ROW_NORM(rows, C, ranks, B, like, flags)                                                                       \
    {                                                                                                                  \
        DIT_OPERATOR_ROW_SQUARES, {rows, C, ranks, B, like}, flags                                                     \
    }

static const dit_kernel_case checked[] = {
    ROW_NORM(1, 1, 1, 1, 0, 0),  ROW_NORM(17, 65, 3, 2, 0, STRIDED),   ROW_NORM(5, 768, 2, 3, 0, 0),
    ROW_NORM(9, 64, 1, 2, 1, 0), ROW_NORM(4096, 1536, 2, 1, 0, TIMED),
};

const dit_operator_cases dit_cases_row_norm = {
    .name = "row_norm",
    .sizes = {{"rows", NULL}, {"C", NULL}, {"ranks", NULL}, {"B", NULL}, {"like", NULL}},
    .tolerance = 5e-7, /* sums in double; three roundings */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
