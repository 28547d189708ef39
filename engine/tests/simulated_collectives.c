/* One collective of the simulated communicator, on the links of a case.
 *
 * Usage, under smpirun: simulated_collectives CASE
 * all_reduce|all_gather|all_gather_begin|all_gather_twice|all_to_all|send_recv FLOATS... All ranks are one group.
 * Prints "FLOATS US" for each: from when all start to when the last rank has it. FLOATS are those of NCCL's count: of
 * the buffer, of all pieces together, of what one rank sends. "late" before a number: the last rank comes a millisecond
 * after the others.
 */
#include "base/json.h"
#include "engine/sim/comm.h"

#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_nothing(void *context, const float *blocks, int size, int64_t count, float *sum)
{
    (void)context, (void)blocks, (void)size, (void)count, (void)sum;
}

static dit_status begin_and_wait(dit_comm *comm, const char *what, int64_t bytes)
{
    int rank = dit_comm_rank(comm), size = dit_comm_size(comm);
    dit_comm_exchange exchange;
    if (strcmp(what, "send_recv") == 0)
        DIT_TRY(
            dit_comm_exchange_begin(comm, NULL, (rank + 1) % size, NULL, (rank + size - 1) % size, bytes, &exchange));
    else
        DIT_TRY(dit_comm_all_gather_begin(comm, NULL, NULL, bytes / size, &exchange));
    return dit_comm_exchange_wait(comm, &exchange);
}

static dit_status begin_two(dit_comm *comm, int64_t bytes)
{
    dit_comm_exchange exchanges[2];
    for (int i = 0; i < 2; i++)
        DIT_TRY(dit_comm_all_gather_begin(comm, NULL, NULL, bytes / dit_comm_size(comm), &exchanges[i]));
    for (int i = 0; i < 2; i++) DIT_TRY(dit_comm_exchange_wait(comm, &exchanges[i]));
    return DIT_OK;
}

static dit_status call(dit_comm *comm, const char *what, int64_t floats)
{
    int size = dit_comm_size(comm);
    int64_t bytes = floats * (int64_t)sizeof(float);
    if (strcmp(what, "all_reduce") == 0) return dit_comm_sum(comm, NULL, floats, NULL, add_nothing, NULL);
    if (strcmp(what, "all_gather") == 0) return dit_comm_all_gather(comm, NULL, NULL, bytes / size);
    if (strcmp(what, "all_gather_twice") == 0) return begin_two(comm, bytes);
    if (strcmp(what, "all_to_all") == 0) return dit_comm_all_to_all(comm, NULL, NULL, bytes / (size - 1));
    return begin_and_wait(comm, what, bytes);
}

static dit_status measure(dit_comm *comm, const char *what, int64_t floats, bool late)
{
    double own, last;
    MPI_Barrier(MPI_COMM_WORLD);
    DIT_TRY(dit_comm_barrier(comm));
    double start = MPI_Wtime();
    MPI_Allreduce(&start, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    start = last + 1;
    smpi_execute(start - MPI_Wtime());
    if (late && dit_comm_rank(comm) == dit_comm_size(comm) - 1) smpi_execute(1e-3);
    DIT_TRY(call(comm, what, floats));
    own = MPI_Wtime() - start;
    MPI_Reduce(&own, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (dit_comm_rank(comm) == 0) printf("%lld %.3f\n", (long long)floats, 1e6 * last);
    return DIT_OK;
}

static dit_status run(dit_sim *sim, int argc, char **argv)
{
    static dit_comm_counters counters;
    dit_parallel parallel = {0};
    dit_comm *comm;
    dit_json doc;
    bool late = false;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) parallel.degree[axis] = 1;
    parallel.degree[DIT_AXIS_TENSOR] = dit_comm_size(dit_comm_world());
    DIT_TRY(dit_json_read_file(argv[1], &doc));
    DIT_TRY(dit_sim_read(sim, &doc, dit_comm_size(dit_comm_world())));
    DIT_TRY(dit_comm_create(&parallel, DIT_AXIS_TENSOR, &counters, &comm));
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "late") != 0) DIT_TRY(measure(comm, argv[2], atoll(argv[i]), late));
        late = strcmp(argv[i], "late") == 0;
    }
    dit_comm_free(comm);
    dit_json_release(&doc);
    return DIT_OK;
}

int main(int argc, char **argv)
{
    dit_sim_library library = {0};
    dit_status st = dit_sim_create(&dit_sim_simgrid, &library.sim);
    if (st == DIT_OK) st = dit_comm_start_with(&dit_comm_simulated, &library, &argc, &argv);
    if (st == DIT_OK) st = run(library.sim, argc, argv);
    if (st != DIT_OK) fprintf(stderr, "%s\n", dit_error_last()->message);
    if (st != DIT_OK) dit_comm_abort(1);
    dit_comm_finish();
    return 0;
}
