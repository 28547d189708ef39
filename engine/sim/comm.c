/* Communicator of a simulation: MPI's own calls, under SimGrid, with messages that carry nothing. What ranks tell each
 * other outside the measured region (the world) is real, no message, and takes no time: they are of one process. */
#include "engine/comm/comm_impl.h"
#include "engine/sim/hops.h"
#include "engine/sim/links.h"
#include "engine/sim/sim.h"

#include <simgrid/barrier.h>
#include <stdlib.h>
#include <string.h>

/* A group of MPI's. `meeting` is one thing that all its ranks wait at. */
typedef struct {
    void *mpi;
    int rank, size;
    int *ranks;           /* of the world; NULL: the world, which talks outside the measured region */
    dit_cost_group links; /* ranks 0: not asked for yet                                             */
    sg_bar_t meeting;
    dit_sim_ring ring;
    double free_s; /* when gathers that were begun are done: a library runs them one after the other */
} sim_group;

/* Of groups that never talk the routes are not looked up. */
static const dit_cost_group *links_of(sim_group *group)
{
    if (!group->links.ranks) group->links = dit_sim_links_group(group->ranks, group->size);
    return &group->links;
}

static double enter(sim_group *group, dit_cost_collective collective, double bytes, bool beside)
{
    if (group->size > 1) (void)dit_sim_issue();
    return dit_sim_enter(links_of(group), collective, bytes, beside);
}

static dit_status simulated_all_to_all(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    sim_group *group = opaque;
    (void)send, (void)recv;
    if (!dit_sim_batch(&block_bytes)) return DIT_OK;
    dit_sim_copy(group->size - 1, (double)(block_bytes * group->size)); /* the own block is copied, too */
    dit_sim_charge(
        &(dit_cost_op){.kind = DIT_COST_OP_EXCHANGE, .elements = block_bytes * group->size / (int64_t)sizeof(float)});
    double stretch = enter(group, DIT_COST_ALL_TO_ALL, (double)(block_bytes * (group->size - 1)), false);
    int64_t wire = dit_sim_wire(block_bytes, stretch);
    void *buffer = dit_sim_buffer(wire * group->size);
    DIT_TRY(dit_comm_mpi.all_to_all(group->mpi, buffer, buffer, wire));
    dit_sim_leave();
    return DIT_OK;
}

/* What a ring does, as one message from every rank to the next: all `passed_bytes` that pass there. The ring of one
 * rank is empty. */
static dit_status pass_on(sim_group *group, double passed_bytes, double stretch, dit_comm_exchange *out)
{
    int next = (group->rank + 1) % group->size, last = (group->rank + group->size - 1) % group->size;
    int64_t wire = dit_sim_wire((int64_t)passed_bytes, stretch);
    void *buffer = dit_sim_buffer(wire);
    if (group->size == 1) next = last = DIT_COMM_NOBODY;
    return dit_comm_mpi.exchange_begin(group->mpi, buffer, next, buffer, last, wire, out);
}

/* A collective of `bytes`, as NCCL counts them, in which each needs something of every other: none gets on before all
 * are there. */
static dit_status pass_round(sim_group *group, dit_cost_collective collective, double bytes)
{
    double rounds = collective == DIT_COST_ALL_REDUCE ? 2 : 1, share = (group->size - 1.0) / group->size;
    dit_comm_exchange exchange;
    dit_sim_copy(group->size - 1, bytes);
    double stretch = enter(group, collective, bytes, false);
    if (group->size > 1) sg_barrier_wait(group->meeting);
    DIT_TRY(pass_on(group, rounds * share * bytes, stretch, &exchange));
    DIT_TRY(dit_comm_mpi.exchange_wait(group->mpi, &exchange));
    dit_sim_leave();
    return DIT_OK;
}

static dit_status simulated_all_gather(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    sim_group *group = opaque;
    (void)send, (void)recv;
    if (!dit_sim_batch(&block_bytes)) return DIT_OK;
    return pass_round(group, DIT_COST_ALL_GATHER, (double)block_bytes * group->size);
}

static dit_status simulated_all_gather_varying(void *opaque, const void *data, int64_t bytes, void *out,
                                               const int64_t *offsets)
{
    sim_group *group = opaque;
    (void)data, (void)bytes, (void)out;
    return pass_round(group, DIT_COST_ALL_GATHER, (double)(offsets[group->size] - offsets[0]));
}

/* Cores add what they have copied; a collective library adds while it sends. */
static dit_status simulated_sum(void *opaque, const dit_comm_sum_args *args)
{
    sim_group *group = opaque;
    int64_t part = args->elements / group->size, bytes = args->bytes / group->size;
    if (dit_sim_shares_memory()) {
        DIT_TRY(simulated_all_to_all(group, args->values, args->out, bytes));
        args->add(args->context, args->out, group->size, part, args->values);
        return simulated_all_gather(group, args->values, args->out, bytes);
    }
    dit_sim_free_of_charge(true);
    args->add(args->context, args->out, group->size, part, args->values);
    dit_sim_free_of_charge(false);
    return pass_round(group, DIT_COST_ALL_REDUCE, (double)args->bytes);
}

/* Issued messages of two neighbours. */
typedef struct {
    sim_group *group; /* NULL: none */
    int to, from;
    int64_t bytes;
    dit_comm_exchange *exchange;
} sim_exchange;

/* Of this rank, and what became of them: the simulator gives every rank globals of its own. */
static sim_exchange put_off;
static dit_status put_off_status;

/* PyTorch gives a pair that sends one way a communicator of its own; both ways at once is a batch, of the group's. */
static double enter_exchange(const sim_exchange *e)
{
    bool sends = e->to != DIT_COMM_NOBODY, batch = sends && e->from != DIT_COMM_NOBODY;
    dit_cost_group links = *links_of(e->group);
    if (!batch) links.ranks = links.ranks < 2 ? links.ranks : 2;
    return dit_sim_enter(&links, DIT_COST_SEND_RECV, (double)e->bytes, sends);
}

static dit_status start_exchange(const sim_exchange *e)
{
    double stretch = enter_exchange(e);
    int64_t wire = dit_sim_wire(e->bytes, stretch);
    void *buffer = dit_sim_buffer(wire);
    DIT_TRY(dit_comm_mpi.exchange_begin(e->group->mpi, buffer, e->to, buffer, e->from, wire, e->exchange));
    dit_sim_leave();
    return DIT_OK;
}

void dit_sim_start_put_off(void)
{
    sim_exchange e = put_off;
    put_off.group = NULL;
    if (e.group && put_off_status == DIT_OK) put_off_status = start_exchange(&e);
}

/* A rank that sends to the next one and receives from the one before makes a hop of a ring. */
static bool goes_around(const sim_exchange *e)
{
    int size = e->group->size, rank = e->group->rank;
    return size > 1 && e->to == (rank + 1) % size && e->from == (rank + size - 1) % size;
}

/* dit_comm_exchange.ends_s is when the library is done, 0: with the messages; or that there are no messages: */
static const double NEVER_BEGAN = -1;

static dit_status simulated_exchange_begin(void *opaque, const void *send, int to, void *recv, int from, int64_t bytes,
                                           dit_comm_exchange *out)
{
    int ends = (to != DIT_COMM_NOBODY) + (from != DIT_COMM_NOBODY);
    sim_exchange e = {.group = opaque, .to = to, .from = from, .bytes = bytes, .exchange = out};
    (void)send, (void)recv;
    dit_sim_start_put_off();
    DIT_TRY(put_off_status);
    dit_sim_copy(ends > 0, 0.5 * ends * (double)bytes); /* what was measured sends and receives */
    bool late = dit_sim_issue();
    out->ends_s = 0;
    if (goes_around(&e) && dit_sim_hops_next(&e.group->ring, e.group->size - 1)) {
        if (!late) dit_sim_pass_over(links_of(e.group), (double)bytes);
        out->ends_s = NEVER_BEGAN;
        return DIT_OK;
    }
    if (!late || ends < 2) return start_exchange(&e);
    put_off = e;
    return DIT_OK;
}

/* Nobody waits for the others here; who is late is so for the next of the ring. Gathers of a group are kernels of one
 * stream: each takes its time after the one before. */
static dit_status simulated_all_gather_begin(void *opaque, const void *send, void *recv, int64_t block_bytes,
                                             dit_comm_exchange *out)
{
    sim_group *group = opaque;
    double bytes = (double)block_bytes * group->size;
    (void)send, (void)recv;
    dit_sim_copy(group->size - 1, bytes);
    double stretch = enter(group, DIT_COST_ALL_GATHER, bytes, true);
    DIT_TRY(pass_on(group, bytes - (double)block_bytes, stretch, out));
    out->ends_s = group->free_s = dit_sim_done_after(group->free_s);
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
    sim_group *group = opaque;
    if (exchange->ends_s == NEVER_BEGAN) {
        dit_sim_wait_until(dit_sim_hops_due(&group->ring));
        return DIT_OK;
    }
    dit_sim_start_put_off();
    DIT_TRY(put_off_status);
    dit_sim_enter_wait();
    DIT_TRY(dit_comm_mpi.exchange_wait(group->mpi, exchange));
    dit_sim_not_before(exchange->ends_s);
    dit_sim_leave();
    dit_sim_hops_arrived(&group->ring, dit_sim_device_now());
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

static void simulated_free(void *opaque)
{
    sim_group *group = opaque;
    if (!group) return;
    dit_comm_mpi.free(group->mpi);
    free(group->ranks);
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
    .sum = simulated_sum,
};

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

/* Made by the first rank of a group; all are of one process, so the others take its address. Lives as long as the
 * simulation. */
static dit_status meet(sim_group *group)
{
    dit_comm_exchange exchange;
    bool first = group->rank == 0;
    if (first) group->meeting = sg_barrier_init((unsigned)group->size);
    for (int rank = 1; rank < group->size; rank++) {
        if (!first && rank != group->rank) continue;
        DIT_TRY(dit_comm_mpi.exchange_begin(group->mpi, &group->meeting, first ? rank : DIT_COMM_NOBODY,
                                            &group->meeting, first ? DIT_COMM_NOBODY : 0,
                                            (int64_t)sizeof group->meeting, &exchange));
        DIT_TRY(dit_comm_mpi.exchange_wait(group->mpi, &exchange));
    }
    return DIT_OK;
}

static dit_status fill(sim_group *group, const int *ranks, int size)
{
    DIT_TRY(dit_comm_mpi.create(ranks, size, &group->mpi));
    group->size = dit_comm_mpi.size(group->mpi);
    group->rank = dit_comm_mpi.rank(group->mpi);
    if (!ranks) return DIT_OK;
    group->ranks = calloc((size_t)size, sizeof *ranks);
    if (!group->ranks) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    memcpy(group->ranks, ranks, (size_t)size * sizeof *ranks);
    return meet(group);
}

static dit_status create(const int *ranks, int size, void **out)
{
    sim_group *group = calloc(1, sizeof *group);
    *out = group;
    if (!group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    dit_status st = fill(group, ranks, size);
    if (st == DIT_OK) return DIT_OK;
    simulated_free(group);
    *out = NULL;
    return st;
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

/* What all ranks see: where each has put what it tells. */
static struct {
    sg_bar_t meeting;
    const void *told[];
} * world;

static dit_status start(int *argc, char ***argv)
{
    int ranks;
    DIT_TRY(dit_comm_mpi.start(argc, argv));
    DIT_TRY(dit_sim_start(&ranks));
    DIT_TRY(dit_sim_shared((int64_t)sizeof *world + ranks * (int64_t)sizeof *world->told, (void **)&world));
    if (!world->meeting) world->meeting = sg_barrier_init((unsigned)ranks);
    return DIT_OK;
}

/* Everybody has told; nobody tells anything else before all have listened. */
static void tell(const sim_group *group, const void *what)
{
    world->told[group->rank] = what;
    sg_barrier_wait(world->meeting);
}
static dit_status listened(void)
{
    sg_barrier_wait(world->meeting);
    return DIT_OK;
}

static dit_status world_all_to_all(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    const sim_group *group = opaque;
    tell(group, send);
    for (int rank = 0; rank < group->size; rank++)
        memcpy((char *)recv + rank * block_bytes, (const char *)world->told[rank] + group->rank * block_bytes,
               (size_t)block_bytes);
    return listened();
}

static dit_status world_all_gather(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    const sim_group *group = opaque;
    tell(group, send);
    for (int rank = 0; rank < group->size; rank++)
        memcpy((char *)recv + rank * block_bytes, world->told[rank], (size_t)block_bytes);
    return listened();
}

static dit_status world_all_gather_varying(void *opaque, const void *data, int64_t bytes, void *out,
                                           const int64_t *offsets)
{
    const sim_group *group = opaque;
    (void)bytes;
    tell(group, data ? data : (const char *)out + offsets[group->rank]);
    for (int rank = 0; rank < group->size; rank++)
        if (data || rank != group->rank)
            memcpy((char *)out + offsets[rank], world->told[rank], (size_t)(offsets[rank + 1] - offsets[rank]));
    return listened();
}

static dit_status world_barrier(void *opaque)
{
    (void)opaque;
    dit_sim_enter_wait();
    sg_barrier_wait(world->meeting);
    dit_sim_leave();
    dit_sim_synchronise();
    return DIT_OK;
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
    .barrier = world_barrier,
    .all_gather_varying = world_all_gather_varying,
};
