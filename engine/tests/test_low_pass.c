/* Low frequencies of a plane: waves within the disc stay, those beyond it go, whatever their direction. */
#include "engine/cache/low_pass.h"

#include "engine/tests/cache_fixture.h"

#include <math.h>

enum { HEIGHT = 10, WIDTH = 15, CELLS = HEIGHT * WIDTH }; /* the radius is 2 */

static float wave(int64_t cell, int down, int across)
{
    const double two_pi = 2 * acos(-1.0);
    double y = (double)(cell / WIDTH), x = (double)(cell % WIDTH);
    return (float)cos(two_pi * (down * y / HEIGHT + across * x / WIDTH) + 0.4);
}

static void waves_within_the_disc_stay(void **state)
{
    dit_memory_ledger ledger = {0};
    dit_arena arena;
    dit_low_pass filter;
    float plane[CELLS];
    (void)state;
    dit_arena_init(&arena, &ledger, DIT_MEMORY_ACTIVATIONS);
    assert_ok(dit_low_pass_create(&arena, HEIGHT, WIDTH, &filter));
    assert_int_equal(filter.radius, 2);
    for (int down = -5; down <= 5; down++)
        for (int across = -7; across <= 7; across++) {
            bool stays = down * down + across * across <= 4;
            for (int64_t i = 0; i < CELLS; i++) plane[i] = wave(i, down, across) + 3;
            dit_low_pass_run(&filter, plane);
            for (int64_t i = 0; i < CELLS; i++)
                assert_float_equal(plane[i], 3 + (stays ? wave(i, down, across) : 0), 1e-5);
        }
    dit_arena_release(&arena);
}

/* A plane that is shorter than five cells has no low frequency but its mean. */
static void small_planes_keep_their_mean(void **state)
{
    dit_memory_ledger ledger = {0};
    dit_arena arena;
    dit_low_pass filter;
    float plane[] = {1, 2, 3, 4, 5, 9};
    (void)state;
    dit_arena_init(&arena, &ledger, DIT_MEMORY_ACTIVATIONS);
    assert_ok(dit_low_pass_create(&arena, 2, 3, &filter));
    dit_low_pass_run(&filter, plane);
    for (int i = 0; i < 6; i++) assert_float_equal(plane[i], 4, 1e-5);
    assert_true(dit_low_pass_flops(&filter) > 0);
    dit_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_within_the_disc_stay),
        cmocka_unit_test(small_planes_keep_their_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
