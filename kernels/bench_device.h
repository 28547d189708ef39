/* Times cases on a device, by the device's own events, and a product of matrices anywhere. Where the device can record, calls are recorded first. */
#ifndef DIT_KERNELS_BENCH_DEVICE_H
#define DIT_KERNELS_BENCH_DEVICE_H

#include "base/stats.h"
#include "kernels/cases.h"

/* The product y = x W^T of n x n matrices in the device's type, or of fp32 on the host, with n so large that one call
 * takes a millisecond, on the host ten. */
typedef struct {
    dit_pool *pool;
    const dit_kernels *table;
    dit_device *device; /* NULL: the host */
    dit_memory_ledger ledger;
    dit_arena arena;
    dit_linear packed;
    float *x, *y;
    int64_t n;
    double flop_per_s; /* the best that was measured */
} dit_bench_gemm;

/* `table`: the operators of the pool's device, or of the host. Errors: those of the device; DIT_ERR_MEMORY. release
 * accepts a zeroed one. */
dit_status dit_bench_gemm_prepare(dit_pool *pool, const dit_kernels *table, dit_bench_gemm *out);
/* Measures the rate now, over a few products. Errors: those of the device. */
dit_status dit_bench_gemm_measure(dit_bench_gemm *gemm, double *flop_per_s);
void dit_bench_gemm_release(dit_bench_gemm *gemm);

typedef struct {
    double time_ns, of_gemm;
    dit_summary spread; /* over rounds, of the ns that one call takes */
    int copies;         /* of the operands; calls take them in turn, so that caches do not hold them */
    bool recorded;
} dit_device_timing;

/* Times a case that has passed: medians over rounds of many calls. Each round is compared with the matrix product as
 * measured right before and right after it, because clocks follow the temperature. */
dit_status dit_bench_device_time(dit_case_run *run, const dit_kernels *table, dit_bench_gemm *gemm, int64_t cache_bytes,
                                 dit_device_timing *out);

#endif
