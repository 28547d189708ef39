/* Convolution as graphs of cuDNN: decides which calls cuDNN takes, and builds graphs for them. Plain C; conv_cudnn.cu
 * has the device code and the pointers.
 *
 * cuDNN sees x [N, C, T, H, W] with channels fastest; convolutions within frames are 2-D with the frames as batch.
 * cuDNN cannot read repeated pixels or edges, frames before the first, or rows of neighbours in place. Such input is first
 * gathered into a padded copy, a band of rows at a time, and the graph describes the convolution of the band.
 */
#ifndef DIT_KERNELS_CUDA_CUDNN_CONV_H
#define DIT_KERNELS_CUDA_CUDNN_CONV_H

#include "kernels/cuda/cudnn_graph.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types and alignment of a call's operands. */
typedef struct {
    dit_dtype x, weight, bias, y, residual; /* bias and residual: if the call has them */
    bool has_bias;                          /* on the device */
    bool aligned;                           /* all to DNN_ALIGNMENT            */
} dnn_conv_operands;

/* Everything that a plan depends on. It is compared as bytes, so zero it before filling it. Arrays are t, y, x. */
typedef struct {
    int64_t channels, n;
    int64_t in[3], out[3];
    int64_t in_stride[2], out_stride[2]; /* distance of frames and of rows, in elements */
    int64_t kernel[3], stride[3], before[3], after[3];
    cudnnDataType_t type;
    dit_activation activation;
    int32_t bias, residual, flat; /* flat: 2-D, frames are the batch */
} dnn_conv;

enum { DNN_X = 1, DNN_W, DNN_Y, DNN_CONV_BIAS, DNN_RESIDUAL }; /* ids of pointers */

/* Returns NULL, or why cuDNN is not asked for that call. */
const char *dnn_conv_declines(const dit_conv_args *args, const dnn_conv_operands *operands, int sm);
/* True if x must be gathered into a copy, which has every row that is read, with zeros before and after them. */
bool dnn_conv_gathers(const dit_conv_args *args);
/* Return the copy's frames and columns, and how many of its rows `rows` rows of y read. */
int64_t dnn_conv_copy_frames(const dit_conv_args *args);
int64_t dnn_conv_copy_columns(const dit_conv_args *args);
int64_t dnn_conv_copy_rows(const dit_conv_args *args, int64_t rows);
/* Returns for how many rows of y the copy of x fits into `bytes`; 0: not even for one. */
int64_t dnn_conv_band_rows(const dit_conv_args *args, int64_t element_bytes, int64_t bytes);

/* Describes a call that is not declined: `rows` rows of y from a copy, or with rows 0 the whole call from x itself. */
dnn_conv dnn_conv_of(const dit_conv_args *args, const dnn_conv_operands *operands, int64_t rows);
/* Builds and closes the graph y = act(conv(x) + bias) + residual. Release it on failure, too. */
dit_status dnn_conv_graph(dnn_graph *graph, const dnn_target *target, const dnn_conv *c);

#ifdef __cplusplus
}
#endif
#endif
