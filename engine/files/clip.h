/* Clip: writes decoded frames as a video that players know: MP4 (H.264) or WebM (VP9), by libavformat and libavcodec.
 *
 * They are optional, and in a library of ours that is loaded when it is needed (clip_library.c); where it was not built
 * clips are refused with the packages to install. The pixels are compressed
 * with loss and in 4:2:0; an animated PNG or numbered frames keep them. */
#ifndef DIT_ENGINE_CLIP_H
#define DIT_ENGINE_CLIP_H

#include "engine/files/picture.h"
#include <stdbool.h>

typedef enum { DIT_CLIP_MP4, DIT_CLIP_WEBM, DIT_CLIP_COUNT } dit_clip_format;

/* "mp4" or "webm". */
const char *dit_clip_name(dit_clip_format format);
bool dit_clip_from_name(const char *name, dit_clip_format *out);
/* Whether this build and its libraries can write the format. Errors: DIT_ERR_UNSUPPORTED, with the packages to install. */
dit_status dit_clip_check(dit_clip_format format);
/* Writes all frames; the first text whose keyword is "ditbench.case" becomes the file's comment. The file gets its name
 * when it is whole. Errors: those of check; DIT_ERR_SHAPE for odd extents, DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status dit_clip_write(const char *path, dit_clip_format format, const dit_picture *picture);

#endif
