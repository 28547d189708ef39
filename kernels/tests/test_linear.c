/* Linear layers: packing, epilogues, in-place outputs; and the elementwise functions at their edges. */
#include "kernels/kernels.h"

#include "base/rng.h"

#include "base/tests/test.h"
#include "kernels/tests/each_isa.h"

enum { ROWS = 19, N = 101, K = 37 };

static float x[ROWS * K], w[N * K], b[N], gate[N];
static const dit_kernels *kernels;
static dit_pool *pool;

static int set_up(void **state)
{
    (void)state;
    dit_rng_normal(3, 1, 0, ROWS * K, 0, 1, x);
    dit_rng_normal(3, 2, 0, N * K, 0, 0.2f, w);
    dit_rng_normal(3, 3, 0, N, 0, 1, b);
    dit_rng_normal(3, 4, 0, N, 0, 1, gate);
    return dit_pool_create(2, true, &pool) != DIT_OK;
}

static int tear_down(void **state)
{
    (void)state;
    dit_pool_free(pool);
    return 0;
}

/* The reference, and the instruction set of the test. */
static void for_each_backend(void (*property)(dit_arena *arena))
{
    static const char *const backends[] = {"ref", "cpu"};
    for (int i = 0; i < 2; i++) {
        dit_memory_ledger ledger = {0};
        dit_arena arena;
        dit_arena_init(&arena, &ledger, DIT_MEMORY_WEIGHTS);
        assert_int_equal(dit_kernels_get(backends[i], &kernels), DIT_OK);
        property(&arena);
        dit_arena_release(&arena);
    }
}

static dit_linear pack_whole(dit_arena *arena)
{
    dit_linear linear;
    const float *ws[1] = {w}, *bs[1] = {b};
    int64_t rows[1] = {N};
    assert_int_equal(kernels->linear_pack(pool, arena, K, 1, ws, bs, rows, &linear), DIT_OK);
    return linear;
}

static void assert_rows(const float *a, const float *reference, int count, double tolerance)
{
    for (int i = 0; i < count; i++)
        if (!(fabs((double)a[i] - reference[i]) <= tolerance * (1 + fabs(reference[i]))))
            fail_msg("element %d is %g, not %g", i, (double)a[i], (double)reference[i]);
}

static void residual_in_place(dit_arena *arena)
{
    static float plain[ROWS * N], y[ROWS * N], apart[ROWS * N], expected[ROWS * N], old[ROWS * N];
    dit_linear linear = pack_whole(arena);
    dit_linear_args args = {.weights = &linear, .rows = ROWS, .x = x, .ldx = K, .y = plain, .ldy = N};
    kernels->linear(pool, &args);
    dit_rng_normal(3, 5, 0, ROWS * N, 0, 1, old);
    memcpy(y, old, sizeof y);
    for (int i = 0; i < ROWS * N; i++) expected[i] = old[i] + gate[i % N] * plain[i];
    args.gate = gate;
    args.y = y;
    args.residual = y;
    kernels->linear(pool, &args);
    args.y = apart;
    args.residual = old;
    kernels->linear(pool, &args);
    assert_rows(y, expected, ROWS * N, 1e-6);
    assert_memory_equal(y, apart, sizeof y);
}

static void gated_residual_in_place_equals_the_three_steps(void **state)
{
    (void)state;
    for_each_backend(residual_in_place);
}

static void pieces_like_whole(dit_arena *arena)
{
    static float whole[ROWS * N], pieces[ROWS * N];
    const float *ws[3] = {w, w + 5 * K, w + 64 * K}, *bs[3] = {b, b + 5, b + 64};
    int64_t rows[3] = {5, 59, N - 64};
    dit_linear one = pack_whole(arena), three;
    assert_int_equal(kernels->linear_pack(pool, arena, K, 3, ws, bs, rows, &three), DIT_OK);
    assert_int_equal(three.n, N);
    dit_linear_args args = {.weights = &one, .rows = ROWS, .x = x, .ldx = K, .y = whole, .ldy = N};
    kernels->linear(pool, &args);
    args.weights = &three;
    args.y = pieces;
    kernels->linear(pool, &args);
    assert_memory_equal(whole, pieces, sizeof whole);
}

static void pieces_stacked_along_n_equal_one_matrix(void **state)
{
    (void)state;
    for_each_backend(pieces_like_whole);
}

static void rows_alone(dit_arena *arena)
{
    static float together[ROWS * N], alone[ROWS * N];
    dit_linear linear = pack_whole(arena);
    dit_linear_args args = {.weights = &linear, .rows = ROWS, .x = x, .ldx = K, .y = together, .ldy = N};
    kernels->linear(pool, &args);
    args.rows = 1;
    for (int i = 0; i < ROWS; i++) {
        args.x = x + i * K;
        args.y = alone + i * N;
        kernels->linear(pool, &args);
    }
    assert_memory_equal(together, alone, sizeof together); /* any split of the tokens gives the same bits */
}

static void each_row_has_the_same_bits_alone_and_together(void **state)
{
    (void)state;
    for_each_backend(rows_alone);
}

/* 7 x 6 pixels of 5 channels to N: lines of the output computed one by one, above and below them padding. */
static void lines_alone(dit_arena *arena)
{
    enum { HEIGHT = 7, WIDTH = 6, CHANNELS = 5, LINE = WIDTH * N };
    static float weights[N * 9 * CHANNELS], together[HEIGHT * LINE], alone[HEIGHT * LINE];
    dit_linear linear;
    const float *ws[1] = {weights}, *bs[1] = {b};
    int64_t rows[1] = {N};
    dit_rng_normal(3, 6, 0, N * 9 * CHANNELS, 0, 0.2f, weights);
    assert_int_equal(kernels->linear_pack(pool, arena, (int64_t)9 * CHANNELS, 1, ws, bs, rows, &linear), DIT_OK);
    dit_conv_args args = {.weights = &linear, .frames = 1, .height = HEIGHT, .width = WIDTH, .channels = CHANNELS};
    args.x = x, args.y = together, args.up = 1;
    for (int i = 0; i < 3; i++) args.kernel[i] = i ? 3 : 1, args.stride[i] = 1, args.padding[i] = i ? 1 : 0;
    args.out[0] = 1, args.out[1] = HEIGHT, args.out[2] = WIDTH;
    kernels->conv(pool, &args);
    args.out[1] = 1;
    for (int line = 0; line < HEIGHT; line++) {
        args.padding[1] = 1 - line;
        args.y = alone + (size_t)line * LINE;
        kernels->conv(pool, &args);
    }
    assert_memory_equal(together, alone, sizeof together);
}

static void each_line_of_a_convolution_has_the_same_bits_alone_and_together(void **state)
{
    (void)state;
    for_each_backend(lines_alone);
}

static void group_norm_with(int threads, const float *in, float *out)
{
    enum { HEIGHT = 131, WIDTH = 67, C = 24 };
    static double workspace[4096];
    dit_pool *own;
    assert_true(dit_group_norm_workspace_bytes(1, (int64_t)HEIGHT * WIDTH, C, 4) <= (int64_t)sizeof workspace);
    dit_group_norm_args args = {.batch = 1, .frames = 1, .height = HEIGHT, .width = WIDTH, .C = C, .groups = 4};
    args.x = in, args.y = out, args.eps = 1e-6f, args.weight = b, args.bias = gate, args.workspace = workspace;
    args.activation = DIT_ACT_SILU;
    assert_int_equal(dit_pool_create(threads, true, &own), DIT_OK);
    kernels->group_norm(own, &args);
    dit_pool_free(own);
}

static void threads_and_place(dit_arena *arena)
{
    static float in[131 * 67 * 24], one[131 * 67 * 24], three[131 * 67 * 24];
    (void)arena;
    dit_rng_normal(3, 7, 0, 131 * 67 * 24, 5, 1, in);
    group_norm_with(1, in, one);
    group_norm_with(3, in, three);
    assert_memory_equal(one, three, sizeof one);
    group_norm_with(2, in, in);
    assert_memory_equal(one, in, sizeof one);
}

static void group_norm_has_the_same_bits_in_place_and_with_any_number_of_threads(void **state)
{
    (void)state;
    for_each_backend(threads_and_place);
}

static void the_counting_backend_takes_space_and_reads_nothing(void **state)
{
    const dit_kernels *counting = dit_kernels_counting();
    dit_memory_ledger ledger = {.counting_only = true};
    dit_arena arena;
    dit_linear linear;
    const float *ws[1] = {NULL}, *bs[1] = {b};
    int64_t rows[1] = {N};
    float y[N] = {7};
    (void)state;
    dit_arena_init(&arena, &ledger, DIT_MEMORY_WEIGHTS);
    assert_int_equal(counting->linear_pack(pool, &arena, K, 1, ws, bs, rows, &linear), DIT_OK);
    assert_true(linear.n == N && linear.k == K && arena.used >= (N * K + N) * 4);
    counting->linear(pool, &(dit_linear_args){.weights = &linear, .rows = 1, .x = NULL, .y = y});
    assert_true(y[0] == 7);
    ledger.limit = arena.used + 1;
    assert_int_equal(counting->linear_pack(pool, &arena, K, 1, ws, bs, rows, &linear), DIT_ERR_MEMORY);
    dit_arena_release(&arena);
}

static void edges(dit_arena *arena)
{
    const float in[8] = {-200, -20, -5, -0.0f, 0.5f, 5, 100, NAN};
    float out[8] = {0};
    (void)arena;
    for (int activation = DIT_ACT_GELU_TANH; activation <= DIT_ACT_SILU; activation++) {
        dit_activate_args args = {.elements = 8, .x = in, .y = out, .activation = (dit_activation)activation};
        kernels->activate(pool, &args);
        assert_true(fabsf(out[0]) < 1e-30f && fabsf(out[1]) < 5e-8f && out[2] < 0 && out[2] > -0.04f);
        assert_true(out[3] == 0 && out[4] > 0.3f && out[4] < 0.4f && out[5] > 4.9f && out[6] == 100);
        assert_true(isnan(out[7]));
    }
    kernels->activate(pool, &(dit_activate_args){.elements = 8, .x = in, .y = out, .activation = DIT_ACT_RELU});
    for (int i = 0; i < 7; i++) assert_true(out[i] == (in[i] > 0 ? in[i] : 0));
    assert_true(isnan(out[7]));
    kernels->activate(pool, &(dit_activate_args){.elements = 8, .x = in, .y = out, .activation = DIT_ACT_TANH});
    for (int i = 0; i < 7; i++) assert_true(fabsf(out[i] - tanhf(in[i])) < 2e-7f);
    assert_true(isnan(out[7]));
}

static void activations_are_right_far_out_and_keep_nan(void **state)
{
    (void)state;
    for_each_backend(edges);
}

/* q alone is normalised inside a fused q, k, v row; its neighbours stay. */
static void norm_inside_wider_rows(void)
{
    enum { WIDTH = 12 };
    static float apart[ROWS * WIDTH], y[ROWS * K];
    memcpy(y, x, sizeof y);
    dit_norm_args norm = {.kind = DIT_NORM_RMS, .rows = ROWS, .C = WIDTH, .eps = 1e-6f, .weight = b};
    norm.x = x + 5, norm.ldx = K, norm.y = apart, norm.ldy = WIDTH;
    kernels->norm(pool, &norm);
    norm.x = norm.y = y + 5, norm.ldy = K;
    kernels->norm(pool, &norm);
    for (int i = 0; i < ROWS * K; i++) {
        int c = i % K - 5;
        assert_true(y[i] == (c >= 0 && c < WIDTH ? apart[i / K * WIDTH + c] : x[i]));
    }
}

static void in_place(dit_arena *arena)
{
    static float apart[ROWS * K], y[ROWS * K];
    (void)arena;
    memcpy(y, x, sizeof y);
    dit_combine_args combine = {.elements = ROWS * K, .count = 3, .x = {x, x, x}, .a = {2, -1, 0.5f}, .y = apart};
    kernels->combine(pool, &combine);
    combine.x[0] = combine.x[2] = combine.y = y;
    kernels->combine(pool, &combine);
    assert_memory_equal(y, apart, sizeof y);
    memcpy(y, x, sizeof y);
    dit_norm_args norm = {.rows = ROWS, .C = K, .x = x, .ldx = K, .y = apart, .ldy = K, .eps = 1e-6f, .shift = b};
    kernels->norm(pool, &norm);
    norm.x = norm.y = y;
    kernels->norm(pool, &norm);
    assert_memory_equal(y, apart, sizeof y);
    norm_inside_wider_rows();
}

static void combine_and_norm_in_place_equal_out_of_place(void **state)
{
    (void)state;
    for_each_backend(in_place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gated_residual_in_place_equals_the_three_steps),
        cmocka_unit_test(pieces_stacked_along_n_equal_one_matrix),
        cmocka_unit_test(each_row_has_the_same_bits_alone_and_together),
        cmocka_unit_test(each_line_of_a_convolution_has_the_same_bits_alone_and_together),
        cmocka_unit_test(group_norm_has_the_same_bits_in_place_and_with_any_number_of_threads),
        cmocka_unit_test(the_counting_backend_takes_space_and_reads_nothing),
        cmocka_unit_test(activations_are_right_far_out_and_keep_nan),
        cmocka_unit_test(combine_and_norm_in_place_equal_out_of_place),
    };
    return RUN_ON_EACH_ISA(tests, set_up, tear_down);
}
