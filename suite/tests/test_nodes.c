/* Effects of nodes: the slow one is named where placements tell the nodes apart, and nothing is said where they do not.
 */
#include "suite/compare/nodes.h"

#include "base/rng.h"
#include "base/tests/test.h"

enum { CASES = 3, PROCESSES = 15 };

static report_process processes[CASES][PROCESSES];
static char hosts[CASES][PROCESSES][64];
static report_case cases[CASES];
static report_table table;
static suite_nodes nodes;
static char measured[] = "measured", simulated[] = "simulated";
static int drawn;

static double noise(double deviation)
{
    float value;
    dit_rng_normal(5, 3, (uint64_t)drawn++, 1, 0, (float)deviation, &value);
    return exp((double)value);
}

/* Process p of each case runs on `each` nodes of `count`, from node p on. Node `slow` makes it slower by `share`. */
static void place(int count, int each, int slow, double share)
{
    table = (report_table){.cases = cases, .case_count = CASES};
    for (int c = 0; c < CASES; c++) {
        cases[c] = (report_case){.evidence = measured, .processes = processes[c], .process_count = PROCESSES};
        for (int p = 0; p < PROCESSES; p++) {
            double latency = (c + 1) * 0.5 * noise(0.01);
            hosts[c][p][0] = '\0';
            for (int k = 0; k < each; k++) {
                int node = (p + k) % count;
                sprintf(hosts[c][p] + strlen(hosts[c][p]), "n%d\n", node);
                if (node == slow) latency *= 1 + share;
            }
            processes[c][p] = (report_process){.process = p, .hosts = hosts[c][p]};
            for (int m = 0; m < REPORT_METRIC_COUNT; m++) processes[c][p].metric[m] = NAN;
            processes[c][p].metric[REPORT_LATENCY] = latency;
        }
    }
}

static int estimate(void)
{
    suite_nodes_release(&nodes);
    assert_ok(suite_nodes_estimate(&table, &nodes));
    return nodes.count;
}

static int tear_down(void **state)
{
    (void)state;
    suite_nodes_release(&nodes);
    return 0;
}

static int count_slow(void)
{
    int count = 0;
    for (int i = 0; i < nodes.count; i++) count += nodes.rows[i].is_slow;
    return count;
}

static void a_slow_node_is_named_with_its_effect(void **state)
{
    (void)state;
    for (int each = 1; each <= 3; each++) {
        place(5, each, 2, 0.08);
        assert_int_equal(estimate(), 5);
        assert_string_equal(nodes.rows[0].name, "n2");
        assert_true(nodes.rows[0].is_slow);
        assert_near(nodes.rows[0].ratio, 1.08, 0.02);
        assert_true(nodes.rows[0].low < 1.08 && 1.08 < nodes.rows[0].high);
        assert_int_equal(nodes.rows[0].placements, CASES * PROCESSES / 5 * each);
        assert_int_equal(count_slow(), 1);
        assert_int_equal(nodes.processes, CASES * PROCESSES);
        assert_int_equal(nodes.cases, CASES);
    }
}

/* Against what least squares give by hand: two nodes, one case, times 1, 1, 2, 4 on nodes a, a, b, b. */
static void two_nodes_by_hand(void **state)
{
    (void)state;
    static const double times[] = {1, 1, 2, 4, 1, 4};
    place(2, 1, -1, 0);
    table.case_count = 1;
    cases[0].process_count = 6;
    for (int p = 0; p < 6; p++) {
        strcpy(hosts[0][p], p == 2 || p == 3 || p == 5 ? "b\n" : "a\n");
        processes[0][p].metric[REPORT_LATENCY] = times[p];
    }
    assert_int_equal(estimate(), 2);
    assert_string_equal(nodes.rows[0].name, "b");
    /* means of logarithms: 0 and 5/3 log 2; two samples of three, pooled variance of (0, log 2 / sqrt 3) */
    assert_near(nodes.rows[0].ratio, exp(5 * log(2) / 3), 1e-9);
    assert_near(nodes.rows[0].ratio * nodes.rows[1].ratio, 1, 1e-9);
    double error = log(2) * sqrt(2.0 / 3 / 4) * sqrt(2.0 / 3), quantile = 5.597568; /* of Student, 4, 1 - 0.01 / 4 */
    assert_near(log(nodes.rows[0].high / nodes.rows[0].ratio), error * quantile, 1e-4);
    assert_int_equal(count_slow(), 0); /* the interval is too wide */
}

static void equal_nodes_are_not_suspect(void **state)
{
    (void)state;
    int alarms = 0;
    for (int trial = 0; trial < 200; trial++) {
        place(5, 2, -1, 0);
        assert_int_equal(estimate(), 5);
        alarms += count_slow();
    }
    assert_true(alarms <= 4); /* one in a hundred at most, and the least slowdown makes it less */
}

static void nothing_is_said_where_placements_do_not_tell(void **state)
{
    (void)state;
    place(3, 3, 1, 0.5); /* all nodes, always */
    assert_int_equal(estimate(), 0);
    place(1, 1, 0, 0.5); /* one node */
    assert_int_equal(estimate(), 0);
    place(4, 2, 1, 0.5); /* n0 with n1, n2 with n3: never apart */
    for (int c = 0; c < CASES; c++)
        for (int p = 0; p < PROCESSES; p++) strcpy(hosts[c][p], p % 2 ? "n0\nn1\n" : "n2\nn3\n");
    assert_int_equal(estimate(), 0);
    place(4, 2, 1, 0.5); /* in a ring of four, n0 and n2 against n1 and n3 cannot be told apart */
    assert_int_equal(estimate(), 0);
    place(4, 1, 1, 0.5);
    for (int c = 0; c < CASES; c++) /* each case on nodes of its own */
        for (int p = 0; p < PROCESSES; p++) sprintf(hosts[c][p], "n%d\n", c);
    assert_int_equal(estimate(), 0);
    place(4, 1, 1, 0.5);
    for (int c = 0; c < CASES; c++)
        for (int p = 0; p < PROCESSES; p++) processes[c][p].hosts = NULL;
    assert_int_equal(estimate(), 0);
    place(PROCESSES, 1, 1, 0.5); /* as many nodes as processes: every effect fits, none is known */
    table.case_count = 1;
    assert_int_equal(estimate(), 0);
}

static void what_failed_and_what_was_simulated_does_not_count(void **state)
{
    (void)state;
    place(3, 1, 1, 0.2);
    for (int p = 0; p < PROCESSES; p++) processes[0][p].status = DIT_OUTCOME_FAILED;
    cases[1].evidence = simulated;
    assert_int_equal(estimate(), 3);
    assert_int_equal(nodes.cases, 1);
    assert_int_equal(nodes.processes, PROCESSES);
    assert_string_equal(nodes.rows[0].name, "n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_node_is_named_with_its_effect),
        cmocka_unit_test(two_nodes_by_hand),
        cmocka_unit_test(equal_nodes_are_not_suspect),
        cmocka_unit_test(nothing_is_said_where_placements_do_not_tell),
        cmocka_unit_test(what_failed_and_what_was_simulated_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
