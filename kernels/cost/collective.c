/* NCCL's choice of protocol, from the constants of its tuning.cc. Seconds and bytes/s. */
#include "kernels/cost/collective.h"

#include <math.h>
#include <string.h>

static const double base_latency_s[DIT_COST_PROTOCOL_COUNT] = {6.6e-6, 14e-6, 8.4e-6};
static const double hop_latency_s[DIT_COST_LINK_COUNT][DIT_COST_PROTOCOL_COUNT] = {
    [DIT_COST_NVLINK] = {0.6e-6, 1.9e-6, 3.4e-6},
    [DIT_COST_PCIE] = {1.0e-6, 2.5e-6, 5.7e-6},
    [DIT_COST_NETWORK] = {2.7e-6, 4.0e-6, 14e-6},
};
/* LL's ceiling on one node, two nodes, and more. */
static const double ll_bytes_per_s[DIT_COST_GENERATION_COUNT][3] = {
    [DIT_COST_VOLTA] = {39e9, 39e9, 20.4e9},
    [DIT_COST_AMPERE] = {87.7e9, 22.5e9, 19e9},
    [DIT_COST_HOPPER] = {141e9, 45e9, 35e9},
    [DIT_COST_BLACKWELL] = {282e9, 90e9, 70e9},
};
static const double ll_share = 0.5, ll128_share = 0.92, p2p_ll_bytes = 16384;

const char *dit_cost_collective_name(dit_cost_collective collective)
{
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"};
    return collective < DIT_COST_COLLECTIVE_COUNT ? names[collective] : "unknown";
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

/* 0: that protocol does not run there. */
static double protocol_bandwidth(const dit_cost_group *g, dit_cost_protocol protocol)
{
    double link = g->bandwidth_bytes_per_s;
    int scale = g->nodes <= 1 ? 0 : g->nodes == 2 ? 1 : 2;
    switch (protocol) {
    case DIT_COST_LL: return fmin(ll_bytes_per_s[g->generation][scale], ll_share * link);
    case DIT_COST_LL128: return g->inside == DIT_COST_NVLINK && g->nodes <= 1 ? ll128_share * link : 0;
    default: return link;
    }
}

/* The fields that follow from protocol, steps and latency. links_s: the simulated links' own part of the latency. */
static dit_cost_exchange finished(const dit_cost_group *g, dit_cost_exchange e, double moved_bytes, double links_s)
{
    double bandwidth = protocol_bandwidth(g, e.protocol);
    e.step_latency_s = fmax(e.latency_s - links_s, 0) / e.steps;
    e.bandwidth_factor = bandwidth / g->bandwidth_bytes_per_s;
    e.seconds = bandwidth > 0 ? e.latency_s + moved_bytes / bandwidth : INFINITY;
    return e;
}

static dit_cost_exchange ring(const dit_cost_group *g, dit_cost_collective collective, dit_cost_protocol protocol,
                              double bytes)
{
    int rounds = collective == DIT_COST_ALL_REDUCE ? 2 : 1;
    int network = rounds * (g->nodes > 1 ? g->nodes - 1 : 0), inside = rounds * (g->ranks - 1) - network;
    dit_cost_exchange e = {.protocol = protocol, .steps = inside + network};
    e.latency_s = base_latency_s[protocol] + inside * hop_latency_s[g->inside][protocol] +
                  network * hop_latency_s[DIT_COST_NETWORK][protocol];
    return finished(g, e, bytes * e.steps / g->ranks, inside * g->inside_latency_s + network * g->network_latency_s);
}

static dit_cost_exchange fastest_ring(const dit_cost_group *g, dit_cost_collective collective, double bytes)
{
    dit_cost_exchange best = ring(g, collective, DIT_COST_SIMPLE, bytes);
    for (dit_cost_protocol protocol = DIT_COST_LL; protocol < DIT_COST_SIMPLE; protocol++) {
        dit_cost_exchange other = ring(g, collective, protocol, bytes);
        if (other.seconds < best.seconds) best = other;
    }
    return best;
}

static dit_cost_exchange at_once(const dit_cost_group *g, dit_cost_protocol protocol, double bytes)
{
    dit_cost_exchange e = {.protocol = protocol, .steps = 1};
    e.latency_s = base_latency_s[protocol] + hop_latency_s[g->nodes > 1 ? DIT_COST_NETWORK : g->inside][protocol];
    return finished(g, e, bytes, g->nodes > 1 ? g->network_latency_s : g->inside_latency_s);
}

static dit_cost_exchange messages(const dit_cost_group *g, dit_cost_collective collective, double bytes)
{
    double each = collective == DIT_COST_ALL_TO_ALL ? bytes / (g->ranks - 1) : bytes;
    dit_cost_exchange simple = at_once(g, DIT_COST_SIMPLE, bytes), ll = at_once(g, DIT_COST_LL, bytes);
    return each <= p2p_ll_bytes && ll.seconds < simple.seconds ? ll : simple;
}

dit_cost_exchange dit_cost_exchange_of(const dit_cost_group *group, dit_cost_collective collective, double bytes)
{
    dit_cost_exchange e = {.protocol = DIT_COST_LL, .bandwidth_factor = 1};
    if (group->ranks <= 1 || !(bytes > 0)) return e;
    if (collective == DIT_COST_ALL_TO_ALL || collective == DIT_COST_SEND_RECV)
        return messages(group, collective, bytes);
    return fastest_ring(group, collective, bytes);
}
