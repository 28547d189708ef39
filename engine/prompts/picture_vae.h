/* Picture VAE: the encoder of a case's VAE, with a runtime of its own, for pictures that become conditions. */
#ifndef DIT_ENGINE_PICTURE_VAE_H
#define DIT_ENGINE_PICTURE_VAE_H

#include "base/dtype.h"
#include "base/json.h"
#include "base/latent.h"
#include "engine/vae/vae.h"

typedef struct {
    const dit_json *doc; /* the case, which has `vae` at "/vae" */
    const cJSON *vae;
    dit_latent latent; /* with its extents */
    const char *backend;
    dit_dtype dtype;
    int threads;
} dit_picture_vae;

/* Calls `work` on rank 0 with the VAE. Collective over the world, before the transformer's runtime exists. *peak_bytes is
 * raised to what it needed. Errors: those of VAEs and of `work`. */
dit_status dit_picture_vae_run(const dit_picture_vae *params, dit_status (*work)(void *context, dit_vae *vae),
                               void *context, int64_t *peak_bytes);

#endif
