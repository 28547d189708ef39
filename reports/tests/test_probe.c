/* Probes: what a file says is read where it belongs; files of other shapes, other digests and other numbers are refused. */
#include "base/safetensors.h"
#include "reports/records/likeness.h"
#include "reports/records/probe.h"

#include "base/tests/test.h"

#include <unistd.h>

enum { PROMPTS = 3, STEPS = 5, LAYERS = 2, CHANGES = STEPS - 1, ROWS = 3, COLUMNS = 3, POINTS = 4, MEASURES = 5 };
enum { NUMBERS = PROMPTS * CHANGES * LAYERS * POINTS * ROWS * COLUMNS * MEASURES };

static char folder[TEST_FOLDER], path[TEST_FOLDER + 32];

static int make_folder(void **state)
{
    (void)state;
    if (test_folder_make(folder) != 0) return 1;
    snprintf(path, sizeof path, "%s/probe.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return test_folder_remove(folder);
}

/* The number at each place is that of the place, and 1 more. */
static float numbers[NUMBERS], cost[PROMPTS * STEPS * STEPS], sigmas[STEPS];

static const dit_tensor_out good[] = {
    {"layers", 7, {PROMPTS, CHANGES, LAYERS, POINTS, ROWS, COLUMNS, MEASURES}, numbers},
    {"input", 4, {PROMPTS, CHANGES, COLUMNS, MEASURES}, numbers},
    {"output", 4, {PROMPTS, CHANGES, COLUMNS, MEASURES}, numbers},
    {"ratios", 2, {PROMPTS, CHANGES}, cost},
    {"cost", 3, {PROMPTS, STEPS, STEPS}, cost},
    {"sigmas", 1, {STEPS}, sigmas},
};
enum { TENSORS = sizeof good / sizeof *good };

static void fill(void)
{
    for (int i = 0; i < NUMBERS; i++) numbers[i] = (float)(i + 1);
    for (int i = 0; i < PROMPTS * STEPS * STEPS; i++)
        cost[i] = (float)(i / (STEPS * STEPS)); /* 0, 1, 2: the mean is 1 */
    for (int i = 0; i < STEPS; i++) sigmas[i] = (float)(STEPS - i);
}

/* Writes the tensors and reads them as the probe of a case whose record has their digest. */
static dit_status read_written(const dit_tensor_out *tensors, int count, report_probe *out)
{
    dit_safetensors *file;
    char digest[48];
    report_case kase = {.label = "one", .probe = {.path = path, .digest = digest}};
    assert_ok(dit_safetensors_write(path, tensors, count));
    assert_ok(dit_safetensors_open(path, &file));
    assert_ok(dit_safetensors_digest(file, digest));
    dit_safetensors_close(file);
    return report_probe_read(&kase, out);
}

static void numbers_come_from_image_rows_and_all_branches(void **state)
{
    (void)state;
    report_probe probe;
    fill();
    assert_ok(read_written(good, TENSORS, &probe));
    assert_int_equal(probe.prompts, PROMPTS);
    assert_int_equal(probe.steps, STEPS);
    assert_int_equal(probe.layers, LAYERS);
    for (int prompt = 0; prompt < PROMPTS; prompt++)
        for (int step = 0; step < CHANGES; step++)
            for (int layer = 0; layer < LAYERS; layer++)
                for (int point = 0; point < POINTS; point++) {
                    int cell = ((prompt * CHANGES + step) * LAYERS + layer) * POINTS + point;
                    int at = ((cell * ROWS + 0) * COLUMNS + COLUMNS - 1) * MEASURES + REPORT_PROBE_RELATIVE;
                    double read =
                        probe.change[point][REPORT_PROBE_RELATIVE][(prompt * LAYERS + layer) * CHANGES + step];
                    assert_near(read, at + 1, 0);
                }
    assert_near(probe.cost[7], 1, 1e-12);
    assert_near(probe.input[1], (2 * COLUMNS - 1) * MEASURES + REPORT_PROBE_RELATIVE + 1, 0);
    assert_near(probe.ratios[0], 0, 1e-12);
    assert_near(probe.noise[0], STEPS - 1, 0); /* of the step that has changed */
    assert_near(probe.places[CHANGES - 1], 1, 1e-12);
    report_probe_release(&probe);
}

static void other_shapes_are_refused(void **state)
{
    (void)state;
    report_probe probe;
    dit_tensor_out wrong[TENSORS];
    fill();
    assert_fails(read_written(good + 1, TENSORS - 1, &probe), DIT_ERR_TENSOR_MISSING, "layers");
    assert_fails(read_written(good, TENSORS - 1, &probe), DIT_ERR_TENSOR_MISSING, "sigmas");
    memcpy(wrong, good, sizeof good);
    wrong[0].shape[3] = 2, wrong[0].shape[4] = 2 * ROWS; /* as many numbers, other points */
    assert_fails(read_written(wrong, TENSORS, &probe), DIT_ERR_SHAPE, "layers");
    memcpy(wrong, good, sizeof good);
    wrong[0].shape[0] = 0;
    assert_fails(read_written(wrong, TENSORS, &probe), DIT_ERR_SHAPE, "0 prompts");
    memcpy(wrong, good, sizeof good);
    wrong[0].shape[4] = 0;
    assert_fails(read_written(wrong, TENSORS, &probe), DIT_ERR_SHAPE, "");
    memcpy(wrong, good, sizeof good);
    wrong[TENSORS - 1].shape[0] = 2;
    assert_fails(read_written(wrong, TENSORS, &probe), DIT_ERR_SHAPE, "sigmas");
}

static void numbers_that_are_none_are_refused(void **state)
{
    (void)state;
    report_probe probe;
    fill();
    numbers[NUMBERS - 1] = NAN;
    assert_fails(read_written(good, TENSORS, &probe), DIT_ERR_NONFINITE, "");
    fill();
    cost[0] = INFINITY;
    assert_fails(read_written(good, TENSORS, &probe), DIT_ERR_NONFINITE, "");
}

static void another_file_is_refused(void **state)
{
    (void)state;
    report_probe probe;
    char digest[] = "xxh3:00000000000000000000000000000000";
    fill();
    assert_ok(read_written(good, TENSORS, &probe));
    report_probe_release(&probe);
    report_case kase = {.label = "one", .probe = {.path = path, .digest = digest}};
    assert_fails(report_probe_read(&kase, &probe), DIT_ERR_INTEGRITY, "has digest");
    kase.probe.path = "/no/such/probe.safetensors";
    assert_fails(report_probe_read(&kase, &probe), DIT_ERR_NOT_FOUND, "is not there");
    kase.probe.path = NULL;
    assert_fails(report_probe_read(&kase, &probe), DIT_ERR_NOT_FOUND, "left no probe");
    assert_int_equal(truncate(path, 100), 0);
    kase.probe.path = path;
    assert_true(report_probe_read(&kase, &probe) != DIT_OK);
}

/* A case is exactly like itself; bounds of a pair enclose its correlations. */
static void a_case_is_like_itself(void **state)
{
    (void)state;
    report_probe probe;
    dit_safetensors *file;
    char digest[48];
    report_likeness likeness;
    fill();
    assert_ok(read_written(good, TENSORS, &probe));
    report_probe_release(&probe);
    assert_ok(dit_safetensors_open(path, &file));
    assert_ok(dit_safetensors_digest(file, digest));
    dit_safetensors_close(file);
    const report_case kase = {.label = "one", .probe = {.path = path, .digest = digest}};
    const report_case *const twice[] = {&kase, &kase};
    for (int on_noise = 0; on_noise < 2; on_noise++) {
        assert_ok(report_likeness_of(twice, 2, on_noise, &likeness));
        assert_int_equal(likeness.pairs, 1);
        assert_near(likeness.least, 1, 1e-12);
        assert_near(likeness.low, 1, 1e-12);
        assert_near(likeness.high, 1, 1e-12);
    }
    assert_fails(report_likeness_of(twice, 1, false, &likeness), DIT_ERR_NOT_FOUND, "two cases");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_from_image_rows_and_all_branches),
        cmocka_unit_test(other_shapes_are_refused),
        cmocka_unit_test(numbers_that_are_none_are_refused),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(a_case_is_like_itself),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
