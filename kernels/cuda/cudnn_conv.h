/* Convolution as graphs of cuDNN: which calls it takes, and plans for them. Plain C: device code and pointers are
 * conv_cudnn.cu's.
 *
 * cuDNN sees x [N, C, T, H, W] with channels fastest; convolutions within frames are 2-D with the frames as batch. What
 * it cannot read in place (repeated pixels, frames before the first, rows of neighbours) is gathered into a padded copy
 * first, a band of rows at a time, and the graph is that of the band.
 */
#ifndef DIT_KERNELS_CUDA_CUDNN_CONV_H
#define DIT_KERNELS_CUDA_CUDNN_CONV_H

#include "kernels/cuda/cudnn_graph.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the operands of a call are made of. */
typedef struct {
    dit_dtype x, weight, bias, y, residual; /* bias, residual: where there are */
    bool has_bias;                          /* on the device */
    bool aligned;                           /* all to DNN_ALIGNMENT            */
} dnn_conv_operands;

/* Everything that a plan depends on; compared as bytes, so zeroed before it is filled. t, y, x. */
typedef struct {
    int64_t channels, n;
    int64_t in[3], out[3];
    int64_t in_stride[2], out_stride[2]; /* of a frame and of a row, in elements */
    int64_t kernel[3], stride[3], before[3], after[3];
    cudnnDataType_t type;
    dit_activation activation;
    int32_t bias, residual, flat; /* flat: 2-D, frames are the batch */
} dnn_conv;

enum { DNN_X = 1, DNN_W, DNN_Y, DNN_CONV_BIAS, DNN_RESIDUAL }; /* ids of pointers */

/* NULL, or why cuDNN is not asked for that call. */
const char *dnn_conv_declines(const dit_conv_args *args, const dnn_conv_operands *operands, int sm);
/* Whether x must be gathered: into a copy with every row that is read and zeros before and after them. */
bool dnn_conv_gathers(const dit_conv_args *args);
/* Frames and columns of that copy, and rows of it that `rows` rows of y read. */
int64_t dnn_conv_copy_frames(const dit_conv_args *args);
int64_t dnn_conv_copy_columns(const dit_conv_args *args);
int64_t dnn_conv_copy_rows(const dit_conv_args *args, int64_t rows);
/* Rows of y whose copy of x fits into `bytes`; 0: not one. */
int64_t dnn_conv_band_rows(const dit_conv_args *args, int64_t element_bytes, int64_t bytes);

/* Of a call that is not declined; `rows` rows of y from a copy, or with rows 0 the whole call from x itself. */
dnn_conv dnn_conv_of(const dit_conv_args *args, const dnn_conv_operands *operands, int64_t rows);
/* The graph, closed: y = act(conv(x) + bias) + residual. On failure it is to be released too. */
dit_status dnn_conv_graph(dnn_graph *graph, const dnn_target *target, const dnn_conv *c);

#ifdef __cplusplus
}
#endif
#endif
