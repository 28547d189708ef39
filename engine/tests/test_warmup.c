/* Warm-up: when times are steady. */
#include "base/tests/test.h"
#include "engine/results/warmup.h"

static void two_runs_in_a_row_that_are_alike_end_it(void **state)
{
    (void)state;
    static const int64_t slow_starts[] = {3000, 2000, 1500, 1000, 1029};
    for (int count = 0; count < 5; count++) assert_false(dit_warmup_is_over(slow_starts, count));
    assert_true(dit_warmup_is_over(slow_starts, 5)); /* 2.9 % */
    static const int64_t rising[] = {1000, 1031};
    assert_false(dit_warmup_is_over(rising, 2));
    static const int64_t equal[] = {7, 7};
    assert_true(dit_warmup_is_over(equal, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_runs_in_a_row_that_are_alike_end_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
