/* For tests of the cuda device's own kernels on the emulation: a device of few arrays, in place of device.cu.
 *
 * An array has host floats (doubles for fp64), which the reference computes on, and memory of the device with its own
 * elements, which operators find by the addresses of the floats. Both hold the same values, rounded to those elements;
 * device memory is as long as the array, so that a sanitizer sees what is read or written beside it.
 * Include it once in a program; its tests begin with open_arrays and end with close_arrays.
 */
#ifndef DIT_KERNELS_TESTS_CUDA_ARRAYS_H
#define DIT_KERNELS_TESTS_CUDA_ARRAYS_H

#include "kernels/cuda/cuda.h"

#include "base/rng.h"

#include "base/tests/test.h"
extern "C" {
#include "kernels/ref/ref.h"
}

enum { MOST_ARRAYS = 16 };

typedef struct {
    float *host;
    char *block; /* device memory; the array begins `offset` elements behind it: another alignment */
    int64_t count, offset;
    dit_dtype dtype;
} array;

static array arrays[MOST_ARRAYS];
static int array_count;
static dit_cuda device;
static dit_pool *pool;
static uint64_t next_stream; /* of random values: each array has its own */

void cuda_fail(dit_cuda *cuda, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(cuda->failure_text, sizeof cuda->failure_text, format, values);
    va_end(values);
    cuda->failure = DIT_ERR_DEVICE;
}

bool cuda_check(dit_cuda *cuda, cudaError_t code, const char *call)
{
    if (code != cudaSuccess) cuda_fail(cuda, "%s: %s", call, cudaGetErrorString(code));
    return code == cudaSuccess;
}

static int64_t host_bytes(const array *a)
{
    return a->dtype == DIT_DTYPE_FP64 ? 8 : 4;
}

static const array *array_of(const void *address)
{
    for (int i = 0; i < array_count; i++) {
        int64_t from = (const char *)address - (const char *)arrays[i].host;
        if (from >= 0 && from < arrays[i].count * host_bytes(&arrays[i])) return &arrays[i];
    }
    return NULL;
}

static view array_view(const array *a)
{
    view v = {a->block, a->dtype};
    return view_at(v, a->offset);
}

view view_of(dit_cuda *cuda, const void *address)
{
    view nothing = {NULL, DIT_DTYPE_FP32};
    const array *a = array_of(address);
    if (a) return view_at(array_view(a), ((const char *)address - (const char *)a->host) / host_bytes(a));
    if (address) cuda_fail(cuda, "no array has the address");
    return nothing;
}

static float rounded(float x, dit_dtype dtype)
{
    if (dtype == DIT_DTYPE_BF16) return dit_bf16_to_float(dit_bf16_from_float(x));
    if (dtype == DIT_DTYPE_FP16) return dit_fp16_to_float(dit_fp16_from_float(x));
    return x;
}

static void *new_array(int64_t count, dit_dtype dtype, int64_t offset)
{
    assert_true(array_count < MOST_ARRAYS && count > 0);
    array *a = &arrays[array_count++];
    *a = (array){NULL, NULL, count, offset, dtype};
    a->host = (float *)malloc((size_t)(count * host_bytes(a)));
    a->block = (char *)malloc((size_t)((count + offset) * dit_dtype_bytes(dtype)));
    assert_true((uintptr_t)a->block % 16 == 0);
    return a->host;
}

/* The same values for the host and for the device. */
static void set_array(const void *address, const float *values)
{
    const array *a = array_of(address);
    for (int64_t i = 0; i < a->count; i++) {
        if (a->dtype == DIT_DTYPE_FP64)
            ((double *)(void *)a->host)[i] = values[i];
        else
            a->host[i] = rounded(values[i], a->dtype);
        view_store(array_view(a), i, values[i]);
    }
}

static float *normal_array(int64_t count, dit_dtype dtype, int64_t offset, uint64_t seed, float mean, float deviation)
{
    float *host = (float *)new_array(count, dtype, offset), *values = (float *)malloc((size_t)count * sizeof(float));
    dit_rng_normal(seed, next_stream++, 0, count, mean, deviation, values);
    set_array(host, values);
    free(values);
    return host;
}

static void forget_arrays(void)
{
    for (int i = 0; i < array_count; i++) {
        free(arrays[i].host);
        free(arrays[i].block);
    }
    array_count = 0;
}

static int open_arrays(void)
{
    device = dit_cuda();
    next_stream = 1;
    array_count = 0;
    if (dit_pool_create(1, false, &pool) != DIT_OK) return 1;
    dit_pool_set_device(pool, &device.device);
    return 0;
}

static int close_arrays(void)
{
    forget_arrays();
    dit_pool_free(pool);
    return 0;
}

#endif
