/* Elements: the types that tensors are stored in, by the names that cases use.
 */
#ifndef DIT_BASE_ELEMENT_H
#define DIT_BASE_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_ELEMENT_FP32,
    DIT_ELEMENT_BF16,
    DIT_ELEMENT_FP16,
    DIT_ELEMENT_FP64, /* moments and sums of squares */
    DIT_ELEMENT_INT32,
    DIT_ELEMENT_COUNT
} dit_element;

/* "fp32", "bf16", "fp16", "fp64", "int32". */
const char *dit_element_name(dit_element element);
bool dit_element_from_name(const char *name, dit_element *out);
int64_t dit_element_bytes(dit_element element);

/* Rounded to nearest even, as accelerators do; NaN stays NaN. */
uint16_t dit_bf16_from_float(float value);
float dit_bf16_to_float(uint16_t bits);
uint16_t dit_fp16_from_float(float value);
float dit_fp16_to_float(uint16_t bits);

#ifdef __cplusplus
}
#endif
#endif
