/* The communicator that moves nothing: one process stands for any rank of any mesh and counts what it would send. */
#include "engine/comm/comm_impl.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int rank, size;
} count_group;

static void count_free(void *group)
{
    free(group);
}
static int count_rank(void *group)
{
    return ((const count_group *)group)->rank;
}
static int count_size(void *group)
{
    return ((const count_group *)group)->size;
}

static dit_status count_blocks(void *group, const void *send, void *recv, int64_t block_bytes)
{
    (void)group, (void)send, (void)recv, (void)block_bytes;
    return DIT_OK;
}

static dit_status count_exchange_begin(void *group, const void *send, int to, void *recv, int from, int64_t bytes,
                                       dit_comm_exchange *out)
{
    (void)group, (void)send, (void)to, (void)recv, (void)from, (void)bytes;
    *out = (dit_comm_exchange){0};
    return DIT_OK;
}

static dit_status count_all_gather_begin(void *group, const void *send, void *recv, int64_t block_bytes,
                                         dit_comm_exchange *out)
{
    (void)group, (void)send, (void)recv, (void)block_bytes;
    *out = (dit_comm_exchange){0};
    return DIT_OK;
}

static void count_exchange_poll(void *group, dit_comm_exchange *exchange)
{
    (void)group, (void)exchange;
}

static dit_status count_exchange_wait(void *group, dit_comm_exchange *exchange)
{
    (void)group, (void)exchange;
    return DIT_OK;
}

static dit_status count_barrier(void *group)
{
    (void)group;
    return DIT_OK;
}

const dit_comm_ops dit_comm_count = {
    .name = "count",
    .free = count_free,
    .rank = count_rank,
    .size = count_size,
    .all_to_all = count_blocks,
    .all_gather = count_blocks,
    .exchange_begin = count_exchange_begin,
    .all_gather_begin = count_all_gather_begin,
    .exchange_poll = count_exchange_poll,
    .exchange_wait = count_exchange_wait,
    .barrier = count_barrier,
};

dit_status dit_comm_count_group(int rank, int size, void **out)
{
    count_group *group = calloc(1, sizeof *group);
    *out = group;
    if (!group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    *group = (count_group){rank, size};
    return DIT_OK;
}
