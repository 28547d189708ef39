#include "base/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    int64_t bytes;
} elements[DIT_DTYPE_COUNT] = {
    [DIT_DTYPE_FP32] = {"fp32", 4}, [DIT_DTYPE_BF16] = {"bf16", 2},   [DIT_DTYPE_FP16] = {"fp16", 2},
    [DIT_DTYPE_FP64] = {"fp64", 8}, [DIT_DTYPE_INT32] = {"int32", 4},
};

const char *dit_dtype_name(dit_dtype dtype)
{
    return (unsigned)dtype < DIT_DTYPE_COUNT ? elements[dtype].name : "?";
}

bool dit_dtype_from_name(const char *name, dit_dtype *out)
{
    for (int i = 0; i < DIT_DTYPE_COUNT; i++) {
        if (strcmp(elements[i].name, name) != 0) continue;
        *out = (dit_dtype)i;
        return true;
    }
    return false;
}

int64_t dit_dtype_bytes(dit_dtype dtype)
{
    return (unsigned)dtype < DIT_DTYPE_COUNT ? elements[dtype].bytes : 0;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t dit_bf16_from_float(float value)
{
    uint32_t bits = bits_of(value);
    if (value != value) return (uint16_t)(bits >> 16 | 0x40); /* a quiet NaN; rounding could make it infinite */
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float dit_bf16_to_float(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

/* Rounds to a half. Below the smallest normal half, adding 0.5 leaves the rounded denormal in a float's last bits. */
uint16_t dit_fp16_from_float(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00);
    if (magnitude >= 0x477FF000) return (uint16_t)(sign | 0x7C00); /* rounds beyond 65504, the largest half */
    if (magnitude < 0x38800000) return (uint16_t)(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
    uint32_t rebased = magnitude - ((127u - 15u) << 23);
    return (uint16_t)(sign | ((rebased + 0xFFF + (rebased >> 13 & 1)) >> 13));
}

float dit_fp16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = (uint32_t)(bits & 0x7FFF) << 13;
    uint32_t exponent = magnitude & 0x0F800000;
    if (exponent == 0x0F800000) return float_of(sign | magnitude | 0x7F800000);
    if (exponent) return float_of(sign | (magnitude + ((127u - 15u) << 23)));
    return float_of(sign | bits_of(float_of(magnitude + (113u << 23)) - float_of(113u << 23)));
}
