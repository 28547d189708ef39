/* Residency: the moves of each policy, and the closed form of loads against the table and against a search. */
#include "base/residency.h"

#include "base/tests/test.h"

enum { MOST = 16 };

static dit_offload rules_of(dit_residency_policy policy, int depth, int64_t room)
{
    return (dit_offload){
        .tier = DIT_OFFLOAD_DISK, .policy = policy, .depth = depth, .resident_weights = room * 100 + 99};
}

static dit_residency table_of(const dit_offload *rules, int blocks)
{
    int64_t bytes[MOST];
    dit_residency r;
    for (int i = 0; i < blocks; i++) bytes[i] = 100;
    assert_int_equal(dit_residency_init(rules, blocks, bytes, &r), DIT_OK);
    return r;
}

/* Uses of a cycle, one by one, against the closed form. */
static void agree(dit_residency_policy policy, int depth, int blocks, int room)
{
    dit_offload rules = rules_of(policy, depth, room);
    dit_residency r = table_of(&rules, blocks);
    for (int use = 0; use < 8 * blocks; use++) {
        assert_int_equal(r.loads, dit_residency_closed_loads(&rules, blocks, room, use));
        dit_residency_use(&r, use % blocks);
        assert_true(r.used_bytes <= rules.resident_weights);
        assert_true(r.resident[use % blocks]);
    }
    assert_true(r.cyclic);
    dit_residency_release(&r);
}

static void loads_of_a_cycle_have_a_closed_form(void **state)
{
    (void)state;
    for (int blocks = 1; blocks < 14; blocks++)
        for (int depth = 0; depth < 6; depth++)
            for (int room = depth + 1 < blocks ? depth + 1 : blocks; room < blocks + 3; room++) {
                agree(DIT_RESIDENCY_PREFETCH, depth, blocks, room);
                if (depth) continue;
                agree(DIT_RESIDENCY_BELADY, 0, blocks, room);
                agree(DIT_RESIDENCY_LRU, 0, blocks, room);
            }
}

/* The fewest loads of `uses` uses, by trying every victim at every use. Sets of resident blocks are bits. */
static int fewest_loads(int blocks, int room, int uses)
{
    enum { SETS = 1 << 7 };
    static int loads[SETS], next[SETS];
    for (int set = 0; set < SETS; set++) loads[set] = set ? 1000 : 0;
    for (int use = 0; use < uses; use++) {
        int now = 1 << use % blocks;
        for (int set = 0; set < SETS; set++) next[set] = 1000;
        for (int set = 0; set < 1 << blocks; set++) {
            if (loads[set] == 1000) continue;
            if (set & now) {
                if (loads[set] < next[set]) next[set] = loads[set];
                continue;
            }
            bool full = __builtin_popcount((unsigned)set) == room;
            for (int victim = 0; victim < (full ? blocks : 1); victim++) {
                int left = full ? set & ~(1 << victim) : set, after = left | now;
                if (full && left == set) continue;
                if (loads[set] + 1 < next[after]) next[after] = loads[set] + 1;
            }
        }
        memcpy(loads, next, sizeof loads);
    }
    int least = 1000;
    for (int set = 0; set < SETS; set++)
        if (loads[set] < least) least = loads[set];
    return least;
}

static void no_choice_of_victims_loads_less_than_belady(void **state)
{
    (void)state;
    for (int blocks = 2; blocks <= 6; blocks++)
        for (int room = 1; room < blocks; room++)
            for (int uses = 0; uses < 4 * blocks; uses++) {
                dit_offload rules = rules_of(DIT_RESIDENCY_BELADY, 0, room);
                assert_int_equal(dit_residency_closed_loads(&rules, blocks, room, uses),
                                 fewest_loads(blocks, room, uses));
            }
}

static void what_is_read_ahead_is_not_dropped(void **state)
{
    dit_offload rules = rules_of(DIT_RESIDENCY_PREFETCH, 2, 4);
    dit_residency r = table_of(&rules, 6);
    (void)state;
    for (int use = 0; use < 40; use++) {
        dit_residency_use(&r, use % 6);
        for (int ahead = 0; ahead <= 2; ahead++) assert_true(r.resident[(use + ahead) % 6]);
        for (int i = 0; i < r.move_count; i++)
            if (!r.moves[i].load) assert_true((r.moves[i].chunk - use % 6 + 6) % 6 > 2);
    }
    assert_int_equal(r.peak_bytes, 400);
    dit_residency_release(&r);
}

static void chunks_of_other_sizes_stay_within_the_room(void **state)
{
    const int64_t bytes[] = {340, 340, 340, 141, 141, 141, 141, 141};
    dit_offload rules = {
        .tier = DIT_OFFLOAD_DISK, .policy = DIT_RESIDENCY_PREFETCH, .depth = 1, .resident_weights = 700};
    int64_t loads[8], total, sum = 0;
    dit_residency r;
    (void)state;
    assert_int_equal(dit_residency_init(&rules, 8, bytes, &r), DIT_OK);
    for (int use = 0; use < 50; use++) {
        dit_residency_use(&r, use % 8);
        assert_true(r.used_bytes <= 700);
    }
    assert_int_equal(dit_residency_predict(&rules, 8, bytes, 0, 50, loads, &total), DIT_OK);
    assert_int_equal(total, r.loads);
    for (int i = 0; i < 8; i++) sum += loads[i] * bytes[i];
    assert_int_equal(sum, r.loaded_bytes);
    dit_residency_release(&r);
}

/* Images of three forwards; the last one of each loads nothing beyond its end. */
static void from_peers_every_use_loads_and_no_more_than_those_ahead_are_there(void **state)
{
    (void)state;
    for (int blocks = 1; blocks < 9; blocks++)
        for (int depth = 0; depth < 11; depth++) {
            dit_offload rules = {.tier = DIT_OFFLOAD_PEERS, .policy = DIT_RESIDENCY_PREFETCH, .depth = depth};
            dit_residency r = table_of(&rules, blocks);
            int64_t loads[MOST], total, held = 100 * (depth + 1 < blocks ? depth + 1 : blocks);
            for (int use = 0; use < 6 * blocks; use++) {
                r.follows = use / blocks % 3 < 2;
                dit_residency_use(&r, use % blocks);
                assert_true(r.resident[use % blocks] && r.used_bytes <= held);
                if (use % (3 * blocks) == 3 * blocks - 1) assert_int_equal(r.loads, use + 1);
            }
            assert_true(r.cyclic && r.hits == 0 && r.peak_bytes == held);
            assert_int_equal(dit_residency_predict(&rules, blocks, r.bytes, blocks, 2 * blocks, loads, &total), DIT_OK);
            assert_int_equal(total, 2 * blocks);
            for (int i = 0; i < blocks; i++) assert_int_equal(loads[i], 2);
            dit_residency_release(&r);
        }
}

static void a_piece_is_a_multiple_of_64_bytes(void **state)
{
    (void)state;
    assert_int_equal(dit_residency_piece(1024, 4), 256);
    assert_int_equal(dit_residency_piece(1025, 4), 320);
    assert_int_equal(dit_residency_piece(64, 3), 64);
    assert_int_equal(dit_residency_piece(0, 3), 0);
}

static void a_use_out_of_the_cycle_is_allowed_and_told(void **state)
{
    dit_offload rules = rules_of(DIT_RESIDENCY_BELADY, 0, 2);
    dit_residency r = table_of(&rules, 5);
    (void)state;
    dit_residency_use(&r, 0);
    dit_residency_use(&r, 3);
    assert_false(r.cyclic);
    assert_true(r.resident[3]);
    dit_residency_release(&r);
}

static void too_little_room_is_refused(void **state)
{
    const int64_t bytes[] = {100, 300, 200};
    dit_offload rules = {
        .tier = DIT_OFFLOAD_DISK, .policy = DIT_RESIDENCY_PREFETCH, .depth = 1, .resident_weights = 499};
    dit_residency r;
    (void)state;
    assert_int_equal(dit_residency_init(&rules, 3, bytes, &r), DIT_ERR_MEMORY);
    assert_non_null(strstr(dit_error_last()->message, "500 bytes"));
    rules.resident_weights = 500;
    assert_int_equal(dit_residency_init(&rules, 3, bytes, &r), DIT_OK);
    dit_residency_release(&r);
}

static dit_status read_text(const char *text, dit_offload *out)
{
    dit_json doc;
    assert_int_equal(dit_json_parse(text, strlen(text), "test", &doc), DIT_OK);
    dit_status st = dit_offload_read(&doc, doc.root, "/offload", out);
    dit_json_release(&doc);
    return st;
}

static void settings_are_read_strictly(void **state)
{
    dit_offload o;
    (void)state;
    assert_int_equal(read_text("{\"tier\": \"disk\", \"resident_weights\": 5}", &o), DIT_OK);
    assert_int_equal(o.policy, DIT_RESIDENCY_PREFETCH);
    assert_int_equal(o.depth, 1);
    assert_int_equal(read_text("{\"tier\": \"host\", \"policy\": \"lru\", \"resident_weights\": 5}", &o), DIT_OK);
    assert_int_equal(o.depth, 0);
    assert_int_equal(read_text("{\"tier\": \"disk\"}", &o), DIT_ERR_JSON_MISSING);
    assert_int_equal(read_text("{\"tier\": \"tape\", \"resident_weights\": 5}", &o), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text("{\"tier\": \"disk\", \"resident_weights\": 0}", &o), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text("{\"tier\": \"disk\", \"room\": 5}", &o), DIT_ERR_JSON_UNKNOWN_KEY);
    assert_int_equal(read_text("{\"tier\": \"none\"}", &o), DIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_of_a_cycle_have_a_closed_form),
        cmocka_unit_test(no_choice_of_victims_loads_less_than_belady),
        cmocka_unit_test(what_is_read_ahead_is_not_dropped),
        cmocka_unit_test(chunks_of_other_sizes_stay_within_the_room),
        cmocka_unit_test(from_peers_every_use_loads_and_no_more_than_those_ahead_are_there),
        cmocka_unit_test(a_piece_is_a_multiple_of_64_bytes),
        cmocka_unit_test(a_use_out_of_the_cycle_is_allowed_and_told),
        cmocka_unit_test(too_little_room_is_refused),
        cmocka_unit_test(settings_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
