/* Linear layers and convolutions of the cuda device against the reference: all mixes of elements, strides, parts and
 * extents, on the device of DITBENCH_CUDA_LIBRARY or, without it, the emulated one beside this program.
 *
 * An array's addresses are the host's memory too: after put and get it holds what the device has, rounded, and the
 * reference reads it there.
 */
#include "kernels/device.h"

#include "base/rng.h"

#include "base/tests/test.h"

#include <libgen.h>
#include <limits.h>
#include <sys/wait.h>

static dit_device *device;
static dit_pool *pool;
static dit_memory_ledger ledger, host_ledger;
static dit_arena arena, host_arena;
static const dit_kernels *table, *reference;
static uint64_t stream; /* of random numbers: another for each array */

static const dit_dtype elements[] = {DIT_DTYPE_FP32, DIT_DTYPE_BF16, DIT_DTYPE_FP16};
enum { ELEMENTS = sizeof elements / sizeof *elements };

/* ---- the device -------------------------------------------------------------------------------------------------- */

static void choose_library(void)
{
    char program[PATH_MAX] = "", path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0 || getenv("DITBENCH_CUDA_LIBRARY")) return;
    if (snprintf(path, sizeof path, "%s/ditbench-cuda-emulated.so", dirname(program)) < (int)sizeof path)
        setenv("DITBENCH_CUDA_LIBRARY", path, 1);
}

static void open_device(dit_dtype dtype, bool fp8_linear)
{
    dit_device_params params = {.dtype = dtype, .fp8_linear = fp8_linear};
    choose_library();
    dit_status st = dit_device_open("cuda", &params, &device);
    if (st == DIT_ERR_ENVIRONMENT) {
        print_message("skipped: %s\n", dit_error_last()->message);
        skip();
    }
    if (st != DIT_OK) fail_msg("%s", dit_error_last()->message);
    ledger = (dit_memory_ledger){
        .on_device = true, .dtype = dtype, .device = dit_address_map_device(dit_device_address_map(device))};
    host_ledger = (dit_memory_ledger){0};
    dit_arena_init(&arena, &ledger, DIT_MEMORY_WEIGHTS);
    dit_arena_init(&host_arena, &host_ledger, DIT_MEMORY_WEIGHTS);
    assert_int_equal(dit_pool_create(1, false, &pool), DIT_OK);
    dit_pool_set_device(pool, device);
    table = dit_device_kernels(device);
    assert_int_equal(dit_kernels_get("ref", &reference), DIT_OK);
}

static void close_device(void)
{
    dit_arena_release(&arena);
    dit_arena_release(&host_arena);
    dit_pool_free(pool);
    dit_device_close(device);
}

/* NULL for none. */
static float *filled(int64_t count, dit_dtype dtype, float deviation)
{
    void *data;
    if (!count) return NULL;
    assert_int_equal(dit_arena_array(&arena, count, dtype, &data), DIT_OK);
    dit_rng_normal(11, ++stream, 0, count, 0, deviation, data);
    assert_int_equal(dit_device_upload(device, data, count), DIT_OK);
    assert_int_equal(dit_device_download(device, data, count), DIT_OK);
    return data;
}

static float *host_copy(const float *from, int64_t count)
{
    float *data;
    assert_int_equal(dit_arena_host(&host_arena, count, &data), DIT_OK);
    if (count) memcpy(data, from, (size_t)count * sizeof *data);
    return data;
}

/* fp32: sums in another order. The others: y is rounded, to half of 2^-8 or 2^-11 of itself at most, 0.3 of that in the
 * mean of squares; a library's product that a pass follows is rounded once before. */
static double tolerance_of(dit_dtype y)
{
    return y == DIT_DTYPE_BF16 ? 4e-3 : y == DIT_DTYPE_FP16 ? 5e-4 : 1e-6;
}

/* Relative L2 distance; infinite when a number is none. */
static double distance(const float *a, const float *expected, int64_t count)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        difference += ((double)a[i] - expected[i]) * ((double)a[i] - expected[i]);
        norm += (double)expected[i] * expected[i];
    }
    if (!isfinite(difference)) return INFINITY;
    return norm > 0 ? sqrt(difference / norm) : difference > 0 ? INFINITY : 0;
}

/* ---- linear ------------------------------------------------------------------------------------------------------ */

typedef enum { NONE, IN_PLACE, APART, RESIDUALS } residual_kind;

typedef struct {
    int64_t rows, n, k, pad_x, pad_y;
    dit_dtype x, y, gate;
    bool bias, gated;
    residual_kind residual;
    dit_activation activation;
} linear_case;

static void describe(const linear_case *c, char out[256])
{
    snprintf(out, 256,
             "weights %s, %lld x %lld -> %lld, x %s + %lld, y %s + %lld, bias %d, activation %d, residual %d, "
             "gate %d %s",
             dit_dtype_name(ledger.dtype), (long long)c->rows, (long long)c->k, (long long)c->n, dit_dtype_name(c->x),
             (long long)c->pad_x, dit_dtype_name(c->y), (long long)c->pad_y, c->bias, c->activation, c->residual,
             c->gated, dit_dtype_name(c->gate));
}

static dit_linear packed(const dit_kernels *kernels, dit_arena *into, int64_t k, int64_t n, const float *w,
                         const float *bias)
{
    dit_linear linear;
    /* two pieces, which packing stacks */
    int64_t rows[2] = {n / 3, n - n / 3};
    const float *ws[2] = {w, w + rows[0] * k}, *bs[2] = {bias, bias ? bias + rows[0] : NULL};
    assert_int_equal(kernels->linear_pack(pool, into, k, 2, ws, bias ? bs : NULL, rows, &linear), DIT_OK);
    assert_int_equal(linear.n, n);
    return linear;
}

static void check_linear(const linear_case *c)
{
    char text[256];
    const int64_t ldx = c->k + c->pad_x, ldy = c->n + c->pad_y, floats = c->rows * ldy;
    dit_arena_mark mark = dit_arena_get_mark(&arena), host_mark = dit_arena_get_mark(&host_arena);
    float *w = filled(c->n * c->k, ledger.dtype, 1 / sqrtf((float)c->k));
    float *bias = c->bias ? filled(c->n, ledger.dtype, 1) : NULL;
    float *x = filled(c->rows * ldx, c->x, 1), *y = filled(floats, c->y, 1);
    float *other = c->residual == APART ? filled(floats, c->y, 1) : NULL;
    float *gate = c->gated ? filled(c->n, c->gate, 1) : NULL;
    float *expected = host_copy(y, floats), *initial = host_copy(y, floats);
    dit_linear weights = packed(table, &arena, c->k, c->n, w, bias);
    dit_linear plain = packed(reference, &host_arena, c->k, c->n, w, bias);
    dit_linear_args args = {.weights = &weights,
                            .rows = c->rows,
                            .x = x,
                            .ldx = ldx,
                            .y = y,
                            .ldy = ldy,
                            .activation = c->activation,
                            .gate = gate};
    args.residual = c->residual == IN_PLACE ? y : other;
    table->linear(pool, &args);
    assert_int_equal(dit_device_synchronize(device), DIT_OK);
    args.weights = &plain;
    args.y = expected;
    if (c->residual == IN_PLACE) args.residual = expected;
    reference->linear(pool, &args);
    assert_int_equal(dit_device_download(device, y, floats), DIT_OK);
    double error = distance(y, expected, floats);
    describe(c, text);
    if (!(error <= tolerance_of(c->y))) fail_msg("%s: %g", text, error);
    for (int64_t row = 0; row < c->rows; row++)
        if (memcmp(y + row * ldy + c->n, initial + row * ldy + c->n, (size_t)c->pad_y * sizeof *y) != 0)
            fail_msg("%s: wrote beyond row %lld", text, (long long)row);
    dit_arena_release_to(&arena, mark);
    dit_arena_release_to(&host_arena, host_mark);
}

static void linear_in_any_mix_of_elements(void **state)
{
    (void)state;
    for (int w = 0; w < ELEMENTS; w++) {
        open_device(elements[w], false);
        for (int i = 0; i < ELEMENTS * ELEMENTS * ELEMENTS; i++) {
            linear_case c = {.rows = 9, .n = 24, .k = 40, .bias = true, .residual = IN_PLACE, .gated = true};
            c.x = elements[i % ELEMENTS], c.y = elements[i / ELEMENTS % ELEMENTS];
            c.gate = elements[i / ELEMENTS / ELEMENTS];
            check_linear(&c);
            c.rows = 2;
            check_linear(&c);
        }
        close_device();
    }
}

static void linear_with_every_epilogue(void **state)
{
    (void)state;
    for (int w = 0; w < ELEMENTS; w++) {
        open_device(elements[w], false);
        for (int i = 0; i < DIT_ACT_COUNT * RESIDUALS * 8; i++) {
            linear_case c = {.n = 72, .k = 64, .x = elements[w], .y = elements[w], .gate = elements[w]};
            c.activation = (dit_activation)(i % DIT_ACT_COUNT);
            c.residual = (residual_kind)(i / DIT_ACT_COUNT % RESIDUALS);
            c.bias = i / (DIT_ACT_COUNT * RESIDUALS) % 2;
            c.gated = i / (DIT_ACT_COUNT * RESIDUALS * 2) % 2 && c.residual != NONE;
            c.rows = i / (DIT_ACT_COUNT * RESIDUALS * 4) % 2 ? 13 : 3;
            check_linear(&c);
        }
        close_device();
    }
}

static void linear_of_awkward_extents_and_strides(void **state)
{
    static const int64_t rows[] = {0, 1, 2, 3, 5, 7, 8, 9, 64, 65, 120}, sizes[] = {1, 8, 30, 65, 72, 264};
    static const int64_t pads[][2] = {{0, 0}, {8, 16}, {3, 5}};
    enum { ROWS = sizeof rows / sizeof *rows, SIZES = sizeof sizes / sizeof *sizes };
    (void)state;
    for (int w = 0; w < ELEMENTS; w++) {
        open_device(elements[w], false);
        for (int i = 0; i < ROWS * SIZES * SIZES; i++) {
            linear_case c = {.rows = rows[i % ROWS], .n = sizes[i / ROWS % SIZES], .k = sizes[i / ROWS / SIZES]};
            c.x = c.y = c.gate = elements[w];
            c.pad_x = pads[i % 3][0], c.pad_y = pads[i % 3][1];
            c.bias = i % 2 == 0;
            c.residual = (residual_kind)(i % RESIDUALS);
            c.gated = c.residual != NONE && i % 4 < 2;
            if (c.rows > 9 && c.n * c.k > 264 * 72) continue; /* an emulated second each, and nothing new */
            check_linear(&c);
        }
        close_device();
    }
}

static void rows_of_long_sums_stay_exact(void **state)
{
    (void)state;
    open_device(DIT_DTYPE_FP32, false);
    linear_case c = {.rows = 3, .n = 16, .k = 15360, .bias = true};
    check_linear(&c);
    c.rows = 20;
    check_linear(&c);
    close_device();
}

/* A view into an array: operands begin where no vector may be read. */
static void linear_from_the_middle_of_arrays(void **state)
{
    enum { ROWS = 12, N = 16, K = 24, LDX = 40, LDY = 33, AT = 3 };
    (void)state;
    for (int w = 0; w < ELEMENTS; w++) {
        open_device(elements[w], false);
        float *wm = filled((int64_t)N * K, elements[w], 0.2f), *x = filled((int64_t)ROWS * LDX, elements[w], 1);
        float *y = filled((int64_t)ROWS * LDY, elements[w], 1), *expected = host_copy(y, (int64_t)ROWS * LDY);
        dit_linear weights = packed(table, &arena, K, N, wm, NULL),
                   plain = packed(reference, &host_arena, K, N, wm, NULL);
        dit_linear_args args = {.weights = &weights, .rows = ROWS, .x = x + AT, .ldx = LDX, .y = y + AT, .ldy = LDY};
        table->linear(pool, &args);
        args.weights = &plain, args.y = expected + AT;
        reference->linear(pool, &args);
        assert_int_equal(dit_device_download(device, y, (int64_t)ROWS * LDY), DIT_OK);
        assert_true(distance(y, expected, (int64_t)ROWS * LDY) <= tolerance_of(elements[w]));
        close_device();
    }
}

/* Nothing happens while it is recorded; each launch adds the layer to its residual once more. */
static void recorded_layers_do_the_same_when_launched(void **state)
{
    enum { ROWS = 20, N = 24, K = 16, LAUNCHES = 3 };
    dit_device_graph *graph;
    (void)state;
    open_device(DIT_DTYPE_FP32, true);
    float *w = filled((int64_t)N * K, DIT_DTYPE_FP32, 0.2f), *x = filled((int64_t)ROWS * K, DIT_DTYPE_FP32, 1);
    float *y = filled((int64_t)ROWS * N, DIT_DTYPE_FP32, 1), *gate = filled(N, DIT_DTYPE_FP32, 1);
    float *expected = host_copy(y, (int64_t)ROWS * N);
    dit_linear weights = packed(table, &arena, K, N, w, NULL), plain = packed(reference, &host_arena, K, N, w, NULL);
    dit_linear_args args = {.weights = &weights, .rows = ROWS, .x = x, .ldx = K, .y = y, .ldy = N, .residual = y};
    args.gate = gate;
    assert_int_equal(dit_device_record_begin(device), DIT_OK);
    table->linear(pool, &args);
    assert_int_equal(dit_device_record_end(device, &graph), DIT_OK);
    for (int i = 0; i < LAUNCHES; i++) assert_int_equal(dit_device_launch(device, graph), DIT_OK);
    assert_int_equal(dit_device_synchronize(device), DIT_OK);
    dit_device_graph_free(device, graph);
    args.weights = &plain, args.y = expected, args.residual = expected;
    for (int i = 0; i < LAUNCHES; i++) reference->linear(pool, &args);
    assert_int_equal(dit_device_download(device, y, (int64_t)ROWS * N), DIT_OK);
    assert_true(distance(y, expected, (int64_t)ROWS * N) <= tolerance_of(DIT_DTYPE_FP32));
    close_device();
}

static void a_stranger_among_the_operands_is_reported(void **state)
{
    float stranger[64] = {0};
    (void)state;
    open_device(DIT_DTYPE_FP32, false);
    float *w = filled(8 * 8, DIT_DTYPE_FP32, 1), *x = filled(8 * 8, DIT_DTYPE_FP32, 1);
    dit_linear weights = packed(table, &arena, 8, 8, w, NULL);
    dit_linear_args args = {.weights = &weights, .rows = 8, .x = x, .ldx = 8, .y = stranger, .ldy = 8};
    table->linear(pool, &args);
    assert_int_not_equal(dit_device_synchronize(device), DIT_OK);
    assert_int_equal(dit_device_synchronize(device), DIT_OK);
    args.rows = 0; /* of no rows nothing is looked at */
    table->linear(pool, &args);
    assert_int_equal(dit_device_synchronize(device), DIT_OK);
    close_device();
}

/* ---- fp8 --------------------------------------------------------------------------------------------------------- */

/* The e4m3 number nearest to x, by looking at all; of two as near the one with the even code. */
static float nearest_e4m3(float x)
{
    static float numbers[127];
    int best = 0;
    for (int code = 0; code < 127 && numbers[126] == 0; code++)
        numbers[code] = code < 8 ? ldexpf((float)code, -9) : ldexpf((float)(8 + code % 8), code / 8 - 10);
    for (int code = 1; code < 127; code++) {
        float nearer = fabsf(fabsf(x) - numbers[code]) - fabsf(fabsf(x) - numbers[best]);
        if (nearer < 0 || (nearer == 0 && code % 2 == 0)) best = code;
    }
    return copysignf(numbers[best], x);
}

/* As one tensor with one scale. */
static void quantise(float *values, int64_t rows, int64_t k, int64_t ld)
{
    float largest = 0;
    for (int64_t i = 0; i < rows * k; i++) largest = fmaxf(largest, fabsf(values[i / k * ld + i % k]));
    float unit = largest > 0 ? largest / 448 : 1;
    for (int64_t i = 0; i < rows * k; i++) {
        float *value = values + i / k * ld + i % k;
        *value = unit * nearest_e4m3(*value / unit);
    }
}

/* Against the reference on operands that the host has quantised: what is left is the rounding of y. */
static void fp8_layers_multiply_what_e4m3_holds(void **state)
{
    enum { N = 1024, K = 1040, ROWS = 9, LDX = K + 16, LDY = N + 8 };
    (void)state;
    for (int e = 0; e < ELEMENTS; e++) {
        open_device(elements[e], true);
        float *w = filled((int64_t)N * K, elements[e], 0.03f), *bias = filled(N, elements[e], 1);
        float *x = filled((int64_t)ROWS * LDX, elements[e], 1), *y = filled((int64_t)ROWS * LDY, elements[e], 1);
        float *expected = host_copy(y, (int64_t)ROWS * LDY), *w_q = host_copy(w, (int64_t)N * K);
        float *x_q = host_copy(x, (int64_t)ROWS * LDX);
        dit_linear weights = packed(table, &arena, K, N, w, bias),
                   exact = packed(reference, &host_arena, K, N, w, bias);
        quantise(w_q, N, K, K);
        quantise(x_q, ROWS, K, LDX);
        dit_linear plain = packed(reference, &host_arena, K, N, w_q, bias);
        dit_linear_args args = {
            .weights = &weights, .rows = ROWS, .x = x, .ldx = LDX, .y = y, .ldy = LDY, .activation = DIT_ACT_GELU_TANH};
        table->linear(pool, &args);
        assert_int_equal(dit_device_synchronize(device), DIT_OK);
        args.weights = &plain, args.x = x_q, args.y = expected;
        reference->linear(pool, &args);
        assert_int_equal(dit_device_download(device, y, (int64_t)ROWS * LDY), DIT_OK);
        double error = distance(y, expected, (int64_t)ROWS * LDY);
        if (!(error <= tolerance_of(elements[e]))) fail_msg("%d: %g", e, error);
        args.weights = &exact, args.x = x;
        reference->linear(pool, &args);
        error = distance(y, expected, (int64_t)ROWS * LDY);
        assert_true(error > 1e-2 && error < 6e-2); /* it is fp8, and no worse than that */
        close_device();
    }
}

static void small_layers_stay_as_they_are_with_fp8(void **state)
{
    (void)state;
    open_device(DIT_DTYPE_BF16, true);
    linear_case c = {.rows = 9, .n = 512, .k = 64, .bias = true, .x = DIT_DTYPE_BF16, .y = DIT_DTYPE_BF16};
    check_linear(&c);
    close_device();
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

typedef enum { ZEROS, FRAMES, REPEATED } front_kind;

typedef struct {
    int64_t frames, height, width, channels, n, kernel[3], stride[3], padding[3], up, out[3];
    front_kind front;
    bool above, below, bias;
    residual_kind residual;
    dit_activation activation;
} conv_case;

static const conv_case conv_cases[] = {
    /* frames as a batch, 3 x 3, same extents */
    {2, 7, 9, 16, 24, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1, {2, 7, 9}, ZEROS, false, false, true, NONE, DIT_ACT_NONE},
    /* the first layer of a decoder, and of an encoder: channels that are no vector */
    {1, 6, 5, 4, 40, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1, {1, 6, 5}, ZEROS, false, false, true, NONE, DIT_ACT_SILU},
    {1, 6, 5, 3, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1, {1, 6, 5}, ZEROS, false, false, false, NONE, DIT_ACT_NONE},
    /* the last: few outputs */
    {1, 8, 8, 32, 3, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1, {1, 8, 8}, ZEROS, false, false, true, NONE, DIT_ACT_NONE},
    /* 1 x 1 with a residual in place, and apart */
    {1, 5, 5, 24, 24, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 1, {1, 5, 5}, ZEROS, false, false, true, IN_PLACE, DIT_ACT_NONE},
    {1,
     5,
     5,
     24,
     17,
     {1, 1, 1},
     {1, 1, 1},
     {0, 0, 0},
     1,
     {1, 5, 5},
     ZEROS,
     false,
     false,
     true,
     APART,
     DIT_ACT_GELU_ERF},
    /* halved, padded only after the last; doubled */
    {2, 8, 10, 8, 16, {1, 3, 3}, {1, 2, 2}, {0, 0, 0}, 1, {2, 4, 5}, ZEROS, false, false, true, NONE, DIT_ACT_NONE},
    {1,
     4,
     5,
     16,
     8,
     {1, 3, 3},
     {1, 1, 1},
     {0, 1, 1},
     2,
     {1, 8, 10},
     ZEROS,
     false,
     false,
     true,
     NONE,
     DIT_ACT_GELU_TANH},
    /* time: causal with zeros, frames, and one repeated; also with strides */
    {3, 4, 5, 8, 16, {3, 3, 3}, {1, 1, 1}, {2, 1, 1}, 1, {3, 4, 5}, ZEROS, false, false, true, NONE, DIT_ACT_NONE},
    {3, 4, 5, 8, 16, {3, 3, 3}, {1, 1, 1}, {2, 1, 1}, 1, {3, 4, 5}, FRAMES, false, false, true, IN_PLACE, DIT_ACT_SILU},
    {3, 4, 5, 5, 16, {3, 3, 3}, {1, 1, 1}, {2, 1, 1}, 1, {3, 4, 5}, REPEATED, false, false, true, NONE, DIT_ACT_NONE},
    {5, 6, 6, 8, 8, {3, 3, 3}, {2, 2, 2}, {2, 1, 1}, 1, {3, 3, 3}, REPEATED, false, false, true, NONE, DIT_ACT_NONE},
    {5, 3, 3, 8, 8, {3, 1, 1}, {1, 1, 1}, {1, 0, 0}, 1, {5, 3, 3}, FRAMES, false, false, false, APART, DIT_ACT_NONE},
    /* a band: rows of the neighbours, one side and both; with frames before, and doubled */
    {2, 4, 6, 8, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1, {2, 4, 6}, ZEROS, true, true, true, NONE, DIT_ACT_NONE},
    {2, 4, 6, 8, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1, {2, 4, 6}, ZEROS, true, false, true, NONE, DIT_ACT_NONE},
    {2, 4, 6, 6, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1, {2, 4, 6}, ZEROS, false, true, true, NONE, DIT_ACT_NONE},
    {3, 4, 5, 8, 16, {3, 3, 3}, {1, 1, 1}, {2, 1, 1}, 1, {3, 4, 5}, FRAMES, true, true, true, IN_PLACE, DIT_ACT_SILU},
    {3, 4, 5, 8, 16, {3, 3, 3}, {1, 1, 1}, {2, 1, 1}, 1, {3, 4, 5}, ZEROS, true, true, true, NONE, DIT_ACT_NONE},
    {2, 3, 5, 16, 8, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 2, {2, 6, 10}, ZEROS, true, true, true, NONE, DIT_ACT_NONE},
    {2, 3, 5, 12, 8, {3, 3, 3}, {1, 1, 1}, {2, 1, 1}, 2, {2, 6, 10}, FRAMES, true, true, true, NONE, DIT_ACT_NONE},
    /* a band that is halved reads below only */
    {1, 4, 6, 8, 16, {1, 3, 3}, {1, 2, 2}, {0, 0, 0}, 1, {1, 2, 3}, ZEROS, false, true, true, NONE, DIT_ACT_NONE},
    /* out at will: fewer than there are, rows from a later one on (padding below zero), and far beyond the last */
    {1, 9, 7, 8, 8, {1, 3, 3}, {1, 1, 1}, {0, -3, 1}, 1, {1, 2, 4}, ZEROS, false, false, true, NONE, DIT_ACT_NONE},
    {2, 3, 3, 8, 8, {1, 3, 3}, {1, 1, 1}, {0, 2, 2}, 1, {3, 8, 9}, ZEROS, true, true, true, NONE, DIT_ACT_NONE},
    /* more than a tile each way, taps of all sizes */
    {1,
     12,
     11,
     24,
     72,
     {1, 5, 3},
     {1, 1, 1},
     {0, 2, 1},
     1,
     {1, 12, 11},
     ZEROS,
     false,
     false,
     true,
     IN_PLACE,
     DIT_ACT_NONE},
    /* nothing */
    {1, 4, 4, 8, 8, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1, {1, 0, 4}, ZEROS, false, false, true, NONE, DIT_ACT_NONE},
};
enum { CONV_CASES = sizeof conv_cases / sizeof *conv_cases };

static void check_conv(int index, dit_dtype x_dtype, dit_dtype y_dtype)
{
    const conv_case *c = &conv_cases[index];
    const int64_t row = c->width * c->channels, frame = c->height * row, before = c->padding[0];
    const int64_t k = c->kernel[0] * c->kernel[1] * c->kernel[2] * c->channels;
    const int64_t floats = c->out[0] * c->out[1] * c->out[2] * c->n, edges = (before + c->frames) * row;
    dit_arena_mark mark = dit_arena_get_mark(&arena), host_mark = dit_arena_get_mark(&host_arena);
    float *w = filled(c->n * k, ledger.dtype, 1 / sqrtf((float)k));
    float *bias = c->bias ? filled(c->n, ledger.dtype, 1) : NULL;
    float *y = filled(floats, y_dtype, 1), *expected = host_copy(y, floats);
    dit_linear weights = packed(table, &arena, k, c->n, w, bias),
               plain = packed(reference, &host_arena, k, c->n, w, bias);
    dit_conv_args args = {.weights = &weights,
                          .frames = c->frames,
                          .height = c->height,
                          .width = c->width,
                          .channels = c->channels,
                          .up = c->up,
                          .y = y,
                          .activation = c->activation};
    memcpy(args.kernel, c->kernel, sizeof args.kernel);
    memcpy(args.stride, c->stride, sizeof args.stride);
    memcpy(args.padding, c->padding, sizeof args.padding);
    memcpy(args.out, c->out, sizeof args.out);
    args.x = filled(c->frames * frame, x_dtype, 1);
    args.front = c->front == ZEROS ? NULL : filled(c->front == FRAMES ? before * frame : frame, x_dtype, 1);
    args.front_frame = c->front == FRAMES ? frame : 0;
    args.above = c->above ? filled(edges, x_dtype, 1) : NULL;
    args.below = c->below ? filled(edges, x_dtype, 1) : NULL;
    args.residual = c->residual == IN_PLACE ? y : c->residual == APART ? filled(floats, y_dtype, 1) : NULL;
    table->conv(pool, &args);
    assert_int_equal(dit_device_synchronize(device), DIT_OK);
    args.weights = &plain, args.y = expected;
    if (c->residual == IN_PLACE) args.residual = expected;
    reference->conv(pool, &args);
    assert_int_equal(dit_device_download(device, y, floats), DIT_OK);
    double error = distance(y, expected, floats);
    if (!(error <= tolerance_of(y_dtype)))
        fail_msg("case %d, weights %s, x %s, y %s: %g", index, dit_dtype_name(ledger.dtype), dit_dtype_name(x_dtype),
                 dit_dtype_name(y_dtype), error);
    dit_arena_release_to(&arena, mark);
    dit_arena_release_to(&host_arena, host_mark);
}

static void convolutions_of_every_field(void **state)
{
    (void)state;
    for (int w = 0; w < ELEMENTS; w++) {
        open_device(elements[w], false);
        for (int i = 0; i < CONV_CASES; i++) check_conv(i, elements[w], elements[w]);
        close_device();
    }
}

static void convolutions_in_any_mix_of_elements(void **state)
{
    (void)state;
    for (int w = 0; w < ELEMENTS; w++) {
        open_device(elements[w], false);
        for (int i = 0; i < ELEMENTS * ELEMENTS; i++) {
            check_conv(16, elements[i % ELEMENTS], elements[i / ELEMENTS]);
            check_conv(19, elements[i % ELEMENTS], elements[i / ELEMENTS]);
        }
        close_device();
    }
}

/* ---- over a library ---------------------------------------------------------------------------------------------- */

/* This program once more, with a cuBLASLt of the host (fake/) under linear layers, unless it runs over one already. */
static void the_same_over_a_library_that_multiplies(void **state)
{
    static const char *const filters[] = {"linear_in_any*", "linear_with_every*", "linear_from*", "recorded*",
                                          "*stranger*"};
    char program[PATH_MAX] = "", library[PATH_MAX];
    (void)state;
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    const char *end = strrchr(program, '/');
    snprintf(library, sizeof library, "%.*s/ditbench-cuda-fake-lt.so", (int)(end - program), program);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        int status;
        pid_t child = fork();
        if (!child) {
            setenv("DITBENCH_CUDA_LIBRARY", library, 1);
            if (!freopen("/dev/null", "w", stdout)) _exit(1);
            execl(program, program, filters[i], (char *)NULL);
            _exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status) fail_msg("%s over a library: %d", filters[i], status);
    }
}

int main(int count, char **arguments)
{
    const bool chosen = getenv("DITBENCH_CUDA_LIBRARY") != NULL;

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_in_any_mix_of_elements),
        cmocka_unit_test(linear_with_every_epilogue),
        cmocka_unit_test(linear_of_awkward_extents_and_strides),
        cmocka_unit_test(rows_of_long_sums_stay_exact),
        cmocka_unit_test(linear_from_the_middle_of_arrays),
        cmocka_unit_test(recorded_layers_do_the_same_when_launched),
        cmocka_unit_test(a_stranger_among_the_operands_is_reported),
        cmocka_unit_test(fp8_layers_multiply_what_e4m3_holds),
        cmocka_unit_test(small_layers_stay_as_they_are_with_fp8),
        cmocka_unit_test(convolutions_of_every_field),
        cmocka_unit_test(convolutions_in_any_mix_of_elements),
    };
    const struct CMUnitTest over[] = {cmocka_unit_test(the_same_over_a_library_that_multiplies)};
    if (count > 1) cmocka_set_test_filter(arguments[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return count > 1 || chosen ? failed : failed + cmocka_run_group_tests(over, NULL, NULL);
}
