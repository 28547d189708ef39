/* Call: what one call of attention is about: its rows, their sizes, and where its arrays lie. */
#ifndef DIT_ENGINE_ATTENTION_CALL_H
#define DIT_ENGINE_ATTENTION_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* Which of a ring rank's rows are tokens, and which tokens: with Ulysses, of what the exchange lays together. */
typedef struct {
    int64_t rows;            /* the first ones; those behind are padding, sent but not computed with           */
    const int32_t *position; /* NULL, or [rows] as dit_attention_args: tokens see themselves and those before */
} dit_attention_order;

/* Which rows a forward is about. */
enum { DIT_WINDOW_ALL = -1, DIT_STEP_FILL = -1 };
typedef struct {
    int64_t first, count; /* rows of each segment of this rank's image rows                     */
    bool text;            /* with this rank's rows of joint text                                */
    int band;             /* which band of the pipeline those rows are; DIT_WINDOW_ALL: all rows */
    int step;             /* DIT_STEP_FILL: before the first, to fill stores                    */
    int left_out;         /* steps before `step` that are not done, and count as done           */
} dit_window;

/* Largest call a policy will see; buffers are made once for it. */
typedef struct {
    int64_t B, H, D;
    int64_t calls;   /* of one forward, as stores of K and V are kept by; 0: nothing is kept */
    int64_t tokens;  /* local rows per batch entry, replicated ones included */
    int64_t text;    /* of which joint text rows, first in order             */
    bool replicated; /* every sequence rank holds those text rows in full    */
    bool text_bias;  /* dit_attention_set_text_bias will be called           */
    /* Without text only: */
    int64_t kv_heads;                 /* each head of k and v serves H / kv_heads of q; 0: H                       */
    bool packed;                      /* Ulysses exchanges q, k, v together                                        */
    const dit_attention_order *order; /* NULL: every row is a token that sees all; or one per ring rank, which must
                                         outlive the policy                                                       */
} dit_attention_shape;

/* q, k, v: [B, tokens, H, D], tokens ld apart, batch entries `batch` floats apart; out likewise with ldo, batch_o. */
typedef struct {
    const float *q, *k, *v;
    int64_t ld, batch;
    int64_t ldk, batch_k; /* of k and v; 0: as q */
    float *out;
    int64_t ldo, batch_o;
} dit_attention_io;

/* Rows of `shape` that every sequence rank holds: replicated text. */
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
