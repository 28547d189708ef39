#include "engine/sim/links.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

dit_sim_links dit_sim_links_of(const dit_sim_grid *grid)
{
    return (dit_sim_links){.grid = grid, .devices_per_node = 1, .adapters_per_node = 1, .node_devices = 1};
}

dit_status dit_sim_links_read(const dit_json *doc, const cJSON *object, const char *at, const char *architecture,
                              dit_sim_links *links)
{
    const char *inside;
    dit_cost_group *any = &links->any;
    bool trees = true;
    DIT_TRY(dit_json_require_string(doc, object, at, "inside", &inside));
    DIT_TRY(dit_json_optional_bool(doc, object, at, "nvswitch", &any->nvswitch));
    DIT_TRY(dit_json_optional_bool(doc, object, at, "network_trees", &trees));
    DIT_TRY(dit_json_require_int(doc, object, at, "devices_per_node", 1, 1 << 20, &links->devices_per_node));
    DIT_TRY(dit_json_optional_int(doc, object, at, "adapters_per_node", 1, 1 << 20, &links->adapters_per_node));
    links->node_devices = links->devices_per_node;
    DIT_TRY(
        dit_json_optional_int(doc, object, at, "node_devices", links->devices_per_node, 1 << 20, &links->node_devices));
    const struct {
        const char *key;
        double least, most, *to;
    } numbers[] = {
        {"bandwidth_bytes_per_s", 1, 1e18, &any->bandwidth_bytes_per_s},
        {"inside_latency_s", 0, 1, &any->inside_latency_s},
        {"inside_many_peers_efficiency", 1e-3, 10, &any->inside_many_peers_efficiency},
        {"inside_few_peers_efficiency", 1e-3, 10, &any->inside_few_peers_efficiency},
        {"network_bandwidth_bytes_per_s", 1, 1e18, &any->network_bandwidth_bytes_per_s},
        {"network_latency_s", 0, 1, &any->network_latency_s},
        {"network_many_peers_efficiency", 1e-3, 10, &any->network_many_peers_efficiency},
        {"network_few_peers_efficiency", 1e-3, 10, &any->network_few_peers_efficiency},
        {"network_collective_times", 1, 1e3, &any->network_collective_times},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        DIT_TRY(dit_json_optional_number(doc, object, at, numbers[i].key, numbers[i].least, numbers[i].most,
                                         numbers[i].to));
    any->network_rings_only = !trees;
    links->shares_memory = strcmp(inside, "memory") == 0;
    any->inside = strcmp(inside, "nvlink") == 0 ? DIT_COST_NVLINK : DIT_COST_PCIE;
    any->generation = dit_cost_generation_of(architecture);
    return DIT_OK;
}

static bool same_node(const dit_sim_links *links, int a, int b)
{
    return a / links->devices_per_node == b / links->devices_per_node;
}

/* Ranks of a group ascend. */
static int nodes_of(const dit_sim_links *links, const int *ranks, int size)
{
    int nodes = size > 0;
    for (int i = 1; i < size; i++) nodes += !same_node(links, ranks[i - 1], ranks[i]);
    return nodes;
}

/* A node may have more devices than ranks. */
void dit_sim_links_device(const dit_sim_links *links, int rank, char out[DIT_SIM_DEVICE_NAME])
{
    int64_t node = rank / links->devices_per_node, device = rank % links->devices_per_node;
    snprintf(out, DIT_SIM_DEVICE_NAME, "device%lld", (long long)(node * links->node_devices + device));
}

/* The bandwidth of SimGrid's route; the case's where two ranks share a host. */
static double route_bandwidth(const dit_sim_links *links, int from, int to)
{
    char names[2][DIT_SIM_DEVICE_NAME];
    dit_sim_links_device(links, from, names[0]);
    dit_sim_links_device(links, to, names[1]);
    double bandwidth = links->grid->bandwidth(names[0], names[1]);
    return bandwidth > 0 ? bandwidth : links->any.bandwidth_bytes_per_s;
}

dit_cost_group dit_sim_links_group(const dit_sim_links *links, const int *ranks, int size)
{
    dit_cost_group group = links->any;
    double inside = INFINITY, ring = INFINITY;
    group.ranks = size;
    group.nodes = nodes_of(links, ranks, size);
    for (int i = 0; i < size; i++) {
        int next = ranks[(i + 1) % size];
        double bandwidth = route_bandwidth(links, ranks[i], next);
        ring = fmin(ring, bandwidth);
        if (size > 1 && same_node(links, ranks[i], next)) inside = fmin(inside, bandwidth);
    }
    group.ring_bandwidth_bytes_per_s = ring;
    group.ends_bytes_per_s = links->any.bandwidth_bytes_per_s;
    if (isfinite(inside)) group.bandwidth_bytes_per_s = inside;
    group.network_bandwidth_bytes_per_s *= fmin((double)links->adapters_per_node, (double)size / group.nodes);
    return group;
}

double dit_sim_links_copy_seconds(const dit_sim_links *links, int messages, double bytes)
{
    return messages * links->any.inside_latency_s + bytes / links->any.bandwidth_bytes_per_s;
}
