/* Text parallel: how ranks share the work of a text encoder, which of them is legal, and what each rank sends.
 *
 * Whatever the way, every rank ends with the embeddings of all prompts in fp32. A prompt's embeddings are S rows of C
 * floats, of each hidden state that is taken, and P floats of pooled text; there are B prompts, N ranks, and L blocks that run. e: bytes of an activation.
 *
 *   way         who computes                          what a rank sends                         messages   bytes of each
 *   ----------  ------------------------------------  ----------------------------------------  ---------  -------------
 *   replicated  every rank, everything (xDiT)         nothing
 *   broadcast   rank 0                                rank 0: the embeddings to all others      N - 1      B (S C + P) 4
 *   tensor      every rank its heads and its columns  two sums of [B S, C] a block: each a      4 L (N-1)  B S C / N e
 *               of the MLPs                           reduce-scatter and an all-gather
 *   cfg         half of the ranks the first half of   its half to the rank with the other half  1          B (S C + P) 2
 *               the prompts (the negative ones), the
 *               others the second half
 *
 * Source of tensor: Shoeybi et al., Megatron-LM (arXiv:1909.08053), section 3.
 */
#ifndef DIT_BASE_TEXT_PARALLEL_H
#define DIT_BASE_TEXT_PARALLEL_H

#include "base/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_TEXT_REPLICATED,
    DIT_TEXT_BROADCAST,
    DIT_TEXT_TENSOR,
    DIT_TEXT_CFG,
    DIT_TEXT_PARALLEL_COUNT
} dit_text_parallel;

/* The names of all ways ("replicated"), with NULL at the end. */
const char *const *dit_text_parallel_names(void);
const char *dit_text_parallel_name(dit_text_parallel way);
/* Finds a way by its name; false when there is none. */
bool dit_text_parallel_from_name(const char *name, dit_text_parallel *out);

/* One call of an encoder. */
typedef struct {
    int64_t prompts, tokens;  /* B; tokens that the encoder sees                        */
    int64_t kept_tokens;      /* S of the embeddings: tokens that are not cropped       */
    int64_t width, pooled;    /* C; P, 0 where pooled text is not asked for             */
    int64_t out_width;        /* C of the embeddings, where another one; 0: the same    */
    int64_t states;           /* hidden states that are taken; 0: one                   */
    int64_t heads, key_heads; /* of queries, and of keys and values                     */
    int64_t blocks;           /* L                                                      */
    int64_t element_bytes;    /* e                                                      */
} dit_text_facts;

/* Returns DIT_OK, or why `ranks` ranks cannot share the call in that way: DIT_ERR_CONSTRAINT_HEADS, _TOKENS, _CFG,
 * _BATCH. One rank can do every way. */
dit_status dit_text_parallel_check(dit_text_parallel way, int ranks, const dit_text_facts *facts);
/* Returns the mesh of ranks in which the call runs. Ranks that compute alike are of the axis data where there is cfg,
 * else they are the group of all ranks. */
dit_parallel dit_text_parallel_mesh(dit_text_parallel way, int ranks);
/* Returns the floats of a prompt's embeddings: rows of all hidden states, without pooled text. */
int64_t dit_text_embedding_floats(const dit_text_facts *facts);
/* Predicts what `rank` sends, exactly. The way must be legal. */
void dit_text_volume_predict(dit_text_parallel way, int ranks, int rank, const dit_text_facts *facts,
                             dit_volume_table *out);

#ifdef __cplusplus
}
#endif
#endif
