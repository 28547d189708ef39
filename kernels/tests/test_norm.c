/* Norms of rows whose mean is large beside their deviations: rounding it must leave nothing behind, on any instruction
 * set, however few lanes sum. The operands are exact, so the bound is the operators' own. */
#include "kernels/cases.h"
#include "kernels/kernels.h"

#include "base/rng.h"

#include "base/tests/test.h"
#include "kernels/tests/each_isa.h"

enum { ROWS = 70, C = 1155, GROUPS = 5, HEADS = 15, D = C / HEADS, FLOATS = ROWS * C };
static const float mean = 1000, deviation = 1;

static float x[FLOATS], y[FLOATS], expected[FLOATS], weight[C], bias[C];
static double workspace[1 << 16], moments[2 * GROUPS], expected_moments[2 * GROUPS];
static const dit_kernels *cpu, *ref;
static dit_pool *pool;

static int set_up(void **state)
{
    (void)state;
    dit_rng_normal(11, 1, 0, FLOATS, mean, deviation, x);
    dit_rng_normal(11, 2, 0, C, 1, 0.1f, weight);
    dit_rng_normal(11, 3, 0, C, 0, 1, bias);
    if (dit_kernels_get("ref", &ref) != DIT_OK) return 1;
    return dit_pool_create(2, false, &pool) != DIT_OK;
}

static int tear_down(void **state)
{
    (void)state;
    dit_pool_free(pool);
    return 0;
}

static void open_cpu(void)
{
    assert_int_equal(dit_kernels_get("cpu", &cpu), DIT_OK);
    assert_string_equal(dit_kernels_isa(), getenv("DITBENCH_ISA"));
}

/* y against `expected`, relative L2. */
static void assert_as_expected(dit_operator op)
{
    double squares = 0, all = 0;
    for (int i = 0; i < FLOATS; i++) {
        squares += ((double)y[i] - expected[i]) * ((double)y[i] - expected[i]);
        all += (double)expected[i] * expected[i];
    }
    double distance = sqrt(squares / all);
    if (!(distance <= dit_operator_tolerance(op)))
        fail_msg("%s: relative L2 %.2g above %.2g", dit_operator_name(op), distance, dit_operator_tolerance(op));
}

static void layer_norm(void **state)
{
    dit_norm_args args = {.kind = DIT_NORM_LAYER, .rows = ROWS, .C = C, .x = x, .ldx = C, .ldy = C, .eps = 1e-6f};
    (void)state;
    open_cpu();
    args.weight = weight, args.bias = bias;
    args.y = expected, ref->norm(pool, &args);
    args.y = y, cpu->norm(pool, &args);
    assert_as_expected(DIT_OPERATOR_NORM);
}

static void layer_norm_of_heads(void **state)
{
    dit_qk_norm_rope_args args = {.kind = DIT_NORM_LAYER, .rows = ROWS, .H = HEADS, .D = D, .ldx = C, .eps = 1e-6f};
    (void)state;
    open_cpu();
    args.weight = weight, args.bias = bias;
    memcpy(y, x, sizeof y), memcpy(expected, x, sizeof expected);
    args.x = expected, ref->qk_norm_rope(pool, &args);
    args.x = y, cpu->qk_norm_rope(pool, &args);
    assert_as_expected(DIT_OPERATOR_QK_NORM_ROPE);
}

static dit_group_norm_args group_args(void)
{
    return (dit_group_norm_args){.batch = 1,
                                 .frames = 1,
                                 .height = 7,
                                 .width = ROWS / 7,
                                 .C = C,
                                 .groups = GROUPS,
                                 .x = x,
                                 .eps = 1e-6f,
                                 .weight = weight,
                                 .bias = bias,
                                 .workspace = workspace};
}

static void group_norm(void **state)
{
    dit_group_norm_args args = group_args();
    (void)state;
    open_cpu();
    assert_true(dit_group_norm_workspace_bytes(1, ROWS, C, GROUPS) <= (int64_t)sizeof workspace);
    args.y = expected, ref->group_norm(pool, &args);
    args.y = y, cpu->group_norm(pool, &args);
    assert_as_expected(DIT_OPERATOR_GROUP_NORM);
}

/* As ranks do that share a picture: moments first, which are merged in double, then the norm by them. */
static void group_norm_by_its_moments(void **state)
{
    dit_group_norm_args args = group_args();
    (void)state;
    open_cpu();
    args.moments = expected_moments, ref->group_moments(pool, &args);
    args.y = expected, ref->group_norm(pool, &args);
    args.moments = moments, cpu->group_moments(pool, &args);
    for (int i = 0; i < 2 * GROUPS; i++)
        assert_true(fabs(moments[i] - expected_moments[i]) <= 1e-9 * mean * (i % 2 ? 10 * deviation : 1));
    args.y = y, cpu->group_norm(pool, &args);
    assert_as_expected(DIT_OPERATOR_GROUP_NORM);
}

static void norm_of_one_value(float value, float out[C])
{
    float row[C];
    dit_norm_args args = {.kind = DIT_NORM_LAYER, .rows = 1, .C = C, .x = row, .ldx = C, .y = out, .ldy = C};
    args.eps = 1e-6f, args.bias = bias;
    for (int c = 0; c < C; c++) row[c] = value;
    cpu->norm(pool, &args);
}

static void a_row_of_one_value_gives_the_bias(void **state)
{
    float out[C];
    (void)state;
    open_cpu();
    norm_of_one_value(1e4f / 3, out);
    for (int c = 0; c < C; c++) assert_true(fabsf(out[c] - bias[c]) <= 1e-4f);
    norm_of_one_value(1e12f / 3, out); /* rounding leaves more than eps: the variance must not become negative */
    for (int c = 0; c < C; c++) assert_true(isfinite(out[c]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(layer_norm_of_heads),
        cmocka_unit_test(group_norm),
        cmocka_unit_test(group_norm_by_its_moments),
        cmocka_unit_test(a_row_of_one_value_gives_the_bias),
    };
    return RUN_ON_EACH_ISA(tests, set_up, tear_down);
}
