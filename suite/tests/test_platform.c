/* Machines of clusters: the shipped ones load; latency, bandwidth and path between devices; what is refused. */
#include "suite/catalogue/catalogue.h"
#include "suite/error_place.h"
#include "suite/platform/cluster.h"
#include "suite/platform/platform.h"
#include "suite/simulate/simulate.h"
#include "suite/tests/workload_fixture.h"

#include "suite/tests/platform_fixture.h"

/* ---- what ships -------------------------------------------------------------------------------------------------- */

static void every_shipped_accelerator_loads(void **state)
{
    char **names;
    int count = 0;
    (void)state;
    assert_int_equal(suite_catalogue_names("accelerators", &names), DIT_OK);
    for (char **name = names; *name; name++, count++) {
        suite_accelerator accelerator;
        if (suite_accelerator_load(*name, &accelerator) != DIT_OK) fail_msg("%s: %s", *name, dit_error_last()->message);
        assert_string_equal(accelerator.facts.name, *name);
        suite_accelerator_release(&accelerator);
    }
    suite_names_free(names);
    assert_true(count >= 25);
}

static void facts_of_an_accelerator_are_those_of_its_file(void **state)
{
    suite_accelerator accelerator;
    (void)state;
    assert_int_equal(suite_accelerator_load("a100-sxm-80", &accelerator), DIT_OK);
    assert_int_equal(accelerator.facts.memory_bytes, INT64_C(80) << 30);
    assert_int_equal(accelerator.facts.streaming_multiprocessors, 108);
    assert_fact(accelerator.facts.memory_bandwidth_bytes_per_s, 2039e9, "memory bandwidth");
    assert_fact(accelerator.facts.peak_flops_per_s[DIT_ACCELERATOR_FP32], 19.5e12, "fp32");
    assert_fact(accelerator.facts.peak_flops_per_s[DIT_ACCELERATOR_FP16], 312e12, "fp16");
    assert_fact(accelerator.facts.peak_flops_per_s[DIT_ACCELERATOR_BF16], 312e12, "bf16");
    suite_accelerator_release(&accelerator);
    assert_int_equal(suite_accelerator_load("v100-sxm-32", &accelerator), DIT_OK);
    assert_true(accelerator.facts.peak_flops_per_s[DIT_ACCELERATOR_BF16] == 0); /* unknown */
    suite_accelerator_release(&accelerator);
}

static void every_shipped_class_of_links_loads(void **state)
{
    dit_json doc;
    const cJSON *one;
    int count = 0;
    (void)state;
    assert_int_equal(dit_json_read_file(DITBENCH_SOURCE_DIR "/workloads/links/links.json", &doc), DIT_OK);
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(doc.root, "classes"))
    {
        suite_link_class link_class;
        if (suite_link_class_load(one->string, &link_class) != DIT_OK)
            fail_msg("%s: %s", one->string, dit_error_last()->message);
        assert_string_equal(link_class.name, one->string);
        assert_true(link_class.bandwidth_efficiency > 0 && link_class.many_peers_efficiency > 0);
        count++;
    }
    assert_true(count >= 25);
    dit_json_release(&doc);
}

/* Any two devices reach each other, as fast there as back, over links that exist. */
static void check_pairs(const suite_cluster *cluster)
{
    int devices = cluster->nodes * cluster->devices;
    for (int from = 0; from<devices; from += devices> 100 ? 37 : 1)
        for (int to = 0; to<devices; to += devices> 100 ? 41 : 1) {
            double latency, bandwidth, back_latency, back_bandwidth;
            if (from == to) continue;
            suite_cluster_pair(cluster, from, to, &latency, &bandwidth);
            suite_cluster_pair(cluster, to, from, &back_latency, &back_bandwidth);
            assert_true(latency >= 0 && latency < 1e-3 && bandwidth > 1e8 && bandwidth < 1e12);
            assert_fact(back_latency, latency, cluster->name);
            assert_fact(back_bandwidth, bandwidth, cluster->name);
        }
}

static void every_shipped_cluster_joins_all_its_devices(void **state)
{
    char **names;
    int count = 0;
    (void)state;
    assert_int_equal(suite_catalogue_names("platforms", &names), DIT_OK);
    for (char **name = names; *name; name++) {
        suite_platform platform;
        suite_cluster cluster;
        if (suite_platform_load(*name, &platform) != DIT_OK) fail_msg("%s: %s", *name, dit_error_last()->message);
        if (strcmp(platform.launcher, "smpirun") != 0) continue;
        if (suite_cluster_load(*name, &cluster) != DIT_OK) fail_msg("%s: %s", *name, dit_error_last()->message);
        assert_int_equal(platform.devices, cluster.nodes * cluster.devices);
        bool cores = cluster.topology == SUITE_TOPOLOGY_CORES; /* of one host: they share its memory */
        assert_true(platform.memory_per_device == !cores && platform.memory_bytes >= INT64_C(16) << 30);
        assert_int_equal(platform.max_ranks, cores ? cluster.ranks : 0);
        check_pairs(&cluster);
        suite_cluster_release(&cluster);
        count++;
    }
    suite_names_free(names);
    assert_true(count >= 20);
}

/* By hand from the line rates: NVLink 3 has 300 GB/s a direction, of which a ring was seen to reach 0.783, a PCIe gen4
 * card 31.5, NCCL's socket link 10, a 100 Gb port 12.5; a node of 8 with 4 or 32 ports of 100 Gb has half of one or
 * four for each device. */
static void pairs_have_the_latency_and_bandwidth_of_their_narrowest_link(void **state)
{
    static const struct {
        const char *platform;
        int from, to;
        double latency_s, bandwidth_bytes_per_s;
    } rows[] = {
        {"8xa100-sxm", 0, 7, 0.6e-6, 300e9 * 0.783},
        {"8xh100-sxm", 3, 4, 0.6e-6, 450e9 * 0.817},
        {"8xa800-sxm", 0, 1, 0.6e-6, 160e9},
        {"72xgb200", 0, 71, 0.6e-6, 900e9 * 0.748},
        {"8xl40", 0, 3, 1e-6, 31.5e9},
        {"8xl40", 3, 4, 1e-6, 10e9},
        {"2x8xl40", 0, 15, 24e-6, 12.5e9 * 0.8},
        {"2x8xl40", 0, 11, 24e-6, 12.5e9},
        {"4xt4", 0, 3, 15e-6, 4.1e9},
        {"4xa100-pcie", 1, 2, 15e-6, 4.1e9},
        {"8xrtx-4090", 0, 1, 15e-6, 4.1e9},
        {"8xv100-sxm", 0, 1, 0.6e-6, 20e9},
        {"8xv100-sxm", 0, 4, 0.6e-6, 40e9},
        {"8xv100-sxm", 0, 5, 1.2e-6, 20e9},
        {"8xv100-sxm", 0, 7, 1.2e-6, 40e9},
        {"2xp4d", 0, 8, 2.7e-6, 12.5e9 * 0.908},
        {"2xp5", 0, 8, 2.7e-6, 50e9},
        {"128x8xh100-sxm", 0, 1023, 2.7e-6, 50e9 * 0.96},
        {"8xrtx-5090", 0, 4, 1e-6, 40e9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        suite_cluster cluster;
        double latency, bandwidth;
        assert_int_equal(suite_cluster_load(rows[i].platform, &cluster), DIT_OK);
        suite_cluster_pair(&cluster, rows[i].from, rows[i].to, &latency, &bandwidth);
        assert_fact(latency, rows[i].latency_s, rows[i].platform);
        assert_fact(bandwidth, rows[i].bandwidth_bytes_per_s, rows[i].platform);
        suite_cluster_release(&cluster);
    }
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

/* "device0 root0 socket0 root1 -device4": a minus is the other direction of a link that has two. */
static void write_path(const suite_cluster *cluster, int from, int to, char text[256])
{
    suite_hop hops[SUITE_PATH_HOPS];
    int count = suite_cluster_path(cluster, from, to, hops);
    text[0] = '\0';
    assert_true(count > 0 && count <= SUITE_PATH_HOPS);
    for (int i = 0; i < count; i++) {
        const suite_link *link = &cluster->links[hops[i].link];
        bool minus = hops[i].down && link->link_class.sharing == SUITE_LINK_DUPLEX;
        assert_in_range(hops[i].link, 0, cluster->link_count - 1);
        snprintf(text + strlen(text), 256 - strlen(text), "%s%s%s", i ? " " : "", minus ? "-" : "", link->name);
    }
}

#define SWITCHED_TREE                                                                                                  \
    "\"devices\":8,\"topology\":\"tree\",\"device_link\":\"pcie4-x16\",\"sockets\":2,\"switches_per_socket\":2,"       \
    "\"switch_link\":\"pcie4-x16\",\"root_link\":\"pcie4-root\",\"socket_link\":\"qpi-broadwell\","
#define ONE_NIC "\"nics\":1,\"nic_link\":\"ethernet-100g\""

static void paths_cross_what_lies_between_two_devices(void **state)
{
    static const struct {
        const char *peer, *staged;
        int from, to;
    } rows[] = {
        {"device0 -device1", "device0 switch0 root0 staging0 root0 -switch0 -device1", 0, 1},
        {"device0 switch0 root0 -switch1 -device3", "device0 switch0 root0 staging0 root0 -switch1 -device3", 0, 3},
        {"device0 switch0 root0 socket0 root1 -switch3 -device7",
         "device0 switch0 root0 staging0 socket0 root1 -switch3 -device7", 0, 7},
        {"device7 switch3 root1 -socket0 root0 -switch0 -device0",
         "device7 switch3 root1 staging1 -socket0 root0 -switch0 -device0", 7, 0},
        {"device1 switch0 root0 nic0", "device1 switch0 root0 nic0", 1, SUITE_OUTSIDE},
        {"device5 switch2 root1 -socket0 root0 nic0", "device5 switch2 root1 -socket0 root0 nic0", 5, SUITE_OUTSIDE},
    };
    suite_cluster peer, staged;
    (void)state;
    assert_int_equal(read_node(1, "", SWITCHED_TREE "\"peer_to_peer\":true," ONE_NIC, &peer), DIT_OK);
    assert_int_equal(
        read_node(1, "", SWITCHED_TREE "\"peer_to_peer\":false,\"staging_link\":\"host-staging\"," ONE_NIC, &staged),
        DIT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        write_path(&peer, rows[i].from, rows[i].to, text);
        assert_string_equal(text, rows[i].peer);
        write_path(&staged, rows[i].from, rows[i].to, text);
        assert_string_equal(text, rows[i].staged);
    }
    suite_cluster_release(&peer);
    suite_cluster_release(&staged);
}

static void a_root_complex_has_the_bandwidth_of_what_hangs_at_it(void **state)
{
    suite_cluster cluster;
    (void)state;
    assert_int_equal(read_node(1, "", SWITCHED_TREE "\"peer_to_peer\":true," ONE_NIC, &cluster), DIT_OK);
    assert_fact(cluster.links[cluster.root_link].bandwidth_bytes_per_s, 2 * 31.5e9, "two switches");
    suite_cluster_release(&cluster);
    assert_int_equal(suite_cluster_load("8xl40", &cluster), DIT_OK);
    assert_fact(cluster.links[cluster.root_link].bandwidth_bytes_per_s, 4 * 31.5e9, "four devices");
    suite_cluster_release(&cluster);
}

static void devices_that_no_link_joins_speak_through_one_that_both_reach(void **state)
{
    static const struct {
        int from, to;
        const char *path;
    } rows[] = {{0, 4, "pair0-4"},           {4, 0, "-pair0-4"},          {0, 7, "pair0-4 pair4-7"},
                {7, 0, "-pair4-7 -pair0-4"}, {5, 0, "-pair1-5 -pair0-1"}, {3, 5, "-pair1-3 pair1-5"}};
    suite_cluster cluster;
    char text[256];
    (void)state;
    assert_int_equal(suite_cluster_load("8xv100-sxm", &cluster), DIT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_path(&cluster, rows[i].from, rows[i].to, text);
        assert_string_equal(text, rows[i].path);
    }
    suite_cluster_release(&cluster);
}

static void cards_are_shared_by_devices_or_devices_have_several(void **state)
{
    suite_cluster cluster;
    char text[256];
    (void)state;
    assert_int_equal(suite_cluster_load("2xp4d", &cluster), DIT_OK); /* 4 cards of 8 devices */
    write_path(&cluster, 3, SUITE_OUTSIDE, text);
    assert_string_equal(text, "host3 nic1");
    assert_fact(cluster.links[cluster.nic_link].bandwidth_bytes_per_s, 12.5e9 * 0.908, "one card");
    assert_fact(cluster.fabric.bandwidth_bytes_per_s, 50e9, "fabric");
    suite_cluster_release(&cluster);
    assert_int_equal(suite_cluster_load("2xp5", &cluster), DIT_OK); /* 32 cards of 8 devices */
    write_path(&cluster, 3, SUITE_OUTSIDE, text);
    assert_string_equal(text, "host3 nic3");
    assert_fact(cluster.links[cluster.nic_link].bandwidth_bytes_per_s, 50e9, "four cards");
    assert_fact(cluster.fabric.bandwidth_bytes_per_s, 400e9, "fabric");
    suite_cluster_release(&cluster);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

#define SWITCH "\"devices\":4,\"topology\":\"switch\",\"device_link\":\"nvlink-a100\","
#define TREE   "\"devices\":4,\"topology\":\"tree\",\"device_link\":\"pcie4-x16\",\"root_link\":\"pcie4-root\","
#define MESH   "\"devices\":3,\"topology\":\"mesh\",\"device_link\":\"nvlink-v100\"," NO_NIC ","

static void clusters_that_make_no_sense_are_refused_with_place_and_reason(void **state)
{
    static const struct {
        int nodes;
        const char *cluster, *node;
        dit_status code;
        const char *pointer, *words;
    } rows[] = {
        {1, "", "\"topology\":\"switch\"", DIT_ERR_JSON_MISSING, "/cluster/node", "devices"},
        {1, "", "\"devices\":0,\"topology\":\"switch\"", DIT_ERR_JSON_VALUE, "/cluster/node/devices", "0"},
        {1, "", "\"devices\":129,\"topology\":\"switch\"", DIT_ERR_JSON_VALUE, "/cluster/node/devices", "129"},
        {1, "", "\"devices\":4,\"topology\":\"torus\"", DIT_ERR_JSON_VALUE, "/cluster/node/topology", "torus"},
        {1, "", SWITCH "\"nick\":1," NO_NIC, DIT_ERR_JSON_UNKNOWN_KEY, "/cluster/node/nick", "nick"},
        {1, "", SWITCH "\"sockets\":2," NO_NIC, DIT_ERR_JSON_UNKNOWN_KEY, "/cluster/node/sockets", "sockets"},
        {1, "", SWITCH "\"nics\":4", DIT_ERR_JSON_MISSING, "/cluster/node", "nic_link"},
        {1, "", SWITCH "\"nic_link\":\"infiniband-ndr\"", DIT_ERR_JSON_MISSING, "/cluster/node", "nics"},
        {1, "", SWITCH "\"nics\":3,\"nic_link\":\"infiniband-ndr\"", DIT_ERR_JSON_VALUE, "/cluster/node/nics",
         "evenly"},
        {1, "", SWITCH "\"unknown\":{\"nic_link\":\"\"}", DIT_ERR_JSON_TYPE, "/cluster/node/unknown/nic_link",
         "reason"},
        {1, "", SWITCH "\"unknown\":{\"nic_link\":\"x\",\"devices\":\"x\"}", DIT_ERR_JSON_VALUE,
         "/cluster/node/unknown/devices", "stated"},
        {1, "", SWITCH "\"assumed\":{\"nics\":\"x\"}," NO_NIC, DIT_ERR_JSON_VALUE, "/cluster/node/assumed/nics",
         "absent"},
        {1, "", SWITCH "\"unknown\":{\"nic_link\":\"x\",\"colour\":\"x\"}", DIT_ERR_JSON_UNKNOWN_KEY,
         "/cluster/node/unknown/colour", "colour"},
        {1, "\"fabric_link\":\"fabric\",", SWITCH NO_NIC, DIT_ERR_JSON_VALUE, "/cluster/fabric_link", "one node"},
        {2, "\"fabric_link\":\"fabric\",", SWITCH NO_NIC, DIT_ERR_JSON_MISSING, "/cluster/node", "nics"},
        {2, "", SWITCH "\"nics\":4,\"nic_link\":\"infiniband-ndr\"", DIT_ERR_JSON_MISSING, "/cluster", "fabric_link"},
        {2, "\"fabric_link\":\"fabrik\",", SWITCH "\"nics\":4,\"nic_link\":\"infiniband-ndr\"", DIT_ERR_JSON_VALUE,
         "/cluster/fabric_link", "fabrik"},
        {0, "", SWITCH NO_NIC, DIT_ERR_JSON_VALUE, "/cluster/nodes", "0"},
        {9000, "", SWITCH NO_NIC, DIT_ERR_JSON_VALUE, "/cluster/nodes", "9000"},
        {1, "\"link\":1,", SWITCH NO_NIC, DIT_ERR_JSON_UNKNOWN_KEY, "/cluster/link", "link"},
        {1, "", "\"devices\":4,\"topology\":\"switch\",\"device_link\":\"nvlink\"," NO_NIC, DIT_ERR_JSON_VALUE,
         "/cluster/node/device_link", "nvlink"},
        {1, "", "\"devices\":4,\"topology\":\"switch\",\"device_link\":\"pcie4-root\"," NO_NIC, DIT_ERR_JSON_VALUE,
         "/cluster/node/device_link", "attached"},
        {1, "", TREE "\"sockets\":3,\"peer_to_peer\":true," NO_SWITCH, DIT_ERR_JSON_VALUE, "/cluster/node/sockets",
         "3"},
        {1, "", TREE "\"sockets\":2,\"peer_to_peer\":true," NO_SWITCH, DIT_ERR_JSON_MISSING, "/cluster/node",
         "socket_link"},
        {1, "", TREE "\"sockets\":1,\"socket_link\":\"upi-skylake\",\"peer_to_peer\":true," NO_SWITCH,
         DIT_ERR_JSON_VALUE, "/cluster/node/socket_link", "one socket"},
        {1, "", TREE "\"sockets\":1,\"peer_to_peer\":false," NO_SWITCH, DIT_ERR_JSON_MISSING, "/cluster/node",
         "staging_link"},
        {1, "", TREE "\"sockets\":1,\"peer_to_peer\":true,\"staging_link\":\"host-staging\"," NO_SWITCH,
         DIT_ERR_JSON_VALUE, "/cluster/node/staging_link", "staged"},
        {1, "", TREE "\"sockets\":1," NO_SWITCH, DIT_ERR_JSON_MISSING, "/cluster/node", "peer_to_peer"},
        {1, "", TREE "\"sockets\":1,\"peer_to_peer\":true," NO_NIC, DIT_ERR_JSON_MISSING, "/cluster/node",
         "switches_per_socket"},
        {1, "",
         TREE "\"sockets\":1,\"switches_per_socket\":3,\"switch_link\":\"pcie4-x16\",\"peer_to_peer\":true," NO_NIC,
         DIT_ERR_JSON_VALUE, "/cluster/node/devices", "3 switches"},
        {1, "", TREE "\"sockets\":1,\"switch_link\":\"pcie4-x16\",\"peer_to_peer\":true," NO_SWITCH, DIT_ERR_JSON_VALUE,
         "/cluster/node/switch_link", "no switches"},
        {1, "", MESH "\"pairs\":\"some\"", DIT_ERR_JSON_TYPE, "/cluster/node", "pairs"},
        {1, "", MESH "\"pairs\":[[0,1]]", DIT_ERR_JSON_TYPE, "/cluster/node/pairs/0", "links"},
        {1, "", MESH "\"pairs\":[[0,1,1],[1,2.5,1]]", DIT_ERR_JSON_TYPE, "/cluster/node/pairs/1", "whole"},
        {1, "", MESH "\"pairs\":[[0,1,1],[1,3,1]]", DIT_ERR_JSON_VALUE, "/cluster/node/pairs/1", "below 3"},
        {1, "", MESH "\"pairs\":[[1,0,1]]", DIT_ERR_JSON_VALUE, "/cluster/node/pairs/0", "lower first"},
        {1, "", MESH "\"pairs\":[[0,1,1],[0,1,2]]", DIT_ERR_JSON_VALUE, "/cluster/node/pairs/1", "twice"},
        {1, "", MESH "\"pairs\":[[0,1,1]]", DIT_ERR_JSON_VALUE, "/cluster/node/pairs", "0 and 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        suite_cluster cluster;
        suite_place place;
        dit_status st = read_node(rows[i].nodes, rows[i].cluster, rows[i].node, &cluster);
        const char *message = dit_error_last()->message;
        suite_place_split(message, &place);
        if (st != rows[i].code || strcmp(place.pointer, rows[i].pointer) != 0 || !strstr(message, rows[i].words))
            fail_msg("row %zu: %s %s", i, dit_status_name(st), message);
        assert_string_equal(place.file, "test.json");
        assert_true(place.line >= 1 && place.column >= 1);
        assert_null(cluster.links);
    }
}

static void a_machine_is_no_cluster(void **state)
{
    suite_cluster cluster;
    (void)state;
    assert_int_equal(suite_cluster_load("local-cpu", &cluster), DIT_ERR_UNSUPPORTED);
    assert_int_equal(suite_cluster_load("8xa100-sx", &cluster), DIT_ERR_NOT_FOUND);
    assert_non_null(strstr(dit_error_last()->hint, "8xa100-sxm"));
    assert_int_equal(suite_cluster_load("../platforms/8xl40", &cluster), DIT_ERR_NOT_FOUND);
}

static void an_unknown_class_names_the_nearest(void **state)
{
    suite_cluster cluster;
    (void)state;
    assert_int_equal(
        read_node(1, "", "\"devices\":4,\"topology\":\"switch\",\"device_link\":\"nvlink-a10\"," NO_NIC, &cluster),
        DIT_ERR_JSON_VALUE);
    assert_non_null(strstr(dit_error_last()->hint, "nvlink-a100"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_accelerator_loads),
        cmocka_unit_test(facts_of_an_accelerator_are_those_of_its_file),
        cmocka_unit_test(every_shipped_class_of_links_loads),
        cmocka_unit_test(every_shipped_cluster_joins_all_its_devices),
        cmocka_unit_test(pairs_have_the_latency_and_bandwidth_of_their_narrowest_link),
        cmocka_unit_test(paths_cross_what_lies_between_two_devices),
        cmocka_unit_test(a_root_complex_has_the_bandwidth_of_what_hangs_at_it),
        cmocka_unit_test(devices_that_no_link_joins_speak_through_one_that_both_reach),
        cmocka_unit_test(cards_are_shared_by_devices_or_devices_have_several),
        cmocka_unit_test(clusters_that_make_no_sense_are_refused_with_place_and_reason),
        cmocka_unit_test(a_machine_is_no_cluster),
        cmocka_unit_test(an_unknown_class_names_the_nearest),
    };
    return cmocka_run_group_tests(tests, use_shipped, NULL);
}
