/* Which rank has which coordinates and which groups, and what a mesh is called. */
#include "base/mesh.h"
#include "base/label.h"

#include "base/tests/mesh_fixture.h"

static void every_rank_has_its_own_coordinates(void **state)
{
    dit_parallel parallel = mesh(2, 3, 2, 5);
    (void)state;
    assert_int_equal(dit_parallel_world_size(&parallel), 60);
    for (int rank = 0; rank < 60; rank++) {
        int coordinates[DIT_AXIS_COUNT];
        dit_mesh_coordinates(&parallel, rank, coordinates);
        assert_int_equal(dit_mesh_rank(&parallel, coordinates), rank);
    }
}

static void ulysses_varies_fastest_then_ring_then_cfg_then_data(void **state)
{
    dit_parallel parallel = mesh(2, 2, 2, 2);
    int group[2];
    (void)state;
    const struct {
        dit_axis axis;
        int partner;
    } expected[] = {{DIT_AXIS_ULYSSES, 1}, {DIT_AXIS_RING, 2}, {DIT_AXIS_CFG, 4}, {DIT_AXIS_DATA, 8}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(dit_mesh_group(&parallel, 0, expected[i].axis, group), 2);
        assert_int_equal(group[0], 0);
        assert_int_equal(group[1], expected[i].partner);
    }
}

static void context_first_makes_ring_ranks_neighbours(void **state)
{
    dit_parallel parallel = {.context_first = true};
    int coordinates[DIT_AXIS_COUNT], ranks[8];
    (void)state;
    parallel.degree[DIT_AXIS_ULYSSES] = 2, parallel.degree[DIT_AXIS_RING] = 4;
    for (int rank = 0; rank < 8; rank++) {
        dit_mesh_coordinates(&parallel, rank, coordinates);
        assert_int_equal(coordinates[DIT_AXIS_RING], rank % 4);
        assert_int_equal(coordinates[DIT_AXIS_ULYSSES], rank / 4);
        assert_int_equal(dit_mesh_rank(&parallel, coordinates), rank);
    }
    assert_int_equal(dit_mesh_group(&parallel, 5, DIT_AXIS_RING, ranks), 4);
    for (int i = 0; i < 4; i++) assert_int_equal(ranks[i], 4 + i);
    assert_int_equal(dit_mesh_group(&parallel, 5, DIT_AXIS_ULYSSES, ranks), 2);
    assert_true(ranks[0] == 1 && ranks[1] == 5);
}

static void groups_of_an_axis_partition_the_world(void **state)
{
    dit_parallel parallel = mesh(3, 2, 2, 2);
    (void)state;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int seen[24] = {0}, group[24];
        for (int rank = 0; rank < 24; rank++) {
            int size = dit_mesh_group(&parallel, rank, (dit_axis)axis, group);
            for (int i = 0; i < size; i++) seen[group[i]]++;
        }
        for (int rank = 0; rank < 24; rank++)
            assert_int_equal(seen[rank], parallel.degree[axis] > 0 ? parallel.degree[axis] : 1);
    }
}

/* Tensor ranks and stages are in groups of their own; the others are cut into neighbours. */
static void groups_of_shards_hold_equal_weights(void **state)
{
    dit_parallel parallel = {
        .degree = {[DIT_AXIS_TENSOR] = 2, [DIT_AXIS_ULYSSES] = 2, [DIT_AXIS_PIPEFUSION] = 2, [DIT_AXIS_CFG] = 2},
        .fsdp_degree = 2};
    int ranks[16], own[DIT_AXIS_COUNT], other[DIT_AXIS_COUNT];
    (void)state;
    for (; parallel.fsdp_degree <= 4; parallel.fsdp_degree *= 2)
        for (int rank = 0; rank < 16; rank++) {
            bool found = false;
            assert_int_equal(dit_mesh_group(&parallel, rank, DIT_AXIS_FSDP, ranks), parallel.fsdp_degree);
            dit_mesh_coordinates(&parallel, rank, own);
            for (int i = 0; i < parallel.fsdp_degree; i++) {
                dit_mesh_coordinates(&parallel, ranks[i], other);
                assert_int_equal(own[DIT_AXIS_TENSOR], other[DIT_AXIS_TENSOR]);
                assert_int_equal(own[DIT_AXIS_PIPEFUSION], other[DIT_AXIS_PIPEFUSION]);
                if (parallel.fsdp_degree == 2) assert_int_equal(own[DIT_AXIS_CFG], other[DIT_AXIS_CFG]);
                assert_true(i == 0 || ranks[i] > ranks[i - 1]);
                found = found || ranks[i] == rank;
            }
            assert_true(found);
        }
}

static void labels_name_what_is_above_one(void **state)
{
    char label[64];
    dit_parallel all = mesh(2, 4, 2, 3), one = mesh(1, 0, 1, 1);
    (void)state;
    dit_parallel_label(&all, label);
    assert_string_equal(label, "u2 r4 cfg2 dp3");
    dit_parallel_label(&one, label);
    assert_string_equal(label, "1");
}

static void labels_of_shards_are_read_back(void **state)
{
    static const char *const labels[] = {"u2 fsdp2", "u2 r2 fsdp4 ahead0", "u4 fsdp4 ahead12"};
    char label[64];
    (void)state;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        dit_parallel parallel = {0};
        assert_int_equal(dit_parallel_from_label(labels[i], &parallel), DIT_OK);
        dit_parallel_label(&parallel, label);
        assert_string_equal(label, labels[i]);
    }
    dit_parallel none = {0};
    assert_int_equal(dit_parallel_from_label("u2 ahead2", &none), DIT_ERR_USAGE);
    assert_int_equal(dit_parallel_from_label("u2 fsdp1", &none), DIT_ERR_USAGE);
}

static void a_mesh_prints_who_works_with_whom(void **state)
{
    static const char expected[] = "mesh u2 r2 cfg2, world_size 8\n"
                                   "rank 0:  ulysses 0 of {0,1}  ring 0 of {0,2}  cfg 0 of {0,4}\n"
                                   "rank 1:  ulysses 1 of {0,1}  ring 0 of {1,3}  cfg 0 of {1,5}\n"
                                   "rank 2:  ulysses 0 of {2,3}  ring 1 of {0,2}  cfg 0 of {2,6}\n"
                                   "rank 3:  ulysses 1 of {2,3}  ring 1 of {1,3}  cfg 0 of {3,7}\n"
                                   "rank 4:  ulysses 0 of {4,5}  ring 0 of {4,6}  cfg 1 of {0,4}\n"
                                   "rank 5:  ulysses 1 of {4,5}  ring 0 of {5,7}  cfg 1 of {1,5}\n"
                                   "rank 6:  ulysses 0 of {6,7}  ring 1 of {4,6}  cfg 1 of {2,6}\n"
                                   "rank 7:  ulysses 1 of {6,7}  ring 1 of {5,7}  cfg 1 of {3,7}\n";
    dit_parallel parallel = mesh(2, 2, 2, 1);
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    (void)state;
    assert_non_null(file);
    dit_mesh_print(&parallel, file);
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_has_its_own_coordinates),
        cmocka_unit_test(ulysses_varies_fastest_then_ring_then_cfg_then_data),
        cmocka_unit_test(context_first_makes_ring_ranks_neighbours),
        cmocka_unit_test(groups_of_an_axis_partition_the_world),
        cmocka_unit_test(groups_of_shards_hold_equal_weights),
        cmocka_unit_test(labels_name_what_is_above_one),
        cmocka_unit_test(labels_of_shards_are_read_back),
        cmocka_unit_test(a_mesh_prints_who_works_with_whom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
