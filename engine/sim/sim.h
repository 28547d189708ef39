/* Simulation: the engine as ranks of SimGrid. Only what smpicc compiles has this folder (ditbench-engine-sim).
 *
 * A rank's operators take virtual time on two timelines, host and device (kernels/cost/clock.h); what has come together
 * is charged to the simulated device when the rank next talks to another. Messages go through SimGrid's links and carry
 * nothing. Everything between is the engine's own code.
 * Source: Degomme et al., Simulating MPI applications: the SMPI approach (TPDS 2017).
 */
#ifndef DIT_ENGINE_SIM_H
#define DIT_ENGINE_SIM_H

#include "base/json.h"
#include "kernels/cost/collective.h"
#include "kernels/cost/operator.h"
#include "engine/runtime/guest.h"

#include <stdint.h>

/* Collective. From now on dit_clock_ns is virtual time, what is not charged yet included. *ranks: of the world. Errors:
 * DIT_ERR_MEMORY. */
dit_status dit_sim_start(int *ranks);
/* Collective. Zeroed memory that all ranks see: they are of one process. From calloc; whoever is last frees it. Errors:
 * DIT_ERR_MEMORY. */
dit_status dit_sim_shared(int64_t bytes, void **out);
/* This rank's virtual time in seconds; what is not charged yet is included. */
double dit_sim_now(void);
/* When this rank's host has issued everything so far: before or after. */
double dit_sim_host_now(void);
/* Reads the case's "simulation": {"accelerator": FILE, "profile": FILE, "element": "fp16", "replay": true where every
 * step is to be simulated, and what links.h says}, and has operators charged by them. Errors: DIT_ERR_JSON_*,
 * DIT_ERR_IO, DIT_ERR_UNSUPPORTED. */
dit_status dit_sim_read(const dit_json *doc);
/* Names that were read, for the record; never NULL. */
const char *dit_sim_accelerator(void);
const char *dit_sim_profile(void);
int64_t dit_sim_memory_bytes(void);
/* The guest that this rank's simulator is; every step is done. */
dit_guest dit_sim_guest(void);
/* How many bytes an element has there. */
int dit_sim_element_bytes(void);
/* Charges one call that no operator of the table makes. */
void dit_sim_charge(const dit_cost_op *op);

/* Operators take no time from now on: of a collective library that adds while it sends. */
void dit_sim_free_of_charge(bool free);
/* Issues messages. Returns true if the device is still busy: then the next compute kernel starts before the message
 * kernel, because it shares the running kernel's stream, needs no event, and takes the processors first. */
bool dit_sim_issue(void);
/* In comm.c: starts issued messages that waited for the operator after them to leave processors, if there are any. */
void dit_sim_start_put_off(void);
/* Before issued messages of a collective of `bytes` (as NCCL counts them): charged time passes, and the latency that
 * the library puts in front. Returns by how much its algorithm and protocol stretch the messages; below 1 where they
 * are faster than the simulated links. `beside`: the rank goes on computing meanwhile, with the processors that the
 * messages leave it, for as long as the library expects them to take. */
double dit_sim_enter(const dit_cost_group *group, dit_cost_collective collective, double bytes, bool beside);
/* Instead of issued messages that are not sent: the device is not held up, what it computes next is beside them. */
void dit_sim_pass_over(const dit_cost_group *group, double bytes);
/* When the device is done with everything so far, and that it waits until then. */
double dit_sim_device_now(void);
void dit_sim_wait_until(double device_s);
/* Of ranks that share memory: their own core takes the time of `messages` messages, and of copying so many bytes of
 * them. Others: nothing. */
void dit_sim_copy(int messages, double bytes);
/* Bytes of an entry's exchange as those of the exchange that is made; false: it has been. */
bool dit_sim_batch(int64_t *bytes);
/* Before waiting for messages that are under way: charged time passes. */
void dit_sim_enter_wait(void);
/* When the messages entered last are done, by their library, if it begins them at `free_s` or now, whichever is later.
 */
double dit_sim_done_after(double free_s);
/* Time passes until then. */
void dit_sim_not_before(double when_s);
/* After either, when the ranks' ends are done, too. */
void dit_sim_leave(void);
/* Host and device wait for each other: nothing is issued ahead. */
void dit_sim_synchronise(void);
/* Bytes on the wire of `bytes` fp32 bytes, in the element type of the simulation and stretched. */
int64_t dit_sim_wire(int64_t bytes, double stretch);
/* Memory that messages are said to come from and go to: shared by all, never read. At least so many bytes. */
void *dit_sim_buffer(int64_t bytes);

#endif
