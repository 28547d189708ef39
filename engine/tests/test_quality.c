/* Picture measures: equal to NumPy's and SciPy's in double (engine/tests/quality/golden.py), what must hold of any measure, and
 * hostile inputs. */
#include "base/json.h"
#include "base/rng.h"
#include "base/bootstrap.h"
#include "engine/quality/fidelity.h"
#include "engine/quality/frechet.h"
#include "engine/quality/kernel_distance.h"
#include "engine/quality/spread.h"
#include "engine/quality/symmetric.h"
#include "engine/tests/picture_fixture.h"

#include "base/tests/test.h"

static dit_json golden;

static int read_golden(void **state)
{
    (void)state;
    return dit_json_read_file(DITBENCH_SOURCE_DIR "/engine/tests/quality/golden.json", &golden) == DIT_OK ? 0 : -1;
}

static int release_golden(void **state)
{
    (void)state;
    dit_json_release(&golden);
    return 0;
}

static double golden_number(const char *name, int at)
{
    const cJSON *value = dit_json_member(golden.root, name);
    if (cJSON_IsArray(value)) value = cJSON_GetArrayItem(value, at);
    assert_true(cJSON_IsNumber(value));
    return value->valuedouble;
}

static void assert_interval(dit_interval got, const char *name, double tolerance)
{
    assert_true(got.bounded);
    assert_close(got.value, golden_number(name, 0), tolerance);
    assert_close(got.low, golden_number(name, 1), tolerance);
    assert_close(got.high, golden_number(name, 2), tolerance);
}

/* ---- inputs, as golden.py makes them ------------------------------------------------------------------------------ */

static float *floats(int64_t count)
{
    float *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    return out;
}

static float *make_other(const float *a, uint32_t seed, dit_picture_size size)
{
    float *out = make_uniform(seed, dit_picture_floats(size));
    for (int64_t i = 0; i < dit_picture_floats(size); i++) out[i] = a[i] * 0.875f + out[i] * 0.125f;
    return out;
}

static dit_feature_rows make_features(uint32_t seed, int64_t count, int64_t width, float shift)
{
    float *u = make_uniform(seed, count * width), *out = floats(count * width);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < width; k++)
            out[i * width + k] = u[i * width + k] + 0.5f * u[i * width + (k + width - 1) % width] + shift;
    free(u);
    return (dit_feature_rows){out, count, width};
}

static void drop(dit_feature_rows rows)
{
    free((float *)(uintptr_t)rows.rows);
}

static int *prompts_of(int64_t count, int64_t each)
{
    int *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < count; i++) out[i] = (int)(i / each);
    return out;
}

/* Unit normals, for what holds of random samples. */
static dit_feature_rows draw_normals(uint64_t seed, int64_t count, int64_t width)
{
    float *out = floats(count * width);
    dit_rng_normal(seed, 1, 0, count * width, 0, 1, out);
    return (dit_feature_rows){out, count, width};
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    dit_picture_size size;
} shapes[] = {{"square", {1, 32, 32}}, {"oblong", {1, 17, 40}}, {"clip", {3, 16, 12}}, {"window", {1, 11, 11}}};

static void psnr_and_ssim_are_those_of_scipy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char name[32];
        double value;
        float *a = make_picture(1, shapes[i].size), *b = make_other(a, 2, shapes[i].size);
        assert_ok(dit_psnr(a, b, shapes[i].size, &value));
        snprintf(name, sizeof name, "psnr_%s", shapes[i].name);
        assert_close(value, golden_number(name, 0), 1e-12);
        assert_ok(dit_ssim(a, b, shapes[i].size, &value));
        snprintf(name, sizeof name, "ssim_%s", shapes[i].name);
        assert_close(value, golden_number(name, 0), 1e-12);
        free(a);
        free(b);
    }
}

static void a_picture_is_itself(void **state)
{
    (void)state;
    double value;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        float *a = make_picture(7, shapes[i].size);
        assert_ok(dit_ssim(a, a, shapes[i].size, &value));
        assert_near(value, 1, 1e-15);
        assert_ok(dit_psnr(a, a, shapes[i].size, &value));
        assert_near(value, 100, 0);
        free(a);
    }
}

static void psnr_of_a_known_error_is_the_closed_form(void **state)
{
    (void)state;
    const dit_picture_size size = {2, 4, 4};
    float a[96] = {0}, b[96];
    double value;
    for (int i = 0; i < 96; i++) b[i] = i / 16 % 2 ? 0.5f : 0.25f; /* the frames differ: 12.04 and 6.02 dB */
    assert_ok(dit_psnr(a, b, size, &value));
    assert_near(value, 10 * log10(16) / 2 + 10 * log10(4) / 2, 1e-12);
    for (int i = 0; i < 96; i++) b[i] = 0.9e-5f;
    assert_ok(dit_psnr(a, b, size, &value));
    assert_near(value, 100, 0);
}

static void pictures_that_cannot_be_measured_are_refused(void **state)
{
    (void)state;
    const dit_picture_size size = {1, 16, 16}, thin = {1, 16, 10}, empty = {0, 16, 16};
    double value;
    float *a = make_picture(1, size), *b = make_picture(2, size);
    assert_fails(dit_ssim(a, b, thin, &value), DIT_ERR_SHAPE, "10 x 16 pixels are smaller than the window");
    assert_fails(dit_psnr(a, b, empty, &value), DIT_ERR_SHAPE, "empty");
    b[256 + 2 * 16 + 3] = NAN;
    assert_fails(dit_psnr(a, b, size, &value), DIT_ERR_NONFINITE, "row 2, column 3");
    assert_fails(dit_ssim(b, a, size, &value), DIT_ERR_NONFINITE, "row 2, column 3");
    assert_near(value, 0, 0);
    free(a);
    free(b);
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

static void eigenvalues_rebuild_the_matrix(void **state)
{
    (void)state;
    enum { N = 40 };
    static double a[N * N], values[N * N], vectors[N * N];
    float draws[N * N];
    dit_rng_normal(3, 3, 0, N * N, 0, 1, draws);
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) a[i * N + j] = a[j * N + i] = draws[i * N + j] * pow(10, -(i % 5) * 1.0);
    memcpy(values, a, sizeof a);
    assert_ok(dit_symmetric_eigen(values, N, vectors));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0, dot = 0;
            for (int k = 0; k < N; k++) {
                sum += vectors[i * N + k] * values[k * N + k] * vectors[j * N + k];
                dot += vectors[i * N + k] * vectors[j * N + k];
            }
            assert_near(sum, a[i * N + j], 1e-13);
            assert_near(dot, i == j, 1e-13);
        }
}

static void roots_of_singular_matrices_square_to_them(void **state)
{
    (void)state;
    /* Rank 1: (1, 2, 2)' (1, 2, 2). */
    const double a[9] = {1, 2, 2, 2, 4, 4, 2, 4, 4}, zero[9] = {0}, indefinite[4] = {1, 2, 2, 1};
    double root[9];
    assert_ok(dit_symmetric_root(a, 3, root));
    for (int i = 0; i < 9; i++) assert_near(root[i], a[i] / 3, 1e-15);
    assert_ok(dit_symmetric_root(zero, 3, root));
    for (int i = 0; i < 9; i++) assert_near(root[i], 0, 0);
    assert_fails(dit_symmetric_root(indefinite, 2, root), DIT_ERR_SHAPE, "eigenvalue -1 beside 3");
    const double wrong[4] = {1, INFINITY, INFINITY, 1};
    assert_fails(dit_symmetric_root(wrong, 2, root), DIT_ERR_NONFINITE, "not finite");
}

/* ---- distances of sets ------------------------------------------------------------------------------------------- */

static void distances_are_those_of_scipy(void **state)
{
    (void)state;
    double value;
    dit_frechet_spread spread;
    dit_interval interval;
    dit_feature_rows x = make_features(3, 200, 16, 0), y = make_features(4, 180, 16, 0.25f);
    dit_feature_rows p = make_features(3, 200, 8, 0), q = make_features(4, 180, 8, 0.25f);
    int *of_x = prompts_of(200, 2), *of_y = prompts_of(180, 2);
    assert_ok(dit_frechet(x, y, &value));
    assert_close(value, golden_number("frechet", 0), 1e-11);
    assert_ok(dit_frechet_infinity(x, y, &value));
    assert_close(value, golden_number("frechet_infinity", 0), 1e-10);
    assert_ok(dit_frechet_blocks(p, q, &spread));
    assert_int_equal(spread.rows, 18);
    assert_close(spread.mean, golden_number("frechet_blocks", 0), 1e-11);
    assert_close(spread.deviation, golden_number("frechet_blocks", 1), 1e-10);
    assert_ok(dit_kernel_distance(x, y, &value));
    assert_close(value, golden_number("kernel_distance", 0), 1e-12);
    assert_ok(dit_kernel_distance_interval(x, of_x, y, of_y, &interval));
    assert_interval(interval, "kernel_interval", 1e-9);
    free(of_x);
    free(of_y);
    drop(x), drop(y), drop(p), drop(q);
}

static void singular_covariances_have_a_distance(void **state)
{
    (void)state;
    double value;
    dit_feature_rows x = make_features(3, 200, 16, 0), y = make_features(4, 180, 16, 0.25f);
    const dit_feature_rows *both[2] = {&x, &y};
    for (int set = 0; set < 2; set++)
        for (int64_t i = 0; i < both[set]->count; i++) {
            float *row = (float *)(uintptr_t)both[set]->rows + i * 16;
            row[3] = 0.5f; /* a feature that never changes, and one twice */
            row[5] = row[4];
            row[7] = row[1] + row[2] - row[0]; /* and sums of others, which are exact here */
            row[9] = row[8] - row[6];
        }
    assert_ok(dit_frechet(x, y, &value));
    assert_close(value, golden_number("frechet_singular", 0), 1e-7);
    assert_ok(dit_frechet(x, x, &value));
    assert_near(value, 0, 1e-6);
    for (int64_t i = 0; i < y.count * 16; i++) ((float *)(uintptr_t)y.rows)[i] = 0.25f; /* all pictures are one */
    assert_ok(dit_frechet(x, y, &value));
    assert_ok(dit_frechet(y, y, &value));
    assert_near(value, 0, 0);
    drop(x), drop(y);
}

/* Normals with diagonal covariances: the distance is a sum over features of squared differences of means and of
 * deviations. The samples are so shaped that their moments are exactly those. */
static void the_distance_of_normals_is_the_closed_form(void **state)
{
    (void)state;
    enum { WIDTH = 4, COUNT = 8 };
    static const float mean[2][WIDTH] = {{0, 1, -2, 3}, {0.5f, 1, 0, 3}};
    static const float deviation[2][WIDTH] = {{1, 2, 0.5f, 0}, {3, 2, 1, 0.25f}};
    float rows[2][COUNT * WIDTH];
    double want = 0, value;
    for (int set = 0; set < 2; set++)
        for (int i = 0; i < COUNT; i++)
            for (int k = 0; k < WIDTH; k++) { /* Walsh functions are orthogonal and have mean 0 */
                int sign = __builtin_parity((unsigned)i & (unsigned)(k + 1)) ? -1 : 1;
                rows[set][i * WIDTH + k] = mean[set][k] + (float)sign * deviation[set][k];
            }
    for (int k = 0; k < WIDTH; k++) {
        double apart = (double)deviation[0][k] - deviation[1][k];
        want += pow((double)mean[0][k] - mean[1][k], 2) + apart * apart * COUNT / (COUNT - 1);
    }
    const dit_feature_rows a = {rows[0], COUNT, WIDTH}, b = {rows[1], COUNT, WIDTH};
    assert_ok(dit_frechet(a, b, &value));
    assert_near(value, want, 1e-12);
}

static void the_line_in_1_over_n_takes_the_bias_away(void **state)
{
    (void)state;
    double biased, unbiased;
    dit_feature_rows x = draw_normals(1, 600, 24), y = draw_normals(2, 600, 24);
    assert_ok(dit_frechet(x, y, &biased));
    assert_ok(dit_frechet_infinity(x, y, &unbiased));
    assert_true(biased > 0.2); /* the truth is 0 */
    assert_true(fabs(unbiased) < biased / 3);
    drop(x), drop(y);
}

static void the_kernel_distance_of_halves_of_a_set_is_zero_on_average(void **state)
{
    (void)state;
    enum { SETS = 60 };
    double value, sum = 0, squares = 0;
    for (uint64_t i = 0; i < SETS; i++) {
        dit_feature_rows all = draw_normals(100 + i, 80, 16);
        const dit_feature_rows a = {all.rows, 40, 16}, b = {all.rows + 40 * 16, 40, 16};
        assert_ok(dit_kernel_distance(a, b, &value));
        sum += value / SETS;
        squares += value * value / SETS;
        drop(all);
    }
    double error = sqrt((squares - sum * sum) / (SETS - 1));
    assert_true(3 * error < 0.05); /* the biased estimator, with pairs of a picture and itself, is above 0.3 */
    assert_near(sum, 0, 3 * error);
}

static void sets_that_cannot_be_measured_are_refused(void **state)
{
    (void)state;
    double value;
    dit_frechet_spread spread;
    dit_feature_rows x = draw_normals(1, 30, 8), y = draw_normals(2, 30, 8), few = {x.rows, 8, 8}, one = {x.rows, 1, 8};
    dit_feature_rows narrow = {x.rows, 30, 4};
    assert_fails(dit_frechet(few, y, &value), DIT_ERR_SHAPE, "8 pictures are too few");
    assert_fails(dit_frechet(x, narrow, &value), DIT_ERR_SHAPE, "features of 8 and of 4");
    assert_fails(dit_frechet_infinity(x, y, &value), DIT_ERR_SHAPE, "7 pictures are too few");
    assert_fails(dit_frechet_blocks(x, y, &spread), DIT_ERR_SHAPE, "3 pictures are too few");
    assert_fails(dit_kernel_distance(x, one, &value), DIT_ERR_SHAPE, "set of 1 pictures");
    assert_fails(dit_kernel_distance(narrow, y, &value), DIT_ERR_SHAPE, "features of 4 and of 8");
    ((float *)(uintptr_t)y.rows)[9 * 8 + 5] = INFINITY;
    assert_fails(dit_frechet(x, y, &value), DIT_ERR_NONFINITE, "feature 5 of picture 9");
    assert_fails(dit_kernel_distance(x, y, &value), DIT_ERR_NONFINITE, "feature 5 of picture 9");
    drop(x), drop(y);
}

static void too_few_pictures_for_blocks_leave_the_interval_open(void **state)
{
    (void)state;
    dit_interval interval;
    dit_feature_rows x = draw_normals(1, 30, 8), y = draw_normals(2, 30, 8);
    int *each = prompts_of(30, 1), *pairs = prompts_of(30, 6);
    assert_ok(dit_kernel_distance_interval(x, each, y, each, &interval));
    assert_true(interval.bounded);
    assert_ok(dit_kernel_distance_interval(x, pairs, y, pairs, &interval)); /* five prompts fill five blocks of ten */
    assert_false(interval.bounded);
    assert_near(interval.low, interval.value, 0);
    free(each);
    free(pairs);
    drop(x), drop(y);
}

/* ---- spread ------------------------------------------------------------------------------------------------------ */

static void diversity_and_change_are_those_of_numpy(void **state)
{
    (void)state;
    const dit_picture_size size = {8, 12, 14};
    dit_interval interval;
    double value;
    dit_feature_rows x = make_features(3, 60, 16, 0), y = make_features(4, 60, 16, 0.25f);
    int *prompt = prompts_of(60, 4);
    assert_ok(dit_diversity(x, prompt, y, prompt, 15, &interval));
    assert_interval(interval, "diversity", 1e-11);
    float *clip = make_picture(5, size);
    assert_ok(dit_frame_change(clip, size, &value));
    assert_close(value, golden_number("frame_change", 0), 1e-12);
    free(clip);
    free(prompt);
    drop(x), drop(y);
}

static void a_method_without_variety_is_caught(void **state)
{
    (void)state;
    dit_interval interval;
    dit_feature_rows x = draw_normals(1, 40, 8), y = draw_normals(2, 40, 8);
    int *prompt = prompts_of(40, 4), *alone = prompts_of(40, 1);
    for (int64_t i = 0; i < 40; i++) /* every seed gives the first one's picture */
        memcpy((float *)(uintptr_t)x.rows + i * 8, x.rows + i / 4 * 4 * 8, 8 * sizeof(float));
    assert_ok(dit_diversity(x, prompt, y, prompt, 10, &interval));
    assert_near(interval.value, 0, 0);
    assert_fails(dit_diversity(y, prompt, x, prompt, 10, &interval), DIT_ERR_NONFINITE, "not finite");
    assert_fails(dit_diversity(x, alone, y, alone, 40, &interval), DIT_ERR_SHAPE, "no prompt has two pictures");
    free(prompt);
    free(alone);
    drop(x), drop(y);
}

static void prompts_outside_of_the_range_are_refused(void **state)
{
    (void)state;
    dit_interval interval;
    dit_feature_rows x = draw_normals(1, 4, 8), y = draw_normals(2, 4, 8);
    const int right[4] = {0, 0, 1, 1}, far[4] = {0, 0, 5, 5}, below[4] = {0, 0, -1, -1};
    assert_fails(dit_diversity(x, right, y, far, 2, &interval), DIT_ERR_SHAPE,
                 "value 3 is of group 5, but there are 2");
    assert_fails(dit_diversity(x, far, y, right, 2, &interval), DIT_ERR_SHAPE,
                 "value 3 is of group 5, but there are 2");
    assert_fails(dit_diversity(x, right, y, below, 2, &interval), DIT_ERR_SHAPE, "group -1");
    assert_ok(dit_diversity(x, right, y, right, 2, &interval));
    drop(x), drop(y);
}

static void a_clip_that_stands_still_does_not_change(void **state)
{
    (void)state;
    float clip[3 * 2 * 4] = {0};
    double value = 1;
    assert_ok(dit_frame_change(clip, (dit_picture_size){2, 2, 2}, &value));
    assert_near(value, 0, 0);
    assert_fails(dit_frame_change(clip, (dit_picture_size){1, 2, 2}, &value), DIT_ERR_SHAPE, "single frame");
    clip[5] = NAN;
    assert_fails(dit_frame_change(clip, (dit_picture_size){2, 2, 2}, &value), DIT_ERR_NONFINITE, "not finite");
}

static void ratios_of_means_are_those_of_their_samples(void **state)
{
    (void)state;
    const double above[4] = {2, 4, 6, 8}, below[4] = {1, 2, 3, 4}, none[4] = {0};
    const int group[4] = {0, 1, 2, 3};
    dit_interval interval;
    const dit_grouped a = {above, group, 4, 4}, b = {below, group, 4, 4}, c = {none, group, 4, 4};
    assert_ok(dit_ratio_of_means(&a, &b, &interval));
    assert_near(interval.value, 2, 1e-15);
    assert_near(interval.low, 2, 1e-15); /* groups are drawn together: each draw has the ratio 2 */
    assert_near(interval.high, 2, 1e-15);
    assert_fails(dit_ratio_of_means(&a, &c, &interval), DIT_ERR_NONFINITE, "not finite");
}

static void bootstrapped_means_are_those_of_numpy(void **state)
{
    (void)state;
    double values[60];
    float *u = make_uniform(6, 60);
    int *group = prompts_of(60, 3);
    dit_interval interval;
    for (int i = 0; i < 60; i++) values[i] = u[i];
    const dit_grouped sample = {values, group, 60, 20};
    assert_ok(dit_bootstrap_mean(&sample, &interval));
    assert_interval(interval, "bootstrap_mean", 1e-12);
    free(u);
    free(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(psnr_and_ssim_are_those_of_scipy),
        cmocka_unit_test(a_picture_is_itself),
        cmocka_unit_test(psnr_of_a_known_error_is_the_closed_form),
        cmocka_unit_test(pictures_that_cannot_be_measured_are_refused),
        cmocka_unit_test(eigenvalues_rebuild_the_matrix),
        cmocka_unit_test(roots_of_singular_matrices_square_to_them),
        cmocka_unit_test(distances_are_those_of_scipy),
        cmocka_unit_test(singular_covariances_have_a_distance),
        cmocka_unit_test(the_distance_of_normals_is_the_closed_form),
        cmocka_unit_test(the_line_in_1_over_n_takes_the_bias_away),
        cmocka_unit_test(the_kernel_distance_of_halves_of_a_set_is_zero_on_average),
        cmocka_unit_test(sets_that_cannot_be_measured_are_refused),
        cmocka_unit_test(too_few_pictures_for_blocks_leave_the_interval_open),
        cmocka_unit_test(diversity_and_change_are_those_of_numpy),
        cmocka_unit_test(a_method_without_variety_is_caught),
        cmocka_unit_test(prompts_outside_of_the_range_are_refused),
        cmocka_unit_test(a_clip_that_stands_still_does_not_change),
        cmocka_unit_test(ratios_of_means_are_those_of_their_samples),
        cmocka_unit_test(bootstrapped_means_are_those_of_numpy),
    };
    return cmocka_run_group_tests_name("quality", tests, read_golden, release_golden);
}
