/* Groups for sequences of different lengths: lengths, cuts, what a sequence costs on a group, plans against all
 * assignments tried one by one, re-planning, documents. */
#include "suite/queue/assignment.h"
#include "suite/sequences/sequence_planner.h"
#include "suite/tests/planner_fixture.h"

#include <math.h>
#include <stdlib.h>

static const suite_sequence_question usual = {.layers = 4,
                                              .heads = 16,
                                              .head_dim = 64,
                                              .tokens = 4096,
                                              .spread = 1,
                                              .drift = 1,
                                              .batch = 24,
                                              .batches = 4,
                                              .seed = 1,
                                              .devices = 8,
                                              .memory_limit_gib = 40,
                                              .cut = SUITE_CUT_GROUPS,
                                              .replan_every = 1,
                                              .causal = true};

/* ---- lengths and cuts ---------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void lengths_are_log_normal_and_drift(void **state)
{
    enum { MANY = 4001 };
    static int64_t lengths[MANY];
    suite_sequence_question q = usual;
    double mean = 0, square = 0;
    (void)state;
    q.batch = MANY, q.tokens = 1 << 20, q.batches = 3, q.drift = 4, q.spread = 0.5;
    for (int batch = 0; batch < 3; batch++) {
        for (int i = 0; i < MANY; i++) lengths[i] = suite_sequence_tokens(&q, batch, i);
        qsort(lengths, MANY, sizeof *lengths, by_value);
        assert_true(fabs(log((double)lengths[MANY / 2] / (q.tokens * pow(2, batch)))) < 0.03);
        for (int i = 0; batch == 0 && i < MANY; i++) {
            double x = log((double)lengths[i] / q.tokens);
            mean += x / MANY, square += x * x / MANY;
            assert_int_equal(lengths[i] % SUITE_SEQUENCE_ROUND, 0);
        }
    }
    assert_true(fabs(mean) < 0.03 && fabs(sqrt(square) - 0.5) < 0.02);
    q.spread = 0, q.drift = 1;
    for (int i = 0; i < 100; i++) assert_int_equal(suite_sequence_tokens(&q, 1, i), q.tokens);
    q.tokens = 1;
    assert_int_equal(suite_sequence_tokens(&q, 0, 0), SUITE_SEQUENCE_ROUND);
}

/* Partitions into powers of two, and into any numbers (OEIS A018819, A000041). */
static void every_cut_is_listed_once(void **state)
{
    static const struct {
        suite_cut_rule rule;
        int devices, count;
    } rows[] = {{SUITE_CUT_ONE, 8, 4},      {SUITE_CUT_EQUAL, 12, 3},     {SUITE_CUT_GROUPS, 8, 10},
                {SUITE_CUT_GROUPS, 16, 36}, {SUITE_CUT_GROUPS, 64, 1828}, {SUITE_CUT_ANY, 8, 22},
                {SUITE_CUT_ANY, 16, 231},   {SUITE_CUT_ANY, 1, 1}};
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        suite_cut *cuts;
        int count;
        assert_ok(suite_cuts_list(rows[row].rule, rows[row].devices, &cuts, &count));
        assert_int_equal(count, rows[row].count);
        for (int i = 0; i < count; i++) {
            int devices = 0;
            for (int j = 0; j < cuts[i].count; j++) devices += cuts[i].sizes[j] * cuts[i].groups[j];
            assert_int_equal(devices, rows[row].devices);
            for (int j = 0; j < i && count < 300; j++) assert_false(suite_cut_is_same(&cuts[i], &cuts[j]));
        }
        free(cuts);
    }
}

static void a_cut_is_written(void **state)
{
    const suite_cut cut = {.sizes = {4, 1}, .groups = {1, 4}, .count = 2};
    char text[SUITE_CUT_TEXT];
    (void)state;
    suite_cut_text(&cut, text);
    assert_string_equal(text, "1 x 4 + 4 x 1");
}

/* ---- costs ----------------------------------------------------------------------------------------------------------- */

static void a_sequence_on_one_device_is_a_batch_of_one(void **state)
{
    const suite_layer_question chain = {
        .layers = 4, .tokens = 4096, .heads = 16, .head_dim = 64, .batch = 1, .causal = true};
    const suite_strategy alone = {1, 1, 1, false, 1};
    shipped_machine m;
    (void)state;
    open_machine("8xa100-sxm", "a100-sxm-80", &m);
    const suite_training training = {.question = &chain,
                                     .device = &m.device,
                                     .profile = &m.profile,
                                     .wires = suite_wires_of(&m.cluster, m.device.architecture, 8),
                                     .micro_batch = 1};
    suite_element_cost layer = suite_training_cost(&training, SUITE_PARTS_OF_A_LAYER, &alone);
    suite_sequence_cost one = suite_sequence_cost_of(&usual, &m.machine, 4096, 1);
    assert_true(fabs(one.seconds - 4 * layer.micro_s) < 1e-12);
    assert_true(one.activation_bytes == 4 * layer.activation_bytes && one.forward_flops == 4 * layer.forward_flops);
    suite_cluster_release(&m.cluster);
}

/* Tokens are shared, weights are not; nothing is computed twice, whichever way a group takes. */
static void a_group_shares_activations_and_flops(void **state)
{
    shipped_machine m;
    (void)state;
    open_machine("8xa100-sxm", "a100-sxm-80", &m);
    suite_sequence_cost one = suite_sequence_cost_of(&usual, &m.machine, 1 << 17, 1);
    for (int size = 2; size <= 8; size *= 2) {
        suite_sequence_cost group = suite_sequence_cost_of(&usual, &m.machine, 1 << 17, size);
        assert_true(fabs(group.activation_bytes * size - one.activation_bytes) < 1e-9 * one.activation_bytes);
        assert_true(fabs(group.forward_flops - one.forward_flops) < 1e-9 * one.forward_flops);
        assert_true(group.seconds < one.seconds && group.seconds > one.seconds / size);
    }
    double c = 1024, parameters = 4 * (12 * c * c + 13 * c);
    assert_true(fabs(suite_sequence_state_bytes(&usual, &m.machine) - parameters * (4 + 12.0 / 8)) < 1);
    suite_cluster_release(&m.cluster);
}

/* Sixteen heads are not shared by three: a ring is. */
static void a_group_of_three_is_a_ring(void **state)
{
    shipped_machine m;
    (void)state;
    open_machine("8xa100-sxm", "a100-sxm-80", &m);
    suite_sequence_cost three = suite_sequence_cost_of(&usual, &m.machine, 3 << 15, 3);
    assert_true(isfinite(three.seconds));
    suite_sequence_cost one = suite_sequence_cost_of(&usual, &m.machine, 3 << 15, 1);
    assert_true(three.seconds > one.seconds / 3 && three.seconds < one.seconds);
    suite_cluster_release(&m.cluster);
}

/* A short sequence loses more to exchanges than it gains by company. */
static void short_sequences_are_cheapest_alone(void **state)
{
    shipped_machine m;
    (void)state;
    open_machine("8xl40", "l40", &m);
    double one = suite_sequence_cost_of(&usual, &m.machine, 512, 1).seconds;
    for (int size = 2; size <= 8; size *= 2)
        assert_true(size * suite_sequence_cost_of(&usual, &m.machine, 512, size).seconds > one);
    suite_cluster_release(&m.cluster);
}

/* ---- plans ----------------------------------------------------------------------------------------------------------- */

static void plan(const shipped_machine *m, const suite_sequence_question *q, suite_sequence_plan *out)
{
    assert_ok(suite_sequence_question_check(q));
    assert_ok(suite_sequence_plan_make(q, &m->machine, out));
}

static void what_allows_more_is_never_slower(void **state)
{
    shipped_machine m;
    int better[SUITE_CUT_COUNT] = {0};
    (void)state;
    open_machine("8xh100-sxm", "h100-sxm-80", &m);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        suite_sequence_plan plans[SUITE_CUT_COUNT];
        for (int rule = 0; rule < SUITE_CUT_COUNT; rule++) {
            suite_sequence_question q = usual;
            q.seed = seed, q.cut = (suite_cut_rule)rule, q.replan_every = rule > 0;
            plan(&m, &q, &plans[rule]);
            assert_true(plans[rule].found);
        }
        for (int batch = 0; batch < usual.batches; batch++)
            for (int rule = 1; rule < SUITE_CUT_COUNT; rule++) {
                const suite_sequence_batch *more = &plans[rule].batches[batch], *less = &plans[rule - 1].batches[batch];
                assert_true(more->seconds <= less->seconds * (1 + 1e-12));
                assert_true(more->seconds >= more->bound_s * (1 - 1e-12));
                assert_true(more->seconds <= more->one_s * (1 + 1e-12));
                better[rule] += more->seconds < 0.999 * less->seconds;
            }
        for (int rule = 0; rule < SUITE_CUT_COUNT; rule++) suite_sequence_plan_release(&plans[rule]);
    }
    assert_true(better[SUITE_CUT_GROUPS] > 0 && better[SUITE_CUT_ANY] > 0); /* else the comparison shows nothing */
    suite_cluster_release(&m.cluster);
}

/* Every assignment of the sequences to the groups of every cut; the oracle. */
static double try_all(const double *times, int sequences, int devices, const suite_cut *cuts, int cut_count)
{
    double best = INFINITY;
    for (int c = 0; c < cut_count; c++) {
        int sizes[16], groups = 0;
        for (int j = 0; j < cuts[c].count; j++)
            for (int k = 0; k < cuts[c].groups[j]; k++) sizes[groups++] = cuts[c].sizes[j];
        long choices = lround(pow(groups, sequences));
        for (long choice = 0; choice < choices; choice++) {
            double loads[16] = {0}, longest = 0;
            long rest = choice;
            for (int i = 0; i < sequences; i++, rest /= groups)
                loads[rest % groups] += times[i * (devices + 1) + sizes[rest % groups]];
            for (int g = 0; g < groups; g++) longest = fmax(longest, loads[g]);
            best = fmin(best, longest);
        }
    }
    return best;
}

static void plans_are_near_the_best_of_all_assignments(void **state)
{
    enum { SEQUENCES = 6, DEVICES = 4 };
    shipped_machine m;
    int equal = 0;
    (void)state;
    open_machine("8xh100-sxm", "h100-sxm-80", &m);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        double times[SEQUENCES * (DEVICES + 1)];
        suite_sequence_question q = usual;
        suite_sequence_plan made;
        suite_cut *cuts;
        int count;
        q.batch = SEQUENCES, q.batches = 1, q.devices = DEVICES, q.seed = seed, q.cut = SUITE_CUT_ANY;
        for (int i = 0; i < SEQUENCES; i++)
            for (int size = 1; size <= DEVICES; size++)
                times[i * (DEVICES + 1) + size] =
                    suite_sequence_cost_of(&q, &m.machine, suite_sequence_tokens(&q, 0, i), size).seconds;
        assert_ok(suite_cuts_list(q.cut, DEVICES, &cuts, &count));
        double best = try_all(times, SEQUENCES, DEVICES, cuts, count), end = suite_sequence_end_seconds(&q, &m.machine);
        plan(&m, &q, &made);
        assert_true(made.seconds >= (best + end) * (1 - 1e-9) && made.seconds <= 4.0 / 3 * best + end);
        assert_true(made.bound_s <= (best + end) * (1 + 1e-9));
        equal += made.seconds < (best + end) * (1 + 1e-9);
        suite_sequence_plan_release(&made);
        free(cuts);
    }
    assert_true(equal >= 9); /* of 12: rules and exchanges find the best most of the time */
    suite_cluster_release(&m.cluster);
}

static void what_does_not_fit_is_said_with_what_it_needs(void **state)
{
    static const double gib = 1024.0 * 1024 * 1024;
    shipped_machine m;
    suite_sequence_plan made;
    suite_sequence_question q = usual;
    (void)state;
    open_machine("8xh100-sxm", "h100-sxm-80", &m);
    q.memory_limit_gib = 0.5;
    plan(&m, &q, &made);
    assert_false(made.found);
    assert_true(made.fullest_bytes > 0.5 * gib);
    q.memory_limit_gib = made.fullest_bytes / gib * (1 + 1e-9);
    suite_sequence_plan_release(&made);
    plan(&m, &q, &made);
    assert_true(made.found && made.fullest_bytes <= q.memory_limit_gib * gib);
    suite_sequence_plan_release(&made);
    suite_cluster_release(&m.cluster);
}

/* ---- planning again -------------------------------------------------------------------------------------------------- */

static void a_plan_changes_only_where_it_may_and_where_that_pays(void **state)
{
    shipped_machine m;
    suite_sequence_plan never, always, dear, seldom;
    suite_sequence_question q = usual;
    (void)state;
    open_machine("8xh100-sxm", "h100-sxm-80", &m);
    q.batches = 12, q.drift = 8, q.spread = 0.6, q.tokens = 1024;
    plan(&m, &q, &always);
    q.replan_every = 0;
    plan(&m, &q, &never);
    q.replan_every = 5;
    plan(&m, &q, &seldom);
    q.replan_every = 1, q.replan_s = 1e5;
    plan(&m, &q, &dear);
    assert_true(always.found && never.found && seldom.found && dear.found);
    assert_int_equal(never.changes, 0);
    assert_int_equal(dear.changes, 0);
    assert_true(fabs(dear.seconds - never.seconds) < 1e-9 * never.seconds);
    assert_true(always.changes > 0 && always.seconds < 0.999 * never.seconds);
    for (int batch = 0; batch < seldom.count; batch++) assert_true(batch % 5 == 0 || !seldom.batches[batch].changed);
    q.replan_s = 1e-3; /* and what changes take is counted */
    suite_sequence_plan_release(&dear);
    plan(&m, &q, &dear);
    double changes = 0;
    for (int batch = 0; batch < dear.count; batch++) changes += dear.batches[batch].changed;
    assert_int_equal((int)changes, dear.changes);
    assert_true(dear.seconds >= always.seconds && dear.seconds <= always.seconds + always.changes * 1e-3 + 1e-9);
    suite_sequence_plan_release(&never);
    suite_sequence_plan_release(&always);
    suite_sequence_plan_release(&dear);
    suite_sequence_plan_release(&seldom);
    suite_cluster_release(&m.cluster);
}

/* ---- questions ------------------------------------------------------------------------------------------------------- */

static void a_question_is_read_back(void **state)
{
    suite_sequence_question q = usual, read;
    dit_json_writer w = {0};
    (void)state;
    q.vocabulary = 50257, q.drift = 0.5, q.replan_every = 3, q.replan_s = 2.5, q.cut = SUITE_CUT_ANY;
    cJSON *document = dit_json_new_object(&w);
    suite_sequence_question_put(&w, &q, document);
    const dit_json doc = {.root = document, .path = (char *)(uintptr_t) "test"};
    assert_ok(suite_sequence_question_read(&doc, &read));
    assert_memory_equal(&read, &q, sizeof q);
    cJSON_SetNumberHelper(
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(document, "cut"), "devices"), 129);
    assert_int_equal(suite_sequence_question_read(&doc, &read), DIT_ERR_JSON_VALUE);
    cJSON_Delete(document);
}

static void what_cannot_be_planned_is_refused(void **state)
{
    suite_sequence_question q = usual;
    suite_sequence_plan made;
    shipped_machine m;
    (void)state;
    q.cut = SUITE_CUT_ONE;
    assert_int_equal(suite_sequence_question_check(&q), DIT_ERR_CONSTRAINT_METHOD);
    q.cut = SUITE_CUT_ANY, q.devices = 64;
    assert_int_equal(suite_sequence_question_check(&q), DIT_ERR_CONSTRAINT_PRODUCT);
    q = usual, q.replan_every = 5;
    assert_int_equal(suite_sequence_question_check(&q), DIT_ERR_CONSTRAINT_BATCH);
    q = usual, q.batch = 4096, q.batches = 1024;
    assert_int_equal(suite_sequence_question_check(&q), DIT_ERR_CONSTRAINT_BATCH);
    q = usual, q.cut = SUITE_CUT_ANY, q.devices = 16;
    open_machine("2x8xl40", "l40", &m);
    assert_int_equal(suite_sequence_plan_make(&q, &m.machine, &made), DIT_ERR_CONSTRAINT_PRODUCT);
    suite_cluster_release(&m.cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_log_normal_and_drift),
        cmocka_unit_test(every_cut_is_listed_once),
        cmocka_unit_test(a_cut_is_written),
        cmocka_unit_test(a_sequence_on_one_device_is_a_batch_of_one),
        cmocka_unit_test(a_group_shares_activations_and_flops),
        cmocka_unit_test(a_group_of_three_is_a_ring),
        cmocka_unit_test(short_sequences_are_cheapest_alone),
        cmocka_unit_test(what_allows_more_is_never_slower),
        cmocka_unit_test(plans_are_near_the_best_of_all_assignments),
        cmocka_unit_test(what_does_not_fit_is_said_with_what_it_needs),
        cmocka_unit_test(a_plan_changes_only_where_it_may_and_where_that_pays),
        cmocka_unit_test(a_question_is_read_back),
        cmocka_unit_test(what_cannot_be_planned_is_refused),
    };
    return cmocka_run_group_tests(tests, use_shipped, NULL);
}
