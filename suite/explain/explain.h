/* Explain: lists every way to lay a model over a number of devices: what each rank would hold, compute and send, and in
 * what order, or why a mesh is not legal. No model is run; the engine counts (program describe).
 */
#ifndef DIT_SUITE_EXPLAIN_EXPLAIN_H
#define DIT_SUITE_EXPLAIN_EXPLAIN_H

#include "base/json.h"
#include "base/parallel.h"
#include "suite/explain/meshes.h"
#include "suite/launch/one_case.h"

/* Zero and NULL mean the model's default run, one image, platform "any". */
typedef struct {
    const char *model, *platform;
    const char *profile; /* required on a simulated platform: its software decides what pipelines send; else NULL */
    const char *element; /* that sizes are of, "bf16"; NULL: what the platform computes in, fp32 where it is "any" */
    int64_t devices;     /* ranks; 1..4096; 0: as many as `mesh` has */
    int64_t width_px, height_px, num_frames, text_tokens, steps, num_images;
    int64_t warmup_steps, num_pipeline_patch; /* of meshes that have them; -1 and 0: the workload's defaults */
    int64_t block_frames, context_frames;     /* of streams; 0 and -1: the workload's defaults                     */
    int64_t halo_frames, global_frames;       /* of Video-Infinity; -1: the workload's defaults                */
    dit_offload offload;                      /* where weights of blocks lie that are not resident           */
    int fsdp_degree, fsdp_prefetch;           /* of weights in shards; 0: they are whole, or as `mesh` says */
    const dit_parallel *mesh;                 /* this one only; NULL: all                                    */
} suite_explain_params;

/* Gives the meshes that are explained. Strings stay the caller's. */
suite_meshes_params suite_explain_meshes(const suite_explain_params *params);

/* *out (caller deletes): {"model", "platform"?, "profile"?, "software"? and "projection"? (suite_profile_put),
 * "devices", "element", "run": {...}, "meshes": [...] by bytes, "rejected": [{"mesh", "code", "reason", "verdict"}]}. A
 * mesh is {"mesh", "profile"?, "method", "attention", "parallel", "bytes_per_step",
 * "predicted_bytes_per_step", "messages_per_step", "least_bytes_per_step", "gather_bytes", "flops_per_step", "memory",
 * "memory_bytes", "ranks", "exchanges": [text], "schedule"?}: bytes are those of the rank that sends most, memory of
 * the one that holds most. "ranks" has one of each kind of rank, {"rank", "stage", "blocks", "bytes_per_step",
 * "predicted_bytes_per_step", "messages_per_step", "gather_bytes", "flops_per_step", "parameters", "memory",
 * "memory_bytes", "terms"}; its terms are {"parameters_bytes", "kv_store_bytes", "stream_bytes"}: what a reader can
 * check by hand. Flops are of all the rank's guidance branches and images. "schedule" is a pipeline's
 * (suite/explain/timetable.h). Errors: DIT_ERR_NOT_FOUND for model or platform, DIT_ERR_JSON_VALUE, DIT_ERR_CRASH and
 * what running the engine gives. */
dit_status suite_explain(const suite_explain_params *params, const suite_single_params *single, cJSON **out);

#endif
