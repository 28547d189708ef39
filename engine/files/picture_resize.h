/* Picture resizing: as diffusers' VaeImageProcessor makes a model's input of an image: resized by Pillow's Lanczos filter,
 * scaled to [-1, 1]; transformers' processors mostly take the bicubic one. Source: Pillow's Image.resize (libImaging/Resample.c), whose weights and sums are integers, so that
 * every machine gives its bytes; diffusers 0.33.1 image_processor.py.
 *
 * Columns are resampled first, rows first where so many more of them are lost (H - h > 2 (W - w)): the first pass is rounded,
 * so that the order shows. This is what Pillow 13 was seen to do, on 600 random sizes; the order may be another in other
 * versions, and then single levels differ. */
#ifndef DIT_ENGINE_PICTURE_RESIZE_H
#define DIT_ENGINE_PICTURE_RESIZE_H

#include "base/status.h"
#include <stdint.h>

/* Pillow's filters. */
typedef enum { DIT_RESIZE_LANCZOS, DIT_RESIZE_BILINEAR, DIT_RESIZE_BICUBIC, DIT_RESIZE_COUNT } dit_resize_filter;

/* Resizes rgb [height, width, 3] to [to_height, to_width, 3], which the caller gives. Errors: DIT_ERR_SHAPE for extents
 * below 1 or above 2^20, DIT_ERR_MEMORY. */
dit_status dit_picture_resize(dit_resize_filter by, const uint8_t *rgb, int64_t height, int64_t width,
                              int64_t to_height, int64_t to_width, uint8_t *out);
/* Turns rgb [height, width, 3] into planes [3, height, width] in [-1, 1]. */
void dit_picture_planes(const uint8_t *rgb, int64_t height, int64_t width, float *planes);

#endif
