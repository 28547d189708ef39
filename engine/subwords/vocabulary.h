/* Vocabulary: the id of every token of a model. */
#ifndef DIT_ENGINE_SUBWORDS_VOCABULARY_H
#define DIT_ENGINE_SUBWORDS_VOCABULARY_H

#include "base/json.h"
#include "engine/unicode/utf8.h"

enum { DIT_IDS_MAX = 1 << 22 }; /* ids are below it */

/* Ids in the order of a text. Begins as {0}; remembers a failed allocation. */
typedef struct {
    int32_t *at;
    int count;
    bool failed;
} dit_ids;
void dit_ids_add(dit_ids *ids, int32_t id);
void dit_ids_release(dit_ids *ids);

typedef struct {
    size_t start;
    uint32_t length;
    int32_t id; /* -1: the place is free */
} dit_vocabulary_entry;
/* Begins as {0}. */
typedef struct {
    dit_buffer text; /* of all tokens, end to end */
    dit_vocabulary_entry *entries;
    size_t capacity, count; /* capacity: a power of two, or 0 */
    int32_t end;            /* every id is below it */
    size_t longest;         /* bytes of a token */
} dit_vocabulary;

/* Adds a token, or gives one another id. Errors: DIT_ERR_INTEGRITY for an id outside 0..DIT_IDS_MAX - 1;
 * DIT_ERR_MEMORY. */
dit_status dit_vocabulary_add(dit_vocabulary *vocabulary, dit_span token, int64_t id);
/* The id of a token; -1 for one that is not there. */
int32_t dit_vocabulary_find(const dit_vocabulary *vocabulary, dit_span token);
int32_t dit_vocabulary_find_text(const dit_vocabulary *vocabulary, const char *token);
/* Adds the members of {"token": id, ...}. Errors: DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE, DIT_ERR_MEMORY. */
dit_status dit_vocabulary_add_object(dit_vocabulary *vocabulary, const dit_json *doc, const cJSON *object,
                                     const char *pointer);
void dit_vocabulary_release(dit_vocabulary *vocabulary);

#endif
