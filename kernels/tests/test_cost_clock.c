/* Two times of a process, the host's and the device's, and when one waits for the other. */
#include "kernels/cost/clock.h"

#include "base/tests/test.h"

static void add_seconds(void *context, double seconds)
{
    assert_true(seconds > 0);
    *(double *)context += seconds;
}

static void a_step_takes_what_the_slower_of_host_and_device_needs(void **state)
{
    double passed = 0;
    dit_cost_clock bound_by_host = {.charge = add_seconds, .context = &passed}, bound_by_device = {0};
    (void)state;
    for (int i = 0; i < 100; i++) {
        dit_cost_clock_dispatch(&bound_by_host, 20e-6, 5e-6);
        dit_cost_clock_dispatch(&bound_by_device, 5e-6, 20e-6);
    }
    assert_close(passed, 0, 0); /* nobody waits yet */
    assert_close(dit_cost_clock_synchronise(&bound_by_host, 0), 100 * 20e-6 + 5e-6, 1e-12);
    assert_close(passed, 100 * 20e-6 + 5e-6, 1e-12);
    assert_close(dit_cost_clock_synchronise(&bound_by_device, 4e-6), 5e-6 + 100 * 20e-6 + 4e-6, 1e-12);
    assert_close(dit_cost_clock_synchronise(&bound_by_host, 0), passed, 1e-12); /* again: nothing to wait for */
}

static void many_kernels_end_with_the_host_or_with_the_device(void **state)
{
    dit_cost_clock by_host = {0}, by_device = {0}, one_by_one = {0};
    (void)state;
    dit_cost_clock_dispatch_many(&by_host, 10, 100, 20);
    assert_close(by_host.host_s, 100, 0);
    assert_close(by_host.device_s, 102, 1e-12); /* the last one */
    dit_cost_clock_dispatch_many(&by_device, 10, 20, 100);
    for (int i = 0; i < 10; i++) dit_cost_clock_dispatch(&one_by_one, 2, 10);
    assert_close(by_device.device_s, one_by_one.device_s, 1e-12);
    assert_close(by_device.host_s, 20, 0);
    dit_cost_clock_dispatch_many(&by_device, 0, 5, 0); /* views alone */
    assert_close(by_device.device_s, one_by_one.device_s, 1e-12);
    assert_close(by_device.host_s, 25, 0);
}

static void messages_stand_in_the_queue_of_the_device_and_not_of_the_host(void **state)
{
    double passed = 0;
    dit_cost_clock c = {.charge = add_seconds, .context = &passed};
    (void)state;
    dit_cost_clock_dispatch(&c, 1, 10);
    assert_close(dit_cost_clock_enter(&c, 2), 11, 0);
    assert_close(passed, 11, 0);
    dit_cost_clock_leave(&c, 5);
    assert_close(c.device_s, 16, 0);
    assert_close(c.host_s, 3, 0); /* free to issue what follows */
    dit_cost_clock_dispatch(&c, 1, 1);
    assert_close(dit_cost_clock_synchronise(&c, 0), 17, 0);
    assert_close(passed, 12, 0); /* the five seconds passed with the messages */
    dit_cost_clock_dispatch(&c, 3, 0.5);
    assert_close(dit_cost_clock_enter(&c, 0), 20.5, 0); /* the host was late */
}

static void messages_issued_earlier_start_before_the_device_is_done(void **state)
{
    double passed = 0;
    dit_cost_clock c = {.charge = add_seconds, .context = &passed};
    (void)state;
    dit_cost_clock_dispatch(&c, 1, 10);
    assert_close(dit_cost_clock_enter_before(&c, 4), 7, 0);
    dit_cost_clock_leave(&c, 1); /* beside the last four seconds */
    assert_close(c.device_s, 11, 0);
    assert_close(dit_cost_clock_enter_before(&c, 4), 8, 0); /* they cannot start in the past */
    dit_cost_clock_leave(&c, 5);
    assert_close(c.device_s, 13, 0);
    assert_close(passed, 7, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_takes_what_the_slower_of_host_and_device_needs),
        cmocka_unit_test(many_kernels_end_with_the_host_or_with_the_device),
        cmocka_unit_test(messages_stand_in_the_queue_of_the_device_and_not_of_the_host),
        cmocka_unit_test(messages_issued_earlier_start_before_the_device_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
