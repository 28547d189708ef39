/* Attention as graphs of cuDNN: decides which calls cuDNN takes, and builds graphs for them. Plain C;
 * attention_cudnn.cu has the device code and the pointers.
 *
 * Two graphs compute attention. `whole` is one SDPA operation (cuDNN 9.13 and later) without bias. `parts` has the two
 * products and the softmax between them as operations, a pattern that cuDNN's engines know; it takes a bias.
 */
#ifndef DIT_KERNELS_CUDA_CUDNN_ATTENTION_H
#define DIT_KERNELS_CUDA_CUDNN_ATTENTION_H

#include "kernels/cuda/cudnn_graph.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types and alignment of a call's operands. */
typedef struct {
    dit_dtype q, k, v, out, lse; /* lse: where there is one */
    bool aligned;                /* all to DNN_ALIGNMENT    */
} dnn_attention_operands;

/* Everything that a plan depends on. It is compared as bytes, so zero it before filling it. */
typedef struct {
    int64_t B, H, key_heads, Sq, Sk, D;
    int64_t q[2], k[2], v[2], out[2]; /* strides of batches and of tokens, in elements */
    int64_t first_key_head;           /* where the pointers of k and v begin; the graph does not use it */
    cudnnDataType_t type;
    int32_t stats, bias;
} dnn_attention;

enum { DNN_Q = 1, DNN_K, DNN_V, DNN_OUT, DNN_STATS, DNN_SCALE, DNN_BIAS }; /* ids of pointers */

/* Returns NULL, or why cuDNN is not asked for that call on a device of compute capability sm (90 for 9.0). */
const char *dnn_attention_declines(const dit_attention_args *args, const dnn_attention_operands *operands, int sm);
/* Describes a call that is not declined. */
dnn_attention dnn_attention_of(const dit_attention_args *args, const dnn_attention_operands *operands);

/* Build the graph and close it. Release it on failure, too. */
dit_status dnn_attention_whole(dnn_graph *graph, const dnn_target *target, const dnn_attention *a);
dit_status dnn_attention_parts(dnn_graph *graph, const dnn_target *target, const dnn_attention *a);

#ifdef __cplusplus
}
#endif
#endif
