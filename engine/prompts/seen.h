/* Seen pictures: what a text encoder that sees pictures makes of those that a prompt is about, before it reads the prompt.
 * Source: diffusers 0.42.1, QwenImageEditPipeline and QwenImageEditPlusPipeline: a picture is resized as the pipeline does it, then as the processor in
 * processor/ does, and goes through the part of text_encoder/ that sees. */
#ifndef DIT_ENGINE_SEEN_H
#define DIT_ENGINE_SEEN_H

#include "engine/text/encoders/encode.h"

/* A picture that is seen. */
typedef struct {
    const char *path;      /* a PNG or JPEG file                */
    int64_t height, width; /* to which the pipeline resizes it */
} dit_seen_picture;

typedef struct {
    const char *folder; /* of the pipeline: processor/, text_encoder/ */
    dit_seen_picture pictures[DIT_TEXT_PICTURES];
    int count;
    const char *backend; /* the rest: as dit_text_encode_params */
    dit_dtype dtype;
    int threads;
    dit_text_parallel way; /* cfg: as replicated */
    bool streamed, seeded;
    uint64_t seed;
} dit_seen_params;

typedef struct {
    dit_text_pictures pictures; /* whose rows are owned */
    int64_t token;              /* id that stands for one of the rows in a text */
    int64_t encode_ns, peak_bytes;
} dit_seen;

/* Makes the embeddings of the pictures, one after the other, equal on every rank. Collective over the world. The caller releases *out, also after an
 * error. Errors: those of pictures, image processors and encoders. */
dit_status dit_seen_encode(const dit_seen_params *params, dit_seen *out);
void dit_seen_release(dit_seen *seen); /* accepts a zeroed one */

#endif
