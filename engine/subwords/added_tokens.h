/* Added tokens: those that a tokenizer looks for in a text before its model sees the rest, such as "</s>". */
#ifndef DIT_ENGINE_SUBWORDS_ADDED_TOKENS_H
#define DIT_ENGINE_SUBWORDS_ADDED_TOKENS_H

#include "engine/unicode/utf8.h"

enum { DIT_ADDED_MAX = 1 << 14 };

typedef struct {
    char *content; /* what is looked for */
    size_t length;
    int32_t id;
    bool single_word;    /* only between signs that are not part of a word */
    bool lstrip, rstrip; /* white space before, after it belongs to it */
    bool normalized;     /* looked for in the text that is normalised already */
    bool special;
} dit_added_token;

/* Begins as {0}. */
typedef struct {
    dit_added_token *at;
    int count;
    int *order;     /* tokens by first byte, the longest first; made by dit_added_tokens_sort */
    int begin[257]; /* in order, by first byte */
} dit_added_tokens;

/* Adds a token, or replaces the one of the same content. `content` is copied. Errors: DIT_ERR_INTEGRITY for an empty
 * content or too many tokens; DIT_ERR_MEMORY. */
dit_status dit_added_tokens_put(dit_added_tokens *tokens, const char *content, const dit_added_token *like);
/* NULL for a content that is not there. */
const dit_added_token *dit_added_tokens_find(const dit_added_tokens *tokens, const char *content, size_t length);
/* Must be called after the last token is put. Errors: DIT_ERR_MEMORY. */
dit_status dit_added_tokens_sort(dit_added_tokens *tokens);
void dit_added_tokens_release(dit_added_tokens *tokens);

/* A stretch of a text: of a token, or between tokens (NULL). */
typedef struct {
    dit_span text;
    const dit_added_token *token;
} dit_stretch;
typedef struct {
    dit_stretch *at;
    int count;
    bool failed;
} dit_stretches;
void dit_stretches_release(dit_stretches *stretches);

/* Which tokens are looked for. */
typedef enum { DIT_ADDED_ALL, DIT_ADDED_RAW, DIT_ADDED_NORMALIZED } dit_added_which;
/* Cuts a text at the tokens in it: the leftmost, of several the longest. Stretches point into `text`.
 * slow: as the Python classes do it, else as the tokenizers library does. Errors: DIT_ERR_MEMORY. */
dit_status dit_added_tokens_cut(const dit_added_tokens *tokens, dit_added_which which, bool slow, dit_span text,
                                dit_stretches *out);

#endif
