/* Measure: runs a pipeline against the clock and keeps everything that one rank's record needs. Programs that time
 * something else than a pipeline keep it by the first four functions. */
#ifndef DIT_ENGINE_MEASURE_H
#define DIT_ENGINE_MEASURE_H

#include "engine/case/pipeline.h"
#include "engine/results/record.h"

/* Allocates the samples of the case's iterations, of `steps` steps each, and of its warm-up, and says which rank this is;
 * release frees them and accepts a zeroed one. Errors: DIT_ERR_MEMORY. */
dit_status dit_measurement_begin(const dit_case *kase, const dit_runtime *rt, int steps, dit_measurement *out);
void dit_measurement_release(dit_measurement *measurement);
/* Keeps what the runtime counted since its account was reset. */
void dit_iteration_take(dit_iteration *iteration, const dit_runtime *rt);
/* Keeps the memory that was used when all iterations are over. `calls`: those of the ledger before the first one. */
void dit_measurement_end(dit_measurement *measurement, const dit_runtime *rt, int64_t calls);

/* Begins the measurement of a pipeline that is set up. Errors: DIT_ERR_MEMORY. */
dit_status dit_measurement_init(const dit_pipeline *pipeline, dit_measurement *out);
/* Runs warm-ups, then iterations; the latents of the last iteration stay in the sampler. Collective. */
dit_status dit_measurement_take(dit_measurement *measurement, dit_pipeline *pipeline);
/* Writes the digest "xxh3:..." of the gathered latents [num_images, S, channels]; *elements (or NULL) is their
 * number. */
void dit_latents_digest(const dit_pipeline *pipeline, char out[48], int64_t *elements);

#endif
