#include "base/mesh.h"

#include "base/label.h"

/* The axis at place `place` of the rank order, from the fastest. */
static dit_axis axis_at(const dit_parallel *parallel, int place)
{
    if (parallel->context_first && place == DIT_AXIS_ULYSSES) return DIT_AXIS_RING;
    if (parallel->context_first && place == DIT_AXIS_RING) return DIT_AXIS_ULYSSES;
    return (dit_axis)place;
}

void dit_mesh_coordinates(const dit_parallel *parallel, int rank, int coordinates[DIT_AXIS_COUNT])
{
    for (int place = 0; place < DIT_AXIS_COUNT; place++) {
        dit_axis axis = axis_at(parallel, place);
        coordinates[axis] = rank % dit_parallel_degree(parallel, axis);
        rank /= dit_parallel_degree(parallel, axis);
    }
}

int dit_mesh_rank(const dit_parallel *parallel, const int coordinates[DIT_AXIS_COUNT])
{
    int rank = 0;
    for (int place = DIT_AXIS_COUNT - 1; place >= 0; place--) {
        dit_axis axis = axis_at(parallel, place);
        rank = rank * dit_parallel_degree(parallel, axis) + coordinates[axis];
    }
    return rank;
}

int dit_mesh_group(const dit_parallel *parallel, int rank, dit_axis axis, int *ranks)
{
    int coordinates[DIT_AXIS_COUNT];
    int size =
        axis == DIT_AXIS_WORLD ? dit_parallel_world_size(parallel) : dit_parallel_degree(parallel, (dit_axis)axis);
    for (int i = 0; i < size; i++) ranks[i] = size == 1 ? rank : i;
    if (size == 1 || axis == DIT_AXIS_WORLD) return size;
    dit_mesh_coordinates(parallel, rank, coordinates);
    for (int i = 0; i < size; i++) {
        coordinates[axis] = i;
        ranks[i] = dit_mesh_rank(parallel, coordinates);
    }
    return size;
}

static void print_group(const dit_parallel *parallel, int rank, dit_axis axis, FILE *file)
{
    int coordinates[DIT_AXIS_COUNT];
    dit_mesh_coordinates(parallel, rank, coordinates);
    fprintf(file, "  %s %d of {", dit_axis_name(axis), coordinates[axis]);
    for (int i = 0; i < dit_parallel_degree(parallel, (dit_axis)axis); i++) {
        coordinates[axis] = i;
        fprintf(file, "%s%d", i ? "," : "", dit_mesh_rank(parallel, coordinates));
    }
    fprintf(file, "}");
}

void dit_mesh_print(const dit_parallel *parallel, FILE *file)
{
    char label[64];
    dit_parallel_label(parallel, label);
    fprintf(file, "mesh %s, world_size %d\n", label, dit_parallel_world_size(parallel));
    for (int rank = 0; rank < dit_parallel_world_size(parallel); rank++) {
        fprintf(file, "rank %d:", rank);
        for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
            if (dit_parallel_degree(parallel, (dit_axis)axis) > 1) print_group(parallel, rank, (dit_axis)axis, file);
        if (parallel->rows_degree > 1) fprintf(file, "  rows %d of %d", rank, parallel->rows_degree);
        fprintf(file, "\n");
    }
}
