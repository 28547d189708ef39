/* The lists of cases, what is read of a case, and the work of operators and of cases: one home each. */
#include "kernels/cases.h"

#include "base/tests/test.h"

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void every_operator_has_cases_and_each_list_is_in_their_order(void **state)
{
    bool seen[DIT_OPERATOR_COUNT] = {false};
    const dit_kernel_case *c;
    (void)state;
    for (int list = 0; list < DIT_CASES_COUNT; list++) {
        int last = 0;
        for (int i = 0; (c = dit_case_at((dit_case_list)list, i)); i++) {
            assert_true((int)c->op >= last);
            last = c->op;
            seen[c->op] = true;
        }
        assert_null(dit_case_at((dit_case_list)list, 1000));
    }
    seen[DIT_OPERATOR_GROUP_MOMENTS] = seen[DIT_OPERATOR_ROW_SCALE] = true; /* checked with another */
    seen[DIT_OPERATOR_LINEAR_ATTENTION] = true;
    for (int op = 0; op < DIT_OPERATOR_COUNT; op++) assert_true(seen[op]);
}

static void no_case_stands_in_a_list_twice(void **state)
{
    char one[128], other[128];
    const dit_kernel_case *a, *b;
    (void)state;
    for (int list = 0; list < DIT_CASES_COUNT; list++)
        for (int i = 0; (a = dit_case_at((dit_case_list)list, i)); i++)
            for (int j = 0; j < i && (b = dit_case_at((dit_case_list)list, j)); j++) {
                dit_case_describe(a, one, sizeof one);
                dit_case_describe(b, other, sizeof other);
                assert_true(a->op != b->op || strcmp(one, other) != 0);
            }
}

static const dit_kernel_case *find(const char *op, const char *shape)
{
    const dit_kernel_case *c;
    char text[128];
    for (int list = 0; list < DIT_CASES_COUNT; list++)
        for (int i = 0; (c = dit_case_at((dit_case_list)list, i)); i++) {
            dit_case_describe(c, text, sizeof text);
            if (!strcmp(dit_case_operator(c), op) && !strcmp(text, shape)) return c;
        }
    print_error("no case %s %s\n", op, shape);
    return NULL;
}

static void assert_keys(const char *op, const char *shape, const char *expected)
{
    const dit_kernel_case *c = find(op, shape);
    char keys[128] = "";
    const char *key;
    int64_t value;
    assert_non_null(c);
    for (int i = 0; dit_case_size(c, i, &key, &value); i++) {
        size_t used = strlen(keys);
        if (value) snprintf(keys + used, sizeof keys - used, "%s=%lld ", key, (long long)value);
    }
    assert_string_equal(keys, expected);
}

/* Records of calibrate are kept; their keys are older than the names. */
static void sizes_have_their_names_in_texts_and_their_keys_in_records(void **state)
{
    (void)state;
    assert_keys("linear", "rows=512 n=1152 k=64 bias gelu", "rows=512 n=1152 k=64 ");
    assert_keys("attention", "B=1 H=4 Sq=1024 Sk=1024 D=72 strided", "B=1 H=4 Sq=1024 Sk=1024 D=72 ");
    assert_keys("attention_merge", "B=1 H=8 S=1024 D=64", "B=1 H=8 Sq=1024 D=64 ");
    assert_keys("norm", "rows=512 C=1152 modulate", "rows=512 n=1152 ");
    assert_keys("qk_norm_rope", "rows=512 H=16 D=72 rms norm", "rows=512 H=16 D=72 ");
    assert_keys("copy", "n0=1 n1=16 n2=512 inner=64", "B=1 H=16 Sq=512 D=64 ");
    assert_keys("combine", "elements=524288 count=3", "n=524288 k=3 ");
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static void assert_work(dit_work work, double flops, double bytes)
{
    assert_true(work.flops == flops);
    assert_true(work.bytes == bytes);
}

static void work_counts_what_an_operator_computes_and_moves(void **state)
{
    const float something = 0;
    double moments[2] = {0};
    dit_group_norm_args group = {.batch = 2, .frames = 1, .height = 3, .width = 5, .C = 4};
    dit_gated_add_args add = {.rows = 3, .cols = 4};
    (void)state;
    assert_work(dit_combine_work(&(dit_combine_args){.elements = 10, .count = 1}), 10, 80);
    assert_work(dit_combine_work(&(dit_combine_args){.elements = 10, .count = 3}), 50, 160);
    assert_work(dit_activate_work(&(dit_activate_args){.elements = 10}), 80, 80);
    assert_work(dit_attention_merge_work(&(dit_merge_args){.B = 1, .H = 2, .S = 3, .D = 4}), 72, 288);
    assert_work(dit_group_norm_work(&group), 8 * 120, 2 * 480);
    group.moments = moments;
    assert_work(dit_group_norm_work(&group), 5 * 120, 2 * 480);
    assert_work(dit_group_moments_work(&group), 3 * 120, 480);
    assert_work(dit_gated_add_work(&add), 12, 144);
    add.bias = add.gate = &something;
    assert_work(dit_gated_add_work(&add), 36, 144);
}

static dit_work work_of(const dit_kernel_case *c)
{
    const dit_kernels *ref;
    dit_pool *pool;
    dit_case_run run;
    assert_non_null(c);
    assert_int_equal(dit_kernels_get("ref", &ref), DIT_OK);
    assert_int_equal(dit_pool_create(1, false, &pool), DIT_OK);
    assert_int_equal(dit_case_prepare(c, pool, ref, ref, &run), DIT_OK);
    dit_work work = dit_case_work(&run);
    assert_true(dit_case_bytes(&run, DIT_DTYPE_BF16) <= work.bytes);
    dit_case_release(&run);
    dit_pool_free(pool);
    return work;
}

static void work_of_a_case_is_that_of_the_calls_that_it_makes(void **state)
{
    const double pixels = 2 * 50 * 40 * 48, rows = 2 * 17 * 65;
    (void)state;
    assert_work(work_of(find("linear", "rows=9 n=96 k=100 bias residual gate strided")), 2 * 9 * 96 * 100,
                4 * (9 * 100 + 96 * 100 + 96 + 9 * 96));
    assert_work(work_of(find("group_norm", "frames=2 height=50 width=40 groups=6 C=48 band bias silu")), 8 * pixels,
                3 * 4 * pixels);
    assert_work(work_of(find("row_norm", "rows=17 C=65 ranks=3 B=2 strided")), 4 * rows, 3 * 4 * rows);
    assert_work(work_of(find("difference", "rows=17 C=65")), 3 * 17 * 65 + 2 * 2 * 8, 4 * (2 * 17 * 65 + 2 * 2 * 8));
    assert_work(work_of(find("gated_add", "rows=17 C=130 gate")), 2 * 17 * 130, 3 * 4 * 17 * 130);
    assert_work(work_of(find("attention", "kv_group=3 B=2 H=6 Sq=50 Sk=70 D=24 lse")), 4.0 * 2 * 6 * 50 * 70 * 24,
                4.0 * 2 * 24 * 2 * (6 * 50 + 2 * 70)); /* two key heads */
}

/* The reference computes a few rows of each batch, and these are found in the output. */
static void a_large_case_is_compared_batch_by_batch(void **state)
{
    const dit_kernels *ref;
    dit_pool *pool;
    dit_case_run run;
    dit_case_distance error;
    (void)state;
    const dit_kernel_case *c = find("attention", "B=2 H=4 Sq=96 Sk=32 D=24 fused");
    assert_non_null(c);
    assert_int_equal(dit_kernels_get("ref", &ref), DIT_OK);
    assert_int_equal(dit_pool_create(1, false, &pool), DIT_OK);
    assert_int_equal(dit_case_prepare(c, pool, ref, ref, &run), DIT_OK);
    assert_int_equal(dit_case_error(&run, ref, ref, &error), DIT_OK);
    assert_true(error.out == 0);
    dit_case_release(&run);
    dit_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_has_cases_and_each_list_is_in_their_order),
        cmocka_unit_test(no_case_stands_in_a_list_twice),
        cmocka_unit_test(sizes_have_their_names_in_texts_and_their_keys_in_records),
        cmocka_unit_test(work_counts_what_an_operator_computes_and_moves),
        cmocka_unit_test(work_of_a_case_is_that_of_the_calls_that_it_makes),
        cmocka_unit_test(a_large_case_is_compared_batch_by_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
