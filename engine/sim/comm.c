/* Communicator of a simulation: MPI's own calls, under SimGrid, with messages that carry nothing. What ranks tell each
 * other outside the measured region (the world) is real. */
#include "engine/comm/comm_impl.h"
#include "engine/sim/sim.h"

static dit_status simulated_all_to_all(void *group, const void *send, void *recv, int64_t block_bytes)
{
    void *buffer = dit_sim_buffer(block_bytes * dit_comm_mpi.size(group));
    (void)send, (void)recv;
    dit_sim_flush();
    return dit_comm_mpi.all_to_all(group, buffer, buffer, block_bytes);
}

static dit_status simulated_all_gather(void *group, const void *send, void *recv, int64_t block_bytes)
{
    void *buffer = dit_sim_buffer(block_bytes * dit_comm_mpi.size(group));
    (void)send, (void)recv;
    dit_sim_flush();
    return dit_comm_mpi.all_gather(group, buffer, buffer, block_bytes);
}

static dit_status simulated_exchange_begin(void *group, const void *send, int to, void *recv, int from, int64_t bytes,
                                           dit_comm_exchange *out)
{
    void *buffer = dit_sim_buffer(bytes);
    (void)send, (void)recv;
    dit_sim_flush();
    return dit_comm_mpi.exchange_begin(group, buffer, to, buffer, from, bytes, out);
}

static dit_status simulated_all_gather_begin(void *group, const void *send, void *recv, int64_t block_bytes,
                                             dit_comm_exchange *out)
{
    void *buffer = dit_sim_buffer(block_bytes * dit_comm_mpi.size(group));
    (void)send, (void)recv;
    dit_sim_flush();
    return dit_comm_mpi.all_gather_begin(group, buffer, buffer, block_bytes, out);
}

/* Simulated messages move whether or not their ranks look. */
static void simulated_exchange_poll(void *group, dit_comm_exchange *exchange)
{
    (void)group, (void)exchange;
}

static dit_status simulated_exchange_wait(void *group, dit_comm_exchange *exchange)
{
    dit_sim_flush();
    return dit_comm_mpi.exchange_wait(group, exchange);
}

static dit_status simulated_barrier(void *group)
{
    dit_sim_flush();
    return dit_comm_mpi.barrier(group);
}

static dit_status simulated_all_gather_varying(void *group, const void *data, int64_t bytes, void *out,
                                               const int64_t *offsets)
{
    void *buffer = dit_sim_buffer(offsets[dit_comm_mpi.size(group)]);
    (void)out;
    dit_sim_flush();
    return dit_comm_mpi.all_gather_varying(group, data ? buffer : NULL, bytes, buffer, offsets);
}

static void simulated_free(void *group)
{
    dit_comm_mpi.free(group);
}
static int simulated_rank(void *group)
{
    return dit_comm_mpi.rank(group);
}
static int simulated_size(void *group)
{
    return dit_comm_mpi.size(group);
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
static dit_status create(const int *ranks, int size, void **group)
{
    return dit_comm_mpi.create(ranks, size, group);
}

static dit_status world_all_to_all(void *group, const void *send, void *recv, int64_t block_bytes)
{
    return dit_comm_mpi.all_to_all(group, send, recv, block_bytes);
}
static dit_status world_all_gather(void *group, const void *send, void *recv, int64_t block_bytes)
{
    return dit_comm_mpi.all_gather(group, send, recv, block_bytes);
}
static dit_status world_all_gather_varying(void *group, const void *data, int64_t bytes, void *out,
                                           const int64_t *offsets)
{
    return dit_comm_mpi.all_gather_varying(group, data, bytes, out, offsets);
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
