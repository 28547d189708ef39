/* Graphs: record work that a device repeats with equal addresses once, and then launch the recording.
 *
 * The first time, work is done directly, and libraries choose their algorithms. The second time it is recorded and
 * launched, from then on only launched. What was counted while recording (flops, messages, bytes) is added to the
 * runtime's account at every launch; the launch's time counts as the blocks' time. Work that cannot be recorded is done
 * directly.
 */
#ifndef DIT_ENGINE_GRAPHS_H
#define DIT_ENGINE_GRAPHS_H

#include "engine/runtime/runtime.h"

/* What must be equal for two pieces of work to share a recording. */
typedef struct {
    const void *in, *out, *beside; /* latents, prediction, timestep                 */
    int64_t first, count;          /* rows of each segment                          */
    int band;                      /* of a pipeline, or all rows                    */
    bool text;                     /* the rows include joint text                   */
    int part;                      /* of a forward that is recorded in parts; 0: the whole */
} dit_graph_key;

typedef struct dit_graphs dit_graphs;

/* *out is NULL where the runtime has no device, or one that cannot record. Errors: DIT_ERR_MEMORY. */
dit_status dit_graphs_create(dit_runtime *rt, dit_graphs **out);
void dit_graphs_free(dit_graphs *graphs); /* accepts NULL; before the runtime's device is closed */
/* Drops all recordings, because operands have moved. Accepts NULL. */
void dit_graphs_forget(dit_graphs *graphs);

/* Does the work of that key. `work` queues all of it on the device and waits for nothing. Errors: those of `work`. */
dit_status dit_graphs_run(dit_graphs *graphs, const dit_graph_key *key, dit_status (*work)(void *context),
                          void *context);
/* Return the number of launches, and why recording failed (NULL: it did not). */
int64_t dit_graphs_launches(const dit_graphs *graphs);
const char *dit_graphs_problem(const dit_graphs *graphs);

#endif
