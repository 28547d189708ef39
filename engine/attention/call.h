/* Call: one call of attention: its rows, their sizes, and where its arrays lie. */
#ifndef DIT_ENGINE_ATTENTION_CALL_H
#define DIT_ENGINE_ATTENTION_CALL_H

#include "base/mask.h"

#include <stdbool.h>
#include <stdint.h>

/* Which of a ring rank's rows are tokens, and which tokens they are. With Ulysses the rows are those that its exchange
 * lays together. */
typedef struct {
    int64_t rows; /* tokens, which come first; the rows behind are padding, sent but not computed with */
    const int32_t *
        position; /* NULL, or [rows] as in dit_attention_args: a token sees itself and those before it, or what the shape's mask says */
} dit_attention_order;

/* Window: the rows that a forward is about. */
enum { DIT_WINDOW_ALL = -1, DIT_STEP_FILL = -1 };
typedef struct {
    int64_t first, count; /* of the rows of each segment of this rank's image                   */
    bool text;            /* this rank's rows of joint text take part                           */
    int band;             /* the band of the pipeline; DIT_WINDOW_ALL: all rows                 */
    int step;             /* the diffusion step; DIT_STEP_FILL: a forward that fills the stores */
    int left_out;         /* steps just before `step` that are not done, and count as done      */
    int out_next;         /* steps just after it that will not be done                          */
    bool positive;        /* the positive branch of guidance alone: the latter half of the batch */
} dit_window;

enum { ATTENTION_BIASES = 2 };
/* The sizes of a call; a policy makes its buffers once, for the largest one. */
typedef struct {
    int64_t B, H, D;
    int64_t calls;   /* calls of one forward, each of which keeps its own K and V; 0: nothing is kept */
    int64_t tokens;  /* rows of this rank per batch entry, replicated ones included                  */
    int64_t text;    /* the first of them, which are joint text                                      */
    bool replicated; /* every sequence rank holds those text rows in full                            */
    bool linear;     /* attention is linear (dit_linear_attention_args), without text                */
    int text_biases; /* how many dit_attention_set_text_bias will give; at most ATTENTION_BIASES     */
    /* Of models that attend within frames and over time. The rows are then those of whole frames, of equal length: */
    int64_t over_time;  /* so many frames; a row attends to the rows at its place in all frames. 0: to all rows      */
    bool within_frames; /* batch entries are frames, which attend to themselves: ranks that have whole frames send
                           nothing */
    int inner_ring;     /* of a double ring: ranks of an inner ring, which divide the ring; a model's is the mesh's */
    /* The rest is for layers without text: */
    int64_t kv_heads;                 /* each head of k and v serves H / kv_heads heads of q; 0: H                 */
    bool packed;                      /* Ulysses exchanges q, k and v together                                     */
    const dit_mask *mask;             /* NULL, or what tokens see, by position; outlives the policy                 */
    const dit_attention_order *order; /* [ring_degree], which outlive the policy; NULL: every row is a token that
                                         sees all                                                       */
} dit_attention_shape;

/* Where a call's arrays lie: q, k, v [B, tokens, H, D], tokens `ld` and batch entries `batch` floats apart; out
 * likewise by ldo and batch_o. */
typedef struct {
    const float *q, *k, *v;
    int64_t ld, batch;
    int64_t ldk, batch_k; /* of k and v; 0: q's */
    float *out;
    int64_t ldo, batch_o;
} dit_attention_io;

/* Rows that every sequence rank holds: replicated text. */
static inline int64_t attention_replicated(const dit_attention_shape *shape)
{
    return shape->replicated ? shape->text : 0;
}
/* Heads of k and v. */
static inline int64_t attention_kv_heads(const dit_attention_shape *shape)
{
    return shape->kv_heads ? shape->kv_heads : shape->H;
}
static inline int64_t attention_ldk(const dit_attention_io *io)
{
    return io->ldk ? io->ldk : io->ld;
}
static inline int64_t attention_batch_k(const dit_attention_io *io)
{
    return io->batch_k ? io->batch_k : io->batch;
}

#endif
