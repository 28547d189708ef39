/* Own kernels that go before and after cuDNN's: what it does not read itself. */
#ifndef DIT_KERNELS_CUDA_BESIDE_CUDNN_H
#define DIT_KERNELS_CUDA_BESIDE_CUDNN_H

#include "kernels/cuda/cuda.h"

/* A mask [B, Sk] as cuDNN may add it: fp32, and no smaller than MASK_FLOOR, as minus infinity minus minus infinity is
 * no number. keys[b]: whether batch entry b has a key at all. */
void cuda_mask_prepare(dit_cuda *cuda, view bias, int64_t B, int64_t Sk, float *mask, int32_t *keys);
/* out 0 and lse -INFINITY in the batch entries without a key. args: of strides and extents. */
void cuda_mask_finish(dit_cuda *cuda, const dit_attention_args *args, view out, view lse, const int32_t *keys);

/* The part of the upsampled and padded input that rows from_row.. of y read, as a picture of its own. */
typedef struct {
    view x, front, above, below; /* data NULL: not there */
    int64_t frames, height, width, channels, front_frame;
    int64_t up;
    int64_t first[3];  /* where the copy begins in the upsampled input; negative: in the padding */
    int64_t extent[3]; /* of the copy: t, y, x */
    int64_t front_frames;
    view copy; /* [extent t, y, x, channels] dense */
} cuda_gather;
void cuda_conv_gather(dit_cuda *cuda, const cuda_gather *gather);

#endif
