/* NCCL's choice of algorithm and protocol, from the constants of its tuning.cc. Seconds and bytes/s.
 *
 * Bandwidths are bus bandwidths, those that a ring would need to be as fast. Whatever its algorithm, a collective of
 * `bytes` takes latency + bytes * steps / ranks / bandwidth, with the steps of a ring.
 */
#include "kernels/cost/collective.h"

#include <math.h>
#include <string.h>

/* ring, tree */
static const double base_latency_s[2][DIT_COST_PROTOCOL_COUNT] = {{6.6e-6, 14e-6, 8.4e-6}, {6.8e-6, 14e-6, 8.4e-6}};
static const double hop_latency_s[2][DIT_COST_LINK_COUNT][DIT_COST_PROTOCOL_COUNT] = {
    [DIT_COST_RING] = {[DIT_COST_NVLINK] = {0.6e-6, 1.9e-6, 3.4e-6},
                       [DIT_COST_PCIE] = {1.0e-6, 2.5e-6, 5.7e-6},
                       [DIT_COST_NETWORK] = {2.7e-6, 4.0e-6, 14e-6}},
    [DIT_COST_TREE] = {[DIT_COST_NVLINK] = {0.6e-6, 1.25e-6, 4.0e-6},
                       [DIT_COST_PCIE] = {1.0e-6, 1.9e-6, 4.0e-6},
                       [DIT_COST_NETWORK] = {5.0e-6, 8.5e-6, 14e-6}},
};
static const double nvls_latency_s = 25e-6, nvls_network_hop_s = 20.9e-6, network_post_s = 1e-6;
/* LL's ceiling for one node, two nodes, and more. */
static const double ll_bytes_per_s[DIT_COST_GENERATION_COUNT][3] = {
    [DIT_COST_VOLTA] = {39e9, 39e9, 20.4e9},
    [DIT_COST_AMPERE] = {87.7e9, 22.5e9, 19e9},
    [DIT_COST_HOPPER] = {141e9, 45e9, 35e9},
    [DIT_COST_BLACKWELL] = {282e9, 90e9, 70e9},
};
static const double ll_share = 0.5, ll128_share = 0.92, p2p_ll_bytes = 16384;
static const double tree_share = 0.92, tree_ll_share = 1 / 3.8, tree_ll128_share[2] = {7.0 / 9, 120.0 / 128};
/* Trees fall short of the model at medium sizes. These are the fractions of the bandwidth that they reach at 64 bytes,
 * 128, ... 512 MiB and above. */
enum { TREE_SIZES = 24 };
static const double tree_correction[DIT_COST_PROTOCOL_COUNT][TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, 1},
};
/* NVLS has one channel for every device of a node; it runs at the highest of these speeds that the links allow. */
enum { P2P_CHANNELS = 32, NVLS_CHANNELS = 32, CHANNEL_SPEEDS = 12 };
static const double nvls_efficiency[DIT_COST_GENERATION_COUNT] = {0, 0, 0.85, 0.74};
static const double channel_bytes_per_s[DIT_COST_GENERATION_COUNT][CHANNEL_SPEEDS] = {
    [DIT_COST_HOPPER] = {60e9, 50e9, 40e9, 30e9, 24e9, 20e9, 15e9, 12e9, 11e9, 6e9, 3e9},
    [DIT_COST_BLACKWELL] = {90e9, 80e9, 70e9, 60e9, 50e9, 45e9, 40e9, 30e9, 24e9, 20e9, 19e9, 18e9},
};
/* What a block of threads moves over NVLink (the tuner's perChMaxRingLL128Bws), and the most that a channel carries of a
 * message which could have more of them. */
static const double p2p_channel_bytes_per_s[DIT_COST_GENERATION_COUNT] = {20e9, 20e9, 36.7e9, 40e9};
static const double p2p_part_bytes = 16 << 20;
/* Rate of one channel of an NVLS tree, for two nodes, and for more. */
static const double nvls_tree_bytes_per_s[DIT_COST_GENERATION_COUNT][2] = {
    [DIT_COST_HOPPER] = {57.7e9, 45.5e9},
    [DIT_COST_BLACKWELL] = {96e9, 80e9},
};

const char *dit_cost_collective_name(dit_cost_collective collective)
{
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"};
    return collective < DIT_COST_COLLECTIVE_COUNT ? names[collective] : "unknown";
}

const char *dit_cost_algorithm_name(dit_cost_algorithm algorithm)
{
    static const char *const names[] = {"ring", "tree", "nvls", "nvls tree"};
    return algorithm < DIT_COST_ALGORITHM_COUNT ? names[algorithm] : "unknown";
}

const char *dit_cost_protocol_name(dit_cost_protocol protocol)
{
    static const char *const names[] = {"ll", "ll128", "simple"};
    return protocol < DIT_COST_PROTOCOL_COUNT ? names[protocol] : "unknown";
}

dit_cost_generation dit_cost_generation_of(const char *architecture)
{
    static const struct {
        const char *word;
        dit_cost_generation generation;
    } words[] = {{"Volta", DIT_COST_VOLTA},
                 {"Turing", DIT_COST_VOLTA},
                 {"Hopper", DIT_COST_HOPPER},
                 {"Blackwell", DIT_COST_BLACKWELL}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strncmp(architecture, words[i].word, strlen(words[i].word))) return words[i].generation;
    return DIT_COST_AMPERE;
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

/* Returns what a node's adapters bring to one message of each rank. */
static double message_bandwidth(const dit_cost_group *g)
{
    return g->network_bandwidth_bytes_per_s > 0 ? g->network_bandwidth_bytes_per_s : g->bandwidth_bytes_per_s;
}

/* Returns what they bring to a collective, which may have more channels than a message. */
static double node_bandwidth(const dit_cost_group *g)
{
    return message_bandwidth(g) * (g->network_collective_times > 0 ? g->network_collective_times : 1);
}

/* Returns the bandwidth of each rank of a collective when every node sends `times` as much as in a ring. */
static double link_bandwidth(const dit_cost_group *g, double times)
{
    return g->nodes > 1 ? fmin(g->bandwidth_bytes_per_s, times * node_bandwidth(g)) : g->bandwidth_bytes_per_s;
}

static double simulated_bandwidth(const dit_cost_group *g)
{
    double message = g->nodes > 1 ? fmin(g->bandwidth_bytes_per_s, message_bandwidth(g)) : g->bandwidth_bytes_per_s;
    return g->ring_bandwidth_bytes_per_s > 0 ? g->ring_bandwidth_bytes_per_s : message;
}

static double message_latency(const dit_cost_group *g)
{
    return g->nodes > 1 ? g->network_latency_s : g->inside_latency_s;
}

/* Returns 0 for one node, 1 for two, 2 for more. */
static int scale_of(const dit_cost_group *g)
{
    return g->nodes <= 1 ? 0 : g->nodes == 2 ? 1 : 2;
}

static double ll_ceiling(const dit_cost_group *g)
{
    return ll_bytes_per_s[g->generation][scale_of(g)];
}

static bool has_ll128(const dit_cost_group *g)
{
    return g->inside == DIT_COST_NVLINK && g->nodes <= 1;
}

static double whole_log2(double value)
{
    return floor(log2(value));
}

/* Fills the fields that follow from algorithm, protocol and latency. bandwidth 0: the combination cannot run. */
static dit_cost_exchange finished(const dit_cost_group *g, dit_cost_exchange e, double bandwidth, double moved_bytes,
                                  double links_s)
{
    e.front_latency_s = fmax(e.latency_s - links_s, 0);
    e.bandwidth_factor = bandwidth / simulated_bandwidth(g);
    e.seconds = bandwidth > 0 ? e.latency_s + moved_bytes / bandwidth : INFINITY;
    return e;
}

/* ---- rings and trees --------------------------------------------------------------------------------------------- */

static double ring_steps(const dit_cost_group *g, dit_cost_collective collective)
{
    return (collective == DIT_COST_ALL_REDUCE ? 2.0 : 1.0) * (g->ranks - 1);
}

static double ring_bandwidth(const dit_cost_group *g, dit_cost_protocol protocol)
{
    double link = link_bandwidth(g, 1);
    switch (protocol) {
    case DIT_COST_LL: return fmin(ll_ceiling(g), ll_share * link);
    case DIT_COST_LL128: return has_ll128(g) ? ll128_share * link : 0;
    default: return link;
    }
}

/* Returns the latency of a ring. Between nodes every step is posted to the network, and with one rank per node nothing
 * hides the network's hops. */
static double ring_latency(const dit_cost_group *g, dit_cost_collective collective, dit_cost_protocol protocol)
{
    double rounds = collective == DIT_COST_ALL_REDUCE ? 2 : 1, network = g->nodes > 1 ? rounds * (g->nodes - 1) : 0;
    double inside = ring_steps(g, collective) - network, hop = hop_latency_s[DIT_COST_RING][g->inside][protocol];
    int way = g->ranks == g->nodes ? DIT_COST_TREE : DIT_COST_RING;
    if (g->nodes > 1) hop = fmax(hop, protocol == DIT_COST_SIMPLE ? 3 * network_post_s : network_post_s);
    double latency = base_latency_s[DIT_COST_RING][protocol] + inside * hop +
                     network * hop_latency_s[way][DIT_COST_NETWORK][protocol];
    bool plateau = protocol == DIT_COST_SIMPLE && g->nodes > 1 && collective == DIT_COST_ALL_REDUCE;
    return plateau ? latency * (g->generation == DIT_COST_VOLTA ? 1.9 : 1.4) : latency;
}

/* Interpolates the tree's correction between two sizes. NCCL takes that of the next smaller size, which would let time
 * fall when the size grows. */
static double correction_of(dit_cost_protocol protocol, double bytes)
{
    double at = fmin(fmax(log2(bytes / 64), 0), TREE_SIZES - 1), below = floor(at);
    int left = (int)below, right = left + 1 < TREE_SIZES ? left + 1 : left;
    return tree_correction[protocol][left] +
           (at - below) * (tree_correction[protocol][right] - tree_correction[protocol][left]);
}

static double tree_bandwidth(const dit_cost_group *g, dit_cost_protocol protocol, double bytes)
{
    double link = tree_share * link_bandwidth(g, g->nodes == 2 ? 2 : 1), rank_share = (g->ranks - 1.0) / g->ranks;
    if (g->nodes > 1 && g->network_rings_only) return 0;
    if (protocol == DIT_COST_LL) link = fmin(link * tree_ll_share, ll_ceiling(g));
    if (protocol == DIT_COST_LL128) link = has_ll128(g) ? link * tree_ll128_share[g->nodes > 1] : 0;
    return link * correction_of(protocol, bytes) * rank_share;
}

static double tree_latency(const dit_cost_group *g, dit_cost_protocol protocol)
{
    return base_latency_s[DIT_COST_TREE][protocol] +
           2 * (((double)g->ranks / g->nodes - 1) * hop_latency_s[DIT_COST_TREE][g->inside][protocol] +
                whole_log2(g->nodes) * hop_latency_s[DIT_COST_TREE][DIT_COST_NETWORK][protocol]);
}

/* ---- the switch -------------------------------------------------------------------------------------------------- */

static int nvls_channels(const dit_cost_group *g)
{
    int devices = g->ranks / g->nodes;
    return devices < NVLS_CHANNELS ? devices : NVLS_CHANNELS;
}

/* Returns the NVLS bandwidth of one node, before a collective's own factor; 0: the switch cannot add. */
static double nvls_node_bandwidth(const dit_cost_group *g)
{
    int channels = nvls_channels(g);
    if (!g->nvswitch || channels < 2) return 0;
    for (int i = 0; i < CHANNEL_SPEEDS; i++) {
        double speed = channel_bytes_per_s[g->generation][i];
        if (speed > 0 && speed * channels <= g->bandwidth_bytes_per_s)
            return speed * (channels - 1) * nvls_efficiency[g->generation];
    }
    return 0;
}

static double nvls_bandwidth(const dit_cost_group *g, dit_cost_collective collective)
{
    double share = (g->ranks - 1.0) / g->ranks, node = nvls_node_bandwidth(g);
    if (g->nodes > 1) return 0;
    return collective == DIT_COST_ALL_REDUCE ? 2 * node : share * share * node;
}

static double nvls_tree_bandwidth(const dit_cost_group *g, double bytes)
{
    if (g->nodes <= 1) return 0;
    double most = nvls_tree_bytes_per_s[g->generation][g->nodes > 2] * nvls_channels(g);
    double node = fmin(2 * nvls_node_bandwidth(g), (g->nodes == 2 ? 2 : 1) * node_bandwidth(g));
    return fmin(node, most) * (g->generation == DIT_COST_BLACKWELL ? correction_of(DIT_COST_SIMPLE, bytes) : 1);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static double latency_of(const dit_cost_group *g, dit_cost_collective collective, dit_cost_algorithm algorithm,
                         dit_cost_protocol protocol)
{
    switch (algorithm) {
    case DIT_COST_RING: return ring_latency(g, collective, protocol);
    case DIT_COST_TREE: return tree_latency(g, protocol);
    case DIT_COST_NVLS: return nvls_latency_s;
    default: return nvls_latency_s + 2 * whole_log2(g->nodes) * nvls_network_hop_s;
    }
}

static double bandwidth_of(const dit_cost_group *g, dit_cost_collective collective, dit_cost_algorithm algorithm,
                           dit_cost_protocol protocol, double bytes)
{
    bool sum = collective == DIT_COST_ALL_REDUCE, simple = protocol == DIT_COST_SIMPLE;
    switch (algorithm) {
    case DIT_COST_RING: return ring_bandwidth(g, protocol);
    case DIT_COST_TREE: return sum ? tree_bandwidth(g, protocol, bytes) : 0;
    case DIT_COST_NVLS: return simple ? nvls_bandwidth(g, collective) : 0;
    default: return sum && simple ? nvls_tree_bandwidth(g, bytes) : 0;
    }
}

static dit_cost_exchange of_all(const dit_cost_group *g, dit_cost_collective collective, double bytes)
{
    dit_cost_exchange best = {.seconds = INFINITY};
    for (dit_cost_algorithm algorithm = DIT_COST_RING; algorithm < DIT_COST_ALGORITHM_COUNT; algorithm++) {
        for (dit_cost_protocol protocol = DIT_COST_LL; protocol < DIT_COST_PROTOCOL_COUNT; protocol++) {
            dit_cost_exchange e = {.algorithm = algorithm, .protocol = protocol};
            e.latency_s = latency_of(g, collective, algorithm, protocol);
            e = finished(g, e, bandwidth_of(g, collective, algorithm, protocol, bytes),
                         bytes * ring_steps(g, collective) / g->ranks, message_latency(g));
            if (e.seconds < best.seconds) best = e;
        }
    }
    return best;
}

/* ---- messages between two ---------------------------------------------------------------------------------------- */

/* Returns the share of its bandwidth that a rank keeps with so many peers at once. */
static double peers_share(const dit_cost_group *g, int peers)
{
    static const int few_peers = 3;
    double many = g->nodes > 1 ? g->network_many_peers_efficiency : g->inside_many_peers_efficiency;
    double few = g->nodes > 1 ? g->network_few_peers_efficiency : g->inside_few_peers_efficiency;
    if (!(many > 0)) many = 1;
    if (!(few > 0)) return pow(many, log2(peers));
    double along = fmin((peers - 1.0) / (few_peers - 1), 1) * log2(few_peers);
    return pow(few, along) * pow(many, fmax(log2(peers) - log2(few_peers), 0));
}

/* Returns the bandwidth of a rank's messages to so many peers, of `bytes` each, by their channels. */
static double channels_bandwidth(const dit_cost_group *g, int peers, double bytes)
{
    int channels = P2P_CHANNELS;
    if (g->nodes > 1 || g->inside != DIT_COST_NVLINK || !g->nvswitch) return INFINITY;
    while (channels > 1 && channels * g->ranks > P2P_CHANNELS) channels /= 2;
    while (channels < P2P_CHANNELS && bytes > channels * p2p_part_bytes) channels *= 2;
    return fmin((double)peers * channels, P2P_CHANNELS) * p2p_channel_bytes_per_s[g->generation];
}

static double protocol_bandwidth(const dit_cost_group *g, dit_cost_protocol protocol, double link)
{
    return protocol == DIT_COST_LL ? fmin(ll_ceiling(g), ll_share * link) : link;
}

/* Returns what a rank's own links bring in its node. */
static double ends_bandwidth(const dit_cost_group *g)
{
    return g->nodes <= 1 && g->ends_bytes_per_s > 0 ? g->ends_bytes_per_s : simulated_bandwidth(g);
}

/* Predicts a group of messages to several peers, which share the rank's links. What many peers cost is lost at the
 * ranks' ends, so links that slow senders share with others are no fuller; between nodes it is lost on the network. */
static dit_cost_exchange at_once(const dit_cost_group *g, dit_cost_protocol protocol, int peers, double bytes)
{
    double message = bytes / peers / (g->tensors > 1 ? g->tensors : 1);
    double channels = channels_bandwidth(g, peers, message), link = fmin(simulated_bandwidth(g), channels);
    double left = fmin(ends_bandwidth(g), channels) * peers_share(g, peers);
    dit_cost_exchange e = {.algorithm = DIT_COST_RING, .protocol = protocol};
    e.latency_s = base_latency_s[DIT_COST_RING][protocol] +
                  hop_latency_s[DIT_COST_RING][g->nodes > 1 ? DIT_COST_NETWORK : g->inside][protocol];
    e = finished(g, e, protocol_bandwidth(g, protocol, g->nodes > 1 ? left : link), bytes, peers * message_latency(g));
    if (g->nodes <= 1 && left < link) e.ends_s = e.latency_s + bytes / protocol_bandwidth(g, protocol, left);
    e.seconds = fmax(e.seconds, e.ends_s);
    return e;
}

static dit_cost_exchange messages(const dit_cost_group *g, int peers, double bytes)
{
    dit_cost_exchange simple = at_once(g, DIT_COST_SIMPLE, peers, bytes), ll = at_once(g, DIT_COST_LL, peers, bytes);
    return bytes / peers <= p2p_ll_bytes && ll.seconds < simple.seconds ? ll : simple;
}

dit_cost_exchange dit_cost_exchange_of(const dit_cost_group *group, dit_cost_collective collective, double bytes)
{
    dit_cost_exchange nothing = {.protocol = DIT_COST_LL, .bandwidth_factor = 1};
    if (group->ranks <= 1 || !(bytes > 0)) return nothing;
    if (collective == DIT_COST_ALL_TO_ALL) return messages(group, group->ranks - 1, bytes);
    if (collective == DIT_COST_SEND_RECV) return messages(group, 1, bytes);
    return of_all(group, collective, bytes);
}
