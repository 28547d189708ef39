#include "suite/queue/event_heap.h"

#include <stdlib.h>

static bool is_before(const suite_event *a, const suite_event *b)
{
    if (a->second != b->second) return a->second < b->second;
    return a->number < b->number;
}

static void swap(suite_event *a, suite_event *b)
{
    suite_event kept = *a;
    *a = *b;
    *b = kept;
}

dit_status suite_event_push(suite_event_heap *heap, suite_event event)
{
    if (heap->count == heap->room) {
        int room = heap->room ? 2 * heap->room : 64;
        suite_event *events = realloc(heap->events, (size_t)room * sizeof *events);
        if (!events) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for events");
        heap->events = events;
        heap->room = room;
    }
    event.number = heap->pushed++;
    int at = heap->count++;
    heap->events[at] = event;
    for (; at && is_before(&heap->events[at], &heap->events[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap->events[at], &heap->events[(at - 1) / 2]);
    return DIT_OK;
}

static void sink(suite_event_heap *heap)
{
    for (int at = 0;;) {
        int left = 2 * at + 1, first = at;
        if (left < heap->count && is_before(&heap->events[left], &heap->events[first])) first = left;
        if (left + 1 < heap->count && is_before(&heap->events[left + 1], &heap->events[first])) first = left + 1;
        if (first == at) return;
        swap(&heap->events[at], &heap->events[first]);
        at = first;
    }
}

bool suite_event_pop(suite_event_heap *heap, suite_event *out)
{
    if (!heap->count) return false;
    *out = heap->events[0];
    heap->events[0] = heap->events[--heap->count];
    sink(heap);
    return true;
}

void suite_event_heap_release(suite_event_heap *heap)
{
    free(heap->events);
    *heap = (suite_event_heap){0};
}
