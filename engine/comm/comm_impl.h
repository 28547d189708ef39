/* What a communicator implementation provides. Entries are required unless they say what NULL
 * means. */
#ifndef DIT_ENGINE_COMM_IMPL_H
#define DIT_ENGINE_COMM_IMPL_H

#include "base/dtype.h"
#include "engine/comm/comm.h"
#include "engine/comm/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `values` and `out`: where they lie, `elements` in `bytes`; `add` takes addresses, which these are without a device.
 */
typedef struct {
    void *values, *out;
    int64_t elements, bytes;
    dit_dtype dtype;
    dit_comm_add add;
    void *context;
} dit_comm_sum_args;

/* recv [elements] = the sum over ranks of send [elements], fp32, in the library's own order; with `scatter` recv
 * [elements / size] is this rank's part of it. In place: recv is send, or there the rank's part of send. */
typedef struct {
    const void *send;
    void *recv;
    int64_t elements;
    bool scatter;
} dit_comm_reduce_args;

/* A group of the host's memory, and the device whose memory another group of the same ranks is to move. The names are
 * for errors; all of it outlives the group. */
typedef struct {
    const struct dit_comm_ops *host_ops;
    void *host_group;
    struct dit_device *device;
    const char *axis;
    int rank, size;
} dit_comm_base;

typedef struct dit_comm_ops {
    const char *name;
    bool recordable;                   /* what is asked for while a device records a graph becomes part of it */
    const struct dit_comm_ops *groups; /* NULL, or what moves bytes between the ranks of an axis instead of these */
    /* library: what dit_comm_start_with was given; NULL for implementations of the list */
    dit_status (*start)(void *library, int *argc, char ***argv);
    void (*finish)(void);
    void (*abort)(int exit_code);
    const char *(*library)(void);
    void (*local)(int *local_rank, int *local_size);
    /* ranks of the world, in group order; NULL for the whole world */
    dit_status (*create)(void *library, const int *ranks, int size, void **group);
    /* of groups of a device, instead of create */
    dit_status (*create_over)(const dit_comm_base *base, void **group);
    void (*free)(void *group);
    int (*rank)(void *group);
    int (*size)(void *group);
    dit_status (*all_to_all)(void *group, const void *send, void *recv, int64_t block_bytes);
    /* send: apart from recv, or its block of this rank */
    dit_status (*all_gather)(void *group, const void *send, void *recv, int64_t block_bytes);
    /* to, from: ranks of the group or DIT_COMM_NOBODY */
    dit_status (*exchange_begin)(void *group, const void *send, int to, void *recv, int from, int64_t bytes,
                                 dit_comm_exchange *out);
    dit_status (*all_gather_begin)(void *group, const void *send, void *recv, int64_t block_bytes,
                                   dit_comm_exchange *out);
    /* of both; NULL: what is under way needs no calls */
    void (*exchange_poll)(void *group, dit_comm_exchange *exchange);
    dit_status (*exchange_wait)(void *group, dit_comm_exchange *exchange);
    dit_status (*barrier)(void *group);
    /* data NULL: the own piece lies in `out` already */
    dit_status (*all_gather_varying)(void *group, const void *data, int64_t bytes, void *out, const int64_t *offsets);
    /* dit_comm_sum of a library that adds while it sends; NULL: all_to_all, add, all_gather */
    dit_status (*sum)(void *group, const dit_comm_sum_args *args);
    /* dit_comm_reduce; NULL: not there */
    dit_status (*reduce)(void *group, const dit_comm_reduce_args *args);
    /* dit_comm_open_links, in the order of schedule.h; NULL: one-way messages need nothing of their own */
    dit_status (*open_links)(void *group, const dit_link *links, int count);
} dit_comm_ops;

extern const dit_comm_ops dit_comm_mpi;
/* Over groups of the host's memory, for arrays of a device: of several ranks through staging in the host's memory
 * (staged.c), of one rank (alone.c). That of GPUs' own links is part of the device's library: `dit_comm_nccl`. */
extern const dit_comm_ops dit_comm_staged, dit_comm_alone;
/* dit_comm_start for an implementation that is in no list. `library` is given to its start and create. */
dit_status dit_comm_start_with(const dit_comm_ops *ops, void *library, int *argc, char ***argv);
/* Not started and in no list: groups of it exist beside a running library. Entries that need other processes are NULL.
 */
extern const dit_comm_ops dit_comm_count;
dit_status dit_comm_count_group(int rank, int size, void **out);

#ifdef __cplusplus
}
#endif
#endif
