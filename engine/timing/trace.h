/* Trace: what a rank did and when, in a buffer of fixed size; written as a timeline that Perfetto reads.
 *
 * The engine records an interval for every operator, every time a thread was held up in communication, every transfer,
 * every phase and every block. Nothing is recorded, and one pointer is compared, where there is no trace. The memory is
 * the trace's own: it is in no figure of a record. When the buffer is full the oldest events make room and are counted.
 * Clocks of several machines differ, so the ranks agree on one and write the
 * file together: engine/results/trace_file.h.
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
    int64_t bytes;              /* that this rank sent in a transfer */
    int32_t step, patch, layer; /* -1: none                   */
    uint32_t sequence;          /* in the order of recording         */
    dit_trace_category category;
} dit_trace_event;

/* Offset of this rank's clock to rank 0's: event time - offset is rank 0's time. The true one is within uncertainty. */
typedef struct {
    int64_t offset_ns, uncertainty_ns;
    int64_t origin_ns; /* of rank 0's clock: where the timeline begins */
} dit_trace_clock;

/* Must stay where it is: the arena keeps its ledger's address. */
typedef struct dit_trace {
    dit_memory_ledger ledger;
    dit_arena arena;
    dit_trace_event *events; /* [capacity], a ring */
    int64_t capacity, recorded;
    int32_t step, patch, layer; /* of what is recorded next, and the phase; patch: band of rows of a pipeline */
    const char *phase;
    dit_trace_clock clock;
} dit_trace;

/* Takes the buffer, once. Errors: DIT_ERR_MEMORY. release takes a zeroed one. */
dit_status dit_trace_init(dit_trace *trace, int64_t capacity);
void dit_trace_release(dit_trace *trace);
/* Events in the buffer, and those that had to make room. */
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

/* Puts the ring in order: by begin, what encloses before what it encloses. After it nothing may be recorded. */
void dit_trace_sort(dit_trace *trace);
/* Nanoseconds of all events of a category; name NULL: any. */
int64_t dit_trace_total_ns(const dit_trace *trace, dit_trace_category category, const char *name);

/* Bounds a clock's offset from what both clocks showed around common barriers. Nobody leaves a barrier before all have
 * entered it, so every round bounds the offset from both sides.
 *   before, after  in  [rounds]  own clock on entering and on having left
 *   before_0, after_0            rank 0's
 * Fills offset and uncertainty. */
void dit_trace_bound_offset(const int64_t *before, const int64_t *after, const int64_t *before_0,
                            const int64_t *after_0, int rounds, dit_trace_clock *out);

#endif
