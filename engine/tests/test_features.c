/* The features network: PyTorch's numbers (engine/tests/quality/features.py), pictures that it cannot see, and files that
 * are no network. */
#include "base/json.h"
#include "base/safetensors.h"
#include "engine/quality/features.h"

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

/* As golden.py makes them; its values are exact in single precision. */
static float *make_picture(uint32_t seed, dit_picture_size size)
{
    float *out = malloc((size_t)dit_picture_floats(size) * sizeof *out);
    int64_t i = 0;
    assert_non_null(out);
    for (int64_t c = 0; c < DIT_RGB; c++)
        for (int64_t f = 0; f < size.frames; f++)
            for (int64_t y = 0; y < size.height; y++)
                for (int64_t x = 0; x < size.width; x++) {
                    seed = seed * 1664525u + 1013904223u;
                    out[i++] = (float)((x * 3 + y * 5 + f * 7 + c * 11) % 32) / 32.0f * 0.75f +
                               (float)(seed >> 16) / 65536.0f * 0.25f;
                }
    return out;
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

static void write_network(const dit_tensor_out tensors[TENSORS], char path[256])
{
    snprintf(path, 256, "%s/network.safetensors", folder);
    assert_ok(dit_safetensors_write(path, tensors, TENSORS));
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
    write_network(tensors, path);
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
        write_network(tensors, path);
        assert_ok(dit_features_open(path, &f));
        assert_int_equal(strncmp(dit_features_digest(f), "xxh3:", 5), 0);
        if (i) assert_string_not_equal(dit_features_digest(f), before);
        snprintf(before, sizeof before, "%s", dit_features_digest(f));
        dit_features_close(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_those_of_pytorch),
        cmocka_unit_test(pictures_that_the_network_cannot_see_are_refused),
        cmocka_unit_test(files_that_are_no_network_are_refused),
        cmocka_unit_test(another_network_has_another_digest),
    };
    return cmocka_run_group_tests_name("features", tests, make_folder, remove_folder);
}
