/* The communicator of a group of one rank with a device: messages to itself are copies on the device. */
#include "engine/comm/comm_impl.h"
#include "kernels/device.h"

static dit_status alone_create(const dit_comm_base *base, void **group)
{
    *group = (void *)base; /* base outlives the group */
    return DIT_OK;
}

static void alone_free(void *group)
{
    (void)group;
}

static dit_status alone_copy(void *group, const void *send, void *recv, int64_t bytes)
{
    return dit_device_copy_within(((const dit_comm_base *)group)->device, recv, send, bytes);
}

static dit_status alone_all_gather_begin(void *group, const void *send, void *recv, int64_t bytes,
                                         dit_comm_exchange *out)
{
    *out = (dit_comm_exchange){0};
    return alone_copy(group, send, recv, bytes);
}

static dit_status alone_exchange_begin(void *group, const void *send, int to, void *recv, int from, int64_t bytes,
                                       dit_comm_exchange *out)
{
    *out = (dit_comm_exchange){0};
    return to == 0 && from == 0 ? alone_copy(group, send, recv, bytes) : DIT_OK;
}

static dit_status alone_exchange_wait(void *group, dit_comm_exchange *exchange)
{
    (void)group, (void)exchange;
    return DIT_OK;
}

static dit_status alone_all_gather_varying(void *group, const void *data, int64_t bytes, void *out,
                                           const int64_t *offsets)
{
    (void)offsets; /* one piece, at 0 */
    return data ? alone_copy(group, data, out, bytes) : DIT_OK;
}

static dit_status alone_sum(void *group, const dit_comm_sum_args *args)
{
    return alone_copy(group, args->values, args->out, args->bytes);
}

static dit_status alone_reduce(void *group, const dit_comm_reduce_args *args)
{
    return alone_copy(group, args->send, args->recv, args->elements * (int64_t)sizeof(float));
}

const dit_comm_ops dit_comm_alone = {
    .name = "alone",
    .recordable = true,
    .create_over = alone_create,
    .free = alone_free,
    .all_to_all = alone_copy,
    .all_gather = alone_copy,
    .exchange_begin = alone_exchange_begin,
    .all_gather_begin = alone_all_gather_begin,
    .exchange_wait = alone_exchange_wait,
    .all_gather_varying = alone_all_gather_varying,
    .sum = alone_sum,
    .reduce = alone_reduce,
};
