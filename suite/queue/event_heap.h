/* Event heap: a binary heap of what happens next; events of one moment come out in the order in which they went in. */
#ifndef DIT_SUITE_QUEUE_EVENT_HEAP_H
#define DIT_SUITE_QUEUE_EVENT_HEAP_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double second;
    uint64_t number; /* set by push: of the event among all */
    int kind, who;   /* what they mean is the caller's      */
} suite_event;

/* Zeroed, it is empty. release accepts that. */
typedef struct {
    suite_event *events;
    int count, room;
    uint64_t pushed;
} suite_event_heap;

/* Errors: DIT_ERR_MEMORY. */
dit_status suite_event_push(suite_event_heap *heap, suite_event event);
/* Takes the earliest event; false when there is none. */
bool suite_event_pop(suite_event_heap *heap, suite_event *out);
void suite_event_heap_release(suite_event_heap *heap);

#endif
