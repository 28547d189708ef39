/* What an attention policy provides: the implementer's header beside attention.h. */
#ifndef DIT_ENGINE_ATTENTION_IMPL_H
#define DIT_ENGINE_ATTENTION_IMPL_H

#include "engine/attention/attention.h"
#include "engine/attention/store.h"

typedef struct {
    const char *name;
    bool ulysses, ring, patch; /* which degrees it can use; it needs exactly those to be above 1 */
    /* Takes its buffers from rt->comm_arena (messages), rt->step (partial results) and rt->image (what is kept from
     * step to step). NULL: needs none. */
    dit_status (*prepare)(dit_attention *attention);
    dit_status (*forward)(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io);
} dit_attention_policy;

struct dit_attention {
    dit_runtime *rt;
    const dit_attention_policy *policy;
    dit_attention_shape shape;
    float scale;
    int64_t kv_group, kv_first; /* as dit_attention_args, of the heads this rank computes */
    dit_attention_hop *hops;    /* [ring_degree] */
    attention_store store;      /* of a pipeline's rank; else calls is 0 */
    dit_window window;
    int64_t call;      /* of the forward, from 0 */
    float **bias;      /* NULL, or one [B, keys] for the keys of each ring rank as the policy lays them out; */
    int64_t bias_keys; /* an entry is NULL where those keys hold no text                                    */
    struct {
        float *pack, *q, *k, *v, *out, *back; /* see ulysses.c */
    } ulysses;
    struct {
        float *kv[3], *block_out, *block_lse, *lse; /* see ring.c */
    } ring;
    struct {
        float *block[2], *scores; /* see rsa.c */
    } rsa;
    struct {
        float *keys, *slots, *sends; /* see displaced.c */
        int64_t slot_floats;
        dit_comm_exchange *transfers; /* [calls][transfers_per_call] */
        int transfers_per_call;
        dit_comm_exchange *newest; /* of a call, while any call has some under way */
        int64_t under_way;         /* calls that have */
    } displaced;
    struct attention_oracle *oracle; /* see oracle.c */
    void *own;                       /* of a policy that nothing else looks into */
};

extern const dit_attention_policy dit_attention_local, dit_attention_ulysses, dit_attention_ring, dit_attention_usp,
    dit_attention_rsa, dit_attention_token_ring, dit_attention_distrifusion, dit_attention_pcpp,
    dit_attention_naive_patch, dit_attention_oracle;

/* Hop `hop` is over: what it computed since `flops_before`, between `began` and `computed`, and then waited for. */
void attention_hop_end(dit_attention *attention, int hop, double flops_before, int64_t began, int64_t computed);
/* Where ring rank `ring_rank` lies in `rows` rows of which it says nothing. */
dit_attention_order attention_order(const dit_attention_shape *shape, int ring_rank, int64_t rows);
/* Key bias of what ring rank `ring_rank` holds, or NULL. */
const float *attention_bias(const dit_attention *attention, int ring_rank);

/* Shared pieces. Shape may be the policy's own or that of the exchanged operands. */

/* What the queries of a call attend to: its own K and V; of a pipeline's rank, all that it keeps after they were put
 * there. Errors: as attention_store_put. */
dit_status attention_take_keys(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                               attention_keys *out);
/* Queries of a call over any keys; those of `io` are not looked at. No communication. */
void attention_over_keys(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                         const attention_keys *keys);
dit_status attention_local_forward(dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io);
/* One hop's attention, with its log-sum-exp, in pieces over batch entries and heads; moves messages of the ring's
 * `exchange` (or NULL) between them. */
void attention_in_pieces(dit_attention *attention, const dit_attention_args *whole, dit_comm_exchange *exchange);
dit_status attention_ring_prepare(dit_attention *attention, const dit_attention_shape *shape);
dit_status attention_ring_forward(dit_attention *attention, const dit_attention_shape *shape,
                                  const dit_attention_io *io);
dit_status attention_ulysses_prepare(dit_attention *attention);
dit_attention_shape attention_ulysses_exchanged(const dit_attention *attention, const dit_attention_shape *shape);
typedef dit_status (*attention_inner)(dit_attention *, const dit_attention_shape *, const dit_attention_io *);
/* Exchanges heads for tokens, runs `inner` on all tokens of the Ulysses group and 1/u of the heads, exchanges back. */
dit_status attention_ulysses_around(dit_attention *attention, const dit_attention_shape *shape,
                                    const dit_attention_io *io, attention_inner inner);

#endif
