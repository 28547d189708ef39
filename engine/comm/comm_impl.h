/* What a communicator implementation provides. An entry is required unless its comment says what NULL means. */
#ifndef DIT_ENGINE_COMM_IMPL_H
#define DIT_ENGINE_COMM_IMPL_H

#include "base/dtype.h"
#include "engine/comm/comm.h"
#include "engine/comm/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where `values` and `out` lie, with `elements` elements in `bytes` bytes. `add` takes addresses; without a device
 * these pointers are addresses. */
typedef struct {
    void *values, *out;
    int64_t elements, bytes;
    dit_dtype dtype;
    dit_comm_add add;
    void *context;
} dit_comm_sum_args;

/* recv [elements] = the sum over ranks of send [elements], fp32, in the library's order; with `scatter` recv
 * [elements / size] is this rank's part of the sum. In place: recv is send, or with scatter the rank's part of send. */
typedef struct {
    const void *send;
    void *recv;
    int64_t elements;
    bool scatter;
} dit_comm_reduce_args;

/* A group for host memory, and the device whose arrays a second group of the same ranks shall move. `axis` and `rank`
 * serve error messages. The base outlives the second group. */
typedef struct {
    const struct dit_comm_ops *host_ops;
    void *host_group;
    struct dit_device *device;
    const char *axis;
    int rank, size;
} dit_comm_base;

typedef struct dit_comm_ops {
    const char *name;
    bool recordable;                   /* messages become part of a graph that a device records */
    const struct dit_comm_ops *groups; /* NULL, or the implementation that serves groups along an axis instead */
    /* library: what dit_comm_start_with was given; NULL for implementations of the list */
    dit_status (*start)(void *library, int *argc, char ***argv);
    void (*finish)(void);
    void (*abort)(int exit_code);
    const char *(*library)(void);
    void (*local)(int *local_rank, int *local_size);
    /* ranks of the world, in group order; NULL for the whole world */
    dit_status (*create)(void *library, const int *ranks, int size, void **group);
    /* creates groups of a device, instead of create */
    dit_status (*create_over)(const dit_comm_base *base, void **group);
    void (*free)(void *group);
    int (*rank)(void *group);
    int (*size)(void *group);
    dit_status (*all_to_all)(void *group, const void *send, void *recv, int64_t block_bytes);
    /* send does not overlap recv, or is this rank's block of recv */
    dit_status (*all_gather)(void *group, const void *send, void *recv, int64_t block_bytes);
    /* to, from: ranks of the group or DIT_COMM_NOBODY */
    dit_status (*exchange_begin)(void *group, const void *send, int to, void *recv, int from, int64_t bytes,
                                 dit_comm_exchange *out);
    dit_status (*all_gather_begin)(void *group, const void *send, void *recv, int64_t block_bytes,
                                   dit_comm_exchange *out);
    /* for exchanges and gathers; NULL: transfers under way need no calls */
    void (*exchange_poll)(void *group, dit_comm_exchange *exchange);
    dit_status (*exchange_wait)(void *group, dit_comm_exchange *exchange);
    dit_status (*barrier)(void *group);
    /* data NULL: the rank's piece already lies in `out` */
    dit_status (*all_gather_varying)(void *group, const void *data, int64_t bytes, void *out, const int64_t *offsets);
    /* dit_comm_sum, in a library that adds while it sends; NULL: all_to_all, add, all_gather */
    dit_status (*sum)(void *group, const dit_comm_sum_args *args);
    /* dit_comm_reduce; NULL: unsupported */
    dit_status (*reduce)(void *group, const dit_comm_reduce_args *args);
    /* dit_comm_open_links, in the order of schedule.h; NULL: one-way messages need no channels */
    dit_status (*open_links)(void *group, const dit_link *links, int count);
} dit_comm_ops;

extern const dit_comm_ops dit_comm_mpi;
/* For arrays of a device, over groups for host memory: several ranks through staging in host memory (staged.c), and one
 * rank (alone.c). The one for direct links between GPUs, `dit_comm_nccl`, is part of the device's library. */
extern const dit_comm_ops dit_comm_staged, dit_comm_alone;
/* dit_comm_start for an implementation that is in no list. `library` is given to its start and create. */
dit_status dit_comm_start_with(const dit_comm_ops *ops, void *library, int *argc, char ***argv);
/* Counts only. It is never started and in no list: its groups exist beside a running library. Entries that need other
 * processes are NULL. */
extern const dit_comm_ops dit_comm_count;
dit_status dit_comm_count_group(int rank, int size, void **out);

#ifdef __cplusplus
}
#endif
#endif
