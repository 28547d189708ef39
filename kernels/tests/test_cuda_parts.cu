/* Inside the cuda device's linear layers, on the emulation: e4m3 code by code, a product of the library's and the pass
 * after it, and a workspace that is too small for all rows. */
#include "kernels/cuda/parts.h"

#include "base/rng.h"
#include "kernels/cuda/e4m3.h"

#include "base/tests/test.h"

#include <cuda_fp8.h>
extern "C" {
extern const dit_device_ops dit_device_cuda;
}

static dit_cuda *cuda;
static dit_pool *pool;
static dit_memory_ledger ledger;
static dit_arena arena;
static uint64_t stream;

static int open_device(void **)
{
    dit_device_params params = {};
    dit_device *device;
    params.deadline_s = 60;
    if (dit_device_cuda.open(&params, &device) != DIT_OK || dit_pool_create(1, false, &pool) != DIT_OK) return 1;
    cuda = (dit_cuda *)device;
    dit_pool_set_device(pool, device);
    ledger = {};
    ledger.on_device = true;
    ledger.device = dit_address_map_device(device->map);
    dit_arena_init(&arena, &ledger, DIT_MEMORY_WEIGHTS);
    return 0;
}

static int close_device(void **)
{
    dit_arena_release(&arena);
    dit_pool_free(pool);
    dit_device_cuda.close(&cuda->device);
    return 0;
}

/* ---- e4m3 -------------------------------------------------------------------------------------------------------- */

static void assert_rounds_as_the_toolkit_does(float x)
{
    uint8_t expected = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3), code = e4m3_from_float(x);
    if (code != expected) fail_msg("%a is %02x, not %02x", (double)x, code, expected);
}

static void all_codes_are_the_toolkits(void **)
{
    for (int code = 0; code < 256; code++) {
        float x = e4m3_to_float((uint8_t)code), expected = (float)*(__nv_fp8_e4m3 *)&code;
        if ((code & 0x7F) == E4M3_NAN) {
            assert_true(isnan(x));
            assert_int_equal(e4m3_from_float(x) & 0x7F, E4M3_NAN);
            continue;
        }
        assert_memory_equal(&x, &expected, sizeof x); /* zeros have signs */
        assert_int_equal(e4m3_from_float(x), code);
    }
    assert_true(e4m3_to_float(E4M3_LARGEST_CODE) == E4M3_LARGEST);
}

static void numbers_round_to_the_nearest_code(void **)
{
    static float noise[20000];
    for (int code = 0; code < E4M3_LARGEST_CODE; code++) {
        float low = e4m3_to_float((uint8_t)code), high = e4m3_to_float((uint8_t)(code + 1)), middle = (low + high) / 2;
        for (int sign = -1; sign <= 1; sign += 2) {
            assert_rounds_as_the_toolkit_does((float)sign * middle);
            assert_rounds_as_the_toolkit_does((float)sign * nextafterf(middle, 1e9f));
            assert_rounds_as_the_toolkit_does((float)sign * nextafterf(middle, 0));
        }
    }
    const float edges[] = {0.0f, -0.0f, 448, 449, 463.9f, 464, 465, 1e30f, INFINITY, -INFINITY, 1e-30f, 9.765625e-4f};
    for (float edge : edges) assert_rounds_as_the_toolkit_does(edge);
    dit_rng_normal(3, 1, 0, 20000, 0, 1, noise);
    for (int i = 0; i < 20000; i++) assert_rounds_as_the_toolkit_does(noise[i] * ldexpf(1, i % 24 - 14));
    assert_int_equal(e4m3_from_float(NAN) & 0x7F, E4M3_NAN);
}

static void what_is_quantised_is_its_codes_times_the_scale(void **)
{
    enum { ROWS = 300, K = 40, LD = 43 };
    float *x, *codes, *scale, *partial, largest = 0;
    assert_int_equal(dit_arena_fp32(&arena, ROWS * LD, &x), DIT_OK);
    assert_int_equal(dit_arena_fp32(&arena, ROWS * K / 4, &codes), DIT_OK);
    assert_int_equal(dit_arena_fp32(&arena, 1, &scale), DIT_OK);
    assert_int_equal(dit_arena_fp32(&arena, CUDA_QUANTISE_PARTIAL, &partial), DIT_OK);
    dit_rng_normal(3, 2, 0, ROWS * LD, 0, 5, x);
    for (int i = 0; i < ROWS; i++) x[i * LD + K] = 1e6f; /* beyond the row: of no meaning */
    x[299 * LD + 39] = -77;
    assert_int_equal(dit_device_upload(&cuda->device, x, ROWS * LD), DIT_OK);
    uint8_t *d_codes = (uint8_t *)view_of(cuda, codes).data;
    float *d_scale = (float *)view_of(cuda, scale).data;
    cuda_quantise(cuda, view_of(cuda, x), ROWS, K, LD, d_codes, d_scale, (float *)view_of(cuda, partial).data);
    for (int i = 0; i < ROWS * K; i++) largest = fmaxf(largest, fabsf(x[i / K * LD + i % K]));
    assert_true(*d_scale == largest / 448);
    for (int i = 0; i < ROWS * K; i++) assert_int_equal(d_codes[i], e4m3_from_float(x[i / K * LD + i % K] / *d_scale));
    memset(x, 0, ROWS * LD * sizeof *x); /* nothing has a scale of 1 */
    assert_int_equal(dit_device_upload(&cuda->device, x, ROWS * LD), DIT_OK);
    cuda_quantise(cuda, view_of(cuda, x), ROWS, K, LD, d_codes, d_scale, (float *)view_of(cuda, partial).data);
    assert_true(*d_scale == 1);
    for (int i = 0; i < ROWS * K; i++) assert_int_equal(d_codes[i], 0);
}

/* ---- products and passes ----------------------------------------------------------------------------------------- */

static view filled(int64_t count, dit_dtype dtype, float **address)
{
    void *data;
    assert_int_equal(dit_arena_array(&arena, count, dtype, &data), DIT_OK);
    dit_rng_normal(3, 100 + ++stream, 0, count, 0, 1, (float *)data);
    assert_int_equal(dit_device_upload(&cuda->device, data, count), DIT_OK);
    if (address) *address = (float *)data;
    return view_of(cuda, data);
}

typedef struct {
    int64_t rows, n, ldy;
    dit_dtype y, other; /* of y and residual; of bias and gate */
    int residual;         /* 0: none, 1: y, 2: another */
    bool bias, gate;
    dit_activation activation;
    cuda_linear_parts parts;
} parts_case;

/* The whole by the own kernel, and by a product that leaves parts to the pass. */
static void check_parts(const parts_case *c)
{
    enum { K = 16 };
    const int64_t floats = c->rows * c->ldy;
    dit_arena_mark mark = dit_arena_get_mark(&arena);
    float *y, *in_parts;
    cuda_weights weights = {}, left;
    cuda_matmul_args whole = {}, part;
    weights.weight = filled(c->n * K, DIT_DTYPE_FP32, NULL);
    if (c->bias) weights.bias = filled(c->n, c->other, NULL);
    whole.weights = &weights, whole.rows = c->rows, whole.n = c->n, whole.k = K, whole.ldx = K, whole.ldy = c->ldy;
    whole.x = filled(c->rows * K, DIT_DTYPE_FP32, NULL);
    whole.y = filled(floats, c->y, &y);
    if (c->residual == 1) whole.residual = whole.y;
    if (c->residual == 2) whole.residual = filled(floats, c->y, NULL);
    if (c->gate) whole.gate = filled(c->n, c->other, NULL);
    whole.activation = c->activation;
    cuda_matmul_args again = whole;
    again.y = filled(floats, c->y, &in_parts);
    memcpy(again.y.data, whole.y.data, (size_t)(floats * view_bytes(whole.y)));
    if (c->residual == 1) again.residual = again.y;
    cuda_matmul_own(cuda, &whole);
    cuda_linear_part(cuda, &again, c->parts, &left, &part);
    assert_true(c->parts.bias || !left.bias.data);
    if (!c->parts.residual) assert_true(part.y.data != again.residual.data || !again.residual.data);
    cuda_matmul_own(cuda, &part);
    cuda_linear_finish(cuda, &again, c->parts, &part);
    assert_int_equal(dit_device_download(&cuda->device, y, floats), DIT_OK);
    assert_int_equal(dit_device_download(&cuda->device, in_parts, floats), DIT_OK);
    const float tolerance = c->y == DIT_DTYPE_FP32 ? 2e-6f : 0.02f; /* two roundings to bf16 of numbers up to 4 */
    for (int64_t i = 0; i < floats; i++)
        if (!(fabsf(y[i] - in_parts[i]) <= tolerance * (1 + fabsf(y[i]))))
            fail_msg("%lld of residual %d, activation %d, bias %d, gate %d: %g, not %g", (long long)i, c->residual,
                     c->activation, c->bias, c->gate, (double)in_parts[i], (double)y[i]);
    dit_arena_release_to(&arena, mark);
}

static void a_product_and_its_pass_are_the_whole(void **)
{
    for (int i = 0; i < 2 * 2 * 3 * 2 * 2 * DIT_ACT_COUNT * 4; i++) {
        parts_case c = {};
        int rest = i;
        const int shape = rest % 4;
        c.rows = 11, c.n = shape == 1 ? 30 : 48, c.ldy = shape == 2 ? 67 : shape == 3 ? 56 : c.n;
        c.bias = (rest /= 4) % 2;
        c.parts.bias = c.bias && (rest /= 2) % 2;
        c.residual = (rest /= 2) % 3;
        c.gate = c.residual && (rest /= 3) % 2;
        c.parts.activation = (rest /= 2) % 2 && c.bias == c.parts.bias;
        c.activation = (dit_activation)(rest / 2 % DIT_ACT_COUNT);
        c.y = i % 5 == 0 ? DIT_DTYPE_BF16 : DIT_DTYPE_FP32;
        c.other = i % 3 == 0 ? DIT_DTYPE_FP16 : DIT_DTYPE_FP32;
        c.parts.residual = c.residual && !c.gate && c.activation == DIT_ACT_NONE && c.bias == c.parts.bias && i % 2;
        check_parts(&c);
    }
}

/* ---- the workspace ----------------------------------------------------------------------------------------------- */

static void layer(dit_linear *out, int64_t n, int64_t k)
{
    float *w = (float *)malloc((size_t)(n * k) * sizeof *w);
    dit_rng_normal(3, 4, 0, n * k, 0, 0.2f, w);
    const float *const ws[] = {w};
    assert_int_equal(cuda_linear_pack(pool, &arena, k, 1, ws, NULL, &n, out), DIT_OK);
    free(w);
}

static void rows_go_in_groups_when_the_workspace_is_small(void **)
{
    enum { ROWS = 23, N = 1024, K = 16, LDY = N + 8 };
    const int64_t given = cuda->workspace_bytes;
    dit_linear weights;
    float *x, *y, *split;
    layer(&weights, N, K);
    filled(ROWS * K, DIT_DTYPE_FP32, &x);
    filled(ROWS * LDY, DIT_DTYPE_FP32, &y);
    filled(ROWS * LDY, DIT_DTYPE_FP32, &split);
    memcpy(split, y, ROWS * LDY * sizeof *y);
    assert_int_equal(dit_device_upload(&cuda->device, split, ROWS * LDY), DIT_OK);
    dit_linear_args args = {};
    args.weights = &weights, args.rows = ROWS, args.x = x, args.ldx = K, args.y = y, args.ldy = LDY, args.residual = y;
    cuda_linear(pool, &args);
    int64_t launches = emulated_launches;
    cuda->workspace_bytes = 2 * (5 * N * 4 + 4096); /* five rows, beside the library's half */
    args.y = split, args.residual = split;
    cuda_linear(pool, &args);
    assert_int_equal(emulated_launches - launches, 5);
    assert_int_equal(dit_device_synchronize(&cuda->device), DIT_OK);
    assert_int_equal(dit_device_download(&cuda->device, y, ROWS * LDY), DIT_OK);
    assert_int_equal(dit_device_download(&cuda->device, split, ROWS * LDY), DIT_OK);
    for (int i = 0; i < ROWS * LDY; i++) assert_true(fabsf(y[i] - split[i]) <= 1e-5f);
    cuda->workspace_bytes = 4096;
    cuda_linear(pool, &args);
    assert_int_equal(dit_device_synchronize(&cuda->device), DIT_ERR_DEVICE);
    cuda->workspace_bytes = given;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_codes_are_the_toolkits),
        cmocka_unit_test(numbers_round_to_the_nearest_code),
        cmocka_unit_test(what_is_quantised_is_its_codes_times_the_scale),
        cmocka_unit_test(a_product_and_its_pass_are_the_whole),
        cmocka_unit_test(rows_go_in_groups_when_the_workspace_is_small),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
