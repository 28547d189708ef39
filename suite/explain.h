/* Explain: every way to lay a model over a number of devices - what each rank would hold, compute and send, or why a
 * mesh is not legal. Nothing is run; the engine counts (program describe).
 */
#ifndef DIT_SUITE_EXPLAIN_H
#define DIT_SUITE_EXPLAIN_H

#include "base/json.h"
#include "suite/single.h"

/* Zero and NULL mean the model's default run, one image, platform "any". */
typedef struct {
    const char *model, *platform;
    int64_t devices; /* ranks; 1..4096 */
    int64_t width_px, height_px, num_frames, text_tokens, steps, num_images;
} suite_explain_params;

/* *out (caller deletes): {"model", "devices", "run": {...}, "meshes": [{"mesh", "method", "attention", "parallel",
 * "bytes_per_step", "predicted_bytes_per_step", "messages_per_step", "gather_bytes", "flops_per_step", "memory",
 * "memory_bytes"}] by bytes, "rejected": [{"mesh", "code", "reason"}]}. Figures are of rank 0; flops of all its
 * guidance branches and images. Errors: DIT_ERR_NOT_FOUND for model or platform, DIT_ERR_JSON_VALUE, DIT_ERR_CRASH and
 * what running the engine gives. */
dit_status suite_explain(const suite_explain_params *params, const suite_single_params *single, cJSON **out);

#endif
