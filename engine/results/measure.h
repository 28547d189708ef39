/* Measure: clocked runs of a pipeline, with everything one rank's record needs. */
#ifndef DIT_ENGINE_MEASURE_H
#define DIT_ENGINE_MEASURE_H

#include "engine/case/pipeline.h"
#include "engine/results/record.h"

/* Takes the sample arrays; release gives them back and accepts a zeroed one. Errors: DIT_ERR_MEMORY. */
dit_status dit_measurement_init(const dit_pipeline *pipeline, int warmup_runs, int iterations, dit_measurement *out);
void dit_measurement_release(dit_measurement *measurement);
/* Runs warm-ups, then iterations; the latents of the last stay in the sampler. Collective. */
dit_status dit_measurement_take(dit_measurement *measurement, dit_pipeline *pipeline);
/* "xxh3:..." of the gathered latents [num_images, S, channels]; elements NULL or their number. */
void dit_latents_digest(const dit_pipeline *pipeline, char out[48], int64_t *elements);

#endif
