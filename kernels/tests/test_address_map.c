/* Room on a device: found by address, taken and given back like a stack, planned at once or grown and counted. */
#include "kernels/address_map.h"

#include "base/tests/test.h"

enum { ALIGNMENT = 256, MIB = 1 << 20 };

/* ---- memory that counts and ends --------------------------------------------------------------------------------- */

typedef struct {
    int64_t limit, used, blocks, given_back;
} counted;

static void *counted_get(void *context, int64_t bytes)
{
    counted *c = context;
    if (c->used + bytes > c->limit) return NULL;
    c->used += bytes;
    c->blocks++;
    return malloc((size_t)bytes);
}

static void counted_give_back(void *context, void *memory)
{
    ((counted *)context)->given_back++;
    free(memory);
}

typedef struct {
    counted memory;
    dit_address_map *map;
    dit_memory_ledger ledger;
    dit_arena arena, state;
} fixture;

static void make(fixture *f, int64_t planned, int64_t limit, dit_dtype dtype)
{
    const int64_t plan[DIT_MEMORY_CLASS_COUNT] = {[DIT_MEMORY_ACTIVATIONS] = planned};
    *f = (fixture){.memory.limit = limit};
    const dit_address_map_memory memory = {&f->memory, counted_get, counted_give_back};
    assert_int_equal(dit_address_map_create(&memory, plan, &f->map), DIT_OK);
    f->ledger = (dit_memory_ledger){.on_device = true, .dtype = dtype, .device = dit_address_map_device(f->map)};
    dit_arena_init(&f->arena, &f->ledger, DIT_MEMORY_ACTIVATIONS);
    dit_arena_init(&f->state, &f->ledger, DIT_MEMORY_STATE);
}

static void end(fixture *f)
{
    dit_arena_release(&f->arena);
    dit_arena_release(&f->state);
    dit_address_map_free(f->map);
    assert_int_equal(f->memory.given_back, f->memory.blocks);
}

static float *take(dit_arena *arena, int64_t count)
{
    float *out;
    assert_int_equal(dit_arena_activations(arena, count, &out), DIT_OK);
    return out;
}

static dit_location find(const fixture *f, const void *address)
{
    dit_location location;
    assert_true(dit_address_map_find(f->map, address, &location));
    return location;
}

static bool is_lost(const fixture *f, const void *address)
{
    dit_location location;
    return !dit_address_map_find(f->map, address, &location);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void every_element_of_an_array_is_found_and_none_beside_it(void **state)
{
    fixture f;
    (void)state;
    make(&f, 0, 1 << 30, DIT_DTYPE_BF16);
    float *a = take(&f.arena, 1000), *b = take(&f.arena, 3);
    char *base = find(&f, a).data;
    for (int64_t i = 0; i < 1000; i++) {
        dit_location location = find(&f, a + i);
        assert_ptr_equal(location.data, base + 2 * i);
        assert_int_equal(location.left, 1000 - i);
        assert_int_equal(location.dtype, DIT_DTYPE_BF16);
    }
    assert_int_equal(find(&f, b + 2).left, 1);
    assert_true(is_lost(&f, a - 1) && is_lost(&f, a + 1000) && is_lost(&f, b + 3) && is_lost(&f, NULL));
    assert_ptr_equal(find(&f, b).data, base + 2048);
    end(&f);
}

static void elements_have_their_own_sizes(void **state)
{
    fixture f;
    void *moments, *positions;
    float *exact;
    (void)state;
    make(&f, MIB, 1 << 30, DIT_DTYPE_FP16);
    float *stored = take(&f.arena, 129); /* 258 bytes of room */
    assert_int_equal(dit_arena_fp32(&f.arena, 65, &exact), DIT_OK);
    assert_int_equal(dit_arena_array(&f.arena, 33, DIT_DTYPE_FP64, &moments), DIT_OK);
    assert_int_equal(dit_arena_array(&f.arena, 5, DIT_DTYPE_INT32, &positions), DIT_OK);
    char *base = find(&f, stored).data;
    assert_int_equal((uintptr_t)base % 16, 0);
    assert_ptr_equal(find(&f, exact).data, base + 512);
    assert_ptr_equal(find(&f, exact + 64).data, base + 512 + 256);
    assert_ptr_equal(find(&f, (double *)moments + 32).data, base + 1024 + 256);
    assert_int_equal(find(&f, (double *)moments + 32).left, 1);
    assert_ptr_equal(find(&f, (int32_t *)positions + 4).data, base + 1536 + 16);
    assert_int_equal(find(&f, positions).dtype, DIT_DTYPE_INT32);
    assert_int_equal(f.ledger.total_used, 512 + 512 + 512 + 256);
    end(&f);
}

static void planned_room_is_one_block_and_what_was_not_planned_is_counted(void **state)
{
    fixture f;
    (void)state;
    make(&f, 100 * MIB, (int64_t)1 << 30, DIT_DTYPE_FP32);
    assert_int_equal(f.memory.blocks, 0);
    for (int i = 0; i < 10; i++) take(&f.arena, 10 * MIB / 4);
    assert_int_equal(f.memory.blocks, 1);
    assert_int_equal(dit_address_map_bytes(f.map, DIT_MEMORY_ACTIVATIONS), 100 * MIB);
    assert_int_equal(dit_address_map_unplanned_blocks(f.map), 0);
    float *beyond = take(&f.arena, 50 * MIB / 4);
    assert_int_equal(dit_address_map_unplanned_blocks(f.map), 1);
    assert_int_equal(dit_address_map_bytes(f.map, DIT_MEMORY_ACTIVATIONS), 150 * MIB);
    assert_int_equal(find(&f, beyond).left, 50 * MIB / 4);
    take(&f.state, 4); /* of a class without a plan */
    assert_int_equal(dit_address_map_unplanned_blocks(f.map), 2);
    assert_int_equal(f.memory.blocks, 3);
    end(&f);
}

static void a_plan_that_is_too_small_for_the_first_array_is_passed(void **state)
{
    fixture f;
    (void)state;
    make(&f, MIB, (int64_t)1 << 30, DIT_DTYPE_FP32);
    float *a = take(&f.arena, 64 * MIB / 4);
    assert_int_equal(find(&f, a).left, 64 * MIB / 4);
    assert_int_equal(dit_address_map_bytes(f.map, DIT_MEMORY_ACTIVATIONS), 64 * MIB);
    end(&f);
}

static void releasing_to_a_mark_gives_room_back_and_forgets_addresses(void **state)
{
    fixture f;
    (void)state;
    make(&f, MIB, 1 << 30, DIT_DTYPE_FP32);
    float *kept = take(&f.arena, 100), *other = take(&f.state, 100);
    dit_arena_mark mark = dit_arena_get_mark(&f.arena);
    float *dropped = take(&f.arena, 200);
    char *where = find(&f, dropped).data;
    take(&f.arena, 50);
    dit_arena_release_to(&f.arena, mark);
    assert_true(is_lost(&f, dropped));
    assert_int_equal(find(&f, kept).left, 100);
    assert_int_equal(find(&f, other).left, 100);
    assert_ptr_equal(find(&f, take(&f.arena, 10)).data, where);
    end(&f);
}

static void a_reset_forgets_all_of_its_class_and_asks_for_nothing_again(void **state)
{
    fixture f;
    (void)state;
    make(&f, 0, 1 << 30, DIT_DTYPE_BF16);
    float *other = take(&f.state, 7);
    int64_t blocks = 0;
    for (int pass = 0; pass < 4; pass++) {
        float *a = take(&f.arena, MIB), *b = take(&f.arena, 20 * MIB);
        assert_int_equal(find(&f, b).left, 20 * MIB);
        if (pass) assert_int_equal(f.memory.blocks, blocks);
        blocks = f.memory.blocks;
        dit_arena_reset(&f.arena);
        assert_true(is_lost(&f, a) && is_lost(&f, b));
        assert_int_equal(find(&f, other).left, 7);
    }
    end(&f);
}

static void room_never_overlaps(void **state)
{
    fixture f;
    float *arrays[60];
    (void)state;
    make(&f, 2 * MIB, (int64_t)1 << 30, DIT_DTYPE_BF16);
    for (int i = 0; i < 60; i++) arrays[i] = take(&f.arena, 1 + i * 7919 % 300000);
    for (int i = 0; i < 60; i++) {
        dit_location location = find(&f, arrays[i]);
        memset(location.data, i + 1, (size_t)location.left * 2);
    }
    for (int i = 0; i < 60; i++) {
        dit_location location = find(&f, arrays[i]);
        const unsigned char *bytes = location.data;
        assert_true(bytes[0] == i + 1 && bytes[location.left * 2 - 1] == i + 1);
    }
    end(&f);
}

static void a_device_without_memory_is_an_error_that_names_the_class(void **state)
{
    fixture f;
    float *out;
    (void)state;
    make(&f, 0, 40 * MIB, DIT_DTYPE_FP32);
    float *fits = take(&f.arena, 100);
    assert_int_equal(dit_arena_activations(&f.arena, 30 * MIB / 4, &out), DIT_OK);
    assert_int_equal(dit_arena_activations(&f.arena, 30 * MIB / 4, &out), DIT_ERR_MEMORY);
    assert_non_null(strstr(dit_error_last()->message, "activations"));
    assert_int_equal(find(&f, fits).left, 100);
    end(&f);
}

static void nothing_has_no_address(void **state)
{
    fixture f;
    (void)state;
    make(&f, 0, 1 << 30, DIT_DTYPE_FP32);
    float *nothing = take(&f.arena, 0), *something = take(&f.arena, 1);
    assert_int_equal(f.memory.blocks, 1);
    assert_int_equal(find(&f, something).left, 1);
    assert_true(nothing == something || is_lost(&f, nothing));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_of_an_array_is_found_and_none_beside_it),
        cmocka_unit_test(elements_have_their_own_sizes),
        cmocka_unit_test(planned_room_is_one_block_and_what_was_not_planned_is_counted),
        cmocka_unit_test(a_plan_that_is_too_small_for_the_first_array_is_passed),
        cmocka_unit_test(releasing_to_a_mark_gives_room_back_and_forgets_addresses),
        cmocka_unit_test(a_reset_forgets_all_of_its_class_and_asks_for_nothing_again),
        cmocka_unit_test(room_never_overlaps),
        cmocka_unit_test(a_device_without_memory_is_an_error_that_names_the_class),
        cmocka_unit_test(nothing_has_no_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
