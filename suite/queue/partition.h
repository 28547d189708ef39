/* Partition: the ways in which N devices can be cut into groups of 1, 2, 4, ... devices. */
#ifndef DIT_SUITE_QUEUE_PARTITION_H
#define DIT_SUITE_QUEUE_PARTITION_H

#include "base/status.h"

enum { SUITE_PARTITION_DEGREES = 8, SUITE_PARTITION_DEVICES = 128 }; /* groups of 1 to 128 devices */

/* groups[i] of 2^i devices. */
typedef struct {
    int groups[SUITE_PARTITION_DEGREES];
} suite_partition;

/* Lists all partitions of 1 to 128 devices, those with the largest groups first: 10 of 8, 36 of 16, 202 of 32, 1,828 of
 * 64. The caller frees *out with free(). Errors: DIT_ERR_USAGE, DIT_ERR_MEMORY. */
dit_status suite_partitions_of(int devices, suite_partition **out, int *count);
/* Returns how many groups there are, and writes the degree index of each (0: one device) into degrees
 * [SUITE_PARTITION_DEVICES], the largest first. */
int suite_partition_groups(const suite_partition *partition, int *degrees);

#endif
