/* Cases for difference: the sums of |a - b| and |b|. They are doubles; the output is two rows that row_scale multiplies
 * by 1 / sqrt(sum), which shows half of a sum's relative error. */
#include "kernels/cases/cases_impl.h"

enum { SEEN = 8 }; /* columns of the two rows */

typedef struct {
    int64_t rows, C;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: a, b, weights of the rows; own: the rows' sums, then the two sums */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    DIT_TRY(dit_case_fill(run, 0, s->rows * s->C, 0.5f, 1));
    DIT_TRY(dit_case_fill(run, 1, s->rows * s->C, 0.5f, 1));
    DIT_TRY(dit_case_fill(run, 2, SEEN, 0.5f, 1));
    DIT_TRY(dit_arena_array(run->room, 2 * s->rows, DIT_DTYPE_FP64, &run->own[0]));
    DIT_TRY(dit_arena_array(run->room, 2, DIT_DTYPE_FP64, &run->own[1]));
    return dit_case_outputs(run, 2 * SEEN, 0);
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const sizes *s = sizes_of(run->c);
    to->table->difference(run->pool, &(dit_difference_args){.rows = s->rows,
                                                            .cols = s->C,
                                                            .a = run->in[0],
                                                            .b = run->in[1],
                                                            .of_rows = run->own[0],
                                                            .sums = run->own[1]});
    to->table->row_scale(run->pool, &(dit_row_norm_args){.batch = 1,
                                                         .rows = 2,
                                                         .cols = SEEN,
                                                         .x = to->out,
                                                         .ld = SEEN,
                                                         .stride = 2 * SEEN,
                                                         .squares = run->own[1],
                                                         .ranks = 1,
                                                         .total_cols = s->rows * s->C,
                                                         .weight = run->in[2]});
}

#define DIFFERENCE(rows, C, flags)                                                                                     \
    {                                                                                                                  \
        DIT_OPERATOR_DIFFERENCE, {rows, C}, flags                                                                      \
    }

static const dit_kernel_case checked[] = {
    DIFFERENCE(1, 1, 0),
    DIFFERENCE(17, 65, 0),
    DIFFERENCE(300, 768, 0),
    DIFFERENCE(4096, 1536, TIMED),
};

const dit_operator_cases dit_cases_difference = {
    .name = "difference",
    .sizes = {{"rows", NULL}, {"C", NULL}},
    .tolerance = 5e-7, /* sums in double; three roundings */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
