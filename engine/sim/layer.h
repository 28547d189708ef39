/* Program attention under the simulator: one attention layer, forward after forward.
 *
 * The forwards follow each other without a barrier, like those of a benchmark that takes the time of a loop: the host
 * issues the next forward while the device works on this one. The record's latency is the time of one forward once all
 * of them take as long.
 */
#ifndef DIT_ENGINE_SIM_LAYER_H
#define DIT_ENGINE_SIM_LAYER_H

#include "engine/sim/sim.h"

/* Simulates the case and writes record.json into `folder`. Collective. Errors: DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_*;
 * DIT_ERR_UNSUPPORTED for ring-self-attention; DIT_ERR_BYTES_MISMATCH when a forward did not send what the closed form
 * says; DIT_ERR_MEMORY, with the record written, when a rank needs more than the accelerator has. */
dit_status dit_sim_layer(dit_sim *sim, const dit_json *doc, const char *folder);

#endif
