/* Attention policies: where attention finds K and V.
 *
 * A model hands over the q, k, v of the tokens that its rank holds. The policy returns the attention of those tokens
 * over the whole sequence: exact, or with the K and V of others as old as its method has them. Softmax does not depend
 * on the order of keys, so shards may come in any order. Replicated joint text counts once, although every sequence
 * rank holds its K and V; all other rows are one rank's own share. The policies are rows of one table (attention.c), a
 * file each.
 *
 * In a pipeline the rows of a call may be a band of the image. Their K and V replace the band's in a store (store.h),
 * and the rows attend to all that the store has.
 */
#ifndef DIT_ENGINE_ATTENTION_H
#define DIT_ENGINE_ATTENTION_H

#include "engine/attention/call.h"
#include "engine/runtime/runtime.h"

typedef struct dit_attention dit_attention;

/* Creates the policy called `name`; "auto" is the one that the degrees ask for. `shape` is the largest call. Collective
 * over the world. Errors: DIT_ERR_NOT_FOUND; DIT_ERR_CONSTRAINT_METHOD when name and degrees contradict each other;
 * DIT_ERR_UNSUPPORTED for a call that the policy is not built for; DIT_ERR_MEMORY. */
dit_status dit_attention_create(dit_runtime *rt, const char *name, const dit_attention_shape *shape,
                                dit_attention **out);
/* As dit_attention_create, for attention over time (shape.over_time). *out is NULL where every rank has its rows of all
 * frames, and attends to them without a policy. */
dit_status dit_attention_create_over_time(dit_runtime *rt, const char *name, const dit_attention_shape *shape,
                                          dit_attention **out);
void dit_attention_free(dit_attention *attention); /* accepts NULL; buffers belong to the runtime's arenas */
const char *dit_attention_name(const dit_attention *attention);
/* The guest of its runtime, or NULL. */
const dit_guest *dit_attention_guest(const dit_attention *attention);

/* What the newest call did in one hop of the ring. Without a ring there is one hop, which waits for nothing. */
typedef struct {
    double flops;
    int64_t compute_ns, waiting_ns; /* waiting: for the next block of keys, once this one is computed */
} dit_attention_hop;
/* The hops, [ring_degree]; they belong to the policy. */
const dit_attention_hop *dit_attention_hops(const dit_attention *attention);

/* True when every forward asks for the same work at the same addresses, so that it can be recorded. False for policies
 * that keep K and V from step to step. */
bool dit_attention_is_steady(const dit_attention *attention);
/* Masks text keys: adds bias [B, text_tokens], host memory, of the whole text to the logits of every row and head. It
 * is copied. Every rank has the whole text's mask, so nothing is sent. Not collective. Errors: DIT_ERR_DEVICE. */
dit_status dit_attention_set_text_bias(dit_attention *attention, const float *bias, int64_t text_tokens);

/* Says which of shape.text_biases, from 0, the next dit_attention_set_text_bias gives and the next calls add; at first it
 * is number 0. */
void dit_attention_use_text_bias(dit_attention *attention, int index);

/* Begins a forward: the calls that follow are its calls, in order, about the rows of `window`. */
void dit_attention_begin(dit_attention *attention, const dit_window *window);
/* Says how many steps just before this one, and just after it, do without the calls that follow: K and V of other rows
 * are so much older. */
void dit_attention_leave_out(dit_attention *attention, int before, int after);
/* Goes past `calls` calls of the forward, which this step does without. */
void dit_attention_skip(dit_attention *attention, int64_t calls);

/* Returns how many of `frames` frames a rank has in a block that attends within frames: all of them in pieces, or with
 * policy "dsp" some of them whole, equally many on each ring rank. */
int64_t dit_attention_count_frames(const dit_runtime *rt, int64_t frames);
/* Takes the buffer of such an exchange, for batch entries of so many floats; nothing where pieces stay. Once. Errors:
 * DIT_ERR_MEMORY. */
dit_status dit_attention_reserve_frames(dit_attention *attention, int64_t floats);
/* Exchanges the stream x [batch][frames][piece], `piece` floats of each frame, for x [batch][frames / ring ranks] of
 * whole frames, or back where `whole` is false; both in device memory. Does nothing where pieces stay. Collective over
 * the ring, whose ranks divide the frames. Errors: what messages give. */
dit_status dit_attention_exchange_frames(dit_attention *attention, float *x, int64_t batch, int64_t frames,
                                         int64_t piece, bool whole);

/* One call: attention of io's q, to io->out. Collective over the sequence ranks. Communication: the closed form of the
 * policy (base/volume.c). Errors: DIT_ERR_INTERNAL when a band of a pipeline comes out of turn; what messages give. */
dit_status dit_attention_forward(dit_attention *attention, const dit_attention_io *io);

#endif
