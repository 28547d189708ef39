/* For test_device_messages.sh, on any number of ranks: every kind of message between arrays of a device, and what of it
 * arrives.
 *
 *   device_messages BACKEND [DTYPE [die|leave]]
 *
 * Values are whole numbers below 256, the same in every element. Prints what is wrong; exit 0: nothing. `die`: the last
 * rank ends without a word while the others wait for its messages; exit 0: they get an error that says where. `leave`:
 * it fails and releases everything instead.
 */
#include "engine/runtime/runtime.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 8, BLOCK = 1000, ROUNDS = 5, UNDER_WAY = 4, PIPED = 6 };

static int problems, rank, size;

static void expect(bool holds, const char *what)
{
    if (holds) return;
    printf("rank %d: %s\n", rank, what);
    problems++;
}

static float *take(dit_runtime *rt, int64_t count)
{
    float *array = NULL;
    if (dit_arena_activations(&rt->comm_arena, count, &array) != DIT_OK) dit_comm_abort(4);
    return array;
}

static float value_of(int from, int block, int64_t i)
{
    return (float)((from * 31 + block * 7 + i) % 251);
}

static void fill(dit_runtime *rt, float *array, int block, int64_t count)
{
    for (int64_t i = 0; i < count; i++) array[i] = value_of(rank, block, i);
    if (dit_runtime_upload(rt, array, count) != DIT_OK) dit_comm_abort(4);
}

/* Whether what lies on the device is what `from` filled its block with. */
static bool holds(dit_runtime *rt, float *array, int from, int block, int64_t count)
{
    bool right = dit_runtime_download(rt, array, count) == DIT_OK;
    for (int64_t i = 0; i < count && right; i++) right = array[i] == value_of(from, block, i);
    return right;
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static void check_all_to_all(dit_runtime *rt, dit_comm *comm, float *send, float *recv)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int to = 0; to < size; to++) fill(rt, send + to * BLOCK, to + round, BLOCK);
        expect(dit_comm_all_to_all(comm, send, recv, BLOCK * 4) == DIT_OK, "an all-to-all fails");
        for (int from = 0; from < size; from++)
            expect(holds(rt, recv + from * BLOCK, from, rank + round, BLOCK), "a block went to somebody else");
    }
}

static void check_all_gather(dit_runtime *rt, dit_comm *comm, float *send, float *recv)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        float *own = in_place ? recv + rank * BLOCK : send;
        fill(rt, own, in_place, BLOCK);
        expect(dit_comm_all_gather(comm, own, recv, BLOCK * 4) == DIT_OK, "an all-gather fails");
        for (int from = 0; from < size; from++)
            expect(holds(rt, recv + from * BLOCK, from, in_place, BLOCK), "a gathered block is not its rank's");
    }
}

/* Pieces of 0, 3, 6 ... elements. */
static void check_pieces(dit_runtime *rt, dit_comm *comm, float *recv)
{
    int64_t offsets[MOST_RANKS + 1] = {0};
    for (int i = 0; i < size; i++) offsets[i + 1] = offsets[i] + i * 3 * 4;
    fill(rt, recv + offsets[rank] / 4, 5, rank * 3);
    expect(dit_comm_all_gather_pieces(comm, recv, offsets) == DIT_OK, "a gather of pieces fails");
    for (int from = 0; from < size; from++)
        expect(holds(rt, recv + offsets[from] / 4, from, 5, from * 3), "a gathered piece is not its rank's");
}

static void check_gathers_under_way(dit_runtime *rt, dit_comm *comm)
{
    dit_comm_exchange exchange[UNDER_WAY];
    float *all[UNDER_WAY];
    for (int g = 0; g < UNDER_WAY; g++) {
        all[g] = take(rt, size * (BLOCK + g));
        fill(rt, all[g] + rank * (BLOCK + g), g, BLOCK + g);
        expect(dit_comm_all_gather_begin(comm, all[g] + rank * (BLOCK + g), all[g], (BLOCK + g) * 4, &exchange[g]) ==
                   DIT_OK,
               "a gather is not begun");
    }
    for (int g = 0; g < UNDER_WAY; g++) {
        dit_comm_exchange_poll(comm, &exchange[UNDER_WAY - 1]);
        expect(dit_comm_exchange_wait(comm, &exchange[g]) == DIT_OK, "a gather does not end");
        for (int from = 0; from < size; from++)
            expect(holds(rt, all[g] + from * (BLOCK + g), from, g, BLOCK + g), "a gather under way mixes blocks");
    }
}

/* Sums of squares, as norms over several ranks have them: fp64. */
static void check_terms(dit_runtime *rt, dit_comm *comm)
{
    void *own, *all;
    bool right = true;
    if (dit_arena_array(&rt->comm_arena, 9, DIT_DTYPE_FP64, &own) != DIT_OK ||
        dit_arena_array(&rt->comm_arena, 9 * size, DIT_DTYPE_FP64, &all) != DIT_OK)
        dit_comm_abort(4);
    for (int i = 0; i < 9; i++) ((double *)own)[i] = rank + i / 8.0 + 1e-12;
    expect(dit_runtime_upload(rt, own, 9) == DIT_OK, "terms are not put");
    expect(dit_comm_gather_terms(comm, own, 9, all) == DIT_OK, "a gather of terms fails");
    expect(dit_runtime_download(rt, all, 9 * size) == DIT_OK, "terms are not got");
    for (int i = 0; i < 9 * size; i++) right = right && ((double *)all)[i] == i / 9 + i % 9 / 8.0 + 1e-12;
    expect(right, "a term is another");
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void add_blocks(void *context, const float *blocks, int count_of, int64_t count, float *sum)
{
    for (int next = 0; next < count_of; next++) {
        dit_combine_args args = {.elements = count, .count = 1, .a = {1.0f, 1.0f}, .y = sum};
        args.x[0] = blocks + next * count;
        if (next) args.x[args.count++] = sum;
        ops_combine(context, &args);
    }
}

static int sum_of(int64_t i)
{
    int sum = 0;
    for (int from = 0; from < size; from++) sum += from + 1 + (int)(i % 5);
    return sum;
}

static void fill_summand(dit_runtime *rt, float *array, int64_t count)
{
    for (int64_t i = 0; i < count; i++) array[i] = (float)(rank + 1 + (int)(i % 5));
    if (dit_runtime_upload(rt, array, count) != DIT_OK) dit_comm_abort(4);
}

static void expect_sum(dit_runtime *rt, float *array, int64_t first, int64_t count, const char *what)
{
    bool right = dit_runtime_download(rt, array, count) == DIT_OK;
    for (int64_t i = 0; i < count; i++) right = right && array[i] == (float)sum_of(first + i);
    expect(right, what);
}

static void check_sums(dit_runtime *rt, dit_comm *comm, float *send, float *recv)
{
    int64_t count = size * BLOCK;
    fill_summand(rt, send, count);
    expect(dit_comm_sum(comm, send, count, recv, add_blocks, rt) == DIT_OK, "a sum fails");
    expect_sum(rt, recv, 0, count, "a sum is another");
    float *exact, *part;
    if (dit_arena_fp32(&rt->comm_arena, count, &exact) != DIT_OK ||
        dit_arena_fp32(&rt->comm_arena, count, &part) != DIT_OK)
        dit_comm_abort(4);
    fill_summand(rt, exact, count);
    expect(dit_comm_reduce(comm, exact, part, count, true) == DIT_OK, "a reduce-scatter fails");
    expect_sum(rt, part, rank * BLOCK, BLOCK, "a scattered sum is another");
    expect(dit_comm_reduce(comm, exact, part, count, false) == DIT_OK, "an all-reduce fails");
    expect_sum(rt, part, 0, count, "a reduced sum is another");
    expect(dit_comm_reduce(comm, exact, exact, count, false) == DIT_OK, "an all-reduce in place fails");
    expect_sum(rt, exact, 0, count, "a sum reduced in place is another");
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

/* Two exchanges at once, around the ring both ways. */
static void check_rings(dit_runtime *rt, dit_comm *comm, float *send, float *recv)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    dit_comm_exchange up, down;
    fill(rt, send, 1, BLOCK);
    fill(rt, send + BLOCK, 2, BLOCK);
    expect(dit_comm_exchange_begin(comm, send, next, recv, last, BLOCK * 4, &up) == DIT_OK &&
               dit_comm_exchange_begin(comm, send + BLOCK, last, recv + BLOCK, next, BLOCK * 4, &down) == DIT_OK,
           "an exchange is not begun");
    dit_comm_exchange_poll(comm, &down);
    expect(dit_comm_exchange_wait(comm, &down) == DIT_OK && dit_comm_exchange_wait(comm, &up) == DIT_OK,
           "an exchange does not end");
    expect(holds(rt, recv, last, 1, BLOCK), "what came round the ring is not the last rank's");
    expect(holds(rt, recv + BLOCK, next, 2, BLOCK), "what came round the ring is not the next rank's");
}

/* Along a line: the first and the last rank have one neighbour. */
static void check_line(dit_runtime *rt, dit_comm *comm, float *send, float *recv)
{
    int above = rank ? rank - 1 : DIT_COMM_NOBODY, below = rank < size - 1 ? rank + 1 : DIT_COMM_NOBODY;
    dit_comm_exchange up, down;
    fill(rt, send, 3, BLOCK);
    expect(dit_comm_exchange_begin(comm, send, above, recv, below, BLOCK * 4, &up) == DIT_OK &&
               dit_comm_exchange_begin(comm, send, below, recv + BLOCK, above, BLOCK * 4, &down) == DIT_OK &&
               dit_comm_exchange_wait(comm, &up) == DIT_OK && dit_comm_exchange_wait(comm, &down) == DIT_OK,
           "an exchange along a line fails");
    expect(below == DIT_COMM_NOBODY || holds(rt, recv, below, 3, BLOCK), "what came from below is another's");
    expect(above == DIT_COMM_NOBODY || holds(rt, recv + BLOCK, above, 3, BLOCK), "what came from above is another's");
}

static dit_status receive(dit_comm *comm, float *to, dit_comm_exchange *out)
{
    return dit_comm_exchange_begin(comm, to, DIT_COMM_NOBODY, to, (rank + size - 1) % size, BLOCK * 4, out);
}

/* A pipeline of tasks: the receive of the next is posted before the own is sent, as PipeFusion does, and what the first
 * rank begins depends on what the last rank sent. What goes round gains one on every rank. */
static void check_pipeline(dit_runtime *rt, dit_comm *comm)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, tasks = PIPED;
    float *arriving[2] = {take(rt, BLOCK), take(rt, BLOCK)}, *leaving[PIPED];
    dit_comm_exchange in[2] = {0}, out[PIPED] = {0};
    expect(dit_comm_open_links(comm, &next, 1, &last, 1) == DIT_OK, "links are not opened");
    if (rank) expect(receive(comm, arriving[0], &in[0]) == DIT_OK, "a receive is not begun");
    for (int task = 0; task < tasks; task++) {
        bool first = rank == 0 && task == 0;
        leaving[task] = take(rt, BLOCK);
        if (!first) expect(dit_comm_exchange_wait(comm, &in[task & 1]) == DIT_OK, "a receive does not end");
        if (task + 1 < tasks)
            expect(receive(comm, arriving[(task + 1) & 1], &in[(task + 1) & 1]) == DIT_OK, "a receive is not begun");
        bool right = first || dit_runtime_download(rt, arriving[task & 1], BLOCK) == DIT_OK;
        for (int64_t i = 0; i < BLOCK; i++) {
            float expected = (float)(task * size + rank);
            right = right && (first || arriving[task & 1][i] == expected);
            leaving[task][i] = expected + 1;
        }
        expect(right, "what came down the pipeline is another");
        bool ends = rank == size - 1 && task == tasks - 1;
        if (ends) continue;
        expect(dit_runtime_upload(rt, leaving[task], BLOCK) == DIT_OK &&
                   dit_comm_exchange_begin(comm, leaving[task], next, leaving[task], DIT_COMM_NOBODY, BLOCK * 4,
                                           &out[task]) == DIT_OK,
               "a send is not begun");
    }
    for (int task = 0; task < tasks - (rank == size - 1); task++)
        expect(dit_comm_exchange_wait(comm, &out[task]) == DIT_OK, "a send does not end");
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* The others wait for a message of the last rank, which is gone. */
static void check_death(dit_runtime *rt, dit_comm *comm, float *send, float *recv, bool leave)
{
    fill(rt, send, 1, size * BLOCK);
    expect(dit_comm_all_to_all(comm, send, recv, BLOCK * 4) == DIT_OK && dit_runtime_synchronize(rt) == DIT_OK,
           "an all-to-all fails");
    if (rank == size - 1) {
        if (!leave) kill(getpid(), SIGKILL);
        int64_t began = dit_clock_ns();
        (void)DIT_FAIL(DIT_ERR_NONFINITE, "this rank gives up");
        dit_runtime_release(rt);
        expect(dit_clock_ns() - began < 1500000000, "who gives up waits for the others");
        return;
    }
    dit_status st = dit_comm_all_to_all(comm, send, recv, BLOCK * 4);
    if (st == DIT_OK) st = dit_runtime_synchronize(rt);
    expect(st == DIT_ERR_TIMEOUT || st == DIT_ERR_DEVICE, "no error of a message that never comes");
    printf("rank %d: %s\n", rank, dit_error_last()->message);
    fflush(stdout);
}

static void check_messages(dit_runtime *rt, dit_comm *comm, float *send, float *recv)
{
    check_all_to_all(rt, comm, send, recv);
    check_all_gather(rt, comm, send, recv);
    check_pieces(rt, comm, recv);
    check_gathers_under_way(rt, comm);
    check_terms(rt, comm);
    check_sums(rt, comm, send, recv);
    if (size > 1) {
        check_rings(rt, comm, send, recv);
        check_line(rt, comm, send, recv);
        check_pipeline(rt, comm);
    }
    expect(dit_runtime_synchronize(rt) == DIT_OK, "something failed in the background");
}

int main(int argc, char **argv)
{
    dit_runtime rt = {0};
    dit_runtime_params params = {.backend = argc > 1 ? argv[1] : "host", .threads = 1};
    const char *way = argc > 3 ? argv[3] : "";
    if (argc > 2 && !dit_dtype_from_name(argv[2], &params.dtype)) return 4;
    if (dit_comm_start("mpi", &argc, &argv) != DIT_OK) return 4;
    rank = dit_comm_rank(dit_comm_world()), size = dit_comm_size(dit_comm_world());
    params.parallel.degree[DIT_AXIS_TENSOR] = size;
    params.facts = (dit_facts){.heads = size, .head_dim = 8, .image_tokens = 1, .num_images = 1};
    if (size > MOST_RANKS || dit_runtime_init(&params, &rt) != DIT_OK) {
        dit_error_print("device_messages");
        dit_comm_abort(4);
    }
    dit_comm *comm = rt.comm[DIT_AXIS_TENSOR];
    if (rank == 0) printf("transport: %s\n", dit_comm_transport(comm));
    fflush(stdout);
    float *send = take(&rt, size * BLOCK + BLOCK), *recv = take(&rt, size * BLOCK + BLOCK);
    if (*way)
        check_death(&rt, comm, send, recv, strcmp(way, "leave") == 0);
    else
        check_messages(&rt, comm, send, recv);
    if (problems) dit_error_print("device_messages");
    if (*way) _Exit(problems ? 1 : 0); /* MPI has no rank to end together with */
    dit_runtime_release(&rt);
    dit_comm_finish();
    return problems ? 1 : 0;
}
