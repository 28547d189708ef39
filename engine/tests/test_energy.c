/* Energy of packages and of devices comes out as the meters were made to show it. */
#include "engine/results/energy.h"
#include "kernels/device_impl.h"

#include "base/clock.h"
#include "base/tests/test.h"

#include <errno.h>
#include <sys/stat.h>

/* ---- packages ---------------------------------------------------------------------------------------------------- */

static char folder[TEST_FOLDER];

static void write_number(const char *zone, const char *file, double value)
{
    char path[512];
    snprintf(path, sizeof path, "%s/class/powercap/%s", folder, zone);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/class/powercap/%s/%s", folder, zone, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%.0f\n", value);
    fclose(out);
}

/* Two packages whose counters hold 1,000 J, a part of one of them, and a zone that is no package. */
static int make_packages(void **state)
{
    char path[256];
    (void)state;
    if (test_folder_make(folder) != 0) return 1;
    for (const char *part = "/class\0/class/powercap\0"; *part; part += strlen(part) + 1) {
        snprintf(path, sizeof path, "%s%s", folder, part);
        if (mkdir(path, 0755) != 0) return 1;
    }
    const char *const zones[] = {"intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"};
    for (int i = 0; i < 3; i++) {
        write_number(zones[i], "max_energy_range_uj", 1e9);
        write_number(zones[i], "energy_uj", 9.99e8);
    }
    write_number("intel-rapl", "enabled", 1);
    setenv("DITBENCH_SYSFS", folder, 1);
    return 0;
}

static int remove_packages(void **state)
{
    (void)state;
    unsetenv("DITBENCH_SYSFS");
    return test_folder_remove(folder);
}

static dit_energy_meter *open_meter(const dit_runtime *rt)
{
    dit_energy_meter *meter = NULL;
    assert_int_equal(dit_energy_open(rt, &meter), DIT_OK);
    return meter;
}

static void packages_are_added_up_and_may_run_over(void **state)
{
    dit_energy energy;
    const dit_runtime rt = {.local_rank = 0};
    (void)state;
    dit_energy_meter *meter = open_meter(&rt);
    assert_non_null(meter);
    assert_int_equal(dit_energy_begin(meter), DIT_OK);
    write_number("intel-rapl:0", "energy_uj", 5e6);     /* over the end of its range: 6 J */
    write_number("intel-rapl:1", "energy_uj", 9.995e8); /* 0.5 J */
    write_number("intel-rapl:0:0", "energy_uj", 1e6);
    dit_energy_end(meter, &energy);
    assert_int_equal(energy.meters, 2);
    assert_true(energy.packages && isnan(energy.integral_j) && isnan(energy.rest_w));
    assert_true(fabs(energy.counter_j - 6.5) < 1e-6);
    assert_true(energy.window_s > 0 && energy.window_s < 60);
    dit_energy_close(meter);
}

static void one_rank_of_a_machine_reads_them(void **state)
{
    const dit_runtime rt = {.local_rank = 1};
    dit_energy energy;
    (void)state;
    assert_null(open_meter(&rt));
    assert_int_equal(dit_energy_begin(NULL), DIT_OK);
    dit_energy_rest(NULL);
    dit_energy_end(NULL, &energy);
    assert_int_equal(energy.meters, 0);
}

static void a_machine_without_meters_has_none(void **state)
{
    const dit_runtime rt = {.local_rank = 0};
    (void)state;
    setenv("DITBENCH_SYSFS", "/nowhere", 1);
    assert_null(open_meter(&rt));
    setenv("DITBENCH_SYSFS", folder, 1);
    assert_int_equal(chmod(folder, 0), 0); /* root reads all the same */
    dit_energy_meter *meter = open_meter(&rt);
    assert_int_equal(meter != NULL, geteuid() == 0);
    dit_energy_close(meter);
    assert_int_equal(chmod(folder, 0755), 0);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static double counter_w; /* what the counter of the made-up device counts; NAN: it has none */

static dit_device_reading read_made_up(dit_device *device)
{
    (void)device;
    return (dit_device_reading){.energy_j = counter_w * (double)dit_clock_ns() * 1e-9, .power_w = 200};
}

static dit_energy measure_made_up(double watts)
{
    static const dit_device_ops ops = {.name = "made up", .read_meter = read_made_up};
    dit_device device = {.ops = &ops};
    const dit_runtime rt = {.device = &device, .devices = 1};
    dit_energy energy;
    counter_w = watts;
    dit_energy_meter *meter = open_meter(&rt);
    dit_energy_rest(meter);
    assert_int_equal(dit_energy_begin(meter), DIT_OK);
    usleep(350000);
    dit_energy_end(meter, &energy);
    dit_energy_close(meter);
    return energy;
}

static void a_device_has_a_counter_and_an_integral(void **state)
{
    (void)state;
    const dit_energy energy = measure_made_up(200);
    assert_int_equal(energy.meters, 1);
    assert_true(energy.window_s >= 0.35 && !energy.packages && energy.rest_w == 200);
    assert_true(fabs(energy.integral_j - 200 * energy.window_s) < 1e-6);
    assert_true(fabs(energy.counter_j - 200 * energy.window_s) < 0.02 * energy.counter_j);
}

static void a_device_without_a_counter_has_the_integral(void **state)
{
    (void)state;
    const dit_energy energy = measure_made_up(NAN);
    assert_true(isnan(energy.counter_j) && energy.integral_j > 60);
}

static void the_first_rank_on_each_device_reads_it(void **state)
{
    static const dit_device_ops ops = {.name = "made up", .read_meter = read_made_up};
    dit_device device = {.ops = &ops};
    (void)state;
    for (int rank = 0; rank < 4; rank++) {
        const dit_runtime rt = {.device = &device, .devices = 2, .local_rank = rank};
        dit_energy_meter *meter = open_meter(&rt);
        assert_int_equal(meter != NULL, rank < 2);
        dit_energy_close(meter);
    }
}

static void a_device_that_tells_nothing_is_no_meter(void **state)
{
    static const dit_device_ops ops = {.name = "silent"};
    dit_device device = {.ops = &ops};
    const dit_runtime rt = {.device = &device, .devices = 1};
    (void)state;
    assert_null(open_meter(&rt));
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static void ranks_are_added_up(void **state)
{
    dit_energy all = {0};
    const dit_energy none = {0}, one = {.meters = 1, .counter_j = 10, .integral_j = 11, .rest_w = 70, .window_s = 3},
                     other = {.meters = 1, .counter_j = 20, .integral_j = NAN, .rest_w = 80, .window_s = 4};
    (void)state;
    dit_energy_add(&all, &none);
    assert_int_equal(all.meters, 0);
    dit_energy_add(&all, &one);
    dit_energy_add(&all, &none);
    dit_energy_add(&all, &other);
    assert_int_equal(all.meters, 2);
    assert_true(all.counter_j == 30 && isnan(all.integral_j) && all.rest_w == 150 && all.window_s == 4);
}

static void doubtful_energy_is_told_from_sound(void **state)
{
    const dit_energy sound = {.meters = 1, .counter_j = 100, .integral_j = 105, .window_s = 3};
    dit_energy energy = sound;
    (void)state;
    assert_null(dit_energy_doubt(&energy, 2.9));
    assert_non_null(strstr(dit_energy_doubt(&energy, 2.6), "90 %"));
    energy.integral_j = 111;
    assert_non_null(strstr(dit_energy_doubt(&energy, 2.9), "differ"));
    energy = sound, energy.window_s = 1.5;
    assert_non_null(strstr(dit_energy_doubt(&energy, 1.5), "shorter"));
    energy.packages = true; /* their counters are fine enough */
    assert_null(dit_energy_doubt(&energy, 1.5));
    energy = sound, energy.integral_j = NAN;
    assert_null(dit_energy_doubt(&energy, 2.9));
    energy.counter_j = NAN;
    assert_non_null(strstr(dit_energy_doubt(&energy, 2.9), "silent"));
}

static void a_doubtful_record_has_no_energy_of_an_iteration(void **state)
{
    dit_energy energy = {.meters = 2, .counter_j = 600, .integral_j = 590, .rest_w = NAN, .window_s = 4};
    dit_json_writer w = {0};
    cJSON *sound = dit_json_new_object(&w), *doubtful = dit_json_new_object(&w), *none = dit_json_new_object(&w);
    (void)state;
    dit_energy_put(&w, sound, &energy, 3, 4);
    const cJSON *object = cJSON_GetObjectItem(sound, "energy");
    assert_true(cJSON_GetObjectItem(object, "iteration_j")->valuedouble == 200);
    assert_true(cJSON_GetObjectItem(object, "mean_w")->valuedouble == 150);
    assert_null(cJSON_GetObjectItem(object, "rest_w"));
    energy.integral_j = 300;
    dit_energy_put(&w, doubtful, &energy, 3, 4);
    object = cJSON_GetObjectItem(doubtful, "energy");
    assert_non_null(cJSON_GetObjectItem(object, "doubt"));
    assert_null(cJSON_GetObjectItem(object, "iteration_j"));
    energy.meters = 0;
    dit_energy_put(&w, none, &energy, 3, 4);
    assert_null(none->child);
    assert_int_equal(w.status, DIT_OK);
    cJSON_Delete(sound), cJSON_Delete(doubtful), cJSON_Delete(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packages_are_added_up_and_may_run_over, make_packages, remove_packages),
        cmocka_unit_test_setup_teardown(one_rank_of_a_machine_reads_them, make_packages, remove_packages),
        cmocka_unit_test_setup_teardown(a_machine_without_meters_has_none, make_packages, remove_packages),
        cmocka_unit_test(a_device_has_a_counter_and_an_integral),
        cmocka_unit_test(a_device_without_a_counter_has_the_integral),
        cmocka_unit_test(the_first_rank_on_each_device_reads_it),
        cmocka_unit_test(a_device_that_tells_nothing_is_no_meter),
        cmocka_unit_test(ranks_are_added_up),
        cmocka_unit_test(doubtful_energy_is_told_from_sound),
        cmocka_unit_test(a_doubtful_record_has_no_energy_of_an_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
