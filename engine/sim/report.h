/* Report: what the simulated programs have in common when they write their records. */
#ifndef DIT_ENGINE_SIM_REPORT_H
#define DIT_ENGINE_SIM_REPORT_H

#include "engine/results/record.h"
#include "engine/sim/sim.h"

/* Gives the case_id, which the harness makes of the document without "simulation". Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_hash_case(const dit_json *doc, char out[33]);
/* Brings all ranks' measurements to rank 0. Collective. All ranks live in one process, so a rank tells the address of
 * its measurement, whose arrays stay its own. *out: on rank 0 [ranks] from malloc, the caller frees it; elsewhere NULL.
 * Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_meet(const dit_measurement *own, dit_measurement **out);
/* Adds "simulation" to `more`: the accelerator, the profile, how many repeats were simulated, and the messages of an
 * iteration. `more` owns *out. Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_describe(const dit_sim *sim, const dit_measurement *ranks, int world_size, int repeats, cJSON *more,
                            cJSON **out);
/* Fails with DIT_ERR_MEMORY, naming the first rank that needs more memory than the accelerator has. */
dit_status dit_sim_check_memory(const dit_sim *sim, const dit_measurement *ranks, int world_size);

#endif
