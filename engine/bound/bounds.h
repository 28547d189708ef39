/* Program bounds under the simulator: times that no simulation of a case goes below, for any number of cases in one
 * process, without a simulated message.
 *
 * A rank of each case runs alone (lone_rank.h), and what all ranks send is laid over the links of the platform. The
 * largest of these is the bound:
 *   device   the operators of the rank, one after the other
 *   host     what the rank's host issues
 *   wire     all messages of all ranks over the busiest link
 *   chain    operators and messages of the rank, each no earlier than what it waits for on this rank
 *   floor    the rank's flops at the best rate of the accelerator
 * each with what comes around the denoising (serial.h), at its least. `wire` is of meshes whose ranks are all alike:
 * without stages and displaced patches.
 *
 * Each entry of "cases" is {"case": a case with "simulation", "ranks": [those that run alone; 0 unless said], "blocks":
 * whether to tell of blocks}.
 * The record's "bounds" has in that order {"seconds", "bound": which is largest, "device_s", "host_s", "wire_s",
 * "chain_s", "floor_s", "serial_s", "memory_bytes", "block_s"?} or {"error": {"code", "message"}}. Memory is that of the
 * rank, among those, which holds most, with what a pipeline holds beside the transformer. "block_s" has for each block
 * of the model the longest that one of those ranks spent in it, in the steps that were run: steps that repeat are left
 * out, so that blocks compare with each other and not with "seconds". 0: none has the block.
 */
#ifndef DIT_ENGINE_BOUND_BOUNDS_H
#define DIT_ENGINE_BOUND_BOUNDS_H

#include "base/json.h"

/* Writes record.json into `folder`. Needs no communication, and none may be started. Errors: DIT_ERR_JSON_*,
 * DIT_ERR_MEMORY, DIT_ERR_IO; what is wrong with one case, its memory included, is told in its entry. */
dit_status dit_bounds(const dit_json *doc, const char *folder);

#endif
