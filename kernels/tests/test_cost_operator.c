/* Operators in the cost model: what a call tells the hook, and how long a software stack takes for it. */
#include "kernels/cost/operator.h"

#include "kernels/tests/cost_fixture.h"

/* ---- what no time may do ----------------------------------------------------------------------------------------- */

static void nothing_to_do_takes_no_time(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_profile eager = profile_named("pytorch-eager");
    dit_cost_time none = dit_cost_op_time(&d, &eager, &(dit_cost_op){.kind = DIT_COST_OP_LINEAR, .n = 64, .k = 64});
    (void)state;
    assert_close(dit_cost_gemm_seconds(&d, 0, 64, 64), 0, 0);
    assert_close(dit_cost_attention_seconds(&d, &(dit_cost_attention){1, 1, 0, 64, 64, 1, 0}), 0, 0);
    assert_close(none.device_s + none.host_s + none.kernels, 0, 0);
}

/* ---- operators and the hook -------------------------------------------------------------------------------------- */

static dit_cost_op heard[8];
static int heard_count;

static void hear(void *context, const dit_cost_op *op)
{
    assert_ptr_equal(context, heard);
    assert_in_range(heard_count, 0, 7);
    heard[heard_count++] = *op;
}

/* Three matrices of 64 x 32, packed together. */
static dit_linear packed_three(dit_arena *arena)
{
    static const float w[64 * 32];
    const float *const pieces[3] = {w, w, w};
    const int64_t rows[3] = {64, 64, 64};
    dit_linear linear;
    assert_ok(dit_kernels_cost()->linear_pack(NULL, arena, 32, 3, pieces, NULL, rows, &linear));
    return linear;
}

static void every_entry_tells_the_hook_what_the_account_of_flops_says(void **state)
{
    const dit_kernels *cost = dit_kernels_cost();
    dit_memory_ledger ledger = {0};
    dit_arena arena;
    float gate[192] = {0}, x[4] = {0};
    (void)state;
    dit_arena_init(&arena, &ledger, DIT_MEMORY_WEIGHTS);
    dit_linear linear = packed_three(&arena);
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    cost->linear(NULL, &(dit_linear_args){.weights = &linear, .rows = 10, .gate = gate, .residual = x});
    cost->attention(NULL, &(dit_attention_args){.B = 2, .H = 3, .Sq = 5, .Sk = 7, .D = 8});
    cost->attention_merge(NULL, &(dit_merge_args){.B = 2, .H = 3, .S = 5, .D = 8});
    cost->norm(NULL, &(dit_norm_args){.rows = 4, .C = 16, .scale = x});
    cost->qk_norm_rope(NULL, &(dit_qk_norm_rope_args){.rows = 4, .H = 2, .D = 8, .cos = x});
    cost->copy(NULL, &(dit_copy_args){.n0 = 2, .n1 = 3, .n2 = 4, .inner = 5});
    cost->combine(NULL, &(dit_combine_args){.elements = 6, .count = 3});
    cost->activate(NULL, &(dit_activate_args){.elements = 6});
    dit_cost_set_hook(NULL, NULL);
    cost->activate(NULL, &(dit_activate_args){.elements = 6});
    assert_int_equal(heard_count, 8);
    for (int i = 0; i < 8; i++) assert_int_equal(heard[i].kind, (dit_cost_op_kind)i);
    assert_close(heard[0].flops, dit_product_work(10, 192, 32).flops, 0);
    assert_int_equal(heard[0].pieces, 3);
    assert_true(heard[0].gate && heard[0].residual && !heard[0].activation);
    assert_close(heard[1].bytes, 4 * 2 * 3 * 8 * 2 * (5 + 7), 0);
    assert_close(heard[1].attention.seen, 1, 0);
    assert_int_equal(heard[2].elements, 240);
    assert_true(heard[3].modulation && heard[4].rotary && !heard[4].normed);
    assert_int_equal(heard[5].elements, 120);
    assert_int_equal(heard[6].operands, 3);
    assert_close(heard[6].flops, 6 * 5, 0);
    assert_close(heard[7].flops, 6 * 8, 0);
    dit_arena_release(&arena);
}

static void convolutions_and_group_norms_are_told_too(void **state)
{
    const dit_kernels *cost = dit_kernels_cost();
    dit_linear weights = {.n = 16, .k = 9 * 8};
    double moments[4];
    dit_conv_args conv = {.weights = &weights,
                          .frames = 1,
                          .height = 6,
                          .width = 5,
                          .channels = 8,
                          .kernel = {1, 3, 3},
                          .out = {1, 6, 5}};
    dit_group_norm_args norm = {.batch = 1, .frames = 1, .height = 6, .width = 5, .C = 8, .groups = 2};
    (void)state;
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    cost->conv(NULL, &conv);
    cost->group_norm(NULL, &norm); /* with its moments */
    norm.moments = moments;
    cost->group_norm(NULL, &norm);
    cost->group_moments(NULL, &norm);
    dit_cost_set_hook(NULL, NULL);
    assert_int_equal(heard_count, 5);
    assert_close(heard[0].flops, dit_conv_work(&conv).flops, 0);
    assert_int_equal(heard[0].input_elements, 240);
    assert_int_equal(heard[0].axes, 2);
    const dit_cost_op_kind kinds[] = {DIT_COST_OP_CONV, DIT_COST_OP_GROUP_MOMENTS, DIT_COST_OP_GROUP_NORM,
                                      DIT_COST_OP_GROUP_NORM, DIT_COST_OP_GROUP_MOMENTS};
    for (int i = 0; i < 5; i++) assert_int_equal(heard[i].kind, kinds[i]);
}

/* A kernel of three frames moves along time, too, also of the engine's own operator. */
static void a_convolution_over_frames_has_an_efficiency_of_its_own(void **state)
{
    const dit_cost_device d = round_device();
    const dit_cost_profile profile = {.conv_efficiency = 0.5, .conv3d_efficiency = 0.25}, none = {0};
    dit_linear weights = {.n = 16, .k = 27 * 8};
    dit_conv_args conv = {.weights = &weights,
                          .frames = 4,
                          .height = 6,
                          .width = 5,
                          .channels = 8,
                          .kernel = {3, 3, 3},
                          .out = {4, 6, 5}};
    (void)state;
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    dit_kernels_cost()->conv(NULL, &conv);
    conv.kernel[0] = 1;
    dit_kernels_cost()->conv(NULL, &conv);
    dit_cost_set_hook(NULL, NULL);
    assert_int_equal(heard[0].axes, 3);
    assert_int_equal(heard[1].axes, 2);
    for (int i = 0; i < 2; i++) {
        double conv_s = dit_cost_conv_seconds(&d, heard[i].rows, heard[i].n, heard[i].k, heard[i].input_elements);
        assert_close(dit_cost_op_time(&d, &profile, &heard[i]).device_s -
                         dit_cost_op_time(&d, &none, &heard[i]).device_s,
                     (i == 0 ? 3 : 1) * conv_s, 1e-9);
    }
}

static void masked_attention_counts_the_pairs_that_see_each_other(void **state)
{
    const int32_t positions[4] = {0, 1, 2, 3};
    dit_attention_args a = {.B = 1, .H = 1, .Sq = 4, .Sk = 4, .D = 8, .q_position = positions, .k_position = positions};
    (void)state;
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    dit_kernels_cost()->attention(NULL, &a);
    dit_cost_set_hook(NULL, NULL);
    assert_close(heard[0].attention.seen, 10.0 / 16, 1e-15);
}

/* What the mask leaves of eight queries and eight keys at these positions. */
static double uneven_of(const int32_t queries[8], const int32_t keys[8])
{
    dit_attention_args a = {.B = 1, .H = 1, .Sq = 8, .Sk = 8, .D = 8, .q_position = queries, .k_position = keys};
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    dit_kernels_cost()->attention(NULL, &a);
    dit_cost_set_hook(NULL, NULL);
    return heard[0].attention.uneven;
}

/* Zigzag over two ranks: 0 to 3 and 12 to 15 here, 4 to 11 there. */
static void only_what_rises_with_the_queries_is_uneven(void **state)
{
    static const int32_t here[8] = {0, 1, 2, 3, 12, 13, 14, 15}, there[8] = {4, 5, 6, 7, 8, 9, 10, 11};
    static const int32_t even[8] = {0, 2, 4, 6, 8, 10, 12, 14}, odd[8] = {1, 3, 5, 7, 9, 11, 13, 15};
    (void)state;
    assert_close(uneven_of(here, here), 1, 1e-12);
    assert_close(uneven_of(here, there), 0, 0); /* the later half sees all */
    assert_close(uneven_of(there, here), 0, 0); /* all see the earlier half */
    assert_close(uneven_of(even, odd), 1, 1e-12);
}

static void what_a_stack_fuses_is_fewer_kernels_and_less_time(void **state)
{
    dit_cost_op op = {.kind = DIT_COST_OP_LINEAR,
                      .rows = 4096,
                      .n = 3456,
                      .k = 1152,
                      .pieces = 3,
                      .elements = 4096 * 3456,
                      .activation = true,
                      .gate = true,
                      .residual = true};
    double kernels[PROFILE_COUNT], device_s[PROFILE_COUNT], host_s[PROFILE_COUNT];
    (void)state;
    for (int i = 0; i < PROFILE_COUNT; i++) {
        dit_cost_profile profile = profile_named(profile_names[i]);
        dit_cost_device d = device_named("a100-sxm-80", &profile);
        dit_cost_time time = dit_cost_op_time(&d, &profile, &op);
        kernels[i] = time.kernels;
        device_s[i] = time.device_s;
        host_s[i] = time.host_s;
    }
    assert_close(kernels[0], 6, 0); /* three products, activation, gate, sum */
    assert_close(kernels[1], 5, 0);
    assert_close(kernels[2], 2, 0);
    assert_true(device_s[0] > device_s[1] && device_s[1] > device_s[2]);
    assert_close(host_s[0], 6 * 20e-6, 1e-12);
    assert_close(host_s[2], 2 * 5e-6, 1e-12);
}

static void time_of_an_operator_is_its_product_and_its_passes(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_profile p = {.dispatch_s = 3e-6, .packed_linear = true};
    dit_cost_op op = {
        .kind = DIT_COST_OP_LINEAR, .rows = 128, .n = 256, .k = 1000, .elements = 128 * 256, .residual = true};
    (void)state;
    p.parts[DIT_COST_PART_RESIDUAL] = (dit_cost_part_work){2, 6};
    dit_cost_time time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.device_s, dit_cost_gemm_seconds(&d, 128, 256, 1000) + 2 * 1e-6 + 6 * 2 * 32768 / 1e12, 1e-12);
    assert_close(time.host_s, 9e-6, 1e-12);
    op = (dit_cost_op){.kind = DIT_COST_OP_QK_NORM_ROPE, .elements = 1000, .rotary = true}; /* fused into nothing */
    time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.kernels, 1, 0);
    assert_close(time.device_s, 1e-6 + 2 * 2 * 1000 / 1e12, 1e-12);
    op = (dit_cost_op){.kind = DIT_COST_OP_EXCHANGE, .elements = 1000}; /* the engine's own copy may be all */
    time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.kernels + time.device_s + time.host_s, 0, 0);
    p.parts[DIT_COST_PART_EXCHANGE] = (dit_cost_part_work){1, 2};
    time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.host_s, 3e-6, 1e-12);
    assert_close(time.device_s, 1e-6 + 2 * 2 * 1000 / 1e12, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_do_takes_no_time),
        cmocka_unit_test(every_entry_tells_the_hook_what_the_account_of_flops_says),
        cmocka_unit_test(convolutions_and_group_norms_are_told_too),
        cmocka_unit_test(a_convolution_over_frames_has_an_efficiency_of_its_own),
        cmocka_unit_test(masked_attention_counts_the_pairs_that_see_each_other),
        cmocka_unit_test(only_what_rises_with_the_queries_is_uneven),
        cmocka_unit_test(what_a_stack_fuses_is_fewer_kernels_and_less_time),
        cmocka_unit_test(time_of_an_operator_is_its_product_and_its_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
