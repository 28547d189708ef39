/* What the device's code asks of cuDNN, from a call of an operator to the graph, its plan and its pointers: carried out
 * on the host (cudnn_on_host.cpp, the emulation) and compared with the reference operators.
 */
#include "base/tests/test.h"

#ifndef DIT_CUDA_CUDNN

int main()
{
    puts("1..0 # SKIP cuDNN's header is not there, or this is a sanitized build");
    return 77;
}

#else

#include "base/rng.h"
#include "kernels/cuda/cuda.h"
extern "C" {
#include "kernels/ref/ref.h"
}
#include <vector>

extern int64_t emulated_cudnn_runs;

/* ---- a device that is memory of the host ------------------------------------------------------------------------- */

/* Floats at host addresses for the reference, and the same rounded in elements of the device. */
struct array {
    std::vector<float> floats;
    std::vector<char> memory;
    view on_device;
};

static std::vector<array *> arrays;
static std::vector<char> workspace;
static dit_cuda cuda;
static dit_pool *pool;

void cuda_fail(dit_cuda *device, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(device->failure_text, sizeof device->failure_text, format, list);
    va_end(list);
    device->failure = DIT_ERR_DEVICE;
}

bool cuda_check(dit_cuda *device, cudaError_t code, const char *call)
{
    if (code != cudaSuccess) cuda_fail(device, "%s: %s", call, cudaGetErrorString(code));
    return code == cudaSuccess;
}

view view_of(dit_cuda *device, const void *address)
{
    const float *at = (const float *)address;
    for (array *a : arrays)
        if (at && at >= a->floats.data() && at < a->floats.data() + a->floats.size())
            return view_at(a->on_device, at - a->floats.data());
    if (at) cuda_fail(device, "an address of no array");
    return view{NULL, DIT_DTYPE_FP32};
}

static float rounded(dit_dtype dtype, float x)
{
    if (dtype == DIT_DTYPE_BF16) return dit_bf16_to_float(dit_bf16_from_float(x));
    return dtype == DIT_DTYPE_FP16 ? dit_fp16_to_float(dit_fp16_from_float(x)) : x;
}

/* Seeded values that the element can hold. */
static float *array_new(int64_t count, dit_dtype dtype, uint64_t seed)
{
    array *a = new array;
    a->floats.resize((size_t)count);
    dit_rng_normal(seed, 0, 0, count, 0.0f, 1.0f, a->floats.data());
    a->memory.resize((size_t)(count * dit_dtype_bytes(dtype)) + 64);
    a->on_device = view{(void *)(((uintptr_t)a->memory.data() + 63) / 64 * 64), dtype};
    for (int64_t i = 0; i < count; i++) {
        a->floats[(size_t)i] = rounded(dtype, a->floats[(size_t)i]);
        view_store(a->on_device, i, a->floats[(size_t)i]);
    }
    arrays.push_back(a);
    return a->floats.data();
}

/* Writes the floats at an address again after they were changed. */
static void array_update(float *address)
{
    for (array *a : arrays)
        for (size_t i = 0; a->floats.data() == address && i < a->floats.size(); i++)
            view_store(a->on_device, (int64_t)i, a->floats[i]);
}

/* With so much workspace; a shape that was seen before has its plan. */
static void device_use(int64_t workspace_bytes)
{
    workspace.assign((size_t)workspace_bytes + 256, 0);
    cuda.workspace = (void *)(((uintptr_t)workspace.data() + 255) / 256 * 256);
    cuda.workspace_bytes = workspace_bytes;
    cuda.sm = 90;
    cuda.recording = false;
    cuda.failure = DIT_OK;
    emulated_cudnn_runs = 0;
}

static void device_reset(int64_t workspace_bytes)
{
    for (array *a : arrays) delete a;
    arrays.clear();
    device_use(workspace_bytes);
}

/* Relative L2 distance of the device's values to the reference's. */
static double distance(const float *address, int64_t count)
{
    view got = view_of(&cuda, address);
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = (double)view_load(got, i) - address[i];
        difference += d * d, norm += (double)address[i] * address[i];
    }
    return sqrt(difference / norm);
}

/* One rounding of every result, and of the weights of the softmax between two products. */
static double tolerance(dit_dtype dtype)
{
    return dtype == DIT_DTYPE_FP32 ? 1e-5 : dtype == DIT_DTYPE_FP16 ? 1e-3 : 6e-3;
}

static void assert_done(int64_t runs)
{
    if (cuda.failure != DIT_OK) fail_msg("%s", cuda.failure_text);
    assert_int_equal(emulated_cudnn_runs, runs);
}

/* Plans of attention are timed when a shape is first seen: how often is not the calls' business. */
static void assert_done_by_plans()
{
    if (cuda.failure != DIT_OK) fail_msg("%s", cuda.failure_text);
    assert_true(emulated_cudnn_runs > 0);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* q, k and v inside one projection of `wide` columns a token, with lse. */
static dit_attention_args attention_args(dit_dtype dtype, int64_t B, int64_t H, int64_t key_heads, int64_t Sq,
                                         int64_t Sk, int64_t D)
{
    dit_attention_args a = {};
    a.B = B, a.H = H, a.Sq = Sq, a.Sk = Sk, a.D = D;
    a.ldq = H * D + 8, a.ldk = a.ldv = 2 * key_heads * D, a.ldo = H * D + 16;
    a.batch_q = Sq * a.ldq + 16, a.batch_k = a.batch_v = Sk * a.ldk + 8, a.batch_o = Sq * a.ldo;
    a.q = array_new(B * a.batch_q, dtype, 1);
    a.k = array_new(B * a.batch_k + 8, dtype, 2);
    a.v = a.k + key_heads * D;
    a.out = array_new(B * a.batch_o, dtype, 4);
    a.lse = array_new(B * H * Sq, DIT_DTYPE_FP32, 5);
    a.scale = 1.0f / sqrtf((float)D);
    return a;
}

/* Also that nothing but the result is written: the rest of out is as it was on both sides. */
static void attention_agrees(const dit_attention_args *a, dit_dtype dtype)
{
    assert_true(cuda_attention_library_run(&cuda, a));
    dit_ref_attention(pool, a);
    assert_done_by_plans();
    double out = distance(a->out, a->B * a->batch_o);
    if (!(out < tolerance(dtype))) fail_msg("out is %g away", out);
    if (!a->lse) return;
    for (int64_t i = 0; i < a->B * a->H * a->Sq; i++) {
        float got = view_load(view_of(&cuda, a->lse), i);
        if (!(got == a->lse[i] || fabsf(got - a->lse[i]) < 1e-4f)) fail_msg("lse %g, not %g", got, a->lse[i]);
    }
}

static void attention_agrees_with_the_reference(void **)
{
    static const struct {
        dit_dtype dtype;
        int64_t B, H, group, first, Sq, Sk, D;
    } rows[] = {{DIT_DTYPE_BF16, 2, 3, 1, 0, 9, 17, 16},
                {DIT_DTYPE_FP16, 1, 2, 1, 3, 33, 5, 8},
                {DIT_DTYPE_BF16, 2, 4, 2, 2, 6, 7, 24},
                {DIT_DTYPE_BF16, 1, 2, 4, 5, 4, 11, 72},
                {DIT_DTYPE_FP16, 3, 1, 0, 0, 1, 1, 40}};
    for (const auto &row : rows) {
        device_reset(1 << 16);
        int64_t group = row.group ? row.group : 1, key_heads = (row.first + row.H - 1) / group + 1;
        dit_attention_args a = attention_args(row.dtype, row.B, row.H, key_heads, row.Sq, row.Sk, row.D);
        a.kv_group = row.group, a.kv_first = row.first;
        attention_agrees(&a, row.dtype);
        emulated_cudnn_runs = 0, a.lse = NULL;
        attention_agrees(&a, row.dtype);
    }
}

static void masked_attention_agrees_also_where_no_key_is_left(void **)
{
    for (int with_lse = 0; with_lse < 2; with_lse++) {
        device_reset(1 << 16);
        dit_attention_args a = attention_args(DIT_DTYPE_BF16, 3, 2, 2, 21, 13, 16);
        float *bias = array_new(3 * 13, DIT_DTYPE_BF16, 6);
        for (int i = 0; i < 13; i++) {
            if (i % 3 == 0) bias[i] = -INFINITY;
            bias[13 + i] = -INFINITY; /* batch entry 1 has no key */
            if (i > 4) bias[26 + i] = -10000.0f;
        }
        array_update(bias);
        a.bias = bias;
        if (!with_lse) a.lse = NULL;
        attention_agrees(&a, DIT_DTYPE_BF16);
        for (int64_t i = 0; i < a.H * a.D; i++) assert_true(view_load(view_of(&cuda, a.out + a.batch_o), i) == 0.0f);
    }
}

static void what_does_not_fit_or_comes_while_recording_is_declined(void **)
{
    device_reset(1 << 16);
    dit_attention_args a = attention_args(DIT_DTYPE_BF16, 1, 2, 2, 10, 12, 8), other = a;
    float *bias = array_new(12, DIT_DTYPE_FP32, 6);
    cuda.recording = true;
    other.Sq = 7;
    assert_false(cuda_attention_library_run(&cuda, &other));
    cuda.recording = false;
    assert_true(cuda_attention_library_run(&cuda, &other));
    cuda.recording = true;
    assert_true(cuda_attention_library_run(&cuda, &other)); /* its plan is there */
    assert_done_by_plans();
    emulated_cudnn_runs = 0;
    assert_true(cuda_attention_library_run(&cuda, &other));
    assert_done(1); /* timed no more */
    device_use(1023);
    assert_false(cuda_attention_library_run(&cuda, &other));
    a.bias = bias, device_use(255);
    assert_false(cuda_attention_library_run(&cuda, &a));
    a.bias = NULL, a.Sq = 0, a.q = a.k = a.v = NULL, a.out = NULL;
    assert_true(cuda_attention_library_run(&cuda, &a)); /* nothing to do */
    assert_done(0);
}

static void lse_of_some_heads_may_begin_anywhere(void **)
{
    device_reset(1 << 16);
    dit_attention_args a = attention_args(DIT_DTYPE_BF16, 1, 2, 2, 5, 9, 16);
    float *all = array_new(3 * 5, DIT_DTYPE_FP32, 9);
    a.lse = all + 5;
    assert_true(cuda_attention_library_run(&cuda, &a));
    dit_ref_attention(pool, &a);
    assert_done_by_plans();
    assert_true(distance(all, 15) < 1e-5);
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

struct conv {
    dit_conv_args args;
    dit_linear weights;
    cuda_weights on_device;
};

static void conv_set(conv *c, dit_dtype dtype, int64_t n, bool has_bias)
{
    dit_conv_args *a = &c->args;
    int64_t k = a->channels * a->kernel[0] * a->kernel[1] * a->kernel[2], pixels = a->frames * a->height * a->width;
    if (!a->up) a->up = 1;
    float *packed = array_new(n * k, dtype, 11), *bias = array_new(n, dtype, 12);
    for (int64_t i = 0; i < n * k; i++) packed[i] = rounded(dtype, packed[i] / sqrtf((float)k));
    array_update(packed);
    c->weights = dit_linear{};
    c->weights.n = n, c->weights.k = k, c->weights.packed = packed, c->weights.bias = has_bias ? bias : NULL;
    c->on_device = cuda_weights{};
    c->on_device.weight = view_of(&cuda, packed);
    if (has_bias) c->on_device.bias = view_of(&cuda, bias);
    c->weights.plan = &c->on_device;
    a->weights = &c->weights;
    a->x = array_new(pixels * a->channels, dtype, 13);
    a->y = array_new(a->out[0] * a->out[1] * a->out[2] * n, dtype, 14);
}

static void conv_agrees(const conv *c, dit_dtype dtype, int64_t runs)
{
    assert_true(cuda_conv_library_run(&cuda, &c->args));
    dit_ref_conv(pool, &c->args);
    assert_done(runs);
    double d = distance(c->args.y, c->args.out[0] * c->args.out[1] * c->args.out[2] * c->weights.n);
    if (!(d < tolerance(dtype))) fail_msg("y is %g away", d);
}

static conv conv_of(int64_t frames, int64_t height, int64_t width, int64_t channels, int64_t kernel_t)
{
    conv c = {};
    dit_conv_args *a = &c.args;
    a->frames = frames, a->height = height, a->width = width, a->channels = channels;
    a->kernel[0] = kernel_t, a->kernel[1] = a->kernel[2] = 3;
    a->stride[0] = a->stride[1] = a->stride[2] = 1;
    a->padding[0] = kernel_t - 1, a->padding[1] = a->padding[2] = 1;
    a->out[0] = frames, a->out[1] = height, a->out[2] = width;
    return c;
}

static void convolution_in_place_agrees_with_the_reference(void **)
{
    static const dit_dtype elements[] = {DIT_DTYPE_FP32, DIT_DTYPE_BF16, DIT_DTYPE_FP16};
    for (dit_dtype dtype : elements)
        for (int activation = 0; activation < DIT_ACT_COUNT; activation++)
            for (int with = 0; with < 4; with++) { /* a bias, a residual */
                device_reset(1 << 16);
                conv c = conv_of(2, 5, 6, 7, 1);
                conv_set(&c, dtype, 9, with & 1);
                c.args.activation = (dit_activation)activation;
                if (with & 2) c.args.residual = array_new(2 * 5 * 6 * 9, dtype, 15);
                conv_agrees(&c, dtype, 1);
            }
}

static void the_residual_may_be_the_output(void **)
{
    device_reset(1 << 16);
    conv c = conv_of(1, 4, 5, 8, 1);
    conv_set(&c, DIT_DTYPE_FP16, 8, true);
    c.args.residual = c.args.y;
    conv_agrees(&c, DIT_DTYPE_FP16, 1);
}

static void strides_and_paddings_are_the_callers(void **)
{
    device_reset(1 << 16);
    conv half = conv_of(2, 8, 6, 8, 1); /* a row and a column of zeros after the last */
    half.args.stride[1] = half.args.stride[2] = 2;
    half.args.padding[1] = half.args.padding[2] = 0;
    half.args.out[1] = 4, half.args.out[2] = 3;
    conv_set(&half, DIT_DTYPE_FP32, 8, true);
    conv_agrees(&half, DIT_DTYPE_FP32, 1);
    conv few = conv_of(5, 9, 7, 8, 3); /* some of the positions */
    few.args.stride[0] = 2, few.args.stride[1] = 3;
    few.args.out[0] = 2, few.args.out[1] = 2, few.args.out[2] = 4;
    conv_set(&few, DIT_DTYPE_FP32, 3, true);
    conv_agrees(&few, DIT_DTYPE_FP32, 2);
    conv point = conv_of(2, 3, 4, 8, 1);
    point.args.kernel[1] = point.args.kernel[2] = 1, point.args.padding[1] = point.args.padding[2] = 0;
    conv_set(&point, DIT_DTYPE_FP32, 5, false);
    conv_agrees(&point, DIT_DTYPE_FP32, 3);
}

/* With less and less workspace, so in more and more bands. */
static void in_bands(const conv *c, dit_dtype dtype, int64_t least_bytes)
{
    int64_t runs = 0, count = c->args.out[0] * c->args.out[1] * c->args.out[2] * c->weights.n;
    dit_ref_conv(pool, &c->args);
    for (int64_t bytes = 16 * least_bytes; bytes >= least_bytes; bytes /= 2) {
        device_use(bytes);
        assert_true(cuda_conv_library_run(&cuda, &c->args));
        if (cuda.failure != DIT_OK) fail_msg("%s", cuda.failure_text);
        assert_true(emulated_cudnn_runs >= runs);
        runs = emulated_cudnn_runs;
        double d = distance(c->args.y, count);
        if (!(d < tolerance(dtype))) fail_msg("y is %g away in %lld bands", d, (long long)runs);
        for (int64_t i = 0; i < count; i++) view_store(view_of(&cuda, c->args.y), i, 77.0f);
    }
    assert_true(runs > 2);
}

static void upsampled_input_is_gathered_in_bands(void **)
{
    for (int64_t channels = 8; channels <= 11; channels += 3) { /* eight at a time, and one */
        device_reset(1 << 16);
        conv c = conv_of(2, 9, 5, channels, 1);
        c.args.up = 2, c.args.out[1] = 18, c.args.out[2] = 10;
        conv_set(&c, DIT_DTYPE_FP32, 8, true);
        in_bands(&c, DIT_DTYPE_FP32, 8192);
    }
}

/* With frames before the first, rows of the neighbours, strides in space, and edges that repeat. */
static void frames_before_and_rows_beside_are_gathered(void **)
{
    for (int i = 0; i < 16; i++) {
        int variant = i % 8;
        device_reset(1 << 18);
        conv c = conv_of(3, 8, 6, 8, 3);
        c.args.replicate = i >= 8;
        if (variant & 4) c.args.stride[1] = 2, c.args.out[1] = 4;
        if (variant == 7) c.args.up = 2, c.args.stride[1] = 1, c.args.out[1] = 16, c.args.out[2] = 12;
        conv_set(&c, DIT_DTYPE_BF16, 8, true);
        int64_t frame = 8 * 6 * 8, rows = (2 + 3) * 6 * 8;
        c.args.front = array_new(2 * frame, DIT_DTYPE_BF16, 16);
        c.args.front_frame = variant & 1 ? frame : 0; /* 0: one frame twice */
        if (variant & 2) c.args.above = array_new(rows, DIT_DTYPE_BF16, 17);
        if (variant > 2) c.args.below = array_new(rows, DIT_DTYPE_BF16, 18);
        in_bands(&c, DIT_DTYPE_BF16, variant == 7 ? 8192 : 4096);
    }
}

static void a_convolution_without_room_for_a_row_is_declined(void **)
{
    device_reset(1 << 16);
    conv c = conv_of(1, 8, 8, 64, 1);
    c.args.up = 2, c.args.out[1] = c.args.out[2] = 16;
    conv_set(&c, DIT_DTYPE_BF16, 8, true);
    device_use(4096);
    assert_false(cuda_conv_library_run(&cuda, &c.args));
    c.args.out[0] = 0, c.args.x = NULL;
    assert_true(cuda_conv_library_run(&cuda, &c.args)); /* nothing to do */
    assert_done(0);
}

static int open_libraries(void **)
{
    assert_ok(dit_pool_create(1, false, &pool));
    assert_ok(cuda_attention_library_open(&cuda, &cuda.attention));
    assert_ok(cuda_conv_library_open(&cuda, &cuda.conv));
    return 0;
}

static int close_libraries(void **)
{
    device_reset(0);
    cuda_attention_library_close(cuda.attention);
    cuda_conv_library_close(cuda.conv);
    dit_pool_free(pool);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_agrees_with_the_reference),
        cmocka_unit_test(masked_attention_agrees_also_where_no_key_is_left),
        cmocka_unit_test(what_does_not_fit_or_comes_while_recording_is_declined),
        cmocka_unit_test(lse_of_some_heads_may_begin_anywhere),
        cmocka_unit_test(convolution_in_place_agrees_with_the_reference),
        cmocka_unit_test(the_residual_may_be_the_output),
        cmocka_unit_test(strides_and_paddings_are_the_callers),
        cmocka_unit_test(upsampled_input_is_gathered_in_bands),
        cmocka_unit_test(frames_before_and_rows_beside_are_gathered),
        cmocka_unit_test(a_convolution_without_room_for_a_row_is_declined),
    };
    return cmocka_run_group_tests(tests, open_libraries, close_libraries);
}
#endif
