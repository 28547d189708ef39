/* A machine's cores from raw times: made-up machines are found again, stored times give the shipped files byte for
 * byte, and what is wrong with raw times is said. */
#include "kernels/cost/read.h"
#include "suite/calibrate/calibrate_measured.h"
#include "suite/calibrate/machine_fit.h"
#include "suite/catalogue/catalogue.h"
#include "suite/paths.h"
#include "suite/platform/cluster.h"
#include "suite/platform/platform.h"

#include "base/tests/test.h"

#ifndef DITBENCH_SOURCE_DIR
#define DITBENCH_SOURCE_DIR "."
#endif
#define RAW DITBENCH_SOURCE_DIR "/results/calibration/cpu-core.raw.json"

/* ---- a made-up machine ------------------------------------------------------------------------------------------- */

/* One launch takes 100 ns; memory gives 10 GB/s whatever the size; tiles of 8 x 48 at 90 of 100 GFLOP/s, each with a
 * start worth 20 steps; attention at 70 GFLOP/s; all cores together 80 % of compute and half of memory; a message 2 us,
 * and 8 GB/s. */
static const double launch_s = 1e-7, memory_rate = 1e10, peak = 1e11, ceiling = 0.9, fill = 20, attention_rate = 7e10;
static const double compute_share = 0.8, memory_share = 0.5, latency_s = 2e-6, message_rate = 8e9;

static double made_product(double rows, double n, double k)
{
    double whole = ceil(rows / 8) * 8, single = rows / 0.5;
    return launch_s + fmin(whole, single) * 2 * ceil(n / 48) * 48 * (k + fill) / (peak * ceiling);
}

static double made_passes(double passes, double elements)
{
    return passes * 4 * elements / memory_rate;
}

typedef struct {
    char text[65536];
    size_t used;
} raw_text;

__attribute__((format(printf, 2, 3))) static void put(raw_text *raw, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    raw->used += (size_t)vsnprintf(raw->text + raw->used, sizeof raw->text - raw->used, format, arguments);
    va_end(arguments);
    assert_true(raw->used < sizeof raw->text);
}

static void put_products(raw_text *raw, double slower)
{
    static const int sizes[][3] = {{16, 96, 64}, {64, 576, 576}, {256, 512, 512}, {256, 1152, 4608}, {1024, 1152, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double seconds = made_product(sizes[i][0], sizes[i][1], sizes[i][2]) * slower;
        put(raw, ",{\"op\":\"linear\",\"rows\":%d,\"n\":%d,\"k\":%d,\"seconds\":%.15g}", sizes[i][0], sizes[i][1],
            sizes[i][2], seconds);
    }
    put(raw, ",{\"op\":\"linear\",\"rows\":1,\"n\":480,\"k\":256,\"seconds\":%.15g}",
        made_product(1, 480, 256) * slower);
}

/* Of 1024 x 1152 with k 64, and what an epilogue adds to it. */
static void put_epilogue(raw_text *raw, const char *marks, double passes, double slower)
{
    double seconds = made_product(1024, 1152, 64) + made_passes(passes, 1024 * 1152);
    put(raw, ",{\"op\":\"linear\",\"rows\":1024,\"n\":1152,\"k\":64,%s,\"seconds\":%.15g}", marks, seconds * slower);
}

static void put_elementwise(raw_text *raw, const char *shape, double passes, double elements, double slower)
{
    double seconds = launch_s + made_passes(passes, elements);
    put(raw, ",{%s,\"seconds\":%.15g}", shape, seconds * slower);
}

static void put_attention(raw_text *raw, double slower)
{
    for (int D = 64; D <= 128; D += 64)
        for (int S = 96; S <= 768; S *= 2) {
            double flops = 4.0 * 4 * S * S * D;
            put(raw, ",{\"op\":\"attention\",\"B\":1,\"H\":4,\"Sq\":%d,\"Sk\":%d,\"D\":%d,\"seconds\":%.15g}", S, S, D,
                (launch_s + flops / attention_rate) * slower);
        }
}

static void put_parts(raw_text *raw, double compute, double slower)
{
    put_epilogue(raw, "\"gelu\":true", 3, compute);
    put_epilogue(raw, "\"residual\":true", 2, compute);
    put_epilogue(raw, "\"residual\":true,\"gate\":true", 2.5, compute);
    put_elementwise(raw, "\"op\":\"norm\",\"rows\":512,\"n\":1152", 2, 512 * 1152, slower);
    put_elementwise(raw, "\"op\":\"norm\",\"rows\":512,\"n\":1152,\"modulation\":true", 2.25, 512 * 1152, slower);
    put_elementwise(raw, "\"op\":\"qk_norm_rope\",\"rows\":512,\"H\":16,\"D\":72,\"normed\":true", 6, 512 * 1152,
                    slower);
    put_elementwise(raw, "\"op\":\"qk_norm_rope\",\"rows\":512,\"H\":16,\"D\":72,\"normed\":true,\"rms\":true", 4,
                    512 * 1152, slower);
    put_elementwise(raw, "\"op\":\"qk_norm_rope\",\"rows\":512,\"H\":16,\"D\":72,\"rotary\":true", 2.5, 512 * 1152,
                    slower);
    put_elementwise(raw, "\"op\":\"attention_merge\",\"B\":1,\"H\":8,\"Sq\":1024,\"D\":64", 3.5, 524288, slower);
    put_elementwise(raw, "\"op\":\"copy\",\"B\":1,\"H\":16,\"Sq\":512,\"D\":64", 2, 524288, slower);
    put_elementwise(raw, "\"op\":\"combine\",\"n\":524288,\"k\":1", 2, 524288, slower);
    put_elementwise(raw, "\"op\":\"combine\",\"n\":524288,\"k\":3", 4, 524288, slower);
}

static void put_messages(raw_text *raw)
{
    for (int bytes = 64; bytes <= 8 << 20; bytes *= 8) {
        put(raw, ",{\"op\":\"exchange\",\"bytes\":%d,\"messages\":1,\"seconds\":%.15g}", bytes,
            latency_s + (bytes > 4096 ? bytes / message_rate : 0));
        put(raw, ",{\"op\":\"all_to_all\",\"bytes\":%d,\"messages\":1,\"seconds\":%.15g}", bytes,
            latency_s + (bytes > 4096 ? 2 * bytes / message_rate : 0));
    }
}

static void put_run(raw_text *raw, int ranks)
{
    double compute = ranks > 1 ? 1 / compute_share : 1, memory = ranks > 1 ? 1 / memory_share : 1;
    put(raw, "{\"ranks\":%d,\"times\":[{\"op\":\"peak\",\"flops_per_s\":%.15g}", ranks, peak);
    put_products(raw, compute);
    put_attention(raw, compute);
    put(raw, ",{\"op\":\"combine\",\"n\":1,\"k\":1,\"seconds\":%.15g}", launch_s);
    for (int n = 4096; n <= 1 << 22; n *= 4)
        put(raw, ",{\"op\":\"combine\",\"n\":%d,\"k\":2,\"seconds\":%.15g}", n,
            (launch_s + made_passes(3, n)) * memory);
    put_parts(raw, compute, memory);
    if (ranks > 1) put_messages(raw);
    put(raw, "]}");
}

static void made_up(raw_text *raw)
{
    raw->used = 0;
    put(raw, "{\"schema\":\"ditbench.calibration-raw/1\",\"isa\":\"avx512\","
             "\"machine\":{\"cpu\":\"Made up\",\"cores\":2,\"memory_bytes\":17179869184},\"runs\":[");
    put_run(raw, 1);
    put(raw, ",");
    put_run(raw, 2);
    put(raw, "]}");
}

static dit_status fit_text(const char *text, suite_core_fit *fit)
{
    dit_json doc = {0};
    dit_status st = dit_json_parse(text, strlen(text), "raw.json", &doc);
    if (st == DIT_OK) st = suite_core_fit_raw(&doc, fit);
    dit_json_release(&doc);
    return st;
}

static void a_made_up_machine_is_found_again(void **state)
{
    static const double passes[DIT_COST_PART_COUNT] = {
        [DIT_COST_PART_ACTIVATION] = 3,    [DIT_COST_PART_GATE] = 0.5,      [DIT_COST_PART_RESIDUAL] = 2,
        [DIT_COST_PART_MERGE] = 3.5,       [DIT_COST_PART_NORM] = 2,        [DIT_COST_PART_MODULATION] = 0.25,
        [DIT_COST_PART_QK_LAYER_NORM] = 6, [DIT_COST_PART_QK_RMS_NORM] = 4, [DIT_COST_PART_ROTARY] = 2.5,
        [DIT_COST_PART_COPY] = 2,          [DIT_COST_PART_COMBINE] = 2,     [DIT_COST_PART_COMBINE_OPERAND] = 1};
    raw_text *raw = malloc(sizeof *raw);
    suite_core_fit fit;
    (void)state;
    assert_non_null(raw);
    made_up(raw);
    if (fit_text(raw->text, &fit) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_close(fit.launch_s, launch_s, 1e-3);
    assert_close(fit.gemm_ceiling, ceiling, 1e-3);
    assert_close(fit.gemm_fill_k, fill, 0.02);
    assert_close(fit.row_efficiency, 0.5, 0.01);
    assert_close(fit.bandwidth_bytes_per_s, memory_rate, 1e-3);
    for (int i = 0; i < fit.bandwidth_fraction.count; i++) assert_close(fit.bandwidth_fraction.y[i], 1, 1e-3);
    assert_int_equal(fit.heads, 2);
    for (int i = 0; i < fit.attention[0].count; i++) assert_close(fit.attention[0].y[i], attention_rate, 1e-3);
    for (int i = 0; i < fit.attention[1].count; i++) assert_close(fit.attention[1].y[i], attention_rate, 1e-3);
    assert_close(fit.together_bandwidth, memory_share, 0.01);
    assert_close(fit.together_compute, compute_share, 0.01);
    assert_close(fit.message_latency_s, latency_s, 1e-3);
    assert_close(fit.message_bytes_per_s, message_rate, 1e-3);
    for (int i = 0; i < DIT_COST_PART_COUNT; i++) assert_close(fit.passes[i], passes[i], 0.01);
    assert_true(fit.product_error < 0.01 && fit.message_error < 0.01);
    assert_close(suite_core_fit_product(&fit, 256, 1152, 512), made_product(256, 1152, 512), 0.01);
    free(raw);
}

/* ---- a made-up accelerator --------------------------------------------------------------------------------------- */

/* Two of 100 processors with 500 TFLOP/s in bf16, of which products get 0.9, a tile's start being worth 32 steps; 2
 * TB/s for all sizes, 3 us a launch, attention at 300 TFLOP/s; messages 10 us and 200 GB/s; the host 4 us a call. */
static const double device_memory_rate = 2e12, device_launch_s = 3e-6, device_attention_rate = 3e14;
static const dit_cost_device made_device = {.element_bytes = 2,
                                            .peak_flops_per_s = 5e14,
                                            .bandwidth_bytes_per_s = 2e12,
                                            .processors = 100,
                                            .launch_s = 3e-6,
                                            .gemm_ceiling = 0.9,
                                            .gemm_fill_k = 32};

static void put_device_products(raw_text *raw)
{
    static const int sizes[][3] = {{256, 1152, 1152}, {1024, 3072, 3072},  {4096, 1152, 4608},
                                   {4096, 3072, 512}, {4096, 12288, 3072}, {8192, 8192, 8192}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        put(raw, "%s{\"op\":\"linear\",\"rows\":%d,\"n\":%d,\"k\":%d,\"seconds\":%.15g}", i ? "," : "", sizes[i][0],
            sizes[i][1], sizes[i][2], dit_cost_gemm_seconds(&made_device, sizes[i][0], sizes[i][1], sizes[i][2]));
}

/* So many passes over elements of two bytes. */
static void put_device_part(raw_text *raw, const char *shape, double passes, double elements)
{
    put(raw, ",{%s,\"seconds\":%.15g}", shape, device_launch_s + passes * 2 * elements / device_memory_rate);
}

static void put_device_parts(raw_text *raw)
{
    static const char *const epilogues[] = {"\"gelu\":false", "\"gelu\":true", "\"residual\":true",
                                            "\"residual\":true,\"gate\":true"};
    static const double passes[] = {0, 0.5, 2, 2.25};
    double plain = dit_cost_gemm_seconds(&made_device, 16384, 3072, 64), elements = 16384.0 * 3072;
    for (int i = 0; i < 4; i++)
        put(raw, ",{\"op\":\"linear\",\"rows\":16384,\"n\":3072,\"k\":64,%s,\"seconds\":%.15g}", epilogues[i],
            plain + passes[i] * 2 * elements / device_memory_rate);
    put_device_part(raw, "\"op\":\"norm\",\"rows\":16384,\"n\":3072", 2, elements);
    put_device_part(raw, "\"op\":\"norm\",\"rows\":16384,\"n\":3072,\"modulation\":true", 2.25, elements);
    put_device_part(raw, "\"op\":\"qk_norm_rope\",\"rows\":16384,\"H\":24,\"D\":128,\"normed\":true", 3, elements);
    put_device_part(raw, "\"op\":\"qk_norm_rope\",\"rows\":16384,\"H\":24,\"D\":128,\"normed\":true,\"rms\":true", 2,
                    elements);
    put_device_part(raw, "\"op\":\"qk_norm_rope\",\"rows\":16384,\"H\":24,\"D\":128,\"rotary\":true", 2.5, elements);
    put_device_part(raw, "\"op\":\"attention_merge\",\"B\":1,\"H\":24,\"Sq\":8192,\"D\":128", 5, 24.0 * 8192 * 128);
    put_device_part(raw, "\"op\":\"copy\",\"B\":1,\"H\":24,\"Sq\":8192,\"D\":128", 2, 24.0 * 8192 * 128);
    put_device_part(raw, "\"op\":\"combine\",\"n\":16777216,\"k\":1", 4, 16777216);
    put_device_part(raw, "\"op\":\"combine\",\"n\":16777216,\"k\":3", 6, 16777216);
}

/* The latent is read and written in fp32, the other operand in bf16: 10 bytes an element. */
static void put_device_run(raw_text *raw, int ranks)
{
    put(raw, "{\"ranks\":%d,\"times\":[", ranks);
    put_device_products(raw);
    for (int D = 72; D <= 128; D += 56)
        for (int S = 512; S <= 8192; S *= 2)
            put(raw, ",{\"op\":\"attention\",\"B\":1,\"H\":64,\"Sq\":%d,\"Sk\":%d,\"D\":%d,\"seconds\":%.15g}", S, S, D,
                device_launch_s + 4.0 * 64 * S * S * D / device_attention_rate);
    put(raw, ",{\"op\":\"combine\",\"n\":1024,\"k\":1,\"seconds\":%.15g}", device_launch_s);
    put(raw, ",{\"op\":\"combine\",\"n\":4096,\"k\":2,\"seconds\":%.15g}", device_launch_s + 1e-9);
    for (int n = 1 << 20; n <= 1 << 26; n *= 4)
        put(raw, ",{\"op\":\"combine\",\"n\":%d,\"k\":2,\"seconds\":%.15g}", n,
            device_launch_s + 10.0 * n / device_memory_rate);
    put_device_parts(raw);
    put(raw, ",{\"op\":\"dispatch\",\"seconds\":4e-06},{\"op\":\"synchronise\",\"seconds\":5e-06}");
    for (int bytes = 64; ranks > 1 && bytes <= 8 << 20; bytes *= 8)
        put(raw, ",{\"op\":\"exchange\",\"bytes\":%d,\"messages\":1,\"seconds\":%.15g}", bytes,
            1e-5 + (bytes > 4096 ? bytes / 2e11 : 0));
    put(raw, "]}");
}

static void made_up_devices(raw_text *raw, int devices)
{
    raw->used = 0;
    put(raw,
        "{\"schema\":\"ditbench.calibration-raw/1\",\"element\":\"bf16\",\"machine\":{\"device\":\"Made up\","
        "\"devices\":%d,\"multiprocessors\":100,\"memory_bytes\":85899345920},\"runs\":[",
        devices);
    put_device_run(raw, 1);
    if (devices > 1) put(raw, ",");
    if (devices > 1) put_device_run(raw, devices);
    put(raw, "]}");
}

static void a_made_up_accelerator_is_found_again(void **state)
{
    static const int sizes[][3] = {{512, 1536, 1536}, {2048, 9216, 3072}, {16384, 3072, 3072}};
    raw_text *raw = malloc(sizeof *raw);
    suite_core_fit fit;
    (void)state;
    assert_non_null(raw);
    made_up_devices(raw, 2);
    if (fit_text(raw->text, &fit) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_true(fit.device && fit.cores == 2 && fit.processors == 100 && fit.element_bytes == 2);
    assert_close(fit.launch_s, device_launch_s, 1e-3);
    assert_close(fit.bandwidth_bytes_per_s, device_memory_rate, 1e-3);
    for (int i = 0; i < fit.bandwidth_fraction.count; i++) assert_close(fit.bandwidth_fraction.y[i], 1, 1e-3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) /* that it was not fitted to */
        assert_close(suite_core_fit_product(&fit, sizes[i][0], sizes[i][1], sizes[i][2]),
                     dit_cost_gemm_seconds(&made_device, sizes[i][0], sizes[i][1], sizes[i][2]), 0.03);
    assert_int_equal(fit.heads, 2);
    for (int i = 0; i < fit.attention[1].count; i++) assert_close(fit.attention[1].y[i], device_attention_rate, 1e-3);
    assert_close(fit.dispatch_s, 4e-6, 1e-3);
    assert_close(fit.synchronise_s, 5e-6, 1e-3);
    assert_close(fit.passes[DIT_COST_PART_ACTIVATION], 0.5, 0.02);
    assert_close(fit.passes[DIT_COST_PART_GATE], 0.25, 0.02);
    assert_close(fit.passes[DIT_COST_PART_NORM], 2, 0.01);
    assert_close(fit.passes[DIT_COST_PART_COMBINE], 4, 0.01);
    assert_close(fit.passes[DIT_COST_PART_COMBINE_OPERAND], 1, 0.01);
    assert_close(fit.message_latency_s, 1e-5, 1e-3);
    assert_close(fit.message_bytes_per_s, 2e11, 1e-3);
    made_up_devices(raw, 1); /* which has nobody to send anything to */
    if (fit_text(raw->text, &fit) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_int_equal(fit.messages, 0);
    free(raw);
}

/* ---- stored times ------------------------------------------------------------------------------------------------ */

static char folder[TEST_FOLDER];

static int setup(void **state)
{
    (void)state;
    setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1);
    if (test_folder_make(folder) != 0) return 1;
    return setenv("DITBENCH_RESULTS", folder, 1);
}

static int teardown(void **state)
{
    (void)state;
    return test_folder_remove(folder);
}

static void assert_same_file(const char *a, const char *b)
{
    char *one = test_file_read(a, NULL), *other = test_file_read(b, NULL);
    if (strcmp(one, other) != 0) fail_msg("%s and %s differ", a, b);
    free(one);
    free(other);
}

static void calibrate(const char *output)
{
    cJSON *summary;
    suite_calibrate_measured_params params = {.raw = RAW, .output = output};
    if (suite_calibrate_measured(&params, &summary) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_true(cJSON_GetObjectItemCaseSensitive(summary, "ranks")->valueint >= 2);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(summary, "evidence")), "measured");
    cJSON_Delete(summary);
}

static void stored_times_give_the_shipped_files_byte_for_byte(void **state)
{
    static const char *const files[] = {"accelerators/cpu-core.json", "profiles/cpu.json"};
    char path[SUITE_PATH], shipped[SUITE_PATH];
    (void)state;
    calibrate(folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_int_equal(suite_path(path, "%s/%s", folder, files[i]), DIT_OK);
        assert_int_equal(suite_path(shipped, DITBENCH_SOURCE_DIR "/workloads/%s", files[i]), DIT_OK);
        assert_same_file(path, shipped);
    }
}

/* With nothing left by a calibration the shipped machine is read, with something that. */
static void what_a_calibration_leaves_is_read_first(void **state)
{
    char path[SUITE_PATH], raw[SUITE_PATH];
    suite_link_class before, after;
    suite_platform platform;
    suite_cluster cluster;
    suite_accelerator core;
    cJSON *summary;
    raw_text *text = malloc(sizeof *text);
    (void)state;
    assert_non_null(text);
    assert_int_equal(suite_link_class_load("memory", &before), DIT_OK);
    assert_false(suite_catalogue_local("platforms", "local-cpu-simulated", path));
    made_up(text);
    assert_int_equal(suite_path(raw, "%s/made-up.json", folder), DIT_OK);
    FILE *file = fopen(raw, "w");
    assert_non_null(file);
    fputs(text->text, file);
    assert_int_equal(fclose(file), 0);
    free(text);
    suite_calibrate_measured_params params = {.raw = raw};
    if (suite_calibrate_measured(&params, &summary) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    cJSON_Delete(summary);
    assert_true(suite_catalogue_local("platforms", "local-cpu-simulated", path));
    assert_int_equal(suite_link_class_load("memory", &after), DIT_OK);
    assert_close(after.bandwidth_bytes_per_s, message_rate, 1e-3);
    assert_true(fabs(after.bandwidth_bytes_per_s - before.bandwidth_bytes_per_s) > 1);
    assert_int_equal(suite_link_class_load("nvlink-a100", &after), DIT_OK);
    assert_int_equal(suite_platform_load("local-cpu-simulated", &platform), DIT_OK);
    assert_int_equal(platform.devices, 2);
    assert_int_equal(platform.max_ranks, 8);
    assert_false(platform.memory_per_device);
    assert_true(platform.memory_bytes == INT64_C(17179869184));
    assert_int_equal(suite_accelerator_load("cpu-core", &core), DIT_OK);
    assert_string_equal(core.title, "One core of Made up, avx512");
    suite_accelerator_release(&core);
    assert_int_equal(suite_cluster_load("local-cpu-simulated", &cluster), DIT_OK);
    assert_int_equal(cluster.topology, SUITE_TOPOLOGY_CORES);
    suite_cluster_release(&cluster);
}

static void write_raw(const raw_text *text, char path[SUITE_PATH])
{
    assert_int_equal(suite_path(path, "%s/made-up.json", folder), DIT_OK);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text->text, file);
    assert_int_equal(fclose(file), 0);
}

/* Beside what a calibration of the cores left. */
static void a_calibration_of_devices_is_read_as_a_machine(void **state)
{
    char raw[SUITE_PATH], path[SUITE_PATH];
    suite_cluster cluster;
    suite_link_class link_class;
    dit_cost_profile profile;
    dit_cost_device device;
    cJSON *summary;
    raw_text *text = malloc(sizeof *text);
    (void)state;
    assert_non_null(text);
    made_up_devices(text, 2);
    write_raw(text, raw);
    free(text);
    suite_calibrate_measured_params params = {.raw = raw};
    if (suite_calibrate_measured(&params, &summary) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(summary, "device")), "Made up");
    cJSON_Delete(summary);
    if (suite_cluster_load("local-gpu-simulated", &cluster) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_int_equal(cluster.devices, 2);
    suite_cluster_release(&cluster);
    assert_int_equal(suite_link_class_load("local-gpu", &link_class), DIT_OK);
    assert_close(link_class.bandwidth_bytes_per_s, 2e11, 1e-3);
    assert_int_equal(suite_link_class_load("memory", &link_class), DIT_OK);
    assert_close(link_class.bandwidth_bytes_per_s, message_rate, 1e-3);
    assert_true(suite_catalogue_local("profiles", "local-gpu", path));
    if (dit_cost_profile_read(path, &profile) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_true(suite_catalogue_local("accelerators", "local-gpu", path));
    if (dit_cost_device_read(path, "bf16", &profile, &device) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_close(dit_cost_gemm_seconds(&device, 4096, 3072, 3072),
                 dit_cost_gemm_seconds(&made_device, 4096, 3072, 3072), 0.03);
    const dit_cost_attention shape = {.B = 1, .H = 64, .Sq = 4096, .Sk = 4096, .D = 128, .seen = 1};
    assert_close(dit_cost_attention_seconds(&device, &shape),
                 device_launch_s + 4.0 * 64 * 4096 * 4096 * 128 / device_attention_rate, 0.01);
    assert_int_equal(dit_cost_device_read(path, "fp32", &profile, &device), DIT_ERR_UNSUPPORTED);
}

/* ---- what is wrong ----------------------------------------------------------------------------------------------- */

/* The made-up times with the first `from` replaced, or all of them. */
static void assert_refused(const char *from, const char *to, bool all, dit_status expected, const char *words)
{
    raw_text *raw = malloc(sizeof *raw), *changed = malloc(sizeof *changed);
    suite_core_fit fit;
    assert_true(raw && changed);
    made_up(raw);
    changed->used = 0;
    const char *rest = raw->text, *found = strstr(rest, from);
    if (!found) fail_msg("no %s", from);
    for (; found; found = all ? strstr(rest, from) : NULL) {
        put(changed, "%.*s%s", (int)(found - rest), rest, to);
        rest = found + strlen(from);
    }
    put(changed, "%s", rest);
    dit_status st = fit_text(changed->text, &fit);
    if (st != expected) fail_msg("%s -> %s: %s", from, to, dit_status_name(st));
    if (!strstr(dit_error_last()->message, words)) fail_msg("%s", dit_error_last()->message);
    free(raw);
    free(changed);
}

static void wrong_raw_times_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("calibration-raw/1", "calibration-raw/2", false, DIT_ERR_JSON_VALUE, "schema");
    assert_refused("\"cores\":2", "\"cores\":4", false, DIT_ERR_JSON_VALUE, "they have 1 and 2, on 4 cores");
    assert_refused("\"cores\":2", "\"cores\":1", false, DIT_ERR_JSON_VALUE, "cores");
    assert_refused("\"ranks\":1", "\"ranks\":2", false, DIT_ERR_JSON_VALUE, "they have 2 and");
    assert_refused("\"op\":\"peak\",\"flops_per_s\":100000000000", "\"op\":\"peak\",\"seconds\":1", false,
                   DIT_ERR_JSON_MISSING, "/runs/0/times/0: a time of \"peak\" needs \"flops_per_s\"");
    assert_refused("\"op\":\"attention\"", "\"op\":\"other\"", true, DIT_ERR_UNSUPPORTED, "attention");
    assert_refused("\"op\":\"copy\"", "\"op\":\"other\"", true, DIT_ERR_UNSUPPORTED, "copy");
    assert_refused("\"modulation\":true", "\"modulation\":false", true, DIT_ERR_UNSUPPORTED, "modulation");
    assert_refused("\"messages\":1", "\"messages\":0", false, DIT_ERR_JSON_VALUE, "/messages");
    assert_refused("\"rows\":16", "\"rows\":-16", false, DIT_ERR_JSON_VALUE, "rows");
    assert_refused("\"runs\"", "\"walks\"", false, DIT_ERR_JSON_UNKNOWN_KEY, "walks");
    assert_refused("\"seconds\":1e-07", "\"seconds\":0", false, DIT_ERR_JSON_VALUE, "/seconds");
    assert_refused("\"seconds\":1e-07", "\"seconds\":1e300", false, DIT_ERR_JSON_VALUE, "/seconds");
    assert_refused("\"seconds\":1e-07", "\"seconds\":\"NaN\"", false, DIT_ERR_JSON_TYPE, "/seconds");
    assert_refused(",\"seconds\":1e-07", "", false, DIT_ERR_JSON_MISSING, "\"combine\" needs \"seconds\"");
    assert_refused("\"k\":64,", "\"k\":1e15,", false, DIT_ERR_JSON_VALUE, "/k");
    assert_refused("\"k\":1,", "\"k\":[1],", false, DIT_ERR_JSON_TYPE, "/k");
    assert_refused("{\"op\":\"peak\"", "7,{\"op\":\"peak\"", false, DIT_ERR_JSON_TYPE, "/runs/0/times/0");
    assert_refused("\"op\":\"peak\"", "\"op\":\"peak\",\"op\":\"peak\"", false, DIT_ERR_JSON_DUPLICATE_KEY, "op");
    assert_refused("\"isa\":\"avx512\"", "\"isa\":7", false, DIT_ERR_JSON_TYPE, "/isa");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_made_up_machine_is_found_again),
        cmocka_unit_test(a_made_up_accelerator_is_found_again),
        cmocka_unit_test(stored_times_give_the_shipped_files_byte_for_byte),
        cmocka_unit_test(what_a_calibration_leaves_is_read_first),
        cmocka_unit_test(a_calibration_of_devices_is_read_as_a_machine),
        cmocka_unit_test(wrong_raw_times_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
