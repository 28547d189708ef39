#include "engine/sim/comm.h"

#include <mpi.h>
#include <simgrid/barrier.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <string.h>

/* Where all messages of all ranks are said to lie: mapped as it is needed, never read. */
struct dit_sim_buffer {
    void *at;
    int64_t bytes;
};

/* What all ranks see. */
struct dit_sim_world {
    sg_bar_t meeting;
    const void *told[]; /* [ranks] where each has put what it tells the others */
};

struct sim_group;

enum { GATHER_PARTS = 64 };

/* Issued messages of two neighbours. */
typedef struct {
    struct sim_group *group;
    int to, from;
    int64_t bytes;
    dit_comm_exchange *exchange;
} sim_exchange;

/* A group of MPI's. */
typedef struct sim_group {
    dit_sim *sim;
    struct dit_sim_buffer *buffer;
    struct dit_sim_world *world;
    const dit_comm_ops *messages; /* MPI, or who stands for it */
    void *mpi;                    /* its group                 */
    int rank, size;
    int *ranks;           /* of the world; NULL: the world itself                                           */
    dit_cost_group links; /* ranks 0: not asked for yet                                                     */
    sg_bar_t meeting;     /* where all ranks of the group wait for each other; NULL: there is one rank      */
    dit_sim_ring ring;
    sim_exchange put_off; /* the exchange that dit_sim_put_off was told of last                             */
    double free_s;        /* when gathers that were begun are done: a library runs them one after the other */
    dit_comm_exchange part[GATHER_PARTS]; /* of the gather of a ring that is under way                          */
    int parts;
} sim_group;

/* The links of a group that never talks are not looked up. */
static const dit_cost_group *links_of(sim_group *group)
{
    if (!group->links.ranks)
        group->links = dit_sim_links_group(dit_sim_get_links(group->sim), group->ranks, group->size);
    return &group->links;
}

static double enter(sim_group *group, dit_cost_collective collective, double bytes, bool beside)
{
    if (group->size > 1) (void)dit_sim_issue(group->sim);
    return dit_sim_enter(group->sim, links_of(group), collective, bytes, beside);
}

/* Memory of at least `bytes` bytes that messages come from and go to; NULL where they lie nowhere. Never given back:
 * messages may be under way that say they lie there. */
static void *buffer_of(const sim_group *group, int64_t bytes)
{
    const int64_t least = INT64_C(1) << 22;
    struct dit_sim_buffer *buffer = group->buffer;
    if (!buffer) return NULL;
    if (bytes <= buffer->bytes) return buffer->at;
    buffer->bytes = bytes > least ? bytes : least;
    buffer->at = SMPI_SHARED_MALLOC((size_t)buffer->bytes);
    return buffer->at;
}

/* In parts below 2 GiB: of larger messages SMPI copies what they carry, which is nothing. */
static dit_status exchange_blocks(sim_group *group, int64_t block_bytes)
{
    const int64_t most = INT64_C(1) << 30;
    void *buffer = buffer_of(group, (block_bytes < most ? block_bytes : most) * group->size);
    do {
        DIT_TRY(group->messages->all_to_all(group->mpi, buffer, buffer, block_bytes < most ? block_bytes : most));
        block_bytes -= most;
    } while (block_bytes > 0);
    return DIT_OK;
}

static dit_status simulated_all_to_all(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    sim_group *group = opaque;
    (void)send, (void)recv;
    if (!dit_sim_batch(group->sim, &block_bytes)) return DIT_OK;
    if (group->size > 1) dit_sim_knows_links(group->sim, false, links_of(group));
    dit_sim_copy(group->sim, group->size - 1, (double)(block_bytes * group->size)); /* the own block is copied, too */
    int64_t elements = block_bytes * group->size / (int64_t)sizeof(float);
    dit_sim_charge(group->sim, &(dit_cost_op){.kind = DIT_COST_OP_EXCHANGE, .elements = elements});
    double stretch = enter(group, DIT_COST_ALL_TO_ALL, (double)(block_bytes * (group->size - 1)), false);
    DIT_TRY(exchange_blocks(group, dit_sim_wire(group->sim, block_bytes, stretch)));
    dit_sim_leave(group->sim);
    return DIT_OK;
}

/* Stands for a ring of messages: one message from every rank to the next, of all `passed_bytes` that pass there. A ring
 * of one rank sends nothing. */
static dit_status pass_on(sim_group *group, double passed_bytes, double stretch, dit_comm_exchange *out)
{
    int next = (group->rank + 1) % group->size, last = (group->rank + group->size - 1) % group->size;
    int64_t wire = dit_sim_wire(group->sim, (int64_t)passed_bytes, stretch);
    void *buffer = buffer_of(group, wire);
    if (group->size == 1) next = last = DIT_COMM_NOBODY;
    return group->messages->exchange_begin(group->mpi, buffer, next, buffer, last, wire, out);
}

/* A collective of `bytes`, as NCCL counts them, in which each rank needs something of every other: no rank gets on
 * before all have come. */
static dit_status pass_round(sim_group *group, dit_cost_collective collective, double bytes)
{
    double rounds = collective == DIT_COST_ALL_REDUCE ? 2 : 1, share = (group->size - 1.0) / group->size;
    dit_comm_exchange exchange;
    dit_sim_copy(group->sim, group->size - 1, bytes);
    double stretch = enter(group, collective, bytes, false);
    if (group->size > 1 && group->meeting) sg_barrier_wait(group->meeting);
    DIT_TRY(pass_on(group, rounds * share * bytes, stretch, &exchange));
    DIT_TRY(group->messages->exchange_wait(group->mpi, &exchange));
    dit_sim_leave(group->sim);
    return DIT_OK;
}

static dit_status simulated_all_gather(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    sim_group *group = opaque;
    (void)send, (void)recv;
    if (!dit_sim_batch(group->sim, &block_bytes)) return DIT_OK;
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
    if (dit_sim_get_links(group->sim)->shares_memory) {
        DIT_TRY(simulated_all_to_all(group, args->values, args->out, bytes));
        args->add(args->context, args->out, group->size, part, args->values);
        return simulated_all_gather(group, args->values, args->out, bytes);
    }
    dit_sim_set_free_of_charge(group->sim, true);
    args->add(args->context, args->out, group->size, part, args->values);
    dit_sim_set_free_of_charge(group->sim, false);
    return pass_round(group, DIT_COST_ALL_REDUCE, (double)args->bytes);
}

/* A rank that sends to the next one and receives from the one before makes a hop of a ring. A library sends keys and
 * values of a hop as two messages. */
enum { KEYS_AND_VALUES = 2 };
static bool goes_around(const sim_exchange *e)
{
    int size = e->group->size, rank = e->group->rank;
    return size > 1 && e->to == (rank + 1) % size && e->from == (rank + size - 1) % size;
}

/* PyTorch gives a pair of ranks a communicator of its own for messages one way; messages both ways at once are a batch
 * of the group's communicator. */
static double enter_exchange(const sim_exchange *e)
{
    bool sends = e->to != DIT_COMM_NOBODY, batch = sends && e->from != DIT_COMM_NOBODY;
    dit_cost_group links = *links_of(e->group);
    if (!batch) links.ranks = links.ranks < 2 ? links.ranks : 2;
    if (goes_around(e)) links.tensors = KEYS_AND_VALUES;
    return dit_sim_enter(e->group->sim, &links, DIT_COST_SEND_RECV, (double)e->bytes, sends);
}

static dit_status start_exchange(void *context)
{
    const sim_exchange *e = context;
    double stretch = enter_exchange(e);
    int64_t wire = dit_sim_wire(e->group->sim, e->bytes, stretch);
    void *buffer = buffer_of(e->group, wire);
    DIT_TRY(e->group->messages->exchange_begin(e->group->mpi, buffer, e->to, buffer, e->from, wire, e->exchange));
    dit_sim_leave(e->group->sim);
    return DIT_OK;
}

/* dit_comm_exchange.ends_s of a hop that is left out. Otherwise it is SimGrid's time before which the library is not
 * done; 0: it is done with the messages. */
static const double LEFT_OUT = -1;
/* And of a hop whose block has come with the others'. */
static const double GATHERED = -2;

/* Begins the message of a gathered ring in parts, because SMPI copies what larger ones carry. */
static dit_status begin_parts(sim_group *group, int64_t wire)
{
    const int64_t most = INT64_C(1) << 30;
    int next = (group->rank + 1) % group->size, last = (group->rank + group->size - 1) % group->size;
    int64_t wanted = (wire + most - 1) / most;
    int parts = (int)(wanted < 1 ? 1 : wanted < GATHER_PARTS ? wanted : GATHER_PARTS);
    int64_t part = (wire / parts + 3) / 4 * 4;
    void *buffer = buffer_of(group, part);
    for (group->parts = 0; group->parts < parts; group->parts++)
        DIT_TRY(
            group->messages->exchange_begin(group->mpi, buffer, next, buffer, last, part, &group->part[group->parts]));
    return DIT_OK;
}

/* A ring whose first hop gathers the blocks of all ranks. */
static dit_status gather_ring(sim_group *group, int64_t bytes, dit_comm_exchange *out)
{
    double all = (double)bytes * group->size;
    out->ends_s = GATHERED;
    if (!dit_sim_hops_first(&group->ring, group->size - 1)) return DIT_OK;
    double stretch = enter(group, DIT_COST_ALL_GATHER, all, true);
    DIT_TRY(begin_parts(group, dit_sim_wire(group->sim, (int64_t)(all - (double)bytes), stretch)));
    group->free_s = dit_sim_done_after(group->sim, group->free_s);
    dit_sim_leave(group->sim);
    return DIT_OK;
}

/* The first wait of a gathered ring is for all of its blocks. */
static dit_status wait_for_ring(sim_group *group)
{
    if (!group->parts) return DIT_OK;
    DIT_TRY(dit_sim_start_put_off(group->sim));
    dit_sim_enter_wait(group->sim);
    for (int i = 0; i < group->parts; i++) DIT_TRY(group->messages->exchange_wait(group->mpi, &group->part[i]));
    group->parts = 0;
    dit_sim_not_before(group->sim, group->free_s);
    dit_sim_leave(group->sim);
    return DIT_OK;
}

static dit_status simulated_exchange_begin(void *opaque, const void *send, int to, void *recv, int from, int64_t bytes,
                                           dit_comm_exchange *out)
{
    sim_group *group = opaque;
    int ends = (to != DIT_COMM_NOBODY) + (from != DIT_COMM_NOBODY);
    sim_exchange e = {.group = group, .to = to, .from = from, .bytes = bytes, .exchange = out};
    (void)send, (void)recv;
    DIT_TRY(dit_sim_start_put_off(group->sim));
    if (goes_around(&e)) dit_sim_knows_links(group->sim, true, links_of(group));
    if (goes_around(&e) && dit_sim_gathers_ring(group->sim)) return gather_ring(group, bytes, out);
    dit_sim_copy(group->sim, ends > 0, 0.5 * ends * (double)bytes); /* what was measured sends and receives */
    bool late = dit_sim_issue(group->sim);
    out->ends_s = 0;
    if (goes_around(&e) && dit_sim_hops_next(dit_sim_get_hops(group->sim), &group->ring, group->size - 1)) {
        dit_cost_group links = *links_of(group);
        links.tensors = KEYS_AND_VALUES;
        if (!late) dit_sim_pass_over(group->sim, &links, (double)bytes);
        out->ends_s = LEFT_OUT;
        return DIT_OK;
    }
    if (!late || ends < 2) return start_exchange(&e);
    group->put_off = e;
    dit_sim_put_off(group->sim, start_exchange, &group->put_off);
    return DIT_OK;
}

/* No rank waits for all others here: a late one is late for the next of the ring alone. The gathers of a group are
 * kernels of one stream, so each takes its time after the one before. */
static dit_status simulated_all_gather_begin(void *opaque, const void *send, void *recv, int64_t block_bytes,
                                             dit_comm_exchange *out)
{
    sim_group *group = opaque;
    double bytes = (double)block_bytes * group->size;
    (void)send, (void)recv;
    dit_sim_copy(group->sim, group->size - 1, bytes);
    double stretch = enter(group, DIT_COST_ALL_GATHER, bytes, true);
    DIT_TRY(pass_on(group, bytes - (double)block_bytes, stretch, out));
    out->ends_s = group->free_s = dit_sim_done_after(group->sim, group->free_s);
    dit_sim_leave(group->sim);
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
    if (exchange->ends_s == GATHERED) return wait_for_ring(group);
    if (exchange->ends_s == LEFT_OUT) {
        dit_sim_wait_until(group->sim, dit_sim_hops_due(&group->ring));
        return DIT_OK;
    }
    DIT_TRY(dit_sim_start_put_off(group->sim));
    dit_sim_enter_wait(group->sim);
    DIT_TRY(group->messages->exchange_wait(group->mpi, exchange));
    dit_sim_not_before(group->sim, exchange->ends_s);
    dit_sim_leave(group->sim);
    dit_sim_hops_arrived(dit_sim_get_hops(group->sim), &group->ring, dit_sim_device_now(group->sim));
    return DIT_OK;
}

static dit_status simulated_barrier(void *opaque)
{
    sim_group *group = opaque;
    dit_sim_enter_wait(group->sim);
    DIT_TRY(group->messages->barrier(group->mpi));
    dit_sim_leave(group->sim);
    dit_sim_synchronise(group->sim);
    return DIT_OK;
}

static void simulated_free(void *opaque)
{
    sim_group *group = opaque;
    if (!group) return;
    group->messages->free(group->mpi);
    free(group->ranks);
    free(group);
}
static int simulated_rank(void *opaque)
{
    const sim_group *group = opaque;
    return group->messages->rank(group->mpi);
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
static const char *name_library(void)
{
    return "SimGrid SMPI";
}
static void local(int *local_rank, int *local_size)
{
    *local_rank = 0, *local_size = 1;
}

/* The first rank of a group makes its meeting and sends the others the address, which is good in the one process of all
 * ranks. The meeting lives as long as the simulation. */
static dit_status meet(sim_group *group)
{
    dit_comm_exchange exchange;
    bool first = group->rank == 0;
    if (first) group->meeting = sg_barrier_init((unsigned)group->size);
    for (int rank = 1; rank < group->size; rank++) {
        if (!first && rank != group->rank) continue;
        DIT_TRY(group->messages->exchange_begin(group->mpi, &group->meeting, first ? rank : DIT_COMM_NOBODY,
                                                &group->meeting, first ? DIT_COMM_NOBODY : 0,
                                                (int64_t)sizeof group->meeting, &exchange));
        DIT_TRY(group->messages->exchange_wait(group->mpi, &exchange));
    }
    return DIT_OK;
}

static dit_status fill(const dit_sim_library *of, sim_group *group, const int *ranks, int size)
{
    DIT_TRY(group->messages->create(of->messages_library, ranks, size, &group->mpi));
    group->size = group->messages->size(group->mpi);
    group->rank = group->messages->rank(group->mpi);
    if (!ranks) return DIT_OK;
    group->ranks = calloc((size_t)size, sizeof *ranks);
    if (!group->ranks) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    memcpy(group->ranks, ranks, (size_t)size * sizeof *ranks);
    return of->messages ? DIT_OK : meet(group);
}

static dit_status create(void *library, const int *ranks, int size, void **out)
{
    const dit_sim_library *of = library;
    sim_group *group = calloc(1, sizeof *group);
    *out = group;
    if (!group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    group->sim = of->sim, group->buffer = of->buffer, group->world = of->world;
    group->messages = of->messages ? of->messages : &dit_comm_mpi;
    dit_status st = fill(of, group, ranks, size);
    if (st == DIT_OK) return DIT_OK;
    simulated_free(group);
    *out = NULL;
    return st;
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

static dit_status start(void *opaque, int *argc, char ***argv)
{
    dit_sim_library *library = opaque;
    struct dit_sim_world *world;
    int ranks;
    DIT_TRY(dit_comm_mpi.start(NULL, argc, argv));
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    dit_sim_set_clock(library->sim);
    DIT_TRY(dit_sim_shared((int64_t)sizeof *library->buffer, (void **)&library->buffer));
    DIT_TRY(dit_sim_shared((int64_t)sizeof *world + ranks * (int64_t)sizeof *world->told, (void **)&world));
    if (!world->meeting) world->meeting = sg_barrier_init((unsigned)ranks);
    library->world = world;
    return DIT_OK;
}

/* Returns when every rank has told. */
static void tell(const sim_group *group, const void *what)
{
    group->world->told[group->rank] = what;
    sg_barrier_wait(group->world->meeting);
}
/* Returns when every rank has listened: only then may a rank tell something else. */
static dit_status listened(const sim_group *group)
{
    sg_barrier_wait(group->world->meeting);
    return DIT_OK;
}

static dit_status world_all_to_all(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    const sim_group *group = opaque;
    tell(group, send);
    for (int rank = 0; rank < group->size; rank++)
        memcpy((char *)recv + rank * block_bytes, (const char *)group->world->told[rank] + group->rank * block_bytes,
               (size_t)block_bytes);
    return listened(group);
}

static dit_status world_all_gather(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    const sim_group *group = opaque;
    tell(group, send);
    for (int rank = 0; rank < group->size; rank++)
        memcpy((char *)recv + rank * block_bytes, group->world->told[rank], (size_t)block_bytes);
    return listened(group);
}

static dit_status world_all_gather_varying(void *opaque, const void *data, int64_t bytes, void *out,
                                           const int64_t *offsets)
{
    const sim_group *group = opaque;
    (void)bytes;
    tell(group, data ? data : (const char *)out + offsets[group->rank]);
    for (int rank = 0; rank < group->size; rank++)
        if (data || rank != group->rank)
            memcpy((char *)out + offsets[rank], group->world->told[rank], (size_t)(offsets[rank + 1] - offsets[rank]));
    return listened(group);
}

static dit_status world_barrier(void *opaque)
{
    const sim_group *group = opaque;
    dit_sim_enter_wait(group->sim);
    sg_barrier_wait(group->world->meeting);
    dit_sim_leave(group->sim);
    dit_sim_synchronise(group->sim);
    return DIT_OK;
}

const dit_comm_ops dit_comm_simulated = {
    .name = "simulated",
    .groups = &groups,
    .start = start,
    .finish = finish,
    .abort = abort_all,
    .library = name_library,
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
