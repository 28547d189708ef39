/* Timing: measures how long pieces of a run take, on the host's clock or, where a device works, on the device's.
 *
 * A device's calls return before the work is done, so the host's clock cannot time it. There a piece ends in events in
 * the device's queue, and the time between them is added up after the next wait for the device. The pieces inside of a
 * graph are unknown: a launch is one piece.
 */
#ifndef DIT_ENGINE_TIMING_H
#define DIT_ENGINE_TIMING_H

#include "engine/timing/trace.h"
#include "kernels/device.h"

typedef struct dit_timing dit_timing;

/* device NULL: the host's clock, which the functions below also use when `timing` is NULL. Errors: DIT_ERR_MEMORY. */
dit_status dit_timing_create(dit_device *device, dit_timing **out);
void dit_timing_free(dit_timing *timing); /* accepts NULL */

/* Returns this moment: nanoseconds of the host's clock, or an event of the device; -1: unknown. */
int64_t dit_timing_now(dit_timing *timing);
/* Adds the time between two moments to *sum, at once or after the next wait; *sum must stay valid until then. */
void dit_timing_add(dit_timing *timing, int64_t began, int64_t ended, int64_t *sum);
/* Records `event`, whose begin_ns and end_ns are moments; on a device they become times after the next wait. */
void dit_timing_record(dit_timing *timing, dit_trace *trace, const dit_trace_event *event);
/* Waits for the device and adds up pending pieces. Does nothing on the host. Errors: those of
 * dit_device_synchronize. */
dit_status dit_timing_synchronize(dit_timing *timing);

#endif
