/* Simulator: the time of one rank of a simulation. Every rank of ditbench-engine-sim has one.
 *
 * A rank's operators take virtual time on two timelines, host and device (kernels/cost/clock.h). Their sum is charged
 * to SimGrid when the rank next talks to another. Messages go over SimGrid's links and carry nothing. Everything
 * between is the engine's own code, whose guest the simulator is (engine/runtime/guest.h).
 *
 * Times are in seconds. "Now" of SimGrid is the clock of simgrid.h; now of the host and of the device are ahead of it
 * by what is not charged yet. Bytes are fp32's, as the engine counts them, where nothing else is said.
 * Source: Degomme et al., Simulating MPI applications: the SMPI approach (TPDS 2017).
 */
#ifndef DIT_ENGINE_SIM_H
#define DIT_ENGINE_SIM_H

#include "base/json.h"
#include "engine/runtime/guest.h"
#include "engine/sim/hops.h"
#include "engine/sim/links.h"
#include "kernels/cost/census.h"
#include "kernels/cost/collective.h"
#include "kernels/cost/operator.h"

typedef struct dit_sim dit_sim;

/* A rank whose host and device have done nothing, on devices that dit_sim_read names. `grid` outlives it. Errors:
 * DIT_ERR_MEMORY. */
dit_status dit_sim_create(const dit_sim_grid *grid, dit_sim **out);
void dit_sim_free(dit_sim *sim); /* accepts NULL */
/* From now on dit_clock_ns is dit_sim_now. */
void dit_sim_set_clock(dit_sim *sim);
/* Reads the case's "simulation": {"accelerator": FILE, "profile": FILE, "element": "fp16"} and what links.h reads. From
 * now on each call of dit_kernels_cost is charged to this rank, one of `ranks`. "replay" and "layered" are for
 * stretch.h. Errors: DIT_ERR_JSON_*, DIT_ERR_IO, DIT_ERR_UNSUPPORTED. */
dit_status dit_sim_read(dit_sim *sim, const dit_json *doc, int ranks);

/* ---- what was read ----------------------------------------------------------------------------------------------- */

/* Names, never NULL. */
const char *dit_sim_accelerator(const dit_sim *sim);
const char *dit_sim_profile(const dit_sim *sim);
int64_t dit_sim_memory_bytes(const dit_sim *sim); /* of a device; 0: not known */
int dit_sim_element_bytes(const dit_sim *sim);
/* Returns what bytes of fp32 are in the simulated element. */
int64_t dit_sim_in_elements(const dit_sim *sim, int64_t fp32_bytes);
const dit_cost_device *dit_sim_get_device(const dit_sim *sim);
const dit_cost_profile *dit_sim_get_profile(const dit_sim *sim);
const dit_sim_links *dit_sim_get_links(const dit_sim *sim);
/* How long rings are told by their first hops; the caller may set it anew at any time between two runs. */
dit_sim_hops *dit_sim_get_hops(dit_sim *sim);
/* The engine's guest; every step is done. `sim` outlives it. */
dit_guest dit_sim_guest(dit_sim *sim);

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* When this rank is done with everything so far: its host, its device, and what is charged. */
double dit_sim_now(const dit_sim *sim);
/* When its host has issued everything so far. */
double dit_sim_host_now(const dit_sim *sim);
/* When its device is done with everything so far. */
double dit_sim_device_now(const dit_sim *sim);
/* The device does nothing before `device_s`. */
void dit_sim_wait_until(dit_sim *sim, double device_s);
/* Charges one operator that is no call of dit_kernels_cost. */
void dit_sim_charge(dit_sim *sim, const dit_cost_op *op);
/* Charges operators that a census counted, and what its host waits for. */
void dit_sim_charge_counted(dit_sim *sim, const dit_census_time *time);
/* true: calls of dit_kernels_cost take no time until this is false again. A collective library adds while it sends. */
void dit_sim_set_free_of_charge(dit_sim *sim, bool free_of_charge);
/* Host and device wait for each other: nothing is issued ahead. */
void dit_sim_synchronise(dit_sim *sim);

/* From now on the rank's times are bounds: nothing takes longer than it does where no message is late, whatever the
 * messages of others do. Operators are never slowed down by messages beside them, and messages that may start before the
 * operator behind them hold nothing up. So the time of this rank alone, over links that it has for itself, is no longer
 * than its time in the simulation of all. */
void dit_sim_set_least(dit_sim *sim);
/* The host has issued what comes next long ago: until host and device next wait for each other, the device alone takes
 * time. */
void dit_sim_let_host_ahead(dit_sim *sim);
/* What was charged so far: the seconds of all operators on the device, and of all that the host issued or did. */
double dit_sim_device_busy(const dit_sim *sim);
double dit_sim_host_busy(const dit_sim *sim);

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Issues messages: the host spends the time of one collective. Returns true if the device is still busy and the
 * profile's kernels_before_messages is above 0: then the next compute kernel and the message kernel may start at one
 * time, and whichever comes first takes the processors. */
bool dit_sim_issue(dit_sim *sim);
/* Puts issued messages off until the operator issued next has the processors: start(context) starts them then. They
 * start between that operator's beginning and its last part, in proportion to kernels_before_messages, and slow down
 * what is left of it. Nothing else may be put off. */
void dit_sim_put_off(dit_sim *sim, dit_status (*start)(void *context), void *context);
/* Starts now what is put off, if anything is. Errors: what starting it, or anything that was put off before, gave. */
dit_status dit_sim_start_put_off(dit_sim *sim);
/* Starts issued messages of a collective of `bytes`, counted as in kernels/cost/collective.h. Time passes until the
 * device gets to them, and then the latency that the library puts in front. `beside`: the rank computes on meanwhile,
 * slowed down by the processors that the messages hold for as long as the library expects them to take. Returns how
 * many times longer the simulated messages are to be; below 1 where the library is faster than the simulated links. */
double dit_sim_enter(dit_sim *sim, const dit_cost_group *group, dit_cost_collective collective, double bytes,
                     bool beside);
/* Whether the software gathers the blocks of keys of all ring ranks at once, where the engine sends each to the next. */
bool dit_sim_gathers_ring(const dit_sim *sim);
/* These are the links of the ranks that share heads, or of a ring, on which the software exchanges more than the
 * engine does. */
void dit_sim_knows_links(dit_sim *sim, bool ring, const dit_cost_group *links);
/* Takes the place of dit_sim_enter for messages of two neighbours that are left out: what the device computes next is
 * beside them. */
void dit_sim_pass_over(dit_sim *sim, const dit_cost_group *group, double bytes);
/* Begins to wait for messages that are under way: time passes until the device gets there. */
void dit_sim_enter_wait(dit_sim *sim);
/* Ends what dit_sim_enter or dit_sim_enter_wait began, not before the ranks' own ends are done (dit_cost_exchange). */
void dit_sim_leave(dit_sim *sim);
/* SimGrid's time at which the library is done with the messages started last, if it begins them at `free_s`, or when
 * they were started where that is later. */
double dit_sim_done_after(const dit_sim *sim, double free_s);
/* Time passes until SimGrid's clock is at `when_s`. */
void dit_sim_not_before(dit_sim *sim, double when_s);
/* Ranks that share memory spend their own core's time on `messages` messages and on copying `bytes` bytes. Others spend
 * none. */
void dit_sim_copy(dit_sim *sim, int messages, double bytes);
/* Returns false for an entry of a batch whose exchange was part of the first entry's; else *bytes becomes those of the
 * exchange that is made. */
bool dit_sim_batch(const dit_sim *sim, int64_t *bytes);
/* Bytes on SimGrid's links of `bytes` bytes: in the simulation's element, times `stretch`, whole floats. */
int64_t dit_sim_wire(const dit_sim *sim, int64_t bytes, double stretch);

#endif
