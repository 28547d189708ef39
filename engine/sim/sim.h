/* Simulation: the engine as ranks of SimGrid. Only what smpicc compiles has this folder (ditbench-engine-sim).
 *
 * A rank's operators take virtual time, which is charged to the simulated device when the rank next talks to another;
 * messages go through SimGrid's links and carry nothing. Everything between is the engine's own code.
 * Source: Degomme et al., Simulating MPI applications: the SMPI approach (TPDS 2017); DESIGN.md section 7.
 */
#ifndef DIT_ENGINE_SIM_H
#define DIT_ENGINE_SIM_H

#include "base/json.h"
#include "kernels/kernels.h"

#include <stdint.h>

/* Reads the case's "simulation": what operators cost. Errors: DIT_ERR_JSON_*. */
dit_status dit_sim_read(const dit_json *doc);
/* Operators that compute nothing and charge what they cost. */
const dit_kernels *dit_sim_kernels(void);

/* From now on dit_clock_ns is virtual time, charged seconds included. */
void dit_sim_start(void);
/* The device is busy for so long. */
void dit_sim_charge(double seconds);
/* Lets the charged time pass: before anything is sent or waited for. */
void dit_sim_flush(void);
/* Memory that messages are said to come from and go to: shared by all, never read. At least so many bytes. */
void *dit_sim_buffer(int64_t bytes);

#endif
