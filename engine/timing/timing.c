#include "engine/timing/timing.h"

#include <stdlib.h>

/* The interval between two events of the device, which goes into a sum or into an event of a trace. */
typedef struct {
    int64_t from, to;
    int64_t *sum; /* NULL: it goes into the trace's event */
    dit_trace *trace;
    uint32_t sequence;
} piece;

struct dit_timing {
    dit_device *device;
    int64_t origin_event, origin_ns; /* one moment on both clocks; -1: not taken since the last wait */
    piece *pending;
    int64_t count, room;
};

dit_status dit_timing_create(dit_device *device, dit_timing **out)
{
    dit_timing *timing = calloc(1, sizeof *timing);
    *out = timing;
    if (!timing) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times of pieces");
    timing->device = device;
    timing->origin_event = -1;
    return DIT_OK;
}

void dit_timing_free(dit_timing *timing)
{
    if (timing) free(timing->pending);
    free(timing);
}

int64_t dit_timing_now(dit_timing *timing)
{
    if (!timing || !timing->device) return dit_clock_ns();
    if (timing->origin_event < 0) {
        timing->origin_event = dit_device_record_event(timing->device);
        timing->origin_ns = dit_clock_ns();
    }
    return dit_device_record_event(timing->device);
}

/* Remembers a piece. Returns false when there is no memory: the piece is lost. */
static bool remember(dit_timing *timing, const piece *p)
{
    if (timing->count == timing->room) {
        int64_t room = timing->room ? 2 * timing->room : 1024;
        piece *grown = realloc(timing->pending, (size_t)room * sizeof *grown);
        if (!grown) return false;
        timing->pending = grown;
        timing->room = room;
    }
    timing->pending[timing->count++] = *p;
    return true;
}

void dit_timing_add(dit_timing *timing, int64_t began, int64_t ended, int64_t *sum)
{
    if (!timing || !timing->device)
        *sum += ended - began;
    else if (began >= 0 && ended >= 0)
        remember(timing, &(piece){.from = began, .to = ended, .sum = sum});
}

void dit_timing_record(dit_timing *timing, dit_trace *trace, const dit_trace_event *event)
{
    if (!trace || event->begin_ns < 0 || event->end_ns < 0) return;
    dit_trace_record(trace, event);
    if (timing && timing->device)
        remember(timing, &(piece){.from = event->begin_ns,
                                  .to = event->end_ns,
                                  .trace = trace,
                                  .sequence = (uint32_t)(trace->recorded - 1)});
}

/* Returns an event's time on the host's clock. The origin was reached when it was recorded, because the queue was
 * empty. */
static int64_t host_ns(const dit_timing *timing, int64_t event)
{
    return timing->origin_ns + dit_device_elapsed_ns(timing->device, timing->origin_event, event);
}

static void add_piece(const dit_timing *timing, const piece *p)
{
    if (p->sum) {
        int64_t elapsed = dit_device_elapsed_ns(timing->device, p->from, p->to);
        if (elapsed > 0) *p->sum += elapsed;
        return;
    }
    dit_trace_event *event = &p->trace->events[p->sequence % (uint64_t)p->trace->capacity];
    if (event->sequence != p->sequence) return; /* a newer event has overwritten it */
    event->begin_ns = host_ns(timing, p->from);
    event->end_ns = host_ns(timing, p->to);
}

dit_status dit_timing_synchronize(dit_timing *timing)
{
    if (!timing || !timing->device) return DIT_OK;
    dit_status st = dit_device_synchronize(timing->device);
    for (int64_t i = 0; i < timing->count && st == DIT_OK; i++) add_piece(timing, &timing->pending[i]);
    timing->count = 0;
    timing->origin_event = -1;
    dit_device_forget_events(timing->device);
    return st;
}
