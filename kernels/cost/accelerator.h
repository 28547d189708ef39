/* Accelerator: reads the facts of a file of workloads/accelerators (ditbench.accelerator/1): memory, peaks, processors.
 *
 * This is the one reader of these facts: the cost model takes them from here for a dtype, and the suite for a platform.
 * A fact that a file does not state is 0; who needs it refuses the file.
 */
#ifndef DIT_KERNELS_COST_ACCELERATOR_H
#define DIT_KERNELS_COST_ACCELERATOR_H

#include "base/json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types that a file may state a peak for: key, and the bytes of an element; 0: the cost model does not compute in it.
 */
#define DIT_ACCELERATOR_TYPE_LIST(X)                                                                                   \
    X(FP32, "fp32", 4)                                                                                                 \
    X(TF32, "tf32", 0)                                                                                                 \
    X(FP16, "fp16", 2)                                                                                                 \
    X(BF16, "bf16", 2)                                                                                                 \
    X(FP8, "fp8", 1)                                                                                                   \
    X(INT8, "int8", 0)

typedef enum {
#define DIT_ACCELERATOR_ENUM(name, key, bytes) DIT_ACCELERATOR_##name,
    DIT_ACCELERATOR_TYPE_LIST(DIT_ACCELERATOR_ENUM)
#undef DIT_ACCELERATOR_ENUM
        DIT_ACCELERATOR_TYPE_COUNT
} dit_accelerator_type;

/* Returns the type's key in peak_flops_per_s. Never NULL. */
const char *dit_accelerator_type_name(dit_accelerator_type type);
/* Returns the bytes of an element, or 0 for a type that the cost model does not compute in. */
int dit_accelerator_type_bytes(dit_accelerator_type type);

/* The highest bandwidth of memory or a link that a data file may state. */
#define DIT_ACCELERATOR_MOST_BYTES_PER_S 1e15

typedef struct {
    const char *name; /* lies in the document, as `cost` does */
    int64_t memory_bytes;
    double memory_bandwidth_bytes_per_s;
    int64_t l2_bytes;                                    /* of the last cache that all processors share */
    double peak_flops_per_s[DIT_ACCELERATOR_TYPE_COUNT]; /* of matrix products, dense */
    int streaming_multiprocessors;
    const cJSON *cost; /* parameters of the cost model (read.h), not read here; NULL: none */
} dit_accelerator;

/* Reads the facts of a document and checks their ranges. Errors: DIT_ERR_JSON_MISSING without a name or
 * peak_flops_per_s, DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE. */
dit_status dit_accelerator_read(const dit_json *doc, dit_accelerator *out);

#ifdef __cplusplus
}
#endif
#endif
