/* What an attention policy provides: the implementer's header beside attention.h. */
#ifndef DIT_ENGINE_ATTENTION_IMPL_H
#define DIT_ENGINE_ATTENTION_IMPL_H

#include "engine/attention/attention.h"
#include "engine/attention/store.h"

/* One row of the table in attention.c. */
typedef struct dit_attention_policy {
    const char *name;
    bool ulysses, ring, patch; /* the axes along which it communicates: it serves meshes with exactly these above 1 */
    bool without_ulysses;      /* with `ulysses`: it serves meshes without it, too */
    bool layer_alone;          /* it serves one layer, no model                                             */
    bool stream;               /* it serves stages that stream blocks of frames, and they have no other */
    bool linear;               /* it serves calls of linear attention, and they have no other, on every mesh       */
    bool differs;              /* forwards of different steps differ in their work or addresses */
    /* The policy that wraps the same ring in Ulysses' all-to-all, for software that does so with one rank as well
     * (habit exchange_alone). NULL: there is none. */
    const struct dit_attention_policy *wrapped;
    /* Takes what a forward needs: its own state by attention_take; buffers from rt->comm_arena (messages), rt->step
     * (partial results) and rt->image (what is kept from step to step). NULL: it needs nothing. */
    dit_status (*prepare)(dit_attention *attention);
    dit_status (*forward)(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io);
} dit_attention_policy;

enum { DIT_ATTENTION_TAKEN = 4 };

/* What all policies have. */
struct dit_attention {
    dit_runtime *rt;
    const dit_attention_policy *policy;
    void *state;                      /* the policy's own, a type of its file; NULL: it has none             */
    void *taken[DIT_ATTENTION_TAKEN]; /* by attention_take; NULL behind the last                             */
    dit_attention_shape shape;        /* of the largest call                                                 */
    float scale;                      /* of the logits: 1 / sqrt(D)                                          */
    int64_t kv_group, kv_first;       /* as in dit_attention_args, for the heads that this rank computes     */
    dit_attention_hop *hops;          /* [ring_degree]                                                       */
    attention_store store;            /* K and V of a pipeline's rank; calls is 0 elsewhere                  */
    dit_window window;                /* of the forward that was begun last                                  */
    int64_t call;                     /* how many calls that forward has made                                */
    float **biases[ATTENTION_BIASES]; /* NULL, or [ring_degree]: the key bias [B, bias_keys] of what each ring rank
                                         holds, in the order in which the policy lays it out; an entry is NULL where
                                         there is no text */
    float **bias;                     /* the one of them that holds, or NULL */
    int64_t bias_keys;
};

/* Every attention policy, dit_attention_NAME; "auto" takes the first that fits. */
#define DIT_ATTENTION_LIST(X)                                                                                          \
    X(local)                                                                                                           \
    X(standard)                                                                                                        \
    X(ulysses)                                                                                                         \
    X(ring)                                                                                                            \
    X(usp)                                                                                                             \
    X(rsa)                                                                                                             \
    X(token_ring)                                                                                                      \
    X(all_gather)                                                                                                      \
    X(lightseq)                                                                                                        \
    X(double_ring)                                                                                                     \
    X(dsp)                                                                                                             \
    X(distrifusion)                                                                                                    \
    X(pcpp)                                                                                                            \
    X(naive_patch)                                                                                                     \
    X(video_infinity)                                                                                                  \
    X(stream)                                                                                                          \
    X(oracle)                                                                                                          \
    X(edit_rows)                                                                                                       \
    X(edit_oracle)                                                                                                     \
    X(linear)
#define DIT_ATTENTION_DECLARE(name) extern const dit_attention_policy dit_attention_##name;
DIT_ATTENTION_LIST(DIT_ATTENTION_DECLARE)
#undef DIT_ATTENTION_DECLARE

/* Refuses a device, for policies whose messages or products are built for this machine's cores. Errors:
 * DIT_ERR_UNSUPPORTED. */
dit_status attention_cores_alone(const dit_attention *attention);
/* Gives *out zeroed host memory that lives as long as the policy, for its state. At most DIT_ATTENTION_TAKEN times a
 * policy. Errors: DIT_ERR_MEMORY. */
dit_status attention_take(dit_attention *attention, int64_t bytes, void **out);

/* Records hop `hop`: what it computed since the account was `flops_before`, from `began` to `computed`, and that it has
 * waited from then until now. */
void attention_hop_end(dit_attention *attention, int hop, double flops_before, int64_t began, int64_t computed);
/* The order of ring rank `ring_rank`'s rows. Where the shape gives none, `rows` rows are tokens that see all others. */
dit_attention_order attention_order(const dit_attention_shape *shape, int ring_rank, int64_t rows);
/* Key bias of what ring rank `ring_rank` holds, or NULL. */
const float *attention_bias(const dit_attention *attention, int ring_rank);

/* ---- pieces that policies share ---------------------------------------------------------------------------------- */

/* `shape` is the call's, or that of the operands that Ulysses has exchanged. */

/* The keys and values that a call's queries attend to: the call's own, or on a pipeline's rank all that the store has
 * once they are put there. Errors: as attention_store_put. */
dit_status attention_take_keys(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                               attention_keys *out);
/* Attention of a call's queries over `keys` instead of io's; scores: NULL, or as in dit_attention_args. Not collective. */
void attention_over_keys(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                         const attention_keys *keys, float *scores);
/* attention_over_keys of what attention_take_keys finds. Not collective. */
dit_status attention_local_forward(dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io);
/* The same with room for all scores of a head (dit_attention_args.scores); NULL: without. */
dit_status attention_local_forward_through(dit_attention *attention, const dit_attention_shape *shape,
                                           const dit_attention_io *io, float *scores);
/* Attention of one hop, with its log-sum-exp, cut into pieces over batch entries and heads. Between the pieces it lets
 * the messages of `exchange` on the ring move; NULL: nothing is under way. */
void attention_in_pieces(dit_attention *attention, const dit_attention_args *whole, dit_comm_exchange *exchange);

/* Copies the rows of `keys` that are one rank's own, without replicated text, to kv [2][B][n][kv_heads D] dense: K,
 * then V. */
void attention_pack_kv(dit_attention *attention, const dit_attention_shape *shape, const attention_keys *keys,
                       float *kv);
/* Copies the queries of a call to q [B, n, H D] dense. */
void attention_pack_queries(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                            float *q);
/* Merges what this rank's queries gave on one more block of keys, with its log-sum-exp, dense, into io->out and lse
 * [B, H, n]. */
void attention_merge_block(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                           float *lse, const float *block_out, const float *block_lse);
/* Floats of messages about all rows of a call without text: queries; a result with its log-sum-exp; keys and values. */
static inline int64_t attention_query_floats(const dit_attention_shape *shape)
{
    return shape->B * shape->tokens * shape->H * shape->D;
}
static inline int64_t attention_result_floats(const dit_attention_shape *shape)
{
    return attention_query_floats(shape) + shape->B * shape->tokens * shape->H;
}
static inline int64_t attention_kv_floats(const dit_attention_shape *shape)
{
    return 2 * shape->B * shape->tokens * attention_kv_heads(shape) * shape->D;
}

/* The buffers of ring attention (ring.c). create takes them for calls of at most `shape`, around inner rings of `inner`
 * ranks, which divides the ring; all of its ranks: a plain ring. Errors: DIT_ERR_MEMORY. */
typedef struct attention_ring attention_ring;
dit_status attention_ring_create(dit_attention *attention, const dit_attention_shape *shape, int inner,
                                 attention_ring **out);
/* One call around the ring. Collective over the ring. */
dit_status attention_ring_run(dit_attention *attention, const attention_ring *ring, const dit_attention_shape *shape,
                              const dit_attention_io *io);

/* The buffers of Ulysses' exchange (ulysses.c), for calls of at most attention->shape. create also sets kv_first.
 * Errors: DIT_ERR_MEMORY. */
typedef struct attention_ulysses attention_ulysses;
dit_status attention_ulysses_create(dit_attention *attention, attention_ulysses **out);
/* The shape of a call of `shape` when its heads have been exchanged for tokens. */
dit_attention_shape attention_ulysses_exchanged(const dit_attention *attention, const dit_attention_shape *shape);
/* Exchanges heads for tokens, runs `inner` on all tokens of the Ulysses group and 1/u of the heads, exchanges back.
 * Collective over the Ulysses group. */
typedef dit_status (*attention_inner)(dit_attention *, const dit_attention_shape *, const dit_attention_io *);
dit_status attention_ulysses_around(dit_attention *attention, const attention_ulysses *ulysses,
                                    const dit_attention_shape *shape, const dit_attention_io *io,
                                    attention_inner inner);

#endif
