/* Program denoise under the simulator: a whole case, or as much of it as it takes until its steps repeat. */
#ifndef DIT_ENGINE_SIM_DENOISE_H
#define DIT_ENGINE_SIM_DENOISE_H

#include "engine/sim/sim.h"

/* Simulates the case and writes record.json into `folder`. Collective. Errors: those of dit_sim_stretched and of the
 * record; DIT_ERR_MEMORY, with the record written, when a rank needs more than the accelerator has. */
dit_status dit_sim_denoise(dit_sim *sim, const dit_json *doc, const char *folder);

#endif
