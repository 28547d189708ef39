/* VAE: reads a file of workloads/vaes. */
#ifndef DIT_SUITE_CATALOGUE_VAE_H
#define DIT_SUITE_CATALOGUE_VAE_H

#include "base/json.h"

#include <stdbool.h>

/* A file of workloads/vaes: the full-size config of a published autoencoder. Pointers lie inside `source`. */
typedef struct {
    dit_json source;
    const char *name, *title;
    const cJSON *config;
    bool built; /* the engine can decode with it; else a census may say what its decode takes */
} suite_vae;

/* Loads workloads/vaes/NAME.json. Errors as suite_model_load. release accepts a zeroed one. */
dit_status suite_vae_load(const char *name, suite_vae *out);
void suite_vae_release(suite_vae *vae);

#endif
