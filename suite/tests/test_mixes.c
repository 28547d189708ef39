/* Mixes: partitions of devices, assignments against enumeration, and the gap to what nothing can be under. */
#include "base/tests/test.h"

#include "base/rng.h"
#include "suite/queue/assignment.h"

enum { D = SUITE_PARTITION_DEGREES, MOST = 64 };

static double random_up_to(uint64_t index, double most)
{
    return most * (1 + (double)dit_rng_below(3, 9, index, 1000)) / 1000;
}

/* Requests whose work is spread by `spread`: on 2^d devices work / 2^d and an overhead that grows with d. */
static void make(double *seconds, int requests, uint64_t seed, double spread)
{
    for (int i = 0; i < requests; i++) {
        double work = exp(random_up_to(seed * 1000 + (uint64_t)i, spread));
        for (int d = 0; d < D; d++) seconds[i * D + d] = work / (1 << d) + 0.05 * d;
    }
}

static void devices_are_cut_into_powers_of_two_in_known_numbers(void **state)
{
    static const int rows[][2] = {{1, 1}, {2, 2}, {3, 2}, {8, 10}, {16, 36}, {32, 202}, {64, 1828}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        suite_partition *list;
        int count, degrees[SUITE_PARTITION_DEVICES];
        assert_ok(suite_partitions_of(rows[i][0], &list, &count));
        assert_int_equal(count, rows[i][1]);
        for (int j = 0; j < count; j++) {
            int groups = suite_partition_groups(&list[j], degrees), devices = 0;
            for (int g = 0; g < groups; g++) devices += 1 << degrees[g];
            assert_int_equal(devices, rows[i][0]);
            for (int k = 0; k < j; k++) assert_memory_not_equal(&list[j], &list[k], sizeof *list);
        }
        free(list);
    }
    suite_partition *none;
    int count;
    assert_fails(suite_partitions_of(0, &none, &count), DIT_ERR_USAGE, "0 devices");
    assert_fails(suite_partitions_of(129, &none, &count), DIT_ERR_USAGE, "129 devices");
}

/* Every assignment of at most six requests, one after the other. */
static double enumerate(const double *seconds, int requests, const suite_partition *partition)
{
    int degrees[SUITE_PARTITION_DEVICES], groups = suite_partition_groups(partition, degrees), all = 1;
    double best = INFINITY;
    for (int i = 0; i < requests; i++) all *= groups;
    for (int code = 0; code < all; code++) {
        double loads[SUITE_PARTITION_DEVICES] = {0}, most = 0;
        for (int i = 0, rest = code; i < requests; i++, rest /= groups)
            loads[rest % groups] += seconds[i * D + degrees[rest % groups]];
        for (int g = 0; g < groups; g++) most = isnan(loads[g]) ? INFINITY : fmax(most, loads[g]);
        best = fmin(best, most);
    }
    return best;
}

static double seconds_as_assigned(const double *seconds, int requests, const suite_assignment *assignment)
{
    int degrees[SUITE_PARTITION_DEVICES], groups = suite_partition_groups(&assignment->partition, degrees);
    double loads[SUITE_PARTITION_DEVICES] = {0}, most = 0;
    for (int i = 0; i < requests; i++) {
        assert_true(assignment->group[i] >= 0 && assignment->group[i] < groups);
        loads[assignment->group[i]] += seconds[i * D + degrees[assignment->group[i]]];
    }
    for (int g = 0; g < groups; g++) most = fmax(most, loads[g]);
    return most;
}

static void search_finds_what_enumeration_finds(void **state)
{
    double seconds[6 * D], worst = 0;
    suite_partition *list;
    int count;
    (void)state;
    assert_ok(suite_partitions_of(8, &list, &count));
    for (uint64_t seed = 0; seed < 20; seed++) {
        const suite_mix mix = {seconds, 6};
        make(seconds, 6, seed, 3);
        if (seed % 2) seconds[0] = seconds[D] = NAN; /* two requests do not fit on one device */
        for (int i = 0; i < count; i++) {
            suite_assignment exact, rules;
            double want = enumerate(seconds, 6, &list[i]);
            if (!isfinite(want)) {
                assert_fails(suite_assign(&mix, &list[i], &exact), DIT_ERR_USAGE, "no group");
                continue;
            }
            assert_ok(suite_assign(&mix, &list[i], &exact));
            assert_ok(suite_assign_by_rules(&mix, &list[i], &rules));
            assert_true(exact.exact && !rules.exact);
            assert_near(exact.seconds, want, 1e-9);
            assert_near(seconds_as_assigned(seconds, 6, &exact), exact.seconds, 1e-9);
            assert_near(seconds_as_assigned(seconds, 6, &rules), rules.seconds, 1e-9);
            assert_true(rules.seconds >= want - 1e-9);
            worst = fmax(worst, rules.seconds / want - 1);
            suite_assignment_release(&exact);
            suite_assignment_release(&rules);
        }
    }
    free(list);
    print_message("# rules are at most %.1f %% above the best of six requests on eight devices\n", 100 * worst);
    assert_true(worst < 1.0 / 3); /* Graham's bound for equal groups */
}

/* Longest first makes 3 + 2 + 2 and 3 + 2 of these; one swap makes two equal halves. */
static void exchanging_mends_what_longest_first_spoils(void **state)
{
    static const double work[] = {3, 3, 2, 2, 2};
    double seconds[5 * D];
    const suite_mix mix = {seconds, 5};
    const suite_partition two = {{2}};
    suite_assignment found;
    (void)state;
    for (int i = 0; i < 5 * D; i++) seconds[i] = work[i / D];
    assert_ok(suite_assign_by_rules(&mix, &two, &found));
    assert_near(found.seconds, 6, 1e-9);
    assert_false(found.exact);
    suite_assignment_release(&found);
}

static void nothing_is_under_the_bound_and_adapting_never_loses(void **state)
{
    double seconds[MOST * D], widest = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        const int requests = seed % 3 == 0 ? 40 : 10;
        const suite_mix mix = {seconds, requests};
        suite_assignment best, equal;
        make(seconds, requests, 50 + seed, 4);
        assert_ok(suite_assign_best(&mix, 8, &best, &equal));
        double bound = suite_assignment_bound(&mix, 8);
        assert_true(best.seconds >= bound - 1e-9);
        assert_true(best.seconds <= equal.seconds);
        assert_near(seconds_as_assigned(seconds, requests, &best), best.seconds, 1e-9);
        widest = fmax(widest, best.seconds / bound - 1);
        suite_assignment_release(&best);
        suite_assignment_release(&equal);
    }
    print_message("# the best of all partitions is at most %.1f %% above the bound\n", 100 * widest);
    assert_true(widest < 1);
}

/* Requests that are alike gain nothing from unequal groups; the wider they are spread, the more they gain. */
static void the_gain_grows_with_the_spread(void **state)
{
    double gains[2] = {0, 0}, seconds[12 * D];
    const suite_mix mix = {seconds, 12};
    (void)state;
    for (int wide = 0; wide < 2; wide++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            suite_assignment best, equal;
            make(seconds, 12, 200 + seed, wide ? 4 : 0.1);
            assert_ok(suite_assign_best(&mix, 8, &best, &equal));
            gains[wide] += (equal.seconds / best.seconds - 1) / 10;
            suite_assignment_release(&best);
            suite_assignment_release(&equal);
        }
    print_message("# unequal groups are sooner by %.1f %% with requests alike, by %.1f %% with a wide spread\n",
                  100 * gains[0], 100 * gains[1]);
    assert_true(gains[1] > gains[0]);
}

static void the_bound_is_of_work_or_of_the_longest(void **state)
{
    double seconds[2 * D];
    const suite_mix mix = {seconds, 2};
    (void)state;
    for (int d = 0; d < D; d++) seconds[d] = 8.0 / (1 << d) + 1, seconds[D + d] = 1;
    assert_near(suite_assignment_bound(&mix, 8), 2, 1e-12); /* the first alone on eight        */
    assert_near(suite_assignment_bound(&mix, 2), 5, 1e-12); /* on two, against (9 + 1) / 2 = 5 */
    assert_near(suite_assignment_bound(&mix, 1), 10, 1e-12);
}

static void mixes_that_mean_nothing_are_refused(void **state)
{
    double seconds[2 * D];
    suite_mix mix = {seconds, 2};
    const suite_partition one = {{1}};
    suite_assignment found, equal;
    (void)state;
    for (int i = 0; i < 2 * D; i++) seconds[i] = i == D ? NAN : 1;
    assert_fails(suite_assign(&mix, &one, &found), DIT_ERR_USAGE, "request 1 can be served by no group");
    assert_fails(suite_assign_best(&mix, 1, &found, &equal), DIT_ERR_USAGE, "no partition of 1 devices");
    seconds[3] = -1;
    assert_fails(suite_assign(&mix, &one, &found), DIT_ERR_USAGE, "request 0 takes -1 s on 8 devices");
    mix.requests = 0;
    assert_fails(suite_assign(&mix, &one, &found), DIT_ERR_USAGE, "0 requests");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_cut_into_powers_of_two_in_known_numbers),
        cmocka_unit_test(search_finds_what_enumeration_finds),
        cmocka_unit_test(exchanging_mends_what_longest_first_spoils),
        cmocka_unit_test(nothing_is_under_the_bound_and_adapting_never_loses),
        cmocka_unit_test(the_gain_grows_with_the_spread),
        cmocka_unit_test(the_bound_is_of_work_or_of_the_longest),
        cmocka_unit_test(mixes_that_mean_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
