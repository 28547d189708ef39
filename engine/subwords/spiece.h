/* Spiece: a SentencePiece model as its file (spiece.model, tokenizer.model) has it, a message of protocol buffers.
 *
 * The file is not trusted, and the library does not check all that it relies on: everything that it follows is checked
 * here first.
 */
#ifndef DIT_ENGINE_SUBWORDS_SPIECE_H
#define DIT_ENGINE_SUBWORDS_SPIECE_H

#include "engine/subwords/model.h"

/* One piece. Types are those of the format. */
enum { DIT_PIECE_NORMAL = 1, DIT_PIECE_UNKNOWN, DIT_PIECE_CONTROL, DIT_PIECE_USER_DEFINED };
typedef struct {
    dit_span text; /* in the file's bytes */
    float score;
    int64_t type;
} dit_spiece_piece;

typedef struct {
    char *bytes;
    size_t length;
    dit_spiece_piece *pieces;
    int count;
    dit_span charsmap; /* in bytes; empty: none */
    int32_t unk;
} dit_spiece;

/* Reads and checks a file. Errors: DIT_ERR_IO; DIT_ERR_INTEGRITY; DIT_ERR_UNSUPPORTED for a model that is not unigram;
 * DIT_ERR_MEMORY. */
dit_status dit_spiece_read(const char *path, dit_spiece *out);
/* The same for bytes in memory, which are copied. */
dit_status dit_spiece_parse(const char *bytes, size_t length, dit_spiece *out);
void dit_spiece_release(dit_spiece *spiece);

/* Fills a model that the sentencepiece library computes. in_front: the library puts a blank in front of every text, which
 * "legacy" tokenizers leave to it; where it does not, `unk_token` keeps blanks at the front. Errors: DIT_ERR_INTEGRITY,
 * DIT_ERR_MEMORY. */
dit_status dit_spiece_open(const dit_spiece *spiece, bool in_front, const char *unk_token, dit_token_model *out);

#endif
