/* Backends: each is one full table of operators (kernels/operators.h). kernels/registry.c lists them; all others are
 * checked against `ref`.
 *
 * Operators allocate nothing except through `pack`, use at most the pool's threads and return when the work is done.
 */
#ifndef DIT_KERNELS_KERNELS_H
#define DIT_KERNELS_KERNELS_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/status.h"
#include "kernels/operators.h"
#include "kernels/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One backend's operators. Every entry is required; a backend that lacks an operator of its own enters ref's. */
typedef struct {
    const char *name; /* "ref", "cpu" */
    bool entries;     /* operators with a dit_entries take several batch entries in a call */
    /* Packs W [n, k] row-major (+ bias [n] or NULL, copied) into `arena`. Collects `pieces` matrices stacked along n:
     * w[i] is [rows[i], k]; bias[i] may be NULL only if all are. The sources may be freed afterwards. */
    dit_status (*linear_pack)(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                              const float *const *bias, const int64_t *rows, dit_linear *out);
#define DIT_KERNELS_ENTRY(ID, name, args_type, ...) void (*name)(dit_pool * pool, const args_type *args);
    DIT_OPERATOR_LIST(DIT_KERNELS_ENTRY)
#undef DIT_KERNELS_ENTRY
} dit_kernels;

/* Finds the backend of that name, for the instruction set of this machine.
 * DITBENCH_ISA=avx512|avx2|plain chooses a lower one, for tests; it cannot choose one that the machine lacks.
 * Errors: DIT_ERR_NOT_FOUND with the valid names. */
dit_status dit_kernels_get(const char *name, const dit_kernels **out);
/* Returns operators that do nothing, for counting flops and bytes over memory that is only address space. They are not
 * in the list of names: no case may run on them and call its times measured. */
const dit_kernels *dit_kernels_counting(void);
/* Returns operators that do nothing but report each call to the hook of kernels/cost/operator.h, for simulation. They
 * are not in the list of names either. */
const dit_kernels *dit_kernels_cost(void);
/* NULL-terminated list of backend names. */
const char *const *dit_kernels_names(void);
/* Instruction set in use: "avx512", "avx2" or "plain". */
const char *dit_kernels_isa(void);
/* Returns the name of an instruction set that the cpu backend is compiled for, best first from index 0; NULL after the
 * last. */
const char *dit_kernels_isa_at(int index);
/* True if this machine has that instruction set and DITBENCH_ISA allows it. */
bool dit_kernels_has_isa(const char *name);

/* Peak fp32 flop/s of `pool`'s threads, measured now by independent multiply-adds in registers (about 0.2 s). */
double dit_kernels_measure_peak_flops(dit_pool *pool);

/* Runs the case list (kernels/cases) on `backend`: compares each operator with ref over typical and awkward shapes and,
 * with `time`, times each case that has passed. Adds to `report`:
 *   "cases"  [{op, shape, max_error, tolerance, lse_error?, verdict, time_ns?, rounds?,
 *             spread_ns?: {min, q1, median, q3, max}, gflop_per_s?, of_peak?, gb_per_s?, copies?}]
 *   "peak_gflop_per_s", "isa", "threads", "backend", "element"
 *   with `time` "copy_gb_per_s" and "summary": [{op, of_peak_median, of_peak_min}]
 * On a device (kernels/device.h) operands lie on the device in its type, the peak is the rate of its largest matrix
 * product, "gemm_size" is the extent of that product, and "device" describes the device.
 * `progress` (may be NULL) is called with each finished case's line. Errors: DIT_ERR_MISMATCH when any case failed,
 * DIT_ERR_ENVIRONMENT when there is no such device. */
typedef struct {
    const char *backend;
    dit_dtype dtype; /* of a device */
    int threads;
    bool time;
    const char *filter; /* NULL, or a substring of op or shape */
    void (*progress)(void *context, const char *line);
    void *context;
} dit_kernel_bench;
struct cJSON;
dit_status dit_kernels_bench(const dit_kernel_bench *bench, struct cJSON *report);

#ifdef __cplusplus
}
#endif
#endif
