/* Describe: has the engine count, without computing, what the models of the catalogue weigh and cost. */
#ifndef DIT_SUITE_EXPLAIN_DESCRIBE_H
#define DIT_SUITE_EXPLAIN_DESCRIBE_H

#include "base/json.h"
#include "suite/launch/one_case.h"

/* Zero means each model's own default run. */
typedef struct {
    int64_t width_px, height_px, num_frames;
    const char *filter; /* only names that contain it; NULL: all */
    bool variants;      /* also NAME~VARIANT                     */
} suite_describe_params;

/* Fills *out (an array, the caller deletes it) with one object for each model: {"name", "title", "kind", "runnable",
 * "class"?, "vae"?, "resolution", "num_frames", "steps", "stated_parameters"?, "source"?} and, of those that run, the
 * engine's {"parameters", "image_tokens", "text_tokens", "forwards_per_step", "flops", "memory", "memory_bytes",
 * "flops_per_step"}, or "reason" why there are none. The engine is run once for all. Errors: DIT_ERR_ENVIRONMENT,
 * DIT_ERR_JSON_* of a model file, and what running the engine gives. */
dit_status suite_describe_models(const suite_describe_params *params, const suite_single_params *single, cJSON **out);

/* Runs the engine's program describe on `cases` (engine/programs/describe.c has their form) and gives its record
 * (caller deletes). Errors: DIT_ERR_CRASH with the engine's complaint, and what running it gives. */
dit_status suite_describe_cases(const cJSON *cases, const suite_single_params *single, cJSON **record);

#endif
