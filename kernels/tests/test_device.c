/* Devices: what is put comes back rounded, work is done in order, waits end, recorded work is done when it is launched;
 * on the host's and on the emulated cuda device. */
#include "kernels/cases.h"
#include "kernels/device_impl.h"

#include "base/json.h"

#include "base/tests/test.h"

#include <dlfcn.h>
#include <libgen.h>

/* ---- a device with an arena -------------------------------------------------------------------------------------- */

typedef struct {
    dit_device *device;
    dit_pool *pool;
    dit_memory_ledger ledger;
    dit_arena arena;
} fixture;

static void make(fixture *f, const char *name, dit_dtype dtype, double deadline_s)
{
    const dit_device_params params = {.dtype = dtype, .deadline_s = deadline_s};
    *f = (fixture){0};
    dit_status st = dit_device_open(name, &params, &f->device);
    if (st != DIT_OK) print_error("%s: %s\n", name, dit_error_last()->message);
    assert_int_equal(st, DIT_OK);
    assert_int_equal(dit_pool_create(1, false, &f->pool), DIT_OK);
    dit_pool_set_device(f->pool, f->device);
    f->ledger = dit_case_ledger(f->device);
    dit_arena_init(&f->arena, &f->ledger, DIT_MEMORY_ACTIVATIONS);
}

static void end(fixture *f)
{
    dit_arena_release(&f->arena);
    dit_pool_free(f->pool);
    dit_device_close(f->device);
}

static float *take(fixture *f, int64_t count)
{
    float *out;
    assert_int_equal(dit_arena_activations(&f->arena, count, &out), DIT_OK);
    return out;
}

/* y = a x on the device, both of all elements. */
static void scale(fixture *f, float *y, const float *x, float a, int64_t count)
{
    const dit_combine_args args = {.elements = count, .count = 1, .x = {x}, .a = {a}, .y = y};
    dit_device_kernels(f->device)->combine(f->pool, &args);
}

/* A switch of the emulation; the library is loaded once a device was opened. */
static void *emulated(const char *symbol)
{
    void *found = (void *)(uintptr_t)dit_device_symbol("cuda", symbol);
    assert_non_null(found);
    return found;
}

/* Longer than two pieces of a transfer. */
enum { MANY = 9 * 1000 * 1000 + 11 };

/* ---- transfers --------------------------------------------------------------------------------------------------- */

static float rounded(float x, dit_dtype dtype)
{
    if (dtype == DIT_DTYPE_BF16) return dit_bf16_to_float(dit_bf16_from_float(x));
    return dtype == DIT_DTYPE_FP16 ? dit_fp16_to_float(dit_fp16_from_float(x)) : x;
}

static void check_transfer(const char *name, dit_dtype dtype)
{
    fixture f;
    make(&f, name, dtype, 0);
    float *x = take(&f, MANY);
    for (int64_t i = 0; i < MANY; i++) x[i] = (float)(i % 100003) * 0.37f - 9000;
    assert_int_equal(dit_device_upload(f.device, x, MANY), DIT_OK);
    memset(x, 0, MANY * sizeof *x); /* the host may write there again */
    assert_int_equal(dit_device_download(f.device, x, MANY), DIT_OK);
    for (int64_t i = 0; i < MANY; i++)
        if (x[i] != rounded((float)(i % 100003) * 0.37f - 9000, dtype)) fail_msg("element %lld", (long long)i);
    x[500] = 1, x[501] = 2, x[502] = 3;
    assert_int_equal(dit_device_upload(f.device, x + 501, 1), DIT_OK);
    assert_int_equal(dit_device_download(f.device, x + 500, 3), DIT_OK);
    assert_true(x[500] == rounded(500 * 0.37f - 9000, dtype) && x[501] == 2);
    assert_int_equal(dit_device_upload(f.device, x + MANY - 1, 2), DIT_ERR_INTERNAL);
    assert_int_equal(dit_device_download(f.device, (float *)&f, 1), DIT_ERR_INTERNAL);
    end(&f);
}

static void what_is_put_comes_back_rounded(void **state)
{
    (void)state;
    check_transfer("host", DIT_DTYPE_FP32);
    check_transfer("cuda", DIT_DTYPE_FP32);
    check_transfer("cuda", DIT_DTYPE_BF16);
    check_transfer("cuda", DIT_DTYPE_FP16);
}

static void check_exact(const char *name, dit_dtype dtype)
{
    fixture f;
    void *doubles, *integers;
    float *exact;
    make(&f, name, dtype, 0);
    assert_int_equal(dit_arena_fp32(&f.arena, 2, &exact), DIT_OK);
    assert_int_equal(dit_arena_array(&f.arena, 2, DIT_DTYPE_FP64, &doubles), DIT_OK);
    assert_int_equal(dit_arena_array(&f.arena, 2, DIT_DTYPE_INT32, &integers), DIT_OK);
    memcpy(exact, (float[2]){1.2345678f, -1}, 8);
    memcpy(doubles, (double[2]){1 + 0x1p-50, -3}, 16);
    memcpy(integers, (int32_t[2]){-5, 0x7FFFFFFF}, 8);
    void *const arrays[3] = {exact, doubles, integers};
    for (int i = 0; i < 3; i++) {
        char before[16], *array = arrays[i];
        size_t bytes = i == 1 ? 16 : 8;
        memcpy(before, array, bytes);
        assert_int_equal(dit_device_upload(f.device, array, 2), DIT_OK);
        memset(array, 0, bytes);
        assert_int_equal(dit_device_download(f.device, array, 2), DIT_OK);
        assert_memory_equal(array, before, bytes);
    }
    end(&f);
}

static void exact_arrays_and_integers_are_not_rounded(void **state)
{
    (void)state;
    check_exact("host", DIT_DTYPE_FP32);
    check_exact("cuda", DIT_DTYPE_BF16);
}

/* ---- order, events and failures ---------------------------------------------------------------------------------- */

static void check_order(const char *name)
{
    fixture f;
    make(&f, name, DIT_DTYPE_FP32, 0);
    float *x = take(&f, 1000), *y = take(&f, 1000);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 1000; i++) x[i] = (float)(i * round);
        assert_int_equal(dit_device_upload(f.device, x, 1000), DIT_OK);
        scale(&f, y, x, 2, 1000);
        scale(&f, x, y, 0.5f, 1000);
        scale(&f, y, x, -1, 1000);
    }
    assert_int_equal(dit_device_synchronize(f.device), DIT_OK);
    assert_int_equal(dit_device_download(f.device, y, 1000), DIT_OK);
    for (int i = 0; i < 1000; i++) assert_true(y[i] == (float)(-3 * i));
    end(&f);
}

static void operators_and_transfers_are_done_in_the_order_asked_for(void **state)
{
    (void)state;
    check_order("host");
    check_order("cuda");
}

static void check_marks(const char *name)
{
    fixture f;
    make(&f, name, DIT_DTYPE_FP32, 0);
    float *x = take(&f, 1 << 20);
    for (int pass = 0; pass < 2; pass++) {
        int64_t events[2000], first = -1;
        for (int i = 0; i < 2000; i++) {
            if (i == 1000) scale(&f, x, x, 1, 1 << 20);
            events[i] = dit_device_record_event(f.device);
            if (first < 0) first = events[i];
            assert_true(events[i] >= 0);
        }
        assert_int_equal(dit_device_synchronize(f.device), DIT_OK);
        assert_true(dit_device_elapsed_ns(f.device, events[999], events[1000]) > 10000);
        assert_true(dit_device_elapsed_ns(f.device, first, events[1999]) >=
                    dit_device_elapsed_ns(f.device, events[999], events[1000]) / 2);
        assert_int_equal(dit_device_elapsed_ns(f.device, -1, events[0]), -1);
        dit_device_forget_events(f.device);
    }
    end(&f);
}

static void marks_measure_what_was_between_them(void **state)
{
    (void)state;
    check_marks("host");
    check_marks("cuda");
}

static void check_stranger(const char *name)
{
    fixture f;
    float stranger[4] = {0};
    make(&f, name, DIT_DTYPE_FP32, 0);
    float *x = take(&f, 4);
    scale(&f, stranger, x, 2, 4);
    assert_int_not_equal(dit_device_synchronize(f.device), DIT_OK);
    assert_non_null(strstr(dit_error_last()->message, "no array of the device"));
    assert_int_equal(dit_device_synchronize(f.device), DIT_OK); /* said once */
    end(&f);
}

static void memory_that_is_not_the_devices_is_reported_by_the_next_wait(void **state)
{
    (void)state;
    check_stranger("host");
    check_stranger("cuda");
}

static void a_wait_ends_at_its_deadline(void **state)
{
    fixture f;
    (void)state;
    make(&f, "cuda", DIT_DTYPE_FP32, 0.05);
    float *x = take(&f, 4);
    assert_int_equal(dit_device_upload(f.device, x, 4), DIT_OK);
    *(bool *)emulated("emulated_stuck") = true;
    dit_status waited = dit_device_synchronize(f.device), got = dit_device_download(f.device, x, 4);
    *(bool *)emulated("emulated_stuck") = false;
    assert_int_equal(waited, DIT_ERR_TIMEOUT);
    assert_int_equal(got, DIT_ERR_TIMEOUT);
    assert_int_equal(dit_device_synchronize(f.device), DIT_OK);
    end(&f); /* of what may still be under way nothing is freed */
}

/* Out, within and in again, as the elements are, in the order of the queue. */
static void check_raw(const char *name, dit_dtype dtype)
{
    fixture f;
    dit_location a, b;
    make(&f, name, dtype, 0);
    float *x = take(&f, 100), *y = take(&f, 100);
    int64_t bytes = 100 * dit_dtype_bytes(dtype);
    char *staged = dit_device_host_memory(f.device, bytes);
    assert_non_null(staged);
    for (int i = 0; i < 100; i++) x[i] = (float)i;
    assert_int_equal(dit_device_upload(f.device, x, 100), DIT_OK);
    scale(&f, y, x, 2, 100);
    assert_true(dit_address_map_find(dit_device_address_map(f.device), x, &a) &&
                dit_address_map_find(dit_device_address_map(f.device), y, &b));
    assert_int_equal(dit_device_copy_out(f.device, staged, b.data, bytes), DIT_OK);
    memset(y, 0, 400);
    assert_int_equal(dit_device_upload(f.device, y, 100), DIT_OK);
    assert_int_equal(dit_device_copy_in(f.device, b.data, staged, bytes), DIT_OK);
    memset(staged, 0xFF, (size_t)bytes); /* the host may write there again */
    assert_int_equal(dit_device_copy_within(f.device, a.data, b.data, bytes), DIT_OK);
    assert_int_equal(dit_device_download(f.device, x, 100), DIT_OK);
    for (int i = 0; i < 100; i++) assert_true(x[i] == (float)(2 * i));
    dit_device_host_memory_free(f.device, staged);
    end(&f);
}

static void raw_bytes_pass_the_host_and_come_back(void **state)
{
    (void)state;
    check_raw("host", DIT_DTYPE_FP32);
    check_raw("cuda", DIT_DTYPE_FP32);
    check_raw("cuda", DIT_DTYPE_BF16);
}

typedef struct {
    dit_status says;
    int asked;
    double expired_s;
} watched;

static dit_status check(void *context, double expired_s)
{
    watched *w = context;
    w->asked++;
    if (expired_s > 0) w->expired_s = expired_s;
    return w->says == DIT_OK ? DIT_OK : DIT_FAIL(w->says, "what was watched has failed");
}

static void waits_ask_what_is_watched_and_end_with_its_failure(void **state)
{
    fixture f;
    watched well = {.says = DIT_OK}, ill = {.says = DIT_ERR_DEVICE};
    dit_device_watchdog one = {.check = check, .context = &well}, other = {.check = check, .context = &ill};
    (void)state;
    make(&f, "cuda", DIT_DTYPE_FP32, 0.05);
    dit_device_add_watchdog(f.device, &one);
    *(bool *)emulated("emulated_stuck") = true;
    dit_status late = dit_device_synchronize(f.device);
    dit_device_add_watchdog(f.device, &other);
    dit_status failed = dit_device_synchronize(f.device);
    *(bool *)emulated("emulated_stuck") = false;
    assert_int_equal(late, DIT_ERR_TIMEOUT);
    assert_true(well.asked > 1 && well.expired_s == 0.05);
    assert_int_equal(failed, DIT_ERR_DEVICE);
    assert_true(ill.asked == 1 && ill.expired_s == 0); /* at once */
    dit_device_remove_watchdog(f.device, &other);
    dit_device_remove_watchdog(f.device, &one);
    assert_int_equal(dit_device_synchronize(f.device), DIT_OK);
    assert_int_equal(ill.asked, 1);
    end(&f);
}

static void too_little_memory_is_an_error_not_an_end(void **state)
{
    fixture f;
    float *out;
    (void)state;
    make(&f, "cuda", DIT_DTYPE_BF16, 0);
    int64_t *limit = emulated("emulated_memory_bytes"), all = *limit;
    *limit = 456 << 20; /* of which 256 are the workspace */
    assert_int_equal(dit_arena_activations(&f.arena, 300 << 20, &out), DIT_ERR_MEMORY);
    assert_int_equal(dit_arena_activations(&f.arena, 1 << 20, &out), DIT_OK);
    *limit = 10 << 20;
    dit_device *second;
    const dit_device_params params = {0};
    assert_int_not_equal(dit_device_open("cuda", &params, &second), DIT_OK);
    assert_null(second);
    *limit = all;
    assert_int_equal(dit_device_synchronize(f.device), DIT_OK);
    end(&f);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static void recorded_work_is_done_when_it_is_launched(void **state)
{
    fixture f;
    dit_device_graph *graph;
    (void)state;
    make(&f, "cuda", DIT_DTYPE_BF16, 0);
    float *x = take(&f, 100), *y = take(&f, 100);
    for (int i = 0; i < 100; i++) x[i] = 1, y[i] = 7;
    assert_int_equal(dit_device_upload(f.device, x, 100), DIT_OK);
    assert_int_equal(dit_device_upload(f.device, y, 100), DIT_OK);
    assert_int_equal(dit_device_record_begin(f.device), DIT_OK);
    assert_int_equal(dit_device_record_begin(f.device), DIT_ERR_INTERNAL);
    scale(&f, y, x, 3, 100);
    scale(&f, x, x, 2, 100);
    assert_int_equal(dit_device_record_event(f.device), -1);
    assert_int_equal(dit_device_upload(f.device, x, 100), DIT_ERR_INTERNAL);
    assert_int_equal(dit_device_synchronize(f.device), DIT_ERR_INTERNAL);
    assert_int_equal(dit_device_record_end(f.device, &graph), DIT_OK);
    assert_int_equal(dit_device_download(f.device, y, 100), DIT_OK);
    assert_true(y[0] == 7);
    for (int i = 0; i < 3; i++) assert_int_equal(dit_device_launch(f.device, graph), DIT_OK);
    assert_int_equal(dit_device_download(f.device, y, 100), DIT_OK);
    assert_true(y[0] == 12 && y[99] == 12);
    dit_device_graph_free(f.device, graph);
    end(&f);
}

static void what_fails_while_it_is_recorded_gives_no_graph(void **state)
{
    fixture f;
    dit_device_graph *graph;
    float stranger[4] = {0};
    (void)state;
    make(&f, "cuda", DIT_DTYPE_FP32, 0);
    assert_int_equal(dit_device_record_end(f.device, &graph), DIT_ERR_INTERNAL);
    assert_int_equal(dit_device_record_begin(f.device), DIT_OK);
    scale(&f, stranger, stranger, 3, 4);
    assert_int_not_equal(dit_device_record_end(f.device, &graph), DIT_OK);
    assert_null(graph);
    assert_int_equal(dit_device_record_begin(f.device), DIT_OK);
    assert_int_equal(dit_device_record_end(f.device, &graph), DIT_OK);
    dit_device_graph_free(f.device, graph);
    assert_int_equal(dit_device_record_begin(f.device), DIT_OK); /* closed while it records */
    end(&f);
}

static void the_host_device_says_that_it_records_nothing(void **state)
{
    fixture f;
    (void)state;
    make(&f, "host", DIT_DTYPE_FP32, 0);
    assert_int_equal(dit_device_record_begin(f.device), DIT_ERR_UNSUPPORTED);
    end(&f);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void refusals_say_why(void **state)
{
    dit_device *device;
    dit_device_params params = {.index = 3};
    (void)state;
    assert_int_equal(dit_device_open("tpu", &params, &device), DIT_ERR_NOT_FOUND);
    assert_int_equal(dit_device_open("cuda", &params, &device), DIT_ERR_ENVIRONMENT);
    assert_non_null(strstr(dit_error_last()->message, "no CUDA device 3"));
    params = (dit_device_params){.dtype = DIT_DTYPE_FP64};
    assert_int_equal(dit_device_open("cuda", &params, &device), DIT_ERR_UNSUPPORTED);
    *(int *)emulated("emulated_devices") = 0;
    params = (dit_device_params){0};
    assert_int_equal(dit_device_count("cuda"), 0);
    assert_non_null(strstr(dit_error_last()->message, "no CUDA device: "));
    assert_int_equal(dit_device_open("cuda", &params, &device), DIT_ERR_ENVIRONMENT);
    *(int *)emulated("emulated_devices") = 1;
    assert_int_equal(dit_device_count("cuda"), 1);
}

static void a_device_describes_itself(void **state)
{
    fixture f;
    cJSON *out = cJSON_CreateObject();
    (void)state;
    setenv("DITBENCH_CUDA_OWN", "attention", 1);
    make(&f, "cuda", DIT_DTYPE_BF16, 0);
    unsetenv("DITBENCH_CUDA_OWN");
    assert_int_equal(dit_device_describe(f.device, out), DIT_OK);
    assert_string_equal(cJSON_GetObjectItem(out, "name")->valuestring, "emulated");
    assert_string_equal(cJSON_GetObjectItem(out, "cuda_runtime")->valuestring, "13.0");
    assert_true(cJSON_GetObjectItem(out, "memory_bytes")->valuedouble > 0);
    const cJSON *libraries = cJSON_GetObjectItem(out, "libraries");
    assert_string_equal(cJSON_GetObjectItem(libraries, "linear")->valuestring, "own kernel: not built in");
    assert_string_equal(cJSON_GetObjectItem(libraries, "attention")->valuestring, "own kernel: DITBENCH_CUDA_OWN");
    cJSON_Delete(out);
    end(&f);
}

/* ---- the library that is built where there is a toolkit -----------------------------------------------------------
 */

/* All its names are found in a program that has base and kernels; without a GPU it says why there is none. */
static void the_real_library_loads_where_it_is_built(void **state)
{
    char program[1024] = "", path[1100];
    (void)state;
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    snprintf(path, sizeof path, "%s/../lib/ditbench-cuda.so", dirname(program));
    if (access(path, R_OK) != 0) {
        print_message("there is no %s\n", path);
        skip();
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) print_error("%s\n", dlerror());
    assert_non_null(library);
    const dit_device_ops *ops = dlsym(library, "dit_device_cuda");
    assert_non_null(ops);
    assert_string_equal(ops->name, "cuda");
    dit_error_clear();
    if (ops->count() == 0) assert_non_null(strstr(dit_error_last()->message, "no CUDA device: "));
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
        cmocka_unit_test(what_is_put_comes_back_rounded),
        cmocka_unit_test(exact_arrays_and_integers_are_not_rounded),
        cmocka_unit_test(operators_and_transfers_are_done_in_the_order_asked_for),
        cmocka_unit_test(marks_measure_what_was_between_them),
        cmocka_unit_test(memory_that_is_not_the_devices_is_reported_by_the_next_wait),
        cmocka_unit_test(raw_bytes_pass_the_host_and_come_back),
        cmocka_unit_test(too_little_memory_is_an_error_not_an_end),
        cmocka_unit_test(recorded_work_is_done_when_it_is_launched),
        cmocka_unit_test(what_fails_while_it_is_recorded_gives_no_graph),
        cmocka_unit_test(the_host_device_says_that_it_records_nothing),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(a_device_describes_itself),
        cmocka_unit_test(the_real_library_loads_where_it_is_built),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(waits_ask_what_is_watched_and_end_with_its_failure),
    };
    return cmocka_run_group_tests(tests, use_emulation, NULL);
}
