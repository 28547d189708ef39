#include "engine/sim/links.h"

#include <math.h>
#include <simgrid/host.h>
#include <stdio.h>
#include <string.h>

/* Of this rank: the simulator gives every rank globals of its own. */
static dit_cost_group links;                                /* ranks, nodes and what follows from them are a group's */
static int64_t devices_per_node = 1, adapters_per_node = 1; /* devices that have ranks  */
static int64_t node_devices = 1;                            /* all that a node has      */
static bool shares_memory;

dit_status dit_sim_links_read(const dit_json *doc, const cJSON *object, const char *at, const char *architecture)
{
    const char *inside;
    DIT_TRY(dit_json_require_string(doc, object, at, "inside", &inside));
    DIT_TRY(dit_json_optional_bool(doc, object, at, "nvswitch", &links.nvswitch));
    DIT_TRY(dit_json_require_int(doc, object, at, "devices_per_node", 1, 1 << 20, &devices_per_node));
    DIT_TRY(dit_json_optional_int(doc, object, at, "adapters_per_node", 1, 1 << 20, &adapters_per_node));
    node_devices = devices_per_node;
    DIT_TRY(dit_json_optional_int(doc, object, at, "node_devices", devices_per_node, 1 << 20, &node_devices));
    const struct {
        const char *key;
        double least, most, *to;
    } numbers[] = {
        {"bandwidth_bytes_per_s", 1, 1e18, &links.bandwidth_bytes_per_s},
        {"inside_latency_s", 0, 1, &links.inside_latency_s},
        {"inside_many_peers_efficiency", 1e-3, 10, &links.inside_many_peers_efficiency},
        {"network_bandwidth_bytes_per_s", 1, 1e18, &links.network_bandwidth_bytes_per_s},
        {"network_latency_s", 0, 1, &links.network_latency_s},
        {"network_many_peers_efficiency", 1e-3, 10, &links.network_many_peers_efficiency},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        DIT_TRY(dit_json_optional_number(doc, object, at, numbers[i].key, numbers[i].least, numbers[i].most,
                                         numbers[i].to));
    shares_memory = strcmp(inside, "memory") == 0;
    links.inside = strcmp(inside, "nvlink") == 0 ? DIT_COST_NVLINK : DIT_COST_PCIE;
    links.generation = dit_cost_generation_of(architecture);
    return DIT_OK;
}

static bool same_node(int a, int b)
{
    return a / devices_per_node == b / devices_per_node;
}

/* Ranks of a group ascend. */
static int nodes_of(const int *ranks, int size)
{
    int nodes = size > 0;
    for (int i = 1; i < size; i++) nodes += !same_node(ranks[i - 1], ranks[i]);
    return nodes;
}

/* Nodes may have more devices than ranks. */
static void name_device(int rank, char out[32])
{
    snprintf(out, 32, "device%lld", (long long)(rank / devices_per_node * node_devices + rank % devices_per_node));
}

/* Of the narrowest link between two ranks; what the case says where they share a host. */
static double route_bandwidth(int from, int to)
{
    char names[2][32];
    name_device(from, names[0]);
    name_device(to, names[1]);
    sg_host_t a = sg_host_by_name(names[0]), b = sg_host_by_name(names[1]);
    return a && b && a != b ? sg_host_get_route_bandwidth(a, b) : links.bandwidth_bytes_per_s;
}

dit_cost_group dit_sim_links_group(const int *ranks, int size)
{
    dit_cost_group group = links;
    double inside = INFINITY, ring = INFINITY;
    group.ranks = size;
    group.nodes = nodes_of(ranks, size);
    for (int i = 0; i < size; i++) {
        int next = ranks[(i + 1) % size];
        double bandwidth = route_bandwidth(ranks[i], next);
        ring = fmin(ring, bandwidth);
        if (size > 1 && same_node(ranks[i], next)) inside = fmin(inside, bandwidth);
    }
    group.ring_bandwidth_bytes_per_s = ring;
    if (isfinite(inside)) group.bandwidth_bytes_per_s = inside;
    group.network_bandwidth_bytes_per_s *= fmin((double)adapters_per_node, (double)size / group.nodes);
    return group;
}

bool dit_sim_shares_memory(void)
{
    return shares_memory;
}

double dit_sim_copy_seconds(int messages, double bytes)
{
    return messages * links.inside_latency_s + bytes / links.bandwidth_bytes_per_s;
}

int dit_sim_devices_per_node(void)
{
    return (int)devices_per_node;
}
