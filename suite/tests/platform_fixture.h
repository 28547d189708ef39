/* Fixture of the tests of platforms: the shipped ones, made-up clusters, and a fact beside what it is to be. */
#ifndef DIT_SUITE_TESTS_PLATFORM_FIXTURE_H
#define DIT_SUITE_TESTS_PLATFORM_FIXTURE_H

#include "suite/platform/cluster.h"

#include "suite/tests/workload_fixture.h"

/* Members of a node that has no network card, and no switches either. */
#define NO_NIC    "\"unknown\":{\"nic_link\":\"a test\"}"
#define NO_SWITCH "\"unknown\":{\"nic_link\":\"a test\",\"switches_per_socket\":\"a test\"}"

static inline int use_shipped(void **state)
{
    (void)state;
    return setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1);
}

static inline void assert_fact(double value, double expected, const char *what)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected)) fail_msg("%s: %.12g, expected %.12g", what, value, expected);
}

static const char document_format[] =
    "{\"schema\":\"ditbench.platform/1\",\"name\":\"test\",\"backend\":\"cost\",\"launcher\":\"smpirun\",\n"
    "\"cluster\":{\"accelerator\":\"l40\",\"nodes\":%d,%s\n\"node\":{%s}},\"source\":[\"a test\"]}";

static inline dit_status read_node(int nodes, const char *cluster_members, const char *node_members, suite_cluster *out)
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

#endif
