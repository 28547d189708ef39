/* Accelerators and classes of links of a folder of the tests' own: facts without a source, and fitted ones. */
#include "suite/error_place.h"
#include "suite/platform/cluster.h"

#include "suite/tests/platform_fixture.h"

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
        if (st == DIT_OK) assert_fact(accelerator.facts.peak_flops_per_s[DIT_ACCELERATOR_BF16], 3e12, "bf16");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fact_is_stated_or_said_to_be_unknown),
        cmocka_unit_test(a_class_of_links_has_bandwidth_and_says_who_shares_it),
        cmocka_unit_test(a_fitted_efficiency_narrows_the_simulated_link),
    };
    return cmocka_run_group_tests(tests, setup_parts, teardown_parts);
}
