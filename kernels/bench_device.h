/* Timing on a device: by its own events, of work that is recorded first where the device records. */
#ifndef DIT_KERNELS_BENCH_DEVICE_H
#define DIT_KERNELS_BENCH_DEVICE_H

#include "base/stats.h"
#include "kernels/cases.h"

/* y = x W^T of n x n matrices in the device's element, n as large as the device needs to be busy for a millisecond. */
typedef struct {
    dit_pool *pool;
    dit_device *device;
    dit_memory_ledger ledger;
    dit_arena arena;
    dit_linear packed;
    float *x, *y;
    int64_t n;
    double flop_per_s; /* the best that was measured */
} dit_bench_gemm;

/* Errors: those of the device. release accepts a zeroed one. */
dit_status dit_bench_gemm_prepare(dit_pool *pool, dit_bench_gemm *out);
void dit_bench_gemm_release(dit_bench_gemm *gemm);

typedef struct {
    double time_ns, of_gemm;
    dit_summary spread; /* of the rounds' times of one call, in ns                                   */
    int copies;         /* of the operands, taken in turn so that caches do not hold them            */
    bool recorded;
} dit_device_timing;

/* After the case has passed: medians over rounds of many calls. Each round's ratio to the product of matrices is taken
 * from two measurements of that, before and after it: clocks follow the temperature. */
dit_status dit_bench_device_time(dit_case_run *run, const dit_kernels *table, dit_bench_gemm *gemm, int64_t cache_bytes,
                                 dit_device_timing *out);

#endif
