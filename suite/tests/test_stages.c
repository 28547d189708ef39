/* Cutting blocks into stages: the dynamic programme gives what enumerating every partition gives. */
#include "suite/search/stages.h"

#include "base/tests/test.h"

/* Calls `take` on every way to cut `count` blocks into `stages`. Returns their number. */
typedef struct {
    const suite_stage_block *blocks;
    double most_bytes;
    suite_stage_cost best;
    bool any;
    int tried;
} enumeration;

static void take(enumeration *e, const int *counts, int stages)
{
    suite_stage_cost cost = suite_stages_cost(e->blocks, counts, stages);
    e->tried++;
    if (cost.fullest > e->most_bytes) return;
    bool faster = cost.slowest_s < e->best.slowest_s * (1 - 1e-12);
    bool as_fast = cost.slowest_s <= e->best.slowest_s * (1 + 1e-12);
    if (!e->any || faster || (as_fast && cost.fullest < e->best.fullest)) e->best = cost;
    e->any = true;
}

static void cut_rest(enumeration *e, int counts[DIT_MAX_STAGES], int stage, int stages, int left)
{
    if (stage == stages - 1) {
        counts[stage] = left;
        take(e, counts, stages);
        return;
    }
    for (counts[stage] = 1; counts[stage] <= left - (stages - 1 - stage); counts[stage]++) {
        int kept = counts[stage];
        cut_rest(e, counts, stage + 1, stages, left - kept);
        counts[stage] = kept;
    }
}

static int compare(const suite_stage_block *blocks, int count, int stages, double most_bytes)
{
    enumeration e = {.blocks = blocks, .most_bytes = most_bytes};
    int counts[DIT_MAX_STAGES] = {0}, sum = 0;
    cut_rest(&e, counts, 0, stages, count);
    bool found = suite_stages_cut(blocks, count, stages, most_bytes, counts);
    assert_int_equal(found, e.any);
    if (!found) return e.tried;
    for (int i = 0; i < stages; i++) {
        assert_true(counts[i] > 0);
        sum += counts[i];
    }
    assert_int_equal(sum, count);
    suite_stage_cost cost = suite_stages_cost(blocks, counts, stages);
    assert_close(cost.slowest_s, e.best.slowest_s, 1e-9);
    assert_close(cost.fullest, e.best.fullest, 1e-9);
    return e.tried;
}

/* FLUX: 19 blocks with two streams, then 38 with one; every partition into 2, 3 and 4 stages is enumerated. */
static void every_partition_of_flux(void **state)
{
    suite_stage_block blocks[57];
    (void)state;
    for (int i = 0; i < 57; i++)
        blocks[i] = i < 19 ? (suite_stage_block){7.1e-3, 680e6} : (suite_stage_block){4.3e-3, 283e6};
    assert_int_equal(compare(blocks, 57, 2, INFINITY), 56);
    assert_int_equal(compare(blocks, 57, 3, INFINITY), 1540);
    assert_int_equal(compare(blocks, 57, 4, INFINITY), 27720);
    compare(blocks, 57, 4, 7e9);
}

static void random_blocks(void **state)
{
    suite_stage_block blocks[14];
    int refused = 0;
    (void)state;
    srand(11);
    for (int round = 0; round < 400; round++) {
        int count = 1 + rand() % 14, stages = 1 + rand() % count, counts[DIT_MAX_STAGES];
        for (int i = 0; i < count; i++) blocks[i] = (suite_stage_block){1 + rand() % 5, 1 + rand() % 9};
        double most_bytes = round % 2 ? INFINITY : 5 + rand() % 20;
        compare(blocks, count, stages, most_bytes);
        refused += !suite_stages_cut(blocks, count, stages, most_bytes, counts);
    }
    assert_true(refused > 10);
}

static void what_cannot_be_cut(void **state)
{
    const suite_stage_block blocks[3] = {{1, 1}, {1, 1}, {1, 1}};
    int counts[DIT_MAX_STAGES];
    (void)state;
    assert_false(suite_stages_cut(blocks, 3, 4, INFINITY, counts));
    assert_false(suite_stages_cut(blocks, 3, 0, INFINITY, counts));
    assert_false(suite_stages_cut(blocks, 3, DIT_MAX_STAGES + 1, INFINITY, counts));
    assert_false(suite_stages_cut(blocks, 3, 2, 1.5, counts));
    assert_true(suite_stages_cut(blocks, 3, 3, 1.5, counts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_partition_of_flux),
        cmocka_unit_test(random_blocks),
        cmocka_unit_test(what_cannot_be_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
