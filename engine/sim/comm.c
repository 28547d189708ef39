/* Communicator of a simulation: MPI's own calls, under SimGrid, with messages that carry nothing. What ranks tell each
 * other outside the measured region (the world) is real. */
#include "engine/comm/comm_impl.h"
#include "engine/sim/sim.h"

#include <stdlib.h>

/* A group of MPI's, and on how many nodes its ranks are. */
typedef struct {
    void *mpi;
    int size, nodes;
} sim_group;

static dit_status simulated_all_to_all(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    sim_group *group = opaque;
    dit_sim_copy(group->size - 1, (double)(block_bytes * group->size)); /* the own block is copied, too */
    double stretch =
        dit_sim_enter(DIT_COST_ALL_TO_ALL, (double)(block_bytes * (group->size - 1)), group->size, group->nodes, false);
    int64_t wire = dit_sim_wire(block_bytes, stretch);
    void *buffer = dit_sim_buffer(wire * group->size);
    (void)send, (void)recv;
    DIT_TRY(dit_comm_mpi.all_to_all(group->mpi, buffer, buffer, wire));
    dit_sim_leave();
    return DIT_OK;
}

static dit_status simulated_all_gather(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    sim_group *group = opaque;
    dit_sim_copy(group->size - 1, (double)(block_bytes * group->size));
    double stretch =
        dit_sim_enter(DIT_COST_ALL_GATHER, (double)(block_bytes * group->size), group->size, group->nodes, false);
    int64_t wire = dit_sim_wire(block_bytes, stretch);
    void *buffer = dit_sim_buffer(wire * group->size);
    (void)send, (void)recv;
    DIT_TRY(dit_comm_mpi.all_gather(group->mpi, buffer, buffer, wire));
    dit_sim_leave();
    return DIT_OK;
}

static dit_status simulated_exchange_begin(void *opaque, const void *send, int to, void *recv, int from, int64_t bytes,
                                           dit_comm_exchange *out)
{
    sim_group *group = opaque;
    int ends = (to != DIT_COMM_NOBODY) + (from != DIT_COMM_NOBODY);
    dit_sim_copy(ends > 0, 0.5 * ends * (double)bytes); /* what was measured sends and receives */
    double stretch = dit_sim_enter(DIT_COST_SEND_RECV, (double)bytes, group->size, group->nodes, to != DIT_COMM_NOBODY);
    int64_t wire = dit_sim_wire(bytes, stretch);
    void *buffer = dit_sim_buffer(wire);
    (void)send, (void)recv;
    DIT_TRY(dit_comm_mpi.exchange_begin(group->mpi, buffer, to, buffer, from, wire, out));
    dit_sim_leave();
    return DIT_OK;
}

static dit_status simulated_all_gather_begin(void *opaque, const void *send, void *recv, int64_t block_bytes,
                                             dit_comm_exchange *out)
{
    sim_group *group = opaque;
    dit_sim_copy(group->size - 1, (double)(block_bytes * group->size));
    double stretch =
        dit_sim_enter(DIT_COST_ALL_GATHER, (double)(block_bytes * group->size), group->size, group->nodes, true);
    int64_t wire = dit_sim_wire(block_bytes, stretch);
    void *buffer = dit_sim_buffer(wire * group->size);
    (void)send, (void)recv;
    DIT_TRY(dit_comm_mpi.all_gather_begin(group->mpi, buffer, buffer, wire, out));
    dit_sim_leave();
    return DIT_OK;
}

/* Simulated messages move whether or not their ranks look. */
static void simulated_exchange_poll(void *group, dit_comm_exchange *exchange)
{
    (void)group, (void)exchange;
}

static dit_status simulated_exchange_wait(void *opaque, dit_comm_exchange *exchange)
{
    dit_sim_enter_wait();
    DIT_TRY(dit_comm_mpi.exchange_wait(((sim_group *)opaque)->mpi, exchange));
    dit_sim_leave();
    return DIT_OK;
}

static dit_status simulated_barrier(void *opaque)
{
    dit_sim_enter_wait();
    DIT_TRY(dit_comm_mpi.barrier(((sim_group *)opaque)->mpi));
    dit_sim_leave();
    dit_sim_synchronise();
    return DIT_OK;
}

static dit_status simulated_all_gather_varying(void *opaque, const void *data, int64_t bytes, void *out,
                                               const int64_t *offsets)
{
    sim_group *group = opaque;
    void *buffer = dit_sim_buffer(offsets[group->size]);
    (void)out;
    dit_sim_enter_wait();
    DIT_TRY(dit_comm_mpi.all_gather_varying(group->mpi, data ? buffer : NULL, bytes, buffer, offsets));
    dit_sim_leave();
    return DIT_OK;
}

static void simulated_free(void *opaque)
{
    sim_group *group = opaque;
    if (!group) return;
    dit_comm_mpi.free(group->mpi);
    free(group);
}
static int simulated_rank(void *group)
{
    return dit_comm_mpi.rank(((sim_group *)group)->mpi);
}
static int simulated_size(void *group)
{
    return ((sim_group *)group)->size;
}

static const dit_comm_ops groups = {
    .name = "simulated",
    .free = simulated_free,
    .rank = simulated_rank,
    .size = simulated_size,
    .all_to_all = simulated_all_to_all,
    .all_gather = simulated_all_gather,
    .exchange_begin = simulated_exchange_begin,
    .all_gather_begin = simulated_all_gather_begin,
    .exchange_poll = simulated_exchange_poll,
    .exchange_wait = simulated_exchange_wait,
    .barrier = simulated_barrier,
    .all_gather_varying = simulated_all_gather_varying,
};

static dit_status start(int *argc, char ***argv)
{
    DIT_TRY(dit_comm_mpi.start(argc, argv));
    dit_sim_start();
    return DIT_OK;
}
static void finish(void)
{
    dit_comm_mpi.finish();
}
static void abort_all(int exit_code)
{
    dit_comm_mpi.abort(exit_code);
}
static const char *library(void)
{
    return "SimGrid SMPI";
}
static void local(int *local_rank, int *local_size)
{
    *local_rank = 0, *local_size = 1;
}
static dit_status create(const int *ranks, int size, void **out)
{
    sim_group *group = calloc(1, sizeof *group);
    *out = group;
    if (!group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    dit_status st = dit_comm_mpi.create(ranks, size, &group->mpi);
    if (st != DIT_OK) {
        free(group);
        *out = NULL;
        return st;
    }
    group->size = dit_comm_mpi.size(group->mpi);
    group->nodes = ranks ? dit_sim_nodes(ranks, size) : 1;
    return DIT_OK;
}

static dit_status world_all_to_all(void *group, const void *send, void *recv, int64_t block_bytes)
{
    return dit_comm_mpi.all_to_all(((sim_group *)group)->mpi, send, recv, block_bytes);
}
static dit_status world_all_gather(void *group, const void *send, void *recv, int64_t block_bytes)
{
    return dit_comm_mpi.all_gather(((sim_group *)group)->mpi, send, recv, block_bytes);
}
static dit_status world_all_gather_varying(void *group, const void *data, int64_t bytes, void *out,
                                           const int64_t *offsets)
{
    return dit_comm_mpi.all_gather_varying(((sim_group *)group)->mpi, data, bytes, out, offsets);
}

const dit_comm_ops dit_comm_simulated = {
    .name = "simulated",
    .groups = &groups,
    .start = start,
    .finish = finish,
    .abort = abort_all,
    .library = library,
    .local = local,
    .create = create,
    .free = simulated_free,
    .rank = simulated_rank,
    .size = simulated_size,
    .all_to_all = world_all_to_all,
    .all_gather = world_all_gather,
    .barrier = simulated_barrier,
    .all_gather_varying = world_all_gather_varying,
};
