/* Timing: how long pieces of a run took, on the host's clock or, where a device does the work, on the device's.
 *
 * A device returns before the work is done, so that the host's clock tells nothing. There the ends of a piece are events
 * in the device's queue, and what is between them is added up when the device has been waited for. Nothing
 * is known of pieces that are recorded in a graph: a launch is one piece.
 */
#ifndef DIT_ENGINE_TIMING_H
#define DIT_ENGINE_TIMING_H

#include "engine/timing/trace.h"
#include "kernels/device.h"

typedef struct dit_timing dit_timing;

/* device: NULL: the host's clock, as where there is no timing (NULL) below. Errors: DIT_ERR_MEMORY. */
dit_status dit_timing_create(dit_device *device, dit_timing **out);
void dit_timing_free(dit_timing *timing); /* accepts NULL */

/* A moment: nanoseconds of the host's clock, or an event of the device; -1: not known. */
int64_t dit_timing_now(dit_timing *timing);
/* *sum += what lies between two moments, at once or after the next wait; *sum stays where it is until then. */
void dit_timing_add(dit_timing *timing, int64_t began, int64_t ended, int64_t *sum);
/* Records `event`, whose begin_ns and end_ns are moments; on a device they are made times after the next wait. */
void dit_timing_record(dit_timing *timing, dit_trace *trace, const dit_trace_event *event);
/* Waits for the device and adds up what is pending. Nothing on the host. Errors: those of dit_device_synchronize. */
dit_status dit_timing_synchronize(dit_timing *timing);

#endif
