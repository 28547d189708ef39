/* Checks and times any table of operators: dit_kernels_bench calls this once it has found the backend. Tests pass a
 * table with a wrong entry, to see that it fails. */
#ifndef DIT_KERNELS_BENCH_H
#define DIT_KERNELS_BENCH_H

#include "kernels/device.h"

dit_status dit_kernels_bench_table(const dit_kernel_bench *bench, const dit_kernels *table, struct cJSON *report);
/* Checks and times an open device. `table` is the device's own, or a test's. */
dit_status dit_kernels_bench_device(const dit_kernel_bench *bench, dit_device *device, const dit_kernels *table,
                                    struct cJSON *report);

#endif
