/* Bus factors against counted bytes: of S bytes, what passes a rank's link one way where nothing passes twice without
 * need. */
#include "engine/programs/collective.h"

#include "base/tests/test.h"

enum { MOST = 64 };

/* A ring: each rank sends one of n parts of S in each of `rounds` rounds. */
static double around_a_ring(int ranks, int rounds)
{
    double sent = 0;
    for (int round = 0; round < rounds; round++) sent += 1.0 / ranks;
    return sent;
}

static void factors_are_what_a_ring_sends(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        assert_true(fabs(dit_collective_bus_factor("all_gather", n) - around_a_ring(n, n - 1)) <= 1e-12);
        assert_true(fabs(dit_collective_bus_factor("reduce_scatter", n) - around_a_ring(n, n - 1)) <= 1e-12);
        assert_true(fabs(dit_collective_bus_factor("all_reduce", n) - around_a_ring(n, 2 * (n - 1))) <= 1e-12);
    }
}

/* Every rank sends a part to each other. */
static void of_an_all_to_all_the_own_part_stays(void **state)
{
    (void)state;
    assert_true(fabs(dit_collective_bus_factor("all_to_all", 2) - 0.5) <= 1e-12);
    assert_true(fabs(dit_collective_bus_factor("all_to_all", 8) - 7.0 / 8) <= 1e-12);
}

static void a_message_goes_over_its_link_once(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) assert_true(fabs(dit_collective_bus_factor("send_recv", n) - 1) <= 1e-12);
    assert_true(fabs(dit_collective_bus_factor("broadcast", 4) - 0) <= 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_what_a_ring_sends),
        cmocka_unit_test(of_an_all_to_all_the_own_part_stays),
        cmocka_unit_test(a_message_goes_over_its_link_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
