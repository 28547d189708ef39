/* Report: what the programs of a simulation have in common when they write their record. */
#ifndef DIT_ENGINE_SIM_REPORT_H
#define DIT_ENGINE_SIM_REPORT_H

#include "engine/results/record.h"
#include "engine/sim/sim.h"

/* The case as the harness knows it is the document without "simulation". Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_hash_case(const dit_json *doc, char out[33]);
/* Collective. All ranks live in one process: what they have is told by its address, not copied to everybody, and stays
 * theirs. *out: on rank 0 [ranks] from malloc, the caller frees it; elsewhere NULL. Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_meet(const dit_measurement *own, dit_measurement **out);
/* Adds "simulation" with the accelerator, the profile, the repeats that were simulated and the messages of an iteration
 * to `more`, which owns *out. Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_describe(const dit_sim *sim, const dit_measurement *ranks, int world_size, int repeats, cJSON *more,
                            cJSON **out);
/* Errors: DIT_ERR_MEMORY naming the first rank that needs more than the accelerator has. */
dit_status dit_sim_check_memory(const dit_sim *sim, const dit_measurement *ranks, int world_size);

#endif
