/* Charsmap: SentencePiece's table of what characters are normalised to.
 *
 * Bytes: uint32 size of a trie; the trie, a double array of uint32 (darts-clone); NUL-terminated replacements. A leaf's
 * value is where its replacement begins. The bytes are not trusted.
 */
#ifndef DIT_ENGINE_UNICODE_CHARSMAP_H
#define DIT_ENGINE_UNICODE_CHARSMAP_H

#include "engine/unicode/utf8.h"

typedef struct {
    uint32_t *units; /* the double array; NULL: nothing is replaced */
    size_t count;
    char *replacements; /* ends with NUL */
    size_t bytes;
} dit_charsmap;

/* Copies a table. Every way through the trie stays inside, every replacement too, and no key is the front of more than
 * 32 others, which the sentencepiece library does not check. Errors: DIT_ERR_INTEGRITY, DIT_ERR_MEMORY. */
dit_status dit_charsmap_read(const char *bytes, size_t length, dit_charsmap *out);
/* Reads a table in base64, as tokenizer.json has it. Errors: DIT_ERR_INTEGRITY, too. */
dit_status dit_charsmap_read_base64(const char *text, dit_charsmap *out);
void dit_charsmap_release(dit_charsmap *map); /* accepts a zeroed one */

/* Appends a text with its characters replaced, as the tokenizers library does: grapheme cluster by cluster where one has
 * less than 6 bytes, else by code point; of several keys the shortest counts. */
void dit_charsmap_apply(const dit_charsmap *map, dit_span text, dit_buffer *out);

#endif
