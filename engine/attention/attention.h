/* Attention policies: where attention finds K and V.
 *
 * A model hands over the q, k, v of the tokens its rank holds; the policy returns the exact attention of those tokens
 * over the whole sequence. Softmax does not care about the order of keys, so shards may come in any order. Replicated
 * joint text counts once, although every sequence rank holds its K and V; all other rows are a rank's own share.
 * Policies are rows of one table (attention.c); each is one file.
 *
 * In a pipeline the rows of a call may be a band of the image: their K and V replace those of that band in a store
 * (store.h), and they attend to all that it has.
 */
#ifndef DIT_ENGINE_ATTENTION_H
#define DIT_ENGINE_ATTENTION_H

#include "engine/attention/call.h"
#include "engine/runtime/runtime.h"

typedef struct dit_attention dit_attention;

/* The policy called `name`, or for "auto" the one the degrees ask for (local, ulysses, ring, usp).
 * Errors: DIT_ERR_NOT_FOUND, DIT_ERR_CONSTRAINT_METHOD when name and degrees contradict each other. */
dit_status dit_attention_create(dit_runtime *rt, const char *name, const dit_attention_shape *shape,
                                dit_attention **out);
void dit_attention_free(dit_attention *attention); /* accepts NULL; buffers belong to the runtime's arenas */
const char *dit_attention_name(const dit_attention *attention);

/* What the newest forward did in one hop of the ring; without a ring there is one hop, which waits for nothing. */
typedef struct {
    double flops;
    int64_t compute_ns, waiting_ns; /* waiting: for the next block, after this one was computed */
} dit_attention_hop;
/* The hops, ring_degree of them; they belong to the policy. */
const dit_attention_hop *dit_attention_hops(const dit_attention *attention);

/* Whether every forward asks for the same work at the same addresses: policies that remember steps do not. */
bool dit_attention_is_steady(const dit_attention *attention);
/* Masks text keys: bias [B, text_tokens] of the whole text is added to the logits of every row and head; copied. Every
 * rank has the whole text's mask, so nothing is sent. Not collective. */
dit_status dit_attention_set_text_bias(dit_attention *attention, const float *bias, int64_t text_tokens);

/* The calls that follow are those of one forward, in order, about the rows of a window. */
void dit_attention_begin(dit_attention *attention, const dit_window *window);

/* Collective over the sequence ranks. Communication: as the closed form of the policy (base/volume.c). Errors, in a
 * pipeline: DIT_ERR_INTERNAL when a band comes out of turn. */
dit_status dit_attention_forward(dit_attention *attention, const dit_attention_io *io);

#endif
