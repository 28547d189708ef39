/* Fixture of the tests of published points: the shipped tables of names, points as texts, and what is understood of
 * one. Include it once in a program.
 */
#ifndef DIT_SUITE_TESTS_PUBLISHED_FIXTURE_H
#define DIT_SUITE_TESTS_PUBLISHED_FIXTURE_H

#include "suite/simulate/published_points.h"

#include "base/tests/test.h"

#define PUBLISHED DITBENCH_SOURCE_DIR "/results/published/"

static suite_published_names names;

static inline int setup(void **state)
{
    (void)state;
    setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1);
    return suite_published_names_load(DITBENCH_SOURCE_DIR "/results/published", &names) != DIT_OK;
}

static inline int teardown(void **state)
{
    (void)state;
    suite_published_names_release(&names);
    return 0;
}

static inline double number_at(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

#define SAYS   "\"hardware\":\"8xA100\",\"interconnect\":\"NVLink\",\"metric\":\"latency\",\"unit\":\"s\""
#define FLUX   "\"model\":\"FLUX.1-dev\",\"resolution\":\"1024x1024\",\"steps\":28," SAYS
#define CONFIG "\"config\":{\"cfg\":1,\"ulysses\":4,\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1}"
#define LAYER                                                                                                          \
    "\"model\":\"attention layer only (causal, forward)\",\"hardware\":\"8xA100\",\"interconnect\":\"NVLink\","        \
    "\"metric\":\"throughput\",\"unit\":\"iter/s\",\"gpus\":8,\"heads\":32,\"head_dim\":128"
#define GOOD "{" FLUX ",\"gpus\":4,\"method\":\"ulysses-4\"," CONFIG ",\"value\":1.5}"

static inline dit_status parse(const char *text, suite_published *out)
{
    return suite_published_parse(text, strlen(text), "points.json", out);
}

#endif
