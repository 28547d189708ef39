/* The communicator for devices that goes through host memory: it copies messages out of the device, sends them by a
 * group for host memory, and copies them into the device again.
 *
 * It serves ranks that share a device, which NCCL refuses, and devices without NCCL. It is slower than a direct link,
 * but the same bytes travel in the same order. A message leaves the device when it begins, after everything queued
 * before it; it enters the device when it is waited for. No graph can record it, because the host takes part.
 *
 * Staging buffers are kept and reused: after the first step none is allocated any more.
 */
#include "engine/comm/comm_impl.h"
#include "kernels/device.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct staging {
    struct staging *next; /* in the list of free ones */
    int64_t room;
    char *memory;
} staging;

/* A transfer between begin and wait. */
typedef struct transfer {
    struct transfer *next; /* in the list of those that are done */
    dit_comm_exchange host;
    staging *leaving, *arriving; /* NULL: nothing leaves, or arrives */
    void *to;                    /* where on the device the message goes */
    int64_t bytes;
} transfer;

typedef struct {
    const dit_comm_base *base;
    staging *free_staging;
    transfer *free_transfers;
} staged_group;

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static int64_t room_for(int64_t bytes)
{
    int64_t room = 4096;
    while (room < bytes) room *= 2;
    return room;
}

/* Takes a buffer of at least `bytes`: the smallest free one, or a new one. */
static dit_status take_staging(staged_group *group, int64_t bytes, staging **out)
{
    staging **best = NULL;
    for (staging **at = &group->free_staging; *at; at = &(*at)->next)
        if ((*at)->room >= bytes && (!best || (*at)->room < (*best)->room)) best = at;
    if (best) {
        *out = *best;
        *best = (*out)->next;
        return DIT_OK;
    }
    *out = calloc(1, sizeof **out);
    if (*out) (*out)->memory = dit_device_host_memory(group->base->device, (*out)->room = room_for(bytes));
    if (*out && (*out)->memory) return DIT_OK;
    free(*out);
    *out = NULL;
    return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for a message of %lld bytes on the host", group->base->axis,
                    (long long)bytes);
}

static void give_staging(staged_group *group, staging *s)
{
    if (!s) return;
    s->next = group->free_staging;
    group->free_staging = s;
}

static dit_status take_transfer(staged_group *group, transfer **out)
{
    transfer *t = group->free_transfers;
    if (t)
        group->free_transfers = t->next;
    else
        t = malloc(sizeof *t);
    *out = t;
    if (!t) return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for a transfer", group->base->axis);
    *t = (transfer){0};
    return DIT_OK;
}

static void give_transfer(staged_group *group, transfer *t)
{
    give_staging(group, t->leaving);
    give_staging(group, t->arriving);
    t->next = group->free_transfers;
    group->free_transfers = t;
}

/* ---- the group --------------------------------------------------------------------------------------------------- */

static dit_status staged_create(const dit_comm_base *base, void **out)
{
    staged_group *group = calloc(1, sizeof *group);
    *out = group;
    if (!group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    group->base = base;
    return DIT_OK;
}

static void staged_free(void *opaque)
{
    staged_group *group = opaque;
    for (staging *s = group->free_staging, *next; s; s = next) {
        next = s->next;
        dit_device_host_memory_free(group->base->device, s->memory);
        free(s);
    }
    for (transfer *t = group->free_transfers, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(group);
}

static const char *staged_library(void)
{
    static char text[128];
    snprintf(text, sizeof text, "%s through the host's memory", dit_comm_library());
    return text;
}

static dit_status copy_out(const staged_group *group, char *host, const void *memory, int64_t bytes)
{
    return dit_device_copy_out(group->base->device, host, memory, bytes);
}

static dit_status copy_in(const staged_group *group, void *memory, const char *host, int64_t bytes)
{
    return dit_device_copy_in(group->base->device, memory, host, bytes);
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static dit_status run_all_to_all(const staged_group *group, const void *send, void *recv, int64_t block_bytes,
                                 char *leaving, char *arriving)
{
    const dit_comm_base *base = group->base;
    int64_t bytes = base->size * block_bytes;
    DIT_TRY(copy_out(group, leaving, send, bytes));
    DIT_TRY(base->host_ops->all_to_all(base->host_group, leaving, arriving, block_bytes));
    return copy_in(group, recv, arriving, bytes);
}

static dit_status staged_all_to_all(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    staged_group *group = opaque;
    staging *leaving = NULL, *arriving = NULL;
    dit_status st = take_staging(group, group->base->size * block_bytes, &leaving);
    if (st == DIT_OK) st = take_staging(group, group->base->size * block_bytes, &arriving);
    if (st == DIT_OK) st = run_all_to_all(group, send, recv, block_bytes, leaving->memory, arriving->memory);
    give_staging(group, leaving);
    give_staging(group, arriving);
    return st;
}

/* Gathers pieces. The rank's own piece is first copied to its place in the buffer and is sent from there. */
static dit_status run_gather(const staged_group *group, const void *own, void *recv, const int64_t *offsets,
                             int64_t block_bytes, char *all)
{
    const dit_comm_base *base = group->base;
    int64_t first = offsets ? offsets[base->rank] : base->rank * block_bytes;
    int64_t bytes = offsets ? offsets[base->rank + 1] - first : block_bytes;
    DIT_TRY(copy_out(group, all + first, own, bytes));
    if (offsets)
        DIT_TRY(base->host_ops->all_gather_varying(base->host_group, NULL, bytes, all, offsets));
    else
        DIT_TRY(base->host_ops->all_gather(base->host_group, all + first, all, bytes));
    return copy_in(group, recv, all, offsets ? offsets[base->size] : base->size * block_bytes);
}

static dit_status staged_all_gather(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    staged_group *group = opaque;
    staging *all = NULL;
    dit_status st = take_staging(group, group->base->size * block_bytes, &all);
    if (st == DIT_OK) st = run_gather(group, send, recv, NULL, block_bytes, all->memory);
    give_staging(group, all);
    return st;
}

static dit_status staged_all_gather_varying(void *opaque, const void *data, int64_t bytes, void *out,
                                            const int64_t *offsets)
{
    staged_group *group = opaque;
    staging *all = NULL;
    (void)bytes;
    dit_status st = take_staging(group, offsets[group->base->size], &all);
    const void *own = data ? data : (const char *)out + offsets[group->base->rank];
    if (st == DIT_OK) st = run_gather(group, own, out, offsets, 0, all->memory);
    give_staging(group, all);
    return st;
}

static dit_status run_reduce(const staged_group *group, const dit_comm_reduce_args *args, char *leaving, char *arriving)
{
    const dit_comm_base *base = group->base;
    int64_t bytes = args->elements * (int64_t)sizeof(float);
    dit_comm_reduce_args host = {leaving, arriving, args->elements, args->scatter};
    DIT_TRY(copy_out(group, leaving, args->send, bytes));
    DIT_TRY(base->host_ops->reduce(base->host_group, &host));
    return copy_in(group, args->recv, arriving, args->scatter ? bytes / base->size : bytes);
}

static dit_status staged_reduce(void *opaque, const dit_comm_reduce_args *args)
{
    staged_group *group = opaque;
    int64_t bytes = args->elements * (int64_t)sizeof(float);
    staging *leaving = NULL, *arriving = NULL;
    dit_status st = take_staging(group, bytes, &leaving);
    if (st == DIT_OK) st = take_staging(group, bytes, &arriving);
    if (st == DIT_OK) st = run_reduce(group, args, leaving->memory, arriving->memory);
    give_staging(group, leaving);
    give_staging(group, arriving);
    return st;
}

/* ---- in the background ------------------------------------------------------------------------------------------- */

static dit_status begin_exchange(staged_group *group, transfer *t, const void *send, int to, int from, int64_t bytes)
{
    const dit_comm_base *base = group->base;
    if (from != DIT_COMM_NOBODY) DIT_TRY(take_staging(group, bytes, &t->arriving));
    if (to != DIT_COMM_NOBODY) {
        DIT_TRY(take_staging(group, bytes, &t->leaving));
        DIT_TRY(copy_out(group, t->leaving->memory, send, bytes));
    }
    return base->host_ops->exchange_begin(base->host_group, t->leaving ? t->leaving->memory : NULL, to,
                                          t->arriving ? t->arriving->memory : NULL, from, bytes, &t->host);
}

static dit_status staged_exchange_begin(void *opaque, const void *send, int to, void *recv, int from, int64_t bytes,
                                        dit_comm_exchange *out)
{
    staged_group *group = opaque;
    transfer *t = NULL;
    *out = (dit_comm_exchange){0};
    DIT_TRY(take_transfer(group, &t));
    t->to = recv;
    t->bytes = bytes;
    dit_status st = begin_exchange(group, t, send, to, from, bytes);
    if (st == DIT_OK)
        out->handle[0] = t;
    else
        give_transfer(group, t);
    return st;
}

static dit_status begin_gather(staged_group *group, transfer *t, const void *send, int64_t block_bytes)
{
    const dit_comm_base *base = group->base;
    DIT_TRY(take_staging(group, base->size * block_bytes, &t->arriving));
    char *own = t->arriving->memory + base->rank * block_bytes;
    DIT_TRY(copy_out(group, own, send, block_bytes));
    return base->host_ops->all_gather_begin(base->host_group, own, t->arriving->memory, block_bytes, &t->host);
}

static dit_status staged_all_gather_begin(void *opaque, const void *send, void *recv, int64_t block_bytes,
                                          dit_comm_exchange *out)
{
    staged_group *group = opaque;
    transfer *t = NULL;
    *out = (dit_comm_exchange){0};
    DIT_TRY(take_transfer(group, &t));
    t->to = recv;
    t->bytes = group->base->size * block_bytes;
    dit_status st = begin_gather(group, t, send, block_bytes);
    if (st == DIT_OK)
        out->handle[0] = t;
    else
        give_transfer(group, t);
    return st;
}

static void staged_exchange_poll(void *opaque, dit_comm_exchange *exchange)
{
    const dit_comm_base *base = ((staged_group *)opaque)->base;
    transfer *t = exchange->handle[0];
    if (t && base->host_ops->exchange_poll) base->host_ops->exchange_poll(base->host_group, &t->host);
}

static dit_status staged_exchange_wait(void *opaque, dit_comm_exchange *exchange)
{
    staged_group *group = opaque;
    transfer *t = exchange->handle[0];
    dit_status st = group->base->host_ops->exchange_wait(group->base->host_group, &t->host);
    if (st == DIT_OK && t->arriving) st = copy_in(group, t->to, t->arriving->memory, t->bytes);
    give_transfer(group, t);
    exchange->handle[0] = NULL;
    return st;
}

const dit_comm_ops dit_comm_staged = {
    .name = "staged",
    .library = staged_library,
    .create_over = staged_create,
    .free = staged_free,
    .all_to_all = staged_all_to_all,
    .all_gather = staged_all_gather,
    .exchange_begin = staged_exchange_begin,
    .all_gather_begin = staged_all_gather_begin,
    .exchange_poll = staged_exchange_poll,
    .exchange_wait = staged_exchange_wait,
    .all_gather_varying = staged_all_gather_varying,
    .reduce = staged_reduce,
};
