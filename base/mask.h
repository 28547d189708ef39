/* Mask: which keys a query of one attention layer sees, as a list of slices, so that who computes and who counts read
 * the same data. Tokens are numbered from 0 in the whole sequence.
 *
 * A slice is a rectangle of queries and keys, cut by two diagonals. A query sees a key if a slice has the pair. Slices
 * of one mask do not overlap, so pairs are counted by adding them up.
 * The kinds up to prefix-lm-documents are those of FlashMask (arXiv:2410.01359), figure 1, and their forms without a
 * causal order; block-causal ones are those of video models that make frame after frame.
 */
#ifndef DIT_BASE_MASK_H
#define DIT_BASE_MASK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns: constant; name; what a token sees. Sizes are in base/mask.c. */
#define DIT_MASK_LIST(X)                                                                                               \
    X(NONE, "none", "all tokens, or with causal itself and those before")                                              \
    X(WINDOW, "window", "tokens near it, before and behind")                                                           \
    X(WINDOW_CAUSAL, "window-causal", "itself and tokens shortly before")                                              \
    X(DOCUMENTS, "documents", "its own of several packed documents")                                                   \
    X(DOCUMENTS_CAUSAL, "documents-causal", "itself and those before in its document")                                 \
    X(DOCUMENTS_WINDOW, "documents-window", "tokens near it in its document")                                          \
    X(SHARED_QUESTION, "shared-question", "those before in the question and in its own of several answers")            \
    X(GLOBAL_WINDOW, "global-window", "the first tokens, which see all, and tokens near it")                           \
    X(GLOBAL_WINDOW_CAUSAL, "global-window-causal", "those before among the first and near tokens")                    \
    X(PREFIX_LM, "prefix-lm", "the whole prefix, and those before")                                                    \
    X(PREFIX_LM_DOCUMENTS, "prefix-lm-documents", "the whole prefix of its document, and those before")                \
    X(CAUSAL_BLOCKWISE, "causal-blockwise", "those before in its block; the last block sees those of all blocks")      \
    X(BLOCK_CAUSAL, "block-causal", "all of its block and of blocks before: frames of a video")                        \
    X(BLOCK_CAUSAL_WINDOW, "block-causal-window", "all of its block and of the one before")                            \
    X(BLOCK_CAUSAL_DOCUMENTS, "block-causal-documents", "all of its block and of blocks before in its document")

typedef enum {
#define DIT_MASK_ENUM(ID, ...) DIT_MASK_##ID,
    DIT_MASK_LIST(DIT_MASK_ENUM)
#undef DIT_MASK_ENUM
        DIT_MASK_COUNT
} dit_mask_kind;
const char *dit_mask_name(dit_mask_kind kind);
const char *const *dit_mask_names(void); /* all of them, NULL at the end */
bool dit_mask_from_name(const char *name, dit_mask_kind *out);

/* Queries [q_first, q_end) and keys [k_first, k_end), as far as low <= key - query <= high. */
typedef struct {
    int32_t q_first, q_end, k_first, k_end, low, high;
} dit_mask_slice;

enum { DIT_MASK_SLICES = 128 };
typedef struct {
    int count;
    dit_mask_slice slice[DIT_MASK_SLICES];
} dit_mask;

/* Builds the mask over `tokens` tokens. "none" has no slices. */
void dit_mask_build(dit_mask_kind kind, int64_t tokens, dit_mask *out);
/* Whether a slice has the pair. */
bool dit_mask_slice_has(const dit_mask_slice *slice, int64_t query, int64_t key);
bool dit_mask_sees(const dit_mask *mask, int64_t query, int64_t key);
/* The keys [*first, *end) of a slice that a query sees, *first >= *end: none. */
void dit_mask_slice_keys(const dit_mask_slice *slice, int64_t query, int64_t *first, int64_t *end);
/* Counts the pairs that see each other, over all queries. */
double dit_mask_pairs(const dit_mask *mask);

#ifdef __cplusplus
}
#endif
#endif
