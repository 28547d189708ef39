/* First frame: what Wan's image-to-video pipeline makes of the picture that a clip begins with: embeddings by its image encoder,
 * and latents by its VAE with the channels of a mask, which go to the transformer beside the noise; of Wan 2.2 TI2V-5B and of
 * LTX-Video the latents of the picture alone, which are the clip's first ones.
 * Source: diffusers 0.33.1 and 0.42.1, WanImageToVideoPipeline; 0.42.1, LTXImageToVideoPipeline. */
#ifndef DIT_ENGINE_FIRST_FRAME_H
#define DIT_ENGINE_FIRST_FRAME_H

#include "base/json.h"
#include "base/latent.h"
#include "base/safetensors.h"
#include "engine/text/encoders/encode.h"

typedef struct {
    const char *folder;  /* of the pipeline: image_encoder/, image_processor/ */
    const char *picture; /* a PNG or JPEG file */
    const dit_json *doc; /* the case, which has `vae` at "/vae" */
    const cJSON *vae;
    dit_latent latent; /* of the clip, with its extents */
    int64_t num_frames;
    bool alone;            /* latents of the picture, which stands in the clip; no embeddings    */
    bool packed;           /* of those alone: the file has tokens, as the pipelines hold latents */
    bool sampled, counted; /* a sample of the VAE's distribution is taken, by PyTorch's noise or by counted numbers */
    uint64_t seed;         /* of either */
    const char *backend;   /* the rest: as dit_text_encode_params */
    dit_dtype dtype;
    int threads;
    dit_text_parallel way; /* cfg: as replicated */
    bool streamed;
} dit_first_frame_params;

enum { DIT_FIRST_FRAME_TENSORS = 2 };
typedef struct {
    dit_tensor_out tensors
        [DIT_FIRST_FRAME_TENSORS]; /* image_embeds [1, tokens, width], on every rank; latent_condition [1, temporal +
                        channels, frames, height, width], of rank 0. Of a picture alone: first_frame_latents [1, channels,
                        frames, height, width] or packed [1, tokens, channels], of rank 0, zeros behind the first frame */
    int count;                     /* of the tensors that there are */
    int64_t image_encode_ns, vae_encode_ns;
    int64_t peak_bytes; /* of the image encoder or of the VAE, whichever needed more */
} dit_first_frame;

/* Makes them; rank 0 alone runs the VAE. Collective over the world, before the transformer's runtime exists. The caller releases
 * *out, also after an error. Errors: those of pictures, image processors, encoders and VAEs; DIT_ERR_SHAPE where the VAE does not
 * fit the latents. */
dit_status dit_first_frame_encode(const dit_first_frame_params *params, dit_first_frame *out);
void dit_first_frame_release(dit_first_frame *frame); /* accepts a zeroed one */

#endif
