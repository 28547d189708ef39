/* Probe: runs the prompts of a case once more and notes how much every layer changes from step to step.
 *
 * The points are those of "Unveiling Redundancy in Diffusion Transformers" (arXiv:2411.13588): keys, values and outputs
 * of every self-attention layer; beside them what each block adds to the stream, what all blocks add together, the
 * prediction after guidance, and the latents. A probe is no sample: it copies every tensor to compare it with the next
 * step's.
 */
#ifndef DIT_ENGINE_PROBE_H
#define DIT_ENGINE_PROBE_H

#include "engine/case/pipeline.h"

/* Says before anything is sampled whether a case that asks for a probe can have one. Errors: DIT_ERR_UNSUPPORTED for
 * several ranks, a device, a cache, an emulated method or one step. */
dit_status dit_probe_check(const dit_pipeline *pipeline);
/* Probes all batches of captions, and leaves the pipeline at batch 0. Writes probe.safetensors (results/schema/record.md)
 * to `folder` and adds "probe" to `record`. Does nothing where the case asks for none. One rank on the CPU. Errors:
 * those of dit_probe_check; DIT_ERR_MEMORY where what is kept would take more than half of the machine's memory; those of
 * dit_pipeline_run; DIT_ERR_IO. */
dit_status dit_probe_take(dit_pipeline *pipeline, const char *folder, cJSON *record);

#endif
