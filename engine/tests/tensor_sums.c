/* For test_tensor.sh, on any number of ranks: what tensor ranks add up has the same bits on all of them and is the sum
 * in the order of ranks; norms over all heads are those of the whole row. Prints what is wrong; exit 0: nothing.
 */
#include "base/rng.h"
#include "engine/runtime/tensor_parallel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, ROWS = 37, WIDTH = 24, LD = WIDTH + 5, MOST_RANKS = 8 };

static int problems;

static void expect(bool holds, int rank, const char *what)
{
    if (holds) return;
    printf("rank %d: %s\n", rank, what);
    problems++;
}

static void draw(int rank, int64_t count, float *out)
{
    dit_rng_normal(11, (uint64_t)rank, 0, count, 0.0f, 1.0f, out);
}

/* Every rank's `bytes` bytes are the same. */
static bool same_everywhere(const void *data, int64_t bytes)
{
    char *all = NULL;
    int64_t offsets[MOST_RANKS + 1];
    bool same = dit_comm_collect(dit_comm_world(), data, bytes, &all, offsets) == DIT_OK;
    for (int i = 1; same && i < dit_comm_size(dit_comm_world()); i++)
        same = memcmp(all, all + offsets[i], (size_t)bytes) == 0;
    free(all);
    return same;
}

static void check_sum(dit_runtime *rt, const dit_share *share)
{
    static float other[ROWS * WIDTH * MOST_RANKS];
    static double expected[ROWS * WIDTH * MOST_RANKS];
    int64_t count = ROWS * WIDTH * share->of;
    double worst = 0;
    for (int rank = 0; rank < share->of; rank++) {
        draw(rank, count, other);
        for (int64_t i = 0; i < count; i++) expected[i] += (double)other[i];
    }
    expect(dit_tp_reserve(rt, count, 0) == DIT_OK, (int)share->index, "no room");
    draw((int)share->index, count, rt->tensor.partial);
    expect(dit_tp_sum(rt, count) == DIT_OK, (int)share->index, "the sum fails");
    for (int64_t i = 0; i < count; i++) worst = fmax(worst, fabs(expected[i] - (double)rt->tensor.sum[i]));
    expect(worst < 1e-5, (int)share->index, "the sum is wrong");
    expect(same_everywhere(rt->tensor.sum, count * (int64_t)sizeof(float)), (int)share->index, "sums differ in bits");
    int64_t bytes = rt->counters.at[DIT_AXIS_TENSOR][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP].bytes;
    expect(bytes == 2 * (share->of - 1) * ROWS * WIDTH * 4, (int)share->index, "bytes are not 2 (t-1)/t of the tensor");
}

/* y += gate * (sum + bias), rows further apart than they are wide; what lies between them stays. */
static void check_add(dit_runtime *rt, const dit_share *share)
{
    float sum[ROWS * WIDTH], bias[WIDTH], gate[WIDTH], before[ROWS * LD], y[ROWS * LD];
    bool right = true;
    draw(20, ROWS * WIDTH, sum), draw(21, WIDTH, bias), draw(22, WIDTH, gate), draw(23, ROWS * LD, before);
    memcpy(y, before, sizeof y);
    dit_tp_add(rt, sum, ROWS, WIDTH, bias, gate, y, LD);
    for (int i = 0; i < ROWS * LD; i++) {
        int row = i / LD, c = i % LD;
        double added = c < WIDTH ? (double)gate[c] * ((double)sum[row * WIDTH + c] + (double)bias[c]) : 0;
        right = right && fabs((double)before[i] + added - (double)y[i]) <= (c < WIDTH ? 1e-5 : 0);
    }
    expect(right, (int)share->index, "bias, gate or residual is wrong");
}

/* Each rank draws the whole rows and normalises its columns of them. */
static void check_norm(dit_runtime *rt, const dit_share *share)
{
    int64_t whole = WIDTH * share->of, first = WIDTH * share->index;
    float *rows = calloc((size_t)(BATCH * ROWS * whole), sizeof *rows), own[BATCH * ROWS * LD], weight[WIDTH];
    bool right = rows != NULL && dit_tp_reserve(rt, 0, BATCH * ROWS) == DIT_OK;
    if (!rows) return expect(false, (int)share->index, "no memory");
    draw(30, BATCH * ROWS * whole, rows), draw(31, WIDTH, weight);
    for (int64_t i = 0; i < BATCH * ROWS * WIDTH; i++)
        own[i / WIDTH * LD + i % WIDTH] = rows[i / WIDTH * whole + first + i % WIDTH];
    right = right && dit_tp_norm(rt, &(dit_tp_norm_args){.x = own,
                                                         .batch = BATCH,
                                                         .rows = ROWS,
                                                         .cols = WIDTH,
                                                         .ld = LD,
                                                         .stride = ROWS * LD,
                                                         .weight = weight,
                                                         .eps = 1e-6f}) == DIT_OK;
    for (int64_t row = 0; right && row < BATCH * ROWS; row++) {
        double squares = 0;
        for (int64_t c = 0; c < whole; c++) squares += pow((double)rows[row * whole + c], 2);
        for (int64_t c = 0; c < WIDTH; c++) {
            double wanted =
                (double)rows[row * whole + first + c] / sqrt(squares / (double)whole + 1e-6) * (double)weight[c];
            right = right && fabs(wanted - (double)own[row * LD + c]) < 1e-5;
        }
    }
    expect(right, (int)share->index, "a norm over all ranks is not that of the whole row");
    free(rows);
}

static void check_shares(const dit_share *share)
{
    for (int64_t count = 1; count < 100; count += 7) {
        int64_t next = 0;
        for (int64_t i = 0; i < share->of; i++) {
            dit_share part = {i, share->of};
            expect(share_begin(part, count) == next, (int)share->index, "shares leave a gap");
            next += share_count(part, count);
        }
        expect(next == count, (int)share->index, "shares are not the whole");
    }
}

int main(int argc, char **argv)
{
    dit_runtime rt = {0};
    dit_runtime_params params = {.backend = "cpu", .threads = 1};
    if (dit_comm_start("mpi", &argc, &argv) != DIT_OK) return 4;
    params.parallel.degree[DIT_AXIS_TENSOR] = dit_comm_size(dit_comm_world());
    params.facts =
        (dit_facts){.heads = dit_comm_size(dit_comm_world()), .head_dim = WIDTH, .image_tokens = 1, .num_images = 1};
    if (dit_comm_size(dit_comm_world()) > MOST_RANKS || dit_runtime_init(&params, &rt) != DIT_OK) dit_comm_abort(4);
    dit_share share = dit_tp_share(&rt);
    check_shares(&share);
    if (share.of > 1) {
        check_sum(&rt, &share);
        check_norm(&rt, &share);
    }
    check_add(&rt, &share);
    dit_runtime_release(&rt);
    dit_comm_finish();
    return problems ? 1 : 0;
}
