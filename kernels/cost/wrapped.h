/* Wrapped: an attention over a sequence that ranks share, as a library for parallel inference runs it on a simulated
 * rank: what wrapper.h has of it, in the order in which the engine calls its own operators. It takes the place of the
 * engine's own copies and merges, which the library does not make. In a pipeline, whose bands the engine keeps in
 * stores, nothing is wrapped.
 */
#ifndef DIT_KERNELS_COST_WRAPPED_H
#define DIT_KERNELS_COST_WRAPPED_H

#include "base/json.h"
#include "kernels/cost/collective.h"
#include "kernels/cost/wrapper.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed: nothing is wrapped. */
typedef struct {
    dit_wrappers of;
    int ulysses, ring; /* ranks */
    dit_cost_group ulysses_links, ring_links;
    /* of the attention that is under way */
    bool in, computed; /* computed: an attention kernel of it was charged */
    bool batch;        /* of several batch rows                           */
    int calls;         /* so many calls of the software make its rows     */
    double attended, merged, keys_of_query, head_dim;
} dit_wrapped;

/* Reads the profile's wrapper for the case's model and degrees. Errors: DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status dit_wrapped_read(const dit_json *doc, const char *path, dit_wrapped *out);

/* An attention over the sequence begins, of so many batch rows in so many calls. */
void dit_wrapped_begin(dit_wrapped *wrapped, double batch, int calls);
/* It ends. Returns what is dispatched for it beside exchanges and merges. */
dit_cost_time dit_wrapped_end(dit_wrapped *wrapped, const dit_cost_device *device, const dit_cost_profile *profile);
/* Whether the operator, within an attention over the sequence, costs what the library makes of it: then *out is that. */
bool dit_wrapped_op_time(const dit_wrapped *wrapped, const dit_cost_device *device, const dit_cost_profile *profile,
                         const dit_cost_op *op, dit_cost_time *out);
/* The operator was charged. */
void dit_wrapped_saw(dit_wrapped *wrapped, const dit_cost_op *op);
/* An attention to text whose keys the library cuts over the ranks, with its exchanges: what it takes in place of `op`,
 * which has all keys and sends nothing. */
dit_cost_time dit_wrapped_cross_time(const dit_wrapped *wrapped, const dit_cost_device *device,
                                     const dit_cost_profile *profile, const dit_cost_op *op, double batch, int calls);

#ifdef __cplusplus
}
#endif
#endif
