/* Tokenizer: a prompt's text as the ids that a text encoder reads.
 *
 * A tokenizer is a folder as transformers saves it: tokenizer_config.json, and what its class reads (tokenizer.json;
 * vocab.json and merges.txt; spiece.model; vocab.txt). One table (tokenizer.c) lists the classes. Ids equal those of
 * transformers 4.51.3 without ftfy. The files are not trusted.
 *
 *     DIT_TRY(dit_tokenizer_open("flux/tokenizer_2", "T5TokenizerFast", &tokenizer));
 *     const dit_token_rule rule = {.length = 512};
 *     DIT_TRY(dit_tokenize(tokenizer, "a red fox", &rule, ids, mask, &count));
 *
 * engine/text/prompt.h has the rules of the pipelines: lengths, templates, what is done to the text before.
 */
#ifndef DIT_ENGINE_TEXT_TOKENIZER_H
#define DIT_ENGINE_TEXT_TOKENIZER_H

#include "base/status.h"

#include <stdint.h>

enum { DIT_TOKEN_TEXT_MAX = 1 << 20, DIT_TOKEN_LENGTH_MAX = 1 << 16 };

typedef struct dit_tokenizer dit_tokenizer;

/* Opens a folder. `class_name` is the class that model_index.json of a pipeline names, such as "T5TokenizerFast"; NULL:
 * the tokenizer_class of tokenizer_config.json. The slow and the fast class of one model differ in some texts.
 * Errors: DIT_ERR_ENVIRONMENT where the engine was built without the libraries, with the packages to install;
 * DIT_ERR_NOT_FOUND for a class that is not in the table, with those that are; DIT_ERR_IO for a file that is missing;
 * DIT_ERR_UNSUPPORTED for a part of tokenizer.json that is not implemented; DIT_ERR_JSON_*; DIT_ERR_INTEGRITY for a
 * damaged file of another kind; DIT_ERR_MEMORY. */
dit_status dit_tokenizer_open(const char *folder, const char *class_name, dit_tokenizer **out);
/* Opens a tokenizer of a pipeline's folder: `part` is its member of model_index.json ("tokenizer", "tokenizer_2"),
 * which names the class, or a processor around one that tokenizer_config.json names. Errors: as dit_tokenizer_open; DIT_ERR_JSON_MISSING when model_index.json has no such part. */
dit_status dit_tokenizer_open_part(const char *pipeline_folder, const char *part, dit_tokenizer **out);
void dit_tokenizer_close(dit_tokenizer *tokenizer); /* accepts NULL */

/* What a tokenizer is. Ids are -1 where it has no such token. */
typedef struct {
    const char *class_name;   /* of the table; static */
    int64_t ids;              /* every id is below it: an encoder's vocab_size must not be less */
    int64_t model_max_length; /* of tokenizer_config.json; 0: it states none */
    int32_t bos, eos, unk, pad;
} dit_tokenizer_facts;
void dit_tokenizer_describe(const dit_tokenizer *tokenizer, dit_tokenizer_facts *out);

/* How a text becomes a row. */
typedef struct {
    int64_t length; /* ids of a row, 1..DIT_TOKEN_LENGTH_MAX: what is longer is cut, what is shorter is padded */
    bool no_special_tokens; /* true: neither a start nor an end is added */
    bool pads_behind;       /* padding stands behind the text, whatever the folder says */
} dit_token_rule;

/* Fills ids [length] and, unless it is NULL, mask [length] (1 token, 0 padding) from NUL-terminated UTF-8, as
 * tokenizer(text, max_length=length, padding="max_length", truncation=True) does; *count, unless it is NULL, is the
 * number of ids without padding. Both arrays are the caller's, in host memory. Several threads may share a tokenizer.
 * Errors: DIT_ERR_JSON_ENCODING for a text that is not UTF-8; DIT_ERR_SHAPE when the length leaves no room for the
 * special tokens, the text is longer than DIT_TOKEN_TEXT_MAX bytes, or there is no token to pad with; DIT_ERR_MEMORY. */
dit_status dit_tokenize(const dit_tokenizer *tokenizer, const char *text, const dit_token_rule *rule, int32_t *ids,
                        int32_t *mask, int64_t *count);

/* Gives all ids of a text, with its special tokens, neither cut nor padded. The caller frees *ids. Errors: as
 * dit_tokenize. */
dit_status dit_tokenize_all(const dit_tokenizer *tokenizer, const char *text, int32_t **ids, int64_t *count);

#endif
