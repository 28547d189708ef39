/* Models of tokenizers: how a piece of text becomes ids. A file each. */
#ifndef DIT_ENGINE_SUBWORDS_MODEL_H
#define DIT_ENGINE_SUBWORDS_MODEL_H

#include "engine/subwords/sentence_piece.h"
#include "engine/subwords/vocabulary.h"

/* A pair of tokens that byte-pair encoding joins. */
typedef struct {
    uint64_t pair; /* left id in the upper half, right id in the lower one */
    int32_t rank;  /* the lowest is joined first; -1: the place is free */
    int32_t id;    /* of both together */
} dit_merge;

typedef struct dit_token_model dit_token_model;
struct dit_token_model {
    /* Adds the ids of a piece. Errors: DIT_ERR_MEMORY; DIT_ERR_INTEGRITY for what the library refuses. */
    dit_status (*encode)(const dit_token_model *model, dit_span piece, dit_ids *out);
    dit_vocabulary vocabulary;
    int32_t unk; /* -1: what is not known is left out */
    bool fuse_unk, byte_fallback;

    /* byte-pair encoding (bpe.c) */
    dit_merge *merges;
    size_t merge_capacity, merge_count;
    char *prefix, *suffix;   /* of tokens inside a word, at its end; NULL: none */
    bool ignore_merges;      /* a piece that is a token is that token */
    const char *verbatim[2]; /* pieces that are tokens whatever the merges say; NULL: none */

    /* WordPiece (word_piece.c); also uses prefix */
    int64_t max_input_chars;

    /* unigram (unigram.c): scores by id, as many as vocabulary.end */
    double *scores;
    double lowest;

    /* unigram by the sentencepiece library (spiece.c) */
    dit_sentence_piece *library;
    char *unk_piece;     /* with it in front, blanks at the front are kept; NULL: they need not be */
    int unk_piece_count; /* how many pieces unk_piece becomes */
};

/* Releases all parts; accepts a zeroed one. */
void dit_token_model_release(dit_token_model *model);

/* Adds the merge of two tokens, `rank` from 0; both and what they make together must be in the vocabulary. Errors:
 * DIT_ERR_INTEGRITY, DIT_ERR_MEMORY. */
dit_status dit_bpe_add_merge(dit_token_model *model, dit_span left, dit_span right, int32_t rank);
dit_status dit_bpe_encode(const dit_token_model *model, dit_span piece, dit_ids *out);
dit_status dit_word_piece_encode(const dit_token_model *model, dit_span piece, dit_ids *out);
/* Every byte is a token: the id of byte b is b + DIT_BYTE_OFFSET. */
enum { DIT_BYTE_OFFSET = 3 };
dit_status dit_byte_encode(const dit_token_model *model, dit_span piece, dit_ids *out);
/* A piece is a token, or unknown. */
dit_status dit_word_level_encode(const dit_token_model *model, dit_span piece, dit_ids *out);
/* Gives the token of an id its score. Errors: DIT_ERR_INTEGRITY when it is no number; DIT_ERR_MEMORY. */
dit_status dit_unigram_add(dit_token_model *model, dit_span token, int64_t id, double score);
dit_status dit_unigram_encode(const dit_token_model *model, dit_span piece, dit_ids *out);

/* Adds an id for what is not known: tokens of its bytes where the model has those, else unk, once for a run with
 * fuse_unk. *in_run: whether the id before it was such an unk; the caller sets it false for what is known. */
void dit_token_model_add_unknown(const dit_token_model *model, dit_span text, bool *in_run, dit_ids *out);

#endif
