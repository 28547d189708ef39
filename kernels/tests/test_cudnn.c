/* cuDNN without a device: which calls are given to it, and that it has plans for the graphs that we describe, of the
 * shapes of the models on devices of three kinds. Plans are made whole, kernels compiled; none can be run.
 *
 * cuDNN wants a driver for that, so one without a device is loaded first (driver_without_device.c).
 */
#include "base/tests/test.h"

#ifndef DIT_CUDA_CUDNN

int main(void)
{
    puts("1..0 # SKIP cuDNN is not installed, or this is a sanitized build, which cannot load it");
    return 77;
}

#else

#include "kernels/cuda/cudnn_attention.h"
#include "kernels/cuda/cudnn_cache.h"
#include "kernels/cuda/cudnn_conv.h"

#include <dlfcn.h>

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* As cuDNN writes of a device; figures of NVIDIA's data sheets and of the CUDA C++ programming guide's table of compute
 * capabilities. Name and clocks of the boards are of no weight here. */
#define PROPERTIES(version, processors, shared, blocks, threads, l2)                                                   \
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"                \
    "\"multiProcessorCount\":" #processors                                                                             \
    ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":" #shared                     \
    ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":" #blocks                     \
    ",\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":" #threads                                                       \
    ",\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":48000000000,"                     \
    "\"smClockRateKHz\":1410000,\"memClockRateKHz\":1593000,\"l2CacheSize\":" #l2                                      \
    ",\"cudaDeviceId\":0,\"deviceVer\":" #version ",\"driverVer\":13000,\"deviceName\":\"" #version "\"}"

static const struct device_row {
    int sm;
    const char *properties;
} devices[] = {
    {80, PROPERTIES(800, 108, 166912, 32, 2048, 41943040)},
    {89, PROPERTIES(890, 142, 101376, 24, 1536, 100663296)},
    {90, PROPERTIES(900, 132, 232448, 32, 2048, 52428800)},
};
enum { DEVICES = sizeof devices / sizeof *devices };

static dnn_target target_of(const struct device_row *device)
{
    dnn_target target = {0};
    assert_ok(dnn_properties_read(device->properties, &target.properties));
    return target;
}

static const dnn_limits ROOMY = {.workspace_bytes = 64 << 20};

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* q, k and v lie in one projection [B S, 3 H D], as models have them. */
static dit_attention_args fused(int64_t B, int64_t H, int64_t S, int64_t D)
{
    int64_t ld = 3 * H * D;
    return (dit_attention_args){.B = B,
                                .H = H,
                                .Sq = S,
                                .Sk = S,
                                .D = D,
                                .ldq = ld,
                                .ldk = ld,
                                .ldv = ld,
                                .ldo = H * D,
                                .batch_q = S * ld,
                                .batch_k = S * ld,
                                .batch_v = S * ld,
                                .batch_o = S * H * D,
                                .scale = 1.0f};
}

static const dnn_attention_operands BF16 = {.q = DIT_DTYPE_BF16,
                                            .k = DIT_DTYPE_BF16,
                                            .v = DIT_DTYPE_BF16,
                                            .out = DIT_DTYPE_BF16,
                                            .lse = DIT_DTYPE_FP32,
                                            .aligned = true};
static float some[1];

static void calls_that_cudnn_cannot_do_are_declined_with_the_reason(void **state)
{
    (void)state;
    static const int32_t positions[1];
    const dit_attention_args plain = fused(2, 24, 100, 64);
    dit_attention_args args = plain;
    dnn_attention_operands on = BF16;
    assert_null(dnn_attention_declines(&args, &on, 90));
    assert_string_equal(dnn_attention_declines(&args, &on, 75), "compute capability below 8.0");
    args.Sk = 0;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "no keys");
    args = plain, args.q_position = args.k_position = positions;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "positions");
    args = plain, args.D = 60;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "head size not a multiple of 8 up to 256");
    args = plain, args.D = 264;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "head size not a multiple of 8 up to 256");
    args = plain, args.ldk += 4;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "strides not multiples of 8");
    args = plain, args.batch_o += 4;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "strides not multiples of 8");
    args.B = 1; /* no stride between batches */
    assert_null(dnn_attention_declines(&args, &on, 90));
    args = plain, on.aligned = false;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "not aligned to 16 bytes");
    on = BF16, on.q = on.k = on.v = on.out = DIT_DTYPE_FP32;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "type other than bf16 and fp16");
    on = BF16, on.out = DIT_DTYPE_FP32;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "types of q, k, v and out differ");
    on = BF16, on.lse = DIT_DTYPE_BF16;
    assert_null(dnn_attention_declines(&args, &on, 90)); /* there is none */
    args.lse = some;
    assert_string_equal(dnn_attention_declines(&args, &on, 90), "lse is not fp32");
}

/* H query heads from kv_first on, in groups. */
static void groups_are_those_of_the_key_heads(void **state)
{
    (void)state;
    static const struct {
        int64_t H, group, first, key_heads, first_key_head; /* key_heads 0: declined */
    } rows[] = {{24, 0, 0, 24, 0}, {24, 1, 5, 24, 5}, {24, 4, 0, 6, 0}, {8, 4, 4, 2, 1}, {3, 4, 1, 1, 0},
                {2, 4, 6, 1, 1},   {4, 4, 0, 1, 0},   {4, 4, 2, 0, 0},  {6, 4, 0, 0, 0}, {3, 4, 2, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_attention_args args = fused(1, rows[i].H, 16, 64);
        args.kv_group = rows[i].group, args.kv_first = rows[i].first;
        const char *declined = dnn_attention_declines(&args, &BF16, 90);
        if (!rows[i].key_heads) {
            assert_string_equal(declined, "query heads begin or end inside a group");
            continue;
        }
        assert_null(declined);
        dnn_attention a = dnn_attention_of(&args, &BF16);
        assert_int_equal(a.key_heads, rows[i].key_heads);
        assert_int_equal(a.first_key_head, rows[i].first_key_head);
        int64_t group = rows[i].group ? rows[i].group : 1;
        for (int64_t h = 0; h < a.H; h++) /* cuDNN's rule against ours */
            assert_int_equal(a.first_key_head + h / (a.H / a.key_heads), (args.kv_first + h) / group);
    }
}

typedef dit_status (*describe)(dnn_graph *graph, const dnn_target *target, const dnn_attention *a);

static void expect_plan(describe graph_of, const struct device_row *device, const dit_attention_args *args,
                        const dnn_attention_operands *on)
{
    dnn_target target = target_of(device);
    dnn_graph graph = {0};
    dnn_plan plan = {0};
    int count = 0;
    assert_null(dnn_attention_declines(args, on, device->sm));
    dnn_attention a = dnn_attention_of(args, on);
    dit_status st = graph_of(&graph, &target, &a);
    if (st == DIT_OK) st = dnn_plans_make(&graph, &target, &ROOMY, 1, &plan, &count);
    if (st != DIT_OK)
        fail_msg("sm %d, B%lld H%lld S%lld,%lld D%lld: %s", device->sm, (long long)a.B, (long long)a.H, (long long)a.Sq,
                 (long long)a.Sk, (long long)a.D, dit_error_last()->message);
    assert_int_equal(count, 1);
    assert_in_range(plan.workspace_bytes, 0, 1 << 20);
    dnn_plan_release(&plan);
    dnn_graph_release(&graph);
    cudnnBackendDestroyDescriptor(target.properties);
}

static void attention_of_the_models_has_plans(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        dit_attention_args flux = fused(1, 24, 4608, 128), sd3 = fused(2, 24, 4429, 64),
                           pixart = fused(2, 16, 4096, 72);
        dit_attention_args cogvideox = fused(2, 48, 17776, 64), groups = fused(1, 24, 1000, 128);
        expect_plan(dnn_attention_whole, &devices[i], &flux, &BF16);
        flux.lse = some;
        expect_plan(dnn_attention_whole, &devices[i], &flux, &BF16);
        expect_plan(dnn_attention_whole, &devices[i], &sd3, &BF16);
        pixart.lse = some;
        expect_plan(dnn_attention_whole, &devices[i], &pixart, &BF16);
        expect_plan(dnn_attention_whole, &devices[i], &cogvideox, &BF16);
        groups.kv_group = 4, groups.kv_first = 4, groups.Sk = 333, groups.batch_k = groups.batch_v = 333 * groups.ldk;
        expect_plan(dnn_attention_whole, &devices[i], &groups, &BF16);
        dnn_attention_operands fp16 = BF16;
        fp16.q = fp16.k = fp16.v = fp16.out = DIT_DTYPE_FP16;
        expect_plan(dnn_attention_whole, &devices[i], &sd3, &fp16);
    }
}

static void attention_with_a_mask_has_plans(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        dit_attention_args text = fused(2, 16, 4096, 72), joint = fused(1, 24, 4000, 128);
        text.Sk = 120, text.bias = joint.bias = some;
        text.batch_k = text.batch_v = 120 * text.ldk;
        joint.lse = some;
        expect_plan(dnn_attention_parts, &devices[i], &text, &BF16);
        expect_plan(dnn_attention_parts, &devices[i], &joint, &BF16);
    }
}

static void a_mask_is_not_forgotten_by_the_single_operation(void **state)
{
    (void)state;
    dnn_target target = target_of(&devices[2]);
    dnn_graph graph = {0};
    dit_attention_args args = fused(1, 2, 64, 64);
    args.bias = some;
    dnn_attention a = dnn_attention_of(&args, &BF16);
    assert_int_equal(dnn_attention_whole(&graph, &target, &a), DIT_ERR_UNSUPPORTED);
    dnn_graph_release(&graph);
    cudnnBackendDestroyDescriptor(target.properties);
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

enum { IN_PLACE, COPIED };

static dit_conv_args conv_of(int64_t frames, int64_t size, int64_t channels, int64_t kernel_t, int64_t stride)
{
    return (dit_conv_args){.frames = frames,
                           .height = size,
                           .width = size,
                           .channels = channels,
                           .kernel = {kernel_t, 3, 3},
                           .stride = {1, stride, stride},
                           .padding = {kernel_t - 1, stride == 1, stride == 1},
                           .up = 1,
                           .out = {frames, size / stride, size / stride}};
}

static dnn_conv_operands operands_of(dit_dtype dtype)
{
    return (dnn_conv_operands){dtype, dtype, dtype, dtype, dtype, true, true};
}

static dit_status conv_plan(const struct device_row *device, const dnn_conv *c, const dnn_limits *limits,
                            int64_t *engine)
{
    dnn_target target = target_of(device);
    dnn_graph graph = {0};
    dnn_plan plan = {0};
    int count = 0;
    dit_status st = dnn_conv_graph(&graph, &target, c);
    if (st == DIT_OK) st = dnn_plans_make(&graph, &target, limits, 1, &plan, &count);
    *engine = plan.engine;
    dnn_plan_release(&plan);
    dnn_graph_release(&graph);
    cudnnBackendDestroyDescriptor(target.properties);
    return st;
}

static void expect_conv(const struct device_row *device, dit_conv_args args, int64_t n, int64_t rows)
{
    dit_linear weights = {.n = n};
    dnn_conv_operands on = operands_of(DIT_DTYPE_BF16);
    int64_t engine;
    args.weights = &weights;
    assert_null(dnn_conv_declines(&args, &on, device->sm));
    dnn_conv c = dnn_conv_of(&args, &on, rows);
    if (conv_plan(device, &c, &ROOMY, &engine) != DIT_OK)
        fail_msg("sm %d, %lld to %lld channels of %lld x %lld x %lld: %s", device->sm, (long long)c.channels,
                 (long long)c.n, (long long)c.in[0], (long long)c.in[1], (long long)c.in[2], dit_error_last()->message);
}

static void convolutions_of_the_models_have_plans(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        dit_conv_args resnet = conv_of(1, 128, 512, 1, 1), silu = resnet, up = resnet,
                      causal = conv_of(9, 60, 512, 3, 1);
        expect_conv(&devices[i], resnet, 512, IN_PLACE);
        resnet.residual = some;
        expect_conv(&devices[i], resnet, 512, IN_PLACE);
        silu.activation = DIT_ACT_SILU;
        expect_conv(&devices[i], silu, 512, IN_PLACE);
        expect_conv(&devices[i], conv_of(1, 128, 16, 1, 1), 512, IN_PLACE);  /* latent */
        expect_conv(&devices[i], conv_of(1, 1024, 128, 1, 1), 3, IN_PLACE);  /* colours */
        expect_conv(&devices[i], conv_of(2, 256, 128, 1, 2), 128, IN_PLACE); /* one more row and column of zeros */
        up.up = 2, up.out[1] = up.out[2] = 256;
        expect_conv(&devices[i], up, 512, 64);
        causal.front = some;
        expect_conv(&devices[i], causal, 512, 20);
        causal.residual = some;
        expect_conv(&devices[i], causal, 512, 20);
        causal.replicate = true, causal.front = NULL; /* edges that repeat are part of a copy */
        assert_true(dnn_conv_gathers(&causal));
        expect_conv(&devices[i], causal, 512, 20);
    }
}

static void exact_convolutions_use_no_engine_that_rounds(void **state)
{
    (void)state;
    dit_linear weights = {.n = 128};
    dit_conv_args args = conv_of(1, 64, 128, 1, 1);
    dnn_conv_operands on = operands_of(DIT_DTYPE_FP32);
    dnn_limits exact = ROOMY;
    int64_t engines[2];
    args.weights = &weights, exact.exact = true;
    dnn_conv c = dnn_conv_of(&args, &on, IN_PLACE);
    assert_ok(conv_plan(&devices[2], &c, &ROOMY, &engines[0]));
    assert_ok(conv_plan(&devices[2], &c, &exact, &engines[1]));
    assert_int_not_equal(engines[0], engines[1]); /* the first choice is tensor cores */
}

static void bands_fit_the_room_they_are_cut_for(void **state)
{
    (void)state;
    for (int64_t stride = 1; stride <= 2; stride++) {
        dit_conv_args args = conv_of(3, 40, 16, 3, stride);
        int64_t row = dnn_conv_copy_frames(&args) * dnn_conv_copy_columns(&args) * args.channels * 2;
        assert_int_equal(dnn_conv_copy_frames(&args), 5);
        assert_int_equal(dnn_conv_copy_columns(&args), stride == 1 ? 42 : 41);
        assert_int_equal(dnn_conv_band_rows(&args, 2, 3 * row - 1), 0);
        assert_int_equal(dnn_conv_band_rows(&args, 2, 1000 * row), args.out[1]);
        for (int64_t rows = 3; rows < 30; rows++) {
            int64_t fit = dnn_conv_band_rows(&args, 2, rows * row);
            assert_true(dnn_conv_copy_rows(&args, fit) <= rows && dnn_conv_copy_rows(&args, fit + 1) > rows);
        }
    }
}

/* ---- errors and the cache ---------------------------------------------------------------------------------------- */

static void an_error_names_the_attribute_and_what_cudnn_says(void **state)
{
    (void)state;
    dnn_graph graph = {0};
    cudnnBackendDescriptor_t tensor;
    int64_t one = 1;
    assert_ok(dnn_graph_add(&graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor));
    assert_int_equal(
        dnn_set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, "CUDNN_ATTR_TENSOR_UNIQUE_ID", CUDNN_TYPE_FLOAT, 1, &one),
        DIT_ERR_DEVICE);
    assert_non_null(strstr(dit_error_last()->message, "CUDNN_ATTR_TENSOR_UNIQUE_ID"));
    assert_non_null(strstr(dit_error_last()->message, "CUDNN_STATUS_BAD_PARAM"));
    dnn_graph_release(&graph);
}

static int described;

static dit_status describe_nothing(dnn_graph *graph, const dnn_target *target, const void *key)
{
    (void)graph, (void)target, (void)key;
    described++;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "not this way");
}

static dit_status describe_attention(dnn_graph *graph, const dnn_target *target, const void *key)
{
    described++;
    return dnn_attention_whole(graph, target, key);
}

static void a_shape_is_planned_once_and_failures_are_remembered(void **state)
{
    (void)state;
    dnn_cache cache = {.key_bytes = sizeof(dnn_attention), .ways = {describe_nothing, describe_attention}};
    dit_attention_args args = fused(1, 2, 64, 64);
    dnn_attention a = dnn_attention_of(&args, &BF16), odd = a;
    cache.target = target_of(&devices[2]);
    assert_null(dnn_cache_find(&cache, &a));
    dnn_entry *entry = dnn_cache_make(&cache, &a, &ROOMY, NULL);
    assert_non_null(entry->plan.plan);
    assert_int_equal(described, 2);
    assert_ptr_equal(dnn_cache_find(&cache, &a), entry);
    odd.D = 12;
    assert_null(dnn_cache_find(&cache, &odd));
    entry = dnn_cache_make(&cache, &odd, &ROOMY, NULL);
    assert_null(entry->plan.plan);
    assert_non_null(strstr(entry->why, "cuDNN"));
    assert_ptr_equal(dnn_cache_find(&cache, &odd), entry);
    cudnnBackendDestroyDescriptor(cache.target.properties);
    dnn_cache_release(&cache);
}

static dit_status describe_in_parts(dnn_graph *graph, const dnn_target *target, const void *key)
{
    return dnn_attention_parts(graph, target, key);
}

/* The third plan takes least, the first does not run. */
static double known_times(void *context, const dnn_plan *plan)
{
    static const double times[] = {-1, 5, 2, 3};
    int *asked = context;
    assert_non_null(plan->plan);
    assert_in_range(*asked, 0, 3);
    return times[(*asked)++];
}

static void the_fastest_plan_of_all_ways_is_kept(void **state)
{
    (void)state;
    dnn_cache cache = {.key_bytes = sizeof(dnn_attention), .ways = {describe_attention, describe_in_parts}};
    dit_attention_args args = fused(1, 2, 64, 128);
    dnn_attention a = dnn_attention_of(&args, &BF16), odd = a;
    int asked = 0;
    dnn_stopwatch watch = {known_times, &asked};
    cache.target = target_of(&devices[2]);
    dnn_plan first[1];
    dnn_graph parts = {0};
    int count;
    assert_ok(dnn_attention_parts(&parts, &cache.target, &a));
    assert_ok(dnn_plans_make(&parts, &cache.target, &ROOMY, 1, first, &count));
    dnn_entry *entry = dnn_cache_make(&cache, &a, &ROOMY, &watch);
    assert_int_equal(asked, 4); /* 9.19 has two plans either way on 9.0 */
    assert_int_equal(entry->plan.engine, first[0].engine);
    assert_int_equal(entry->graph.operation_count, parts.operation_count);
    odd.D = 12;
    assert_null(dnn_cache_make(&cache, &odd, &ROOMY, &watch)->plan.plan);
    dnn_plan_release(first);
    dnn_graph_release(&parts);
    cudnnBackendDestroyDescriptor(cache.target.properties);
    dnn_cache_release(&cache);
}

static void the_version_is_that_of_the_library(void **state)
{
    (void)state;
    int major, minor, patch;
    assert_int_equal(sscanf(cuda_cudnn_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(major * 10000 + minor * 100 + patch, cudnnGetVersion());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_cudnn_cannot_do_are_declined_with_the_reason),
        cmocka_unit_test(groups_are_those_of_the_key_heads),
        cmocka_unit_test(attention_of_the_models_has_plans),
        cmocka_unit_test(attention_with_a_mask_has_plans),
        cmocka_unit_test(a_mask_is_not_forgotten_by_the_single_operation),
        cmocka_unit_test(convolutions_of_the_models_have_plans),
        cmocka_unit_test(exact_convolutions_use_no_engine_that_rounds),
        cmocka_unit_test(bands_fit_the_room_they_are_cut_for),
        cmocka_unit_test(an_error_names_the_attribute_and_what_cudnn_says),
        cmocka_unit_test(a_shape_is_planned_once_and_failures_are_remembered),
        cmocka_unit_test(the_fastest_plan_of_all_ways_is_kept),
        cmocka_unit_test(the_version_is_that_of_the_library),
    };
    /* Found by its name from now on. */
    if (!dlopen(DITBENCH_NO_DEVICE, RTLD_NOW)) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
