/* Measure: runs a pipeline against the clock and keeps everything that one rank's record needs. */
#ifndef DIT_ENGINE_MEASURE_H
#define DIT_ENGINE_MEASURE_H

#include "engine/case/pipeline.h"
#include "engine/results/record.h"

/* Allocates the sample arrays; release frees them and accepts a zeroed one. Errors: DIT_ERR_MEMORY. */
dit_status dit_measurement_init(const dit_pipeline *pipeline, dit_measurement *out);
void dit_measurement_release(dit_measurement *measurement);
/* Runs warm-ups, then iterations; the latents of the last iteration stay in the sampler. Collective. */
dit_status dit_measurement_take(dit_measurement *measurement, dit_pipeline *pipeline);
/* Writes the digest "xxh3:..." of the gathered latents [num_images, S, channels]; *elements (or NULL) is their
 * number. */
void dit_latents_digest(const dit_pipeline *pipeline, char out[48], int64_t *elements);

#endif
