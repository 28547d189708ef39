/* Views: device memory whose dtype is known at run time, read and written as floats.
 *
 * All threads of a kernel take one branch of the switch on the dtype, once per eight elements; that costs nothing in a
 * kernel that is bound by memory. Vector accesses need a first element that is 16-byte aligned, which view_is_wide
 * checks on the host.
 */
#ifndef DIT_KERNELS_CUDA_VIEW_H
#define DIT_KERNELS_CUDA_VIEW_H

#include "base/dtype.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

typedef struct {
    void *data; /* NULL: nothing */
    dit_dtype dtype;
} view;

enum { VIEW_WIDTH = 8 };

static __host__ __device__ inline int64_t view_bytes(view v)
{
    return v.dtype == DIT_DTYPE_FP32 || v.dtype == DIT_DTYPE_INT32 ? 4 : v.dtype == DIT_DTYPE_FP64 ? 8 : 2;
}

/* Returns the view that begins `elements` elements further. */
static __host__ __device__ inline view view_at(view v, int64_t elements)
{
    view moved = {(char *)v.data + elements * view_bytes(v), v.dtype};
    return moved;
}

/* True if eight elements at any multiple of eight from `v` on can be read at once, with rows ld apart. */
static inline bool view_is_wide(view v, int64_t ld)
{
    bool narrow_types = v.dtype == DIT_DTYPE_FP32 || view_bytes(v) == 2;
    return narrow_types && (uintptr_t)v.data % 16 == 0 && ld * view_bytes(v) % 16 == 0;
}

static __device__ inline float view_load(view v, int64_t i)
{
    switch (v.dtype) {
    case DIT_DTYPE_BF16: return __bfloat162float(((const __nv_bfloat16 *)v.data)[i]);
    case DIT_DTYPE_FP16: return __half2float(((const __half *)v.data)[i]);
    case DIT_DTYPE_FP64: return (float)((const double *)v.data)[i];
    default: return ((const float *)v.data)[i];
    }
}

static __device__ inline void view_store(view v, int64_t i, float x)
{
    switch (v.dtype) {
    case DIT_DTYPE_BF16: ((__nv_bfloat16 *)v.data)[i] = __float2bfloat16_rn(x); break;
    case DIT_DTYPE_FP16: ((__half *)v.data)[i] = __float2half_rn(x); break;
    case DIT_DTYPE_FP64: ((double *)v.data)[i] = x; break;
    default: ((float *)v.data)[i] = x;
    }
}

/* Eight elements as they lie in memory; `high` is the last four of fp32. Because reading and converting are separate, a
 * thread can have several reads under way before it waits for the first. */
typedef struct {
    uint4 low, high;
} view_raw;

/* Reads elements i to i + 7; v and i must be as view_is_wide demands. */
static __device__ inline view_raw view_read(view v, int64_t i)
{
    view_raw raw;
    const uint4 *p = (const uint4 *)((const char *)v.data + i * view_bytes(v));
    raw.low = raw.high = p[0];
    if (v.dtype == DIT_DTYPE_FP32) raw.high = p[1];
    return raw;
}

/* Reads elements i to i + 7 of an array that no thread of the kernel writes; the compiler may move the read before
 * earlier writes. */
static __device__ inline view_raw view_read_only(view v, int64_t i)
{
    view_raw raw;
    const uint4 *p = (const uint4 *)((const char *)v.data + i * view_bytes(v));
    raw.low = raw.high = __ldg(p);
    if (v.dtype == DIT_DTYPE_FP32) raw.high = __ldg(p + 1);
    return raw;
}

static __device__ inline void view_floats(dit_dtype dtype, view_raw raw, float out[VIEW_WIDTH])
{
    const uint32_t words[8] = {raw.low.x,  raw.low.y,  raw.low.z,  raw.low.w,
                               raw.high.x, raw.high.y, raw.high.z, raw.high.w};
#pragma unroll
    for (int j = 0; j < VIEW_WIDTH; j++) {
        uint32_t half = j % 2 ? words[j / 2] >> 16 : words[j / 2] & 0xFFFFu;
        if (dtype == DIT_DTYPE_FP32)
            out[j] = __uint_as_float(words[j]);
        else if (dtype == DIT_DTYPE_BF16)
            out[j] = __uint_as_float(j % 2 ? words[j / 2] & 0xFFFF0000u : words[j / 2] << 16);
        else
            out[j] = __half2float(__ushort_as_half((unsigned short)half));
    }
}

static __device__ inline void view_load_wide(view v, int64_t i, float out[VIEW_WIDTH])
{
    view_floats(v.dtype, view_read(v, i), out);
}

/* Stores eight elements in vector stores; a plain assignment is sometimes compiled into four stores. */
static __device__ inline void view_store_wide(view v, int64_t i, const float x[VIEW_WIDTH])
{
    if (v.dtype == DIT_DTYPE_FP32) {
        float4 *p = (float4 *)((float *)v.data + i);
        __stwb(p, make_float4(x[0], x[1], x[2], x[3]));
        __stwb(p + 1, make_float4(x[4], x[5], x[6], x[7]));
        return;
    }
    uint32_t words[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        uint32_t low, high;
        if (v.dtype == DIT_DTYPE_BF16) {
            low = __bfloat16_as_ushort(__float2bfloat16_rn(x[2 * j]));
            high = __bfloat16_as_ushort(__float2bfloat16_rn(x[2 * j + 1]));
        } else {
            low = __half_as_ushort(__float2half_rn(x[2 * j]));
            high = __half_as_ushort(__float2half_rn(x[2 * j + 1]));
        }
        words[j] = low | high << 16;
    }
    __stwb((uint4 *)((uint16_t *)v.data + i), make_uint4(words[0], words[1], words[2], words[3]));
}

#endif
