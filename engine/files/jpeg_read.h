/* JPEG reading, by libjpeg-turbo with its defaults (exact integer transform, smooth chroma), which are Pillow's. */
#ifndef DIT_ENGINE_JPEG_READ_H
#define DIT_ENGINE_JPEG_READ_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether bytes begin as a JPEG file does. */
bool dit_is_jpeg(const void *bytes, size_t length);
/* Decodes to rgb [height, width, 3], owned by the caller (free), turned as the EXIF orientation says. Errors:
 * DIT_ERR_SHAPE for a damaged file, one of more than `most_pixels`, or one of more than 100 scans; DIT_ERR_UNSUPPORTED for
 * four inks; DIT_ERR_MEMORY. All of them name the file. */
dit_status dit_jpeg_parse(const char *name, const void *bytes, size_t length, int64_t most_pixels, int64_t *height,
                          int64_t *width, uint8_t **rgb);

#endif
