/* What the library of clips gives the engine: the symbol dit_clip_library. */
#ifndef DIT_ENGINE_CLIP_IMPL_H
#define DIT_ENGINE_CLIP_IMPL_H

#include "engine/files/clip.h"

typedef struct {
    dit_status (*check)(dit_clip_format format);
    dit_status (*write)(const char *path, dit_clip_format format, const dit_picture *picture);
} dit_clip_ops;

extern const dit_clip_ops dit_clip_library;

#endif
