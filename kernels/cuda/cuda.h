/* The cuda device from inside: what its files share. Everything here is private to build/lib/ditbench-cuda.so.
 *
 * Operators are called with addresses; view_of finds what lies there and in which elements. Kernels take views: any
 * element type, told at run time, eight elements at a time (view.h), so that there is one kernel per operator and not
 * one per combination of types. What fails is remembered by cuda_fail, once, and reported by the next wait.
 *
 * The same sources are compiled a second time for the host (emulate/), where a block's threads are fibers: the own
 * kernels are run and tested on machines without a GPU. Libraries (cuBLASLt, cuDNN, NCCL) are not part of that; where
 * they are not there, or decline, an operator's own kernel is used.
 */
#ifndef DIT_KERNELS_CUDA_CUDA_H
#define DIT_KERNELS_CUDA_CUDA_H

#include "kernels/cuda/view.h"
#include "kernels/device_impl.h"
#include <cuda_runtime.h>

typedef struct dit_cuda_linear_library dit_cuda_linear_library;       /* linear_lt.cu: handle, algorithms, cache */
typedef struct dit_cuda_attention_library dit_cuda_attention_library; /* attention_cudnn.cu: handle, plans       */
typedef struct dit_cuda_conv_library dit_cuda_conv_library;           /* conv_cudnn.cu                           */

typedef struct dit_cuda {
    dit_device device; /* first: what the engine has */
    dit_device_params params;
    int sm; /* compute capability, 90 for 9.0; 0 when emulated */
    int multiprocessors;
    int64_t shared_bytes;  /* most of one block */
    cudaStream_t stream;   /* operators, in order */
    cudaStream_t transfer; /* messages */
    bool recording;        /* a graph is being recorded on `stream` */
    void *workspace;       /* of the operator that runs: device memory, of no other's */
    int64_t workspace_bytes;
    dit_cuda_linear_library *linear; /* NULL: not there */
    dit_cuda_attention_library *attention;
    dit_cuda_conv_library *conv;
    dit_status failure;
    char failure_text[512];
    struct dit_cuda_events *events;
} dit_cuda;

/* The device behind a pool. */
static inline dit_cuda *cuda_of(dit_pool *pool)
{
    return (dit_cuda *)dit_pool_device(pool);
}

/* Remembers the first failure. printf-formatted. */
void cuda_fail(dit_cuda *cuda, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A CUDA runtime call: remembers what it returned when that is no success. Returns whether it was. */
bool cuda_check(dit_cuda *cuda, cudaError_t code, const char *call);
#define CUDA_CHECK(cuda, call) cuda_check(cuda, call, #call)
/* Translates a call of a function that returns a status. */
#define CUDA_TRY(call)                                                                                                 \
    do {                                                                                                               \
        cudaError_t cuda_code_ = (call);                                                                               \
        if (cuda_code_ != cudaSuccess)                                                                                 \
            return DIT_FAIL(DIT_ERR_DEVICE, "%s: %s", #call, cudaGetErrorString(cuda_code_));                          \
    } while (0)

/* What lies at an address; data NULL for NULL, and, remembered as a failure, for what is no array's. */
view view_of(dit_cuda *cuda, const void *address);

/* ---- operators, one file each: the table is in device.cu --------------------------------------------------------- */

dit_status cuda_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                            const float *const *bias, const int64_t *rows, dit_linear *out);
#define CUDA_OPERATOR(ID, name, args_type, ...) void cuda_##name(dit_pool *pool, const args_type *args);
DIT_OPERATOR_LIST(CUDA_OPERATOR)
#undef CUDA_OPERATOR

/* Packed weights of a linear layer or a convolution on the device: dit_linear.plan points to one, in host memory of the
 * arena. */
typedef struct {
    view weight;      /* [n, k] row-major (k contiguous), in the device's element */
    view bias;        /* [n] in the device's element; data NULL: none */
    view fp8;         /* data NULL, or the same weights in e4m3, [n, k] (of no dit_dtype) */
    float *fp8_scale; /* on the device: what their codes are multiplied by */
} cuda_weights;
static inline const cuda_weights *weights_of(const dit_linear *linear)
{
    return (const cuda_weights *)linear->plan;
}

/* ---- what libraries do of operators; false: declined, the own kernel is to be used ------------------------------- */

/* y = residual + gate * activation(x W^T + b). */
typedef struct {
    const cuda_weights *weights;
    int64_t rows, n, k, ldx, ldy;
    view x, y;
    view residual, gate;  /* data NULL: none, all ones; the residual's rows are ldy apart, it may be y */
    const float *x_scale; /* NULL, or on the device: x is e4m3 with this scale, and so are the weights taken, fp8 */
    dit_activation activation;
} cuda_matmul_args;
dit_status cuda_linear_library_open(dit_cuda *cuda, dit_cuda_linear_library **out);
void cuda_linear_library_close(dit_cuda_linear_library *library);
bool cuda_linear_library_run(dit_cuda *cuda, const cuda_matmul_args *args);

dit_status cuda_attention_library_open(dit_cuda *cuda, dit_cuda_attention_library **out);
void cuda_attention_library_close(dit_cuda_attention_library *library);
bool cuda_attention_library_run(dit_cuda *cuda, const dit_attention_args *args);

dit_status cuda_conv_library_open(dit_cuda *cuda, dit_cuda_conv_library **out);
void cuda_conv_library_close(dit_cuda_conv_library *library);
bool cuda_conv_library_run(dit_cuda *cuda, const dit_conv_args *args);

/* Which parts of a request a library's product does itself, none without those before it; a pass over it does the
 * others. The residual is the product's only where there is no activation and no gate. `part` is what is left of
 * the request for the product, with `weights` for its own; its y is the request's or the workspace. */
typedef struct {
    bool bias, activation, residual;
} cuda_linear_parts;
void cuda_linear_part(dit_cuda *cuda, const cuda_matmul_args *whole, cuda_linear_parts parts, cuda_weights *weights,
                      cuda_matmul_args *part);
void cuda_linear_finish(dit_cuda *cuda, const cuda_matmul_args *whole, cuda_linear_parts parts,
                        const cuda_matmul_args *part);
/* How much of the workspace, from its begin, the library may use; the rest is cuda_linear's. */
int64_t cuda_linear_library_bytes(const dit_cuda *cuda);
/* Rows of x in e4m3, `codes` [rows, k] dense, and the scale by which the codes are multiplied: the largest magnitude
 * becomes 448. `partial`: CUDA_QUANTISE_PARTIAL floats on the device. k is a multiple of 8. */
enum { CUDA_QUANTISE_PARTIAL = 256 };
void cuda_quantise(dit_cuda *cuda, view x, int64_t rows, int64_t k, int64_t ldx, uint8_t *codes, float *scale,
                   float *partial);

/* Own kernels of the same. */
void cuda_matmul_own(dit_cuda *cuda, const cuda_matmul_args *args);
void cuda_attention_own(dit_cuda *cuda, const dit_attention_args *args);
void cuda_conv_own(dit_cuda *cuda, const dit_conv_args *args);

#endif
