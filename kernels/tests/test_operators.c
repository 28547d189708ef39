/* Every operator of the cpu backend against the reference, for every instruction set, through the case list that also
 * times them; and that list must notice a wrong operator. */
#include "kernels/bench.h"
#include "kernels/cases.h"

#include "base/json.h"

#include "base/tests/test.h"
#include "kernels/tests/each_isa.h"

static void check_all(int threads)
{
    dit_kernel_bench bench = {.backend = "cpu", .threads = threads};
    cJSON *report = cJSON_CreateObject();
    dit_status st = dit_kernels_bench(&bench, report);
    if (st != DIT_OK) print_error("%d threads: %s\n", threads, dit_error_last()->message);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(report, "isa")), getenv("DITBENCH_ISA"));
    cJSON_Delete(report);
    assert_int_equal(st, DIT_OK);
}

static void cpu_equals_reference(void **state)
{
    (void)state;
    check_all(1);
    check_all(3);
}

static void an_isa_is_what_is_used_and_forbids_those_before_it(void **state)
{
    const char *isa = *state, *name;
    bool before = true;
    assert_string_equal(dit_kernels_isa(), isa);
    for (int i = 0; (name = dit_kernels_isa_at(i)); i++) {
        if (!strcmp(name, isa)) before = false;
        assert_false(before && dit_kernels_has_isa(name));
    }
    assert_true(dit_kernels_has_isa(isa));
}

static void an_isa_that_nobody_knows_lowers_nothing(void **state)
{
    const char *best = dit_kernels_isa();
    (void)state;
    each_isa_lower((void *[]){(void *)"avx1024"});
    assert_false(dit_kernels_has_isa("avx1024"));
    if (!each_isa_found[0]) assert_string_equal(dit_kernels_isa(), best);
    each_isa_restore(NULL);
}

static void unknown_backend_is_refused_with_the_names(void **state)
{
    const dit_kernels *table;
    (void)state;
    assert_int_equal(dit_kernels_get("gpu", &table), DIT_ERR_NOT_FOUND);
    assert_null(table);
    for (const char *const *name = dit_kernels_names(); *name; name++) {
        assert_int_equal(dit_kernels_get(*name, &table), DIT_OK);
        assert_string_equal(table->name, *name);
        assert_non_null(strstr(dit_error_last()->message, *name));
    }
}

/* ---- wrong operators --------------------------------------------------------------------------------------------- */

static const dit_kernels *right;

static void wrong_linear(dit_pool *pool, const dit_linear_args *args)
{
    right->linear(pool, args);
    args->y[(args->rows - 1) * args->ldy + args->weights->n - 1] *= 1.001f;
}

static void wrong_attention(dit_pool *pool, const dit_attention_args *args)
{
    dit_attention_args shorter = *args;
    if (shorter.Sk > 1) shorter.Sk--; /* forgets the last key */
    right->attention(pool, &shorter);
}

static void wrong_attention_lse(dit_pool *pool, const dit_attention_args *args)
{
    right->attention(pool, args);
    if (args->lse) args->lse[0] += 1e-4f;
}

static void wrong_merge(dit_pool *pool, const dit_merge_args *args)
{
    right->attention_merge(pool, args);
    args->lse[0] *= 1.0001f;
}

static void wrong_norm(dit_pool *pool, const dit_norm_args *args)
{
    dit_norm_args other = *args;
    other.eps = 1e-3f;
    right->norm(pool, &other);
}

static void wrong_norm_kind(dit_pool *pool, const dit_norm_args *args)
{
    dit_norm_args other = *args;
    other.kind = DIT_NORM_LAYER;
    right->norm(pool, &other);
}

static void wrong_rope(dit_pool *pool, const dit_qk_norm_rope_args *args)
{
    dit_qk_norm_rope_args other = *args;
    if (args->cos) other.sin = args->cos;
    right->qk_norm_rope(pool, &other);
}

static void wrong_qk(dit_pool *pool, const dit_qk_norm_rope_args *args)
{
    dit_qk_norm_rope_args other = *args;
    other.kind = DIT_NORM_RMS;
    right->qk_norm_rope(pool, &other);
}

static void wrong_copy(dit_pool *pool, const dit_copy_args *args)
{
    right->copy(pool, args);
    if (args->n0 > 1) args->dst[args->inner] += 1; /* writes between two rows */
}

static void wrong_combine(dit_pool *pool, const dit_combine_args *args)
{
    right->combine(pool, args);
    args->y[args->elements - 1] = 0.0f / 0.0f;
}

static void wrong_activate(dit_pool *pool, const dit_activate_args *args)
{
    dit_activate_args other = *args;
    if (args->activation == DIT_ACT_GELU_ERF) other.activation = DIT_ACT_GELU_TANH;
    right->activate(pool, &other);
}

static void wrong_relative(dit_pool *pool, const dit_attention_args *args)
{
    dit_attention_args other = *args;
    if (args->relative && args->Sq > 1) other.relative++; /* of the distance beside */
    right->attention(pool, &other);
}

static void wrong_cap(dit_pool *pool, const dit_attention_args *args)
{
    dit_attention_args other = *args;
    other.cap *= 1.01f;
    right->attention(pool, &other);
}

static void wrong_multiply(dit_pool *pool, const dit_multiply_args *args)
{
    dit_multiply_args other = *args;
    other.x = args->factor, other.factor = args->x; /* activates the other one */
    right->multiply(pool, &other);
}

static void wrong_conv(dit_pool *pool, const dit_conv_args *args)
{
    dit_conv_args other = *args;
    other.padding[2] += args->out[2] > 1; /* one pixel beside */
    right->conv(pool, &other);
}

static void wrong_conv_front(dit_pool *pool, const dit_conv_args *args)
{
    dit_conv_args other = *args;
    other.front_frame = 0; /* repeats one frame */
    right->conv(pool, &other);
}

static void wrong_group_norm(dit_pool *pool, const dit_group_norm_args *args)
{
    dit_group_norm_args other = *args;
    if (args->batch > 1) other.frames *= other.batch, other.batch = 1; /* statistics over the whole batch */
    right->group_norm(pool, &other);
}

static void wrong_group_norm_field(dit_pool *pool, const dit_group_norm_args *args)
{
    dit_group_norm_args other = *args;
    other.first_apart = false;
    right->group_norm(pool, &other);
}

static void wrong_conv_band(dit_pool *pool, const dit_conv_args *args)
{
    dit_conv_args other = *args;
    other.below = args->above;
    right->conv(pool, &other);
}

static void wrong_group_moments(dit_pool *pool, const dit_group_norm_args *args)
{
    right->group_moments(pool, args);
    args->moments[1] *= 1.001;
}

static void wrong_timestep(dit_pool *pool, const dit_timestep_args *args)
{
    dit_timestep_args other = *args;
    other.unit = 1.0f;
    right->timestep(pool, &other);
}

static void wrong_gated_add(dit_pool *pool, const dit_gated_add_args *args)
{
    dit_gated_add_args other = *args;
    other.bias = NULL;
    right->gated_add(pool, &other);
}

static void wrong_row_squares(dit_pool *pool, const dit_row_norm_args *args)
{
    dit_row_norm_args other = *args;
    if (args->cols > 1) other.cols--;
    right->row_squares(pool, &other);
}

static void wrong_row_scale(dit_pool *pool, const dit_row_norm_args *args)
{
    dit_row_norm_args other = *args;
    other.ranks = 1;
    right->row_scale(pool, &other);
}

static void wrong_difference(dit_pool *pool, const dit_difference_args *args)
{
    dit_difference_args other = *args;
    other.b = args->a, other.a = args->b;
    right->difference(pool, &other);
}

static void wrong_linear_state(dit_pool *pool, const dit_linear_attention_args *args)
{
    dit_linear_attention_args other = *args;
    if (args->S > 1) other.S--; /* without the last key */
    right->linear_state(pool, &other);
}

static void wrong_linear_attention(dit_pool *pool, const dit_linear_attention_args *args)
{
    dit_linear_attention_args other = *args;
    other.eps += 0.1f;
    right->linear_attention(pool, &other);
}

static void wrong_depthwise(dit_pool *pool, const dit_depthwise_args *args)
{
    dit_depthwise_args other = *args;
    other.bias = NULL;
    right->depthwise(pool, &other);
}

static void wrong_depthwise_band(dit_pool *pool, const dit_depthwise_args *args)
{
    dit_depthwise_args other = *args;
    other.below = args->above;
    right->depthwise(pool, &other);
}

static dit_status bench_table(const dit_kernels *table, const char *filter)
{
    dit_kernel_bench bench = {.backend = "cpu", .threads = 2, .filter = filter};
    cJSON *report = cJSON_CreateObject();
    dit_status st = dit_kernels_bench_table(&bench, table, report);
    cJSON_Delete(report);
    return st;
}

typedef struct {
    const char *filter; /* of the cases that must fail */
    dit_kernels table;  /* `right` but for one entry   */
} broken_table;

/* A new operator needs a wrong one here, or nothing says that its cases would find a mistake. */
static void each_operator_is_broken_once(const broken_table *broken, int count)
{
    int found[DIT_OPERATOR_COUNT] = {0};
    for (int i = 0; i < count; i++) {
#define COUNT_BROKEN(ID, name, ...) found[DIT_OPERATOR_##ID] += broken[i].table.name != right->name;
        DIT_OPERATOR_LIST(COUNT_BROKEN)
#undef COUNT_BROKEN
    }
    for (int op = 0; op < DIT_OPERATOR_COUNT; op++)
        if (!found[op]) fail_msg("there is no wrong %s", dit_operator_name((dit_operator)op));
}

static void every_wrong_operator_fails_its_cases(void **state)
{
    (void)state;
    assert_int_equal(dit_kernels_get("cpu", &right), DIT_OK);
    enum { BROKEN = 29 };
    broken_table broken[BROKEN];
    for (int i = 0; i < BROKEN; i++) broken[i].table = *right;
    broken[0].filter = "linear", broken[0].table.linear = wrong_linear;
    broken[1].filter = "attention", broken[1].table.attention = wrong_attention;
    broken[2].filter = "lse", broken[2].table.attention = wrong_attention_lse;
    broken[3].filter = "attention_merge", broken[3].table.attention_merge = wrong_merge;
    broken[4].filter = "norm", broken[4].table.norm = wrong_norm;
    broken[5].filter = "rope", broken[5].table.qk_norm_rope = wrong_rope;
    broken[6].filter = "copy", broken[6].table.copy = wrong_copy;
    broken[7].filter = "combine", broken[7].table.combine = wrong_combine;
    broken[8].filter = "activate", broken[8].table.activate = wrong_activate;
    broken[9].filter = "rms", broken[9].table.norm = wrong_norm_kind;
    broken[10].filter = "qk_norm_rope", broken[10].table.qk_norm_rope = wrong_qk;
    broken[11].filter = "conv", broken[11].table.conv = wrong_conv;
    broken[12].filter = "causal", broken[12].table.conv = wrong_conv_front;
    broken[13].filter = "group_norm", broken[13].table.group_norm = wrong_group_norm;
    broken[14].filter = "groups=4 C=20", broken[14].table.group_norm = wrong_group_norm_field;
    broken[15].filter = "band", broken[15].table.conv = wrong_conv_band;
    broken[16].filter = "band", broken[16].table.group_moments = wrong_group_moments;
    broken[17].filter = "timestep", broken[17].table.timestep = wrong_timestep;
    broken[18].filter = "gated_add", broken[18].table.gated_add = wrong_gated_add;
    broken[19].filter = "row_norm", broken[19].table.row_squares = wrong_row_squares;
    broken[20].filter = "row_norm", broken[20].table.row_scale = wrong_row_scale;
    broken[21].filter = "difference", broken[21].table.difference = wrong_difference;
    broken[22].filter = "relative", broken[22].table.attention = wrong_relative;
    broken[23].filter = "multiply", broken[23].table.multiply = wrong_multiply;
    broken[24].filter = "capped", broken[24].table.attention = wrong_cap;
    broken[25].filter = "linear_attention", broken[25].table.linear_state = wrong_linear_state;
    broken[26].filter = "linear_attention", broken[26].table.linear_attention = wrong_linear_attention;
    broken[27].filter = "depthwise", broken[27].table.depthwise = wrong_depthwise;
    broken[28].filter = "depthwise", broken[28].table.depthwise = wrong_depthwise_band;
    each_operator_is_broken_once(broken, BROKEN);
    for (int i = 0; i < BROKEN; i++) {
        assert_int_equal(bench_table(right, broken[i].filter), DIT_OK);
        assert_int_equal(bench_table(&broken[i].table, broken[i].filter), DIT_ERR_MISMATCH);
    }
}

static void a_filter_that_matches_nothing_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(dit_kernels_get("cpu", &right), DIT_OK);
    assert_int_equal(bench_table(right, "no such case"), DIT_ERR_NOT_FOUND);
}

static void count_line(void *context, const char *line)
{
    assert_non_null(strstr(line, "copy"));
    if (strstr(line, " ms ")) assert_true(strstr(line, " ms [") && strstr(line, "] n="));
    ++*(int *)context;
}

static double spread_of(const cJSON *item, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(item, "spread_ns"), key));
}

/* In order, about the time that is told, of as many rounds as are told. */
static void assert_spread(const cJSON *item)
{
    static const char *const keys[] = {"min", "q1", "median", "q3", "max"};
    assert_true(spread_of(item, "min") > 0);
    for (int i = 1; i < 5; i++) assert_true(spread_of(item, keys[i - 1]) <= spread_of(item, keys[i]));
    assert_true(spread_of(item, "median") == cJSON_GetNumberValue(cJSON_GetObjectItem(item, "time_ns")));
    assert_true(spread_of(item, "min") < spread_of(item, "max"));
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(item, "rounds")) >= 5);
}

static void timing_reports_time_and_bandwidth_after_the_check(void **state)
{
    int lines = 0, timed = 0;
    dit_kernel_bench bench = {.backend = "cpu", .threads = 1, .time = true, .filter = "copy", .progress = count_line};
    cJSON *report = cJSON_CreateObject(), *item;
    (void)state;
    bench.context = &lines;
    assert_int_equal(dit_kernels_bench(&bench, report), DIT_OK);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(report, "cases"))
    {
        assert_string_equal(cJSON_GetObjectItem(item, "verdict")->valuestring, "pass");
        if (cJSON_GetObjectItem(item, "time_ns")) timed++, assert_spread(item);
        lines--;
    }
    assert_int_equal(lines, 0);
    assert_int_equal(timed, 1);
    assert_true(cJSON_GetObjectItem(report, "peak_gflop_per_s")->valuedouble > 0);
    assert_true(cJSON_GetObjectItem(report, "copy_gb_per_s")->valuedouble > 0);
    cJSON_Delete(report);
}

static void work_counts_what_the_formulas_say(void **state)
{
    (void)state;
    const dit_linear_args linear = {.weights = &(dit_linear){.n = 3, .k = 5}, .rows = 2};
    assert_true(dit_linear_work(&linear).flops == 60 && dit_linear_work(&linear).bytes == 4 * (10 + 15 + 3 + 6));
    const dit_attention_args attention = {.B = 1, .H = 2, .Sq = 3, .Sk = 5, .D = 7};
    assert_true(dit_attention_work(&attention).flops == 840 && dit_attention_work(&attention).bytes == 896);
    dit_conv_args conv = {
        .weights = &(dit_linear){.n = 3, .k = 10}, .frames = 2, .height = 3, .width = 4, .channels = 5};
    conv.out[0] = 2, conv.out[1] = 6, conv.out[2] = 1;
    assert_true(dit_conv_work(&conv).flops == 2 * 12 * 3 * 10);
    assert_true(dit_conv_work(&conv).bytes == 4 * (120 + 30 + 3 + 36));
    assert_true(dit_elementwise_work(10, 2, 1, 3).flops == 30 && dit_elementwise_work(10, 2, 1, 3).bytes == 120);
}

int main(void)
{
    const struct CMUnitTest each[] = {
        cmocka_unit_test(cpu_equals_reference),
        cmocka_unit_test(an_isa_is_what_is_used_and_forbids_those_before_it),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(an_isa_that_nobody_knows_lowers_nothing),
        cmocka_unit_test(unknown_backend_is_refused_with_the_names),
        cmocka_unit_test(every_wrong_operator_fails_its_cases),
        cmocka_unit_test(a_filter_that_matches_nothing_is_an_error),
        cmocka_unit_test(timing_reports_time_and_bandwidth_after_the_check),
        cmocka_unit_test(work_counts_what_the_formulas_say),
    };
    return run_on_each_isa(each, sizeof each / sizeof *each, others, sizeof others / sizeof *others, NULL, NULL);
}
