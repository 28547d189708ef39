/* Simulated clusters: the shipped ones load and say what the papers' hosts are, wrong ones are refused with their
 * place, paths share what hardware shares, and the XML grows with the number of nodes. */
#include "suite/catalogue/catalogue.h"
#include "suite/error_place.h"
#include "suite/platform/cluster_xml.h"
#include "suite/simulate/simulate.h"
#include "suite/tests/workload_fixture.h"

#include <math.h>

static int use_shipped(void **state)
{
    (void)state;
    return setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1);
}

static void assert_fact(double value, double expected, const char *what)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected)) fail_msg("%s: %.12g, expected %.12g", what, value, expected);
}

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
        assert_string_equal(accelerator.name, *name);
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
    assert_int_equal(accelerator.memory_bytes, INT64_C(80) << 30);
    assert_int_equal(accelerator.streaming_multiprocessors, 108);
    assert_fact(accelerator.memory_bandwidth_bytes_per_s, 2039e9, "memory bandwidth");
    assert_fact(accelerator.fp32_flops_per_s, 19.5e12, "fp32");
    assert_fact(accelerator.fp16_flops_per_s, 312e12, "fp16");
    assert_fact(accelerator.bf16_flops_per_s, 312e12, "bf16");
    suite_accelerator_release(&accelerator);
    assert_int_equal(suite_accelerator_load("v100-sxm-32", &accelerator), DIT_OK);
    assert_true(accelerator.bf16_flops_per_s == 0); /* unknown */
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
            assert_true(latency >= 0 && latency < 1e-3 && bandwidth > 1e9 && bandwidth < 1e12);
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

static const char document_format[] =
    "{\"schema\":\"ditbench.platform/1\",\"name\":\"test\",\"backend\":\"cost\",\"launcher\":\"smpirun\",\n"
    "\"cluster\":{\"accelerator\":\"l40\",\"nodes\":%d,%s\n\"node\":{%s}},\"source\":[\"a test\"]}";

static dit_status read_node(int nodes, const char *cluster_members, const char *node_members, suite_cluster *out)
{
    char text[2048];
    dit_json doc;
    int length = snprintf(text, sizeof text, document_format, nodes, cluster_members, node_members);
    assert_true(length > 0 && (size_t)length < sizeof text);
    assert_int_equal(dit_json_parse(text, (size_t)length, "test.json", &doc), DIT_OK);
    dit_status st = suite_cluster_read(&doc, out);
    dit_json_release(&doc);
    return st;
}

#define SWITCHED_TREE                                                                                                  \
    "\"devices\":8,\"topology\":\"tree\",\"device_link\":\"pcie4-x16\",\"sockets\":2,\"switches_per_socket\":2,"       \
    "\"switch_link\":\"pcie4-x16\",\"root_link\":\"pcie4-root\",\"socket_link\":\"upi-skylake\","
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

#define SWITCH    "\"devices\":4,\"topology\":\"switch\",\"device_link\":\"nvlink-a100\","
#define NO_NIC    "\"unknown\":{\"nic_link\":\"a test\"}"
#define TREE      "\"devices\":4,\"topology\":\"tree\",\"device_link\":\"pcie4-x16\",\"root_link\":\"pcie4-root\","
#define NO_SWITCH "\"unknown\":{\"nic_link\":\"a test\",\"switches_per_socket\":\"a test\"}"
#define MESH      "\"devices\":3,\"topology\":\"mesh\",\"device_link\":\"nvlink-v100\"," NO_NIC ","

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

/* ---- facts without a source -------------------------------------------------------------------------------------- */

/* Accelerators and links of a folder of their own. */
static int setup_parts(void **state)
{
    static const char *const folders[] = {"models", "accelerators", "links"};
    char path[256];
    (void)state;
    if (test_folder_make(fixture_folder) != 0) return 1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", fixture_folder, folders[i]);
        if (mkdir(path, 0700) != 0) return 1;
    }
    return setenv("DITBENCH_WORKLOADS", fixture_folder, 1);
}

static int teardown_parts(void **state)
{
    return test_folder_remove(fixture_folder) != 0 || use_shipped(state);
}

#define ACCELERATOR                                                                                                    \
    "{\"schema\":\"ditbench.accelerator/1\",\"name\":\"one\",\"title\":\"One\",\"vendor\":\"none\","                   \
    "\"source\":[\"a test\"],\"memory_bytes\":1024,\"peak_flops_per_s\":{\"fp32\":1e12,\"fp16\":2e12,\"bf16\":3e12},"

static void a_fact_is_stated_or_said_to_be_unknown(void **state)
{
    static const struct {
        const char *members;
        dit_status code;
        const char *words;
    } rows[] = {
        {"\"memory_bandwidth_bytes_per_s\":1e9,\"streaming_multiprocessors\":2,\"power_w\":3}", DIT_OK, ""},
        {"\"memory_bandwidth_bytes_per_s\":1e9,\"streaming_multiprocessors\":2,\"unknown\":{\"power_w\":\"no "
         "source\"}}",
         DIT_OK, ""},
        {"\"memory_bandwidth_bytes_per_s\":1e9,\"streaming_multiprocessors\":2}", DIT_ERR_JSON_MISSING, "power_w"},
        {"\"memory_bandwidth_bytes_per_s\":-1,\"streaming_multiprocessors\":2,\"power_w\":3}", DIT_ERR_JSON_VALUE,
         "-1"},
        {"\"memory_bandwidth_bytes_per_s\":\"1\",\"streaming_multiprocessors\":2,\"power_w\":3}", DIT_ERR_JSON_TYPE,
         "memory_bandwidth"},
        {"\"memory_bandwidth_bytes_per_s\":1e9,\"streaming_multiprocessors\":2.5,\"power_w\":3}", DIT_ERR_JSON_TYPE,
         "streaming"},
        {"\"memory_bandwidth_bytes_per_s\":1e9,\"streaming_multiprocessors\":2,\"power_w\":3,\"cost\":[]}",
         DIT_ERR_JSON_TYPE, "cost"},
        {"\"memory_bandwidth_bytes_per_s\":1e9,\"streaming_multiprocessors\":2,\"power_w\":3,\"sm\":1}",
         DIT_ERR_JSON_UNKNOWN_KEY, "sm"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        suite_accelerator accelerator;
        snprintf(text, sizeof text, "%s%s", ACCELERATOR, rows[i].members);
        fixture_write("accelerators/one.json", text);
        dit_status st = suite_accelerator_load("one", &accelerator);
        if (st != rows[i].code || (st != DIT_OK && !strstr(dit_error_last()->message, rows[i].words)))
            fail_msg("row %zu: %s %s", i, dit_status_name(st), st != DIT_OK ? dit_error_last()->message : "");
        if (st == DIT_OK) assert_fact(accelerator.bf16_flops_per_s, 3e12, "bf16");
        suite_accelerator_release(&accelerator);
    }
}

static void a_class_of_links_has_bandwidth_and_says_who_shares_it(void **state)
{
    static const struct {
        const char *members;
        dit_status code;
        const char *pointer;
    } rows[] = {
        {"\"sharing\":\"duplex\",\"bandwidth_bytes_per_s\":2e9,\"latency_s\":1e-6,\"fitted\":{\"bandwidth_efficiency\":"
         "0.5,"
         "\"evidence\":\"fitted\"}",
         DIT_OK, ""},
        {"\"sharing\":\"duplex\",\"latency_s\":1e-6,\"fitted\":{\"evidence\":\"assumed\"}", DIT_ERR_JSON_MISSING,
         "/classes/wire"},
        {"\"sharing\":\"duplex\",\"latency_s\":0,\"unknown\":{\"bandwidth_bytes_per_s\":\"x\"},"
         "\"fitted\":{\"evidence\":\"assumed\"}",
         DIT_ERR_JSON_MISSING, "/classes/wire"},
        {"\"sharing\":\"both\",\"bandwidth_bytes_per_s\":2e9,\"latency_s\":0,\"fitted\":{\"evidence\":\"assumed\"}",
         DIT_ERR_JSON_VALUE, "/classes/wire/sharing"},
        {"\"sharing\":\"duplex\",\"bandwidth_bytes_per_s\":0,\"latency_s\":0,\"fitted\":{\"evidence\":\"assumed\"}",
         DIT_ERR_JSON_VALUE, "/classes/wire/bandwidth_bytes_per_s"},
        {"\"sharing\":\"duplex\",\"bandwidth_bytes_per_s\":\"all\",\"latency_s\":0,\"fitted\":{\"evidence\":"
         "\"assumed\"}",
         DIT_ERR_JSON_TYPE, "/classes/wire/bandwidth_bytes_per_s"},
        {"\"sharing\":\"duplex\",\"bandwidth_bytes_per_s\":2e9,\"latency_s\":0,\"fitted\":{\"evidence\":\"hoped\"}",
         DIT_ERR_JSON_VALUE, "/classes/wire/fitted/evidence"},
        {"\"sharing\":\"duplex\",\"bandwidth_bytes_per_s\":2e9,\"latency_s\":0,\"fitted\":{\"bandwidth_efficiency\":0,"
         "\"evidence\":\"fitted\"}",
         DIT_ERR_JSON_VALUE, "/classes/wire/fitted/bandwidth_efficiency"},
        {"\"sharing\":\"duplex\",\"bandwidth_bytes_per_s\":2e9,\"latency_s\":0", DIT_ERR_JSON_MISSING, "/classes/wire"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        suite_link_class link_class;
        suite_place place = {0};
        snprintf(text, sizeof text,
                 "{\"schema\":\"ditbench.links/1\",\"name\":\"links\",\"classes\":{\"wire\":{\"title\":\"Wire\","
                 "\"kind\":\"wire\",\"source\":[\"a test\"],%s}}}",
                 rows[i].members);
        fixture_write("links/links.json", text);
        dit_status st = suite_link_class_load("wire", &link_class);
        if (st != DIT_OK) suite_place_split(dit_error_last()->message, &place);
        if (st != rows[i].code || (st != DIT_OK && strcmp(place.pointer, rows[i].pointer) != 0))
            fail_msg("row %zu: %s %s", i, dit_status_name(st), st != DIT_OK ? dit_error_last()->message : "");
        if (st == DIT_OK) assert_fact(link_class.bandwidth_efficiency, 0.5, "efficiency");
    }
}

static void a_fitted_efficiency_narrows_the_simulated_link(void **state)
{
    suite_cluster cluster;
    (void)state;
    fixture_write("links/links.json",
                  "{\"schema\":\"ditbench.links/1\",\"name\":\"links\",\"classes\":{\"wire\":{\"title\":\"Wire\","
                  "\"kind\":\"wire\",\"source\":[\"a test\"],\"sharing\":\"duplex\",\"bandwidth_bytes_per_s\":8e9,"
                  "\"latency_s\":0,\"fitted\":{\"bandwidth_efficiency\":0.25,\"evidence\":\"fitted\"}},"
                  "\"root\":{\"title\":\"Root\",\"kind\":\"root\",\"source\":[\"a test\"],\"sharing\":\"shared\","
                  "\"bandwidth_bytes_per_s\":\"attached\",\"latency_s\":0,"
                  "\"fitted\":{\"bandwidth_efficiency\":0.5,\"evidence\":\"fitted\"}}}}");
    assert_int_equal(read_node(1, "",
                               "\"devices\":4,\"topology\":\"tree\",\"device_link\":\"wire\",\"sockets\":1,"
                               "\"root_link\":\"root\",\"peer_to_peer\":true," NO_SWITCH,
                               &cluster),
                     DIT_OK);
    assert_fact(cluster.links[0].bandwidth_bytes_per_s, 2e9, "wire");
    assert_fact(cluster.links[cluster.root_link].bandwidth_bytes_per_s, 16e9, "half of four wires as they are sold");
    suite_cluster_release(&cluster);
}

/* ---- what a simulation is told -------------------------------------------------------------------------------------
 */

static double told(const char *platform, const suite_calibration *calibration, const char *key)
{
    static const char *const files[] = {"case.json", "platform.xml", "hosts", "accelerator.json", "profile.json"};
    char folder[TEST_FOLDER], path[256];
    suite_simulate_params params = {.element = "fp16", .calibration = calibration};
    dit_json doc;
    cJSON *kase = cJSON_CreateObject();
    assert_int_equal(test_folder_make(folder), 0);
    assert_int_equal(suite_simulate_prepare(&params, folder, kase, 2, platform, "ditbench"), DIT_OK);
    snprintf(path, sizeof path, "%s/case.json", folder);
    assert_int_equal(dit_json_read_file(path, &doc), DIT_OK);
    const cJSON *simulation = cJSON_GetObjectItemCaseSensitive(doc.root, "simulation");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(simulation, key);
    double number = cJSON_IsNumber(value) ? value->valuedouble : cJSON_IsBool(value) ? cJSON_IsTrue(value) : -1;
    dit_json_release(&doc);
    cJSON_Delete(kase);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    return number;
}

static void fit_peers(suite_calibration *calibration, const char *link, double value)
{
    suite_calibrated one = {.key = SUITE_CALIBRATED_MANY_PEERS_EFFICIENCY, .value = value};
    snprintf(one.name, sizeof one.name, "%s", link);
    assert_int_equal(suite_calibration_set(calibration, &one), DIT_OK);
}

static void a_simulation_is_told_of_switches_adapters_and_fitted_links(void **state)
{
    suite_calibration calibration = {0};
    (void)state;
    assert_true(told("2xp5", NULL, "nvswitch") == 1 && told("8xl40", NULL, "nvswitch") == 0);
    assert_true(told("8xv100-sxm", NULL, "nvswitch") == 0);
    assert_fact(told("2xp5", NULL, "adapters_per_node"), 8, "32 cards of 8 devices");
    assert_fact(told("2xp4d", NULL, "adapters_per_node"), 4, "4 cards of 8 devices");
    assert_fact(told("2xp4d", NULL, "network_bandwidth_bytes_per_s"), 12.5e9 * 0.908, "one of them");
    assert_true(told("8xl40", NULL, "network_bandwidth_bytes_per_s") < 0); /* one node */
    assert_fact(told("2xp5", NULL, "inside_many_peers_efficiency"), 1, "not fitted");
    fit_peers(&calibration, "nvlink-h100", 0.9);
    fit_peers(&calibration, "efa-v2", 0.5);
    fit_peers(&calibration, "pcie4-x16", 0.25);
    assert_fact(told("2xp5", &calibration, "inside_many_peers_efficiency"), 0.9, "NVLink");
    assert_fact(told("2xp5", &calibration, "network_many_peers_efficiency"), 0.5,
                "EFA, the lesser of it and the fabric");
    assert_fact(told("8xl40", &calibration, "inside_many_peers_efficiency"), 0.25, "PCIe");
    suite_calibration_release(&calibration);
}

/* ---- XML --------------------------------------------------------------------------------------------------------- */

static char *xml_of(const char *platform, size_t *length)
{
    suite_cluster cluster;
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    assert_non_null(file);
    assert_int_equal(suite_cluster_load(platform, &cluster), DIT_OK);
    assert_int_equal(suite_cluster_write_xml(&cluster, file), DIT_OK);
    fclose(file);
    suite_cluster_release(&cluster);
    return text;
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) count++;
    return count;
}

static void text_grows_with_the_nodes_not_with_their_pairs(void **state)
{
    size_t two_length, many_length;
    char *two = xml_of("2x8xh100-sxm", &two_length), *many = xml_of("128x8xh100-sxm", &many_length);
    (void)state;
    assert_int_equal(count_of(many, "<host "), 1024);
    assert_int_equal(count_of(many, "<route "), 128 * (28 + 8));
    assert_int_equal(count_of(many, "<zoneRoute "), 128);
    assert_int_equal(count_of(two, "<route "), 2 * (28 + 8));
    assert_true(many_length < two_length * 64 * 11 / 10);
    free(two);
    free(many);
}

static void the_xml_of_two_devices_is_this(void **state)
{
    static const char expected[] =
        "  <zone id=\"cluster\" routing=\"Full\">\n"
        "    <zone id=\"node0\" routing=\"Full\">\n"
        "      <host id=\"device0\" speed=\"1f\"/>\n"
        "      <host id=\"device1\" speed=\"1f\"/>\n"
        "      <link id=\"node0.device0\" bandwidth=\"234900000000Bps\" latency=\"3e-07s\" "
        "sharing_policy=\"SPLITDUPLEX\"/>\n"
        "      <link id=\"node0.device1\" bandwidth=\"234900000000Bps\" latency=\"3e-07s\" "
        "sharing_policy=\"SPLITDUPLEX\"/>\n"
        "      <route src=\"device0\" dst=\"device1\"><link_ctn id=\"node0.device0\" direction=\"UP\"/>"
        "<link_ctn id=\"node0.device1\" direction=\"DOWN\"/></route>\n"
        "    </zone>\n"
        "  </zone>\n"
        "</platform>\n";
    suite_cluster cluster;
    char *text = NULL;
    size_t length;
    (void)state;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    assert_int_equal(
        read_node(1, "", "\"devices\":2,\"topology\":\"switch\",\"device_link\":\"nvlink-a100\"," NO_NIC, &cluster),
        DIT_OK);
    assert_int_equal(suite_cluster_write_xml(&cluster, file), DIT_OK);
    fclose(file);
    assert_non_null(strstr(text, "  <zone"));
    assert_string_equal(strstr(text, "  <zone"), expected);
    free(text);
    suite_cluster_release(&cluster);
}

static void ranks_share_few_nodes_evenly(void **state)
{
    suite_cluster cluster;
    char *text = NULL;
    size_t length;
    (void)state;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    assert_int_equal(suite_cluster_load("2x8xl40", &cluster), DIT_OK);
    assert_int_equal(suite_cluster_write_hostfile(&cluster, 3, file), DIT_OK);
    fclose(file);
    assert_string_equal(text, "device0\ndevice1\ndevice2\n");
    assert_int_equal(suite_cluster_ranks_per_node(&cluster, 8), 8);
    assert_int_equal(suite_cluster_ranks_per_node(&cluster, 12), 6); /* two nodes, even */
    assert_int_equal(suite_cluster_ranks_per_node(&cluster, 16), 8);
    free(text);
    file = open_memstream(&text, &length);
    assert_int_equal(suite_cluster_write_hostfile(&cluster, 12, file), DIT_OK);
    fclose(file);
    assert_non_null(strstr(text, "device5\ndevice8\n"));
    assert_int_equal(suite_cluster_write_hostfile(&cluster, 17, stdout), DIT_ERR_CONSTRAINT_PLATFORM);
    free(text);
    suite_cluster_release(&cluster);
}

static void a_full_disk_is_an_error(void **state)
{
    suite_cluster cluster;
    (void)state;
    FILE *file = fopen("/dev/full", "w");
    if (!file) skip();
    assert_int_equal(suite_cluster_load("8xl40", &cluster), DIT_OK);
    assert_int_equal(suite_cluster_write_xml(&cluster, file), DIT_ERR_IO);
    fclose(file);
    suite_cluster_release(&cluster);
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
        cmocka_unit_test(a_simulation_is_told_of_switches_adapters_and_fitted_links),
        cmocka_unit_test(text_grows_with_the_nodes_not_with_their_pairs),
        cmocka_unit_test(the_xml_of_two_devices_is_this),
        cmocka_unit_test(ranks_share_few_nodes_evenly),
        cmocka_unit_test(a_full_disk_is_an_error),
    };
    const struct CMUnitTest parts[] = {
        cmocka_unit_test(a_fact_is_stated_or_said_to_be_unknown),
        cmocka_unit_test(a_class_of_links_has_bandwidth_and_says_who_shares_it),
        cmocka_unit_test(a_fitted_efficiency_narrows_the_simulated_link),
    };
    int failed = cmocka_run_group_tests(tests, use_shipped, NULL);
    return failed + cmocka_run_group_tests(parts, setup_parts, teardown_parts);
}
