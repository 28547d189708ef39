/* Trace: keeps what a rank did and when in a buffer of fixed size. It becomes a timeline that Perfetto reads.
 *
 * The engine records an interval for every operator, every transfer, every wait of a thread in communication, every
 * phase and every block. Without a trace nothing is recorded, at the cost of comparing one pointer. A record's memory
 * figures leave the buffer out. When the buffer is full the oldest events are overwritten and counted. Clocks of
 * several machines differ, so the ranks agree on one and write the file together: engine/results/trace_file.h.
 */
#ifndef DIT_ENGINE_TRACE_H
#define DIT_ENGINE_TRACE_H

#include "base/arena.h"
#include "base/clock.h"

enum { DIT_TRACE_CAPACITY = 1 << 16, DIT_TRACE_ROUNDS = 64 };

typedef enum {
    DIT_TRACE_COMPUTE,       /* an operator                                                         */
    DIT_TRACE_COMMUNICATION, /* a transfer, from its start to its completion; may overlap operators */
    DIT_TRACE_WAIT,          /* the rank's own thread was held up in communication: exposed         */
    DIT_TRACE_PHASE,         /* embed, blocks, head, scheduler, ...                                 */
    DIT_TRACE_LAYER,         /* one block inside the phase of blocks                                */
    DIT_TRACE_CATEGORY_COUNT
} dit_trace_category;
const char *dit_trace_category_name(dit_trace_category category);

/* Texts live as long as the program. Times are of this rank's own clock. */
typedef struct {
    const char *name;  /* "linear", "all_to_all", "embed"         */
    const char *axis;  /* of communication: "ulysses"; else NULL  */
    const char *phase; /* NULL: none                              */
    int64_t begin_ns, end_ns;
    int64_t bytes;              /* sent by this rank in a transfer   */
    int32_t step, patch, layer; /* -1: none                   */
    uint32_t sequence;          /* in the order of recording         */
    dit_trace_category category;
} dit_trace_event;

/* Offset of this rank's clock to rank 0's: event time - offset is rank 0's time. The true offset lies within
 * uncertainty. */
typedef struct {
    int64_t offset_ns, uncertainty_ns;
    int64_t origin_ns; /* of rank 0's clock: where the timeline begins */
} dit_trace_clock;

/* A trace must not be moved: its arena keeps the ledger's address. */
typedef struct dit_trace {
    dit_memory_ledger ledger;
    dit_arena arena;
    dit_trace_event *events; /* [capacity], a ring */
    int64_t capacity, recorded;
    int32_t step, patch, layer; /* stamped on what is recorded next, with the phase; patch: band of a pipeline */
    const char *phase;
    dit_trace_clock clock;
} dit_trace;

/* Allocates the buffer. Errors: DIT_ERR_MEMORY. release takes a zeroed one. */
dit_status dit_trace_init(dit_trace *trace, int64_t capacity);
void dit_trace_release(dit_trace *trace);
/* Return the number of events in the buffer, and of those that were overwritten. */
int64_t dit_trace_held(const dit_trace *trace);
int64_t dit_trace_dropped(const dit_trace *trace);

/* Adds an event and stamps it with sequence, step, patch, layer and phase. Allocates nothing. */
void dit_trace_record(dit_trace *trace, const dit_trace_event *event);
/* The two ends of an operator. A NULL trace costs one comparison. */
static inline int64_t dit_trace_begin(const dit_trace *trace)
{
    return trace ? dit_clock_ns() : 0;
}
static inline void dit_trace_end(dit_trace *trace, dit_trace_category category, const char *name, int64_t begin_ns)
{
    if (!trace) return;
    dit_trace_record(
        trace, &(dit_trace_event){.name = name, .category = category, .begin_ns = begin_ns, .end_ns = dit_clock_ns()});
}

/* Sorts the ring by begin; an event comes before those that it encloses. Nothing may be recorded afterwards. */
void dit_trace_sort(dit_trace *trace);
/* Returns the nanoseconds of all events of a category and name; name NULL: any. */
int64_t dit_trace_total_ns(const dit_trace *trace, dit_trace_category category, const char *name);

/* Bounds a clock's offset from readings of both clocks around common barriers. Nobody leaves a barrier before all have
 * entered it, so every round bounds the offset from both sides.
 *   before, after  in  [rounds]  own clock on entering and on having left
 *   before_0, after_0            rank 0's
 * Fills offset and uncertainty. */
void dit_trace_bound_offset(const int64_t *before, const int64_t *after, const int64_t *before_0,
                            const int64_t *after_0, int rounds, dit_trace_clock *out);

#endif
