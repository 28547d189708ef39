/* Attention as graphs of cuDNN: which calls it takes, and plans for them. Plain C: device code and pointers are
 * attention_cudnn.cu's.
 *
 * Two graphs compute the same. `whole`: one SDPA operation (cuDNN 9.13 and later), without bias. `parts`: the two
 * products and the softmax between them as operations, which cuDNN's engines know as a pattern; takes a bias.
 */
#ifndef DIT_KERNELS_CUDA_CUDNN_ATTENTION_H
#define DIT_KERNELS_CUDA_CUDNN_ATTENTION_H

#include "kernels/cuda/cudnn_graph.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the operands of a call are made of. */
typedef struct {
    dit_dtype q, k, v, out, lse; /* lse: where there is one */
    bool aligned;                /* all to DNN_ALIGNMENT    */
} dnn_attention_operands;

/* Everything that a plan depends on; compared as bytes, so zeroed before it is filled. */
typedef struct {
    int64_t B, H, key_heads, Sq, Sk, D;
    int64_t q[2], k[2], v[2], out[2]; /* strides of batches and of tokens, in elements */
    int64_t first_key_head;           /* of k and v: where their pointers begin, no part of the graph */
    cudnnDataType_t type;
    int32_t stats, bias;
} dnn_attention;

enum { DNN_Q = 1, DNN_K, DNN_V, DNN_OUT, DNN_STATS, DNN_SCALE, DNN_BIAS }; /* ids of pointers */

/* NULL, or why cuDNN is not asked for that call on a device of compute capability sm (90 for 9.0). */
const char *dnn_attention_declines(const dit_attention_args *args, const dnn_attention_operands *operands, int sm);
/* Of a call that is not declined. */
dnn_attention dnn_attention_of(const dit_attention_args *args, const dnn_attention_operands *operands);

/* The graph, closed. On failure it is to be released too. */
dit_status dnn_attention_whole(dnn_graph *graph, const dnn_target *target, const dnn_attention *a);
dit_status dnn_attention_parts(dnn_graph *graph, const dnn_target *target, const dnn_attention *a);

#ifdef __cplusplus
}
#endif
#endif
