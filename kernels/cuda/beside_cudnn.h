/* Our kernels that run before and after cuDNN's: they prepare and finish what cuDNN cannot read. */
#ifndef DIT_KERNELS_CUDA_BESIDE_CUDNN_H
#define DIT_KERNELS_CUDA_BESIDE_CUDNN_H

#include "kernels/cuda/cuda.h"

/* Makes a mask [B, Sk] that cuDNN can add: fp32, and no less than MASK_FLOOR, because -INFINITY - -INFINITY is NaN.
 * keys[b] tells whether batch entry b has any key. */
void cuda_mask_prepare(dit_cuda *cuda, view bias, int64_t B, int64_t Sk, float *mask, int32_t *keys);
/* Writes out 0 and lse -INFINITY for batch entries without a key. args give strides and extents. */
void cuda_mask_finish(dit_cuda *cuda, const dit_attention_args *args, view out, view lse, const int32_t *keys);

/* Gathers the part of the upsampled and padded input that some rows of y read into an image of its own. */
typedef struct {
    view x, front, above, below; /* data NULL: not there */
    int64_t frames, height, width, channels, front_frame;
    int64_t up;
    bool replicate;    /* outside of the image lies its nearest pixel, not zero */
    int64_t first[3];  /* where the copy begins in the upsampled input; negative: in the padding */
    int64_t extent[3]; /* of the copy: t, y, x */
    int64_t front_frames;
    view copy; /* [extent t, y, x, channels] dense */
} cuda_gather;
void cuda_conv_gather(dit_cuda *cuda, const cuda_gather *gather);

#endif
