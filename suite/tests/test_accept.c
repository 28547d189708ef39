/* Accept: a measured interval against a predicted one. */
#include "suite/accept/accept.h"

#include "base/tests/test.h"

static suite_accept_verdict judge(double median, double low, double high)
{
    const dit_summary measured = {.n = 6, .median = median, .low = low, .high = high};
    return suite_accept_judge(2, 4, &measured);
}

static void a_median_inside_is_within(void **state)
{
    (void)state;
    assert_int_equal(judge(2, 1, 5), SUITE_ACCEPT_WITHIN);
    assert_int_equal(judge(4, 3.9, 4.1), SUITE_ACCEPT_WITHIN);
}

static void all_beyond_is_a_verdict_and_a_part_is_none(void **state)
{
    (void)state;
    assert_int_equal(judge(4.5, 4.2, 4.8), SUITE_ACCEPT_SLOWER);
    assert_int_equal(judge(4.5, 3.9, 4.8), SUITE_ACCEPT_EDGE);
    assert_int_equal(judge(1.5, 1.2, 1.9), SUITE_ACCEPT_FASTER);
    assert_int_equal(judge(1.5, 1.2, 2.1), SUITE_ACCEPT_EDGE);
}

static void every_verdict_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < SUITE_ACCEPT_COUNT; i++)
        assert_true(strlen(suite_accept_verdict_name((suite_accept_verdict)i)) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_median_inside_is_within),
                                       cmocka_unit_test(all_beyond_is_a_verdict_and_a_part_is_none),
                                       cmocka_unit_test(every_verdict_has_a_name)};
    return cmocka_run_group_tests_name("accept", tests, NULL, NULL);
}
