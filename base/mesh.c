#include "base/mesh.h"

#include "base/label.h"

#include <stdlib.h>

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

/* The groups of ranks that hold equal weights are those of one tensor rank and one stage. */
static int shard_group(const dit_parallel *parallel, int rank, int *ranks)
{
    int own[DIT_AXIS_COUNT], other[DIT_AXIS_COUNT], size = dit_parallel_degree(parallel, DIT_AXIS_FSDP), count = 0;
    bool has_own = false;
    dit_mesh_coordinates(parallel, rank, own);
    for (int i = 0; i < dit_parallel_world_size(parallel); i++) {
        dit_mesh_coordinates(parallel, i, other);
        if (other[DIT_AXIS_TENSOR] != own[DIT_AXIS_TENSOR] || other[DIT_AXIS_PIPEFUSION] != own[DIT_AXIS_PIPEFUSION])
            continue;
        if (count == size && has_own) break;
        if (count == size) count = 0;
        ranks[count++] = i;
        has_own = has_own || i == rank;
    }
    return size;
}

int dit_mesh_group(const dit_parallel *parallel, int rank, dit_axis axis, int *ranks)
{
    int coordinates[DIT_AXIS_COUNT];
    int size =
        axis == DIT_AXIS_WORLD ? dit_parallel_world_size(parallel) : dit_parallel_degree(parallel, (dit_axis)axis);
    if (axis == DIT_AXIS_FSDP && size > 1) return shard_group(parallel, rank, ranks);
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

static void print_shards(const dit_parallel *parallel, int rank, FILE *file)
{
    int *ranks = calloc((size_t)dit_parallel_world_size(parallel), sizeof *ranks), own = 0;
    int size = ranks ? dit_mesh_group(parallel, rank, DIT_AXIS_FSDP, ranks) : 0;
    while (own < size && ranks[own] != rank) own++;
    fprintf(file, "  fsdp %d of {", own);
    for (int i = 0; i < size; i++) fprintf(file, "%s%d", i ? "," : "", ranks[i]);
    fprintf(file, "}");
    free(ranks);
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
        if (parallel->fsdp_degree > 1) print_shards(parallel, rank, file);
        if (parallel->rows_degree > 1) fprintf(file, "  rows %d of %d", rank, parallel->rows_degree);
        fprintf(file, "\n");
    }
}
