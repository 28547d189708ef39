#include "engine/comm/comm_impl.h"

#include "base/clock.h"
#include "base/mesh.h"
#include "base/words.h"
#include "engine/timing/position.h"
#include "engine/timing/timing.h"
#include "kernels/device.h"

#include <stdlib.h>
#include <string.h>

/* Every communicator implementation that can be named. */
static const dit_comm_ops *const implementations[] = {&dit_comm_mpi};
enum { IMPLEMENTATION_COUNT = sizeof implementations / sizeof *implementations };

struct dit_comm {
    const dit_comm_ops *ops; /* for arrays                                          */
    void *group;
    const dit_comm_ops *host_ops; /* for host memory; `ops` itself without a device  */
    void *host_group;
    dit_device *device; /* NULL: arrays lie in host memory */
    dit_comm_base base; /* for a device's group            */
    dit_timing *timing; /* NULL: the host's clock          */
    int rank, size;
    int *ranks;       /* [size] ranks in the world; NULL: this is the world */
    int64_t *offsets; /* [size + 1], scratch; NULL: the world               */
    dit_axis axis;
    dit_phase phase;
    dit_comm_counters *counters; /* NULL: uncounted (the world) */
    dit_trace *trace;            /* NULL: off                   */
};

static const dit_comm_ops *current;
static void *current_library; /* of `current` */
static dit_comm world;
static int world_local_rank, world_local_size; /* size 0: not known yet */

dit_status dit_comm_start_with(const dit_comm_ops *ops, void *library, int *argc, char ***argv)
{
    current = ops, current_library = library;
    DIT_TRY(ops->start(library, argc, argv));
    world = (dit_comm){.ops = ops, .axis = DIT_AXIS_WORLD};
    DIT_TRY(ops->create(library, NULL, 0, &world.group));
    world.host_ops = ops, world.host_group = world.group;
    world.rank = ops->rank(world.group);
    world.size = ops->size(world.group);
    return DIT_OK;
}

dit_status dit_comm_start(const char *implementation, int *argc, char ***argv)
{
    const char *names[IMPLEMENTATION_COUNT + 1] = {NULL};
    for (int i = 0; i < IMPLEMENTATION_COUNT; i++) {
        names[i] = implementations[i]->name;
        if (strcmp(names[i], implementation) == 0) return dit_comm_start_with(implementations[i], NULL, argc, argv);
    }
    return dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no communicator \"%s\"", implementation),
                          implementation, names);
}

void dit_comm_finish(void)
{
    if (!current) return;
    current->free(world.group);
    current->finish();
    current = NULL;
}

void dit_comm_abort(int exit_code)
{
    if (current) current->abort(exit_code);
    _Exit(exit_code);
}

const char *dit_comm_library(void)
{
    return current ? current->library() : "none";
}
dit_comm *dit_comm_world(void)
{
    return &world;
}
int dit_comm_rank(const dit_comm *comm)
{
    return comm->rank;
}
int dit_comm_size(const dit_comm *comm)
{
    return comm->size;
}
void dit_comm_local(int *local_rank, int *local_size)
{
    if (!world_local_size) current->local(&world_local_rank, &world_local_size);
    *local_rank = world_local_rank;
    *local_size = world_local_size;
}
void dit_comm_set_phase(dit_comm *comm, dit_phase phase)
{
    comm->phase = phase;
}

void dit_comm_set_trace(dit_comm *comm, dit_trace *trace)
{
    if (comm) comm->trace = trace;
}

dit_status dit_comm_create(const dit_parallel *parallel, dit_axis axis, dit_comm_counters *counters, dit_comm **out)
{
    int size = dit_parallel_world_size(parallel);
    int *ranks = calloc((size_t)size, sizeof *ranks);
    int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
    dit_comm *comm = calloc(1, sizeof *comm);
    dit_status st =
        ranks && comm && offsets ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator of %d", size);
    *out = NULL;
    if (st == DIT_OK) {
        size = dit_mesh_group(parallel, world.rank, axis, ranks);
        st = current->create(current_library, ranks, size, &comm->group);
    }
    if (st != DIT_OK) {
        free(ranks);
        free(offsets);
        free(comm);
        return st;
    }
    *comm = (dit_comm){.ops = current->groups ? current->groups : current,
                       .group = comm->group,
                       .host_ops = current,
                       .host_group = comm->group,
                       .ranks = ranks,
                       .offsets = offsets,
                       .axis = axis,
                       .counters = counters,
                       .size = size};
    comm->rank = current->rank(comm->group);
    *out = comm;
    return DIT_OK;
}

dit_status dit_comm_create_counting(const dit_parallel *parallel, int rank, dit_axis axis, dit_comm_counters *counters,
                                    dit_comm **out)
{
    int size = dit_parallel_degree(parallel, axis), own = 0;
    *out = NULL;
    int *ranks = calloc((size_t)dit_parallel_world_size(parallel), sizeof *ranks);
    dit_comm *comm = calloc(1, sizeof *comm);
    if (!comm || !ranks) {
        free(ranks);
        free(comm);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator of %d", size);
    }
    dit_mesh_group(parallel, rank, axis, ranks);
    while (own < size - 1 && ranks[own] != rank) own++;
    free(ranks);
    *comm = (dit_comm){.ops = &dit_comm_count, .rank = own, .size = size, .axis = axis, .counters = counters};
    dit_status st = dit_comm_count_group(comm->rank, size, &comm->group);
    comm->host_ops = comm->ops, comm->host_group = comm->group;
    if (st != DIT_OK)
        free(comm);
    else
        *out = comm;
    return st;
}

void dit_comm_free(dit_comm *comm)
{
    if (!comm) return;
    if (comm->group != comm->host_group) comm->ops->free(comm->group);
    comm->host_ops->free(comm->host_group);
    free(comm->ranks);
    free(comm->offsets);
    free(comm);
}

/* ---- what holds the thread up ------------------------------------------------------------------------------------ */

/* Notes that the rank's thread waits for every other rank of the group, to send and to receive `bytes` bytes. */
static void wait_for_all(const dit_comm *comm, const char *what, int64_t bytes)
{
    dit_position_wait_begin(&(dit_position_wait){.collective = what,
                                                 .axis = dit_axis_name(comm->axis),
                                                 .ranks = comm->ranks,
                                                 .size = comm->size,
                                                 .own = comm->rank,
                                                 .from = DIT_POSITION_EVERYBODY,
                                                 .to = DIT_POSITION_NOBODY,
                                                 .received_bytes = bytes,
                                                 .began_ns = dit_clock_ns()});
}

static void wait_for_exchange(const dit_comm *comm, const dit_comm_exchange *exchange)
{
    dit_position_wait_begin(&(dit_position_wait){.collective = dit_collective_name(DIT_COLLECTIVE_SEND_RECV),
                                                 .axis = dit_axis_name(comm->axis),
                                                 .ranks = comm->ranks,
                                                 .size = comm->size,
                                                 .own = comm->rank,
                                                 .from = exchange->from,
                                                 .to = exchange->to,
                                                 .received_bytes = exchange->received_bytes,
                                                 .sent_bytes = exchange->bytes,
                                                 .began_ns = dit_clock_ns()});
}

/* Notes that the wait has ended. Returns st. */
static dit_status waited(dit_status st)
{
    dit_position_wait_end();
    return st;
}

/* ---- groups of a device ------------------------------------------------------------------------------------------ */

/* Finds NCCL, which needs a GPU for each rank. NULL: it cannot be used here, with the reason in dit_error_last(). */
static const dit_comm_ops *find_nccl(const dit_device *device)
{
    const char *name = dit_device_name(device);
    const dit_comm_ops *nccl = dit_device_symbol(name, "dit_comm_nccl");
    int local_rank, local_size, devices = dit_device_count(name);
    dit_comm_local(&local_rank, &local_size);
    if (nccl && local_size <= devices) return nccl;
    if (!nccl)
        (void)DIT_FAIL(DIT_ERR_ENVIRONMENT, "device %s has no NCCL", name);
    else
        (void)DIT_FAIL(DIT_ERR_ENVIRONMENT, "NCCL needs a device for each rank: %d ranks share %d here", local_size,
                       devices);
    return NULL;
}

/* *out is true if `own` is true on every rank of the group. Collective over the group. */
static dit_status agree(const dit_comm *comm, bool own, bool *out)
{
    int64_t said = own, *all = calloc((size_t)comm->size, sizeof *all);
    if (!all) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator of %d", comm->size);
    dit_status st = comm->host_ops->all_gather(comm->host_group, &said, all, (int64_t)sizeof said);
    *out = true;
    for (int i = 0; i < comm->size; i++) *out = *out && all[i];
    free(all);
    return st;
}

/* Chooses what moves arrays between the devices of several ranks. */
static dit_status choose_transport(const dit_comm *comm, const dit_device *device, const dit_comm_ops **out)
{
    const char *asked = getenv("DITBENCH_DEVICE_COMM");
    bool want_staged = asked && strcmp(asked, "staged") == 0, want_nccl = asked && strcmp(asked, "nccl") == 0;
    bool all = false;
    if (asked && *asked && !want_staged && !want_nccl)
        return DIT_FAIL(DIT_ERR_USAGE, "DITBENCH_DEVICE_COMM is '%s', which is neither nccl nor staged", asked);
    const dit_comm_ops *nccl = want_staged ? NULL : find_nccl(device);
    if (want_nccl && !nccl) return dit_error_last()->status;
    dit_error_clear();
    DIT_TRY(agree(comm, nccl != NULL, &all));
    *out = all ? nccl : &dit_comm_staged;
    return DIT_OK;
}

dit_status dit_comm_set_device(dit_comm *comm, dit_device *device, dit_timing *timing)
{
    const dit_comm_ops *ops = &dit_comm_alone;
    void *group;
    comm->timing = timing;
    comm->device = device;
    if (!device) return DIT_OK;
    comm->base = (dit_comm_base){.host_ops = comm->host_ops,
                                 .host_group = comm->host_group,
                                 .device = device,
                                 .axis = dit_axis_name(comm->axis),
                                 .rank = comm->rank,
                                 .size = comm->size};
    if (comm->size > 1) DIT_TRY(choose_transport(comm, device, &ops));
    DIT_TRY(ops->create_over(&comm->base, &group));
    comm->ops = ops;
    comm->group = group;
    return DIT_OK;
}

const char *dit_comm_transport(const dit_comm *comm)
{
    return comm->size == 1 ? "none" : comm->ops->library ? comm->ops->library() : comm->ops->name;
}

bool dit_comm_recordable(const dit_comm *comm)
{
    return comm->ops->recordable;
}

dit_status dit_comm_open_links(dit_comm *comm, const int *to, int to_count, const int *from, int from_count)
{
    dit_link *links;
    if (!comm->ops->open_links) return DIT_OK;
    links = calloc((size_t)(to_count + from_count) + 1, sizeof *links);
    if (!links) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d links", to_count + from_count);
    for (int i = 0; i < to_count; i++) links[i] = (dit_link){.from = comm->rank, .to = to[i]};
    for (int i = 0; i < from_count; i++) links[to_count + i] = (dit_link){.from = from[i], .to = comm->rank};
    wait_for_all(comm, "links", 0);
    dit_status st = waited(comm->ops->open_links(comm->group, links, dit_schedule_links(links, to_count + from_count)));
    free(links);
    return st;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static void record(dit_comm *comm, dit_trace_category category, dit_collective collective, int64_t bytes, int64_t began,
                   int64_t ended)
{
    dit_trace_event event = {.name = dit_collective_name(collective),
                             .axis = dit_axis_name(comm->axis),
                             .category = category,
                             .bytes = bytes,
                             .begin_ns = began,
                             .end_ns = ended};
    dit_timing_record(comm->timing, comm->trace, &event);
}

/* Counts messages, and the time from `began` to now in which the call held up the computation. Returns now. */
static int64_t count(dit_comm *comm, dit_collective collective, int64_t messages, int64_t bytes_each, int64_t began)
{
    int64_t ended = dit_timing_now(comm->timing);
    if (!comm->counters) return ended;
    dit_comm_counter *counter = &comm->counters->at[comm->axis][collective][comm->phase];
    counter->messages += messages;
    counter->bytes += messages * bytes_each;
    dit_timing_add(comm->timing, began, ended, &counter->time_ns);
    if (comm->trace) record(comm, DIT_TRACE_WAIT, collective, 0, began, ended);
    return ended;
}

/* Counts the span of a transfer that began at `began` and is complete. */
static void count_span(dit_comm *comm, dit_collective collective, int64_t bytes, int64_t began, int64_t ended)
{
    if (!comm->counters) return;
    dit_timing_add(comm->timing, began, ended, &comm->counters->at[comm->axis][collective][comm->phase].span_ns);
    if (comm->trace) record(comm, DIT_TRACE_COMMUNICATION, collective, bytes, began, ended);
}

/* Counts a collective, whose whole span was waiting. */
static void count_blocking(dit_comm *comm, dit_collective collective, int64_t bytes_each, int64_t began)
{
    int64_t messages = comm->size - 1, ended = count(comm, collective, messages, bytes_each, began);
    count_span(comm, collective, messages * bytes_each, began, ended);
}

/* Counts messages whose time was taken on the host's clock. */
static void count_on_host(dit_comm *comm, dit_collective collective, int64_t messages, int64_t bytes_each,
                          int64_t began_ns)
{
    int64_t ended_ns = dit_clock_ns();
    if (!comm->counters) return;
    dit_comm_counter *counter = &comm->counters->at[comm->axis][collective][comm->phase];
    counter->messages += messages;
    counter->bytes += messages * bytes_each;
    counter->time_ns += ended_ns - began_ns;
    counter->span_ns += ended_ns - began_ns;
    if (!comm->trace || comm->device) return;
    record(comm, DIT_TRACE_WAIT, collective, 0, began_ns, ended_ns);
    record(comm, DIT_TRACE_COMMUNICATION, collective, messages * bytes_each, began_ns, ended_ns);
}

/* ---- arrays of a device ------------------------------------------------------------------------------------------ */

/* Where a piece of an array lies, and how many bytes it has there. */
typedef struct {
    void *data;
    int64_t bytes;
    dit_dtype dtype;
} piece;

/* Finds the piece of `bytes` bytes of addresses from `address` on. */
static dit_status find_piece(const dit_comm *comm, const void *address, int64_t bytes, piece *out)
{
    dit_location location;
    *out = (piece){(void *)address, bytes, DIT_DTYPE_FP32};
    if (!comm->device) return DIT_OK;
    if (!bytes) return DIT_OK; /* the pointer is never used */
    if (!dit_address_map_find(dit_device_address_map(comm->device), address, &location))
        return DIT_FAIL(DIT_ERR_INTERNAL, "%s: a message's address belongs to no array of the device",
                        dit_axis_name(comm->axis));
    int64_t unit = location.dtype == DIT_DTYPE_FP64 ? 8 : 4, elements = bytes / unit;
    if (bytes % unit || elements > location.left)
        return DIT_FAIL(DIT_ERR_INTERNAL, "%s: a message has %lld bytes, but its array only %lld elements more",
                        dit_axis_name(comm->axis), (long long)bytes, (long long)location.left);
    *out = (piece){location.data, elements * dit_dtype_bytes(location.dtype), location.dtype};
    return DIT_OK;
}

/* Finds both ends of a message, whose dtypes must agree. NULL: there is no such end. */
static dit_status find_ends(const dit_comm *comm, const void *from, const void *to, int64_t bytes, piece *out_from,
                            piece *out_to)
{
    *out_from = (piece){(void *)from, comm->device ? 0 : bytes, DIT_DTYPE_FP32};
    *out_to = (piece){(void *)to, comm->device ? 0 : bytes, DIT_DTYPE_FP32};
    if (!comm->device) return DIT_OK;
    if (from) DIT_TRY(find_piece(comm, from, bytes, out_from));
    if (to) DIT_TRY(find_piece(comm, to, bytes, out_to));
    if (from && to && out_from->bytes != out_to->bytes)
        return DIT_FAIL(DIT_ERR_INTERNAL, "%s: the two arrays of a message differ in dtype", dit_axis_name(comm->axis));
    return DIT_OK;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

dit_status dit_comm_all_to_all(dit_comm *comm, const void *send, void *recv, int64_t block_bytes)
{
    int64_t began = dit_timing_now(comm->timing);
    piece from, to;
    DIT_TRY(find_ends(comm, send, recv, block_bytes, &from, &to));
    wait_for_all(comm, dit_collective_name(DIT_COLLECTIVE_ALL_TO_ALL), (comm->size - 1) * from.bytes);
    DIT_TRY(waited(comm->ops->all_to_all(comm->group, from.data, to.data, from.bytes)));
    count_blocking(comm, DIT_COLLECTIVE_ALL_TO_ALL, from.bytes, began);
    return DIT_OK;
}

static dit_status gather(dit_comm *comm, dit_collective collective, const void *send, void *recv, int64_t block_bytes)
{
    int64_t began = dit_timing_now(comm->timing);
    piece from, to;
    DIT_TRY(find_ends(comm, send, recv, block_bytes, &from, &to));
    wait_for_all(comm, dit_collective_name(collective), (comm->size - 1) * from.bytes);
    DIT_TRY(waited(comm->ops->all_gather(comm->group, from.data, to.data, from.bytes)));
    count_blocking(comm, collective, from.bytes, began);
    return DIT_OK;
}

dit_status dit_comm_all_gather(dit_comm *comm, const void *send, void *recv, int64_t block_bytes)
{
    return gather(comm, DIT_COLLECTIVE_ALL_GATHER, send, recv, block_bytes);
}

dit_status dit_comm_gather_terms(dit_comm *comm, const double *values, int64_t elements, double *gathered)
{
    return gather(comm, DIT_COLLECTIVE_ALL_REDUCE, values, gathered, elements * (int64_t)sizeof *values);
}

dit_status dit_comm_all_gather_pieces(dit_comm *comm, void *data, const int64_t *offsets)
{
    int64_t began = dit_timing_now(comm->timing), all = offsets[comm->size];
    piece whole;
    DIT_TRY(find_piece(comm, data, all, &whole));
    int64_t scale = whole.bytes ? all / whole.bytes : 1; /* bytes of addresses per byte on the device */
    for (int i = 0; i <= comm->size; i++) comm->offsets[i] = offsets[i] / scale;
    int64_t bytes = comm->offsets[comm->rank + 1] - comm->offsets[comm->rank];
    wait_for_all(comm, dit_collective_name(DIT_COLLECTIVE_ALL_GATHER), whole.bytes - bytes);
    DIT_TRY(waited(comm->ops->all_gather_varying(comm->group, NULL, bytes, whole.data, comm->offsets)));
    count_blocking(comm, DIT_COLLECTIVE_ALL_GATHER, bytes, began);
    return DIT_OK;
}

dit_status dit_comm_all_reduce(dit_comm *comm, double *values, int64_t elements, double *gathered)
{
    int64_t began = dit_clock_ns(), bytes = elements * (int64_t)sizeof *values;
    wait_for_all(comm, dit_collective_name(DIT_COLLECTIVE_ALL_REDUCE), (comm->size - 1) * bytes);
    DIT_TRY(waited(comm->host_ops->all_gather(comm->host_group, values, gathered, bytes)));
    for (int64_t i = 0; i < elements; i++) {
        values[i] = gathered[i];
        for (int rank = 1; rank < comm->size; rank++) values[i] += gathered[rank * elements + i];
    }
    count_on_host(comm, DIT_COLLECTIVE_ALL_REDUCE, comm->size - 1, bytes, began);
    return DIT_OK;
}

/* Sums in two halves: sends each part to the rank that adds it, then the sums to all. `add` takes addresses. */
static dit_status sum_halves(dit_comm *comm, float *values, float *out, const piece *from, const piece *to,
                             int64_t part, dit_comm_add add, void *context)
{
    int64_t bytes = from->bytes / comm->size;
    DIT_TRY(waited(comm->ops->all_to_all(comm->group, from->data, to->data, bytes)));
    add(context, out, comm->size, part, values);
    wait_for_all(comm, dit_collective_name(DIT_COLLECTIVE_ALL_REDUCE), (comm->size - 1) * bytes);
    return waited(comm->ops->all_gather(comm->group, from->data, to->data, bytes));
}

dit_status dit_comm_sum(dit_comm *comm, float *values, int64_t elements, float *out, dit_comm_add add, void *context)
{
    int64_t began = dit_timing_now(comm->timing), part = elements / comm->size;
    piece from, to;
    DIT_TRY(find_ends(comm, values, out, elements * (int64_t)sizeof *values, &from, &to));
    int64_t bytes = from.bytes / comm->size;
    wait_for_all(comm, dit_collective_name(DIT_COLLECTIVE_ALL_REDUCE), (comm->size - 1) * bytes);
    if (comm->ops->sum)
        DIT_TRY(waited(comm->ops->sum(comm->group, &(dit_comm_sum_args){.values = from.data,
                                                                        .out = to.data,
                                                                        .elements = elements,
                                                                        .bytes = from.bytes,
                                                                        .dtype = from.dtype,
                                                                        .add = add,
                                                                        .context = context})));
    else
        DIT_TRY(sum_halves(comm, values, out, &from, &to, part, add, context));
    int64_t messages = 2 * (comm->size - 1), ended = count(comm, DIT_COLLECTIVE_ALL_REDUCE, messages, bytes, began);
    count_span(comm, DIT_COLLECTIVE_ALL_REDUCE, messages * bytes, began, ended);
    return DIT_OK;
}

dit_status dit_comm_reduce(dit_comm *comm, const float *send, float *recv, int64_t elements, bool scatter)
{
    piece from, to;
    int64_t bytes = elements * (int64_t)sizeof *send;
    if (!comm->ops->reduce) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s cannot reduce", comm->ops->name);
    if (scatter && elements % comm->size)
        return DIT_FAIL(DIT_ERR_INTERNAL, "%d ranks do not divide a sum of %lld elements", comm->size,
                        (long long)elements);
    DIT_TRY(find_piece(comm, send, bytes, &from));
    DIT_TRY(find_piece(comm, recv, scatter ? bytes / comm->size : bytes, &to));
    wait_for_all(comm, "reduce", bytes);
    return waited(comm->ops->reduce(
        comm->group,
        &(dit_comm_reduce_args){.send = from.data, .recv = to.data, .elements = elements, .scatter = scatter}));
}

/* Notes a transfer that is under way. */
static void begun(dit_comm *comm, dit_collective collective, int64_t messages, int64_t bytes_each, int64_t began,
                  dit_comm_exchange *exchange)
{
    exchange->collective = collective;
    exchange->began_ns = began;
    exchange->bytes = messages * bytes_each;
    count(comm, collective, messages, bytes_each, began);
}

dit_status dit_comm_exchange_begin(dit_comm *comm, const void *send, int to, void *recv, int from, int64_t bytes,
                                   dit_comm_exchange *out)
{
    int64_t began = dit_timing_now(comm->timing);
    piece leaves, arrives;
    DIT_TRY(find_ends(comm, to != DIT_COMM_NOBODY ? send : NULL, from != DIT_COMM_NOBODY ? recv : NULL, bytes, &leaves,
                      &arrives));
    bytes = leaves.bytes > arrives.bytes ? leaves.bytes : arrives.bytes;
    DIT_TRY(comm->ops->exchange_begin(comm->group, leaves.data, to, arrives.data, from, bytes, out));
    begun(comm, DIT_COLLECTIVE_SEND_RECV, to != DIT_COMM_NOBODY, bytes, began, out);
    out->received_bytes = from != DIT_COMM_NOBODY ? bytes : 0;
    out->to = to;
    out->from = from;
    return DIT_OK;
}

dit_status dit_comm_all_gather_begin(dit_comm *comm, const void *send, void *recv, int64_t block_bytes,
                                     dit_comm_exchange *out)
{
    int64_t began = dit_timing_now(comm->timing);
    piece from, to;
    DIT_TRY(find_ends(comm, send, recv, block_bytes, &from, &to));
    DIT_TRY(comm->ops->all_gather_begin(comm->group, from.data, to.data, from.bytes, out));
    begun(comm, DIT_COLLECTIVE_ALL_GATHER, comm->size - 1, from.bytes, began, out);
    return DIT_OK;
}

void dit_comm_exchange_poll(dit_comm *comm, dit_comm_exchange *exchange)
{
    if (!comm->ops->exchange_poll) return;
    int64_t began = dit_clock_ns();
    comm->ops->exchange_poll(comm->group, exchange);
    if (!comm->device) count(comm, exchange->collective, 0, 0, began); /* it does not hold up a device's queue */
}

dit_status dit_comm_exchange_wait(dit_comm *comm, dit_comm_exchange *exchange)
{
    int64_t began = dit_timing_now(comm->timing);
    if (exchange->collective == DIT_COLLECTIVE_SEND_RECV)
        wait_for_exchange(comm, exchange);
    else
        wait_for_all(comm, dit_collective_name(exchange->collective), exchange->bytes);
    DIT_TRY(waited(comm->ops->exchange_wait(comm->group, exchange)));
    int64_t ended = count(comm, exchange->collective, 0, 0, began);
    count_span(comm, exchange->collective, exchange->bytes, exchange->began_ns, ended);
    return DIT_OK;
}

dit_status dit_comm_barrier(dit_comm *comm)
{
    wait_for_all(comm, "barrier", 0);
    return waited(comm->host_ops->barrier(comm->host_group));
}

dit_status dit_comm_collect(dit_comm *comm, const void *data, int64_t bytes, char **out, int64_t *offsets)
{
    int64_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    dit_status st = sizes ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d sizes", comm->size);
    *out = NULL;
    wait_for_all(comm, "collect", 0);
    if (st == DIT_OK) st = comm->host_ops->all_gather(comm->host_group, &bytes, sizes, (int64_t)sizeof bytes);
    if (st == DIT_OK) {
        offsets[0] = 0;
        for (int i = 0; i < comm->size; i++) offsets[i + 1] = offsets[i] + sizes[i];
        *out = calloc(1, (size_t)offsets[comm->size] + 1);
        st = *out ? comm->host_ops->all_gather_varying(comm->host_group, data ? data : "", bytes, *out, offsets)
                  : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld collected bytes", (long long)offsets[comm->size]);
    }
    dit_position_wait_end();
    free(sizes);
    return st;
}

int64_t dit_comm_exposed_ns(const dit_comm_counters *counters)
{
    int64_t total = 0;
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        total += DIT_VOLUME_AT(counters, at)->time_ns;
    }
    return total;
}

void dit_comm_counters_add(dit_comm_counters *counters, const dit_comm_counters *more)
{
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        dit_comm_counter *sum = DIT_VOLUME_AT(counters, at);
        const dit_comm_counter *part = DIT_VOLUME_AT(more, at);
        sum->bytes += part->bytes, sum->messages += part->messages;
        sum->time_ns += part->time_ns, sum->span_ns += part->span_ns;
    }
}
