/* Wrapper: what a library for parallel inference dispatches around a model's attention where ranks share a sequence:
 * copies around all-to-alls, casts, and the merge of a ring's blocks.
 *
 * A file of workloads/profiles/wrappers/ has the functions that the library lets attention through, and which function
 * each class of models takes. Each event of a function has its kernels, with the elements that they read and write, and
 * its views, as they were read in the library's source. The model's own operators are the census's (census.h).
 */
#ifndef DIT_KERNELS_COST_WRAPPER_H
#define DIT_KERNELS_COST_WRAPPER_H

#include "kernels/cost/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Events, in the order of their keys in a file. */
#define DIT_WRAPPER_EVENT_LIST(X)                                                                                      \
    X(SCATTER, "scatter", "an all-to-all of q, k or v, one of each")                                                   \
    X(GATHER, "gather", "an all-to-all of the result")                                                                 \
    X(CALL, "call", "once for each attention")                                                                         \
    X(RING, "ring", "once for each attention of more than one ring rank")                                              \
    X(HOP, "hop", "for each further block of keys, merged into the result")

typedef enum {
#define DIT_WRAPPER_EVENT_ENUM(name, key, text) DIT_WRAPPER_##name,
    DIT_WRAPPER_EVENT_LIST(DIT_WRAPPER_EVENT_ENUM)
#undef DIT_WRAPPER_EVENT_ENUM
        DIT_WRAPPER_EVENTS
} dit_wrapper_event;

enum { DIT_WRAPPER_ROWS = 16 };
/* When something is dispatched: always, or for several batch rows, several ranks of Ulysses, one of them, or one of the
 * first two. */
typedef enum {
    DIT_WRAPPER_ALWAYS,
    DIT_WRAPPER_BATCH,
    DIT_WRAPPER_RANKS,
    DIT_WRAPPER_ALONE,
    DIT_WRAPPER_EITHER
} dit_wrapper_need;
/* Calls of one operator: elements of the device's type, and bytes of others, for each element of q (or of what an
 * all-to-all exchanges), of k, and for each row of a head. */
typedef struct {
    double calls, own[3], bytes[3];
    double indexed[3]; /* elements that it writes, if it computes an index for each */
    dit_wrapper_need needs;
} dit_wrapper_row;
typedef struct {
    double views;
    int count;
    dit_wrapper_need needs;
    dit_wrapper_row rows[DIT_WRAPPER_ROWS];
} dit_wrapper_part;
/* One function of a file. */
typedef struct {
    char name[DIT_COST_NAME];
    bool gathers; /* all blocks of keys come in one all-gather, not in messages of neighbours */
    dit_wrapper_part parts[DIT_WRAPPER_EVENTS];
} dit_wrapper;

/* The functions of one class of models: of attention over the sequence, and of attention to text, where the library
 * cuts the text's keys over the ranks, too. */
typedef struct {
    bool wraps, crosses;
    dit_wrapper self, cross;
} dit_wrappers;

/* Reads the functions of `class_name` from the file at `path`; a class that the file lacks has none. even_text: the
 * ranks' number divides the text's tokens. Errors: DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status dit_wrappers_read(const char *path, const char *class_name, bool even_text, dit_wrappers *out);

typedef struct {
    double elements, keys, rows; /* of q, of k, of the heads of q */
    bool batch, ranks;           /* several batch rows; several ranks of Ulysses */
} dit_wrapper_size;
/* Time of one event: its kernels by their bytes, its calls and views on the host. */
dit_cost_time dit_wrapper_time(const dit_wrapper *wrapper, const dit_cost_device *device,
                               const dit_cost_profile *profile, dit_wrapper_event event, const dit_wrapper_size *size);

#ifdef __cplusplus
}
#endif
#endif
