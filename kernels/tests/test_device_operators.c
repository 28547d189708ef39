/* Every operator of the host's and of the emulated cuda device against the reference, in each of their elements,
 * through the case list; that list must notice a wrong operator there, too. */
#include "kernels/bench.h"
#include "kernels/cases.h"

#include "base/json.h"

#include "base/tests/test.h"

#include <libgen.h>

static dit_status bench(const char *name, dit_dtype dtype, const char *filter)
{
    const dit_kernel_bench params = {.backend = name, .dtype = dtype, .threads = 1, .filter = filter};
    cJSON *report = cJSON_CreateObject();
    dit_status st = dit_kernels_bench(&params, report);
    cJSON_Delete(report);
    return st;
}

static void check_all(const char *name, dit_dtype dtype)
{
#if defined(__SANITIZE_ADDRESS__)
    /* Minutes otherwise: what multiplies matrices in fibers. The rest sees each element type. */
    static const char *const filters[] = {"norm", "merge", "copy", "combine", "activate", "rows=1 ", NULL};
#else
    static const char *const filters[] = {NULL};
#endif
    dit_status st = DIT_OK;
    for (int i = 0; st == DIT_OK && (i == 0 || filters[i]); i++) {
        st = bench(name, dtype, filters[i]);
        if (!filters[i]) break;
    }
    if (st != DIT_OK) print_error("%s %s: %s\n", name, dit_dtype_name(dtype), dit_error_last()->message);
    assert_int_equal(st, DIT_OK);
}

static void operators_of_the_host_device_equal_the_reference(void **state)
{
    (void)state;
    check_all("host", DIT_DTYPE_FP32);
    assert_int_equal(bench("host", DIT_DTYPE_BF16, "copy"), DIT_ERR_UNSUPPORTED);
    assert_int_equal(bench("cpu", DIT_DTYPE_BF16, "copy"), DIT_ERR_UNSUPPORTED);
}

static void operators_of_cuda_equal_the_reference_in_fp32(void **state)
{
    (void)state;
    check_all("cuda", DIT_DTYPE_FP32);
}

static void operators_of_cuda_equal_the_reference_in_bf16(void **state)
{
    (void)state;
    check_all("cuda", DIT_DTYPE_BF16);
}

static void operators_of_cuda_equal_the_reference_in_fp16(void **state)
{
    (void)state;
    check_all("cuda", DIT_DTYPE_FP16);
}

static const dit_kernels *right;

/* Loses the last key. */
static void wrong_attention(dit_pool *pool, const dit_attention_args *args)
{
    dit_attention_args shorter = *args;
    if (shorter.Sk > 1) shorter.Sk--;
    right->attention(pool, &shorter);
}

/* One part in a hundred too large, less than three roundings to bf16. */
static void wrong_activate(dit_pool *pool, const dit_activate_args *args)
{
    const dit_combine_args twice = {.elements = args->elements, .count = 1, .x = {args->y}, .a = {1.01f}, .y = args->y};
    right->activate(pool, args);
    right->combine(pool, &twice);
}

static void wrong_merge(dit_pool *pool, const dit_merge_args *args)
{
    right->attention_merge(pool, args);
    const dit_combine_args lse = {
        .elements = args->B * args->H * args->S, .count = 1, .x = {args->lse}, .a = {1.0001f}, .y = args->lse};
    right->combine(pool, &lse);
}

static void wrong_operators_of_a_device_fail_their_cases(void **state)
{
    const dit_device_params open_params = {.dtype = DIT_DTYPE_BF16};
    dit_device *device;
    (void)state;
    assert_int_equal(dit_device_open("cuda", &open_params, &device), DIT_OK);
    right = dit_device_kernels(device);
    static const char *const filters[] = {"attention", "activate", "attention_merge"};
    for (int i = 0; i < 3; i++) {
        const dit_kernel_bench params = {
            .backend = "cuda", .dtype = DIT_DTYPE_BF16, .threads = 1, .filter = filters[i]};
        dit_kernels table = *right;
        cJSON *report = cJSON_CreateObject();
        if (i == 0) table.attention = wrong_attention;
        if (i == 1) table.activate = wrong_activate;
        if (i == 2) table.attention_merge = wrong_merge;
        assert_int_equal(dit_kernels_bench_device(&params, device, &table, report), DIT_ERR_MISMATCH);
        cJSON_Delete(report);
    }
    dit_device_close(device);
}

static void timing_is_the_devices_own_and_says_what_it_is_compared_with(void **state)
{
    const dit_kernel_bench params = {.backend = "cuda", .threads = 1, .time = true, .filter = "elements=65536"};
    cJSON *report = cJSON_CreateObject();
    (void)state;
    assert_int_equal(dit_kernels_bench(&params, report), DIT_OK);
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItem(report, "cases"), 0);
    assert_true(cJSON_GetObjectItem(item, "time_ns")->valuedouble > 0);
    assert_true(cJSON_GetObjectItem(item, "copies")->valuedouble > 1); /* the emulated cache holds one, not two */
    assert_true(cJSON_GetObjectItem(report, "gemm_size")->valuedouble >= 256);
    assert_true(cJSON_GetObjectItem(report, "peak_gflop_per_s")->valuedouble > 0);
    assert_string_equal(cJSON_GetObjectItem(report, "element")->valuestring, "fp32");
    cJSON_Delete(report);
}

/* The emulated device, beside this program. */
static int use_emulation(void **state)
{
    char program[1024] = "", path[1100];
    (void)state;
    if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return -1;
    snprintf(path, sizeof path, "%s/ditbench-cuda-emulated.so", dirname(program));
    return setenv("DITBENCH_CUDA_LIBRARY", path, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_of_the_host_device_equal_the_reference),
        cmocka_unit_test(operators_of_cuda_equal_the_reference_in_fp32),
        cmocka_unit_test(operators_of_cuda_equal_the_reference_in_bf16),
        cmocka_unit_test(operators_of_cuda_equal_the_reference_in_fp16),
        cmocka_unit_test(wrong_operators_of_a_device_fail_their_cases),
        cmocka_unit_test(timing_is_the_devices_own_and_says_what_it_is_compared_with),
    };
    return cmocka_run_group_tests(tests, use_emulation, NULL);
}
