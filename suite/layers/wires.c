#include "suite/layers/wires.h"

#include "suite/platform/cluster_xml.h"

#include <math.h>
#include <stdlib.h>

suite_wires suite_wires_of(const suite_cluster *cluster, const char *architecture, int ranks)
{
    return (suite_wires){.cluster = cluster,
                         .architecture = architecture,
                         .ranks = ranks,
                         .ranks_per_node = suite_cluster_ranks_per_node(cluster, ranks)};
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static int node_of(const suite_wires *wires, int rank)
{
    return rank / wires->ranks_per_node;
}

static int device_of(const suite_wires *wires, int rank)
{
    return node_of(wires, rank) * wires->cluster->devices + rank % wires->ranks_per_node;
}

/* The first rank of group `index`: groups of one stride lie inside each other. */
static int first_rank(suite_wire_groups groups, int index)
{
    return index / groups.stride * groups.stride * groups.size + index % groups.stride;
}

static int member(suite_wire_groups groups, int index, int at)
{
    return first_rank(groups, index) + at % groups.size * groups.stride;
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

/* Messages on each link and direction of each node, and of each node's link to the fabric behind them. */
typedef struct {
    const suite_wires *wires;
    int *loads; /* [nodes][link_count + 1][2] */
} traffic;

static void load(traffic *t, int node, int link, bool down)
{
    t->loads[(node * (t->wires->cluster->link_count + 1) + link) * 2 + down]++;
}

static void load_path(traffic *t, int node, int from, int to, bool backward)
{
    suite_hop hops[SUITE_PATH_HOPS];
    int count = suite_cluster_path(t->wires->cluster, from, to, hops);
    for (int i = 0; i < count; i++) load(t, node, hops[i].link, hops[i].down != backward);
}

static void send(traffic *t, int from, int to)
{
    const suite_wires *wires = t->wires;
    int devices = wires->cluster->devices, fabric = wires->cluster->link_count;
    int sender = node_of(wires, from), receiver = node_of(wires, to);
    if (sender == receiver) {
        load_path(t, sender, device_of(wires, from) % devices, device_of(wires, to) % devices, false);
        return;
    }
    load_path(t, sender, device_of(wires, from) % devices, SUITE_OUTSIDE, false);
    load_path(t, receiver, device_of(wires, to) % devices, SUITE_OUTSIDE, true);
    load(t, sender, fabric, false);
    load(t, receiver, fabric, true);
}

static double share_of(const suite_link *link, const int loads[2])
{
    int flows = link->link_class.sharing == SUITE_LINK_SHARED ? loads[0] + loads[1] : loads[loads[1] > loads[0]];
    if (link->link_class.sharing == SUITE_LINK_PER_FLOW && flows > 1) flows = 1;
    return flows ? link->bandwidth_bytes_per_s / flows : INFINITY;
}

/* The bandwidth that the slowest message gets. */
static double slowest(const traffic *t, int nodes)
{
    const suite_cluster *cluster = t->wires->cluster;
    double least = INFINITY;
    for (int node = 0; node < nodes; node++)
        for (int link = 0; link <= cluster->link_count; link++)
            least = fmin(least, share_of(link < cluster->link_count ? &cluster->links[link] : &cluster->fabric,
                                         &t->loads[(node * (cluster->link_count + 1) + link) * 2]));
    return least;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* The least bandwidth between neighbours of the first group's ring; each pair alone. */
static double alone(const suite_wires *wires, suite_wire_groups groups, double *inside)
{
    double least = INFINITY, latency, bandwidth;
    *inside = INFINITY;
    for (int i = 0; i < groups.size; i++) {
        int from = member(groups, 0, i), to = member(groups, 0, i + 1);
        suite_cluster_pair(wires->cluster, device_of(wires, from), device_of(wires, to), &latency, &bandwidth);
        least = fmin(least, bandwidth);
        if (node_of(wires, from) == node_of(wires, to)) *inside = fmin(*inside, bandwidth);
    }
    return least;
}

double suite_wires_crowding(const suite_wires *wires, suite_wire_groups groups)
{
    const suite_cluster *cluster = wires->cluster;
    int nodes = (wires->ranks + wires->ranks_per_node - 1) / wires->ranks_per_node, count = wires->ranks / groups.size;
    double inside, single;
    if (groups.size < 2 || cluster->topology == SUITE_TOPOLOGY_CORES) return 1;
    traffic t = {wires, calloc((size_t)nodes * (size_t)(cluster->link_count + 1) * 2, sizeof(int))};
    if (!t.loads) return 1;
    for (int index = 0; index < count; index++)
        for (int i = 0; i < groups.size; i++) send(&t, member(groups, index, i), member(groups, index, i + 1));
    single = alone(wires, groups, &inside);
    double crowding = single / slowest(&t, nodes);
    free(t.loads);
    return crowding > 1 ? crowding : 1;
}

static int nodes_of(const suite_wires *wires, suite_wire_groups groups)
{
    int nodes = 1;
    for (int i = 1; i < groups.size; i++)
        nodes += node_of(wires, member(groups, 0, i)) != node_of(wires, member(groups, 0, i - 1));
    return nodes;
}

/* As the engine's simulator describes a group to the collective library. */
static dit_cost_group group_of(const suite_wires *wires, suite_wire_groups groups)
{
    const suite_cluster *cluster = wires->cluster;
    double inside, network;
    dit_cost_group group = {.inside = cluster->topology == SUITE_TOPOLOGY_TREE ? DIT_COST_PCIE : DIT_COST_NVLINK,
                            .nvswitch = cluster->topology == SUITE_TOPOLOGY_SWITCH,
                            .generation = dit_cost_generation_of(wires->architecture),
                            .ranks = groups.size,
                            .nodes = nodes_of(wires, groups)};
    group.ring_bandwidth_bytes_per_s = alone(wires, groups, &inside);
    suite_cluster_pair(cluster, 0, cluster->devices > 1 ? 1 : 0, &group.inside_latency_s, &group.bandwidth_bytes_per_s);
    if (isfinite(inside)) group.bandwidth_bytes_per_s = inside;
    if (cluster->nodes <= 1) return group;
    suite_cluster_pair(cluster, 0, cluster->devices, &group.network_latency_s, &network);
    group.network_bandwidth_bytes_per_s = network * fmin(cluster->nics, (double)groups.size / group.nodes);
    group.network_collective_times = suite_cluster_channels_times(cluster, network);
    group.network_rings_only = !cluster->fabric.link_class.trees;
    return group;
}

double suite_wires_seconds(const suite_wires *wires, suite_wire_groups groups, dit_cost_collective collective,
                           double bytes)
{
    if (groups.size < 2 || !(bytes > 0)) return 0;
    dit_cost_group group = group_of(wires, groups);
    dit_cost_exchange exchange = dit_cost_exchange_of(&group, collective, bytes);
    double wire = exchange.seconds - exchange.latency_s;
    return exchange.latency_s + wire * suite_wires_crowding(wires, groups);
}
