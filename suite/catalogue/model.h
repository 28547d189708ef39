/* Model: reads a file of workloads/models, and lays an override over its config. */
#ifndef DIT_SUITE_CATALOGUE_MODEL_H
#define DIT_SUITE_CATALOGUE_MODEL_H

#include "base/json.h"

/* A model file, after an override if there was one. Pointers lie inside `source`. */
typedef struct {
    dit_json source;
    const char *name, *title, *guidance; /* guidance: cfg, distilled or none                     */
    const char *vae;                     /* name of a file of workloads/vaes; NULL: not stated   */
    cJSON *config, *scheduler;           /* NULL: architecture facts only, cannot be run         */
    cJSON *latent, *text, *default_run;
    const char *weights, *weights_digest; /* shipped in workloads/weights; NULL: none, or not those of an override */
    cJSON *text_encoders; /* a list, which suite/catalogue/text_encoder.h resolves; NULL: not stated        */
    cJSON *variants;      /* NULL: none; members are {"override", "why"}                  */
    bool video;           /* kind: makes clips, so that a run has num_frames              */
    double
        boundary_ratio; /* above 0: it has two transformers, and steps whose timestep is below this part of all run the
                              second one */
    int64_t parameters; /* as its authors state them, in step with overrides; 0: not stated */
    const char *folder; /* a diffusers folder whose configs these are, as cases spell its path; NULL: none */
    char variant[160];  /* "NAME", or "NAME~WHAT" when it was overridden                */
} suite_model;

/* Loads workloads/models/NAME.json; "NAME~VARIANT" is the file's variant of that name, its override laid over the
 * config. Errors: DIT_ERR_NOT_FOUND with the nearest name as hint; DIT_ERR_JSON_* in the model file. release accepts a
 * zeroed model. */
dit_status suite_model_load(const char *name, suite_model *out);
void suite_model_release(suite_model *model);
/* Lays `override` (config keys) over the model's config, and keeps the text widths in step. `as` names the result
 * ("NAME~as"); NULL: the keys and values name it. What is overridden has no shipped weights. Errors point at `pointer`
 * of `doc`.
 * Errors: DIT_ERR_JSON_UNKNOWN_KEY, DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE; DIT_ERR_UNSUPPORTED without a config. */
dit_status suite_model_override(suite_model *model, const dit_json *doc, const char *pointer, const cJSON *override,
                                const char *as);
/* Checks the model's config after another took its place, lets text widths follow from it, and forgets the parameters
 * and shipped weights of the old one. Errors point at `pointer` of `doc`: DIT_ERR_JSON_VALUE. */
dit_status suite_model_settle_config(suite_model *model, const dit_json *doc, const char *pointer);
/* Lays `override` over a copy of the model's scheduler into *out (caller deletes); with another "_class_name" it stands
 * alone. Errors: DIT_ERR_JSON_UNKNOWN_KEY, DIT_ERR_JSON_TYPE. */
dit_status suite_model_scheduler(const suite_model *model, const dit_json *doc, const char *pointer,
                                 const cJSON *override, cJSON **out);

#endif
