/* linear_lt.cu over a cuBLASLt of the host (fake/): which algorithm is chosen, when, and what is kept of it. That the
 * products themselves are right is test_cuda_linear's, which runs over the same. */
#include "kernels/cuda/algorithms.h"
#include "kernels/cuda/parts.h"

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"

#include "base/tests/test.h"

#include <cublasLt.h>
extern "C" {
extern const dit_device_ops dit_device_cuda;
}

enum { ROWS = 20, N = 24, K = 32 };

static char folder[TEST_FOLDER], path[128];
static dit_cuda *cuda;
static dit_pool *pool;
static dit_memory_ledger ledger;
static dit_arena arena;
static dit_linear weights;
static float w[N * K], b[N], *x, *y, initial[ROWS * N], expected[ROWS * N];

/* A device with a layer, y filled, and what y is to be after one call with a residual in place. */
static void open_device(dit_dtype dtype, const char *cache_folder)
{
    const float *const ws[] = {w}, *const bs[] = {b};
    const int64_t n = N;
    dit_device_params params = {};
    dit_device *device;
    params.deadline_s = 60, params.dtype = dtype, params.cache_folder = cache_folder;
    assert_int_equal(dit_device_cuda.open(&params, &device), DIT_OK);
    assert_int_equal(dit_pool_create(1, false, &pool), DIT_OK);
    cuda = (dit_cuda *)device;
    assert_non_null(cuda->linear);
    dit_pool_set_device(pool, device);
    ledger = {};
    ledger.on_device = true, ledger.dtype = dtype, ledger.device = dit_address_map_device(device->map);
    dit_arena_init(&arena, &ledger, DIT_MEMORY_WEIGHTS);
    assert_int_equal(cuda_linear_pack(pool, &arena, K, 1, ws, bs, &n, &weights), DIT_OK);
    assert_int_equal(dit_arena_activations(&arena, ROWS * K, &x), DIT_OK);
    assert_int_equal(dit_arena_activations(&arena, ROWS * N, &y), DIT_OK);
    dit_rng_normal(5, 3, 0, ROWS * K, 0, 1, x);
    dit_rng_normal(5, 4, 0, ROWS * N, 0, 1, y);
    assert_int_equal(dit_device_upload(device, x, ROWS * K), DIT_OK);
    assert_int_equal(dit_device_upload(device, y, ROWS * N), DIT_OK);
    memcpy(initial, y, sizeof initial);
    for (int i = 0; i < ROWS * N; i++) {
        double sum = (double)y[i] + (double)b[i % N];
        for (int k = 0; k < K; k++) sum += (double)x[i / N * K + k] * (double)w[i % N * K + k];
        expected[i] = (float)sum;
    }
    fake_lt_products = fake_lt_fast_products = fake_lt_questions = 0;
}

static void close_device(void)
{
    dit_arena_release(&arena);
    dit_pool_free(pool);
    dit_device_cuda.close(&cuda->device);
    assert_int_equal(fake_lt_objects, 0);
}

static dit_linear_args arguments(void)
{
    dit_linear_args args = {};
    args.weights = &weights, args.rows = ROWS, args.x = x, args.ldx = K, args.y = y, args.ldy = N, args.residual = y;
    return args;
}

static void run(void)
{
    dit_linear_args args = arguments();
    cuda_linear(pool, &args);
    assert_int_equal(dit_device_synchronize(&cuda->device), DIT_OK);
}

static void assert_result(float tolerance)
{
    assert_int_equal(dit_device_download(&cuda->device, y, ROWS * N), DIT_OK);
    for (int i = 0; i < ROWS * N; i++)
        if (!(fabsf(y[i] - expected[i]) <= tolerance * (1 + fabsf(expected[i]))))
            fail_msg("%d is %g, not %g", i, (double)y[i], (double)expected[i]);
}

static int set_up(void **)
{
    dit_log_set_level(DIT_LOG_ERROR);
    if (test_folder_make(folder) != 0) return 1;
    snprintf(path, sizeof path, "%s/linear.algorithms", folder);
    dit_rng_normal(5, 1, 0, N * K, 0, 0.2f, w);
    dit_rng_normal(5, 2, 0, N, 0, 1, b);
    return 0;
}

static int tear_down(void **)
{
    return test_folder_remove(folder);
}

/* Its timing leaves y, which is the residual too, as it was. */
static void the_first_call_of_a_request_chooses_the_fastest(void **)
{
    open_device(DIT_DTYPE_FP32, NULL);
    run();
    assert_result(1e-5f);
    assert_int_equal(fake_lt_questions, 1);
    assert_true(fake_lt_products > 4);
    fake_lt_products = fake_lt_fast_products = 0;
    run();
    assert_int_equal(fake_lt_products, 1);
    assert_int_equal(fake_lt_fast_products, 1);
    assert_int_equal(fake_lt_questions, 1);
    close_device();
}

static void the_next_run_finds_the_choice_on_disk(void **)
{
    unlink(path);
    open_device(DIT_DTYPE_BF16, folder);
    run();
    assert_int_equal(fake_lt_questions, 1);
    close_device();
    open_device(DIT_DTYPE_BF16, folder);
    run();
    assert_int_equal(fake_lt_questions, 0);
    assert_int_equal(fake_lt_products, 1);
    assert_int_equal(fake_lt_fast_products, 1);
    assert_result(0.03f);
    close_device();
    open_device(DIT_DTYPE_FP16, folder); /* another request */
    run();
    assert_int_equal(fake_lt_questions, 1);
    close_device();
}

static void a_damaged_file_is_searched_again(void **)
{
    char *text;
    size_t length;
    unlink(path);
    open_device(DIT_DTYPE_FP32, folder);
    run();
    close_device();
    assert_int_equal(dit_file_read(path, 1 << 20, &text, &length), DIT_OK);
    text[length / 2] ^= 1;
    dit_file_piece piece = {text, length};
    assert_int_equal(dit_file_write(path, &piece, 1), DIT_OK);
    free(text);
    open_device(DIT_DTYPE_FP32, folder);
    run();
    assert_int_equal(fake_lt_questions, 1);
    assert_result(1e-5f);
    close_device();
}

/* The hash of a line says nothing of what the library makes of the algorithm. */
static void an_algorithm_that_the_library_rejects_is_searched_again(void **)
{
    char *text, *bytes;
    size_t length;
    char key[512];
    dit_algorithms *kept;
    dit_algorithm other = {};
    unlink(path);
    open_device(DIT_DTYPE_FP32, folder);
    run();
    close_device();
    assert_int_equal(dit_file_read(path, 1 << 20, &text, &length), DIT_OK);
    bytes = strchr(text, '\n');
    assert_int_equal(sscanf(bytes, "%*s %383s", key), 1);
    free(text);
    assert_int_equal(dit_algorithms_open(folder, "linear", &kept), DIT_OK);
    other.bytes[0] = 99;
    assert_int_equal(dit_algorithms_store(kept, key, &other), DIT_OK);
    dit_algorithms_close(kept);
    open_device(DIT_DTYPE_FP32, folder);
    run();
    assert_int_equal(fake_lt_questions, 1);
    assert_result(1e-5f);
    close_device();
}

/* Timing would spoil the recording; the next call outside of it chooses. */
static void a_recording_takes_the_first_and_does_not_search(void **)
{
    dit_device_graph *graph;
    dit_linear_args args;
    open_device(DIT_DTYPE_FP32, NULL);
    args = arguments();
    assert_int_equal(dit_device_record_begin(&cuda->device), DIT_OK);
    cuda_linear(pool, &args);
    assert_int_equal(fake_lt_products, 1);
    assert_int_equal(fake_lt_fast_products, 0);
    assert_int_equal(dit_device_record_end(&cuda->device, &graph), DIT_OK);
    assert_int_equal(dit_device_launch(&cuda->device, graph), DIT_OK);
    assert_int_equal(dit_device_synchronize(&cuda->device), DIT_OK);
    dit_device_graph_free(&cuda->device, graph);
    assert_result(1e-5f);
    run();
    assert_true(fake_lt_products > 4);
    close_device();
}

static void without_algorithms_the_own_kernel_computes(void **)
{
    fake_lt_refuses = true;
    open_device(DIT_DTYPE_FP32, NULL);
    run();
    assert_result(1e-5f);
    assert_int_equal(fake_lt_products, 0);
    close_device();
    fake_lt_refuses = false;
}

static void without_memory_to_time_in_the_first_is_taken(void **)
{
    const int64_t given = emulated_memory_bytes;
    open_device(DIT_DTYPE_FP32, NULL);
    emulated_memory_bytes = 0;
    run();
    emulated_memory_bytes = given;
    assert_int_equal(fake_lt_products, 1);
    assert_result(1e-5f);
    close_device();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_call_of_a_request_chooses_the_fastest),
        cmocka_unit_test(the_next_run_finds_the_choice_on_disk),
        cmocka_unit_test(a_damaged_file_is_searched_again),
        cmocka_unit_test(an_algorithm_that_the_library_rejects_is_searched_again),
        cmocka_unit_test(a_recording_takes_the_first_and_does_not_search),
        cmocka_unit_test(without_algorithms_the_own_kernel_computes),
        cmocka_unit_test(without_memory_to_time_in_the_first_is_taken),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
