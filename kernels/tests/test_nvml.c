/* What a record says of a GPU is what the management library told, and nothing where it told nothing. */
#include "kernels/cuda/nvml.h"

#include "base/tests/test.h"

#include <cjson/cJSON.h>
#include <libgen.h>

/* Beside this program. */
static void use_fake_library(void)
{
    char program[1024] = "", path[1100];
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    snprintf(path, sizeof path, "%s/fake_nvml.so", dirname(program));
    setenv("DITBENCH_NVML_LIBRARY", path, 1);
}

static cJSON *describe(const char *bus_id)
{
    cJSON *out = cJSON_CreateObject();
    assert_int_equal(cuda_nvml_describe(bus_id, out), DIT_OK);
    return out;
}

static double number(const cJSON *object, const char *group, const char *key)
{
    const cJSON *inner = group ? cJSON_GetObjectItem(object, group) : object;
    const cJSON *item = cJSON_GetObjectItem(inner, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static void facts_are_those_that_the_library_tells(void **state)
{
    (void)state;
    use_fake_library();
    cJSON *out = describe("0000:1b:00.0");
    assert_string_equal(cJSON_GetObjectItem(out, "driver")->valuestring, "580.65.06");
    assert_true(number(out, "clocks_mhz", "sm") == 1980 && number(out, "clocks_mhz", "sm_max") == 1985);
    assert_true(number(out, "clocks_mhz", "memory") == 3201 && number(out, "clocks_mhz", "memory_max") == 3202);
    assert_true(number(out, NULL, "power_w") == 123.456 && number(out, NULL, "temperature_c") == 41);
    assert_true(number(out, "pcie", "generation") == 5 && number(out, "pcie", "width") == 16);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(cJSON_GetObjectItem(out, "ecc"), "on")));
    assert_true(number(out, "ecc", "corrected") == 7 && number(out, "ecc", "uncorrected") == 2);
    assert_true(number(out, "nvlink", "links") == 4 && number(out, "nvlink", "links_active") == 3);
    assert_true(number(out, "nvlink", "peers") == 2 && number(out, "nvlink", "version") == 4);
    cJSON_Delete(out);
}

static void reasons_for_throttling_are_words(void **state)
{
    (void)state;
    use_fake_library();
    cJSON *out = describe("0000:1b:00.0"), *reasons = cJSON_GetObjectItem(out, "throttle_reasons");
    assert_int_equal(cJSON_GetArraySize(reasons), 2);
    assert_string_equal(cJSON_GetArrayItem(reasons, 0)->valuestring, "power_cap");
    assert_string_equal(cJSON_GetArrayItem(reasons, 1)->valuestring, "hardware_thermal_slowdown");
    cJSON_Delete(out);
}

static void what_is_not_told_is_left_out(void **state)
{
    (void)state;
    use_fake_library();
    cJSON *out = describe("0000:1b:00.0");
    assert_null(cJSON_GetObjectItem(out, "power_limit_w"));
    assert_null(cJSON_GetObjectItem(out, "nvml"));
    assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(out, "ecc"), "corrected_ever"));
    assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(out, "pcie"), "width_max"));
    char *text = cJSON_PrintUnformatted(out);
    assert_null(strstr(text, "0A:00")); /* no bus ids */
    free(text);
    cJSON_Delete(out);
}

static void without_library_or_device_the_reason_is_there(void **state)
{
    (void)state;
    use_fake_library();
    cJSON *out = describe("0000:1c:00.0");
    assert_string_equal(cJSON_GetObjectItem(out, "nvml")->valuestring, "the device is not visible");
    assert_int_equal(cJSON_GetArraySize(out), 1);
    cJSON_Delete(out);
    setenv("DITBENCH_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1", 1);
    out = describe("0000:1b:00.0");
    assert_string_equal(cJSON_GetObjectItem(out, "nvml")->valuestring, "no library");
    cJSON_Delete(out);
}

static void the_meter_reads_energy_and_power(void **state)
{
    (void)state;
    use_fake_library();
    cuda_meter *meter = cuda_meter_open("0000:1b:00.0");
    assert_non_null(meter);
    const dit_device_reading before = cuda_meter_read(meter);
    usleep(20000);
    const dit_device_reading after = cuda_meter_read(meter);
    assert_true(before.power_w == 123.456 && after.power_w == 123.456);
    assert_true(after.energy_j - before.energy_j >= 123.456 * 0.02 - 0.002);
    cuda_meter_close(meter);
    assert_null(cuda_meter_open("0000:1c:00.0"));
    assert_true(isnan(cuda_meter_read(NULL).energy_j) && isnan(cuda_meter_read(NULL).power_w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_those_that_the_library_tells),
        cmocka_unit_test(reasons_for_throttling_are_words),
        cmocka_unit_test(what_is_not_told_is_left_out),
        cmocka_unit_test(the_meter_reads_energy_and_power),
        cmocka_unit_test(without_library_or_device_the_reason_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
