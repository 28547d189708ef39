/* Picture: writes decoded frames as PNG files: one image, an animated video (APNG), or numbered frames.
 *
 * Pixels are those that diffusers' image processor makes of a VAE's output. Facts about the image stand in its text
 * chunks. Every file is written through a temporary one, fsync and rename. An animated file is put together from zlib
 * streams that libpng made; viewers that do not know acTL, fcTL and fdAT show its first frame.
 * Format sources: PNG specification, third edition (W3C), sections 11 and "APNG".
 */
#ifndef DIT_ENGINE_PICTURE_H
#define DIT_ENGINE_PICTURE_H

#include "base/status.h"
#include <stdint.h>

/* One text chunk: tEXt, or iTXt when the text is not plain ASCII. */
typedef struct {
    const char *keyword; /* at most 79 bytes */
    const char *text;
} dit_picture_text;

typedef struct {
    int64_t width, height, frames;
    int64_t frames_per_s;          /* of videos; 1..1000               */
    const uint8_t *rgb;            /* [frames, height, width, 3]       */
    const dit_picture_text *texts; /* [text_count], of the first frame */
    int text_count;
} dit_picture;

/* Returns the level of a colour in about [-1, 1]: x / 2 + 0.5, clamped to [0, 1], times 255, rounded half to even
 * (diffusers 0.33.1 image_processor.py: denormalize, numpy_to_pil). x must not be NaN. */
uint8_t dit_picture_level(float x);
/* Converts planes [3, frames, height, width] to levels rgb [frames, height, width, 3].
 * Errors: DIT_ERR_NONFINITE, which names the first value that is not finite. */
dit_status dit_picture_quantize(const float *planes, int64_t frames, int64_t height, int64_t width, uint8_t *rgb);
/* Writes one file: a PNG for one frame, an APNG for several. Errors: DIT_ERR_IO, DIT_ERR_MEMORY, DIT_ERR_SHAPE for
 * extents that PNG cannot hold. */
dit_status dit_picture_write(const char *path, const dit_picture *picture);
/* Writes FOLDER/frame-0000.png and so on, each with all texts. Errors: as dit_picture_write. */
dit_status dit_picture_write_frames(const char *folder, const dit_picture *picture);

#endif
