/* Picture size: how large a PNG or JPEG is, from the head of its file, which is not trusted. For who plans with a picture that
 * another program will read (engine/files/picture_read.h). */
#ifndef DIT_BASE_PICTURE_SIZE_H
#define DIT_BASE_PICTURE_SIZE_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads width and height in pixels as the picture is shown: a JPEG is turned as its EXIF orientation says. Errors: DIT_ERR_IO;
 * DIT_ERR_SHAPE for what is neither, or has no size. Both name the file. */
dit_status dit_picture_size(const char *path, int64_t *height, int64_t *width);
/* The same of a file's first bytes; `name` is for messages. */
dit_status dit_picture_size_parse(const char *name, const void *bytes, size_t length, int64_t *height, int64_t *width);
/* The orientation that the first directory of an EXIF block states, 1 to 8; 1 where there is none. From 5 on sides are
 * swapped. */
int dit_exif_orientation(const uint8_t *exif, size_t length);

#ifdef __cplusplus
}
#endif
#endif
