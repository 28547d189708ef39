#include "engine/timing/trace.h"

#include <stdlib.h>
#include <string.h>

const char *dit_trace_category_name(dit_trace_category category)
{
    static const char *const names[DIT_TRACE_CATEGORY_COUNT] = {"compute", "communication", "wait", "phase", "layer"};
    return names[category];
}

/* ---- the buffer -------------------------------------------------------------------------------------------------- */

dit_status dit_trace_init(dit_trace *t, int64_t capacity)
{
    void *events;
    *t = (dit_trace){.capacity = capacity, .step = -1, .patch = -1, .layer = -1};
    dit_arena_init(&t->arena, &t->ledger, DIT_MEMORY_STATE);
    DIT_TRY(dit_arena_alloc(&t->arena, capacity * (int64_t)sizeof *t->events, &events));
    t->events = events;
    return DIT_OK;
}

void dit_trace_release(dit_trace *t)
{
    if (t->events) dit_arena_release(&t->arena);
    memset(t, 0, sizeof *t);
}

int64_t dit_trace_held(const dit_trace *t)
{
    return t->recorded < t->capacity ? t->recorded : t->capacity;
}

int64_t dit_trace_dropped(const dit_trace *t)
{
    return t->recorded - dit_trace_held(t);
}

void dit_trace_record(dit_trace *t, const dit_trace_event *event)
{
    dit_trace_event *slot = &t->events[t->recorded % t->capacity];
    *slot = *event;
    slot->step = t->step;
    slot->patch = t->patch;
    slot->layer = t->layer;
    slot->phase = t->phase;
    slot->sequence = (uint32_t)t->recorded++;
}

/* Orders events. An event is recorded at its end, so of two with equal times the one recorded later encloses the other.
 */
static int compare_events(const void *left, const void *right)
{
    const dit_trace_event *a = left, *b = right;
    if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns ? -1 : 1;
    return (a->sequence < b->sequence) - (a->sequence > b->sequence);
}

void dit_trace_sort(dit_trace *t)
{
    if (t->recorded) qsort(t->events, (size_t)dit_trace_held(t), sizeof *t->events, compare_events);
}

int64_t dit_trace_total_ns(const dit_trace *t, dit_trace_category category, const char *name)
{
    int64_t total = 0;
    for (int64_t i = 0; i < dit_trace_held(t); i++) {
        const dit_trace_event *event = &t->events[i];
        if (event->category != category || (name && strcmp(event->name, name) != 0)) continue;
        total += event->end_ns - event->begin_ns;
    }
    return total;
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

void dit_trace_bound_offset(const int64_t *before, const int64_t *after, const int64_t *before_0,
                            const int64_t *after_0, int rounds, dit_trace_clock *out)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (int i = 0; i < rounds; i++) {
        if (before[i] - after_0[i] > low) low = before[i] - after_0[i];
        if (after[i] - before_0[i] < high) high = after[i] - before_0[i];
    }
    out->offset_ns = low + (high - low) / 2;
    out->uncertainty_ns = llabs(high - low) - llabs((high - low) / 2);
}
