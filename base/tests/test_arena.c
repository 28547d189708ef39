/* Arena: alignment, counting, peaks, limits, marks, and that repeated passes ask the system for nothing. */
#include "base/arena.h"

#include "base/tests/test.h"

typedef struct {
    dit_memory_ledger ledger;
    dit_arena arena;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){0};
    dit_arena_init(&f.arena, &f.ledger, DIT_MEMORY_ACTIVATIONS);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    dit_arena_release(&f->arena);
    assert_int_equal(f->ledger.total_used, 0);
    return 0;
}

static char *take(fixture *f, int64_t bytes)
{
    void *out;
    assert_int_equal(dit_arena_alloc(&f->arena, bytes, &out), DIT_OK);
    return out;
}

static void allocations_are_aligned_zeroed_and_apart(void **state)
{
    fixture *f = *state;
    char *previous = NULL;
    for (size_t bytes = 0; bytes < 5000000; bytes = bytes * 2 + 7) {
        char *p = take(f, (int64_t)bytes);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t i = 0; i < bytes; i += 97) assert_int_equal(p[i], 0);
        memset(p, 0xAB, bytes);
        assert_true(!previous || p != previous || bytes == 0);
        previous = bytes ? p : NULL;
    }
}

static void alloc_zeroes_what_an_earlier_pass_left(void **state)
{
    fixture *f = *state;
    memset(take(f, 1000), 0xFF, 1000);
    dit_arena_reset(&f->arena);
    char *p = take(f, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(p[i], 0);
}

static void bytes_are_counted_by_class_with_peaks(void **state)
{
    fixture *f = *state;
    dit_arena weights;
    void *out;
    dit_arena_init(&weights, &f->ledger, DIT_MEMORY_WEIGHTS);
    assert_int_equal(dit_arena_alloc(&weights, 100, &out), DIT_OK);
    take(f, 64);
    take(f, 1);
    assert_int_equal(f->ledger.used[DIT_MEMORY_WEIGHTS], 128);
    assert_int_equal(f->ledger.used[DIT_MEMORY_ACTIVATIONS], 128);
    assert_int_equal(f->ledger.total_used, 256);
    dit_arena_release(&weights);
    take(f, 64);
    assert_int_equal(f->ledger.peak[DIT_MEMORY_WEIGHTS], 128);
    assert_int_equal(f->ledger.peak[DIT_MEMORY_ACTIVATIONS], 192);
    assert_int_equal(f->ledger.total_used, 192);
    assert_int_equal(f->ledger.total_peak, 256); /* not the sum of the classes' peaks */
    assert_string_equal(dit_memory_class_name(DIT_MEMORY_COMM), "communication");
}

static void the_limit_refuses_and_names_the_numbers(void **state)
{
    fixture *f = *state;
    void *out = &f;
    f->ledger.limit = 1024;
    take(f, 512);
    take(f, 512);
    assert_int_equal(dit_arena_alloc(&f->arena, 1, &out), DIT_ERR_MEMORY);
    assert_null(out);
    assert_non_null(
        strstr(dit_error_last()->message, "class activations asks for 64 bytes, but 1024 of 1024 are in use"));
    assert_int_equal(f->ledger.total_used, 1024);
    dit_arena_reset(&f->arena);
    take(f, 1024);
}

/* An allocation that fails at any limit leaves the arena as it was. */
static void every_limit_fails_cleanly(void **state)
{
    fixture *f = *state;
    for (int64_t limit = 64; limit < 64 * 40; limit += 64) {
        dit_status st = DIT_OK;
        int64_t before = 0;
        void *out;
        f->ledger.limit = limit;
        for (int i = 1; st == DIT_OK; i++) {
            before = f->ledger.total_used;
            st = dit_arena_alloc(&f->arena, i * 64, &out);
        }
        assert_int_equal(st, DIT_ERR_MEMORY);
        assert_int_equal(f->ledger.total_used, before);
        assert_true(before <= limit);
        dit_arena_reset(&f->arena);
    }
}

static void impossible_sizes_are_refused(void **state)
{
    fixture *f = *state;
    void *out;
    float *floats;
    assert_int_equal(dit_arena_alloc(&f->arena, -1, &out), DIT_ERR_MEMORY);
    assert_int_equal(dit_arena_alloc(&f->arena, INT64_MAX, &out), DIT_ERR_MEMORY);
    assert_int_equal(dit_arena_activations(&f->arena, -1, &floats), DIT_ERR_MEMORY);
    assert_int_equal(dit_arena_activations(&f->arena, INT64_MAX / 2, &floats), DIT_ERR_MEMORY);
    assert_int_equal(f->ledger.total_used, 0);
}

/* What a denoising step does: several sizes, some past the block, scratch inside. */
static void one_pass(fixture *f)
{
    take(f, 300000);
    dit_arena_mark mark = dit_arena_get_mark(&f->arena);
    take(f, 900000);
    take(f, 3000000);
    dit_arena_release_to(&f->arena, mark);
    take(f, 2500000);
    take(f, 10);
}

static void a_second_pass_asks_the_system_for_nothing(void **state)
{
    fixture *f = *state;
    one_pass(f);
    dit_arena_reset(&f->arena);
    int64_t calls = f->ledger.calls, peak = f->ledger.total_peak;
    for (int pass = 0; pass < 3; pass++) {
        one_pass(f);
        dit_arena_reset(&f->arena);
    }
    assert_int_equal(f->ledger.calls, calls);
    assert_int_equal(f->ledger.total_peak, peak);
}

static void scratch_past_a_mark_settles_without_a_reset(void **state)
{
    fixture *f = *state;
    take(f, 1000000);
    int64_t calls = 0;
    for (int pass = 0; pass < 4; pass++) {
        dit_arena_mark mark = dit_arena_get_mark(&f->arena);
        take(f, 500000);
        take(f, 4000000);
        dit_arena_release_to(&f->arena, mark);
        if (pass == 0) calls = f->ledger.calls;
    }
    assert_int_equal(f->ledger.calls, calls);
}

static void marks_nest_and_keep_what_was_before(void **state)
{
    fixture *f = *state;
    dit_arena_mark empty = dit_arena_get_mark(&f->arena);
    char *kept = take(f, 100);
    memset(kept, 7, 100);
    dit_arena_mark outer = dit_arena_get_mark(&f->arena);
    take(f, 2000000);
    dit_arena_mark inner = dit_arena_get_mark(&f->arena);
    take(f, 3000000);
    dit_arena_release_to(&f->arena, inner);
    assert_int_equal(f->ledger.total_used, 128 + 2000000);
    dit_arena_release_to(&f->arena, outer);
    assert_int_equal(f->ledger.total_used, 128);
    for (int i = 0; i < 100; i++) assert_int_equal(kept[i], 7);
    dit_arena_release_to(&f->arena, empty);
    assert_int_equal(f->ledger.total_used, 0);
}

static void counting_gives_address_space_and_counts_it(void **state)
{
    fixture *f = *state;
    f->ledger.counting_only = true;
    void *out = NULL;
    float *floats;
    assert_int_equal(dit_arena_alloc(&f->arena, INT64_C(1) << 40, &out), DIT_OK); /* a terabyte */
    assert_non_null(out);
    assert_int_equal(((char *)out)[INT64_C(1) << 39], 0);
    dit_arena_mark mark = dit_arena_get_mark(&f->arena);
    assert_int_equal(dit_arena_activations(&f->arena, 16, &floats), DIT_OK);
    floats[15] = 1.0f;
    assert_int_equal(f->ledger.total_used, (INT64_C(1) << 40) + 64);
    dit_arena_release_to(&f->arena, mark);
    assert_int_equal(f->ledger.total_used, INT64_C(1) << 40);
    dit_arena_reset(&f->arena);
    assert_int_equal(f->ledger.total_used, 0);
}

static void a_zeroed_arena_can_be_released(void **state)
{
    (void)state;
    dit_arena arena = {0};
    dit_arena_release(&arena);
}

#define ARENA_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(allocations_are_aligned_zeroed_and_apart),
        ARENA_TEST(alloc_zeroes_what_an_earlier_pass_left),
        ARENA_TEST(bytes_are_counted_by_class_with_peaks),
        ARENA_TEST(the_limit_refuses_and_names_the_numbers),
        ARENA_TEST(every_limit_fails_cleanly),
        ARENA_TEST(impossible_sizes_are_refused),
        ARENA_TEST(a_second_pass_asks_the_system_for_nothing),
        ARENA_TEST(scratch_past_a_mark_settles_without_a_reset),
        ARENA_TEST(marks_nest_and_keep_what_was_before),
        ARENA_TEST(counting_gives_address_space_and_counts_it),
        ARENA_TEST(a_zeroed_arena_can_be_released),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
