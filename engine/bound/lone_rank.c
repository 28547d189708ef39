#include "engine/bound/lone_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the clock --------------------------------------------------------------------------------------------------- */

static double clock_s;

static double now_s(void)
{
    return clock_s;
}

static void pass(double seconds)
{
    if (seconds > 0) clock_s += seconds;
}

static double bandwidth(const char *from, const char *to)
{
    return dit_sim_simgrid.bandwidth(from, to);
}

const dit_sim_grid dit_lone_grid = {.now_s = now_s, .pass = pass, .bandwidth = bandwidth};

/* ---- routes ------------------------------------------------------------------------------------------------------ */

enum { ROUTE_LINKS = 64 };

/* The links between two ranks. Longer routes are cut, which makes bounds no higher. */
static int route_of(const dit_lone_rank *lone, int from, int to, dit_sim_route_link links[ROUTE_LINKS],
                    double *latency_s)
{
    const dit_sim_links *machine = dit_sim_get_links(lone->library.sim);
    char names[2][DIT_SIM_DEVICE_NAME];
    dit_sim_links_device(machine, from, names[0]);
    dit_sim_links_device(machine, to, names[1]);
    int count = dit_sim_route(names[0], names[1], ROUTE_LINKS, links, latency_s);
    return count < ROUTE_LINKS ? count : ROUTE_LINKS;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

typedef struct {
    double latency_s, seconds_per_byte; /* -1: not looked up */
} lone_way;

typedef struct {
    dit_lone_rank *lone;
    dit_lone_sent *sent; /* NULL: the world */
    int *ranks, rank, size;
    lone_way *ways; /* [size] to each rank of the group */
} lone_group;

static void lone_free(void *opaque)
{
    lone_group *group = opaque;
    if (!group) return;
    free(group->ranks);
    free(group->ways);
    free(group);
}
static int lone_rank(void *group)
{
    return ((const lone_group *)group)->rank;
}
static int lone_size(void *group)
{
    return ((const lone_group *)group)->size;
}

/* The groups of one axis are told apart by the distance of their ranks; those of degree 1 send nothing. */
static dit_status find_sent(dit_lone_rank *lone, const int *ranks, int size, dit_lone_sent **out)
{
    int stride = size > 1 ? ranks[1] - ranks[0] : 0;
    for (int i = 0; i < lone->sent_count; i++) {
        *out = &lone->sent[i];
        if ((*out)->stride == stride && (*out)->size == size) return DIT_OK;
    }
    if (lone->sent_count == DIT_GROUP_COUNT) return DIT_FAIL(DIT_ERR_INTERNAL, "a rank has more groups than axes");
    *out = &lone->sent[lone->sent_count];
    double *bytes = calloc(3 * (size_t)size, sizeof *bytes);
    if (!bytes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a group of %d ranks", size);
    **out = (dit_lone_sent){stride, size, bytes, bytes + size, bytes + 2 * size};
    lone->sent_count++;
    return DIT_OK;
}

static dit_status fill(dit_lone_rank *lone, const int *ranks, int size, lone_group *group)
{
    group->lone = lone;
    group->rank = lone->rank, group->size = lone->size;
    if (!ranks) return DIT_OK;
    group->size = size;
    group->ranks = malloc((size_t)size * sizeof *group->ranks);
    group->ways = malloc((size_t)size * sizeof *group->ways);
    if (!group->ranks || !group->ways) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a group of %d ranks", size);
    memcpy(group->ranks, ranks, (size_t)size * sizeof *ranks);
    for (int i = 0; i < size; i++) {
        group->ways[i].seconds_per_byte = -1;
        if (ranks[i] == lone->rank) group->rank = i;
    }
    return find_sent(lone, ranks, size, &group->sent);
}

static dit_status lone_create(void *library, const int *ranks, int size, void **out)
{
    lone_group *group = calloc(1, sizeof *group);
    *out = NULL;
    if (!group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    dit_status st = fill(library, ranks, size, group);
    if (st == DIT_OK)
        *out = group;
    else
        lone_free(group);
    return st;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static lone_way way_over(const dit_lone_rank *lone, int to)
{
    dit_sim_route_link links[ROUTE_LINKS];
    lone_way way = {0};
    int count = route_of(lone, lone->rank, to, links, &way.latency_s);
    for (int i = 0; i < count; i++)
        if (links[i].bandwidth_bytes_per_s > 0)
            way.seconds_per_byte = fmax(way.seconds_per_byte, 1 / links[i].bandwidth_bytes_per_s);
    return way;
}

static double seconds_to(lone_group *group, int peer, double bytes)
{
    lone_way *way = &group->ways[peer];
    if (way->seconds_per_byte < 0) *way = way_over(group->lone, group->ranks[peer]);
    return way->latency_s + bytes * way->seconds_per_byte;
}

static void note_sent(lone_group *group, int peer, double bytes)
{
    group->sent->bytes[(peer - group->rank + group->size) % group->size] += bytes;
}

/* One peer after the other, as SMPI's exchanges do. */
static dit_status lone_all_to_all(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    lone_group *group = opaque;
    (void)send, (void)recv;
    for (int peer = 0; peer < group->size; peer++) {
        if (peer == group->rank) continue;
        pass(seconds_to(group, peer, (double)block_bytes));
        note_sent(group, peer, (double)block_bytes);
    }
    return DIT_OK;
}

/* When the exchange is over lies in its handle. */
static dit_status lone_exchange_begin(void *opaque, const void *send, int to, void *recv, int from, int64_t bytes,
                                      dit_comm_exchange *out)
{
    lone_group *group = opaque;
    double seconds = 0;
    (void)send, (void)recv;
    if (to != DIT_COMM_NOBODY && to != group->rank) {
        seconds = seconds_to(group, to, (double)bytes);
        note_sent(group, to, (double)bytes);
    }
    if (from != DIT_COMM_NOBODY && from != group->rank) seconds = fmax(seconds, seconds_to(group, from, (double)bytes));
    double over_s = clock_s + seconds;
    _Static_assert(sizeof over_s <= sizeof out->handle, "a handle holds a time");
    memcpy(out->handle, &over_s, sizeof over_s);
    return DIT_OK;
}

static dit_status lone_exchange_wait(void *group, dit_comm_exchange *exchange)
{
    double over_s;
    (void)group;
    memcpy(&over_s, exchange->handle, sizeof over_s);
    pass(over_s - clock_s);
    return DIT_OK;
}

static dit_status lone_barrier(void *group)
{
    (void)group;
    return DIT_OK;
}

static const dit_comm_ops lone_messages = {
    .name = "lone",
    .create = lone_create,
    .free = lone_free,
    .rank = lone_rank,
    .size = lone_size,
    .all_to_all = lone_all_to_all,
    .exchange_begin = lone_exchange_begin,
    .exchange_wait = lone_exchange_wait,
    .barrier = lone_barrier,
};

/* ---- the world --------------------------------------------------------------------------------------------------- */

/* Outside of what is measured every other rank says what this one does. */
static dit_status world_all_gather(void *group, const void *send, void *recv, int64_t block_bytes)
{
    int size = dit_comm_simulated.size(group);
    for (int rank = 0; rank < size; rank++) memmove((char *)recv + rank * block_bytes, send, (size_t)block_bytes);
    return DIT_OK;
}

static dit_status world_barrier(void *group)
{
    (void)group;
    return DIT_OK;
}

static dit_status world_start(void *library, int *argc, char ***argv)
{
    (void)library, (void)argc, (void)argv;
    return DIT_OK;
}
static void world_finish(void) {}
static void world_local(int *local_rank, int *local_size)
{
    *local_rank = 0, *local_size = 1;
}

static dit_comm_ops world;

dit_status dit_lone_rank_start(dit_sim *sim, int rank, int size, dit_lone_rank *out)
{
    *out = (dit_lone_rank){.library = {.sim = sim, .messages = &lone_messages}, .rank = rank, .size = size};
    out->library.messages_library = out;
    world = (dit_comm_ops){.name = "lone",
                           .groups = dit_comm_simulated.groups,
                           .start = world_start,
                           .finish = world_finish,
                           .library = dit_comm_simulated.library,
                           .local = world_local,
                           .create = dit_comm_simulated.create,
                           .free = dit_comm_simulated.free,
                           .rank = dit_comm_simulated.rank,
                           .size = dit_comm_simulated.size,
                           .all_gather = world_all_gather,
                           .barrier = world_barrier};
    clock_s = 0;
    return dit_comm_start_with(&world, &out->library, NULL, NULL);
}

void dit_lone_rank_finish(dit_lone_rank *lone)
{
    if (lone->library.messages) dit_comm_finish();
    for (int i = 0; i < lone->sent_count; i++) free(lone->sent[i].bytes);
    *lone = (dit_lone_rank){0};
}

/* ---- what was sent ----------------------------------------------------------------------------------------------- */

void dit_lone_rank_mark(dit_lone_rank *lone)
{
    for (int i = 0; i < lone->sent_count; i++) {
        size_t bytes = (size_t)lone->sent[i].size * sizeof(double);
        memcpy(lone->sent[i].before, lone->sent[i].now, bytes);
        memcpy(lone->sent[i].now, lone->sent[i].bytes, bytes);
    }
}

void dit_lone_rank_repeat(dit_lone_rank *lone, int times)
{
    for (int i = 0; i < lone->sent_count; i++)
        for (int j = 0; j < lone->sent[i].size; j++)
            lone->sent[i].bytes[j] += times * (lone->sent[i].now[j] - lone->sent[i].before[j]);
}

/* Links and what they carry, by their ids. */
typedef struct {
    struct {
        const void *id;
        double seconds;
    } * at;
    size_t room; /* a power of two, never full */
} link_table;

static void add_to_link(link_table *table, const dit_sim_route_link *link, double bytes, double *most_s)
{
    size_t place = ((uintptr_t)link->id >> 4) * 0x9E3779B97F4A7C15u & (table->room - 1);
    while (table->at[place].id && table->at[place].id != link->id) place = (place + 1) & (table->room - 1);
    table->at[place].id = link->id;
    table->at[place].seconds += bytes / link->bandwidth_bytes_per_s;
    *most_s = fmax(*most_s, table->at[place].seconds);
}

static void add_message(const dit_lone_rank *lone, int from, int to, double bytes, link_table *table, double *most_s)
{
    dit_sim_route_link links[ROUTE_LINKS];
    double latency_s;
    int count = route_of(lone, from, to, links, &latency_s);
    for (int i = 0; i < count; i++)
        if (links[i].shared && links[i].bandwidth_bytes_per_s > 0) add_to_link(table, &links[i], bytes, most_s);
}

static void add_group(const dit_lone_rank *lone, const dit_lone_sent *sent, link_table *table, double *most_s)
{
    for (int from = 0; from < lone->size && sent->size > 1; from++) {
        int place = from / sent->stride % sent->size, first = from - place * sent->stride;
        for (int step = 1; step < sent->size; step++)
            if (sent->bytes[step] > 0)
                add_message(lone, from, first + (place + step) % sent->size * sent->stride, sent->bytes[step], table,
                            most_s);
    }
}

dit_status dit_lone_rank_wire(const dit_lone_rank *lone, double *seconds)
{
    link_table table = {.room = 1024};
    *seconds = 0;
    /* more than there are links: a device has a few, and in a mesh one to each other */
    while (table.room < (64 + 2 * (size_t)lone->size) * (size_t)lone->size) table.room *= 2;
    table.at = calloc(table.room, sizeof *table.at);
    if (!table.at) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the links of %d ranks", lone->size);
    for (int i = 0; i < lone->sent_count; i++) add_group(lone, &lone->sent[i], &table, seconds);
    free(table.at);
    return DIT_OK;
}
