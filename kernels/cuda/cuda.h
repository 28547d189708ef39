/* What the files of the cuda device share. Everything here is private to build/lib/ditbench-cuda.so.
 *
 * Operators are called with addresses; view_of finds the array there and its dtype. Kernels take views, whose dtype is
 * known at run time, and read eight elements at a time (view.h). So there is one kernel per operator instead of one per
 * combination of dtypes. cuda_fail remembers the first failure; the next wait reports it.
 *
 * The same sources are compiled a second time for the host (emulate/), where a block's threads are fibers, so our
 * kernels are tested on machines without a GPU. Libraries (cuBLASLt, cuDNN, NCCL) are not emulated. Where a library is
 * absent, or declines a call, the operator's own kernel runs.
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
    dit_device device; /* first: the engine's view of this struct */
    dit_device_params params;
    int sm; /* compute capability, 90 for 9.0; 0 when emulated */
    int multiprocessors;
    int64_t shared_bytes;  /* most of one block */
    cudaStream_t stream;   /* operators, in order */
    cudaStream_t transfer; /* messages */
    bool recording;        /* a graph is being recorded on `stream` */
    void *workspace;       /* device memory that belongs to the operator that runs */
    int64_t workspace_bytes;
    dit_cuda_linear_library *linear; /* each NULL: the library is absent */
    dit_cuda_attention_library *attention;
    dit_cuda_conv_library *conv;
    dit_status failure;
    char failure_text[512];
    struct dit_cuda_events *events;
} dit_cuda;

/* Returns the device behind a pool. */
static inline dit_cuda *cuda_of(dit_pool *pool)
{
    return (dit_cuda *)dit_pool_device(pool);
}

/* Remembers a failure, if it is the first. printf-formatted. */
void cuda_fail(dit_cuda *cuda, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Checks the result of a CUDA runtime call and remembers a failure. Returns true for success. */
bool cuda_check(dit_cuda *cuda, cudaError_t code, const char *call);
#define CUDA_CHECK(cuda, call) cuda_check(cuda, call, #call)
/* Makes a CUDA runtime call; on failure it returns DIT_ERR_DEVICE from the calling function. */
#define CUDA_TRY(call)                                                                                                 \
    do {                                                                                                               \
        cudaError_t cuda_code_ = (call);                                                                               \
        if (cuda_code_ != cudaSuccess)                                                                                 \
            return DIT_FAIL(DIT_ERR_DEVICE, "%s: %s", #call, cudaGetErrorString(cuda_code_));                          \
    } while (0)

/* Returns what lies at an address. `data` is NULL for NULL, and for an address that belongs to no array; the latter is
 * remembered as a failure. */
view view_of(dit_cuda *cuda, const void *address);

/* ---- operators, one file each: the table is in device.cu --------------------------------------------------------- */

dit_status cuda_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                            const float *const *bias, const int64_t *rows, dit_linear *out);
#define CUDA_OPERATOR(ID, name, args_type, ...) void cuda_##name(dit_pool *pool, const args_type *args);
DIT_OPERATOR_LIST(CUDA_OPERATOR)
#undef CUDA_OPERATOR

/* Packed weights of a linear layer or a convolution on the device. dit_linear.plan points to one, which lies in the
 * arena's host memory. */
typedef struct {
    view weight;      /* [n, k] row-major (k contiguous), in the device's dtype */
    view bias;        /* [n] in the device's dtype; data NULL: none */
    view fp8;         /* data NULL, or the weights in e4m3, [n, k]; dit_dtype has no such type */
    float *fp8_scale; /* on the device: the codes of fp8 are multiplied by it */
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
    const float *x_scale; /* NULL, or on the device: x is e4m3 with this scale, and the weights' fp8 is taken */
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

/* Which parts of a request the library's product does itself; a pass over its result does the others. A part is the
 * product's only if all parts before it are; the residual only where there is neither activation nor gate. `part` is
 * the request as the product sees it, with `weights` as its weights; its y is the request's or the workspace. */
typedef struct {
    bool bias, activation, residual;
} cuda_linear_parts;
void cuda_linear_part(dit_cuda *cuda, const cuda_matmul_args *whole, cuda_linear_parts parts, cuda_weights *weights,
                      cuda_matmul_args *part);
void cuda_linear_finish(dit_cuda *cuda, const cuda_matmul_args *whole, cuda_linear_parts parts,
                        const cuda_matmul_args *part);
/* Returns how many bytes of the workspace, from its begin, the library may use; the rest is cuda_linear's. */
int64_t cuda_linear_library_bytes(const dit_cuda *cuda);
/* Quantises rows of x to e4m3: `codes` [rows, k] dense, and the scale by which the codes are multiplied. The largest
 * magnitude becomes 448. `partial`: CUDA_QUANTISE_PARTIAL floats on the device. k is a multiple of 8. */
enum { CUDA_QUANTISE_PARTIAL = 256 };
void cuda_quantise(dit_cuda *cuda, view x, int64_t rows, int64_t k, int64_t ldx, uint8_t *codes, float *scale,
                   float *partial);

/* Does a request with our own kernels. */
void cuda_matmul_own(dit_cuda *cuda, const cuda_matmul_args *args);
void cuda_attention_own(dit_cuda *cuda, const dit_attention_args *args);
void cuda_conv_own(dit_cuda *cuda, const dit_conv_args *args);

#endif
