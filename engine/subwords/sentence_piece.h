/* SentencePiece: the sentencepiece library behind functions of C. The one file of C++ is sentence_piece.cpp. */
#ifndef DIT_ENGINE_SUBWORDS_SENTENCE_PIECE_H
#define DIT_ENGINE_SUBWORDS_SENTENCE_PIECE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dit_sentence_piece dit_sentence_piece;

/* Loads a model from the bytes of its file, which dit_spiece_open has checked. Errors: DIT_ERR_INTEGRITY with the
 * library's words. */
dit_status dit_sentence_piece_open(const char *bytes, size_t length, dit_sentence_piece **out);
void dit_sentence_piece_close(dit_sentence_piece *model); /* accepts NULL */

/* Tells `take` the id of every piece of a text, in order. Errors: DIT_ERR_INTEGRITY, DIT_ERR_MEMORY. */
dit_status dit_sentence_piece_encode(const dit_sentence_piece *model, const char *text, size_t length,
                                     void (*take)(void *context, int32_t id), void *context);

#ifdef __cplusplus
}
#endif
#endif
