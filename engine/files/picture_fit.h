/* Picture fit: makes a decoded picture as large as was asked for: bilinear, then the middle of it. */
#ifndef DIT_ENGINE_PICTURE_FIT_H
#define DIT_ENGINE_PICTURE_FIT_H

#include <stdint.h>

/* Resizes planes [count, height, width] so that they cover to_height x to_width pixels, without antialiasing, and cuts the
 * middle out of them into `out` [count, to_height, to_width], which must not overlap them. All extents are at least 1.
 * Source: diffusers 0.42.1, VaeImageProcessor.resize_and_crop_tensor. */
void dit_picture_fit(const float *planes, int64_t count, int64_t height, int64_t width, int64_t to_height,
                     int64_t to_width, float *out);

#endif
