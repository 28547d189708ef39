/* The features network: PyTorch's numbers (engine/tests/quality/features.py), pictures that it cannot see, and files that
 * are no network. */
#include "base/json.h"
#include "base/safetensors.h"
#include "engine/quality/features.h"
#include "engine/tests/picture_fixture.h"

#include "base/tests/test.h"

#define GOLDEN DITBENCH_SOURCE_DIR "/engine/tests/quality"

static char folder[TEST_FOLDER];

static int make_folder(void **state)
{
    (void)state;
    return test_folder_make(folder);
}

static int remove_folder(void **state)
{
    (void)state;
    return test_folder_remove(folder);
}

static void check_against(const dit_features *f, const cJSON *frames, uint32_t seed, dit_picture_size size)
{
    float *picture = make_picture(seed, size), out[5];
    assert_int_equal(cJSON_GetArraySize(frames), size.frames);
    for (int64_t frame = 0; frame < size.frames; frame++) {
        const cJSON *want = cJSON_GetArrayItem(frames, (int)frame);
        assert_ok(dit_features_of(f, picture, size, frame, out));
        for (int k = 0; k < 5; k++) assert_near(out[k], cJSON_GetArrayItem(want, k)->valuedouble, 1e-6);
    }
    free(picture);
}

static void features_are_those_of_pytorch(void **state)
{
    (void)state;
    dit_features *f;
    dit_json golden;
    assert_ok(dit_json_read_file(GOLDEN "/features.json", &golden));
    assert_ok(dit_features_open(GOLDEN, &f)); /* a folder that holds features.safetensors */
    assert_int_equal(dit_features_width(f), 5);
    assert_int_equal(dit_features_edge(f), 16);
    check_against(f, dit_json_member(golden.root, "clip"), 8, (dit_picture_size){3, 16, 16});
    check_against(f, dit_json_member(golden.root, "large"), 9, (dit_picture_size){1, 48, 48});
    dit_features_close(f);
    dit_json_release(&golden);
}

static void pictures_that_the_network_cannot_see_are_refused(void **state)
{
    (void)state;
    dit_features *f;
    float out[5], *picture = make_picture(1, (dit_picture_size){1, 32, 32});
    assert_ok(dit_features_open(GOLDEN "/features.safetensors", &f));
    assert_fails(dit_features_of(f, picture, (dit_picture_size){1, 24, 24}, 0, out), DIT_ERR_SHAPE,
                 "pictures of 16 x 16, not of 24 x 24");
    assert_fails(dit_features_of(f, picture, (dit_picture_size){1, 16, 32}, 0, out), DIT_ERR_SHAPE, "not of 32 x 16");
    picture[700] = NAN;
    assert_fails(dit_features_of(f, picture, (dit_picture_size){1, 32, 32}, 0, out), DIT_ERR_NONFINITE, "not finite");
    free(picture);
    dit_features_close(f);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

enum { TENSORS = 4 };
static float numbers[1 << 16];

static void write_network(const dit_tensor_out *tensors, int count, char path[256])
{
    snprintf(path, 256, "%s/network.safetensors", folder);
    assert_ok(dit_safetensors_write(path, tensors, count));
}

static void fails_with(const char *name, int rank, const int64_t *shape, dit_status status, const char *words)
{
    dit_tensor_out tensors[TENSORS] = {{"conv1.weight", 4, {8, 3, 3, 3}, numbers},
                                       {"conv1.bias", 1, {8}, numbers},
                                       {"features.weight", 2, {4, 32}, numbers},
                                       {"features.bias", 1, {4}, numbers}};
    char path[256];
    dit_features *f;
    for (int i = 0; i < TENSORS; i++) {
        if (!name || strcmp(tensors[i].name, name) != 0) continue;
        tensors[i].rank = rank;
        memcpy(tensors[i].shape, shape, (size_t)rank * sizeof *shape);
        if (rank == 0) tensors[i].name = "other";
    }
    write_network(tensors, TENSORS, path);
    if (status == DIT_OK) {
        assert_ok(dit_features_open(path, &f));
        dit_features_close(f);
        return;
    }
    assert_fails(dit_features_open(path, &f), status, words);
    assert_null(f);
    assert_contains(dit_error_last()->notes, "network.safetensors");
}

static void files_that_are_no_network_are_refused(void **state)
{
    (void)state;
    fails_with(NULL, 0, NULL, DIT_OK, "");
    fails_with("conv1.weight", 0, (int64_t[]){0}, DIT_ERR_TENSOR_MISSING, "conv1.weight");
    fails_with("features.bias", 0, (int64_t[]){0}, DIT_ERR_TENSOR_MISSING, "features.bias");
    fails_with("conv1.weight", 4, (int64_t[]){8, 4, 3, 3}, DIT_ERR_SHAPE, "conv1.weight");
    fails_with("conv1.weight", 4, (int64_t[]){8, 3, 3, 5}, DIT_ERR_SHAPE, "square kernel");
    fails_with("conv1.weight", 4, (int64_t[]){8, 3, 4, 4}, DIT_ERR_SHAPE, "odd size");
    fails_with("conv1.weight", 4, (int64_t[]){8, 3, 9, 9}, DIT_ERR_SHAPE, "up to 7");
    fails_with("conv1.weight", 4, (int64_t[]){2048, 3, 1, 1}, DIT_ERR_SHAPE, "up to 1024 channels");
    fails_with("conv1.weight", 4, (int64_t[]){0, 3, 3, 3}, DIT_ERR_SHAPE, "0 x 3 x 3 x 3");
    fails_with("conv1.bias", 1, (int64_t[]){7}, DIT_ERR_SHAPE, "conv1.bias");
    fails_with("features.weight", 2, (int64_t[]){4, 40}, DIT_ERR_SHAPE, "no square of 8 channels");
    fails_with("features.weight", 2, (int64_t[]){4, 0}, DIT_ERR_SHAPE, "4 x 0");
    fails_with("features.weight", 1, (int64_t[]){128}, DIT_ERR_SHAPE, "features.weight");
    numbers[5] = NAN;
    fails_with(NULL, 0, NULL, DIT_ERR_NONFINITE, "conv1.weight");
    numbers[5] = 0;
    dit_features *f;
    assert_fails(dit_features_open("/nowhere/features.safetensors", &f), DIT_ERR_IO, "/nowhere");
    assert_fails(dit_features_open(GOLDEN "/golden.json", &f), DIT_ERR_SAFETENSORS_HEADER, "golden.json");
}

static void another_network_has_another_digest(void **state)
{
    (void)state;
    char path[256], before[64];
    dit_features *f;
    const dit_tensor_out tensors[TENSORS] = {{"conv1.weight", 4, {8, 3, 3, 3}, numbers},
                                             {"conv1.bias", 1, {8}, numbers},
                                             {"features.weight", 2, {4, 32}, numbers},
                                             {"features.bias", 1, {4}, numbers + 1000}};
    for (int i = 0; i < 2; i++) {
        numbers[1003] = (float)i;
        write_network(tensors, TENSORS, path);
        assert_ok(dit_features_open(path, &f));
        assert_int_equal(strncmp(dit_features_digest(f), "xxh3:", 5), 0);
        if (i) assert_string_not_equal(dit_features_digest(f), before);
        snprintf(before, sizeof before, "%s", dit_features_digest(f));
        dit_features_close(f);
    }
}

/* Writes a network of `layers` convolutions of two channels, 1 x 1, whose weights are the first of these. */
static void write_deep(int layers, const float weights[6], char path[256])
{
    static const float none[2];
    char stem[16], names[2 * 8 + 2][32];
    dit_tensor_out tensors[2 * 8 + 2];
    for (int i = 0; i <= layers; i++) {
        snprintf(stem, sizeof stem, "conv%d", i + 1);
        snprintf(names[2 * i], sizeof names[0], "%s.weight", i < layers ? stem : "features");
        snprintf(names[2 * i + 1], sizeof names[0], "%s.bias", i < layers ? stem : "features");
        tensors[2 * i] = (dit_tensor_out){names[2 * i], i < layers ? 4 : 2, {2, i ? 2 : 3, 1, 1}, weights};
        tensors[2 * i + 1] = (dit_tensor_out){names[2 * i + 1], 1, {2}, none};
    }
    write_network(tensors, 2 * layers + 2, path);
}

static void a_convolution_that_would_be_left_out_is_refused(void **state)
{
    (void)state;
    const float weights[6] = {0};
    char path[256];
    dit_features *f;
    write_deep(6, weights, path);
    assert_ok(dit_features_open(path, &f));
    assert_int_equal(dit_features_edge(f), 64);
    dit_features_close(f);
    write_deep(7, weights, path);
    assert_fails(dit_features_open(path, &f), DIT_ERR_SHAPE, "conv7.weight is one convolution too many: at most 6");
}

/* The first layer's sums are too large for its values, and the second one's are infinity less infinity. */
static void an_overflow_is_no_zero(void **state)
{
    (void)state;
    const float weights[6] = {3e38f, -3e38f, 3e38f, -1e38f, -3e38f, 3e38f};
    const dit_picture_size size = {1, 4, 4};
    float picture[3 * 4 * 4], out[2];
    char path[256];
    dit_features *f;
    for (int i = 0; i < 48; i++) picture[i] = i / 16 == 1 ? 0 : 1; /* -1 and 1 to the network */
    write_deep(2, weights, path);
    assert_ok(dit_features_open(path, &f));
    assert_fails(dit_features_of(f, picture, size, 0, out), DIT_ERR_NONFINITE, "not finite");
    dit_features_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_those_of_pytorch),
        cmocka_unit_test(pictures_that_the_network_cannot_see_are_refused),
        cmocka_unit_test(files_that_are_no_network_are_refused),
        cmocka_unit_test(a_convolution_that_would_be_left_out_is_refused),
        cmocka_unit_test(an_overflow_is_no_zero),
        cmocka_unit_test(another_network_has_another_digest),
    };
    return cmocka_run_group_tests_name("features", tests, make_folder, remove_folder);
}
