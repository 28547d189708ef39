/* Fixture of the tests of calibrations: the shipped data, a calibration of few values, and members of a document. */
#ifndef DIT_SUITE_TESTS_CALIBRATION_FIXTURE_H
#define DIT_SUITE_TESTS_CALIBRATION_FIXTURE_H

#include "suite/platform/calibration.h"

#include "base/tests/test.h"

static inline int setup(void **state)
{
    (void)state;
    return setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1);
}

static inline double number_at(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(value));
    return value->valuedouble;
}

#endif
