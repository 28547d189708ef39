/* Layer: one attention layer over sequence ranks. Says where its tokens and heads lie, whether that is legal, and what
 * it computes and sends. Pure, like base/mesh.h; the engine and the harness call the same functions.
 *
 * Every ring rank holds `ulysses_degree` x `rows` rows of one token each; where tokens do not divide evenly, the last
 * rows of a ring rank are padding. Each of its Ulysses ranks holds `rows` of them, in order. Positions ascend with the
 * rows in every layout.
 */
#ifndef DIT_BASE_LAYER_H
#define DIT_BASE_LAYER_H

#include "base/mask.h"
#include "base/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which tokens a ring rank holds. Sources: zigzag: Zhu, ring-flash-attention; stripe: Brandon et al.,
 * Striped Attention (arXiv:2311.09431). */
typedef enum {
    DIT_TOKEN_BASIC,  /* ring rank k holds the k-th run of consecutive tokens              */
    DIT_TOKEN_ZIGZAG, /* of 2r runs the k-th from the front and the k-th from the back     */
    DIT_TOKEN_STRIPE, /* tokens k, k + r, k + 2r, ...                                      */
    DIT_TOKEN_COUNT
} dit_token_layout;
const char *dit_token_layout_name(dit_token_layout layout);
bool dit_token_layout_from_name(const char *name, dit_token_layout *out);

/* The attention of one rank that keeps all scores of a head in memory, beside the tiled one, "local". */
#define DIT_STANDARD_ATTENTION "standard"

/* Whether a method of a ring goes with Ulysses, too, over the heads. */
bool dit_ring_method_takes_heads(dit_ring_method method);

typedef struct {
    int64_t tokens, heads, kv_heads, head_dim, batch; /* heads / kv_heads query heads share a head of k and v       */
    bool causal;                                      /* a token sees itself and those before                       */
    dit_mask_kind mask;                               /* what a token sees; not with causal                         */
    bool packed;                                      /* Ulysses: q, k, v in one all-to-all instead of one each     */
    bool pad_tokens, pad_heads;                       /* pads tokens or heads that do not divide; else refuses them */
    dit_ring_method ring;
    int64_t inner_ring; /* of the double ring: ranks of an inner ring; else 0 */
    dit_token_layout layout;
    bool whole_scores;     /* attention "standard": all scores of a head are in memory, on one rank */
    int64_t element_bytes; /* of q, k, v and the result; 0: 4 */
} dit_layer;

/* Reads {"tokens","heads","head_dim"} and, with defaults, {"kv_heads","batch","causal","layout","packed","pad_tokens",
 * "pad_heads","inner_ring","mask"} of the case's "layer", and the ring method or whole_scores from the case's "attention". It does not check legality:
 * dit_layer_check must pass before any function below is called. Errors: DIT_ERR_JSON_*. */
dit_status dit_layer_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_layer *out);
/* Returns DIT_OK, or the first broken rule (DIT_ERR_CONSTRAINT_*, DIT_ERR_UNSUPPORTED for other axes). */
dit_status dit_layer_check(const dit_parallel *parallel, const dit_layer *layer);
/* Sets options that change nothing on this mesh to their first value, so that equal cases are spelled alike. */
void dit_layer_normalise(const dit_parallel *parallel, dit_layer *layer);
/* Writes the layer's name in plots: "layer:32x128", with shared heads "layer:32/8x128". */
void dit_layer_name(const dit_layer *layer, char out[64]);

/* How heads are divided over u Ulysses ranks. All ranks send and receive equal widths. */
typedef struct {
    int64_t heads;    /* query heads of a rank, with padding; the last ranks may have fewer              */
    int64_t kv_heads; /* heads of k and v; a head that query heads of several ranks read goes to each    */
} dit_head_cut;
dit_head_cut dit_head_cut_of(int64_t heads, int64_t kv_heads, int64_t u);
/* Returns the first query head of a Ulysses rank, `heads` for the rank after the last. A rank's heads end where the
 * next rank's begin. */
int64_t dit_head_first(int64_t heads, int64_t u, int64_t ulysses_rank);

/* How tokens are divided. */
typedef struct {
    int64_t u, r;
    int64_t rows;      /* of a rank, with padding                     */
    int64_t ring_rows; /* of a ring rank: u x rows                   */
    int64_t chunk;     /* zigzag: tokens of each of the 2r runs       */
} dit_token_cut;
dit_token_cut dit_token_cut_of(const dit_parallel *parallel, const dit_layer *layer);
/* Returns how many rows of a ring rank, the first ones, are tokens. */
int64_t dit_token_count(const dit_layer *layer, const dit_token_cut *cut, int64_t ring_rank);
/* Returns the token in row `row` of a ring rank; for padding a number at or beyond layer->tokens. */
int64_t dit_token_position(const dit_layer *layer, const dit_token_cut *cut, int64_t ring_rank, int64_t row);

/* Counts the pairs of query and key that see each other when ring rank `ring_rank` attends to the keys of `source`. */
double dit_layer_pairs(const dit_layer *layer, const dit_token_cut *cut, int64_t ring_rank, int64_t source);
/* Counts two products of 2 head_dim flops per pair that the rank computes, for itself or another, on all keys or, with
 * source >= 0, on those of this ring rank. */
double dit_layer_flops(const dit_parallel *parallel, const dit_layer *layer, int rank, int64_t source);

/* Predicts what `rank` sends in one forward, with padding and replicated heads. The configuration must be legal. */
void dit_layer_volume(const dit_parallel *parallel, const dit_layer *layer, int rank, dit_volume_table *out);
/* Whether ranks send different amounts. */
bool dit_layer_ranks_differ(const dit_layer *layer);
/* Estimates the peak bytes of a rank by memory class, as dit_memory_predict does. */
void dit_layer_memory(const dit_parallel *parallel, const dit_layer *layer, int64_t bytes[4]);

#ifdef __cplusplus
}
#endif
#endif
