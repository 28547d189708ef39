/* Collectives in the cost model: by hand, and beside what was measured and published. */
#include "kernels/cost/collective.h"

#include "kernels/tests/cost_fixture.h"

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static dit_cost_group group_of(dit_cost_link_kind inside, double bandwidth, int ranks, int nodes)
{
    return (dit_cost_group){.inside = inside,
                            .generation = DIT_COST_AMPERE,
                            .bandwidth_bytes_per_s = bandwidth,
                            .ranks = ranks,
                            .nodes = nodes};
}

static void latencies_are_those_of_the_tuner(void **state)
{
    dit_cost_group nvlink = group_of(DIT_COST_NVLINK, 240e9, 8, 1), pcie = group_of(DIT_COST_PCIE, 12e9, 4, 1);
    dit_cost_group nodes = group_of(DIT_COST_NVLINK, 240e9, 16, 2);
    (void)state;
    dit_cost_exchange e = dit_cost_exchange_of(&nvlink, DIT_COST_ALL_REDUCE, 1024);
    assert_int_equal(e.algorithm, DIT_COST_RING);
    assert_int_equal(e.protocol, DIT_COST_LL);
    assert_close(e.latency_s, 6.6e-6 + 14 * 0.6e-6, 1e-12);
    assert_close(e.bandwidth_factor, 87.7 / 240, 1e-12);
    e = dit_cost_exchange_of(&nvlink, DIT_COST_ALL_GATHER, 1e6);
    assert_int_equal(e.protocol, DIT_COST_LL);
    e = dit_cost_exchange_of(&nvlink, DIT_COST_ALL_REDUCE, 16e6);
    assert_int_equal(e.protocol, DIT_COST_LL128);
    assert_close(e.seconds, 14e-6 + 14 * 1.9e-6 + 16e6 * 14 / 8 / (0.92 * 240e9), 1e-12);
    e = dit_cost_exchange_of(&nvlink, DIT_COST_ALL_REDUCE, 1e9);
    assert_int_equal(e.protocol, DIT_COST_SIMPLE);
    assert_close(e.bandwidth_factor, 1, 0);
    for (double bytes = 1; bytes < 1e10; bytes *= 2)
        assert_int_not_equal(dit_cost_exchange_of(&pcie, DIT_COST_ALL_REDUCE, bytes).protocol, DIT_COST_LL128);
    nodes.network_bandwidth_bytes_per_s = 200e9;
    e = dit_cost_exchange_of(&nodes, DIT_COST_ALL_GATHER, 1e10);
    assert_int_equal(e.algorithm, DIT_COST_RING);
    assert_close(e.latency_s, 8.4e-6 + 14 * 3.4e-6 + 14e-6, 1e-12);
    assert_close(e.seconds, e.latency_s + 1e10 * 15 / 16 / 200e9, 1e-9);
    assert_close(e.front_latency_s, e.latency_s, 0);
    nodes.network_latency_s = 5e-6; /* the links' own, which are not put in front once more */
    assert_close(dit_cost_exchange_of(&nodes, DIT_COST_ALL_GATHER, 1e10).front_latency_s, e.latency_s - 5e-6, 1e-12);
    nodes.network_latency_s = 1;
    assert_close(dit_cost_exchange_of(&nodes, DIT_COST_ALL_GATHER, 1e10).front_latency_s, 0, 0);
}

/* Two nodes: every node sends what it has once each way, where a ring sends it twice; more: twice. */
static void trees_are_for_sums_of_many_nodes(void **state)
{
    dit_cost_group g = group_of(DIT_COST_NVLINK, 240e9, 16, 2);
    (void)state;
    g.network_bandwidth_bytes_per_s = 50e9;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e10);
    assert_int_equal(e.algorithm, DIT_COST_TREE);
    assert_int_equal(e.protocol, DIT_COST_SIMPLE);
    assert_close(e.latency_s, 8.4e-6 + 2 * (7 * 4e-6 + 14e-6), 1e-12);
    assert_close(e.seconds, e.latency_s + 1e10 / (0.92 * 50e9), 1e-9);
    g.ranks = 32, g.nodes = 4;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e10);
    assert_int_equal(e.algorithm, DIT_COST_RING);
    assert_close(e.seconds, e.latency_s + 1e10 * 62 / 32 / 50e9, 1e-9);
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1024); /* latency goes with the logarithm of the nodes */
    assert_int_equal(e.algorithm, DIT_COST_TREE);
    assert_close(e.latency_s, 6.8e-6 + 2 * (7 * 0.6e-6 + 2 * 5e-6), 1e-12);
    for (double bytes = 1; bytes < 1e10; bytes *= 2)
        assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, bytes).algorithm, DIT_COST_RING);
}

static void switches_add_up_from_hopper_on(void **state)
{
    dit_cost_group g = group_of(DIT_COST_NVLINK, 367.6e9, 8, 1);
    (void)state;
    g.nvswitch = true;
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9).algorithm, DIT_COST_RING); /* Ampere */
    g.generation = DIT_COST_HOPPER;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9);
    assert_int_equal(e.algorithm, DIT_COST_NVLS);
    assert_close(e.seconds, 25e-6 + 1e9 / (8 * 40e9 * 0.85), 1e-12); /* 8 channels of 40 GB/s in 367.6 */
    assert_true(e.bandwidth_factor > 1);                             /* than a ring */
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 1e9).algorithm, DIT_COST_RING);
    g.nvswitch = false;
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9).algorithm, DIT_COST_RING);
    g.nvswitch = true;
    g.ranks = 4; /* too few channels */
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9).algorithm, DIT_COST_RING);
    g.ranks = 16, g.nodes = 2, g.network_bandwidth_bytes_per_s = 400e9;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9);
    assert_int_equal(e.algorithm, DIT_COST_NVLS_TREE);
    assert_close(e.latency_s, 25e-6 + 2 * 20.9e-6, 1e-12);
    assert_close(e.seconds, e.latency_s + 1e9 * 30 / 16 / (8 * 57.7e9), 1e-12);
}

/* A rank's simulated messages may have less, or more, than the library has: all adapters of a node, the switch. */
static void simulated_messages_take_the_librarys_time(void **state)
{
    dit_cost_group g = group_of(DIT_COST_NVLINK, 367.6e9, 16, 2);
    (void)state;
    g.generation = DIT_COST_HOPPER;
    g.network_bandwidth_bytes_per_s = 400e9;
    g.ring_bandwidth_bytes_per_s = 50e9; /* one adapter of eight */
    for (double bytes = 1024; bytes < 1e10; bytes *= 4) {
        dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, bytes);
        double passed = bytes * 15 / 16, simulated = passed / e.bandwidth_factor / g.ring_bandwidth_bytes_per_s;
        assert_close(e.front_latency_s + simulated, e.seconds, 1e-12 * e.seconds + 1e-15);
    }
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 1e10).bandwidth_factor, 367.6 / 50, 1e-12);
}

/* A slower link between two sockets takes nothing from what the ends of three ranks lose. */
static void ends_lose_of_their_own_links(void **state)
{
    dit_cost_group g = group_of(DIT_COST_PCIE, 12e9, 3, 1);
    (void)state;
    g.inside_many_peers_efficiency = 0.25;
    double of_the_link = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 2e9).ends_s;
    g.ends_bytes_per_s = 24e9;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 2e9);
    assert_close(e.ends_s - e.latency_s, (of_the_link - e.latency_s) / 2, 1e-9);
    assert_close(e.bandwidth_factor, 1, 0);
    g.ends_bytes_per_s = 48e9; /* as much as the link passes: nothing is lost at the ends */
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 2e9);
    assert_close(e.ends_s, 0, 0);
    assert_close(e.seconds - e.latency_s, 2e9 / 12e9, 1e-9);
}

/* Published layer rates of PCIe hosts come to 3.8 GB/s for a rank of Ulysses among 4, to 1.2 among 8, and to 15 for a
 * rank of a ring. Inside a node the ends take that; the links between them pass what they pass. */
static void many_peers_at_once_have_less_each_for_every_doubling(void **state)
{
    dit_cost_group g = group_of(DIT_COST_PCIE, 15e9, 8, 1);
    (void)state;
    double alone = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).seconds;
    g.inside_many_peers_efficiency = 0.5;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9);
    assert_close(e.seconds - e.latency_s, (alone - e.latency_s) * pow(2, log2(7)), 1e-9);
    assert_close(e.ends_s, e.seconds, 0);
    assert_close(e.bandwidth_factor, 1, 0);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 7e9).ends_s, 0, 0);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 7e9).ends_s, 0, 0);
    g.ranks = 2;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).ends_s, 0, 0);
    g.ranks = 5;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9);
    assert_close(e.ends_s, e.latency_s + 7e9 / (15e9 / 4), 1e-9);
    g.network_many_peers_efficiency = 0.1;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).ends_s, e.ends_s, 0);
    g.nodes = 2; /* the network's */
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).ends_s, 0, 0);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).bandwidth_factor, 0.01, 1e-12);
    g.network_many_peers_efficiency = 0.9;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).bandwidth_factor, 0.81, 1e-12);
}

/* Half for each doubling up to three peers, a quarter after: by hand, with three and with seven. */
static void few_peers_may_lose_otherwise_than_many(void **state)
{
    dit_cost_group g = group_of(DIT_COST_PCIE, 16e9, 4, 1);
    (void)state;
    g.inside_many_peers_efficiency = 0.25;
    g.inside_few_peers_efficiency = 0.5;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 3e9);
    assert_close(e.ends_s - e.latency_s, 3e9 / (16e9 / 3), 1e-12); /* 0.5^log2(3) = 1/3 */
    g.ranks = 8;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9);
    assert_close(e.ends_s - e.latency_s, 7e9 / (16e9 / 3 * 9 / 49), 1e-9); /* 0.25^log2(7/3) = (3/7)^2 */
    g.ranks = 3;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 2e9);
    assert_close(e.ends_s - e.latency_s, 2e9 / (16e9 / sqrt(3)), 1e-12);
    g.ranks = 2;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).ends_s, 0, 0);
    g.inside_few_peers_efficiency = 0; /* off: one exponent for all */
    g.ranks = 4;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 3e9);
    assert_close(e.ends_s - e.latency_s, 3e9 / (16e9 / 9), 1e-9);
}

/* Sockets of 1 GB/s: a message has one, a gather two, and a sum goes around like it. */
static void collectives_have_two_channels_between_nodes(void **state)
{
    dit_cost_group g = group_of(DIT_COST_PCIE, 15e9, 16, 2);
    (void)state;
    g.network_bandwidth_bytes_per_s = g.ring_bandwidth_bytes_per_s = 1e9;
    double alone = dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 1e10).bandwidth_factor;
    assert_close(alone, 1, 0);
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e10).algorithm, DIT_COST_TREE);
    g.network_collective_times = 2;
    g.network_rings_only = true;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 1e10);
    assert_close(e.bandwidth_factor, 2, 0);
    assert_close(e.seconds - e.latency_s, 1e10 * 15 / 16 / 2e9, 1e-12);
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e10);
    assert_int_equal(e.algorithm, DIT_COST_RING);
    assert_close(e.seconds - e.latency_s, 1e10 * 30 / 16 / 2e9, 1e-12);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 1e10).bandwidth_factor, 1, 0);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 1e10).bandwidth_factor, 1, 0);
    g.nodes = 1; /* inside a node none of it matters */
    g.ranks = 8;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 1e10).bandwidth_factor, 15, 1e-12);
}

/* NCCL: 32 channels, halved until those of messages to all ranks are no more; twice as many while one carries more than
 * 16 MiB. */
static void a_message_has_its_share_of_the_channels(void **state)
{
    static const struct {
        int ranks;
        double mib;
        int tensors;
        double channels;
    } rows[] = {{2, 16, 0, 16}, {3, 16, 0, 8}, {4, 16, 0, 8},  {5, 16, 0, 4},   {8, 64, 0, 4},
                {8, 65, 0, 8},  {8, 65, 2, 4}, {8, 129, 2, 8}, {8, 129, 0, 16}, {9, 16, 0, 2},
                {16, 16, 0, 2}, {32, 1, 0, 1}, {64, 1, 0, 1},  {8, 4096, 0, 32}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_cost_group g = group_of(DIT_COST_NVLINK, 1e12, rows[i].ranks, 1);
        double bytes = rows[i].mib * (1 << 20);
        g.tensors = rows[i].tensors;
        assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, bytes).bandwidth_factor, 1, 0); /* no switch */
        g.nvswitch = true;
        assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, bytes).bandwidth_factor, 0.02 * rows[i].channels,
                     1e-12);
        g.bandwidth_bytes_per_s = 1e9; /* less than one channel moves */
        assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, bytes).bandwidth_factor, 1, 0);
    }
    dit_cost_group g = group_of(DIT_COST_NVLINK, 1e12, 8, 1);
    g.nvswitch = true;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e6).bandwidth_factor, 0.02 * 28,
                 1e-12); /* seven peers */
    g.generation = DIT_COST_HOPPER;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 1e6).bandwidth_factor, 0.0367 * 4, 1e-12);
}

static void generations_are_read_from_the_architecture(void **state)
{
    dit_cost_profile eager = profile_named("pytorch-eager");
    (void)state;
    assert_int_equal(dit_cost_generation_of(device_named("t4", &eager).architecture), DIT_COST_VOLTA);
    assert_int_equal(dit_cost_generation_of(device_named("v100-sxm-32", &eager).architecture), DIT_COST_VOLTA);
    assert_int_equal(dit_cost_generation_of(device_named("l40", &eager).architecture), DIT_COST_AMPERE);
    assert_int_equal(dit_cost_generation_of(device_named("h20", &eager).architecture), DIT_COST_HOPPER);
    assert_int_equal(dit_cost_generation_of(device_named("b200-sxm-180", &eager).architecture), DIT_COST_BLACKWELL);
}

/* ---- measured collectives ---------------------------------------------------------------------------------------- */

/* A curve of workloads/links (nccl-tests, Vidur): its class, the start of its "setup", the member of its points (NULL:
 * time_us), and the classes that its ranks are joined by. */
typedef struct {
    const char *link, *setup, *busbw;
    dit_cost_collective collective;
    dit_cost_generation generation;
    bool nvswitch;
    int ranks, nodes;
    const char *inside, *network;          /* network NULL: one node                                      */
    double adapters;                       /* of a node                                                   */
    double least, most;                    /* model over measured, of every point                         */
    double large, large_least, large_most; /* and of those at or above so many bytes                      */
} curve;

static const curve curves[] = {
    {"nvlink-a100", "8xA100 NVLink3", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 8, 1, "nvlink-a100", NULL, 0,
     0.30, 1.01, 512 << 20, 0.96, 1.01},
    {"nvlink-a100", "A100 DGX, same node", NULL, DIT_COST_SEND_RECV, DIT_COST_AMPERE, true, 2, 1, "nvlink-a100", NULL,
     0, 0.85, 1.05, 64 << 20, 0.98, 1.02},
    {"nvlink-a100", "A100 DGX; fit alpha 36", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 2, 1, "nvlink-a100",
     NULL, 0, 0.65, 0.80, 64 << 20, 0.65, 0.75},
    {"nvlink-a100", "A100 DGX; fit alpha 29", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 4, 1, "nvlink-a100",
     NULL, 0, 0.15, 0.80, 64 << 20, 0.70, 0.80},
    {"nvlink-a100", "A100 DGX; fit alpha 39", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 8, 1, "nvlink-a100",
     NULL, 0, 0.20, 0.85, 64 << 20, 0.80, 0.85},
    {"nvlink-h100", "8xH200; NCCL picks", "busbw_gbs", DIT_COST_ALL_REDUCE, DIT_COST_HOPPER, true, 8, 1, "nvlink-h100",
     NULL, 0, 0.35, 1.02, 256 << 20, 0.93, 1.02},
    {"nvlink-h100", "8xH200, NVLS off", "busbw_gbs", DIT_COST_ALL_REDUCE, DIT_COST_HOPPER, false, 8, 1, "nvlink-h100",
     NULL, 0, 0.98, 1.02, 0, 0.98, 1.02},
    {"nvlink-h100", "8xH200", "busbw_gbs", DIT_COST_ALL_GATHER, DIT_COST_HOPPER, true, 8, 1, "nvlink-h100", NULL, 0,
     0.97, 1.01, 0, 0.97, 1.01},
    {"nvlink-h100", "8xH200", "busbw_gbs", DIT_COST_REDUCE_SCATTER, DIT_COST_HOPPER, true, 8, 1, "nvlink-h100", NULL, 0,
     0.97, 1.01, 0, 0.97, 1.01},
    {"nvlink-h100", "H100 DGX same node", NULL, DIT_COST_SEND_RECV, DIT_COST_HOPPER, true, 2, 1, "nvlink-h100", NULL, 0,
     0.95, 1.50, 64 << 20, 0.98, 1.02},
    {"nvlink-b200", "8xB200 one P6", "busbw_gbs_1_node", DIT_COST_ALL_REDUCE, DIT_COST_BLACKWELL, true, 8, 1,
     "nvlink-b200", NULL, 0, 0.25, 1.03, 256 << 20, 0.80, 1.03},
    {"nvlink-b200", "8xB200 one P6", "busbw_gbs_4_nodes", DIT_COST_ALL_REDUCE, DIT_COST_BLACKWELL, true, 32, 4,
     "nvlink-b200", "efa-v4", 8, 0.07, 1.03, 1 << 30, 0.95, 1.03},
    {"efa-v1", "2x p4de", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 16, 2, "nvlink-a100", "efa-v1", 4, 0.15,
     1.02, 256 << 20, 0.95, 1.02},
    {"efa-v2", "2x p5", NULL, DIT_COST_ALL_REDUCE, DIT_COST_HOPPER, true, 16, 2, "nvlink-h100", "efa-v2", 32, 0.20,
     1.07, 1 << 30, 0.95, 1.07},
    {"infiniband-ndr", "H100 DGX across", NULL, DIT_COST_SEND_RECV, DIT_COST_HOPPER, true, 2, 2, "nvlink-h100",
     "infiniband-ndr", 1, 0.50, 0.80, 64 << 20, 0.70, 0.80},
    {"pcie5-x16", "tuned 37.6", NULL, DIT_COST_ALL_REDUCE, DIT_COST_BLACKWELL, false, 8, 1, "pcie5-x16", NULL, 0, 0.95,
     1.30, 256 << 20, 0.95, 1.30},
};
enum { CURVES = sizeof curves / sizeof curves[0] };

static const cJSON *link_class_of(const dit_json *links, const char *name)
{
    const cJSON *found = cJSON_GetObjectItem(cJSON_GetObjectItem(links->root, "classes"), name);
    if (!found) fail_msg("workloads/links has no class %s", name);
    return found;
}

static double link_bandwidth_of(const dit_json *links, const char *name)
{
    const cJSON *one = link_class_of(links, name);
    return cJSON_GetObjectItem(one, "bandwidth_bytes_per_s")->valuedouble *
           cJSON_GetObjectItem(cJSON_GetObjectItem(one, "fitted"), "bandwidth_efficiency")->valuedouble;
}

static const cJSON *points_of(const dit_json *links, const curve *c)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(link_class_of(links, c->link), "measured"))
    {
        const char *setup = cJSON_GetStringValue(cJSON_GetObjectItem(row, "setup"));
        const char *collective = cJSON_GetStringValue(cJSON_GetObjectItem(row, "collective"));
        if (strcmp(collective, dit_cost_collective_name(c->collective)) == 0 &&
            strncmp(setup, c->setup, strlen(c->setup)) == 0)
            return cJSON_GetObjectItem(row, "points");
    }
    fail_msg("%s has no measured \"%s\"", c->link, c->setup);
    return NULL;
}

static dit_cost_group group_of_curve(const dit_json *links, const curve *c)
{
    dit_cost_group g = group_of(strncmp(c->inside, "pcie", 4) ? DIT_COST_NVLINK : DIT_COST_PCIE,
                                link_bandwidth_of(links, c->inside), c->ranks, c->nodes);
    g.generation = c->generation;
    g.nvswitch = c->nvswitch;
    if (c->network) g.network_bandwidth_bytes_per_s = c->adapters * link_bandwidth_of(links, c->network);
    return g;
}

/* 0: the point has no time. */
static double measured_s(const curve *c, const cJSON *point, double bytes)
{
    const cJSON *time = cJSON_GetObjectItem(point, "time_us"), *rate = cJSON_GetObjectItem(point, c->busbw);
    double steps = c->collective == DIT_COST_ALL_REDUCE ? 2 * (c->ranks - 1) : c->ranks - 1;
    if (!c->busbw) return cJSON_IsNumber(time) ? 1e-6 * time->valuedouble : 0;
    return cJSON_IsNumber(rate) && rate->valuedouble >= 0.1 ? bytes * steps / c->ranks / (1e9 * rate->valuedouble) : 0;
}

static void check_point(const curve *c, const dit_cost_group *g, double bytes, double measured)
{
    dit_cost_exchange e = dit_cost_exchange_of(g, c->collective, bytes);
    double ratio = e.seconds / measured;
    print_message("# %-12s %2d of %d, %-12s %11.0f bytes: %9.1f us, model %9.1f (%s %s), %.2f of it\n",
                  dit_cost_collective_name(c->collective), c->ranks, c->nodes, c->network ? c->network : c->inside,
                  bytes, 1e6 * measured, 1e6 * e.seconds, dit_cost_algorithm_name(e.algorithm),
                  dit_cost_protocol_name(e.protocol), ratio);
    bool large = bytes >= c->large;
    if (!(ratio >= (large ? c->large_least : c->least) && ratio <= (large ? c->large_most : c->most)))
        fail_msg("%s of %.0f bytes: %.3f of what was measured", c->setup, bytes, ratio);
}

static void measured_collectives_are_met_within_the_bounds_of_their_curves(void **state)
{
    dit_json links;
    (void)state;
    assert_ok(dit_json_read_file(DITBENCH_SOURCE_DIR "/workloads/links/links.json", &links));
    for (int i = 0; i < CURVES; i++) {
        const curve *c = &curves[i];
        const cJSON *point;
        int checked = 0;
        dit_cost_group g = group_of_curve(&links, c);
        cJSON_ArrayForEach(point, points_of(&links, c))
        {
            const cJSON *bytes = cJSON_GetObjectItem(point, "bytes");
            double measured = cJSON_IsNumber(bytes) ? measured_s(c, point, bytes->valuedouble) : 0;
            if (!(measured > 0)) continue;
            check_point(c, &g, bytes->valuedouble, measured);
            checked++;
        }
        assert_true(checked > 0);
    }
    dit_json_release(&links);
}

/* The same source, 8 GiB over so many H200, and the largest payload over B200. */
static void the_switch_is_chosen_from_five_devices_on(void **state)
{
    static const struct {
        dit_cost_generation generation;
        double link_bytes_per_s;
        int ranks;
        double busbw_bytes_per_s;
    } rows[] = {{DIT_COST_HOPPER, 367.6e9, 4, 363.3e9}, {DIT_COST_HOPPER, 367.6e9, 5, 414.2e9},
                {DIT_COST_HOPPER, 367.6e9, 6, 435.6e9}, {DIT_COST_HOPPER, 367.6e9, 7, 460e9},
                {DIT_COST_HOPPER, 367.6e9, 8, 473e9},   {DIT_COST_BLACKWELL, 673e9, 4, 673e9},
                {DIT_COST_BLACKWELL, 673e9, 8, 838e9}};
    const double bytes = 8589934592;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dit_cost_group g = group_of(DIT_COST_NVLINK, rows[i].link_bytes_per_s, rows[i].ranks, 1);
        g.generation = rows[i].generation;
        g.nvswitch = true;
        dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, bytes);
        double ratio = e.seconds * rows[i].busbw_bytes_per_s / (bytes * 2 * (rows[i].ranks - 1) / rows[i].ranks);
        print_message("# all_reduce %d of generation %d: %s, %.2f of what was measured\n", rows[i].ranks,
                      (int)rows[i].generation, dit_cost_algorithm_name(e.algorithm), ratio);
        assert_int_equal(e.algorithm, rows[i].ranks > 4 ? DIT_COST_NVLS : DIT_COST_RING);
        assert_true(ratio > 0.85 && ratio < 1.03);
    }
}

static void messages_between_two_ranks_change_protocol_at_16_kib(void **state)
{
    dit_cost_group g = group_of(DIT_COST_PCIE, 24e9, 8, 1);
    (void)state;
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 16384).protocol, DIT_COST_LL);
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 16385).protocol, DIT_COST_SIMPLE);
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7 * 16384).protocol, DIT_COST_LL);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 24e6).seconds, 8.4e-6 + 5.7e-6 + 1e-3, 1e-12);
    dit_cost_exchange alone = dit_cost_exchange_of(&(dit_cost_group){.ranks = 1}, DIT_COST_ALL_REDUCE, 1e6);
    assert_close(alone.seconds + alone.latency_s + alone.front_latency_s, 0, 0);
    assert_close(alone.bandwidth_factor, 1, 0);
}

static void no_exchange_gets_faster_with_bytes_or_ranks(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        dit_cost_collective kind = (dit_cost_collective)dit_rng_below(7, 3, draws++, DIT_COST_COLLECTIVE_COUNT);
        dit_cost_group g = group_of(i % 2 ? DIT_COST_NVLINK : DIT_COST_PCIE, 1e9 * (1 + (double)any_size(8)), 0, 1);
        g.ranks = 2 + (int)any_size(5);
        g.nodes = i % 3 ? 1 : 1 + (int)any_size(1) % g.ranks;
        g.generation = (dit_cost_generation)(i % DIT_COST_GENERATION_COUNT);
        g.nvswitch = i % 5 == 0;
        if (i % 7) g.network_bandwidth_bytes_per_s = 1e9 * (1 + (double)any_size(6));
        g.inside_many_peers_efficiency = i % 4 ? 0.7 : 0;
        double bytes = (double)any_size(32);
        dit_cost_exchange e = dit_cost_exchange_of(&g, kind, bytes);
        bool channels = g.nvswitch && (kind == DIT_COST_ALL_TO_ALL || kind == DIT_COST_SEND_RECV);
        if (!channels) /* a larger message may have more of them */
            assert_not_less("bytes", dit_cost_exchange_of(&g, kind, bytes + (double)any_size(20)).seconds, e.seconds);
        assert_true(e.bandwidth_factor > 0 && isfinite(e.seconds) && e.latency_s >= 0);
        assert_true(g.nvswitch || g.nodes > 1 || e.bandwidth_factor <= 1);
        /* more peers: smaller messages, and their protocol; more of a switch's channels; nothing hid the hops */
        if (kind == DIT_COST_ALL_TO_ALL || g.nvswitch || g.ranks == g.nodes) continue;
        g.ranks++;
        assert_not_less("ranks", dit_cost_exchange_of(&g, kind, bytes).seconds, e.seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latencies_are_those_of_the_tuner),
        cmocka_unit_test(trees_are_for_sums_of_many_nodes),
        cmocka_unit_test(switches_add_up_from_hopper_on),
        cmocka_unit_test(simulated_messages_take_the_librarys_time),
        cmocka_unit_test(many_peers_at_once_have_less_each_for_every_doubling),
        cmocka_unit_test(few_peers_may_lose_otherwise_than_many),
        cmocka_unit_test(ends_lose_of_their_own_links),
        cmocka_unit_test(collectives_have_two_channels_between_nodes),
        cmocka_unit_test(a_message_has_its_share_of_the_channels),
        cmocka_unit_test(generations_are_read_from_the_architecture),
        cmocka_unit_test(measured_collectives_are_met_within_the_bounds_of_their_curves),
        cmocka_unit_test(the_switch_is_chosen_from_five_devices_on),
        cmocka_unit_test(messages_between_two_ranks_change_protocol_at_16_kib),
        cmocka_unit_test(no_exchange_gets_faster_with_bytes_or_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
