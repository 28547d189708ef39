/* Meshes: every way to lay a model over a number of devices, expanded as a workload is: legal ones become cases, others
 * are dropped with the rule that they break. */
#ifndef DIT_SUITE_EXPLAIN_MESHES_H
#define DIT_SUITE_EXPLAIN_MESHES_H

#include "base/parallel.h"
#include "base/residency.h"
#include "suite/workload/workload.h"

/* Zero and NULL mean the model's default run, and one image. */
typedef struct {
    const char *model, *platform; /* required                                                                 */
    const char *profile;          /* of a simulated platform                                                  */
    const char *element;          /* NULL: what the platform computes in                                      */
    const char *scope;            /* of what is timed: "pipeline", "latents"; NULL: the workload's default    */
    int64_t devices;              /* ranks; 0: as many as `mesh` has                                          */
    int64_t width_px, height_px, num_frames, text_tokens, steps, num_images;
    int64_t warmup_steps, num_pipeline_patch; /* of meshes that have them; -1 and 0: the workload's defaults  */
    int64_t block_frames, context_frames;     /* of streams; 0 and -1: the workload's defaults                     */
    int64_t halo_frames, global_frames;       /* of Video-Infinity; -1: the workload's defaults                */
    dit_offload offload;                      /* where weights of blocks lie that are not resident           */
    int fsdp_degree, fsdp_prefetch;           /* of weights in shards; 0: they are whole, or as `mesh` says  */
    const dit_parallel *mesh;                 /* this one only; NULL: all                                     */
    bool exact;                               /* neither stages nor displaced patches                         */
    bool one_request;                         /* no data axis: all devices share one request                  */
} suite_meshes_params;

/* Expands all meshes; `name` is what messages call the workload. The caller releases `out`. Errors: DIT_ERR_NOT_FOUND
 * for model, platform or profile; DIT_ERR_JSON_VALUE; DIT_ERR_MEMORY. */
dit_status suite_meshes_expand(const suite_meshes_params *params, const char *name, suite_workload *out);
/* Gives the label of a mesh that was dropped: "u8 r2". */
void suite_meshes_label_dropped(const suite_dropped *dropped, char out[64]);

#endif
