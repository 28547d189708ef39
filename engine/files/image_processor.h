/* Image processor: what transformers' CLIPImageProcessor makes of a picture for an image encoder: resized, cut to its middle,
 * normalised, by a preprocessor_config.json. Source: transformers 4.51.3, image_processing_clip.py. And what Qwen2VLImageProcessor
 * makes of one, which is not cut. */
#ifndef DIT_ENGINE_IMAGE_PROCESSOR_H
#define DIT_ENGINE_IMAGE_PROCESSOR_H

#include "base/status.h"
#include <stdint.h>

/* Makes planes [3, size, size], which the caller gives, of rgb [height, width, 3], by FOLDER/preprocessor_config.json.
 * Errors: DIT_ERR_IO, DIT_ERR_JSON_*; DIT_ERR_SHAPE where the config's result is not size x size; DIT_ERR_UNSUPPORTED for a filter
 * other than Lanczos', bilinear and bicubic; DIT_ERR_MEMORY. */
dit_status dit_image_process(const char *folder, const uint8_t *rgb, int64_t height, int64_t width, int64_t size,
                             float *planes);

/* Makes planes [3, *to_height, *to_width] of a picture that keeps its shape: both extents are multiples of `side` pixels, and the
 * area is within the config's bounds. The caller frees *planes. Source: transformers 5.23.0, image_processing_pil_qwen2_vl.py.
 * Errors: as dit_image_process; DIT_ERR_SHAPE for a picture more than 200 times as long as wide, or the other way round, and where
 * patch_size times merge_size of the config is not `side`. */
dit_status dit_image_process_area(const char *folder, const uint8_t *rgb, int64_t height, int64_t width, int64_t side,
                                  int64_t *to_height, int64_t *to_width, float **planes);

#endif
