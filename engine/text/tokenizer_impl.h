/* The parts of a tokenizer; private to engine/text. */
#ifndef DIT_ENGINE_TEXT_TOKENIZER_IMPL_H
#define DIT_ENGINE_TEXT_TOKENIZER_IMPL_H

#include "engine/subwords/added_tokens.h"
#include "engine/subwords/model.h"
#include "engine/text/tokenizer.h"
#include "engine/unicode/steps.h"

/* Tokens that have a role, in the order in which transformers adds those that are missing. */
typedef enum {
    DIT_ROLE_BOS,
    DIT_ROLE_EOS,
    DIT_ROLE_UNK,
    DIT_ROLE_SEP,
    DIT_ROLE_PAD,
    DIT_ROLE_CLS,
    DIT_ROLE_MASK,
    DIT_ROLE_COUNT
} dit_token_role;

struct dit_tokenizer {
    dit_tokenizer_facts facts;
    bool slow; /* as the Python classes of transformers do it, else as the tokenizers library does */
    dit_added_tokens added;
    dit_steps normalizer, splitter;
    dit_token_model model;
    dit_ids front, back; /* special tokens around a text          */
    bool end_once;       /* no token at the end when the text ends with it */
    bool meta_in_front;  /* U+2581 before a whole text, whose own become blanks: slow T5 that is not "legacy" */
    bool pads_left, cuts_left;
};

/* A class of transformers. */
typedef struct dit_tokenizer_class dit_tokenizer_class;

/* What a folder says. */
typedef struct {
    const char *folder;
    const dit_tokenizer_class *klass;
    dit_json config;   /* tokenizer_config.json without nulls; root NULL: the folder has none */
    dit_json roles;    /* special_tokens_map.json, where it counts; else root NULL */
    int64_t extra_ids; /* of T5 */
} dit_tokenizer_source;

struct dit_tokenizer_class {
    const char *name;
    bool fast; /* the tokenizers library does it, else Python */
    const char *const
        *files; /* the first of them that is there is what open reads; NULL: only tokenizer.json is read, or no file */
    dit_status (*open)(dit_tokenizer_source *source, const char *path, dit_tokenizer *out);
    const char *roles[DIT_ROLE_COUNT]; /* tokens, when no file names them */
    int64_t extra_ids;
    bool frames_text; /* bos and eos are added as the config says, whatever tokenizer.json does */
    bool pads_left;   /* where no file says on which side */
};

/* Writes FOLDER/NAME. Errors: DIT_ERR_USAGE for a path that is too long. */
enum { DIT_TOKENIZER_PATH = 4096 };
dit_status dit_tokenizer_path(const dit_tokenizer_source *source, const char *name, char out[DIT_TOKENIZER_PATH]);

/* ---- special_tokens.c ---------------------------------------------------------------------------------------------- */

/* Content of the token of a role; NULL: there is none. */
const char *dit_tokenizer_role(const dit_tokenizer_source *source, dit_token_role role);
/* Id of a token, added or of the model; -1. */
int32_t dit_tokenizer_id(const dit_tokenizer *tokenizer, const char *content);
/* Adds tokens of the folder's files to those of tokenizer.json, or of the class: added_tokens_decoder, added_tokens.json,
 * roles and additional_special_tokens; fills ids of out->facts. The model's vocabulary must be there. Errors: DIT_ERR_JSON_*, DIT_ERR_INTEGRITY,
 * DIT_ERR_MEMORY. */
dit_status dit_tokenizer_add_special(const dit_tokenizer_source *source, dit_tokenizer *out);
/* Reads the members of a token's object, such as {"content": "</s>", "lstrip": false}. */
dit_status dit_added_token_read(const dit_json *doc, const cJSON *object, const char *pointer, const char **content,
                                dit_added_token *out);

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

dit_status dit_open_tokenizer_json(dit_tokenizer_source *source, const char *path, dit_tokenizer *out);
dit_status dit_open_clip(dit_tokenizer_source *source, const char *path, dit_tokenizer *out);
dit_status dit_open_qwen2(dit_tokenizer_source *source, const char *path, dit_tokenizer *out);
dit_status dit_open_t5(dit_tokenizer_source *source, const char *path, dit_tokenizer *out);
dit_status dit_open_t5_fast(dit_tokenizer_source *source, const char *path, dit_tokenizer *out);
dit_status dit_open_byt5(dit_tokenizer_source *source, const char *path, dit_tokenizer *out);
dit_status dit_open_bert(dit_tokenizer_source *source, const char *path, dit_tokenizer *out);

#endif
