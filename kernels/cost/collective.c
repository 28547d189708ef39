/* NCCL's choice of protocol, from the constants of its tuning.cc. Seconds and bytes/s. */
#include "kernels/cost/collective.h"

#include <math.h>

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

static dit_cost_exchange ring(const dit_cost_group *g, dit_cost_collective collective, dit_cost_protocol protocol,
                              double bytes)
{
    int rounds = collective == DIT_COST_ALL_REDUCE ? 2 : 1, network = rounds * (g->nodes > 1 ? g->nodes - 1 : 0);
    dit_cost_exchange e = {.protocol = protocol, .steps = rounds * (g->ranks - 1)};
    double bandwidth = protocol_bandwidth(g, protocol);
    e.latency_s = base_latency_s[protocol] + (e.steps - network) * hop_latency_s[g->inside][protocol] +
                  network * hop_latency_s[DIT_COST_NETWORK][protocol];
    e.bandwidth_factor = bandwidth / g->bandwidth_bytes_per_s;
    e.seconds = bandwidth > 0 ? e.latency_s + bytes * e.steps / (g->ranks * bandwidth) : INFINITY;
    return e;
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
    double bandwidth = protocol_bandwidth(g, protocol);
    e.latency_s = base_latency_s[protocol] + hop_latency_s[g->nodes > 1 ? DIT_COST_NETWORK : g->inside][protocol];
    e.bandwidth_factor = bandwidth / g->bandwidth_bytes_per_s;
    e.seconds = e.latency_s + bytes / bandwidth;
    return e;
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
    e = collective == DIT_COST_ALL_TO_ALL || collective == DIT_COST_SEND_RECV ? messages(group, collective, bytes)
                                                                              : fastest_ring(group, collective, bytes);
    e.step_latency_s = e.latency_s / e.steps;
    return e;
}
