/* Program attention under the simulator: one attention layer, forward after forward.
 *
 * The forwards follow each other without a barrier, as those of a benchmark do that takes the time of a loop: the host
 * issues the next one while the device is at this one. The latency of the record is what one of them takes once they
 * all take the same time.
 */
#ifndef DIT_ENGINE_SIM_LAYER_H
#define DIT_ENGINE_SIM_LAYER_H

#include "engine/sim/sim.h"

/* Collective. Simulates the case and writes record.json into `folder`. Errors: DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_*;
 * DIT_ERR_BYTES_MISMATCH when what a forward sent is not the closed form; DIT_ERR_MEMORY, with the record written, when
 * a rank needs more than the accelerator has. */
dit_status dit_sim_layer(dit_sim *sim, const dit_json *doc, const char *folder);

#endif
