/* The communicator over MPI (Open MPI), for host memory. One thread calls MPI (MPI_THREAD_FUNNELED). */
#include "engine/comm/comm_impl.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    MPI_Comm comm;
    int *counts; /* [2][size]: counts and offsets of pieces of different lengths */
} mpi_group;

static dit_status translate(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return DIT_OK;
    MPI_Error_string(code, text, &length);
    return DIT_FAIL(DIT_ERR_MPI, "%s: %s", call, text);
}
#define MPI_TRY(function, ...) DIT_TRY(translate(function(__VA_ARGS__), #function))

static dit_status mpi_start(void *library, int *argc, char ***argv)
{
    int provided;
    (void)library;
    MPI_TRY(MPI_Init_thread, argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return DIT_OK;
}

static void mpi_finish(void)
{
    MPI_Finalize();
}
static void mpi_abort(int exit_code)
{
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

static const char *mpi_library(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0'; /* the rest names the build machine */
    return text;
}

static void mpi_local(int *local_rank, int *local_size)
{
    MPI_Comm node;
    *local_rank = 0;
    *local_size = 1;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS) return;
    MPI_Comm_rank(node, local_rank);
    MPI_Comm_size(node, local_size);
    MPI_Comm_free(&node);
}

static void mpi_free(void *opaque)
{
    mpi_group *group = opaque;
    if (!group) return;
    if (group->comm != MPI_COMM_WORLD) MPI_Comm_free(&group->comm);
    free(group->counts);
    free(group);
}

static int mpi_rank(void *group)
{
    int rank = 0;
    MPI_Comm_rank(((mpi_group *)group)->comm, &rank);
    return rank;
}

static int mpi_size(void *group)
{
    int size = 1;
    MPI_Comm_size(((mpi_group *)group)->comm, &size);
    return size;
}

/* Groups along an axis are disjoint and cover the world, so one split makes them all: the colour is the lowest member.
 */
static dit_status split_world(const int *ranks, int size, MPI_Comm *out)
{
    int rank, position = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < size; i++)
        if (ranks[i] == rank) position = i;
    MPI_TRY(MPI_Comm_split, MPI_COMM_WORLD, ranks[0], position, out);
    MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
    return DIT_OK;
}

static dit_status mpi_create(void *library, const int *ranks, int size, void **out)
{
    mpi_group *group = calloc(1, sizeof *group);
    (void)library;
    *out = group;
    if (!group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    group->comm = MPI_COMM_WORLD;
    dit_status st = ranks ? split_world(ranks, size, &group->comm) : DIT_OK;
    if (st == DIT_OK) group->counts = calloc((size_t)mpi_size(group) * 2, sizeof *group->counts);
    if (st == DIT_OK && !group->counts) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    if (st == DIT_OK) return DIT_OK;
    mpi_free(group);
    *out = NULL;
    return st;
}

/* MPI counts are int: large blocks travel as units of `unit` bytes. */
static dit_status unit_of(int64_t bytes, int64_t *count, MPI_Datatype *type)
{
    *type = bytes % (int64_t)sizeof(float) ? MPI_BYTE : MPI_FLOAT;
    *count = *type == MPI_FLOAT ? bytes / (int64_t)sizeof(float) : bytes;
    if (*count > INT32_MAX)
        return DIT_FAIL(DIT_ERR_MPI, "a message of %lld bytes exceeds MPI's int count", (long long)bytes);
    return DIT_OK;
}

static dit_status mpi_all_to_all(void *group, const void *send, void *recv, int64_t block_bytes)
{
    int64_t count;
    MPI_Datatype type;
    DIT_TRY(unit_of(block_bytes, &count, &type));
    MPI_TRY(MPI_Alltoall, send, (int)count, type, recv, (int)count, type, ((mpi_group *)group)->comm);
    return DIT_OK;
}

/* Returns MPI_IN_PLACE if the rank's block already lies in recv: MPI's buffers must not overlap. */
static const void *gathered_from(void *group, const void *send, const void *recv, int64_t block_bytes)
{
    const char *own = (const char *)recv + mpi_rank(group) * block_bytes;
    return send == own ? MPI_IN_PLACE : send;
}

static dit_status mpi_all_gather(void *group, const void *send, void *recv, int64_t block_bytes)
{
    const void *source = gathered_from(group, send, recv, block_bytes);
    int64_t count;
    MPI_Datatype type;
    DIT_TRY(unit_of(block_bytes, &count, &type));
    MPI_TRY(MPI_Allgather, source, (int)count, type, recv, (int)count, type, ((mpi_group *)group)->comm);
    return DIT_OK;
}

static dit_status mpi_all_gather_begin(void *group, const void *send, void *recv, int64_t block_bytes,
                                       dit_comm_exchange *out)
{
    const void *source = gathered_from(group, send, recv, block_bytes);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int64_t count;
    MPI_Datatype type;
    DIT_TRY(unit_of(block_bytes, &count, &type));
    MPI_TRY(MPI_Iallgather, source, (int)count, type, recv, (int)count, type, ((mpi_group *)group)->comm, requests);
    memcpy(out->handle, requests, sizeof requests);
    return DIT_OK;
}

enum { EXCHANGE_TAG = 7 };

static dit_status mpi_exchange_begin(void *opaque, const void *send, int to, void *recv, int from, int64_t bytes,
                                     dit_comm_exchange *out)
{
    MPI_Comm comm = ((mpi_group *)opaque)->comm;
    MPI_Request requests[2];
    int64_t count;
    MPI_Datatype type;
    _Static_assert(sizeof(MPI_Request) <= sizeof(void *), "a request must fit in a handle");
    DIT_TRY(unit_of(bytes, &count, &type));
    /* A half that is left out has no buffer, so its count must be 0. */
    int received = from == DIT_COMM_NOBODY ? 0 : (int)count, sent = to == DIT_COMM_NOBODY ? 0 : (int)count;
    if (from == DIT_COMM_NOBODY) from = MPI_PROC_NULL;
    if (to == DIT_COMM_NOBODY) to = MPI_PROC_NULL;
    MPI_TRY(MPI_Irecv, recv, received, type, from, EXCHANGE_TAG, comm, &requests[0]);
    if (bytes > INT_MAX) /* SMPI has an int for the size, takes such a message for a small one and copies it */
        MPI_TRY(MPI_Issend, send, sent, type, to, EXCHANGE_TAG, comm, &requests[1]);
    else
        MPI_TRY(MPI_Isend, send, sent, type, to, EXCHANGE_TAG, comm, &requests[1]);
    memcpy(out->handle, requests, sizeof requests);
    return DIT_OK;
}

static void mpi_exchange_poll(void *group, dit_comm_exchange *exchange)
{
    MPI_Request requests[2];
    int done;
    (void)group;
    memcpy(requests, exchange->handle, sizeof requests);
    MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE); /* wait reports errors */
    memcpy(exchange->handle, requests, sizeof requests);
}

static dit_status mpi_exchange_wait(void *group, dit_comm_exchange *exchange)
{
    MPI_Request requests[2];
    (void)group;
    memcpy(requests, exchange->handle, sizeof requests);
    MPI_TRY(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
    return DIT_OK;
}

static dit_status mpi_barrier(void *group)
{
    MPI_TRY(MPI_Barrier, ((mpi_group *)group)->comm);
    return DIT_OK;
}

static dit_status mpi_all_gather_varying(void *opaque, const void *data, int64_t bytes, void *out,
                                         const int64_t *offsets)
{
    mpi_group *group = opaque;
    int size = mpi_size(group), *counts = group->counts, *places = counts + size;
    int64_t unit = (int64_t)sizeof(float);
    for (int i = 0; i <= size; i++)
        if (offsets[i] % unit) unit = 1;
    MPI_Datatype type = unit == 1 ? MPI_BYTE : MPI_FLOAT;
    if (offsets[size] / unit > INT32_MAX)
        return DIT_FAIL(DIT_ERR_MPI, "cannot collect %lld bytes", (long long)offsets[size]);
    for (int i = 0; i < size; i++) {
        counts[i] = (int)((offsets[i + 1] - offsets[i]) / unit);
        places[i] = (int)(offsets[i] / unit);
    }
    MPI_TRY(MPI_Allgatherv, data ? data : MPI_IN_PLACE, (int)(bytes / unit), type, out, counts, places, type,
            group->comm);
    return DIT_OK;
}

static dit_status mpi_reduce(void *opaque, const dit_comm_reduce_args *args)
{
    mpi_group *group = opaque;
    int64_t part = args->elements / mpi_size(group);
    const float *own = (const float *)args->send + mpi_rank(group) * part;
    if (args->elements > INT32_MAX)
        return DIT_FAIL(DIT_ERR_MPI, "a sum of %lld elements exceeds the int count of MPI", (long long)args->elements);
    if (!args->scatter) {
        const void *send = args->send == args->recv ? MPI_IN_PLACE : args->send;
        MPI_TRY(MPI_Allreduce, send, args->recv, (int)args->elements, MPI_FLOAT, MPI_SUM, group->comm);
    } else if (args->recv != own) {
        MPI_TRY(MPI_Reduce_scatter_block, args->send, args->recv, (int)part, MPI_FLOAT, MPI_SUM, group->comm);
    } else {
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "MPI cannot scatter a sum in place");
    }
    return DIT_OK;
}

const dit_comm_ops dit_comm_mpi = {
    .name = "mpi",
    .start = mpi_start,
    .finish = mpi_finish,
    .abort = mpi_abort,
    .library = mpi_library,
    .local = mpi_local,
    .create = mpi_create,
    .free = mpi_free,
    .rank = mpi_rank,
    .size = mpi_size,
    .all_to_all = mpi_all_to_all,
    .all_gather = mpi_all_gather,
    .exchange_begin = mpi_exchange_begin,
    .all_gather_begin = mpi_all_gather_begin,
    .exchange_poll = mpi_exchange_poll,
    .exchange_wait = mpi_exchange_wait,
    .barrier = mpi_barrier,
    .all_gather_varying = mpi_all_gather_varying,
    .reduce = mpi_reduce,
};
