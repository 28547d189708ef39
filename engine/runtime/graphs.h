/* Graphs: work of a device that is asked for again and again, with the same addresses, is recorded once and launched.
 *
 * The first time it is done as it is: libraries choose their algorithms then. The second time it is recorded and
 * launched, from then on only launched. What it counted when it was recorded - flops, messages, bytes - is added to the
 * runtime's account with every launch, whose time is that of the blocks. What cannot be recorded is done directly, as
 * if this were not here.
 */
#ifndef DIT_ENGINE_GRAPHS_H
#define DIT_ENGINE_GRAPHS_H

#include "engine/runtime/runtime.h"

/* What makes two pieces of work the same one. */
typedef struct {
    const void *in, *out, *beside; /* latents, prediction, timestep                 */
    int64_t first, count;          /* rows of each segment                          */
    int band;                      /* of a pipeline, or all rows                    */
    bool text;                     /* joint text is among the rows                  */
} dit_graph_key;

typedef struct dit_graphs dit_graphs;

/* NULL in *out where the runtime has no device, or one that cannot record. Errors: DIT_ERR_MEMORY. */
dit_status dit_graphs_create(dit_runtime *rt, dit_graphs **out);
void dit_graphs_free(dit_graphs *graphs); /* accepts NULL; before the runtime's device is closed */
/* What was recorded means nothing any more: operands hold other things at other places. Accepts NULL. */
void dit_graphs_forget(dit_graphs *graphs);

/* Does the work of that key: `work` asks the device for all of it and waits for nothing. Errors: those of `work`. */
dit_status dit_graphs_run(dit_graphs *graphs, const dit_graph_key *key, dit_status (*work)(void *context),
                          void *context);
/* How many launches there were, and why there are none: NULL, or what recording ended with. */
int64_t dit_graphs_launches(const dit_graphs *graphs);
const char *dit_graphs_problem(const dit_graphs *graphs);

#endif
