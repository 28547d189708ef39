/* Picture reading: the colours of a PNG or JPEG file that somebody gives. The file is not trusted. */
#ifndef DIT_ENGINE_PICTURE_READ_H
#define DIT_ENGINE_PICTURE_READ_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

/* Reads an image as rgb [height, width, 3], owned by the caller (free). A JPEG is turned as its EXIF orientation says.
 * Errors: DIT_ERR_IO; DIT_ERR_SHAPE for what is neither, is damaged or has more than 2^26 pixels; DIT_ERR_UNSUPPORTED for
 * transparency, for an animated file, of which only the first frame would be seen, and for a JPEG of four inks. All of
 * them name the file. */
dit_status dit_picture_read(const char *path, int64_t *height, int64_t *width, uint8_t **rgb);
/* The same of a file's bytes; `name` is for messages. */
dit_status dit_picture_parse(const char *name, const void *bytes, size_t length, int64_t *height, int64_t *width,
                             uint8_t **rgb);

#endif
