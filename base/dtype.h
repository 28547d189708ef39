/* Dtypes: the types of a tensor's elements, by the names that cases use. */
#ifndef DIT_BASE_DTYPE_H
#define DIT_BASE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_DTYPE_FP32,
    DIT_DTYPE_BF16,
    DIT_DTYPE_FP16,
    DIT_DTYPE_FP64, /* moments and sums of squares */
    DIT_DTYPE_INT32,
    DIT_DTYPE_COUNT
} dit_dtype;

/* Returns "fp32", "bf16", "fp16", "fp64" or "int32". */
const char *dit_dtype_name(dit_dtype dtype);
bool dit_dtype_from_name(const char *name, dit_dtype *out);
int64_t dit_dtype_bytes(dit_dtype dtype);

/* Convert by rounding to nearest even, as accelerators do; NaN stays NaN. */
uint16_t dit_bf16_from_float(float value);
float dit_bf16_to_float(uint16_t bits);
uint16_t dit_fp16_from_float(float value);
float dit_fp16_to_float(uint16_t bits);

#ifdef __cplusplus
}
#endif
#endif
