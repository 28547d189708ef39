/* What a simulation is given of a platform: the XML of its network, where ranks are, and what is told beside. */
#include "kernels/cost/read.h"
#include "suite/platform/cluster_xml.h"
#include "suite/simulate/simulate.h"

#include "suite/tests/platform_fixture.h"

/* ---- what a simulation is told ----------------------------------------------------------------------------------- */

static void remove_prepared(const char *folder)
{
    static const char *const files[] = {"case.json", "platform.xml", "hosts", "accelerator.json", "profile.json"};
    char path[256];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static double told(const char *platform, const suite_calibration *calibration, const char *key)
{
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
    remove_prepared(folder);
    return number;
}

static void fit(suite_calibration *calibration, suite_calibrated_key key, const char *link, double value)
{
    suite_calibrated one = {.key = key, .value = value};
    snprintf(one.name, sizeof one.name, "%s", link);
    assert_int_equal(suite_calibration_set(calibration, &one), DIT_OK);
}

static void fit_peers(suite_calibration *calibration, const char *link, double value)
{
    fit(calibration, SUITE_CALIBRATED_MANY_PEERS_EFFICIENCY, link, value);
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

/* Two channels bring twice what one connection of 5 % of the adapter does, but no more than the adapter. */
static void a_simulation_is_told_of_channels_and_knots(void **state)
{
    suite_calibration calibration = {0};
    (void)state;
    assert_fact(told("2x8xl40", NULL, "network_collective_times"), -1, "a connection as fast as the adapter");
    assert_fact(told("2x8xl40", NULL, "network_trees"), 0, "sockets");
    assert_fact(told("2xp5", NULL, "network_trees"), -1, "as ever");
    assert_fact(told("2xp5", NULL, "network_collective_times"), -1, "as ever");
    fit(&calibration, SUITE_CALIBRATED_BANDWIDTH_EFFICIENCY, "tcp-connection", 0.05);
    assert_fact(told("2x8xl40", &calibration, "network_collective_times"), 2, "two of 5 %");
    fit(&calibration, SUITE_CALIBRATED_BANDWIDTH_EFFICIENCY, "tcp-connection", 0.8);
    assert_fact(told("2x8xl40", &calibration, "network_collective_times"), 1 / 0.8, "the adapter");
    assert_fact(told("8xl40", NULL, "inside_few_peers_efficiency"), -1, "one exponent for all");
    fit_peers(&calibration, "pcie4-x16", 0.25);
    assert_fact(told("8xl40", &calibration, "inside_few_peers_efficiency"), -1, "one exponent for all");
    fit(&calibration, SUITE_CALIBRATED_FEW_PEERS_EFFICIENCY, "pcie4-x16", 0.5);
    assert_fact(told("8xl40", &calibration, "inside_few_peers_efficiency"), 0.5, "another up to three");
    assert_fact(told("8xl40", &calibration, "inside_many_peers_efficiency"), 0.25, "than beyond");
    suite_calibration_release(&calibration);
}

/* Reads the device that a simulation is given where it is so many times as fast. */
static dit_cost_device device_given(const char *platform, double times)
{
    char folder[TEST_FOLDER], path[256];
    suite_simulate_params params = {.element = "fp16", .faster = {.device = times}};
    dit_cost_profile profile;
    dit_cost_device device;
    cJSON *kase = cJSON_CreateObject();
    assert_int_equal(test_folder_make(folder), 0);
    assert_ok(suite_simulate_prepare(&params, folder, kase, 2, platform, "ditbench"));
    snprintf(path, sizeof path, "%s/profile.json", folder);
    assert_ok(dit_cost_profile_read(path, &profile));
    snprintf(path, sizeof path, "%s/accelerator.json", folder);
    assert_ok(dit_cost_device_read(path, "fp16", &profile, &device));
    cJSON_Delete(kase);
    remove_prepared(folder);
    return device;
}

/* Heads of 72 lie outside of the A100's tables, so their rate takes the exponentials into account. */
static void a_device_twice_as_fast_takes_half_the_time(void **state)
{
    const dit_cost_attention heads[] = {{1, 16, 4096, 4096, 72, 1, 0}, {1, 16, 4096, 4096, 128, 1, 0}};
    dit_cost_device once = device_given("8xa100-sxm", 0), twice = device_given("8xa100-sxm", 2);
    (void)state;
    assert_true(once.exponentials_per_s > 0 && once.tables == 1 && once.attention[0].head_dim == 128);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        double seconds = dit_cost_attention_seconds(&once, &heads[i]) - once.launch_s;
        double halved = dit_cost_attention_seconds(&twice, &heads[i]) - twice.launch_s;
        assert_near(halved / seconds, 0.5, 1e-12);
    }
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
        cmocka_unit_test(a_simulation_is_told_of_switches_adapters_and_fitted_links),
        cmocka_unit_test(a_simulation_is_told_of_channels_and_knots),
        cmocka_unit_test(a_device_twice_as_fast_takes_half_the_time),
        cmocka_unit_test(text_grows_with_the_nodes_not_with_their_pairs),
        cmocka_unit_test(the_xml_of_two_devices_is_this),
        cmocka_unit_test(ranks_share_few_nodes_evenly),
        cmocka_unit_test(a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, use_shipped, NULL);
}
