#include "suite/queue/partition.h"

#include <stdlib.h>

/* What has been listed, and the partition that is being made. */
typedef struct {
    suite_partition *list; /* NULL: count only */
    suite_partition now;
    int count;
} enumeration;

/* Cuts `left` devices into groups of 2^degree and smaller. */
static void cut(enumeration *all, int left, int degree)
{
    if (degree == 0) {
        all->now.groups[0] = left;
        if (all->list) all->list[all->count] = all->now;
        all->count++;
        return;
    }
    for (int groups = left >> degree; groups >= 0; groups--) {
        all->now.groups[degree] = groups;
        cut(all, left - (groups << degree), degree - 1);
    }
}

dit_status suite_partitions_of(int devices, suite_partition **out, int *count)
{
    enumeration all = {.list = NULL};
    *out = NULL;
    *count = 0;
    if (devices < 1 || devices > SUITE_PARTITION_DEVICES)
        return DIT_FAIL(DIT_ERR_USAGE, "%d devices cannot be cut: from 1 to %d", devices, SUITE_PARTITION_DEVICES);
    cut(&all, devices, SUITE_PARTITION_DEGREES - 1);
    all.list = calloc((size_t)all.count, sizeof *all.list);
    if (!all.list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for partitions of %d devices", devices);
    all.count = 0;
    cut(&all, devices, SUITE_PARTITION_DEGREES - 1);
    *out = all.list;
    *count = all.count;
    return DIT_OK;
}

int suite_partition_groups(const suite_partition *partition, int *degrees)
{
    int count = 0;
    for (int degree = SUITE_PARTITION_DEGREES - 1; degree >= 0; degree--)
        for (int i = 0; i < partition->groups[degree]; i++) degrees[count++] = degree;
    return count;
}
